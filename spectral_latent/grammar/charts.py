"""Compiled CKY for a plain binary PCFG: inside scores, and the forest of what its posteriors keep.

The unpruned forest of a sentence has millions of edges, of which thousands matter.  It is therefore never built:
`fill` computes inside scores, and `extract` walks down from the top, computing outside scores only for items that
are kept, and lists the edges whose posterior is above a threshold.

| here | meaning |
| --- | --- |
| cell of (i, j) | words i ... j-1; numbered j (j-1) / 2 + i |
| inner[cell, a] · 2^exponents[cell] | inside score of symbol a |
| share[cell, a] | outside score in units that make inner · share the posterior of the item |
| item | cell · S + symbol |
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import BoolArray, FloatArray, IntArray

__all__ = ["Chart", "PlainGrammar", "Tagging", "extract", "fill"]

_compiled = njit(cache=True, nogil=True)
_LOWEST = -(1 << 40)


class PlainGrammar(NamedTuple):
    """A one-state grammar, its binary rules sorted by parent (as in `Rules`) and by left child."""

    rules: IntArray  # (R, 3) sorted by parent, left, right
    number: IntArray  # (R,) row of `Rules.binary`
    weight: FloatArray  # (R,)
    of_parent: IntArray  # (S + 1,) rules of parent a: of_parent[a] ... of_parent[a+1] - 1
    by_left: IntArray  # (R, 2) parent and right child, sorted by left child
    left_weight: FloatArray  # (R,)
    of_left: IntArray  # (S + 1,)
    root: FloatArray  # (S,)
    prior: FloatArray  # (S,) share of each symbol among the nodes of a treebank

    @staticmethod
    def of(operators: ObservableOperators, prior: FloatArray, used: BoolArray | None = None) -> PlainGrammar:
        """From operators with one state per symbol; used: (R2,) the binary rules to take, all if not given."""
        packed = operators.packed
        number = np.arange(len(packed.binary_rules)) if used is None else np.flatnonzero(used)
        rules, ends = packed.binary_rules[number], np.arange(operators.n_symbols + 1)
        weight = packed.data[number]
        order = np.argsort(rules[:, 1], kind="stable")
        return PlainGrammar(
            rules,
            number,
            weight,
            np.searchsorted(rules[:, 0], ends),
            np.ascontiguousarray(rules[order][:, [0, 2]]),
            weight[order],
            np.searchsorted(rules[order, 1], ends),
            operators.root[:, 0].copy(),
            prior,
        )


class Tagging(NamedTuple):
    """The leaf rules that apply to each word: word i's are start[i] ... start[i+1] - 1."""

    start: IntArray  # (n + 1,)
    rule: IntArray  # row of `Rules.leaf`
    symbol: IntArray
    weight: FloatArray


class Chart(NamedTuple):
    """Inside scores of every cell, and the symbols that have one."""

    inner: FloatArray  # (cells, S)
    exponents: IntArray  # (cells,)
    active: NDArray[np.int32]  # (cells, S), the first n_active[cell] of each row
    n_active: IntArray  # (cells,)


@_compiled
def _close(grammar: PlainGrammar, chart: Chart, cell: int, beam: float) -> None:
    """Scale a finished cell, drop items far below its best, and list the others."""
    scores = chart.inner[cell]
    largest, promising = 0.0, 0.0
    for a in range(len(scores)):
        largest = max(largest, scores[a])
        promising = max(promising, scores[a] * grammar.prior[a])
    if largest == 0.0:
        return
    shift = math.frexp(largest)[1]
    scale = math.ldexp(1.0, -shift)
    chart.exponents[cell] += shift
    for a in range(len(scores)):
        if scores[a] * grammar.prior[a] > promising * beam:
            scores[a] *= scale
            chart.active[cell, chart.n_active[cell]] = a
            chart.n_active[cell] += 1
        else:
            scores[a] = 0.0


@_compiled
def _splits(chart: Chart, i: int, j: int, left: IntArray, right: IntArray, scale: FloatArray) -> tuple[int, int]:
    """Cells on both sides of each split of (i, j) where both have items, and 2^(their exponents - the largest).

    Returns how many there are, and the largest.
    """
    count, top = 0, _LOWEST
    for k in range(i + 1, j):
        b, c = k * (k - 1) // 2 + i, j * (j - 1) // 2 + k
        if chart.n_active[b] and chart.n_active[c]:
            left[count], right[count] = b, c
            top = max(top, chart.exponents[b] + chart.exponents[c])
            count += 1
    for at in range(count):
        scale[at] = math.ldexp(1.0, max(chart.exponents[left[at]] + chart.exponents[right[at]] - top, -1100))
    return count, top


@_compiled
def _join(grammar: PlainGrammar, chart: Chart, cell: int, left: int, right: int, scale: float) -> None:
    """Add to a cell all that its left and right part derive together."""
    scores, others = chart.inner[cell], chart.inner[right]
    for at in range(chart.n_active[left]):
        b = chart.active[left, at]
        score = scale * chart.inner[left, b]
        for r in range(grammar.of_left[b], grammar.of_left[b + 1]):
            other = others[grammar.by_left[r, 1]]
            if other > 0.0:
                scores[grammar.by_left[r, 0]] += grammar.left_weight[r] * score * other


@_compiled
def fill(grammar: PlainGrammar, tagging: Tagging, beam: float) -> Chart:
    """Inside scores of all cells of a sentence.

    An item is dropped when its score times its symbol's prior is at most `beam` times the cell's best.
    """
    n, n_symbols = len(tagging.start) - 1, len(grammar.root)
    n_cells = n * (n + 1) // 2
    chart = Chart(
        np.zeros((n_cells, n_symbols)),
        np.zeros(n_cells, dtype=np.int64),
        np.empty((n_cells, n_symbols), dtype=np.int32),
        np.zeros(n_cells, dtype=np.int64),
    )
    left, right, scale = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n)
    for i in range(n):
        cell = (i + 1) * i // 2 + i
        for at in range(tagging.start[i], tagging.start[i + 1]):
            chart.inner[cell, tagging.symbol[at]] += tagging.weight[at]
        _close(grammar, chart, cell, beam)
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length
            cell = j * (j - 1) // 2 + i
            n_splits, chart.exponents[cell] = _splits(chart, i, j, left, right, scale)
            for at in range(n_splits):
                _join(grammar, chart, cell, left[at], right[at], scale[at])
            _close(grammar, chart, cell, beam)
    return chart


@_compiled
def _appended(edges: IntArray, size: int, rule: int, left: int, right: int) -> IntArray:
    """The edges with one more in row `size`, moved to twice the room where there is none."""
    if size == len(edges):
        larger = np.empty((2 * size, 3), dtype=np.int64)
        larger[:size] = edges
        edges = larger
    edges[size, 0], edges[size, 1], edges[size, 2] = rule, left, right
    return edges


@_compiled
def _expand(
    grammar: PlainGrammar,
    chart: Chart,
    splits: tuple[IntArray, IntArray, FloatArray],
    item: int,
    threshold: float,
    share: FloatArray,
    edges: IntArray,
    n_edges: int,
) -> tuple[IntArray, int]:
    """Push an item's share to its children; append the edges whose posterior is above `threshold`, or the best."""
    n_symbols = len(grammar.root)
    left, right, scale = splits
    a, above = item % n_symbols, share[item // n_symbols, item % n_symbols]
    before, best, best_rule, best_left, best_right = n_edges, 0.0, -1, -1, -1
    for r in range(grammar.of_parent[a], grammar.of_parent[a + 1]):
        b, c = grammar.rules[r, 1], grammar.rules[r, 2]
        for at in range(len(left)):
            x, y = chart.inner[left[at], b], chart.inner[right[at], c]
            if x == 0.0 or y == 0.0:
                continue
            weight = above * grammar.weight[r] * scale[at]
            share[left[at], b] += weight * y
            share[right[at], c] += weight * x
            posterior = weight * x * y
            if posterior > threshold:
                b_item, c_item = left[at] * n_symbols + b, right[at] * n_symbols + c
                edges = _appended(edges, n_edges, grammar.number[r], b_item, c_item)
                n_edges += 1
            elif posterior > best:
                best, best_rule = posterior, grammar.number[r]
                best_left, best_right = left[at] * n_symbols + b, right[at] * n_symbols + c
    if n_edges == before and best > 0.0:
        edges = _appended(edges, n_edges, best_rule, best_left, best_right)
        n_edges += 1
    return edges, n_edges


@_compiled
def extract(
    grammar: PlainGrammar, chart: Chart, tagging: Tagging, threshold: float
) -> tuple[IntArray, IntArray, IntArray, int]:
    """Items and edges whose posterior is above `threshold`, from the widest span down; of an item that is spread
    thinner than that, the best edge.

    Returns items (I,), the number of edges of each (I,), edges (E, 3): rule, left item, right item, both -1 for a
    leaf rule; and the number of items over the whole sentence, which come first.
    """
    n, n_symbols = len(tagging.start) - 1, len(grammar.root)
    share, wanted = np.zeros_like(chart.inner), np.zeros(chart.inner.shape, dtype=np.bool_)  # wanted: by a kept edge
    items, sizes = np.empty(chart.inner.size, dtype=np.int64), np.empty(chart.inner.size, dtype=np.int64)
    edges, n_items, n_edges, n_tops = np.empty((1024, 3), dtype=np.int64), 0, 0, 0
    left, right, scale = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n)
    top = n * (n - 1) // 2
    total = (chart.inner[top] * grammar.root).sum()
    if total > 0.0:
        share[top] = grammar.root / total
        wanted[top, np.argmax(share[top] * chart.inner[top])] = True
    for length in range(n, 0, -1):
        for i in range(n - length + 1):
            j = i + length
            cell = j * (j - 1) // 2 + i
            n_splits, largest = _splits(chart, i, j, left, right, scale)
            scale[:n_splits] *= math.ldexp(1.0, min(max(largest - chart.exponents[cell], -1000), 1000))
            splits = (left[:n_splits], right[:n_splits], scale[:n_splits])
            for a in range(n_symbols):
                if not wanted[cell, a] and share[cell, a] * chart.inner[cell, a] <= threshold:
                    continue
                item, before = cell * n_symbols + a, n_edges
                edges, n_edges = _expand(grammar, chart, splits, item, threshold, share, edges, n_edges)
                for edge in edges[before:n_edges]:
                    wanted[edge[1] // n_symbols, edge[1] % n_symbols] = True
                    wanted[edge[2] // n_symbols, edge[2] % n_symbols] = True
                if length == 1:
                    for at in range(tagging.start[i], tagging.start[i + 1]):
                        if tagging.symbol[at] == a:
                            edges = _appended(edges, n_edges, tagging.rule[at], -1, -1)
                            n_edges += 1
                items[n_items], sizes[n_items] = item, n_edges - before
                n_items += 1
        if length == n:
            n_tops = n_items
    return items[:n_items], sizes[:n_items], edges[:n_edges], n_tops
