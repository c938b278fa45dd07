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

from spectral_latent._compiled import check_column, check_range, check_starts, compiled, compiled_part
from spectral_latent.constituency.forests import PhraseColumns
from spectral_latent.constituency.tree import Chain
from spectral_latent.inference import Derivations
from spectral_latent.model.parts import Parts
from spectral_latent.trees import FloatArray, Forest, IntArray, range_of

__all__ = ["PhraseForest", "build_bracketings"]

_ROOM = 1 << 10  # edges of a sentence for which there is room at first
_ANY = -1  # the number of an item `any (i, j)` in a column of constituents
_ROW = -2  # the number of an item `row (i, j)`


@compiled_part
def _extend(row: IntArray, phrase: IntArray, i: int, j: int, edges: IntArray, n_edges: int) -> int:
    """Append the edges that make (i, j) of a row i ... k-1 and any phrase k ... j-1; return the new number of edges.

    row: (n + 1, n + 1) the item of a row over i ... j - 1, or -1.
    phrase: (n + 1, n + 1) the item of any phrase over i ... j - 1, or -1.
    edges: (E, 2) left and right child; the first n_edges are in use.
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
    start: IntArray,
    of_sentence: IntArray,
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
    """Build the items and edges of the cells from number `done` on, until a cell may need more edges than fit.

    start: (T + 1,) the first word of each of T sentences, and the number of all words.
    of_sentence: (T + 1,) the first cell of each sentence, and the number C of all cells.  In a sentence of n words, the
    cell (i, j) is number (j - i - 1) n + i, so that short spans come first; numbers with j > n are not used.
    of_cell: (C + 1,) the constituents of cell c are of_cell[c] ... of_cell[c+1] - 1.
    last: (n,) the largest end of the constituents of two words or more that begin at each word; -1 if there are none.
    phrase: (n + 1, n + 1) gets the item of any phrase over the words i ... j-1 of a sentence of up to n words, or -1.
    row: (n + 1, n + 1) gets the item of any row of phrases over these words, or -1.
    items: (I,) the constituent of each item, _ANY or _ROW; the first `n_items` are in use.
    starts: (I,) the first edge of each item.
    edges: (E, 2) the left and right child of each edge; the first `n_edges` are in use.
    Returns the number of finished cells, of items in use and of edges in use.
    """
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
            if n_edges + (stop - begin + 1) * (j - i + 1) > len(edges):
                return at, n_items, n_edges
            before = n_items
            # Derive every constituent over these words: a word, or a row and the phrase after it.
            for constituent in range(begin, stop):
                items[n_items] = constituent
                starts[n_items] = n_edges
                if j == i + 1:
                    edges[n_edges, 0] = edges[n_edges, 1] = -1
                    n_edges += 1
                n_edges = _extend(row, phrase, i, j, edges, n_edges)
                n_items += 1
            # Derive `any` of these constituents, which is the child of longer ones.
            any_phrase = -1
            if n_items > before and j - i < n:
                any_phrase = n_items
                phrase[i, j] = any_phrase
                items[n_items] = _ANY
                starts[n_items] = n_edges
                for item in range(before, n_items):
                    edges[n_edges, 0] = item
                    edges[n_edges, 1] = -1
                    n_edges += 1
                n_items += 1
            # Derive a row, if a longer constituent begins here: one phrase, or a row and the phrase after it.
            if word + j < last[word + i]:
                items[n_items] = _ROW
                starts[n_items] = n_edges
                first_edge = n_edges
                if any_phrase >= 0:
                    edges[n_edges, 0] = any_phrase
                    edges[n_edges, 1] = -1
                    n_edges += 1
                n_edges = _extend(row, phrase, i, j, edges, n_edges)
                if n_edges > first_edge:
                    row[i, j] = n_items
                    n_items += 1
    return of_sentence[-1], n_items, n_edges


@compiled
def _collect(
    chain: IntArray, left: IntArray, right: IntArray, start: IntArray, child: IntArray, n_phrases: IntArray
) -> int:
    """List the children of each node of trees, and return their number; if `child` is empty, only count them.

    chain: (P,) the chain of labels of each of P parts of derivations; negative if a part only joins phrases.
    left, right: (P,) the parts of the children, as in `Derivations`.
    start: (P + 1,) gets the first child of each part in `child`; a part without a chain has no children.
    child: (C,) gets the children, which are numbers of parts; an empty array in the first call.
    n_phrases: (P,) gets the number of phrases in each part.
    """
    size = 0
    for part in range(len(chain)):
        start[part] = size
        n_phrases[part] = 0
        for below in (left[part], right[part]):
            if below >= 0:
                n_phrases[part] += n_phrases[below]
        if chain[part] < 0 or left[part] < 0:
            continue
        n_phrases[part] += 1
        # Walk down the row from its last phrase to its first: the right child of each step is an item `any`, and the
        # left child is the rest of the row.  The first phrase is the only child of the last step.
        n_children = 1
        row = part
        while right[row] >= 0:
            n_children += 1
            row = left[row]
        size += n_children
        if len(child) > 0:
            at = size
            row = part
            while right[row] >= 0:
                at -= 1
                child[at] = left[right[row]]
                row = left[row]
            child[at - 1] = left[left[row]]
    start[len(chain)] = size
    return size


class PhraseForest(NamedTuple):
    """Trees of sentences as the derivations of a forest.

    forest: the forest, of I items and E edges, with a component for each sentence that has trees.  The symbol of an
    item is the number of the chain of labels that it puts above its children; it is negative if the item only joins
    phrases.
    weight: (E,) the gain of the constituent that an edge derives; zero for an item that only joins phrases.
    first: (I,) the first word below an item with a chain of labels; words are numbered through all sentences.
    sentence: (C,) the sentence of each component.
    chains: the chains in the order of their numbers.
    words: the words of all sentences.
    """

    forest: Forest
    weight: FloatArray
    first: IntArray
    sentence: IntArray
    chains: Sequence[Chain]
    words: Sequence[str]

    def columns(self, derivations: Derivations) -> PhraseColumns:
        """List the nodes of the trees of derivations; a part that several derivations share is one node."""
        item = range_of(self.forest.start, derivations.edge)
        chain = self.forest.symbol[item]
        left = derivations.left
        right = derivations.right
        start, n_phrases = np.empty((2, len(item) + 1), dtype=np.int64)
        size = _collect(chain, left, right, start, np.empty(0, dtype=np.int64), n_phrases)
        child = np.empty(size, dtype=np.int64)
        _collect(chain, left, right, start, child, n_phrases)
        is_node = chain >= 0
        number = np.cumsum(is_node) - 1
        used, of_node = np.unique(chain[is_node], return_inverse=True)
        return PhraseColumns(
            chain=of_node,
            start=np.append(start[:-1][is_node], size),
            child=number[child],
            place=np.where(left < 0, self.first[item], -1)[is_node],
            root=number[derivations.root],
            n_phrases=n_phrases[derivations.root],
            chains=[self.chains[number] for number in used.tolist()],
        )


def build_bracketings(
    constituents: Parts, gain: FloatArray, chains: Sequence[Chain], words: Sequence[str], start: IntArray
) -> PhraseForest:
    """Build the forest of all trees that consist of given constituents; a sentence without a tree has no root.

    gain: (K,) the gain of each constituent.
    start: (T + 1,) the first word of each sentence, and the number of all words.
    Raises ValueError if the columns differ in length, or if a constituent is not within the words of a sentence.

    >>> from spectral_latent.inference import n_best_derivations
    >>> spans = np.array([[0, 1], [1, 2], [2, 3], [0, 2], [0, 3]]).T
    >>> constituents = Parts(np.zeros(5, dtype=np.int64), *spans, np.array([0, 0, 0, 1, 2]), np.ones(5))
    >>> for gain in (0.5, -0.5):
    ...     gains = np.array([0.0, 0.0, 0.0, gain, 0.9])
    ...     trees = build_bracketings(constituents, gains, [("N",), ("NP",), ("S",)], ["a", "b", "c"], np.array([0, 3]))
    ...     (tree,) = trees.columns(n_best_derivations(trees.forest, trees.weight, 1)).trees(trees.words)
    ...     print(tree.bracketed())
    (S (NP (N a) (N b)) (N c))
    (S (N a) (N b) (N c))
    """
    sentence, begin, end, chain, _ = constituents
    check_starts("starts of sentences", start, len(words))
    for name, column in zip(Parts._fields, constituents[:4], strict=False):
        check_column(f"values of `{name}` of constituents", column, (np.size(sentence),), np.int64)
    check_column("gains of constituents", gain, (len(sentence),), np.float64)
    check_range("sentences of constituents", sentence, 0, len(start) - 1)
    check_range("chains of constituents", chain, 0, len(chains))
    length = np.diff(start)
    for k in np.flatnonzero((begin < 0) | (begin >= end) | (end > length[sentence]))[:1]:
        raise ValueError(f"constituent {k} is over the words {begin[k]} ... {end[k] - 1}")
    first = begin + start[sentence]
    width = end - begin
    # A sentence without a constituent over all of its words has no tree, and gets no cells.
    is_top = width == length[sentence]
    has_trees = np.bincount(sentence[is_top], minlength=len(length)) > 0
    of_sentence = np.append(0, np.cumsum(np.where(has_trees, length * length, 0)))
    # Sort the constituents by cell: by sentence, then by length, then by first word.
    used = np.flatnonzero(has_trees[sentence])
    cell = (of_sentence[sentence] + (width - 1) * length[sentence] + begin)[used]
    order = used[np.argsort(cell, kind="stable")]
    of_cell = np.append(0, np.cumsum(np.bincount(cell, minlength=of_sentence[-1])))
    last = np.full(len(words), -1, dtype=np.int64)
    np.maximum.at(last, first[width > 1], (first + width)[width > 1])
    charted = length[has_trees]
    most = int(charted.max(initial=0))
    phrase, row = np.empty((2, most + 1, most + 1), dtype=np.int64)
    items, starts = np.empty((2, len(order) + int((charted * (charted + 1)).sum())), dtype=np.int64)
    edges = np.empty((_ROOM * max(len(length), 1), 2), dtype=np.int64)
    rooms = (start, of_sentence, of_cell, last, phrase, row)
    done = 0
    n_items = 0
    n_edges = 0
    # Go on with twice the room wherever the edges of the next cell may not fit.
    while True:
        done, n_items, n_edges = _build(*rooms, done, items, starts, n_items, edges, n_edges)
        if done == of_sentence[-1]:
            break
        edges = np.concatenate([edges, np.empty_like(edges)])
    items = items[:n_items]
    starts = np.append(starts[:n_items], n_edges)
    edges = edges[:n_edges]
    which = order[np.maximum(items, 0)]
    is_part = items < 0
    root = np.flatnonzero(~is_part & is_top[which])
    left, right = np.ascontiguousarray(edges.T)
    forest = Forest(
        symbol=np.where(is_part, items, chain[which]),
        start=starts,
        rule=np.zeros(len(edges), dtype=np.int64),
        left=left,
        right=right,
        root=root,
        component=(np.cumsum(has_trees) - 1)[sentence[which[root]]],
    )
    weight = np.repeat(np.where(is_part, 0.0, gain[which]), np.diff(starts))
    return PhraseForest(forest, weight, first[which], np.flatnonzero(has_trees), chains, words)
