"""All trees that can be built of given constituents, as one forest, whatever grammar they came from.

| item | meaning |
| --- | --- |
| (i, j, chain) | a phrase with its chain of labels, over the words i ... j-1: a row and what follows it |
| any (i, j) | one of the phrases over these words |
| row (i, j) | one such or several, side by side |

Rows grow to the right only, so that every tree is derived once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spectral_latent._compiled import check_column, check_range, compiled, with_room
from spectral_latent.constituency.constituents import Constituents
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.inference import Derivation, best_derivation, k_best_derivations
from spectral_latent.trees import FloatArray, Forest, IntArray

__all__ = ["Bracketings"]

_ANY, _ROW = -1, -2


@compiled
def _last_ends(n: int, first: IntArray, end: IntArray) -> IntArray:
    """The last end (n,) of the constituents of two words or more that begin at each place; -1 where none does."""
    last = np.full(n, -1, dtype=np.int64)
    for at in range(len(first)):
        if end[at] - first[at] > 1:
            last[first[at]] = max(last[first[at]], end[at])
    return last


@compiled
def _with_edge(edges: IntArray, n_edges: int, left: int, right: int) -> tuple[IntArray, int]:
    """The edges (E, 2) and one more, and how many there are then."""
    edges = with_room(edges, n_edges)
    edges[n_edges] = (left, right)
    return edges, n_edges + 1


@compiled
def _extended(row: IntArray, phrase: IntArray, i: int, j: int, edges: IntArray, n_edges: int) -> tuple[IntArray, int]:
    """Append the ways to make (i, j) of a row from i and any phrase after it.

    row, phrase: (n + 1, n + 1) the items over i ... j - 1, or -1.
    edges: (E, 3), of which the first n_edges are in use.
    """
    for k in range(i + 1, j):
        if row[i, k] >= 0 and phrase[k, j] >= 0:
            edges, n_edges = _with_edge(edges, n_edges, row[i, k], phrase[k, j])
    return edges, n_edges


@compiled
def _build(n: int, first: IntArray, end: IntArray) -> tuple[IntArray, IntArray, IntArray, int]:
    """Items (I,): numbers of constituents, _ANY or _ROW; where the edges of each begin (I,); the edges (E, 2): left
    and right child; and how many of the last items are over the whole sentence.

    Constituents are in order of length, then of their first word.
    """
    # The item of any phrase, and of any row of phrases, over the words i ... j-1; -1 where there is none.
    phrase = np.full((n + 1, n + 1), -1, dtype=np.int64)
    row = np.full((n + 1, n + 1), -1, dtype=np.int64)
    items, starts = np.empty((2, len(first) + n * (n + 1)), dtype=np.int64)
    edges = np.empty((1024, 2), dtype=np.int64)
    last = _last_ends(n, first, end)
    n_items, n_edges, at, n_tops = 0, 0, 0, 0
    for length in range(1, n + 1):
        for i in range(n - length + 1):
            j = i + length
            before = n_items
            # Every constituent over these words: a word, or a row and a phrase after it.
            while at < len(first) and end[at] - first[at] == length and first[at] == i:
                items[n_items] = at
                starts[n_items] = n_edges
                if length == 1:
                    edges, n_edges = _with_edge(edges, n_edges, -1, -1)
                edges, n_edges = _extended(row, phrase, i, j, edges, n_edges)
                n_items += 1
                at += 1
            # Any of them, as the child of another.
            if length == n:
                n_tops = n_items - before
            elif n_items > before:
                phrase[i, j] = n_items
                items[n_items] = _ANY
                starts[n_items] = n_edges
                for item in range(before, n_items):
                    edges, n_edges = _with_edge(edges, n_edges, item, -1)
                n_items += 1
            # A row, if something longer begins here: one phrase, or a row and a phrase after it.
            if j < last[i]:
                items[n_items] = _ROW
                starts[n_items] = n_edges
                if phrase[i, j] >= 0:
                    edges, n_edges = _with_edge(edges, n_edges, phrase[i, j], -1)
                edges, n_edges = _extended(row, phrase, i, j, edges, n_edges)
                if n_edges > starts[n_items]:
                    row[i, j] = n_items
                    n_items += 1
    return items[:n_items], starts[:n_items], edges[:n_edges], n_tops


class Bracketings(NamedTuple):
    """The trees that constituents make up.

    forest: an item's symbol is its chain, or negative; its edges are all the ways to derive it.
    weight: (E,) the gain of the constituent that an edge derives, else zero.

    >>> spans = np.array([[0, 1], [1, 2], [2, 3], [0, 2], [0, 3]]).T
    >>> found = Constituents(*spans, np.array([0, 0, 0, 1, 2]), np.ones(5))
    >>> for gain in (0.5, -0.5):
    ...     trees = Bracketings.of(found, np.array([0.0, 0.0, 0.0, gain, 0.9]), 3)
    ...     print(trees.best(1, [("N",), ("NP",), ("S",)], ["a", "b", "c"])[0].bracketed())
    (S (NP (N a) (N b)) (N c))
    (S (N a) (N b) (N c))
    """

    forest: Forest
    weight: FloatArray

    @staticmethod
    def of(found: Constituents, gain: FloatArray, n: int) -> Bracketings:
        """Build the forest of the trees over a sentence of n words; it has no root if there is no tree.

        found: K constituents.
        gain: (K,) of each.
        Raises ValueError if the columns differ in length, or if a constituent is not within the words.
        """
        for name, column in (("first", found.first), ("end", found.end), ("chain", found.chain)):
            check_column(f"values of `{name}` of constituents", column, (np.size(found.first),), np.int64)
        check_column("gains of constituents", gain, (len(found.first),), np.float64)
        check_range("ends of constituents", found.end, 1, n + 1)
        check_range("chains of constituents", found.chain, 0, np.iinfo(np.int64).max)
        for at in np.flatnonzero((found.first < 0) | (found.first >= found.end))[:1]:
            raise ValueError(f"constituent {at} is over the words {found.first[at]} ... {found.end[at] - 1}")
        order = np.lexsort((found.first, found.end - found.first))
        items, starts, edges, n_tops = _build(n, found.first[order], found.end[order])
        n_items, n_edges = len(items), len(edges)
        starts = np.append(starts, n_edges)
        which, is_part = order[np.maximum(items, 0)], items < 0
        left, right = np.ascontiguousarray(edges.T)
        forest = Forest(
            symbol=np.where(is_part, items, found.chain[which]),
            start=starts,
            rule=np.zeros(n_edges, dtype=np.int64),
            left=left,
            right=right,
            root=np.arange(n_items - n_tops, n_items),
            component=np.zeros(n_tops, dtype=np.int64),
        )
        return Bracketings(forest, np.repeat(np.where(is_part, 0.0, gain[which]), np.diff(starts)))

    def best(self, k: int, chains: Sequence[tuple[str, ...]], words: Sequence[str]) -> list[Phrase]:
        """Up to k different trees over the words, by falling gain; chains are numbered as given."""
        if k == 1:
            best = best_derivation(self.forest, self.weight)
            derivations = [] if best is None else [best]
        else:
            derivations = k_best_derivations(self.forest, self.weight, k)
        return [self._phrase(derivation, chains, words) for derivation in derivations]

    def _phrase(self, derivation: Derivation, chains: Sequence[tuple[str, ...]], words: Sequence[str]) -> Phrase:
        rest, finished = iter(words), list[tuple[Phrase | str, ...]]()
        item = np.searchsorted(self.forest.start, derivation.edges, side="right") - 1
        columns = (self.forest.symbol[item], self.forest.left[derivation.edges], self.forest.right[derivation.edges])
        for chain, left, right in zip(*(column.tolist() for column in columns), strict=True):
            last = finished.pop() if right >= 0 else ()
            parts = (*finished.pop(), *last) if left >= 0 else (next(rest),)
            if chain >= 0:
                for label in reversed(chains[chain]):
                    parts = (Phrase(label, parts),)
            finished.append(parts)
        (top,) = finished.pop()
        assert isinstance(top, Phrase)
        return top
