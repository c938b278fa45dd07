"""Compute the inside scores of a sentence under a binary PCFG of one state per symbol, by compiled CKY.

| here | meaning |
| --- | --- |
| cell (i, j) | the span of words i ... j-1; its number is j (j-1) / 2 + i, as in `_coarse` |
| item | a symbol over a cell |
| row | the items of one symbol and one end j, as neighbouring places for the beginnings i |
| inside[start[row] + i - first[row]] · 2^exponent[cell] | the inside score of an item; 0 at a place without an item |

The unpruned forest of a sentence has millions of edges, and only thousands of them are likely.  It is therefore never
built: a chart has items and their scores, and `_likely_edges` lists the likely edges.

Cells are filled end by end, and for each end from the last beginning to the first.  A finished item over (k, j) is
joined with all items that end at k, for all beginnings at once: a rule adds a multiple of the left child's row to the
parent's row.  Most places of a row have an item, so that this takes fewer steps than a loop over items, and no
branches.
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import numpy as np

from spectral_latent._compiled import EMPTY, ZERO, compiled_exact_pass, exact_pass_part, unsigned
from spectral_latent.grammar._coarse import (
    ONE,
    CoarseGrammar,
    CoarseLeaves,
    NumberArray,
    OutsideEstimates,
    Permits,
    PlaceArray,
)
from spectral_latent.trees import BoolArray, FloatArray, IntArray

_WORDS = 32  # the number of ends whose cells are filled between two looks at the clock
_FAR = 500  # the exponent of a cell is raised if a number is more than 2^_FAR times as large
_WIDTH = np.uint64(4)  # rows begin and end at multiples of this number, because the processor adds four numbers at once


class LimitError(Exception):
    """A sentence costs more than its limits allow."""


class InsideChart(NamedTuple):
    """The items of a sentence of n words with their inside scores, row by row; see this module.

    exponent: (cells,) the exponent of the scores over each cell; `EMPTY` for a cell without items.
    row: (n + 1, S) the row of each end and symbol; row 0, which has no places, if there are no items.
    end_ptr: (n + 2,) the rows that end at word j are end_ptr[j] ... end_ptr[j+1] - 1.
    symbol: (rows,) the symbol of each row; this and the next columns may have room for more rows.
    first: (rows,) the beginning at its first place; it may be some words before the first item.
    end: (rows,) the beginning after its last place; it may be some words after the last item.
    start: (rows,) the first place of each row.
    inside: (N,) the scores at all places; zero at a place without an item."""

    exponent: IntArray
    row: NumberArray
    end_ptr: PlaceArray
    symbol: PlaceArray
    first: PlaceArray
    end: PlaceArray
    start: PlaceArray
    inside: FloatArray

    @staticmethod
    def empty(n_words: int, n_symbols: int) -> InsideChart:
        """Make a chart without items, with room for some."""
        rows = np.empty((4, n_words * n_symbols + 1), dtype=np.uint64)
        rows[:, 0] = 0
        symbol, first, end, start = rows
        return InsideChart(
            exponent=np.full(n_words * (n_words + 1) // 2, EMPTY),
            row=np.zeros((n_words + 1, n_symbols), dtype=np.uint32),
            end_ptr=np.ones(n_words + 2, dtype=np.uint64),
            symbol=symbol,
            first=first,
            end=end,
            start=start,
            inside=np.empty(2 * (n_words + int(_WIDTH)) * n_symbols),
        )

    def resize(self, size: int, room: int) -> InsideChart:
        """Copy the first places to a longer column."""
        inside = np.empty(room)
        inside[:size] = self.inside[:size]
        return self._replace(inside=inside)


class _CellWorkspace(NamedTuple):
    """Room for the cells of one end j, which is used for one end after another.

    scores: (S, n + _WIDTH) the score of each symbol over (i, j), for each beginning i; zero between two ends.
    exponent: (n,) the exponent of the scores over (i, j), for each beginning i.
    is_made: (S,) whether a symbol may have scores.
    made: (S,) the symbols that may have scores, in the order in which they were made.
    first: (S,) the first beginning of an item of each symbol.
    end: (S,) the word after the last beginning; 0 for a symbol without items, and between two ends.
    symbol: (S,) the symbols of one cell.
    merit: (S,) their inside scores times the estimates of their outside scores; -1 for forbidden symbols.
    inside: (S,) the scores of the cell's items.
    scale: (n + _WIDTH,) the powers of two by which scores over (i, k) are multiplied, for each i; see `_scale_rows`.
    scaled: (S (n + _WIDTH),) the rows that end at one word, scaled.
    pair: (P + 1,) the pairs of children with an item of the cell as right child.
    item: (P + 1,) the number of the cell's item in each of these pairs."""

    scores: FloatArray
    exponent: IntArray
    is_made: BoolArray
    made: PlaceArray
    first: PlaceArray
    end: PlaceArray
    symbol: PlaceArray
    merit: FloatArray
    inside: FloatArray
    scale: FloatArray
    scaled: FloatArray
    pair: PlaceArray
    item: PlaceArray

    @staticmethod
    def allocate(grammar: CoarseGrammar, n_words: int) -> _CellWorkspace:
        """Make room for n words."""
        n_symbols = len(grammar.root)
        width = (n_words // int(_WIDTH) + 1) * int(_WIDTH)
        made, first, end, symbol = np.zeros((4, n_symbols + 1), dtype=np.uint64)
        merit, inside = np.empty((2, n_symbols))
        pair, item = np.empty((2, len(grammar.left) + 1), dtype=np.uint64)
        return _CellWorkspace(
            scores=np.zeros((n_symbols, width)),
            exponent=np.empty(n_words, dtype=np.int64),
            is_made=np.zeros(n_symbols, dtype=np.bool_),
            made=made,
            first=first,
            end=end,
            symbol=symbol,
            merit=merit,
            inside=inside,
            scale=np.zeros(width),
            scaled=np.empty(n_symbols * width),
            pair=pair,
            item=item,
        )


@exact_pass_part
def _close(
    estimates: OutsideEstimates,
    chart: InsideChart,
    permits: Permits,
    room: _CellWorkspace,
    n_made: int,
    k: int,
    j: int,
    beam: float,
) -> int:
    """Keep the likely items of the cell (k, j), and scale their scores; return the number of items."""
    scores = room.scores
    symbol = room.symbol
    merit = room.merit
    begin, end = unsigned(k), unsigned(j)
    cell = j * (j - 1) // 2 + k
    # List the symbols with a score, without a branch, which the processor would often guess wrongly.
    n_scored = 0
    for at in range(n_made):
        a = room.made[at]
        symbol[unsigned(n_scored)] = a
        n_scored += scores[a, begin] > 0.0
    # Find the largest score, and the largest estimate of a posterior, among the permitted symbols.
    row = permits.row[cell]
    largest = 0.0
    promising = 0.0
    for at in range(n_scored):
        a = symbol[at]
        merit[at] = -1.0
        if permits.symbols[row, a]:
            score = scores[a, begin]
            merit[at] = score * estimates.scores[0, begin, a] * estimates.scores[1, end, a]
            largest = max(largest, score)
            promising = max(promising, merit[at])
    # Items below an absolute limit, or below a share of the cell's best item, are dropped.
    exponent = estimates.exponent - estimates.exponents[0, k] - estimates.exponents[1, j] - room.exponent[k]
    least = estimates.least * math.ldexp(1.0, int(min(max(exponent, -1000), 1000)))
    least = max(least, promising * beam)
    # Scale by a power of two, which rounds nothing, so that the largest score is in [1/2, 1).
    shift = math.frexp(largest)[1]
    scale = math.ldexp(1.0, -shift)
    size = 0
    for at in range(n_scored):
        a = symbol[at]
        if merit[at] >= least:
            score = scores[a, begin] * scale
            scores[a, begin] = score
            symbol[size] = a
            room.inside[size] = score
            size += 1
            # Beginnings come from the last to the first, so that the newest is the first so far.
            room.first[a] = begin
            if room.end[a] == 0:
                room.end[a] = begin + ONE
        else:
            scores[a, begin] = 0.0
    if size > 0:
        chart.exponent[cell] = room.exponent[k] + shift
    return size


@exact_pass_part
def _scale_rows(chart: InsideChart, room: _CellWorkspace, n_made: int, k: int, exponent: int) -> None:
    """Scale the rows that end at word k, so that their products with items of exponent `exponent` can be added.

    The product with a score over (i, k) is added to the scores over (i, j), which have the exponent room.exponent[i].
    """
    for i in range(k):
        of_left = chart.exponent[k * (k - 1) // 2 + i]
        if of_left == EMPTY:
            continue
        total = of_left + exponent
        # A sum gets the exponent of its first term, which is raised only if another term is far larger.
        if room.exponent[i] == EMPTY:
            room.exponent[i] = total
        elif total > room.exponent[i] + _FAR:
            lower = math.ldexp(1.0, int(max(room.exponent[i] - total, -1100)))
            for at in range(n_made):
                room.scores[room.made[at], i] *= lower
            room.exponent[i] = total
        room.scale[i] = math.ldexp(1.0, int(max(total - room.exponent[i], -1100)))
    inside = chart.inside
    scale = room.scale
    scaled = room.scaled
    begin = chart.start[chart.end_ptr[k]]
    for row in range(chart.end_ptr[k], chart.end_ptr[k + 1]):
        first, start = chart.first[row], chart.start[row]
        for i in range(first, chart.end[row]):
            scaled[start - begin + (i - first)] = inside[start + (i - first)] * scale[i]


@exact_pass_part
def _pairs(rules: CoarseGrammar, chart: InsideChart, room: _CellWorkspace, k: int, n_items: int) -> int:
    """List the pairs of children whose right child is one of the room's items, and whose left child ends at word k.

    Returns the number of pairs."""
    word = unsigned(k)
    row = chart.row
    left = rules.left
    pairs = room.pair
    items = room.item
    size = 0
    # Write each pair, but count it only if the left child has a row: a branch would often be guessed wrongly.
    for item in range(n_items):
        c = room.symbol[item]
        for pair in range(rules.right_ptr[c], rules.right_ptr[c + ONE]):
            pairs[unsigned(size)] = pair
            items[unsigned(size)] = item
            size += row[word, left[pair]] != 0
    return size


@exact_pass_part
def _join(rules: CoarseGrammar, chart: InsideChart, room: _CellWorkspace, n_made: int, k: int, n_items: int) -> int:
    """Apply all binary rules to the items of the room, as right children, and the items that end at word k.

    Returns the number of symbols that may have scores then."""
    scores = room.scores
    scaled = room.scaled
    made = room.made
    is_made = room.is_made
    word = unsigned(k)
    begin = chart.start[chart.end_ptr[word]]
    for at in range(_pairs(rules, chart, room, k, n_items)):
        pair = room.pair[at]
        inside = room.inside[room.item[at]]
        row = chart.row[word, rules.left[pair]]
        first = chart.first[row]
        end = chart.end[row]
        start = chart.start[row] - begin
        for r in range(rules.pair_ptr[pair], rules.pair_ptr[pair + ONE]):
            a = rules.pair_parent[r]
            # Enter the parent, unless it was made before.
            made[unsigned(n_made)] = a
            n_made += not is_made[a]
            is_made[a] = True
            # Add a multiple of the left child's row to the parent's, for all beginnings i.
            weight = rules.pair_weight[r] * inside
            for i in range(first, end):
                scores[a, i] += weight * scaled[start + (i - first)]
    return n_made


@exact_pass_part
def _store(chart: InsideChart, room: _CellWorkspace, n_made: int, j: int, size: int) -> int:
    """Write the rows that end at word j into the chart, and set the scores to zero; return the places in use."""
    row = chart.end_ptr[j]
    for at in range(n_made):
        a = room.made[at]
        room.is_made[a] = False
        if room.end[a] > 0:
            first = room.first[a] // _WIDTH * _WIDTH
            end = (room.end[a] + _WIDTH - ONE) // _WIDTH * _WIDTH
            room.end[a] = 0
            chart.row[j, a] = row
            chart.symbol[row] = a
            chart.first[row] = first
            chart.end[row] = end
            chart.start[row] = size
            row += ONE
            for i in range(first, end):
                chart.inside[size] = room.scores[a, i]
                room.scores[a, i] = 0.0
                size += 1
    chart.end_ptr[j + 1] = row
    return size


@compiled_exact_pass
def _fill(
    rules: CoarseGrammar,
    leaves: CoarseLeaves,
    chart: InsideChart,
    permits: Permits,
    room: _CellWorkspace,
    done: int,
    last: int,
    size: int,
    estimates: OutsideEstimates,
    beam: float,
) -> tuple[int, int]:
    """Fill the cells with the ends done + 1 ... last, or with fewer ends if the column of scores is too short.

    Returns both numbers after the call."""
    for j in range(done + 1, last + 1):
        if size + room.scores.size > len(chart.inside):
            return j - 1, size
        for i in range(j):
            room.exponent[i] = EMPTY
        # The cell of a single word has the symbols of its leaf rules.
        room.exponent[j - 1] = 0
        n_made = ZERO
        for leaf in range(leaves.start[j - 1], leaves.start[j]):
            a = unsigned(leaves.symbol[leaf])
            room.made[unsigned(n_made)] = a
            n_made += not room.is_made[a]
            room.is_made[a] = True
            room.scores[a, j - 1] += leaves.weight[leaf]
        # Finish the cells (k, j) from the shortest on, and join the items of each with all items that end at k.
        for k in range(j - 1, -1, -1):
            n_items = _close(estimates, chart, permits, room, n_made, k, j, beam)
            if n_items > 0 and k > 0:
                _scale_rows(chart, room, n_made, k, chart.exponent[j * (j - 1) // 2 + k])
                n_made = _join(rules, chart, room, n_made, k, n_items)
        size = _store(chart, room, n_made, j, size)
    return last, size


def inside_chart(
    grammar: CoarseGrammar,
    leaves: CoarseLeaves,
    beam: float,
    most: int,
    deadline: float = math.inf,
    permits: Permits | None = None,
    estimates: OutsideEstimates | None = None,
) -> InsideChart:
    """Compute the inside scores of a sentence of n words.

    beam.
    Raises LimitError if the chart has more places, if it is not finished at the deadline, or if memory is too small.
    """
    n = len(leaves.start) - 1
    n_symbols = len(grammar.root)
    size_of_grammar = f"{n} words under {n_symbols} symbols"
    permits = permits or Permits.all(n, n_symbols)
    estimates = estimates or OutsideEstimates.of_prior(grammar.prior, n)
    done = 0
    size = 0
    try:
        # NumPy makes the arrays, so that no function to make them need be compiled.
        room = _CellWorkspace.allocate(grammar, n)
        chart = InsideChart.empty(n, n_symbols)
        while done < n:
            # The clock is read outside compiled code, before the first word, and then after so many at a time.
            if time.thread_time() > deadline:
                raise LimitError(f"the chart of {size_of_grammar} takes too long")
            last = min(done + _WORDS, n)
            done, size = _fill(grammar, leaves, chart, permits, room, done, last, size, estimates, beam)
            if size > most:
                raise LimitError(f"the chart of {size_of_grammar} has more than {most} items")
            if done < last:
                chart = chart.resize(size, 2 * size + room.scores.size)
    except MemoryError:
        raise LimitError(f"the chart of {size_of_grammar} is larger than memory") from None
    return chart._replace(inside=chart.inside[:size])
