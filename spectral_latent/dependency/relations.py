"""Find the relations of the arcs of known dependency trees, by a log-linear classifier.

| here | meaning |
| --- | --- |
| f, n_f | a feature of an arc, see `arc_features`, and its count in training; its value is n_f^(−1/4) |
| a, K | a relation, and their number |
| W, P(a \\| arc) | weights, by which the values are multiplied, and probabilities; see `lexicon.log_linear` |

The values of features are a compromise.  With the value 1, L-BFGS is slow, because the counts differ greatly, and so do
the curvatures of the loss.  With n_f^(−1/2) the curvatures are equal, but the penalty restrains frequent features as
much as rare features.  A feature has weights only for the relations with which it was seen.

The prediction of relations in a second stage is that of McDonald, Lerman and Pereira (2006), Multilingual dependency
analysis with a two-stage discriminative parser, section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Annotated, NamedTuple

import numpy as np
import scipy

from spectral_latent._compiled import check_range
from spectral_latent._options import Above, AtLeast, AtMost, Options
from spectral_latent.dependency.arc_features import ArcFeatures, TaggedTree
from spectral_latent.dependency.sentence import BLANK
from spectral_latent.files import Axes, Distinct, Sorted
from spectral_latent.lexicon.log_linear import log_linear_weights
from spectral_latent.trees import BoolArray, FloatArray, IntArray, Vocabulary, matches

__all__ = ["RelationModel", "RelationOptions"]


@dataclass(frozen=True)
class RelationOptions(Options):
    """Settings of the training of the classifier.

    penalty: λ, the factor of the squared weights in the loss.
    iterations: the largest number of iterations of L-BFGS.
    min_count: the smallest number of arcs with a feature; rarer features are left out.
    """

    penalty: Annotated[float, Above(0.0), AtMost(1e9)] = 0.1
    iterations: Annotated[int, AtLeast(1)] = 15
    min_count: Annotated[int, AtLeast(1)] = 2


class _Weights(NamedTuple):
    """The P weights that are not 0, sorted by feature; each column is (P,)."""

    feature: Annotated[IntArray, Axes("P"), AtLeast(0), Sorted()]
    relation: Annotated[IntArray, Axes("P"), AtLeast(0)]
    weight: Annotated[FloatArray, Axes("P")]


@dataclass(frozen=True, eq=False, repr=False)
class RelationModel:
    """A classifier of the relations of arcs, P(a | arc), in known trees.

    features: the numbers of the features of arcs.
    names: the names of the K relations.
    weights: the weights of features.
    possible: (2, K) whether arcs from words, and arcs from the root, may have each relation.
    Raises ValueError if the weights are of other features or relations, or no relation is possible.

    >>> trees = [TaggedTree(["dogs", "chase", "cats"], ["N", "V", "N"], (2, 0, 2))] * 2
    >>> model = RelationModel.train(trees, [("nsubj", "root", "obj")] * 2)
    >>> model.relations([TaggedTree(["mice", "sleep"], ["N", "V"], (2, 0))])
    [('nsubj', 'root')]
    """

    features: ArcFeatures
    names: Annotated[list[str], Axes("K"), Distinct()]
    weights: _Weights
    possible: Annotated[BoolArray, Axes(2, "K")]

    def __post_init__(self) -> None:
        check_range("features", self.weights.feature, 0, self.features.end)
        check_range("relations", self.weights.relation, 0, len(self.names))
        if not self.possible.any(axis=1).all():
            raise ValueError("no relation is possible")

    @staticmethod
    def train(
        trees: Sequence[TaggedTree],
        relations: Sequence[Sequence[str]],
        options: RelationOptions | None = None,
        *,
        weights: Sequence[float] | None = None,
    ) -> RelationModel | None:
        """Learn from arcs whose relation is not `_`; return None if there are no such arcs.

        trees: the words, tags and heads of sentences.
        relations: the relation of each word of each sentence.
        options: the settings of training; the defaults if not given.
        weights: the weight of each sentence; 1 if not given.
        Raises ValueError if a sentence has not one tag, one head and one relation for each word, or a head is neither 0
        nor a word.
        """
        for number, (tree, given) in enumerate(zip(trees, relations, strict=True), start=1):
            if len(tree.words) != len(given):
                counts = f"{len(tree.words)} words and {len(given)} relations"
                raise ValueError(f"sentence {number} has {counts}; give each word one, or `_`")
        every = list(chain.from_iterable(relations))
        names = sorted(set(every) - {BLANK})
        if not names:
            return None
        label = Vocabulary(names).numbers(every)
        annotated = label >= 0
        label = label[annotated]
        known = ArcFeatures.known(trees)
        length = [len(tree.words) for tree in trees]
        times = np.repeat(np.ones(len(trees)) if weights is None else weights, length)[annotated]
        features, is_from_root, which = known.compute(trees)
        which = which[annotated]
        target = scipy.sparse.csr_array((times, label, np.arange(len(label) + 1)), shape=(len(label), len(names)))
        learnt = _learn_weights(features[which], target, times, options or RelationOptions())
        possible = np.zeros((2, len(names)), dtype=np.bool_)
        possible[is_from_root[which].astype(np.int64), label] = True
        return RelationModel(known, names, learnt, possible | ~possible.any(axis=1, keepdims=True))

    def posterior(self, trees: Sequence[TaggedTree]) -> FloatArray:
        """Compute P(a | arc) of the arcs to all words, in their order, (n, K).

        An arc from the root may have the relations that arcs from the root had in training.  An arc from a word may
        have the relations that arcs from words had.

        trees: the words, tags and heads of sentences, of n words in all.
        Raises ValueError if a sentence has not one tag and one head for each word, or a head is neither 0 nor a word.
        """
        scores, which = self._scores(trees)
        return np.asarray(scipy.special.softmax(scores, axis=1))[which]

    def relations(self, trees: Sequence[TaggedTree]) -> list[tuple[str, ...]]:
        """Find the likeliest relation of the arc to each word.  Raises ValueError as `posterior` does.

        trees: the words, tags and heads of sentences.
        """
        scores, which = self._scores(trees)
        best = iter([self.names[label] for label in scores.argmax(axis=1)[which].tolist()])
        return [tuple(islice(best, len(tree.words))) for tree in trees]

    def _scores(self, trees: Sequence[TaggedTree]) -> tuple[FloatArray, IntArray]:
        """Compute φ·W (m, K) of distinct arcs, -inf where a relation is not possible; and the arc (n,) to each word."""
        features, is_from_root, which = self.features.compute(trees)
        size = len(self.names)
        row, entry = matches(self.weights.feature, features.ravel())
        cell = entry // features.shape[1] * size + self.weights.relation[row]
        scores = np.bincount(cell, self.weights.weight[row], minlength=len(features) * size).reshape(-1, size)
        return np.where(self.possible[is_from_root.astype(np.int64)], scores, -np.inf), which


def _learn_weights(
    features: IntArray, target: scipy.sparse.csr_array, times: FloatArray, options: RelationOptions
) -> _Weights:
    """Learn weights from features (n, T) of arcs, counts of their relations (n, K) and counts of the arcs (n,)."""
    known, column = np.unique(features.ravel(), return_inverse=True)
    count = np.bincount(column, np.repeat(times, features.shape[1]))
    frequent = count >= options.min_count
    kept = known[frequent]
    value = count[frequent] ** -0.25
    number = np.cumsum(frequent) - 1  # the number of each feature among those that are kept
    entry = np.flatnonzero(frequent[column])
    column = number[column[entry]]
    shape = (len(features), len(kept))
    phi = scipy.sparse.csr_array((value[column], (entry // features.shape[1], column)), shape=shape)
    weights = log_linear_weights(phi, target, options.penalty, options.iterations, frequent=np.inf).tocoo()
    # Round the weights to numbers of two bytes, as a file holds them.
    scaled = (weights.data * value[weights.row]).astype(np.float16).astype(np.float64)
    nonzero = np.flatnonzero(scaled)
    return _Weights(kept[weights.row[nonzero]], weights.col[nonzero].astype(np.int64), scaled[nonzero])
