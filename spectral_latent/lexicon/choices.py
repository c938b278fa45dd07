"""Learn to choose among candidates, such as the likely heads or tags of a word, by a log-linear model.

| here | meaning |
| --- | --- |
| y | a candidate of a choice |
| μ(y) | its posterior under the grammars |
| φ(y) | its features, hashed to buckets; see `buckets` |
| P(y) ∝ exp(s log μ(y) + w·φ(y)) | its probability among the candidates of the choice |
| −Σ n log P(the right candidate) + λ ‖w‖² / 2 | what `ChoiceModel.train` minimises; λ is `penalty` |
| n | the weight of the choice; 0 if the right candidate is missing |

With s = 1 and w = 0, P(y) is proportional to μ(y).  What is learnt from must be new to the grammars.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple, Self

import numpy as np

from spectral_latent._compiled import check_column
from spectral_latent._options import Above, AtLeast, AtMost, Below, Options
from spectral_latent.files import Axes
from spectral_latent.lexicon.buckets import N_BUCKETS, BucketArray, spread, sum_weights
from spectral_latent.lexicon.log_linear import minimise
from spectral_latent.trees import BoolArray, FloatArray, IntArray

__all__ = ["ChoiceModel", "Choices", "JudgeOptions", "choice_loss"]


@dataclass(frozen=True)
class JudgeOptions(Options):
    """Settings of a model of choices.

    folds: the number of parts of the training trees; each part is parsed or tagged by models of the other parts.
    penalty: λ, the weight of the squared norm of the weights.
    iterations: the largest number of iterations of L-BFGS.
    least: candidates with a smaller posterior are not judged, and keep their posteriors.
    """

    folds: Annotated[int, AtLeast(2)] = 4
    penalty: Annotated[float, Above(0.0), AtMost(1e9)] = 2.0
    iterations: Annotated[int, AtLeast(1)] = 50
    least: Annotated[float, Above(0.0), Below(1.0)] = 1e-3


class Choices(NamedTuple):
    """n candidates of W choices, sorted by choice, with their features.

    buckets: (n, T) the bucket of each feature.
    log: (n,) the logarithm of the posterior.
    is_right: (n,) whether the candidate is right; all are False if that is not known.
    start: (W + 1,) the first candidate of each choice, and n.
    times: (W,) the weight of each choice.
    """

    buckets: BucketArray
    log: FloatArray
    is_right: BoolArray
    start: IntArray
    times: FloatArray

    def to_learn_from(self, weight: float) -> Choices:
        """Keep the choices of several candidates, the right one among them.

        weight: the weight of the choices.
        """
        size = np.diff(self.start)
        is_kept = (size > 1) & (np.bincount(np.repeat(np.arange(len(size)), size), self.is_right, len(size)) > 0)
        candidate = np.repeat(is_kept, size)
        start = np.append(0, np.cumsum(size[is_kept]))
        rows = self.buckets[candidate], self.log[candidate], self.is_right[candidate]
        return Choices(*rows, start, weight * self.times[is_kept])

    @staticmethod
    def join(parts: Sequence[Choices]) -> Choices:
        """Join the choices of several sentences or folds."""
        buckets, log, is_right, _, times = map(np.concatenate, zip(*parts, strict=True))
        sizes = np.concatenate([np.diff(part.start) for part in parts])
        return Choices(buckets, log, is_right, np.append(0, np.cumsum(sizes)), times)

    def probabilities(self, weights: FloatArray, slope: float) -> tuple[FloatArray, FloatArray]:
        """Compute P of each candidate, (n,), and the logarithm of the sum of each choice by which it was divided, (W,).

        weights: (B,) w, the weight of each bucket.
        slope: s, the factor of the logarithm of the posterior.
        """
        score = sum_weights(self.buckets, weights) + slope * self.log
        first, size = self.start[:-1], np.diff(self.start)
        largest = np.maximum.reduceat(score, first)
        shares = np.exp(score - np.repeat(largest, size))
        total = np.add.reduceat(shares, first)
        return shares / np.repeat(total, size), largest + np.log(total)


def choice_loss(choices: Choices, parameters: FloatArray, penalty: float) -> tuple[float, FloatArray]:
    """Compute −Σ n log P(the right candidate) + λ ‖w‖² / 2 and its gradient.

    choices: the choices, each with one right candidate.
    parameters: (B + 1,) the weights w of B buckets, and s.
    penalty: λ.

    >>> buckets, no, yes = np.array([[0], [1]], dtype=np.int32), False, True
    >>> choices = Choices(buckets, np.zeros(2), np.array([no, yes]), np.array([0, 2]), np.ones(1))
    >>> loss, gradient = choice_loss(choices, np.array([0.0, 0.0, 1.0]), penalty=1.0)
    >>> round(loss, 4), gradient.tolist()
    (0.6931, [0.5, -0.5, 0.0])
    """
    weights = parameters[:-1]
    share, log_total = choices.probabilities(weights, float(parameters[-1]))
    excess = (share - choices.is_right) * np.repeat(choices.times, np.diff(choices.start))
    right = choices.is_right
    score = sum_weights(choices.buckets[right], weights) + parameters[-1] * choices.log[right]
    loss = choices.times @ (log_total - score) + penalty / 2 * weights @ weights
    gradient = spread(choices.buckets, excess, len(weights)) + penalty * weights
    return float(loss), np.append(gradient, excess @ choices.log)


@dataclass(frozen=True, eq=False)
class ChoiceModel:
    """A log-linear model of choices.

    slope: s, the factor of the logarithms of posteriors.
    weights: (B,) w, the weight of each bucket.
    Raises ValueError for weights of another number or type.
    """

    noun: ClassVar[str] = "choices"

    slope: float
    weights: Annotated[FloatArray, Axes(N_BUCKETS)]

    def __post_init__(self) -> None:
        check_column(f"weights of a model of {self.noun}", self.weights, (N_BUCKETS,), np.float64)

    @classmethod
    def plain(cls) -> Self:
        """Make the model whose probabilities are the posteriors.

        >>> ChoiceModel.plain().slope
        1.0
        """
        return cls(1.0, np.zeros(N_BUCKETS))

    @classmethod
    def train(cls, examples: Sequence[Choices], options: JudgeOptions) -> Self:
        """Learn from choices that are new to the grammars.

        Weights are rounded to numbers of two bytes, as a file holds them.

        examples: the choices, as `Choices.to_learn_from` keeps them.
        options: the settings.
        """
        joined = Choices.join(examples) if examples else None
        if joined is None or not len(joined.log):
            return cls.plain()

        def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
            """Compute the loss at w and s, (B + 1,), and its gradient."""
            return choice_loss(joined, parameters, options.penalty)

        best = minimise(loss, np.append(np.zeros(N_BUCKETS), 1.0), options.iterations)
        return cls(float(best[-1]), best[:-1].astype(np.float16).astype(np.float64))

    def share(self, choices: Choices) -> FloatArray:
        """Compute P of each candidate, (n,).

        choices: the choices, with n candidates.
        """
        return choices.probabilities(self.weights, self.slope)[0]
