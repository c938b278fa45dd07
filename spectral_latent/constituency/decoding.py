"""Build the forest of all trees that consist of given constituents, in which the best trees are found.

The best tree has the largest sum of gains: Goodman's (1996) expected labelled recall, less a penalty for each
constituent, which raises precision; `constituents` defines the gain.  The posteriors of several grammars, also of
different binarisations, may be averaged first.

The trees of a sentence are one component of the forest.  It depends on the constituents alone, not on the grammars
that found them:

| item | meaning |
| --- | --- |
| (i, j, chain) | a phrase with its chain of labels, over the words i ... j-1: a row and the phrase after it |
| any (i, j) | one of the phrases over these words |
| row (i, j) | one such phrase, or several side by side |

A row is extended only on its right, so that every tree has one derivation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spectral_latent._compiled import compiled, compiled_part
from spectral_latent.constituency.forests import PhraseColumns
from spectral_latent.constituency.tree import Chain
from spectral_latent.inference import Derivations
from spectral_latent.model.parts import Parts
from spectral_latent.trees import FloatArray, Forest, IntArray, range_of

_ROOM = 1 << 10  # edges of a sentence for which there is room at first
_ANY = -1  # the number of an item `any (i, j)` in a column of constituents
_ROW = -2  # the number of an item `row (i, j)`


@compiled_part
def _extend(row: IntArray, phrase: IntArray, i: int, j: int, edges: IntArray, n_edges: int) -> int:
    """Append the edges that make (i, j) of a row i ... k-1 and any phrase k ... j-1; return the new number of edges.

    row: (n + 1, n + 1) the item of a row over i ... j - 1, or -1.
    phrase: (n + 1, n + 1) the item of any phrase over i ... j - 1, or -1.
    edges: (2, E) left and right child; the first n_edges are in use."""
    for k in range(i + 1, j):
        left, right = row[i, k], phrase[k, j]
        if left >= 0 and right >= 0:
            edges[0, n_edges] = left
            edges[1, n_edges] = right
            n_edges += 1
    return n_edges


class _Cells(NamedTuple):
    """The constituents of T sentences, cell by cell.

    start: (T + 1,) the first word of each sentence, and the number of all words.
    of_sentence: (T + 1,) the first cell of each sentence, and the number C of all cells.  In a sentence of n words, the
    cell (i, j) is number (j - i - 1) n + i, so that short spans come first; numbers with j > n are not used.
    of_cell: (C + 1,) the constituents of cell c are those from of_cell[c] to of_cell[c+1] - 1 in `order`.
    last: (n,) the largest end of the constituents of two words or more that begin at each word; -1 if there are none.
    order: (K,) the numbers of the constituents."""

    start: IntArray
    of_sentence: IntArray
    of_cell: IntArray
    last: IntArray
    order: IntArray

    @staticmethod
    def of(constituents: Parts, start: IntArray) -> _Cells:
        """Sort constituents by cell."""
        sentence, begin, end, _, _ = constituents
        n, width = np.diff(start), end - begin
        # A sentence without a constituent over all of its words has no tree, and gets no cells.
        has_tree = np.zeros(len(n), dtype=np.bool_)
        has_tree[sentence[width == n[sentence]]] = True
        of_sentence = np.append(0, np.cumsum(np.where(has_tree, n * n, 0)))
        cell = of_sentence[sentence] + (width - 1) * n[sentence] + begin
        known = np.flatnonzero(has_tree[sentence])
        order = known[np.argsort(cell[known], kind="stable")]
        of_cell = np.append(0, np.cumsum(np.bincount(cell[known], minlength=of_sentence[-1])))
        last = np.full(start[-1], -1)
        is_long = width > 1
        np.maximum.at(last, (start[sentence] + begin)[is_long], (start[sentence] + end)[is_long])
        return _Cells(start, of_sentence, of_cell, last, order)


@compiled
def _build(
    cells: _Cells,
    chain: IntArray,
    gain: FloatArray,
    phrase: IntArray,
    row: IntArray,
    done: int,
    items: IntArray,
    n_items: int,
    edges: IntArray,
    weight: FloatArray,
    n_edges: int,
) -> tuple[int, int, int]:
    """Build the items and edges of the cells from number `done` on, until a cell may need more edges than fit.

    chain: (K,) the chain of labels of each constituent.
    gain: (K,) the gain of each constituent.
    phrase: (n + 1, n + 1) gets the item of any phrase over the words i ... j-1 of a sentence of up to n words, or -1.
    row: (n + 1, n + 1) gets the item of any row of phrases over these words, or -1.
    items: (4, I) gets the chain of each item, _ANY or _ROW; its first edge; its first word; and the sentence of a
    constituent over all words of its sentence, -1 for others.  The first `n_items` are in use.
    edges: (2, E) the left and right child of each edge; the first `n_edges` are in use.
    weight: (E,) the gain of the constituent that each edge derives, 0 for other items.
    Returns the number of finished cells, of items in use and of edges in use."""
    start, of_sentence, of_cell, last, order = cells
    for sentence in range(len(start) - 1):
        word = start[sentence]
        n = start[sentence + 1] - word
        for at in range(max(done, of_sentence[sentence]), of_sentence[sentence + 1]):
            # The first cell of a sentence: forget the items of the sentence before.
            if at == of_sentence[sentence]:
                for i in range(n):
                    for j in range(n + 1):
                        phrase[i, j] = row[i, j] = -1
            i = (at - of_sentence[sentence]) % n
            j = i + (at - of_sentence[sentence]) // n + 1
            if j > n:
                continue
            begin, stop = of_cell[at], of_cell[at + 1]
            if n_edges + (stop - begin + 1) * (j - i + 1) > len(weight):
                return at, n_items, n_edges
            before = n_items
            # Derive every constituent over these words: a word, or a row and the phrase after it.
            for k in range(begin, stop):
                first_edge = n_edges
                items[0, n_items] = chain[order[k]]
                items[1, n_items] = n_edges
                items[2, n_items] = word + i
                items[3, n_items] = sentence if j - i == n else -1
                if j == i + 1:
                    edges[0, n_edges] = edges[1, n_edges] = -1
                    n_edges += 1
                n_edges = _extend(row, phrase, i, j, edges, n_edges)
                weight[first_edge:n_edges] = gain[order[k]]
                n_items += 1
            # Derive `any` of these constituents, which is the child of longer ones.
            any_phrase = -1
            first_edge = n_edges
            if n_items > before and j - i < n:
                any_phrase = n_items
                phrase[i, j] = any_phrase
                items[0, n_items] = _ANY
                items[1, n_items] = n_edges
                items[2, n_items] = word + i
                items[3, n_items] = -1
                for item in range(before, n_items):
                    edges[0, n_edges] = item
                    edges[1, n_edges] = -1
                    n_edges += 1
                n_items += 1
            # Derive a row, if a longer constituent begins here: one phrase, or a row and the phrase after it.
            if word + j < last[word + i]:
                items[0, n_items] = _ROW
                items[1, n_items] = n_edges
                items[2, n_items] = word + i
                items[3, n_items] = -1
                before_row = n_edges
                if any_phrase >= 0:
                    edges[0, n_edges] = any_phrase
                    edges[1, n_edges] = -1
                    n_edges += 1
                n_edges = _extend(row, phrase, i, j, edges, n_edges)
                if n_edges > before_row:
                    row[i, j] = n_items
                    n_items += 1
            weight[first_edge:n_edges] = 0.0
    return of_sentence[-1], n_items, n_edges


@compiled
def _list_nodes(
    chain: IntArray, place: IntArray, left: IntArray, right: IntArray
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """List the nodes of trees, and the children of each.

    chain: (P,) the chain of labels of each of P parts of derivations; negative if a part only joins phrases.
    place: (P,) the first word below each part.
    left, right: (P,) the parts of the children, as in `Derivations`.
    Returns the columns (3, N) of N nodes: chain, place of the word of a node over a word, or -1, and part; the first
    child of each node, (N + 1,); the children (C,), which are numbers of nodes; and for each part, (P, 2), the number
    of its node, and of the phrases in it."""
    nodes = np.empty((3, len(chain)), dtype=np.int64)
    start = np.zeros(len(chain) + 1, dtype=np.int64)
    of_part = np.zeros((len(chain), 2), dtype=np.int64)
    n_nodes = 0
    for part in range(len(chain)):
        for below in (left[part], right[part]):
            if below >= 0:
                of_part[part, 1] += of_part[below, 1]
        if chain[part] < 0:
            continue
        nodes[0, n_nodes] = chain[part]
        nodes[1, n_nodes] = place[part] if left[part] < 0 else -1
        nodes[2, n_nodes] = part
        # Count the children: walk down the row from its last phrase to its first, whose step is its only child.
        size = 0
        if left[part] >= 0:
            of_part[part, 1] += 1
            size = 1
            row = part
            while right[row] >= 0:
                size += 1
                row = left[row]
        start[n_nodes + 1] = start[n_nodes] + size
        of_part[part, 0] = n_nodes
        n_nodes += 1
    child = np.empty(start[n_nodes], dtype=np.int64)
    for node in range(n_nodes):
        at = start[node + 1] - 1
        row = nodes[2, node]
        # The right child of each step is an item `any`, and the left child is the rest of the row.
        while right[row] >= 0:
            child[at] = of_part[left[right[row]], 0]
            at -= 1
            row = left[row]
        if at >= start[node]:
            child[at] = of_part[left[left[row]], 0]
    return nodes[:, :n_nodes], start[: n_nodes + 1], child, of_part


class PhraseForest(NamedTuple):
    """Trees of sentences as the derivations of a forest.

    forest: the forest, of I items and E edges, with a component for each sentence that has trees.  The symbol of an
    item is the number of the chain of labels that it puts above its children; it is negative if the item only joins
    phrases.
    weight: (E,) the gain of the constituent that an edge derives; zero for an item that only joins phrases.
    first: (I,) the first word below an item with a chain of labels; words are numbered through all sentences.
    sentence: (C,) the sentence of each component."""

    forest: Forest
    weight: FloatArray
    first: IntArray
    sentence: IntArray

    def columns(self, derivations: Derivations, chains: Sequence[Chain]) -> PhraseColumns:
        """List the nodes of the trees of derivations; a part that several derivations share is one node."""
        item = range_of(self.forest.start, derivations.edge)
        symbol, first = self.forest.symbol[item], self.first[item]
        (chain, place, _), start, child, of_part = _list_nodes(symbol, first, derivations.left, derivations.right)
        root, n_phrases = of_part[derivations.root].T
        return PhraseColumns(chain, start, child, place, root, n_phrases, chains)


def build_bracketings(constituents: Parts, gain: FloatArray, start: IntArray) -> PhraseForest:
    """Build the forest of all trees that consist of given constituents; a sentence without a tree has no root.

    gain: (K,) the gain of each constituent.
    start: (T + 1,) the first word of each sentence, and the number of all words."""
    sentence, _, _, chain, _ = constituents
    length = np.zeros(len(start) - 1, dtype=np.int64)  # a sentence without constituents needs no room
    length[sentence] = np.diff(start)[sentence]
    size = int(length.max(initial=0))
    cells = _Cells.of(constituents, start)
    phrase, row = np.empty((2, size + 1, size + 1), dtype=np.int64)
    items = np.empty((4, len(sentence) + int((length * (length + 1)).sum())), dtype=np.int64)
    edges = np.empty((2, _ROOM * max(len(length), 1)), dtype=np.int64)
    weight = np.empty(edges.shape[1])
    rooms = (cells, chain, gain, phrase, row)
    done = 0
    n_items = 0
    n_edges = 0
    # Go on with twice the room wherever the edges of the next cell may not fit.
    while True:
        done, n_items, n_edges = _build(*rooms, done, items, n_items, edges, weight, n_edges)
        if done == cells.of_sentence[-1]:
            break
        edges = np.concatenate([edges, np.empty_like(edges)], axis=1)
        weight = np.concatenate([weight, np.empty_like(weight)])
    symbol, starts, first, of_root = items[:, :n_items]
    has_trees = np.diff(cells.of_sentence) > 0
    root = np.flatnonzero(of_root >= 0)
    forest = Forest(
        symbol=symbol,
        start=np.append(starts, n_edges),
        rule=np.zeros(n_edges, dtype=np.int64),
        left=edges[0, :n_edges],
        right=edges[1, :n_edges],
        root=root,
        component=(has_trees.cumsum() - 1)[of_root[root]],
    )
    return PhraseForest(forest, weight[:n_edges], first, np.flatnonzero(has_trees))
