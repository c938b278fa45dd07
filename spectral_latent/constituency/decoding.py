"""Find the best trees that constituents make up.

The tree of the most gain is that of Goodman's (1996) labelled recall, less a penalty that weighs precision against it;
`constituents` defines the gain.  Posteriors of several grammars may be averaged first, whatever their binarisations.

All trees that constituents make up are one forest, which does not depend on the grammars that found them:

| item | meaning |
| --- | --- |
| (i, j, chain) | a phrase with its chain of labels, over the words i ... j-1: a row and the phrase after it |
| any (i, j) | one of the phrases over these words |
| row (i, j) | one such phrase, or several side by side |

Rows grow to the right only, so that every tree is derived once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spectral_latent._compiled import check_column, check_range, compiled, compiled_part
from spectral_latent.constituency.constituents import Chain, Constituents
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.inference import Derivations
from spectral_latent.trees import FloatArray, Forest, IntArray

__all__ = ["PhraseForest", "bracketings"]

_ROOM = 1 << 12  # edges that there is room for at first
_ANY = -1
_ROW = -2


@compiled_part
def _extend(row: IntArray, phrase: IntArray, i: int, j: int, edges: IntArray, n_edges: int) -> int:
    """Append the ways to make (i, j) of a row from i and any phrase after it; return how many edges are in use then.

    row: (n + 1, n + 1) the item of a row over i ... j - 1, or -1.
    phrase: (n + 1, n + 1) the item of any phrase over i ... j - 1, or -1.
    edges: (E, 2), of which the first n_edges are in use.
    """
    for k in range(i + 1, j):
        left, right = row[i, k], phrase[k, j]
        if left >= 0 and right >= 0:
            edges[n_edges, 0] = left
            edges[n_edges, 1] = right
            n_edges += 1
    return n_edges


@compiled
def _build(
    n: int,
    of_cell: IntArray,
    last: IntArray,
    phrase: IntArray,
    row: IntArray,
    done: int,
    items: IntArray,
    starts: IntArray,
    n_items: int,
    edges: IntArray,
    n_edges: int,
) -> tuple[int, int, int]:
    """Build the items and edges over the cells from number `done` on, as long as there is room for edges.

    n: the number of words; cell (i, j) has the number (j - i - 1) n + i here, so that some numbers have no cell.
    of_cell: (n² + 1,) where the constituents over each cell begin.
    last: (n,) the last end of the constituents of two words or more that begin at each word; -1 if none does.
    phrase: (n + 1, n + 1) -1 before; gets the item of any phrase over the words i ... j-1.
    row: (n + 1, n + 1) -1 before; gets the item of any row of phrases over these words.
    items: (I,) the numbers of constituents, _ANY or _ROW, of which `n_items` are in use.
    starts: (I,) where the edges of each item begin.
    edges: (E, 2) the left and right child of edges, of which `n_edges` are in use; -1 after these.
    Returns how many cells are done then, and how many items and edges are in use.
    """
    for at in range(done, n * n):
        i = at % n
        j = i + at // n + 1
        if j > n:
            continue
        begin, stop = of_cell[at], of_cell[at + 1]
        if n_edges + (stop - begin + 1) * (j - i + 1) > len(edges):
            return at, n_items, n_edges
        before = n_items
        # Every constituent over these words: a word, or a row and a phrase after it.
        for constituent in range(begin, stop):
            items[n_items] = constituent
            starts[n_items] = n_edges
            if j == i + 1:
                n_edges += 1
            n_edges = _extend(row, phrase, i, j, edges, n_edges)
            n_items += 1
        # One of these constituents, as the child of a longer one.
        whole = -1
        if n_items > before and j - i < len(last):
            whole = n_items
            phrase[i, j] = whole
            items[n_items] = _ANY
            starts[n_items] = n_edges
            for item in range(before, n_items):
                edges[n_edges, 0] = item
                n_edges += 1
            n_items += 1
        # A row, if something longer begins here: one phrase, or a row and a phrase after it.
        if j < last[i]:
            items[n_items] = _ROW
            starts[n_items] = n_edges
            first_edge = n_edges
            if whole >= 0:
                edges[n_edges, 0] = whole
                n_edges += 1
            n_edges = _extend(row, phrase, i, j, edges, n_edges)
            if n_edges > first_edge:
                row[i, j] = n_items
                n_items += 1
    return n * n, n_items, n_edges


class PhraseForest(NamedTuple):
    """Trees of a sentence as the derivations of a forest (`inference.Analyses`).

    forest: the forest, of I items and E edges.
    weight: (E,) the gain of the constituent that an edge derives; zero if it derives none.
    chain: (I,) the number of the chain of labels that an item puts above its children; negative where it only joins
    them.
    first: (I,) the first word below an item with a chain of labels.
    chains: the chains in the order of their numbers.
    words: the words of the sentence.
    """

    forest: Forest
    weight: FloatArray
    chain: IntArray
    first: IntArray
    chains: Sequence[Chain]
    words: Sequence[str]

    def analyses(self, derivations: Derivations) -> list[Phrase]:
        """Build the trees that derivations stand for; they share the phrases of the parts that derivations share.

        derivations: derivations of `forest`.
        """
        item = np.searchsorted(self.forest.start, derivations.edge, side="right") - 1
        columns = (self.chain[item], self.first[item], derivations.left, derivations.right)
        parts: list[tuple[Phrase | str, ...]] = []  # the phrases, or the word, that each part puts side by side
        for chain, first, left, right in zip(*(column.tolist() for column in columns), strict=True):
            row: tuple[Phrase | str, ...] = (self.words[first],) if left < 0 else parts[left]
            if right >= 0:
                row += parts[right]
            if chain >= 0:
                for label in reversed(self.chains[chain]):
                    row = (Phrase(label, row),)
            parts.append(row)
        return [tree for root in derivations.root.tolist() for tree in parts[root] if isinstance(tree, Phrase)]


def bracketings(
    constituents: Constituents, gain: FloatArray, chains: Sequence[Chain], words: Sequence[str]
) -> PhraseForest:
    """Build the forest of all trees that constituents make up; it has no root if there is no tree.

    constituents: K constituents.
    gain: (K,) the gain of each.
    chains: the chains of labels, as the constituents number them.
    words: the n words of the sentence.
    Raises ValueError if the columns differ in length, or if a constituent is not within the words.

    >>> from spectral_latent.inference import best_analyses
    >>> spans = np.array([[0, 1], [1, 2], [2, 3], [0, 2], [0, 3]]).T
    >>> constituents = Constituents(*spans, np.array([0, 0, 0, 1, 2]), np.ones(5))
    >>> for gain in (0.5, -0.5):
    ...     gains = np.array([0.0, 0.0, 0.0, gain, 0.9])
    ...     trees = bracketings(constituents, gains, [("N",), ("NP",), ("S",)], ["a", "b", "c"])
    ...     print(best_analyses(trees, 1)[0].bracketed())
    (S (NP (N a) (N b)) (N c))
    (S (N a) (N b) (N c))
    """
    n = len(words)
    for name, column in (("first", constituents.first), ("end", constituents.end), ("chain", constituents.chain)):
        check_column(f"values of `{name}` of constituents", column, (np.size(constituents.first),), np.int64)
    check_column("gains of constituents", gain, (len(constituents.first),), np.float64)
    check_range("ends of constituents", constituents.end, 1, n + 1)
    check_range("chains of constituents", constituents.chain, 0, len(chains))
    for k in np.flatnonzero((constituents.first < 0) | (constituents.first >= constituents.end))[:1]:
        raise ValueError(f"constituent {k} is over the words {constituents.first[k]} ... {constituents.end[k] - 1}")
    width = constituents.end - constituents.first
    cell = (width - 1) * n + constituents.first
    order = np.argsort(cell, kind="stable")
    of_cell = np.searchsorted(cell[order], np.arange(n * n + 1))
    last = np.full(n, -1, dtype=np.int64)
    np.maximum.at(last, constituents.first[width > 1], constituents.end[width > 1])
    phrase, row = np.full((2, n + 1, n + 1), -1, dtype=np.int64)
    items, starts = np.empty((2, len(order) + n * (n + 1)), dtype=np.int64)
    edges = np.full((_ROOM, 2), -1, dtype=np.int64)
    done = 0
    n_items = 0
    n_edges = 0
    while True:
        done, n_items, n_edges = _build(n, of_cell, last, phrase, row, done, items, starts, n_items, edges, n_edges)
        if done == n * n:
            break
        edges = np.concatenate([edges, np.full_like(edges, -1)])
    items, starts, edges = items[:n_items], starts[:n_items], edges[:n_edges]
    n_tops = np.count_nonzero(width == n)
    starts = np.append(starts, len(edges))
    which = order[np.maximum(items, 0)]
    is_part = items < 0
    chain = np.where(is_part, items, constituents.chain[which])
    first = np.where(is_part, -1, constituents.first[which])
    left, right = np.ascontiguousarray(edges.T)
    forest = Forest(
        symbol=chain,
        start=starts,
        rule=np.zeros(len(edges), dtype=np.int64),
        left=left,
        right=right,
        root=np.arange(len(items) - n_tops, len(items)),
        component=np.zeros(n_tops, dtype=np.int64),
    )
    weight = np.repeat(np.where(is_part, 0.0, gain[which]), np.diff(starts))
    return PhraseForest(forest, weight, chain, first, chains, words)
