"""The forest of what a plain PCFG's posteriors keep of a chart.

`extract` walks down from the top, computes outside scores only for items that are kept, and lists the edges whose
posterior is above a threshold.

| here | meaning |
| --- | --- |
| share[cell, a] | outside score in units that make inner · share the posterior of the item; see `charts` |
| item | cell · S + symbol |
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectral_latent.grammar.charts import Chart, PlainGrammar, Tagging, compiled
from spectral_latent.trees import FloatArray, IntArray

__all__ = ["appended", "extract"]


@compiled
def appended(edges: IntArray, size: int, rule: int, left: int, right: int) -> IntArray:
    """The edges with one more in row `size`, moved to twice the room where there is none."""
    if size == len(edges):
        larger = np.empty((2 * size, 3), dtype=np.int64)
        larger[:size] = edges
        edges = larger
    edges[size, 0], edges[size, 1], edges[size, 2] = rule, left, right
    return edges


class _Extents(NamedTuple):
    """Where a sentence has items of each symbol, (n + 1, S): the least and the largest end of those that begin at a
    place, and the least and the largest beginning of those that end there; none where least > largest."""

    first_end: NDArray[np.int32]
    last_end: NDArray[np.int32]
    first_begin: NDArray[np.int32]
    last_begin: NDArray[np.int32]


@compiled
def _extents(chart: Chart, n: int) -> _Extents:
    shape = (n + 1, chart.inner.shape[1])
    found = _Extents(
        np.full(shape, n + 1, dtype=np.int32),
        np.full(shape, -1, dtype=np.int32),
        np.full(shape, n + 1, dtype=np.int32),
        np.full(shape, -1, dtype=np.int32),
    )
    # By rising ends, and beginnings within: the last one seen of each is the largest.
    for j in range(1, n + 1):
        for i in range(j):
            cell = j * (j - 1) // 2 + i
            for at in range(chart.n_active[cell]):
                a = chart.active[cell, at]
                found.first_end[i, a] = min(found.first_end[i, a], j)
                found.last_end[i, a] = j
                found.first_begin[j, a] = min(found.first_begin[j, a], i)
                found.last_begin[j, a] = i
    return found


@compiled
def _scales(chart: Chart, i: int, j: int, scale: FloatArray) -> None:
    """scale[k] = 2^(exponents of the cells on both sides of split k of (i, j) - that of their whole)."""
    whole = chart.exponents[j * (j - 1) // 2 + i]
    for k in range(i + 1, j):
        parts = chart.exponents[k * (k - 1) // 2 + i] + chart.exponents[j * (j - 1) // 2 + k]
        scale[k] = math.ldexp(1.0, min(max(parts - whole, -1100), 1000))


@compiled
def _expand(
    grammar: PlainGrammar,
    chart: Chart,
    extents: _Extents,
    scale: FloatArray,
    a: int,
    i: int,
    j: int,
    threshold: float,
    share: FloatArray,
    edges: IntArray,
    n_edges: int,
) -> tuple[IntArray, int]:
    """Push an item's share to its children; append the edges whose posterior is above `threshold`, or the best."""
    n_symbols, inner, above = len(grammar.root), chart.inner, share[j * (j - 1) // 2 + i, a]
    before, best, best_rule, best_left, best_right = n_edges, 0.0, -1, -1, -1
    # Every rule of the item's symbol, at the splits where both children may lie.
    for r in range(grammar.of_parent[a], grammar.of_parent[a + 1]):
        b, c = grammar.rules[r, 1], grammar.rules[r, 2]
        first = max(extents.first_end[i, b], extents.first_begin[j, c])
        last = min(extents.last_end[i, b], extents.last_begin[j, c])
        for k in range(first, last + 1):
            left, right = k * (k - 1) // 2 + i, j * (j - 1) // 2 + k
            x, y = inner[left, b], inner[right, c]
            if x == 0.0 or y == 0.0:
                continue
            weight = above * grammar.weight[r] * scale[k]
            share[left, b] += weight * y
            share[right, c] += weight * x
            posterior = weight * x * y
            if posterior > threshold:
                edges = appended(edges, n_edges, grammar.number[r], left * n_symbols + b, right * n_symbols + c)
                n_edges += 1
            elif posterior > best:
                best, best_rule = posterior, grammar.number[r]
                best_left, best_right = left * n_symbols + b, right * n_symbols + c
    if n_edges == before and best > 0.0:
        edges = appended(edges, n_edges, best_rule, best_left, best_right)
        n_edges += 1
    return edges, n_edges


@compiled
def extract(
    grammar: PlainGrammar, chart: Chart, tagging: Tagging, threshold: float
) -> tuple[IntArray, IntArray, IntArray, int]:
    """Items and edges whose posterior is above `threshold`, from the widest span down; of an item that is spread
    thinner than that, the best edge.

    Returns items (I,), the number of edges of each (I,), edges (E, 3): rule, left item, right item, both -1 for a
    leaf rule; and the number of items over the whole sentence, which come first.
    """
    n, n_symbols, size = len(tagging.start) - 1, len(grammar.root), chart.n_active.sum()
    share, wanted = np.zeros_like(chart.inner), np.zeros(chart.inner.shape, dtype=np.bool_)  # wanted: by a kept edge
    items, sizes = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    edges, n_items, n_edges, n_tops = np.empty((1024, 3), dtype=np.int64), 0, 0, 0
    extents, scale = _extents(chart, n), np.empty(n + 1)
    top = n * (n - 1) // 2
    total = (chart.inner[top] * grammar.root).sum()
    if total > 0.0:
        share[top] = grammar.root / total
        wanted[top, np.argmax(share[top] * chart.inner[top])] = True
    # From the widest span down, so that the shares of items are complete when their turn comes.
    for length in range(n, 0, -1):
        for i in range(n - length + 1):
            j = i + length
            cell = j * (j - 1) // 2 + i
            _scales(chart, i, j, scale)
            for at in range(chart.n_active[cell]):
                a, before = chart.active[cell, at], n_edges
                if not wanted[cell, a] and share[cell, a] * chart.inner[cell, a] <= threshold:
                    continue
                if length == 1:
                    for rule in range(tagging.start[i], tagging.start[i + 1]):
                        if tagging.symbol[rule] == a:
                            edges = appended(edges, n_edges, tagging.rule[rule], -1, -1)
                            n_edges += 1
                else:
                    edges, n_edges = _expand(grammar, chart, extents, scale, a, i, j, threshold, share, edges, n_edges)
                    for e in range(before, n_edges):
                        for child in (edges[e, 1], edges[e, 2]):
                            wanted[child // n_symbols, child % n_symbols] = True
                items[n_items], sizes[n_items] = cell * n_symbols + a, n_edges - before
                n_items += 1
        if length == n:
            n_tops = n_items
    return items[:n_items], sizes[:n_items], edges[:n_edges], n_tops
