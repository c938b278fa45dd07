"""Compute the inside scores of a sentence under a binary PCFG of one state per symbol, by compiled CKY.

| here | meaning |
| --- | --- |
| cell of (i, j) | words i ... j-1; numbered j (j-1) / 2 + i, as in `permits` |
| item | a symbol over a cell; those of a cell are items first[cell] ... end[cell] - 1, by symbol |
| inside[item] · 2^exponent[cell] | inside score of the item |

The unpruned forest of a sentence has millions of edges, of which thousands matter.  It is therefore never built: a
chart has items and their scores, and `_likely_edges` lists the edges that matter.  Items without a score take no
memory.
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import numpy as np

from spectral_latent._compiled import EMPTY, ZERO, compiled, compiled_part
from spectral_latent.grammar._coarse import (
    ONE,
    PAIRS_WITHOUT_RULES,
    CoarseGrammar,
    CoarseLeaves,
    NumberArray,
    PlaceArray,
)
from spectral_latent.grammar.permits import Permits
from spectral_latent.trees import BoolArray, FloatArray, IntArray

__all__ = ["InsideChart", "LimitError", "inside_chart"]

_LENGTHS = 16  # of cells between two looks at the clock


class LimitError(Exception):
    """A sentence costs more than its limits allow."""


class InsideChart(NamedTuple):
    """The items of a sentence that have an inside score, cell by cell; see this module."""

    first: PlaceArray  # (cells,)
    end: PlaceArray  # (cells,)
    exponent: IntArray  # (cells,)
    symbol: NumberArray  # (N,)
    inside: FloatArray  # (N,)

    @staticmethod
    def empty(n_words: int, n_symbols: int) -> InsideChart:
        """Make a chart without items, with room for some.

        n_words: the number of words.
        n_symbols: S.
        """
        n_cells = n_words * (n_words + 1) // 2
        first, end = np.zeros((2, n_cells), dtype=np.uint64)
        exponent = np.zeros(n_cells, dtype=np.int64)
        room = 4 * n_symbols + 16 * n_words
        return InsideChart(first, end, exponent, np.empty(room, dtype=np.uint32), np.empty(room))


@compiled_part
def _with_items(chart: InsideChart, size: int, more: int) -> InsideChart:
    """Make room in a chart for more items after the first `size`."""
    if size + more <= len(chart.symbol):
        return chart
    symbol = np.empty(2 * size + more, dtype=np.uint32)
    inside = np.empty(2 * size + more)
    for item in range(size):
        symbol[item] = chart.symbol[item]
        inside[item] = chart.inside[item]
    return InsideChart(chart.first, chart.end, chart.exponent, symbol, inside)


@compiled_part
def _close(
    grammar: CoarseGrammar, chart: InsideChart, permits: Permits, cell: int, scores: FloatArray, size: int, beam: float
) -> int:
    """Append a cell's items but those far below its best; empty its scores (S,); return how many items there are."""
    largest = 0.0
    promising = 0.0
    row = permits.row[cell]
    for a in range(len(scores)):
        if scores[a] > 0.0 and not permits.symbols[row, a]:
            scores[a] = 0.0
        if scores[a] > 0.0:
            if scores[a] > largest:
                largest = scores[a]
            if scores[a] * grammar.prior[a] > promising:
                promising = scores[a] * grammar.prior[a]
    chart.first[cell] = size
    if largest > 0.0:
        # Scale by a power of two, which rounds nothing, to a largest score in [1/2, 1).
        shift = math.frexp(largest)[1]
        scale = math.ldexp(1.0, -shift)
        chart.exponent[cell] += shift
        for a in range(len(scores)):
            if scores[a] * grammar.prior[a] > promising * beam:
                chart.symbol[size] = a
                chart.inside[size] = scores[a] * scale
                size += 1
            scores[a] = 0.0
    chart.end[cell] = size
    return size


class _Splits(NamedTuple):
    """Cells on both sides of each split of a cell where both have items, and 2^(their exponents - the largest)."""

    left: PlaceArray
    right: PlaceArray
    scale: FloatArray


@compiled_part
def _splits(chart: InsideChart, i: int, j: int, room: _Splits) -> tuple[_Splits, int]:
    """List the splits of (i, j), and their largest exponent; room: for as many as a cell may have."""
    count = 0
    top = EMPTY
    for k in range(i + 1, j):
        b, c = k * (k - 1) // 2 + i, j * (j - 1) // 2 + k
        if chart.first[b] < chart.end[b] and chart.first[c] < chart.end[c]:
            room.left[count] = b
            room.right[count] = c
            if chart.exponent[b] + chart.exponent[c] > top:
                top = chart.exponent[b] + chart.exponent[c]
            count += 1
    # Scores of all splits are added, so that they need one exponent: the largest.
    for split in range(count):
        exponent = chart.exponent[room.left[split]] + chart.exponent[room.right[split]]
        room.scale[split] = math.ldexp(1.0, int(max(exponent - top, -1100)))
    return _Splits(room.left[:count], room.right[:count], room.scale[:count]), top


class _Pairs(NamedTuple):
    """Scores of the pairs of symbols that meet in one cell; those of pairs with rules are zero between two cells.

    score: (P + PAIRS_WITHOUT_RULES,) the sum over all splits.
    is_left: (S,) whether a symbol is the left one of a pair.
    left: (S + 1,) the symbols that are the left one of a pair; `_join` counts them.
    right: (S,) the inside scores of the cell on the right of one split, zero between two splits.
    """

    score: FloatArray
    is_left: BoolArray
    left: PlaceArray
    right: FloatArray


class _Room(NamedTuple):
    """Arrays that are used for one cell after the other.

    scores: (S,) the score of each symbol, zero between two cells.
    pairs: the scores of pairs of symbols.
    splits: room for as many splits as a cell may have.
    """

    scores: FloatArray
    pairs: _Pairs
    splits: _Splits

    @staticmethod
    def of(grammar: CoarseGrammar, n: int) -> _Room:
        """Make room for the cells of n words."""
        n_symbols = len(grammar.root)
        return _Room(
            np.zeros(n_symbols),
            _Pairs(
                np.zeros(len(grammar.of_pair) - 1 + PAIRS_WITHOUT_RULES),
                np.zeros(n_symbols, dtype=np.bool_),
                np.empty(n_symbols + 1, dtype=np.uint64),
                np.zeros(n_symbols),
            ),
            _Splits(np.empty(n, dtype=np.uint64), np.empty(n, dtype=np.uint64), np.empty(n)),
        )


@compiled_part
def _join(grammar: CoarseGrammar, chart: InsideChart, splits: _Splits, pairs: _Pairs, scores: FloatArray) -> None:
    """Add to scores (S,) all that the cells on both sides of each split derive together."""
    symbol = chart.symbol
    inside = chart.inside
    pair_of = grammar.pair
    of_left = grammar.of_left
    right_of = grammar.right
    of_pair = grammar.of_pair
    parent = grammar.pair_parent
    weights = grammar.pair_weight
    pair_score, is_left, lefts, right_score = pairs
    n_lefts = 0
    # Add up the scores of equal pairs at all splits, without a branch, which the processor would often guess wrongly.
    for split in range(len(splits.left)):
        left, right = splits.left[split], splits.right[split]
        first, end = chart.first[right], chart.end[right]
        for y in range(first, end):
            right_score[symbol[y]] = inside[y]
        for x in range(chart.first[left], chart.end[left]):
            b = symbol[x]
            lefts[n_lefts] = b
            n_lefts += not is_left[b]
            is_left[b] = True
            score = splits.scale[split] * inside[x]
            # Go over the symbols that rules put beside b, or over those that stand there, whichever are fewer.
            if of_left[b + ONE] - of_left[b] < end - first:
                for pair in range(of_left[b], of_left[b + ONE]):
                    pair_score[pair] += score * right_score[right_of[pair]]
            else:
                for y in range(first, end):
                    pair_score[pair_of[b, symbol[y]]] += score * inside[y]
        for y in range(first, end):
            right_score[symbol[y]] = 0.0
    # Then apply the rules of each pair once.
    for at in range(n_lefts):
        b = lefts[at]
        is_left[b] = False
        for pair in range(of_left[b], of_left[b + ONE]):
            if pair_score[pair] > 0.0:
                for r in range(of_pair[pair], of_pair[pair + ONE]):
                    scores[parent[r]] += weights[r] * pair_score[pair]
                pair_score[pair] = 0.0


@compiled
def _with_words(
    grammar: CoarseGrammar, leaves: CoarseLeaves, chart: InsideChart, permits: Permits, room: _Room, beam: float
) -> tuple[InsideChart, int]:
    """Fill the cells of one word with the symbols of its leaf rules; also return how many items there are."""
    n_symbols = len(grammar.root)
    scores = room.scores
    size = ZERO
    # Add up the leaf rules of a symbol over a word, then keep what the beam leaves.
    for i in range(len(leaves.start) - 1):
        for leaf in range(leaves.start[i], leaves.start[i + 1]):
            scores[leaves.symbol[leaf]] += leaves.weight[leaf]
        chart = _with_items(chart, size, n_symbols)
        size = _close(grammar, chart, permits, (i + 1) * i // 2 + i, scores, size, beam)
    return chart, size


@compiled
def _with_lengths(
    grammar: CoarseGrammar,
    chart: InsideChart,
    permits: Permits,
    room: _Room,
    size: int,
    n: int,
    shortest: int,
    end: int,
    beam: float,
    most: int,
) -> tuple[InsideChart, int]:
    """Fill the cells of shortest ... end - 1 words, each from two shorter ones at every split.

    size: how many items there are.
    n: the length of the sentence.
    most: no cell is filled once there are more items.
    """
    n_symbols = len(grammar.root)
    # A cell needs all cells of fewer words: they come by length.
    for length in range(shortest, end):
        for i in range(n - length + 1):
            if size > most:
                return chart, size
            j = i + length
            cell = j * (j - 1) // 2 + i
            splits, chart.exponent[cell] = _splits(chart, i, j, room.splits)
            _join(grammar, chart, splits, room.pairs, room.scores)
            chart = _with_items(chart, size, n_symbols)
            size = _close(grammar, chart, permits, cell, room.scores, size, beam)
    return chart, size


def inside_chart(
    grammar: CoarseGrammar,
    leaves: CoarseLeaves,
    beam: float,
    most: int,
    deadline: float = math.inf,
    permits: Permits | None = None,
) -> InsideChart:
    """Compute the inside scores of a sentence of n words.

    grammar: the binary rules.
    leaves: the leaf rules over each word.
    beam: an item is dropped when its score times its symbol's prior is at most so many times the cell's best.
    most: items that the chart may have.
    deadline: the time at which the chart is given up, in CPU seconds of this thread (`time.thread_time`).
    permits: the symbols that each cell may hold; None for all.
    Raises LimitError if the chart has more items, or is not done at the deadline, or if memory does not hold it.
    """
    n = len(leaves.start) - 1
    size_of_grammar = f"{n} words under {len(grammar.root)} symbols"
    permits = permits or Permits.all(n, len(grammar.root))
    try:
        # NumPy makes the arrays, so that no function to make them need be compiled.
        room = _Room.of(grammar, n)
        chart, size = _with_words(grammar, leaves, InsideChart.empty(n, len(grammar.root)), permits, room, beam)
        # The clock is read outside compiled code, after so many lengths at a time.
        for length in range(2, n + 1, _LENGTHS):
            if time.thread_time() > deadline:
                raise LimitError(f"the chart of {size_of_grammar} takes too long")
            end = min(length + _LENGTHS, n + 1)
            chart, size = _with_lengths(grammar, chart, permits, room, size, n, length, end, beam, most)
            if size > most:
                raise LimitError(f"the chart of {size_of_grammar} has more than {most} items")
    except MemoryError:
        raise LimitError(f"the chart of {size_of_grammar} is larger than memory") from None
    return InsideChart(chart.first, chart.end, chart.exponent, chart.symbol[:size], chart.inside[:size])
