"""Compute the probabilities of labelled constituents by a log-linear model of their spans.

| here | meaning |
| --- | --- |
| c = (i, j, X) | a labelled constituent that the grammars find, or the tag of a word |
| μ(c) | its posterior under the grammars |
| φ(c) | its features: X, with words and tags at the ends of the span, its length, and more; see `span_features` |
| P(c) = σ(s logit μ(c) + w·φ(c)) | the probability that c is in the tree; σ is the logistic function |
| −Σ_c n(c) log P(whether c is in the tree) + λ ‖w‖² / 2 | what `SpanModel.train` minimises; λ is `penalty` |
| n(c) | the weight of the tree of c |

The rules of a grammar depend on little more than the labels of a phrase and its children.  The features also use the
words at both ends of a span and around it (Finkel, Kleeman and Manning 2008; Hall, Durrett and Klein 2014).  With s = 1
and w = 0, P(c) is μ(c).

P(c) is the *judgement* of c.  It is computed for each constituent alone.  The grammars make the judgements agree
(`agreement`), and the decoder finds the tree with the largest gain.  The sentences to learn from must be new to the
grammars, because a grammar has too good posteriors on the sentences of its own training.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
import scipy

from spectral_latent._compiled import check_column, check_range, check_starts, compiled
from spectral_latent._options import Above, AtLeast, AtMost, Below, Options
from spectral_latent.constituency.constituents import LabelledConstituents
from spectral_latent.constituency.span_features import N_BUCKETS, BucketArray, span_features
from spectral_latent.files import Axes
from spectral_latent.lexicon.log_linear import minimise
from spectral_latent.trees import BoolArray, FloatArray, IntArray

__all__ = ["SpanExamples", "SpanModel", "SpanOptions", "span_loss"]

_LARGEST = 1.0 - 1e-6  # posteriors are cut to at most this number before their odds are computed


@dataclass(frozen=True)
class SpanOptions(Options):
    """Settings of a model of spans.

    folds: the number of parts of the training trees; each part is parsed by grammars of the other parts.
    anew: whether the grammars of a fold are trained from the beginning, which takes as long as training on all trees.
    Otherwise, they are one iteration of EM from the grammars of all trees, if these have probabilities.
    penalty: λ, the weight of the squared norm of the weights.
    iterations: the largest number of iterations of L-BFGS.
    least: constituents with a smaller posterior are not judged, and keep their posteriors.
    step: γ, the amount by which judgements change the posteriors of other constituents; see `agreement`.  With 0, each
    constituent is judged alone.
    """

    folds: Annotated[int, AtLeast(2)] = 4
    anew: bool = False
    penalty: Annotated[float, Above(0.0), AtMost(1e9)] = 30.0
    iterations: Annotated[int, AtLeast(1)] = 60
    least: Annotated[float, Above(0.0), Below(1.0)] = 1e-3
    step: Annotated[float, AtLeast(0.0), AtMost(100.0)] = 3.5

    def judged(self, parts: LabelledConstituents) -> IntArray:
        """List the numbers (n,) of the constituents that the model judges; other constituents keep their posteriors.

        parts: the labelled constituents of sentences.
        """
        return np.flatnonzero(parts.posterior > self.least)


class SpanExamples(NamedTuple):
    """L labelled constituents with their features.

    buckets: (L, T) the bucket of each feature.
    odds: (L,) the logarithm of the odds of the posterior, logit μ.
    correct: (L,) whether the constituent is in the tree; all are False if the tree is not known.
    times: (L,) n(c), the weight of the tree.
    """

    buckets: BucketArray
    odds: FloatArray
    correct: BoolArray
    times: FloatArray

    @staticmethod
    def of(
        parts: LabelledConstituents,
        labels: Sequence[str],
        words: Sequence[str],
        start: IntArray,
        judged: IntArray,
        correct: BoolArray | None = None,
    ) -> SpanExamples:
        """Compute the features of n of the labelled constituents of sentences.

        start: (S + 1,) the first word of each sentence, and the number of all words.
        judged: (n,) the numbers of the constituents to judge; their features depend on the other constituents, too.
        correct: (L,) whether each constituent is in the tree; None if the tree is not known.
        Raises ValueError if a constituent is not within the words.
        """
        check_starts("starts of sentences", start, len(words))
        check_range("first words of constituents", parts.first, 0, len(words))
        check_range("ends of constituents", parts.end, 1, len(words) + 1)
        odds = scipy.special.logit(np.clip(parts.posterior, 1.0 - _LARGEST, _LARGEST))
        buckets = span_features(parts, odds, labels, words, start, judged)
        correct = np.zeros(len(odds), dtype=np.bool_) if correct is None else correct
        return SpanExamples(buckets, odds[judged], correct[judged], np.ones(len(judged)))

    def weighted(self, weight: float) -> SpanExamples:
        """Multiply the weight of the tree."""
        return self._replace(times=weight * self.times)

    @staticmethod
    def joined(parts: Sequence[SpanExamples]) -> SpanExamples:
        """Join the examples of several sentences."""
        return SpanExamples(*(np.concatenate(column) for column in zip(*parts, strict=True)))


@compiled
def _sums(buckets: BucketArray, weights: FloatArray) -> FloatArray:
    """Sum the weights of the features of each example, (L,)."""
    sums = np.zeros(len(buckets))
    for row in range(len(buckets)):
        for template in range(buckets.shape[1]):
            sums[row] += weights[buckets[row, template]]
    return sums


@compiled
def _spread(buckets: BucketArray, amount: FloatArray, size: int) -> FloatArray:
    """Add the amount (L,) of each example to the buckets of its features, (size,)."""
    total = np.zeros(size)
    for row in range(len(buckets)):
        for template in range(buckets.shape[1]):
            total[buckets[row, template]] += amount[row]
    return total


def span_loss(examples: SpanExamples, parameters: FloatArray, penalty: float) -> tuple[float, FloatArray]:
    """Compute −Σ n(c) log P(whether c is in the tree) + λ ‖w‖² / 2 and its gradient.

    parameters: (B + 1,) the weights w of B buckets, and s.

    >>> example = SpanExamples(np.array([[0, 1]], dtype=np.int32), np.zeros(1), np.array([True]), np.ones(1))
    >>> loss, gradient = span_loss(example, np.array([0.0, 0.0, 1.0]), penalty=1.0)
    >>> round(loss, 4), gradient.tolist()
    (0.6931, [-0.5, -0.5, 0.0])
    """
    weights = parameters[:-1]
    score = _sums(examples.buckets, weights) + parameters[-1] * examples.odds
    excess = examples.times * (scipy.special.expit(score) - examples.correct)
    surprise = np.logaddexp(0.0, score) - score * examples.correct
    loss = examples.times @ surprise + penalty / 2 * weights @ weights
    gradient = _spread(examples.buckets, excess, len(weights)) + penalty * weights
    return float(loss), np.append(gradient, excess @ examples.odds)


@dataclass(frozen=True, eq=False)
class SpanModel:
    """A log-linear model of the probabilities of labelled constituents.

    slope: s, the factor of the log-odds of posteriors.
    weights: (B,) w, the weight of each bucket.
    Raises ValueError for weights of another number or type.

    >>> n = np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([0, 1, 0])
    >>> parts = LabelledConstituents(*n, np.array([True, False, True]), np.array([1.0, 0.25, 1.0]), *n[:2])
    >>> examples = SpanExamples.of(parts, ["N", "NP"], ["guard", "dogs"], np.array([0, 2]), np.arange(3))
    >>> SpanModel.plain().probabilities(examples).round(4)
    array([1.  , 0.25, 1.  ])
    """

    slope: float
    weights: Annotated[FloatArray, Axes(N_BUCKETS)]

    def __post_init__(self) -> None:
        check_column("weights of a model of spans", self.weights, (N_BUCKETS,), np.float64)

    @staticmethod
    def plain() -> SpanModel:
        """Make the model whose probabilities are the posteriors."""
        return SpanModel(1.0, np.zeros(N_BUCKETS))

    @staticmethod
    def train(examples: Sequence[SpanExamples], options: SpanOptions) -> SpanModel:
        """Learn from the constituents that grammars find in sentences that are new to the grammars.

        Weights are rounded to numbers of two bytes, as a file holds them.
        """
        plain = SpanModel.plain()
        if not examples:
            return plain
        joined = SpanExamples.joined(examples)

        def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
            """Compute the loss and its gradient."""
            return span_loss(joined, parameters, options.penalty)

        best = minimise(loss, np.append(plain.weights, plain.slope), options.iterations)
        return SpanModel(float(best[-1]), best[:-1].astype(np.float16).astype(np.float64))

    def probabilities(self, examples: SpanExamples) -> FloatArray:
        """Compute P(c) of n constituents, (n,)."""
        score = _sums(examples.buckets, self.weights) + self.slope * examples.odds
        return np.asarray(scipy.special.expit(score))
