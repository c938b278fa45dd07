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

from spectral_latent._compiled import EMPTY, compiled, compiled_part
from spectral_latent.grammar._coarse import (
    ONE,
    PAIRS_WITHOUT_RULES,
    CoarseGrammar,
    CoarseLeaves,
    NumberArray,
    PlaceArray,
)
from spectral_latent.grammar.permits import Permits, cells_by_length
from spectral_latent.trees import BoolArray, FloatArray, IntArray

__all__ = ["InsideChart", "LimitError", "inside_chart"]

_CELLS = 1024  # that are filled between two looks at the clock


class LimitError(Exception):
    """A sentence costs more than its limits allow."""


class _Rules(NamedTuple):
    """The columns of `CoarseGrammar` that tell what a pair of children makes."""

    pair: NumberArray  # (S, S)
    of_left: PlaceArray  # (S + 1,)
    right: PlaceArray  # (P,)
    of_pair: PlaceArray  # (P + 1,)
    pair_parent: PlaceArray  # (R,)
    pair_weight: FloatArray  # (R,)
    prior: FloatArray  # (S,)


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

    def resized(self, size: int, room: int) -> InsideChart:
        """Copy the first items to columns of another length.

        size: the number of items to keep.
        room: the new length of the columns.
        """
        symbol = np.empty(room, dtype=np.uint32)
        inside = np.empty(room)
        symbol[:size] = self.symbol[:size]
        inside[:size] = self.inside[:size]
        return self._replace(symbol=symbol, inside=inside)


@compiled_part
def _close(
    prior: FloatArray, chart: InsideChart, permits: Permits, cell: int, scores: FloatArray, size: int, beam: float
) -> int:
    """Append a cell's items but those far below its best; empty its scores (S,); return how many items there are."""
    largest = 0.0
    promising = 0.0
    row = permits.row[cell]
    for a in range(len(scores)):
        score = scores[a]
        if score > 0.0 and not permits.symbols[row, a]:
            score = scores[a] = 0.0
        if score > 0.0:
            if score > largest:
                largest = score
            score *= prior[a]
            if score > promising:
                promising = score
    chart.first[cell] = size
    if largest > 0.0:
        # Scale by a power of two, which rounds nothing, to a largest score in [1/2, 1).
        shift = math.frexp(largest)[1]
        scale = math.ldexp(1.0, -shift)
        chart.exponent[cell] += shift
        for a in range(len(scores)):
            score = scores[a]
            if score * prior[a] > promising * beam:
                chart.symbol[size] = a
                chart.inside[size] = score * scale
                size += 1
            scores[a] = 0.0
    chart.end[cell] = size
    return size


class _Splits(NamedTuple):
    """Cells on both sides of each split of a cell where both have items, and 2^(their exponents - the largest).

    There is room for as many splits as a cell may have.
    """

    left: PlaceArray
    right: PlaceArray
    scale: FloatArray


@compiled_part
def _split(chart: InsideChart, i: int, j: int, splits: _Splits) -> tuple[int, int]:
    """List the splits of (i, j); return how many there are, and their largest exponent."""
    count = 0
    top = EMPTY
    for k in range(i + 1, j):
        b, c = k * (k - 1) // 2 + i, j * (j - 1) // 2 + k
        if chart.first[b] < chart.end[b] and chart.first[c] < chart.end[c]:
            exponent = chart.exponent[b] + chart.exponent[c]
            if exponent > top:
                top = exponent
            splits.left[count] = b
            splits.right[count] = c
            splits.scale[count] = exponent  # until the largest is known
            count += 1
    # Scores of all splits are added, so that they need one exponent: the largest.
    for split in range(count):
        shift = int(splits.scale[split] - top)
        splits.scale[split] = math.ldexp(1.0, shift) if shift > -1100 else 0.0
    return count, top


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
    splits: the splits of the cell.
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
def _join(rules: _Rules, chart: InsideChart, splits: _Splits, n_splits: int, pairs: _Pairs, scores: FloatArray) -> None:
    """Add to scores (S,) all that the cells on both sides of each split derive together."""
    symbol = chart.symbol
    inside = chart.inside
    pair_of = rules.pair
    of_left = rules.of_left
    right_of = rules.right
    of_pair = rules.of_pair
    parent = rules.pair_parent
    weights = rules.pair_weight
    pair_score, is_left, lefts, right_score = pairs
    n_lefts = 0
    # Add up the scores of equal pairs at all splits, without a branch, which the processor would often guess wrongly.
    for split in range(n_splits):
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
def _fill(
    rules: _Rules,
    leaves: CoarseLeaves,
    chart: InsideChart,
    permits: Permits,
    room: _Room,
    cells: tuple[IntArray, IntArray],
    done: int,
    end: int,
    size: int,
    beam: float,
) -> tuple[int, int]:
    """Fill the cells with the numbers done ... end - 1, or fewer if the columns of the chart are too short.

    cells: the first word of each cell, and the word after its last one, by length.
    done: how many cells are filled.
    size: how many items they have.
    Returns how many cells are filled then, and how many items they have.
    """
    scores = room.scores
    first, last = cells
    for at in range(done, end):
        if size + len(scores) > len(chart.symbol):
            return at, size
        i, j = first[at], last[at]
        cell = j * (j - 1) // 2 + i
        # A word has the symbols of its leaf rules; a longer cell is made of two shorter ones at every split.
        if j == i + 1:
            for leaf in range(leaves.start[i], leaves.start[j]):
                scores[leaves.symbol[leaf]] += leaves.weight[leaf]
        else:
            n_splits, chart.exponent[cell] = _split(chart, i, j, room.splits)
            _join(rules, chart, room.splits, n_splits, room.pairs, scores)
        size = _close(rules.prior, chart, permits, cell, scores, size, beam)
    return end, size


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
    n_symbols = len(grammar.root)
    size_of_grammar = f"{n} words under {n_symbols} symbols"
    permits = permits or Permits.all(n, n_symbols)
    # Cells come by length, because each needs the cells of fewer words.
    cells = cells_by_length(n)
    rules = _Rules(*(getattr(grammar, name) for name in _Rules._fields))
    done = 0
    size = 0
    try:
        # NumPy makes the arrays, so that no function to make them need be compiled.
        room = _Room.of(grammar, n)
        chart = InsideChart.empty(n, n_symbols)
        while done < len(chart.first):
            # Compiled code cannot read the clock.  It is read here: after the words, then after every _CELLS cells.
            if done >= n and time.thread_time() > deadline:
                raise LimitError(f"the chart of {size_of_grammar} takes too long")
            end = n if done < n else min(done + _CELLS, len(chart.first))
            done, size = _fill(rules, leaves, chart, permits, room, cells, done, end, size, beam)
            if size > most:
                raise LimitError(f"the chart of {size_of_grammar} has more than {most} items")
            if done < end:
                chart = chart.resized(size, 2 * size + n_symbols)
    except MemoryError:
        raise LimitError(f"the chart of {size_of_grammar} is larger than memory") from None
    return InsideChart(chart.first, chart.end, chart.exponent, chart.symbol[:size], chart.inside[:size])
