"""Learn to choose among candidates, such as the likely heads or tags of a word, or to accept each of them by itself.

| here | meaning |
| --- | --- |
| y | a candidate of a choice |
| μ(y) | its posterior under the grammars |
| φ(y) | its features, hashed to buckets; see `buckets` |
| P(y) ∝ exp(s log μ(y) + w·φ(y)) | its probability among the candidates of the choice |
| −Σ n log P(the right candidate) + λ ‖w‖² / 2 | what `ChoiceModel.train` minimises; λ is `penalty` |
| n | the weight of the choice; 0 if the right candidate is missing |

With s = 1 and w = 0, P(y) is proportional to μ(y).  A candidate alone, such as a constituent, is chosen or not: μ(y) is
then its odds, and P(y) = 1 / (1 + exp(-score)).  What is learnt from must be new to the grammars.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from spectral_latent._compiled import check_column
from spectral_latent._options import Above, AtLeast, AtMost, Below, Options
from spectral_latent.files import Axes
from spectral_latent.lexicon.buckets import N_BUCKETS, BucketArray, round_weights, spread, sum_weights
from spectral_latent.lexicon.log_linear import minimise
from spectral_latent.trees import BoolArray, FloatArray, IntArray

Number = TypeVar("Number", bound=np.generic)


@dataclass(frozen=True)
class JudgeOptions(Options):
    """Settings of a model of choices.

    folds: the number of parts of the training trees; each part is parsed or tagged by models of the other parts.
    penalty: λ, the weight of the squared norm of the weights.
    iterations: the largest number of iterations of L-BFGS.
    least: candidates with a smaller posterior are not judged, and keep their posteriors."""

    folds: Annotated[int, AtLeast(2)] = 4
    penalty: Annotated[float, Above(0.0), AtMost(1e9)] = 2.0
    iterations: Annotated[int, AtLeast(1)] = 50
    least: Annotated[float, Above(0.0), Below(1.0)] = 1e-3


class Choices(NamedTuple):
    """n candidates of W choices, sorted by choice, with their features.

    buckets: (n, T) the bucket of each feature.
    log: (n,) the logarithm of the posterior, or of its odds.
    is_right: (n,) whether, or how often, the candidate is right; 0 if that is not known.
    times: (W,) the weight of each choice.
    start: (W + 1,) the first candidate of each choice, and n.
    or_none: whether each choice may also be none of its candidates, whose score is 0; `log` is then the log-odds."""

    buckets: BucketArray
    log: FloatArray
    is_right: BoolArray | FloatArray
    times: FloatArray
    start: IntArray
    or_none: bool = False

    @staticmethod
    def alone(buckets: BucketArray, log: FloatArray, is_right: BoolArray | FloatArray, times: FloatArray) -> Choices:
        """Make a choice of each of n candidates, (n, T) and (n,) each, which is accepted or not."""
        return Choices(buckets, log, is_right, times, np.arange(len(log) + 1), or_none=True)

    def to_learn_from(self, weight: float) -> Choices:
        """Weigh choices; of choices among candidates, keep those of several, the right one among them."""
        if self.or_none:
            return self._replace(times=weight * self.times)
        size = np.diff(self.start)
        is_kept = (size > 1) & (np.add.reduceat(self.is_right, self.start[:-1], dtype=np.int64) > 0)
        candidate = np.repeat(is_kept, size)
        rows = self.buckets[candidate], self.log[candidate], self.is_right[candidate]
        return Choices(*rows, weight * self.times[is_kept], np.append(0, np.cumsum(size[is_kept])))

    @staticmethod
    def join(parts: list[Choices]) -> Choices:
        """Join the choices of several sentences or folds, and empty the list, so that no choice is held twice."""
        start = np.append(0, np.cumsum(np.concatenate([np.diff(part.start) for part in parts])))
        or_none = parts[0].or_none
        columns: list[Any] = [
            np.empty((sum(map(len, column)), *column[0].shape[1:]), column[0].dtype)
            for column in zip(*(part[:4] for part in parts), strict=True)
        ]
        ends = list(map(len, columns))
        while parts:
            for number, rows in enumerate(parts.pop()[:4]):
                columns[number][ends[number] - len(rows) : ends[number]] = rows
                ends[number] -= len(rows)
        buckets, log, is_right, times = columns
        return Choices(buckets, log, is_right, times, start, or_none)

    def of_candidates(self, of_choices: NDArray[Number]) -> NDArray[Number]:
        """Repeat the numbers (W,) of choices for each candidate, (n,)."""
        return np.repeat(of_choices, np.diff(self.start))

    def probabilities(self, weights: FloatArray, slope: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Compute score and P of each candidate, (n,), and the logarithm of the sum that divides each choice, (W,)."""
        score = sum_weights(self.buckets, weights) + slope * self.log
        none = 0.0 if self.or_none else -np.inf
        largest = np.maximum(np.maximum.reduceat(score, self.start[:-1]), none)
        shares = np.exp(score - self.of_candidates(largest))
        total = np.add.reduceat(shares, self.start[:-1]) + np.exp(none - largest)
        return score, shares / self.of_candidates(total), largest + np.log(total)


def choice_loss(choices: Choices, parameters: FloatArray, penalty: float) -> tuple[float, FloatArray]:
    """Compute −Σ n log P(the right candidate) + λ ‖w‖² / 2 and its gradient.

    parameters: (B + 1,) the weights w of B buckets, and s."""
    weights = parameters[:-1]
    score, share, log_total = choices.probabilities(weights, float(parameters[-1]))
    times = choices.of_candidates(choices.times)
    excess = times * (share - choices.is_right)
    loss = choices.times @ log_total - times @ (choices.is_right * score) + penalty / 2 * weights @ weights
    gradient = spread(choices.buckets, excess, len(weights)) + penalty * weights
    return float(loss), np.append(gradient, excess @ choices.log)


def learn(
    choices: Choices, n_buckets: int, penalty: float, iterations: int, *, is_fine: bool = False
) -> tuple[float, FloatArray]:
    """Find s and w (B,) by L-BFGS from s = 1 and w = 0; w is rounded, if fine to numbers of two bytes."""
    start = np.append(np.zeros(n_buckets), 1.0)
    best = minimise(lambda parameters: choice_loss(choices, parameters, penalty), start, iterations)
    weights = best[:-1].astype(np.float16).astype(np.float64) if is_fine else round_weights(best[:-1])
    return float(best[-1]), weights


@dataclass(frozen=True, eq=False)
class ChoiceModel:
    """A log-linear model of choices.

    slope: s, the factor of the logarithms of posteriors.
    weights: (B,) w, the weight of each bucket.
    Raises ValueError for weights of another number or type."""

    noun: ClassVar[str] = "choices"
    n_buckets: ClassVar[int] = N_BUCKETS
    is_fine: ClassVar[bool] = False  # many small weights add up, so that they are rounded to numbers of two bytes

    slope: float
    weights: Annotated[FloatArray, Axes(N_BUCKETS)]

    def __post_init__(self) -> None:
        check_column(f"weights of a model of {self.noun}", self.weights, (self.n_buckets,), np.float64)

    @classmethod
    def plain(cls) -> Self:
        """Make the model whose probabilities are the posteriors.

        >>> ChoiceModel.plain().slope
        1.0
        """
        return cls(1.0, np.zeros(cls.n_buckets))

    @classmethod
    def train(cls, examples: list[Choices], options: JudgeOptions) -> Self:
        """Learn from choices that are new to the grammars; empty the list.

        examples: the choices, as `Choices.to_learn_from` keeps them."""
        joined = Choices.join(examples) if examples else None
        if joined is None or not len(joined.log):
            return cls.plain()
        return cls(*learn(joined, cls.n_buckets, options.penalty, options.iterations, is_fine=cls.is_fine))

    def share(self, choices: Choices) -> FloatArray:
        """Compute P of each candidate, (n,)."""
        return choices.probabilities(self.weights, self.slope)[1]
