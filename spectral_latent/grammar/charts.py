"""Compiled CKY for a plain binary PCFG: inside scores.

The unpruned forest of a sentence has millions of edges, of which thousands matter.  It is therefore never built:
`fill` computes inside scores, and `extraction.extract` lists the edges that matter.

| here | meaning |
| --- | --- |
| cell of (i, j) | words i ... j-1; numbered j (j-1) / 2 + i |
| inner[cell, a] · 2^exponents[cell] | inside score of symbol a |
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import BoolArray, FloatArray, IntArray

__all__ = ["Chart", "PlainGrammar", "Tagging", "compiled", "fill"]

compiled = njit(cache=True, nogil=True)
_LOWEST = -(1 << 40)


class PlainGrammar(NamedTuple):
    """A one-state grammar of S symbols, its R binary rules sorted by parent (as in `Rules`) and by pair of children."""

    rules: IntArray  # (R, 3) sorted by parent, left, right
    number: IntArray  # (R,) row of `Rules.binary`
    weight: FloatArray  # (R,)
    of_parent: IntArray  # (S + 1,) rules of parent a: of_parent[a] ... of_parent[a+1] - 1
    pair: NDArray[np.int32]  # (S, S) number of the pair of a left and a right child; -1 where there is no rule
    of_pair: IntArray  # (P + 1,) in the two columns below, rules of pair p: of_pair[p] ... of_pair[p+1] - 1
    pair_parent: IntArray  # (R,)
    pair_weight: FloatArray  # (R,)
    root: FloatArray  # (S,)
    prior: FloatArray  # (S,) share of each symbol among the nodes of a treebank

    @staticmethod
    def of(operators: ObservableOperators, prior: FloatArray, used: BoolArray | None = None) -> PlainGrammar:
        """From operators with one state per symbol; used: (R2,) the binary rules to take, all if not given."""
        packed, n_symbols = operators.packed, operators.n_symbols
        number = np.arange(len(packed.binary_rules)) if used is None else np.flatnonzero(used)
        rules, weight = packed.binary_rules[number], packed.data[number]
        order = np.lexsort(rules[:, 1:].T[::-1])
        parent, left, right = rules[order].T
        starts = np.flatnonzero((np.diff(left, prepend=-1) != 0) | (np.diff(right, prepend=-1) != 0))
        pair = np.full((n_symbols, n_symbols), -1, dtype=np.int32)
        pair[left[starts], right[starts]] = np.arange(len(starts))
        return PlainGrammar(
            rules,
            number,
            weight,
            np.searchsorted(rules[:, 0], np.arange(n_symbols + 1)),
            pair,
            np.append(starts, len(rules)),
            np.ascontiguousarray(parent),
            weight[order],
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


@compiled
def _close(grammar: PlainGrammar, chart: Chart, cell: int, beam: float) -> None:
    """Scale a finished cell, drop items far below its best, and list the others."""
    scores = chart.inner[cell]
    largest, promising = 0.0, 0.0
    for a in range(len(scores)):
        if scores[a] > 0.0:
            largest = max(largest, scores[a])
            promising = max(promising, scores[a] * grammar.prior[a])
    if largest == 0.0:
        return
    # Keep what is within the beam, scaled to a largest score in [1/2, 1).
    shift = math.frexp(largest)[1]
    scale = math.ldexp(1.0, -shift)
    chart.exponents[cell] += shift
    for a in range(len(scores)):
        if scores[a] * grammar.prior[a] > promising * beam:
            scores[a] *= scale
            chart.active[cell, chart.n_active[cell]] = a
            chart.n_active[cell] += 1
        elif scores[a] > 0.0:
            scores[a] = 0.0


class _Splits(NamedTuple):
    """Cells on both sides of each split of a cell where both have items, and 2^(their exponents - the largest)."""

    left: IntArray
    right: IntArray
    scale: FloatArray


@compiled
def _splits(chart: Chart, i: int, j: int, room: _Splits) -> tuple[_Splits, int]:
    """The splits of (i, j), and the largest exponent; room: for as many as a cell may have."""
    count, top = 0, _LOWEST
    for k in range(i + 1, j):
        b, c = k * (k - 1) // 2 + i, j * (j - 1) // 2 + k
        if chart.n_active[b] and chart.n_active[c]:
            room.left[count], room.right[count] = b, c
            top = max(top, chart.exponents[b] + chart.exponents[c])
            count += 1
    for at in range(count):
        exponent = chart.exponents[room.left[at]] + chart.exponents[room.right[at]]
        room.scale[at] = math.ldexp(1.0, max(exponent - top, -1100))
    return _Splits(room.left[:count], room.right[:count], room.scale[:count]), top


@compiled
def _room(n: int) -> _Splits:
    return _Splits(np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n))


@compiled
def _join(grammar: PlainGrammar, chart: Chart, cell: int, splits: _Splits) -> None:
    """Add to a cell all that the cells on both sides of each split derive together."""
    pairs, inner, active, n_active = grammar.pair, chart.inner, chart.active, chart.n_active
    of_pair, parent, weights = grammar.of_pair, grammar.pair_parent, grammar.pair_weight
    for at in range(len(splits.left)):
        left, right = splits.left[at], splits.right[at]
        for first in range(n_active[left]):
            b = active[left, first]
            score = splits.scale[at] * inner[left, b]
            for second in range(n_active[right]):
                c = active[right, second]
                pair = pairs[b, c]
                if pair >= 0:
                    weight = score * inner[right, c]
                    for r in range(of_pair[pair], of_pair[pair + 1]):
                        inner[cell, parent[r]] += weights[r] * weight


@compiled
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
    room = _room(n)
    # Words, then longer and longer spans from the cells of their parts.
    for i in range(n):
        cell = (i + 1) * i // 2 + i
        for at in range(tagging.start[i], tagging.start[i + 1]):
            chart.inner[cell, tagging.symbol[at]] += tagging.weight[at]
        _close(grammar, chart, cell, beam)
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length
            cell = j * (j - 1) // 2 + i
            splits, chart.exponents[cell] = _splits(chart, i, j, room)
            _join(grammar, chart, cell, splits)
            _close(grammar, chart, cell, beam)
    return chart
