"""Find the items and edges that are likely under a binary PCFG of one state per symbol, by compiled CKY.

The unpruned forest of a sentence has millions of edges, of which thousands matter.  It is therefore never built.
`inside_chart` computes inside scores bottom up.  `likely_edges` walks down from the top, computes outside scores of the
items that it keeps, and lists the edges whose posterior is above a threshold.

| here | meaning |
| --- | --- |
| cell of (i, j) | words i ... j-1; numbered j (j-1) / 2 + i, as in `permits` |
| item | a symbol over a cell; those of a cell are items first[cell] ... end[cell] - 1, by symbol |
| inside[item] · 2^exponent[cell] | inside score of the item |
| outside[item] | outside score, in units that make inside · outside the posterior of the item |

Items without a score take no memory.  The table of all pairs of S symbols has S² numbers of 32 bits.
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectral_latent._compiled import EMPTY, ZERO, check_column, check_range, compiled, compiled_part, with_room
from spectral_latent.grammar.permits import Permits
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import BoolArray, FloatArray, IntArray, matches

__all__ = ["CoarseGrammar", "CoarseLeaves", "InsideChart", "LimitError", "inside_chart", "likely_edges"]

PlaceArray = NDArray[np.uint64]
NumberArray = NDArray[np.uint32]

_LENGTHS = 16  # of cells between two looks at the clock
_ONE = np.uint64(1)  # for places, which have no sign: the sum with a signed 1 would be a floating-point number
_PAIRS_WITHOUT_RULES = 16  # numbers that all pairs without rules share


class CoarseGrammar(NamedTuple):
    """A grammar of S symbols with one state each, its R binary rules sorted by parent and by pair of children."""

    rules: NumberArray  # (R, 3) sorted by parent, left, right
    number: IntArray  # (R,) row of `Rules.binary`
    weight: FloatArray  # (R,)
    of_parent: PlaceArray  # (S + 1,) rules of parent a: of_parent[a] ... of_parent[a+1] - 1
    pair: NumberArray  # (S, S) number of the pair of a left and a right child; P or more where there is no rule
    of_left: PlaceArray  # (S + 1,) pairs with the left child b: of_left[b] ... of_left[b+1] - 1
    right: PlaceArray  # (P,) the right child of each pair
    of_pair: PlaceArray  # (P + 1,) in the two columns below, rules of pair p: of_pair[p] ... of_pair[p+1] - 1
    pair_parent: PlaceArray  # (R,)
    pair_number: IntArray  # (R,) row of `Rules.binary`
    pair_weight: FloatArray  # (R,)
    root: FloatArray  # (S,)
    prior: FloatArray  # (S,) share of each symbol among the nodes of a treebank

    @staticmethod
    def of(operators: ObservableOperators, prior: FloatArray, used: BoolArray | None = None) -> CoarseGrammar:
        """Index the binary rules of operators with one state per symbol.

        operators: operators of S symbols with one state each.
        prior: (S,) share of each symbol among the nodes of a treebank.
        used: (R2,) whether charts use each of the binary rules; all if not given.
        Raises ValueError if there are unary rules, which charts do not know, or if the shapes do not fit.
        """
        check_column("shares of symbols", prior, (operators.n_symbols,), np.float64)
        check_range("states of a coarse grammar", operators.states, 1, 2)
        if used is not None:
            check_column("marks of binary rules", used, (len(operators.rules.binary),), np.bool_)
        if len(operators.rules.unary):
            a, b = operators.rules.unary[0].tolist()
            raise ValueError(
                f"charts know no unary rules, and the grammar has {len(operators.rules.unary)}, the first of which is "
                f"symbol {a} → symbol {b}; collapse chains into symbols of their own before training"
            )
        packed = operators.packed
        number = np.arange(len(packed.binary_rules)) if used is None else np.flatnonzero(used)
        rules = packed.binary_rules[number]
        weight = packed.data[number]
        # The same rules again, sorted by their children: rules of the same two stand together.
        order = np.lexsort(rules[:, 1:].T[::-1])
        parent, left, right = rules[order].T
        starts = np.flatnonzero((np.diff(left, prepend=-1) != 0) | (np.diff(right, prepend=-1) != 0))
        symbols = np.arange(operators.n_symbols + 1)
        # Pairs without rules have several numbers in turn: adding to one sum twice in a row stalls the processor.
        number_of_symbol = symbols[:-1].astype(np.uint32)
        pair = len(starts) + np.add.outer(number_of_symbol, number_of_symbol) % _PAIRS_WITHOUT_RULES
        pair[left[starts], right[starts]] = np.arange(len(starts))
        return CoarseGrammar(
            rules.astype(np.uint32),
            number,
            weight,
            np.searchsorted(rules[:, 0], symbols).astype(np.uint64),
            pair,
            np.searchsorted(left[starts], symbols).astype(np.uint64),
            right[starts].astype(np.uint64),
            np.append(starts, len(rules)).astype(np.uint64),
            parent.astype(np.uint64),
            number[order],
            weight[order],
            operators.root[:, 0].copy(),
            prior,
        )


class CoarseLeaves(NamedTuple):
    """The leaf rules over each of n words: word i's are start[i] ... start[i+1] - 1."""

    start: IntArray  # (n + 1,)
    rule: IntArray  # row of `Rules.leaf`
    symbol: IntArray
    weight: FloatArray

    @staticmethod
    def of(operators: ObservableOperators, terminal: IntArray, used: BoolArray | None = None) -> CoarseLeaves:
        """Look up the leaf rules of operators with one state per symbol.

        operators: operators of S symbols with one state each.
        terminal: (n,) the terminal of each word.
        used: (R0,) whether charts use each of the leaf rules; all if not given.
        """
        rules = operators.rules.leaf
        number = np.arange(len(rules)) if used is None else np.flatnonzero(used)
        by_terminal = number[np.argsort(rules[number, 1], kind="stable")]
        at, word = matches(rules[by_terminal, 1], terminal)
        rule = by_terminal[at]
        start = np.searchsorted(word, np.arange(len(terminal) + 1))
        return CoarseLeaves(start, rule, rules[rule, 0], operators.leaf[rule, 0])

    def of_words(self, first: int, end: int) -> CoarseLeaves:
        """Take the leaf rules of some of the words.

        first: the first word.
        end: the word after the last one.
        """
        start = self.start[first : end + 1]
        rules = slice(start[0], start[-1])
        return CoarseLeaves(start - start[0], self.rule[rules], self.symbol[rules], self.weight[rules])

    def with_others(self, others: CoarseLeaves) -> CoarseLeaves:
        """Add the other leaf rules of symbols that have none over a word, so that no tree is derived twice.

        others: leaf rules over the same n words.
        """
        every = np.arange(len(self.start) - 1)
        word = np.concatenate([np.repeat(every, np.diff(leaves.start)) for leaves in (self, others)])
        symbol = np.append(self.symbol, others.symbol)
        # Of equal words and symbols the first is taken, in the order of words.
        _, kept = np.unique(np.stack([word, symbol]), axis=1, return_index=True)
        return CoarseLeaves(
            np.searchsorted(word[kept], np.arange(len(self.start))),
            np.append(self.rule, others.rule)[kept],
            symbol[kept],
            np.append(self.weight, others.weight)[kept],
        )


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


# ---------------------------------------------------------------------------------------------------------------------
# Inside scores


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

    score: (P + _PAIRS_WITHOUT_RULES,) the sum over all splits.
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
                np.zeros(len(grammar.of_pair) - 1 + _PAIRS_WITHOUT_RULES),
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
            if of_left[b + _ONE] - of_left[b] < end - first:
                for pair in range(of_left[b], of_left[b + _ONE]):
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
        for pair in range(of_left[b], of_left[b + _ONE]):
            if pair_score[pair] > 0.0:
                for r in range(of_pair[pair], of_pair[pair + _ONE]):
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


# ---------------------------------------------------------------------------------------------------------------------
# Outside scores, and the edges to keep


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

    outside: (N,).  wanted: (N,) whether a kept edge has the item as a child.
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
def _enter(chart: InsideChart, walk: _Outside, i: int, j: int) -> None:
    """Prepare the walk for the splits of (i, j)."""
    whole = chart.exponent[j * (j - 1) // 2 + i]
    for k in range(i + 1, j):
        b, c = k * (k - 1) // 2 + i, j * (j - 1) // 2 + k
        walk.scale[k] = math.ldexp(1.0, int(min(max(chart.exponent[b] + chart.exponent[c] - whole, -1100), 1000)))
        for item in range(chart.first[b], chart.end[b]):
            walk.left[k, chart.symbol[item]] = item
        for item in range(chart.first[c], chart.end[c]):
            walk.right[k, chart.symbol[item]] = item


@compiled_part
def _leave(chart: InsideChart, walk: _Outside, i: int, j: int) -> None:
    """Undo what `_enter` wrote into the tables of items."""
    for k in range(i + 1, j):
        b, c = k * (k - 1) // 2 + i, j * (j - 1) // 2 + k
        for item in range(chart.first[b], chart.end[b]):
            walk.left[k, chart.symbol[item]] = -1
        for item in range(chart.first[c], chart.end[c]):
            walk.right[k, chart.symbol[item]] = -1


@compiled_part
def _expand(
    grammar: CoarseGrammar,
    chart: InsideChart,
    walk: _Outside,
    item: int,
    i: int,
    j: int,
    edges: IntArray,
    n_edges: int,
) -> tuple[IntArray, int]:
    """Push an item's outside score to its children; append the edges above the threshold, or the best one.

    edges: (n, 3) room for the edges, of which `n_edges` are in use.
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
        for k in range(first, last + _ONE):
            left, right = walk.left[k, b], walk.right[k, c]
            if left < 0 or right < 0:
                continue
            weight = above * grammar.weight[r] * walk.scale[k]
            walk.outside[left] += weight * chart.inside[right]
            walk.outside[right] += weight * chart.inside[left]
            # The edge is kept if it is likely; the best of the others is remembered.
            posterior = weight * chart.inside[left] * chart.inside[right]
            if posterior > walk.threshold:
                edges = with_room(edges, n_edges)
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
        edges = with_room(edges, n_edges)
        edges[n_edges, 0] = best_rule
        edges[n_edges, 1] = best_left
        edges[n_edges, 2] = best_right
        n_edges += 1
    return edges, n_edges


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
    unwanted = np.zeros(n_items, dtype=np.bool_)
    walk = _Outside(np.zeros(n_items), unwanted, extents, left, right, np.empty(n + 1), threshold)
    items = np.empty((256, 4), dtype=np.int64)
    edges = np.full((1024, 3), -1, dtype=np.int64)
    return _walk_down(grammar, chart, leaves, walk, items, edges)


@compiled
def _walk_down(
    grammar: CoarseGrammar, chart: InsideChart, leaves: CoarseLeaves, walk: _Outside, items: IntArray, edges: IntArray
) -> tuple[IntArray, IntArray]:
    """List the likely items and edges, as `likely_edges` says.

    grammar: the binary rules.
    chart: the inside scores.
    leaves: the leaf rules over each word.
    walk: the state of the walk before it begins.
    items: (256, 4) room for items; it grows.
    edges: (1024, 3) room for edges, all -1; it grows.
    """
    n = len(leaves.start) - 1
    _set_extents(chart, n, walk.extents)
    n_items = ZERO
    n_edges = ZERO
    # Over the whole sentence, the outside score is the root's share of the sentence's probability.
    top = n * (n - 1) // 2
    total = 0.0
    best = 0.0
    best_item = chart.first[top]
    for item in range(chart.first[top], chart.end[top]):
        total += chart.inside[item] * grammar.root[chart.symbol[item]]
    if total > 0.0:
        for item in range(chart.first[top], chart.end[top]):
            walk.outside[item] = grammar.root[chart.symbol[item]] / total
            posterior = walk.outside[item] * chart.inside[item]
            if posterior > best:
                best = posterior
                best_item = item
        walk.wanted[best_item] = True
    # From the widest span down, so that the outside score of an item is whole before its children's.
    for length in range(n, 0, -1):
        for i in range(n - length + 1):
            j = i + length
            cell = j * (j - 1) // 2 + i
            is_entered = False
            for item in range(chart.first[cell], chart.end[cell]):
                # Keep what is likely by itself, and what a kept edge needs.
                if not walk.wanted[item] and walk.outside[item] * chart.inside[item] <= walk.threshold:
                    continue
                before = n_edges
                # A word keeps the leaf rules of the item's symbol; a longer item the edges to its children.
                if length == 1:
                    for at in range(leaves.start[i], leaves.start[i + 1]):
                        if leaves.symbol[at] == chart.symbol[item]:
                            edges = with_room(edges, n_edges)
                            edges[n_edges, 0] = leaves.rule[at]
                            n_edges += 1
                else:
                    if not is_entered:
                        _enter(chart, walk, i, j)
                        is_entered = True
                    edges, n_edges = _expand(grammar, chart, walk, item, i, j, edges, n_edges)
                    for e in range(before, n_edges):
                        walk.wanted[edges[e, 1]] = True
                        walk.wanted[edges[e, 2]] = True
                items = with_room(items, n_items)
                items[n_items, 0] = item
                items[n_items, 1] = i
                items[n_items, 2] = j
                items[n_items, 3] = n_edges - before
                n_items += 1
            if is_entered:
                _leave(chart, walk, i, j)
    return items[:n_items], edges[:n_edges]
