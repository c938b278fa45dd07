"""Compute the features of the arcs of known dependency trees, as columns of integers.

| here | meaning |
| --- | --- |
| place | the number of a word through all sentences; the place before each sentence is its root, and one ends it all |
| d, g | the places of a dependant and of its governor |
| column | one integer for each arc: `attribute.place`, such as the tag of g, or a property such as its side |
| template | a few columns; their values at an arc together are one feature |

Places outside a sentence have attribute 0.  The templates are those of the arc, its neighbours, siblings and children
in McDonald, Lerman and Pereira (2006), Multilingual dependency analysis with a two-stage discriminative parser,
section 3, without those that did not raise the accuracy of `RelationModel` on a development set.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from math import prod
from typing import NamedTuple

import numpy as np

from spectral_latent.trees import IntArray, Vocabulary

__all__ = ["ArcFeatures", "TaggedTree"]

_ENDING = 3  # last characters of a word
_N_SIDES = 3  # left, right, and none from the root
_FARTHEST = 7  # larger magnitudes of distances count as this one

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

    words: the words.
    tags: the tag of each word.
    heads: the head of each word, as in `DependencySentence`.
    """

    words: Sequence[str]
    tags: Sequence[str]
    heads: Sequence[int]


class _Arcs(NamedTuple):
    """The arcs of sentences, one for each of n words, in the order of words.

    n_places: the number N of places.
    near: (n,) by its name, each place near an arc; the place of a root where there is no such word.
    side: (n,) 0 if the governor is the root, 1 if it is to the left, 2 to the right.
    distance: (n,) the number of binary digits of the distance from governor to dependant; 0 from the root.
    """

    n_places: int
    near: dict[str, IntArray]
    side: IntArray
    distance: IntArray


def _arcs(trees: Sequence[TaggedTree]) -> _Arcs:
    """List the arcs of trees.

    Raises ValueError if a sentence has not one tag and one head for each word, or a head is neither 0 nor a word.
    """
    for number, (words, tags, heads) in enumerate(trees, start=1):
        if not len(words) == len(tags) == len(heads):
            counts = f"{len(words)} words, {len(tags)} tags and {len(heads)} heads"
            raise ValueError(f"sentence {number} has {counts}; give each word one tag and one head")
        if not all(0 <= head <= len(words) for head in heads):
            raise ValueError(f"sentence {number}: a head is neither 0 nor the number of one of its {len(words)} words")
    length = np.array([len(tree.words) for tree in trees], dtype=np.int64)
    root = np.cumsum(length + 1) - (length + 1)
    is_word = np.ones(int(length.sum()) + len(trees) + 1, dtype=np.bool_)
    is_word[root] = is_word[-1] = False
    d = np.flatnonzero(is_word)
    g = np.fromiter(chain.from_iterable(tree.heads for tree in trees), np.int64, len(d)) + np.repeat(root, length)
    head = np.zeros(len(is_word), dtype=np.int64)
    head[d] = g
    side = np.where(is_word[g], np.where(g < d, 1, 2), 0)
    distance = np.where(is_word[g], np.minimum(np.frexp(np.abs(g - d).astype(float))[1], _FARTHEST), 0)
    near = {"d": d, "g": g, "above": head[g], "before": d - 1, "after": d + 1, "second": d - 1 - is_word[d - 1]}
    return _Arcs(len(is_word), near | _children(d, g, len(is_word)), side, distance)


def _children(d: IntArray, g: IntArray, n_places: int) -> dict[str, IntArray]:
    """Find places near arcs, (n,) each, among the N places.

    d: (n,) the places of dependants.
    g: (n,) the places of their governors.
    Returns the outermost dependants of each dependant, `first` on its left and `last` on its right; the nearest
    dependant on the `left` of its governor; and its governor's next dependant on the way to it, `inner`.
    """

    def of_place(place: IntArray, other: IntArray) -> IntArray:
        """Map each place to the last of its others, (N,); 0 where it has none."""
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


class ArcFeatures:
    """The features of arcs over known tags and words.

    tags: the known tags.
    words: the known words, in lower case.

    >>> trees = [TaggedTree(["Big", "dogs", "bark"], ["A", "N", "V"], (2, 3, 0))]
    >>> ArcFeatures.known(trees).compute(trees).shape
    (3, 20)
    """

    def __init__(self, tags: Iterable[str], words: Iterable[str]) -> None:
        self.tags = Vocabulary(tags)
        self.words = Vocabulary(words)
        self._endings = Vocabulary(word[-_ENDING:] for word in self.words)

    @staticmethod
    def known(trees: Iterable[TaggedTree]) -> ArcFeatures:
        """Make features over the tags and the words of trees.

        trees: the trees of a treebank.
        """
        trees = list(trees)
        tags = chain.from_iterable(tree.tags for tree in trees)
        return ArcFeatures(tags, (word.lower() for tree in trees for word in tree.words))

    @property
    def end(self) -> int:
        """A number above those of all features."""
        return len(_TEMPLATES) * max(prod(map(self._n_values, template)) for template in _TEMPLATES)

    def compute(self, trees: Sequence[TaggedTree]) -> IntArray:
        """Number the features (n, T) of the arcs to all words, in their order: one for each of T templates.

        Two features have the same number only if the columns of a template have more than 2⁶³ / T values together.

        trees: n words in all.
        Raises ValueError if a sentence has not one tag and one head for each word, or a head is neither 0 nor a word.
        """
        arcs = _arcs(trees)
        columns = self._columns(trees, arcs)
        size = len(_TEMPLATES)
        features = np.empty((len(arcs.side), size), dtype=np.int64)
        for number, template in enumerate(_TEMPLATES):
            key = np.zeros(len(features), dtype=np.int64)
            for name in template:
                key = key * self._n_values(name) + columns[name]
            features[:, number] = key * size + number
        return features

    @property
    def _names(self) -> dict[str, Vocabulary[str]]:
        """The known values of each attribute."""
        return {"tag": self.tags, "word": self.words, "ending": self._endings}

    def _n_values(self, column: str) -> int:
        """Count the values that a column may have; unknown values share one number, and missing words have one."""
        if column == "side":
            return _N_SIDES
        if column == "distance":
            return _FARTHEST + 1
        return len(self._names[column.partition(".")[0]]) + 2

    def _columns(self, trees: Sequence[TaggedTree], arcs: _Arcs) -> dict[str, IntArray]:
        """Compute each column (n,)."""
        words = [word.lower() for tree in trees for word in tree.words]
        values = {
            "tag": chain.from_iterable(tree.tags for tree in trees),
            "word": words,
            "ending": (word[-_ENDING:] for word in words),
        }
        columns = {"side": arcs.side, "distance": arcs.distance}
        for attribute, names in self._names.items():
            value_at = np.zeros(arcs.n_places, dtype=np.int64)
            value_at[arcs.near["d"]] = [names.get(value) + 1 or len(names) + 1 for value in values[attribute]]
            columns |= {f"{attribute}.{name}": value_at[place] for name, place in arcs.near.items()}
        return columns
