"""Compiled CKY for a plain binary PCFG: inside scores, and the forest of what its posteriors keep.

The unpruned forest of a sentence has millions of edges, of which thousands matter.  It is therefore never built:
`fill` computes inside scores, and `extract` walks down from the top, computing outside scores only for items that
are kept, and writes out the edges whose posterior reaches a threshold.

| here | meaning |
| --- | --- |
| cell of (i, j) | words i ... j-1; numbered j (j-1) / 2 + i |
| inner[cell, a] · 2^exponents[cell] | inside score of symbol a |
| share[cell, a] | outside score in units that make inner · share the posterior of the item |
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import FloatArray, IntArray

__all__ = ["PlainGrammar", "extract", "fill"]

_compiled = njit(cache=True, nogil=True)


class PlainGrammar(NamedTuple):
    """A one-state grammar, its binary rules sorted by parent (as in `Rules`) and by left child."""

    rules: IntArray  # (R2, 3) sorted by parent, left, right
    weight: FloatArray  # (R2,)
    of_parent: IntArray  # (S + 1,) rules of parent a: of_parent[a] ... of_parent[a+1] - 1
    by_left: IntArray  # (R2, 2) parent and right child, sorted by left child
    left_weight: FloatArray  # (R2,)
    of_left: IntArray  # (S + 1,)
    root: FloatArray  # (S,)
    prior: FloatArray  # (S,) share of each symbol among the nodes of a treebank

    @staticmethod
    def of(operators: ObservableOperators, prior: FloatArray) -> PlainGrammar:
        """From operators with one state per symbol."""
        packed = operators.packed
        rules, ends = packed.binary_rules, np.arange(operators.n_symbols + 1)
        weight = packed.data.copy()
        order = np.argsort(rules[:, 1], kind="stable")
        return PlainGrammar(
            rules,
            weight,
            np.searchsorted(rules[:, 0], ends),
            np.ascontiguousarray(rules[order][:, [0, 2]]),
            weight[order],
            np.searchsorted(rules[order, 1], ends),
            operators.root[:, 0].copy(),
            prior,
        )


@_compiled
def _close(cell, grammar, beam, inner, exponents, active, n_active):
    """Scale a finished cell, drop items far below its best, and list the others."""
    scores = inner[cell]
    largest, promising = 0.0, 0.0
    for a in range(len(scores)):
        largest = max(largest, scores[a])
        promising = max(promising, scores[a] * grammar.prior[a])
    if largest == 0.0:
        return
    shift = math.frexp(largest)[1]
    scale = math.ldexp(1.0, -shift)
    exponents[cell] += shift
    for a in range(len(scores)):
        if scores[a] * grammar.prior[a] > promising * beam:
            scores[a] *= scale
            active[cell, n_active[cell]] = a
            n_active[cell] += 1
        else:
            scores[a] = 0.0


@_compiled
def fill(grammar, start, symbols, weights, beam):
    """Inside scores of all cells, from the leaves: word i may have symbols[start[i]:start[i+1]].

    An item is dropped when its score times its symbol's prior is below `beam` times the cell's best.
    Returns inner (cells, S) and exponents (cells,).
    """
    n, n_symbols = len(start) - 1, len(grammar.root)
    n_cells = n * (n + 1) // 2
    inner = np.zeros((n_cells, n_symbols))
    exponents = np.zeros(n_cells, dtype=np.int64)
    active = np.empty((n_cells, n_symbols), dtype=np.int32)
    n_active = np.zeros(n_cells, dtype=np.int64)
    for i in range(n):
        cell = (i + 1) * i // 2 + i
        for at in range(start[i], start[i + 1]):
            inner[cell, symbols[at]] += weights[at]
        _close(cell, grammar, beam, inner, exponents, active, n_active)
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length
            cell = j * (j - 1) // 2 + i
            scores = inner[cell]
            top = -(1 << 40)
            for k in range(i + 1, j):
                b, c = k * (k - 1) // 2 + i, j * (j - 1) // 2 + k
                if n_active[b] and n_active[c]:
                    top = max(top, exponents[b] + exponents[c])
            for k in range(i + 1, j):
                b, c = k * (k - 1) // 2 + i, j * (j - 1) // 2 + k
                if n_active[b] == 0 or n_active[c] == 0 or exponents[b] + exponents[c] < top - 1000:
                    continue
                scale = math.ldexp(1.0, exponents[b] + exponents[c] - top)
                right = inner[c]
                for at in range(n_active[b]):
                    left = active[b, at]
                    score = scale * inner[b, left]
                    for r in range(grammar.of_left[left], grammar.of_left[left + 1]):
                        other = right[grammar.by_left[r, 1]]
                        if other > 0.0:
                            scores[grammar.by_left[r, 0]] += grammar.left_weight[r] * score * other
            exponents[cell] = top
            _close(cell, grammar, beam, inner, exponents, active, n_active)
    return inner, exponents


@_compiled
def _grown(edges):
    """The same edges with twice the room."""
    larger = np.empty((2 * len(edges), edges.shape[1]), dtype=np.int64)
    larger[: len(edges)] = edges
    return larger


@_compiled
def _expand(grammar, threshold, i, j, a, inner, exponents, share, edges, n_edges):
    """Push an item's share to its children, and append its edges (rule, left item, right item) that are kept.

    An item is named cell · S + symbol.
    """
    n_symbols = len(grammar.root)
    cell = j * (j - 1) // 2 + i
    for r in range(grammar.of_parent[a], grammar.of_parent[a + 1]):
        left, right = grammar.rules[r, 1], grammar.rules[r, 2]
        for k in range(i + 1, j):
            b, c = k * (k - 1) // 2 + i, j * (j - 1) // 2 + k
            x, y = inner[b, left], inner[c, right]
            if x == 0.0 or y == 0.0:
                continue
            shift = min(max(exponents[b] + exponents[c] - exponents[cell], -1000), 1000)
            weight = share[cell, a] * grammar.weight[r] * math.ldexp(1.0, shift)
            share[b, left] += weight * y
            share[c, right] += weight * x
            if weight * x * y >= threshold:
                if n_edges == len(edges):
                    edges = _grown(edges)
                edges[n_edges, 0], edges[n_edges, 1], edges[n_edges, 2] = r, b * n_symbols + left, c * n_symbols + right
                n_edges += 1
    return edges, n_edges


@_compiled
def extract(grammar, threshold, inner, exponents, start, symbols, leaf_rules):
    """Items and edges whose posterior reaches `threshold`, from the widest span down.

    Returns items (I,) named cell · S + symbol, the number of edges of each (I,), and edges (E, 3): rule, left item,
    right item; of a leaf rule the items are -1.  The last result is the number of items over the whole sentence.
    """
    n, n_symbols = len(start) - 1, len(grammar.root)
    share = np.zeros_like(inner)
    wanted = np.zeros(inner.shape, dtype=np.bool_)
    edges, n_edges = np.empty((1024, 3), dtype=np.int64), 0
    items, sizes, n_items, n_roots = np.empty(inner.size, dtype=np.int64), np.empty(inner.size, dtype=np.int64), 0, 0
    top = n * (n - 1) // 2
    total = np.dot(inner[top], grammar.root)
    if total > 0.0:
        share[top] = grammar.root / total
        wanted[top] = share[top] * inner[top] >= threshold
    for length in range(n, 0, -1):
        for i in range(n - length + 1):
            cell = (i + length) * (i + length - 1) // 2 + i
            for a in range(n_symbols):
                if not wanted[cell, a]:
                    continue
                before = n_edges
                if length > 1:
                    edges, n_edges = _expand(
                        grammar, threshold, i, i + length, a, inner, exponents, share, edges, n_edges
                    )
                else:
                    if n_edges == len(edges):
                        edges = _grown(edges)
                    for at in range(start[i], start[i + 1]):
                        if symbols[at] == a:
                            edges[n_edges, 0], edges[n_edges, 1], edges[n_edges, 2] = leaf_rules[at], -1, -1
                            n_edges += 1
                for e in range(before, n_edges):
                    for side in range(1, 3):
                        child = edges[e, side]
                        if child >= 0:
                            wanted[child // n_symbols, child % n_symbols] = True
                items[n_items], sizes[n_items] = cell * n_symbols + a, n_edges - before
                n_items += 1
        if length == n:
            n_roots = n_items
    return items[:n_items], sizes[:n_items], edges[:n_edges], n_roots
