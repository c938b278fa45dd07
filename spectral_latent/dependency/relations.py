"""Find the relations of the arcs of known dependency trees, by a log-linear classifier.

| here | meaning |
| --- | --- |
| place | the number of a word or root among all sentences; the root of a sentence comes before its words |
| d, g | the places of a dependant and of its governor |
| column | one integer for each arc: `attribute.place`, such as `tag.g`, or a property of the arc, such as its side |
| template | a few columns; the combination of their values at an arc is one feature |
| f, n_f | a feature of an arc, see `ArcFeatures`, and its count in training; its value is n_f^(−1/4) |
| a, K | a relation, and their number |
| W, P(a \\| arc) | weights, by which the values are multiplied, and probabilities; see `lexicon.log_linear` |

The attributes of roots, and of the place after the last word, are 0.  The prediction of relations in a second stage,
and the templates of the arc, its neighbours, siblings and children are those of McDonald, Lerman and Pereira (2006),
Multilingual dependency analysis with a two-stage discriminative parser, section 3.  Templates that did not raise the
accuracy of `RelationModel` on a development set are left out.

The values of features are a compromise.  With the value 1, L-BFGS is slow, because the counts differ greatly, and so do
the curvatures of the loss.  With n_f^(−1/2) the curvatures are equal, but the penalty restrains frequent features as
much as rare features.  A feature has weights only for the relations with which it was seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, compress, islice
from math import prod
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
import scipy

from spectral_latent._compiled import check_range
from spectral_latent._options import Above, AtLeast, AtMost, Options
from spectral_latent.dependency.tree import BLANK
from spectral_latent.files import Axes, Distinct, OneLine, Sorted, Text
from spectral_latent.lexicon.log_linear import log_linear_weights
from spectral_latent.model.parts import Parts
from spectral_latent.trees import BoolArray, FloatArray, IntArray, Rules, Vocabulary, ranges

__all__ = ["ArcFeatures", "FeaturesOfArcs", "RelationModel", "RelationOptions", "TaggedTree"]

_ENDING = 3  # the number of last characters of a word that are an attribute
_N_SIDES = 3  # left, right, and a third value for arcs from the root
_FARTHEST = 7  # the largest class of distances

_TEMPLATES = tuple(
    tuple(template.split())
    for template in (
        "side tag.d tag.g",
        "side tag.d tag.g distance",
        "side tag.d tag.g tag.first",
        "side tag.d tag.g tag.last",
        "side tag.d tag.g tag.inner",
        "side tag.d tag.g word.inner",
        "side tag.d tag.g word.left",
        "side tag.d tag.before",
        "side tag.d tag.after",
        "side tag.d word.g",
        "side tag.d ending.g",
        "side word.d tag.g",
        "side ending.d tag.g",
        "tag.d tag.before tag.second",
        "tag.d tag.g tag.above",
        "tag.d tag.g word.first",
        "tag.d word.g tag.first",
        "tag.d word.g word.first",
        "word.d",
        "word.d word.g",
    )
)  # see `_arcs` and `ArcFeatures`
_MORE_TEMPLATES = (
    *_TEMPLATES,
    *(
        tuple(template.split())
        for template in (
            "side other.d other.g",
            "side other.d tag.g",
            "side tag.d other.g",
            "side features.d tag.g",
            "side features.d features.g",
            "side tag.d features.g",
            "side features.d ending.g",
            "side ending.d ending.g",
            "side beginning.d tag.g",
            "side tag.d beginning.g",
            "side word.before tag.d",
            "side word.after tag.d",
            "side word.d tag.before",
            "side word.d tag.after",
        )
    ),
)  # of models that know the other column of tags, and morphological features


class TaggedTree(NamedTuple):
    """A tree whose relations are predicted.

    tags: the tag of each word.
    heads: the head of each word, as in `DependencySentence`.
    others: the tag of each word in the other column of tags; empty if there are none.
    features: the morphological features of each word; empty if there are none.
    """

    words: Sequence[str]
    tags: Sequence[str]
    heads: Sequence[int]
    others: Sequence[str] = ()
    features: Sequence[str] = ()


class _Arcs(NamedTuple):
    """The m distinct arcs of trees, several of which may be over one sentence.

    Two arcs over a sentence are the same if all places near them are the same.

    sentences: the different sentences, each with the heads of one of its trees.
    which: (n,) the number of the arc to each word of each tree.
    near: the places near the arcs, (m,) for each name; the place of a root if there is no such word.
    side: (m,) 0 if the governor is the root, 1 if it is to the left of the dependant, 2 if it is to the right.
    distance: (m,) the number of binary digits of the distance from governor to dependant; 0 for arcs from the root.
    """

    sentences: list[TaggedTree]
    which: IntArray
    near: dict[str, IntArray]
    side: IntArray
    distance: IntArray


def _are_words(length: IntArray) -> BoolArray:
    """Tell which places are words.

    Each sentence has a place for its root, then places for its words; one more place comes after the last sentence.

    length: (S,) the number of words of each sentence.
    """
    is_word = np.ones(int(length.sum()) + len(length) + 1, dtype=np.bool_)
    is_word[np.cumsum(length + 1) - (length + 1)] = is_word[-1] = False
    return is_word


def _heads(trees: Sequence[TaggedTree], length: IntArray) -> IntArray:
    """List the heads (n,) of all words.

    Raises ValueError if a sentence has not one tag and one head for each word, or a head is neither 0 nor a word.
    """
    for number, (words, tags, heads, *_) in enumerate(trees, start=1):
        if not len(words) == len(tags) == len(heads):
            counts = f"{len(words)} words, {len(tags)} tags and {len(heads)} heads"
            raise ValueError(f"sentence {number} has {counts}; give each word one tag and one head")
    head = np.fromiter(chain.from_iterable(tree.heads for tree in trees), np.int64, int(length.sum()))
    for word in np.flatnonzero((head < 0) | (head > np.repeat(length, length)))[:1].tolist():
        at = int(np.searchsorted(np.cumsum(length), word, side="right"))
        raise ValueError(f"sentence {at + 1}: a head is neither 0 nor the number of one of its {length[at]} words")
    return head


def _arcs(trees: Sequence[TaggedTree]) -> _Arcs:
    """List the arcs of trees; trees over the same sentence must be neighbours.

    Raises ValueError if a sentence has not one tag and one head for each word, or a head is neither 0 nor a word.
    """
    length = np.array([len(tree.words) for tree in trees], dtype=np.int64)
    head = _heads(trees, length)
    # First give each tree places of its own.
    is_word = _are_words(length)
    root = np.cumsum(length + 1) - (length + 1)
    d = np.flatnonzero(is_word)
    g = head + np.repeat(root, length)
    head_of = np.zeros(len(is_word), dtype=np.int64)
    head_of[d] = g
    columns = {"d": d, "g": g, "above": head_of[g], **_children(d, g, len(is_word))}
    # Then map these places to places of the sentences, where arcs of different trees may be the same.
    is_new = [at == 0 or tree._replace(heads=()) != trees[at - 1]._replace(heads=()) for at, tree in enumerate(trees)]
    sentences = list(compress(trees, is_new))
    sentence = np.cumsum(is_new, dtype=np.int64) - 1
    length_of = length[np.array(is_new, dtype=np.bool_)]
    root_of = np.cumsum(length_of + 1) - (length_of + 1)
    shift = np.append(np.repeat(root_of[sentence] - root, length + 1), 0)  # no arc is near the place that ends it all
    rows, which = Rules.distinct(np.stack([place + shift[place] for place in columns.values()], axis=1))
    near = dict(zip(columns, np.ascontiguousarray(rows.T), strict=True))
    is_word = _are_words(length_of)
    d, g = near["d"], near["g"]
    side = np.where(is_word[g], np.where(g < d, 1, 2), 0)
    distance = np.where(is_word[g], np.minimum(np.frexp(np.abs(g - d).astype(float))[1], _FARTHEST), 0)
    near |= {"before": d - 1, "after": d + 1, "second": d - 1 - is_word[d - 1]}
    return _Arcs(sentences, which, near, side, distance)


def _children(d: IntArray, g: IntArray, n_places: int) -> dict[str, IntArray]:
    """Find places near arcs, (n,) for each name.

    d: (n,) the places of dependants.
    g: (n,) the places of their governors.
    Returns `first` and `last`, the outermost dependants of d on its left and on its right; `left`, the nearest
    dependant of g on its left; and `inner`, the dependant of g next to d on the side of g.
    """

    def of_place(place: IntArray, other: IntArray) -> IntArray:
        """Map each place to the last of the other places given with it, (N,); 0 if there is none."""
        last_other = np.zeros(n_places, dtype=np.int64)
        last_other[place] = other
        return last_other

    on_left = d < g
    order = np.argsort(g, kind="stable")
    are_siblings = g[order[:-1]] == g[order[1:]]
    earlier = d[order[:-1][are_siblings]]
    later = d[order[1:][are_siblings]]
    return {
        "first": of_place(g[on_left][::-1], d[on_left][::-1])[d],
        "last": of_place(g[~on_left], d[~on_left])[d],
        "left": of_place(g[on_left], d[on_left])[g],
        "inner": np.where(on_left, of_place(earlier, later)[d], of_place(later, earlier)[d]),
    }


class FeaturesOfArcs(NamedTuple):
    """The features of m distinct arcs.

    features: (m, T) the feature of each arc by each of T templates.
    is_from_root: (m,) whether the governor is the root.
    which: (n,) the number of the arc to each word of all trees, in their order.
    """

    features: IntArray
    is_from_root: BoolArray
    which: IntArray


@dataclass(frozen=True, eq=False, repr=False)
class ArcFeatures:
    """The features of arcs over known tags and words.

    tags: the known tags.
    words: the known words, in lower case.
    others: the known tags of the other column; empty if it is not used, and then features are not used either.
    features: the known morphological features.

    >>> words, tags = ["Big", "dogs", "bark", "loudly"], ["A", "N", "V", "R"]
    >>> trees = [TaggedTree(words, tags, heads) for heads in ((2, 3, 0, 3), (3, 3, 0, 3))]
    >>> arcs = ArcFeatures.known(trees).compute(trees)
    >>> arcs.features.shape, arcs.which
    ((7, 20), array([0, 3, 5, 6, 1, 2, 4, 6]))
    """

    later: ClassVar[frozenset[str]] = frozenset({"others", "features"})
    tags: Annotated[Vocabulary[str], Text()]
    words: Annotated[Vocabulary[str], Text()]
    others: Annotated[Vocabulary[str], Text()] = field(default_factory=lambda: Vocabulary(()))
    features: Annotated[Vocabulary[str], Text()] = field(default_factory=lambda: Vocabulary(()))

    @cached_property
    def _endings(self) -> Vocabulary[str]:
        return Vocabulary(word[-_ENDING:] for word in self.words)

    @cached_property
    def _beginnings(self) -> Vocabulary[str]:
        return Vocabulary(word[:_ENDING] for word in self.words)

    @property
    def _templates(self) -> tuple[tuple[str, ...], ...]:
        return _MORE_TEMPLATES if len(self.others) else _TEMPLATES

    @staticmethod
    def known(trees: Iterable[TaggedTree]) -> ArcFeatures:
        """Make features over the tags and the words of trees."""
        trees = list(trees)
        tags, others, features = (
            Vocabulary(chain.from_iterable(getattr(tree, name) for tree in trees))
            for name in ("tags", "others", "features")
        )
        return ArcFeatures(tags, Vocabulary(word.lower() for tree in trees for word in tree.words), others, features)

    @property
    def end(self) -> int:
        """A number above those of all features."""
        return len(self._templates) * max(prod(map(self._n_values, template)) for template in self._templates)

    def compute(self, trees: Sequence[TaggedTree]) -> FeaturesOfArcs:
        """Number the features of the distinct arcs of trees, one for each of T templates.

        Trees over the same sentence must be neighbours; they share most arcs.  Different features can only have the
        same number if the columns of a template have more than 2⁶³ / T combinations of values.

        Raises ValueError if a sentence has not one tag and one head for each word, or a head is neither 0 nor a word.
        """
        arcs = _arcs(trees)
        columns = self._columns(arcs)
        size = len(self._templates)
        features = np.empty((len(arcs.side), size), dtype=np.int64)
        for number, template in enumerate(self._templates):
            key = np.zeros(len(features), dtype=np.int64)
            for name in template:
                key = key * self._n_values(name) + columns[name]
            features[:, number] = key * size + number
        return FeaturesOfArcs(features, arcs.side == 0, arcs.which)

    @property
    def _names(self) -> dict[str, Vocabulary[str]]:
        """The known values of each attribute."""
        names = {"tag": self.tags, "word": self.words, "ending": self._endings}
        if not len(self.others):
            return names
        return names | {"other": self.others, "features": self.features, "beginning": self._beginnings}

    def _n_values(self, column: str) -> int:
        """Count the values of a column; unknown values share one number, and missing words have another."""
        if column == "side":
            return _N_SIDES
        if column == "distance":
            return _FARTHEST + 1
        return len(self._names[column.partition(".")[0]]) + 2

    def _columns(self, arcs: _Arcs) -> dict[str, IntArray]:
        """Compute each column (m,)."""
        words = [word.lower() for sentence in arcs.sentences for word in sentence.words]
        values = {
            "tag": chain.from_iterable(sentence.tags for sentence in arcs.sentences),
            "word": words,
            "ending": (word[-_ENDING:] for word in words),
            "other": chain.from_iterable(each.others or [BLANK] * len(each.words) for each in arcs.sentences),
            "features": chain.from_iterable(each.features or [BLANK] * len(each.words) for each in arcs.sentences),
            "beginning": (word[:_ENDING] for word in words),
        }
        is_word = _are_words(np.array([len(sentence.words) for sentence in arcs.sentences], dtype=np.int64))
        columns = {"side": arcs.side, "distance": arcs.distance}
        for attribute, names in self._names.items():
            number = names.numbers(values[attribute])
            value_at = np.zeros(len(is_word), dtype=np.int64)
            value_at[is_word] = np.where(number < 0, len(names), number) + 1
            columns |= {f"{attribute}.{name}": value_at[place] for name, place in arcs.near.items()}
        return columns


@dataclass(frozen=True)
class RelationOptions(Options):
    """Settings of the training of the classifier.

    penalty: λ, the factor of the squared weights in the loss.
    iterations: the largest number of iterations of L-BFGS.
    min_count: the smallest number of arcs with a feature; rarer features are left out.
    least: smaller weights are left out; more than a third are smaller than the default, and change hardly a relation.
    """

    penalty: Annotated[float, Above(0.0), AtMost(1e9)] = 0.1
    iterations: Annotated[int, AtLeast(1)] = 15
    min_count: Annotated[int, AtLeast(1)] = 2
    least: Annotated[float, AtLeast(0.0)] = 0.06


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
    names: Annotated[list[str], Axes("K"), Distinct(), OneLine()]
    weights: _Weights
    possible: Annotated[BoolArray, Axes(2, "K")]

    @cached_property
    def _rows(self) -> tuple[IntArray, IntArray]:
        """The features that have weights, after -1, (F,), and the first weight of each, and P, (F + 1,)."""
        known, first = np.unique(self.weights.feature, return_index=True)
        return np.append(-1, known), np.concatenate([[0], first, [len(self.weights.feature)]])

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

    def judge(self, parts: Parts, evidence: Sequence[TaggedTree]) -> Parts:
        """Give the arcs of trees their likeliest relations, as labels.

        parts: the arcs to all words of the trees, in the order of the words.
        evidence: the words, tags and heads of the trees.
        Raises ValueError as `posterior` does.
        """
        scores, which = self._scores(evidence)
        return parts._replace(label=scores.argmax(axis=1)[which])

    def relations(self, trees: Sequence[TaggedTree]) -> list[tuple[str, ...]]:
        """Find the likeliest relation of the arc to each word.  Raises ValueError as `posterior` does.

        trees: the words, tags and heads of sentences.
        """
        length = np.array([len(tree.words) for tree in trees], dtype=np.int64)
        head = _heads(trees, length)
        sentence = np.repeat(np.arange(len(trees)), length)
        word = np.arange(1, len(head) + 1) - np.repeat(np.cumsum(length) - length, length)
        arcs = Parts(sentence, head, word, np.zeros_like(head), np.ones(len(head)))
        best = iter([self.names[label] for label in self.judge(arcs, trees).label.tolist()])
        return [tuple(islice(best, len(tree.words))) for tree in trees]

    def _scores(self, trees: Sequence[TaggedTree]) -> tuple[FloatArray, IntArray]:
        """Compute φ·W (m, K) of distinct arcs, -inf where a relation is not possible; and the arc (n,) to each word."""
        features, is_from_root, which = self.features.compute(trees)
        size = len(self.names)
        known, first = self._rows
        # Look each feature up once; the weights of a known feature are neighbours.
        wanted = features.ravel()
        at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        entry = np.flatnonzero(known[at] == wanted)
        row, place = ranges(first[at[entry]], first[at[entry] + 1])
        entry = entry[place]
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
    # Round the weights to numbers of two bytes, as a file holds them, and leave out those that hardly weigh.
    scaled = (weights.data * value[weights.row]).astype(np.float16).astype(np.float64)
    weighs = np.flatnonzero(np.abs(scaled) > options.least)
    return _Weights(kept[weights.row[weighs]], weights.col[weighs].astype(np.int64), scaled[weighs])
