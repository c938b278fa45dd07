"""Weigh the labelled constituents of sentences by a log-linear model of their spans.

| here | meaning |
| --- | --- |
| c = (i, j, X) | a labelled constituent that the grammars find, or the tag of a word |
| μ(c) | its posterior under the grammars |
| φ(c) | its features: X, with words and tags at the ends of the span, its length, and more; see `span_features` |
| P(c) = σ(s logit μ(c) + w·φ(c)) | the probability that c is in the tree; σ is the logistic function |
| −Σ_c n(c) log P(whether c is in the tree) + λ ‖w‖² / 2 | what `SpanModel.train` minimises; λ is `penalty` |
| n(c) | how many trees the tree of c stands for |

A grammar sees of a phrase little more than the labels of its parts.  The features see the words at both ends of a span
and around it (Finkel, Kleeman and Manning 2008; Hall, Durrett and Klein 2014).  With s = 1 and w = 0, P(c) is μ(c).

Each constituent is judged alone.  The grammars make the judgements agree (`agreement`), and the decoder looks for a
tree in which their sum is large.  The sentences to learn from must be new to the grammars, because the posteriors of
sentences that grammars were trained on are too good.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from spectral_latent._compiled import check_column, check_range, check_starts, compiled
from spectral_latent._options import Above, AtLeast, AtMost, Below, Options
from spectral_latent.constituency.constituents import LabelledConstituents
from spectral_latent.constituency.span_features import N_BUCKETS, BucketArray, span_features
from spectral_latent.lexicon.log_linear import minimise
from spectral_latent.operators import array_from
from spectral_latent.trees import BoolArray, FloatArray, IntArray

__all__ = ["SpanExamples", "SpanModel", "SpanOptions", "span_loss"]

_PREFIX = "spans."
_LARGEST = 1.0 - 1e-6  # the largest posterior whose odds are looked at


@dataclass(frozen=True)
class SpanOptions(Options):
    """Settings of a model of spans.

    folds: the parts of the training trees, each of which is parsed by grammars of the other parts.
    anew: whether these grammars are learnt from nothing.  That takes for each fold as long as training on all trees.
    Otherwise they are one iteration of EM from the grammars of all trees, if these have probabilities.
    penalty: λ.
    iterations: the most iterations of L-BFGS.
    least: the least posterior of a constituent that the model judges; others keep their posteriors.
    step: γ, how much judgements change the posteriors of other constituents; see `agreement`.  With 0, each constituent
    is judged alone.
    """

    folds: Annotated[int, AtLeast(2)] = 4
    anew: bool = False
    penalty: Annotated[float, Above(0.0), AtMost(1e9)] = 30.0
    iterations: Annotated[int, AtLeast(1)] = 60
    least: Annotated[float, Above(0.0), Below(1.0)] = 1e-3
    step: Annotated[float, AtLeast(0.0), AtMost(100.0)] = 3.5

    def judged(self, parts: LabelledConstituents) -> IntArray:
        """List the numbers (n,) of the constituents that the model judges; all others keep their posteriors.

        parts: the labelled constituents of sentences.
        """
        return np.flatnonzero(parts.posterior > self.least)


class SpanExamples(NamedTuple):
    """L labelled constituents with their features.

    buckets: (L, T) the bucket of each feature.
    odds: (L,) the logarithm of the odds of the posterior, logit μ.
    correct: (L,) whether the constituent is in the tree; all are False if the tree is not known.
    times: (L,) n(c), how many trees the tree stands for.
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

        parts: L labelled constituents of S sentences, whose words are numbered through all sentences.
        labels: the labels, as the constituents number them.
        words: the words of all sentences.
        start: (S + 1,) the first word of each sentence, and the number of all words.
        judged: (n,) the numbers of the constituents to judge, which all others are evidence for.
        correct: (L,) whether each constituent is in the tree; None if that is not known.
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
        """Let the tree stand for several.

        weight: the factor of the number of trees.
        """
        return self._replace(times=weight * self.times)

    @staticmethod
    def joined(parts: Sequence[SpanExamples]) -> SpanExamples:
        """Join examples.

        parts: the examples, at least one.
        """
        return SpanExamples(*(np.concatenate(column) for column in zip(*parts, strict=True)))


@compiled
def _sums(buckets: BucketArray, weights: FloatArray) -> FloatArray:
    """Add up the weights of the features of each example, (L,)."""
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

    examples: the constituents c.
    parameters: (B + 1,) the weights w of B buckets, and s.
    penalty: λ.

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
    """Probabilities of the labelled constituents of sentences.

    slope: s.
    weights: (B,) w, the weight of each bucket.
    Raises ValueError for weights of another number or type.

    >>> n = np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([0, 1, 0])
    >>> parts = LabelledConstituents(*n, np.array([True, False, True]), np.array([1.0, 0.25, 1.0]), *n[:2])
    >>> examples = SpanExamples.of(parts, ["N", "NP"], ["guard", "dogs"], np.array([0, 2]), np.arange(3))
    >>> SpanModel.plain().probabilities(examples).round(4)
    array([1.  , 0.25, 1.  ])
    """

    slope: float
    weights: FloatArray

    def __post_init__(self) -> None:
        check_column("weights of a model of spans", self.weights, (N_BUCKETS,), np.float64)

    @staticmethod
    def plain() -> SpanModel:
        """Make the model whose probabilities are the posteriors."""
        return SpanModel(1.0, np.zeros(N_BUCKETS))

    @staticmethod
    def train(examples: Sequence[SpanExamples], options: SpanOptions) -> SpanModel:
        """Learn from constituents that the grammars find in sentences that are new to them.

        Weights are as precise as a file holds them in two bytes.

        examples: the constituents of each sentence.
        options: the settings.
        """
        plain = SpanModel.plain()
        if not examples:
            return plain
        joined = SpanExamples.joined(examples)

        def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
            """Compute the loss and its gradient."""
            return span_loss(joined, parameters, options.penalty)

        found = minimise(loss, np.append(plain.weights, plain.slope), options.iterations)
        return SpanModel(float(found[-1]), found[:-1].astype(np.float16).astype(np.float64))

    def probabilities(self, examples: SpanExamples) -> FloatArray:
        """Compute P(c) of n constituents, (n,).

        examples: the constituents with their features.
        """
        score = _sums(examples.buckets, self.weights) + self.slope * examples.odds
        return np.asarray(scipy.special.expit(score))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Collect the arrays of the model, named `spans.field`, for a model file."""
        return {_PREFIX + "slope": np.array([self.slope]), _PREFIX + "weights": self.weights}

    @staticmethod
    def from_arrays(arrays: Mapping[str, NDArray[Any]]) -> SpanModel | None:
        """Make the model whose `arrays` a model file holds; None if it holds none.

        arrays: the arrays of the file by name; other arrays are ignored.

        Raises ValueError if they are not those of a model.
        """
        if not any(name.startswith(_PREFIX) for name in arrays):
            return None
        (slope,) = array_from(_PREFIX + "slope", arrays, np.float64, (1,)).tolist()
        return SpanModel(slope, array_from(_PREFIX + "weights", arrays, np.float64, (N_BUCKETS,)))
