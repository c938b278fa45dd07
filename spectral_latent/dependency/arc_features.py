"""Compute the features of the arcs of known dependency trees, as columns of integers.

| here | meaning |
| --- | --- |
| place | the number of a word or root among all sentences; the root of a sentence comes before its words |
| d, g | the places of a dependant and of its governor |
| column | one integer for each arc: `attribute.place`, such as `tag.g`, or a property of the arc, such as its side |
| template | a few columns; the combination of their values at an arc is one feature |

The attributes of roots, and of the place after the last word, are 0.  The templates of the arc, its neighbours,
siblings and children are those of McDonald, Lerman and Pereira (2006), Multilingual dependency analysis with a
two-stage discriminative parser, section 3.  Templates that did not raise the accuracy of `RelationModel` on a
development set are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, compress
from math import prod
from typing import Annotated, NamedTuple

import numpy as np

from spectral_latent.files import Text
from spectral_latent.trees import BoolArray, IntArray, Rules, Vocabulary

__all__ = ["ArcFeatures", "FeaturesOfArcs", "TaggedTree"]

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


class TaggedTree(NamedTuple):
    """A tree whose relations are predicted.

    tags: the tag of each word.
    heads: the head of each word, as in `DependencySentence`.
    """

    words: Sequence[str]
    tags: Sequence[str]
    heads: Sequence[int]


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
    for number, (words, tags, heads) in enumerate(trees, start=1):
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
    is_new = [at == 0 or tree[:2] != trees[at - 1][:2] for at, tree in enumerate(trees)]
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

    >>> words, tags = ["Big", "dogs", "bark", "loudly"], ["A", "N", "V", "R"]
    >>> trees = [TaggedTree(words, tags, heads) for heads in ((2, 3, 0, 3), (3, 3, 0, 3))]
    >>> arcs = ArcFeatures.known(trees).compute(trees)
    >>> arcs.features.shape, arcs.which
    ((7, 20), array([0, 3, 5, 6, 1, 2, 4, 6]))
    """

    tags: Annotated[Vocabulary[str], Text()]
    words: Annotated[Vocabulary[str], Text()]

    @cached_property
    def _endings(self) -> Vocabulary[str]:
        return Vocabulary(word[-_ENDING:] for word in self.words)

    @staticmethod
    def known(trees: Iterable[TaggedTree]) -> ArcFeatures:
        """Make features over the tags and the words of trees."""
        trees = list(trees)
        tags = chain.from_iterable(tree.tags for tree in trees)
        return ArcFeatures(Vocabulary(tags), Vocabulary(word.lower() for tree in trees for word in tree.words))

    @property
    def end(self) -> int:
        """A number above those of all features."""
        return len(_TEMPLATES) * max(prod(map(self._n_values, template)) for template in _TEMPLATES)

    def compute(self, trees: Sequence[TaggedTree]) -> FeaturesOfArcs:
        """Number the features of the distinct arcs of trees, one for each of T templates.

        Trees over the same sentence must be neighbours; they share most arcs.  Different features can only have the
        same number if the columns of a template have more than 2⁶³ / T combinations of values.

        Raises ValueError if a sentence has not one tag and one head for each word, or a head is neither 0 nor a word.
        """
        arcs = _arcs(trees)
        columns = self._columns(arcs)
        size = len(_TEMPLATES)
        features = np.empty((len(arcs.side), size), dtype=np.int64)
        for number, template in enumerate(_TEMPLATES):
            key = np.zeros(len(features), dtype=np.int64)
            for name in template:
                key = key * self._n_values(name) + columns[name]
            features[:, number] = key * size + number
        return FeaturesOfArcs(features, arcs.side == 0, arcs.which)

    @property
    def _names(self) -> dict[str, Vocabulary[str]]:
        """The known values of each attribute."""
        return {"tag": self.tags, "word": self.words, "ending": self._endings}

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
        }
        is_word = _are_words(np.array([len(sentence.words) for sentence in arcs.sentences], dtype=np.int64))
        columns = {"side": arcs.side, "distance": arcs.distance}
        for attribute, names in self._names.items():
            number = names.numbers(values[attribute])
            value_at = np.zeros(len(is_word), dtype=np.int64)
            value_at[is_word] = np.where(number < 0, len(names), number) + 1
            columns |= {f"{attribute}.{name}": value_at[place] for name, place in arcs.near.items()}
        return columns
