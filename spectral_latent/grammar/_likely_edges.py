"""Walk down the inside chart of a sentence, and list the items and edges that are likely.

Outside scores are computed only of the items that are kept.

| here | meaning |
| --- | --- |
| cell, item, inside[item] · 2^exponent[cell] | as in `_inside_chart` |
| outside[item] | outside score, in units that make inside · outside the posterior of the item |
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from spectral_latent._compiled import compiled, compiled_part
from spectral_latent.grammar._coarse import ONE, CoarseGrammar, CoarseLeaves, NumberArray, PlaceArray
from spectral_latent.grammar._inside_chart import InsideChart
from spectral_latent.grammar.permits import cells_from_widest
from spectral_latent.trees import BoolArray, FloatArray, IntArray

__all__ = ["likely_edges"]

_ROOM = 1 << 14  # edges that there is room for at first


class _Rules(NamedTuple):
    """The columns of `CoarseGrammar` that tell what a parent is made of."""

    rules: NumberArray  # (R, 3)
    number: IntArray  # (R,)
    weight: FloatArray  # (R,)
    of_parent: PlaceArray  # (S + 1,)


class _Extents(NamedTuple):
    """The places where a sentence has items of each symbol, (n + 1, S); n + 1 and 0 where it has none.

    For each place: the least and the largest end of the items that begin there, and the least and the largest beginning
    of those that end there.
    """

    first_end: PlaceArray
    last_end: PlaceArray
    first_begin: PlaceArray
    last_begin: PlaceArray

    @staticmethod
    def empty(n_words: int, n_symbols: int) -> _Extents:
        """Make the extents of n words without items.

        n_words: n.
        n_symbols: S.
        """
        first_end, first_begin = np.full((2, n_words + 1, n_symbols), n_words + 1, dtype=np.uint64)
        last_end, last_begin = np.zeros((2, n_words + 1, n_symbols), dtype=np.uint64)
        return _Extents(first_end, last_end, first_begin, last_begin)


@compiled_part
def _set_extents(chart: InsideChart, n: int, extents: _Extents) -> None:
    """Set the extents of the items of a sentence of n words, which are empty before."""
    # By rising ends, and rising beginnings within: the last of each that is seen is the largest.
    for j in range(1, n + 1):
        for i in range(j):
            cell = j * (j - 1) // 2 + i
            for item in range(chart.first[cell], chart.end[cell]):
                a = chart.symbol[item]
                extents.last_end[i, a] = j
                if j < extents.first_end[i, a]:
                    extents.first_end[i, a] = j
                if i < extents.first_begin[j, a]:
                    extents.first_begin[j, a] = i
                extents.last_begin[j, a] = i


class _Outside(NamedTuple):
    """The state of the walk down.

    outside: (N,).  wanted: (N,) whether the item is kept: it is likely, or a kept edge has it as a child.
    left, right: (n + 1, S) in a span (i, j), the items over (i, k) and over (k, j), by k and symbol; else -1.
    scale: (n + 1,) 2^(exponents of the cells on both sides of split k - that of their whole).
    """

    outside: FloatArray
    wanted: BoolArray
    extents: _Extents
    left: IntArray
    right: IntArray
    scale: FloatArray
    threshold: float


@compiled_part
def _mark(chart: InsideChart, walk: _Outside, i: int, j: int, is_entered: bool) -> None:
    """Write the items and scales of the splits of (i, j) into the tables of the walk, or remove the items (-1)."""
    whole = chart.exponent[j * (j - 1) // 2 + i]
    for k in range(i + 1, j):
        b, c = k * (k - 1) // 2 + i, j * (j - 1) // 2 + k
        exponent = chart.exponent[b] + chart.exponent[c] - whole
        exponent = -1100 if exponent < -1100 else 1000 if exponent > 1000 else exponent
        walk.scale[k] = math.ldexp(1.0, int(exponent))
        for item in range(chart.first[b], chart.end[b]):
            walk.left[k, chart.symbol[item]] = np.int64(item) if is_entered else -1
        for item in range(chart.first[c], chart.end[c]):
            walk.right[k, chart.symbol[item]] = np.int64(item) if is_entered else -1


@compiled_part
def _expand(
    grammar: _Rules,
    chart: InsideChart,
    walk: _Outside,
    item: int,
    i: int,
    j: int,
    edges: IntArray,
    n_edges: int,
) -> int:
    """Push an item's outside score to its children; append the edges above the threshold, or the best one.

    edges: (n, 3) of which `n_edges` are in use; there must be room for all edges that the item may have.
    Returns how many edges are in use then.
    """
    a = chart.symbol[item]
    above = walk.outside[item]
    extents = walk.extents
    before = n_edges
    best = 0.0
    best_rule = -1
    best_left = -1
    best_right = -1
    for r in range(grammar.of_parent[a], grammar.of_parent[a + 1]):
        b, c = grammar.rules[r, 1], grammar.rules[r, 2]
        # Only between these splits are there items of both children.
        first = max(extents.first_end[i, b], extents.first_begin[j, c])
        last = min(extents.last_end[i, b], extents.last_begin[j, c])
        for k in range(first, last + ONE):
            left, right = walk.left[k, b], walk.right[k, c]
            if left < 0 or right < 0:
                continue
            weight = above * grammar.weight[r] * walk.scale[k]
            walk.outside[left] += weight * chart.inside[right]
            walk.outside[right] += weight * chart.inside[left]
            # The edge is kept if it is likely; the best of the others is remembered.
            posterior = weight * chart.inside[left] * chart.inside[right]
            if posterior > walk.threshold:
                edges[n_edges, 0] = grammar.number[r]
                edges[n_edges, 1] = left
                edges[n_edges, 2] = right
                n_edges += 1
            elif posterior > best:
                best = posterior
                best_rule = grammar.number[r]
                best_left = left
                best_right = right
    # An item whose edges are all unlikely keeps the best, so that every item that is kept has a derivation.
    if n_edges == before and best > 0.0:
        edges[n_edges, 0] = best_rule
        edges[n_edges, 1] = best_left
        edges[n_edges, 2] = best_right
        n_edges += 1
    return n_edges


@compiled
def _walk_down(
    grammar: _Rules,
    chart: InsideChart,
    leaves: CoarseLeaves,
    walk: _Outside,
    cells: tuple[IntArray, IntArray],
    done: int,
    items: IntArray,
    n_items: int,
    edges: IntArray,
    n_edges: int,
) -> tuple[int, int, int]:
    """List the likely items and edges of the cells from number `done` on, as long as there is room for edges.

    cells: the first word of each cell, and the word after its last one, from the widest cell down.
    items: (N, 4) of which `n_items` are in use.
    edges: (n, 3) of which `n_edges` are in use.
    Returns how many cells are done then, and how many items and edges are in use.
    """
    first, last = cells
    n_cells = len(first)
    if done == 0:
        _set_extents(chart, last[0], walk.extents)
    for at in range(done, n_cells):
        i, j = first[at], last[at]
        cell = j * (j - 1) // 2 + i
        is_word = j == i + 1
        begin, end = chart.first[cell], chart.end[cell]
        first_leaf, end_leaf = leaves.start[i], leaves.start[j]
        # Keep what is likely by itself, and what a kept edge needs.
        most = end_leaf - first_leaf if is_word else 0  # edges of the cell
        for item in range(begin, end):
            if walk.outside[item] * chart.inside[item] > walk.threshold:
                walk.wanted[item] = True
            if walk.wanted[item] and not is_word:
                a = chart.symbol[item]
                most += (j - i - 1) * np.int64(grammar.of_parent[a + 1] - grammar.of_parent[a])
        if n_edges + most > len(edges):
            return at, n_items, n_edges
        if not is_word and most > 0:
            _mark(chart, walk, i, j, True)
        for item in range(begin, end):
            if not walk.wanted[item]:
                continue
            before = n_edges
            # A word keeps the leaf rules of the item's symbol; a longer item the edges to its children.
            if is_word:
                a = chart.symbol[item]
                for leaf in range(first_leaf, end_leaf):
                    if leaves.symbol[leaf] == a:
                        edges[n_edges, 0] = leaves.rule[leaf]
                        edges[n_edges, 1] = -1
                        edges[n_edges, 2] = -1
                        n_edges += 1
            else:
                n_edges = _expand(grammar, chart, walk, item, i, j, edges, n_edges)
                for e in range(before, n_edges):
                    walk.wanted[edges[e, 1]] = True
                    walk.wanted[edges[e, 2]] = True
            items[n_items, 0] = item
            items[n_items, 1] = i
            items[n_items, 2] = j
            items[n_items, 3] = n_edges - before
            n_items += 1
        if not is_word and most > 0:
            _mark(chart, walk, i, j, False)
    return n_cells, n_items, n_edges


def likely_edges(
    grammar: CoarseGrammar, chart: InsideChart, leaves: CoarseLeaves, threshold: float
) -> tuple[IntArray, IntArray]:
    """List the items and edges whose posterior is above `threshold`, from the widest span down.

    Of an item all of whose edges are less likely, the best edge is kept.

    grammar: the binary rules.
    chart: the chart that `inside_chart` has made with them.
    leaves: the leaf rules over each word.
    threshold: the least posterior of an item or edge that is kept for its own sake.

    Returns items (I, 4): number in the chart, first word, next word and number of edges; and edges (E, 3): rule, left
    item, right item, both -1 for a leaf rule.
    """
    n = len(leaves.start) - 1
    n_symbols = len(grammar.root)
    n_items = len(chart.symbol)
    left, right = np.full((2, n + 1, n_symbols), -1, dtype=np.int64)
    extents = _Extents.empty(n, n_symbols)
    outside = np.zeros(n_items)
    wanted = np.zeros(n_items, dtype=np.bool_)
    walk = _Outside(outside, wanted, extents, left, right, np.empty(n + 1), threshold)
    # Over the whole sentence, the outside score is the root's share of the sentence's probability.
    top = slice(int(chart.first[-n]), int(chart.end[-n]))
    share = grammar.root[chart.symbol[top]]
    total = np.cumsum(chart.inside[top] * share)[-1:].sum()
    if total > 0.0:
        outside[top] = share / total
        wanted[top.start + np.argmax(outside[top] * chart.inside[top])] = True
    # From the widest span down, so that the outside score of an item is whole before its children's.
    cells = cells_from_widest(n)
    rules = _Rules(*(getattr(grammar, name) for name in _Rules._fields))
    items = np.empty((n_items, 4), dtype=np.int64)
    edges = np.empty((_ROOM, 3), dtype=np.int64)
    done = 0
    n_items = 0
    n_edges = 0
    while True:
        done, n_items, n_edges = _walk_down(rules, chart, leaves, walk, cells, done, items, n_items, edges, n_edges)
        if done == len(chart.first):
            return items[:n_items], edges[:n_edges]
        edges = np.concatenate([edges, np.empty_like(edges)])
