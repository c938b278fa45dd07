"""Walk down the inside chart of a sentence, and list the items and edges that are likely.

Outside scores are computed only for the items that are kept.

| here | meaning |
| --- | --- |
| cell, item, row, place, exponent[cell] | as in `_inside_chart` |
| outside[place] | outside score, scaled so that inside · outside is the posterior of the item |

The walk visits cells by their first words, and for each first word from the longest cell to the shortest; all items are
listed in this order before.  To expand an item over (i, j), a table has the items that begin at word i, with a row for
each symbol, by their ends k.  A rule joins the row of its left child with the row of its right child in the chart,
whose items begin at k and end at j.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from spectral_latent._compiled import compiled_exact_pass, exact_pass_part, unsigned
from spectral_latent.grammar._coarse import ONE, CoarseGrammar, CoarseLeaves, PlaceArray
from spectral_latent.grammar._inside_chart import InsideChart
from spectral_latent.trees import BoolArray, FloatArray, IntArray

_ROOM = 1 << 16  # the number of edges for which there is room at first
_BITS = np.uint64(64)
_NONE = np.uint64(0)
_TWO = np.uint64(2)
_LARGE = 1e300  # the largest weight, which is finite, so that its product with zero is zero


class _Walk(NamedTuple):
    """The state of the walk down.

    outside: (N,) the outside scores at all places.
    is_wanted: (N,) whether the item is kept: it is likely, or it is a child of a kept edge.
    of_word: (n + 2,) the items that begin at word i are of_word[i] ... of_word[i+1] - 1 in the next three columns.
    item: (N,) the place of each item; items are sorted by first words, and then from the last end to the first.
    symbol: (N,) the symbol of each item.
    end: (N,) the end of each item.
    ends: (n + 1, S) the beginnings of the items of each symbol and end, as bits: word i is bit i modulo 64.
    begins: (S,) for the table of the current first word: the ends of the items of each symbol, as bits.
    begin: (S,) the first of these ends; not defined for a symbol without items.
    last: (S,) the last of these ends; not defined for a symbol without items.
    left: (S, n + 1) the inside scores of the items of the table by end; 0 if there is no item.
    left_outside: (S, n + 1) their outside scores; not defined if there is no item.
    scale: (n + 1,) for each split k of the current cell, 2^(exponents of both parts - exponent of the cell).
    number: (N,) for each kept item, the number of items that were kept before it.
    matching: (R + 1,) the rules of one parent whose children may be neighbours.
    threshold: the smallest posterior of an item or edge that is kept even if no kept edge needs it."""

    outside: FloatArray
    is_wanted: BoolArray
    of_word: PlaceArray
    item: PlaceArray
    symbol: PlaceArray
    end: IntArray
    ends: PlaceArray
    begins: PlaceArray
    begin: PlaceArray
    last: PlaceArray
    left: FloatArray
    left_outside: FloatArray
    scale: FloatArray
    number: IntArray
    matching: PlaceArray
    threshold: float

    @staticmethod
    def allocate(n_words: int, n_symbols: int, n_places: int, n_rules: int, threshold: float) -> _Walk:
        """Make room for a chart of n words and S symbols."""
        item, symbol = np.empty((2, n_places), dtype=np.uint64)
        begins, begin, last = np.zeros((3, n_symbols), dtype=np.uint64)
        left, left_outside = np.zeros((2, n_symbols, n_words + 1))
        return _Walk(
            outside=np.zeros(n_places),
            is_wanted=np.zeros(n_places, dtype=np.bool_),
            of_word=np.zeros(n_words + 2, dtype=np.uint64),
            item=item,
            symbol=symbol,
            end=np.empty(n_places, dtype=np.int64),
            ends=np.zeros((n_words + 1, n_symbols), dtype=np.uint64),
            begins=begins,
            begin=begin,
            last=last,
            left=left,
            left_outside=left_outside,
            scale=np.empty(n_words + 1),
            number=np.empty(n_places, dtype=np.int64),
            matching=np.empty(n_rules + 1, dtype=np.uint64),
            threshold=threshold,
        )


@exact_pass_part
def _bit(word: int) -> np.uint64:
    """Return the bit of a word."""
    return ONE << (np.uint64(word) % _BITS)


@exact_pass_part
def _list_items(chart: InsideChart, walk: _Walk, n: int) -> None:
    """List all items by first word, and set the bits of their beginnings."""
    # Count the items of word i in of_word[i + 2].  After the sums, of_word[i + 1] is the beginning of the list of word
    # i; it moves on with each item, and is the end of the list after the last one.
    for j in range(1, n + 1):
        for row in range(chart.end_ptr[j], chart.end_ptr[j + 1]):
            first, start = chart.first[row], chart.start[row]
            bits = _NONE
            for i in range(first, chart.end[row]):
                if chart.inside[start + (i - first)] > 0.0:
                    bits |= _bit(i)
                    walk.of_word[i + _TWO] += ONE
            walk.ends[j, chart.symbol[row]] = bits
    for i in range(n):
        walk.of_word[i + 2] += walk.of_word[i + 1]
    for j in range(n, 0, -1):
        for row in range(chart.end_ptr[j], chart.end_ptr[j + 1]):
            first, start = chart.first[row], chart.start[row]
            for i in range(first, chart.end[row]):
                item = start + (i - first)
                if chart.inside[item] > 0.0:
                    at = walk.of_word[i + ONE]
                    walk.of_word[i + ONE] += ONE
                    walk.item[at] = item
                    walk.symbol[at] = chart.symbol[row]
                    walk.end[at] = j


@exact_pass_part
def _weigh_tops(grammar: CoarseGrammar, chart: InsideChart, walk: _Walk, n: int) -> None:
    """Set the outside scores of the items over the whole sentence: root weights, divided by its probability."""
    total = 0.0
    for row in range(chart.end_ptr[n], chart.end_ptr[n + 1]):
        if chart.first[row] == 0:
            total += chart.inside[chart.start[row]] * grammar.root[chart.symbol[row]]
    best = 0.0
    likeliest = chart.start[0]
    for row in range(chart.end_ptr[n], chart.end_ptr[n + 1]):
        if chart.first[row] == 0 and total > 0.0:
            top = chart.start[row]
            walk.outside[top] = grammar.root[chart.symbol[row]] / total
            if walk.outside[top] * chart.inside[top] > best:
                best = walk.outside[top] * chart.inside[top]
                likeliest = top
    # The likeliest of them is wanted, however unlikely it is.
    if best > 0.0:
        walk.is_wanted[likeliest] = True


@exact_pass_part
def _enter(chart: InsideChart, walk: _Walk, i: int) -> None:
    """Write the items that begin at word i into the table."""
    for at in range(walk.of_word[i], walk.of_word[i + 1]):
        item = walk.item[at]
        a = walk.symbol[at]
        k = walk.end[at]
        walk.left[a, unsigned(k)] = chart.inside[item]
        walk.left_outside[a, unsigned(k)] = walk.outside[item]
        # Ends come from the last to the first, so that the first end that is met is the last.
        if walk.begins[a] == 0:
            walk.last[a] = k
        walk.begin[a] = k
        walk.begins[a] |= _bit(k)


@exact_pass_part
def _leave(walk: _Walk, i: int) -> None:
    """Remove the items that begin at word i from the table."""
    for at in range(walk.of_word[i], walk.of_word[i + 1]):
        a = walk.symbol[at]
        walk.left[a, unsigned(walk.end[at])] = 0.0
        walk.begins[a] = 0


@exact_pass_part
def _set_scales(chart: InsideChart, walk: _Walk, i: int, j: int) -> None:
    """Set the scales of the splits of the cell (i, j)."""
    whole = chart.exponent[j * (j - 1) // 2 + i]
    for k in range(i + 1, j):
        exponent = chart.exponent[k * (k - 1) // 2 + i] + chart.exponent[j * (j - 1) // 2 + k] - whole
        walk.scale[k] = math.ldexp(1.0, int(min(max(exponent, -1100), 1000)))


@exact_pass_part
def _matching(grammar: CoarseGrammar, walk: _Walk, a: int, j: int) -> int:
    """List the rules of a that may have children side by side: left ones in the table, right ones that end at j.

    Returns the number of rules.  Bits are modulo 64, so that a listed rule may still have no such children."""
    left = grammar.left_child
    right = grammar.right_child
    begins = walk.begins
    ends = walk.ends
    end_word = unsigned(j)
    size = 0
    # Write each rule, but count it only if the bits match: a branch would often be guessed wrongly.
    for r in range(grammar.parent_ptr[a], grammar.parent_ptr[a + ONE]):
        walk.matching[unsigned(size)] = r
        size += (begins[left[r]] & ends[end_word, right[r]]) != 0
    return size


@exact_pass_part
def _expand(
    grammar: CoarseGrammar, chart: InsideChart, walk: _Walk, a: int, i: int, j: int, edges: IntArray, n_edges: int
) -> int:
    """Add to the outside scores of the children of an item a over (i, j); append its likely edges, or its best edge.

    edges: (3, n) the last `n_edges` are in use; there must be room for all edges that the item may have.
    Returns the new number of edges in use."""
    last = edges.shape[1] - 1
    word, end_word = unsigned(i), unsigned(j)
    above = walk.left_outside[a, end_word]
    left = walk.left
    left_outside = walk.left_outside
    scale = walk.scale
    inside, outside = chart.inside, walk.outside
    before = n_edges
    least = 0.0  # an edge is written if its posterior is above this number
    for at in range(_matching(grammar, walk, a, j)):
        r = walk.matching[at]
        b, row = grammar.left_child[r], chart.row[end_word, grammar.right_child[r]]
        first, start = chart.first[row], chart.start[row]
        of_rule = above * grammar.weight[r]
        # The splits k at which both children may have items; if one of them has no item, zero is added.
        for k in range(max(walk.begin[b], first), min(walk.last[b] + ONE, chart.end[row], end_word)):
            right_place = start + (k - first)
            weight = min(of_rule * scale[k], _LARGE)
            in_left, in_right = left[b, k], inside[right_place]
            left_outside[b, k] += weight * in_right
            outside[right_place] += weight * in_left
            posterior = weight * in_left * in_right
            if posterior > least:
                of_left = chart.row[k, b]
                edge = unsigned(last - n_edges)
                edges[0, edge] = grammar.number[r]
                edges[1, edge] = chart.start[of_left] + (word - chart.first[of_left])
                edges[2, edge] = right_place
                # Until an edge is likely, the best edge so far is overwritten by a better one.
                if posterior > walk.threshold:
                    least = walk.threshold
                    n_edges += 1
                else:
                    least = posterior
    # If all edges are unlikely, keep the best edge, so that every item that is kept has a derivation.
    if n_edges == before and least > 0.0:
        n_edges += 1
    return n_edges


@compiled_exact_pass
def _walk_down(
    grammar: CoarseGrammar,
    chart: InsideChart,
    leaves: CoarseLeaves,
    walk: _Walk,
    n: int,
    done: int,
    items: IntArray,
    n_items: int,
    edges: IntArray,
    n_edges: int,
) -> tuple[int, int, int]:
    """List the likely items and edges of the remaining cells, until a cell may need more edges than fit.

    They are written from the ends of the columns to their beginnings, so that children come before parents.

    items: (4, N) symbol, first edge, first word and next word of the kept items; the last `n_items` are in use.  Until
    all cells are finished, the number of edges up to those of the item is in place of its first edge.
    edges: (3, n) rule, left and right item of the kept edges; the last `n_edges` are in use.  Until all cells are
    finished, items are places in the chart; a leaf rule has the items -1.
    Returns `done`, `n_items` and `n_edges` after the call."""
    last_item, last_edge = items.shape[1] - 1, edges.shape[1] - 1
    if walk.of_word[n] == 0:
        _list_items(chart, walk, n)
        _weigh_tops(grammar, chart, walk, n)
    for i in range(n):
        # Skip the words that are finished; a word that was interrupted still has its table.
        if unsigned(done) >= walk.of_word[i + 1]:
            continue
        if unsigned(done) == walk.of_word[i]:
            _enter(chart, walk, i)
        while unsigned(done) < walk.of_word[i + 1]:
            j = walk.end[done]
            is_word = j == i + 1
            first_leaf, end_leaf = leaves.start[i], leaves.start[j]
            # Mark the items of the cell that are likely, beside those that a kept edge needs; bound the number of
            # edges.
            most = end_leaf - first_leaf if is_word else 0
            end = done
            while unsigned(end) < walk.of_word[i + 1] and walk.end[end] == j:
                item, a = walk.item[end], walk.symbol[end]
                if walk.left_outside[a, j] * walk.left[a, j] > walk.threshold:
                    walk.is_wanted[item] = True
                if walk.is_wanted[item] and not is_word:
                    most += (j - i - 1) * np.int64(grammar.parent_ptr[a + ONE] - grammar.parent_ptr[a])
                end += 1
            if n_edges + most > edges.shape[1]:
                return done, n_items, n_edges
            if not is_word and most > 0:
                _set_scales(chart, walk, i, j)
            for at in range(done, end):
                item, a = walk.item[at], walk.symbol[at]
                if not walk.is_wanted[item]:
                    continue
                before = n_edges
                # The edges of a single word are the leaf rules of the item's symbol; a longer item has children.
                if is_word:
                    for leaf in range(first_leaf, end_leaf):
                        if leaves.symbol[leaf] == a:
                            edge = unsigned(last_edge - n_edges)
                            edges[0, edge] = leaves.rule[leaf]
                            edges[1, edge] = -1
                            edges[2, edge] = -1
                            n_edges += 1
                else:
                    n_edges = _expand(grammar, chart, walk, a, i, j, edges, n_edges)
                    for e in range(before, n_edges):
                        walk.is_wanted[edges[1, last_edge - e]] = True
                        walk.is_wanted[edges[2, last_edge - e]] = True
                row = unsigned(last_item - n_items)
                items[0, row] = a
                items[1, row] = n_edges
                items[2, row] = i
                items[3, row] = j
                walk.number[item] = n_items
                n_items += 1
            done = end
        _leave(walk, i)
    # Number the items from the last that was listed to the first, now that their number is known.
    for e in range(n_edges):
        for side in range(1, 3):
            child = edges[side, last_edge - e]
            if child >= 0:
                edges[side, last_edge - e] = n_items - 1 - walk.number[child]
    for at in range(n_items):
        items[1, last_item - at] = n_edges - items[1, last_item - at]
    return done, n_items, n_edges


def likely_edges(
    grammar: CoarseGrammar, chart: InsideChart, leaves: CoarseLeaves, threshold: float
) -> tuple[IntArray, IntArray]:
    """List the items and edges whose posterior is above `threshold`, children before parents.

    An item without such an edge keeps its best edge.  The children of kept edges are kept, too.

    Returns items (4, I): symbol, first edge, first word and next word; and edges (3, E): rule, left and right item,
    both -1 without children."""
    n = len(leaves.start) - 1
    n_places = len(chart.inside)
    walk = _Walk.allocate(n, len(grammar.root), n_places, len(grammar.number), threshold)
    items = np.empty((4, n_places), dtype=np.int64)
    edges = np.empty((3, _ROOM), dtype=np.int64)
    done = 0
    n_items = 0
    n_edges = 0
    # Go on with twice the room wherever the edges of the next cell may not fit.
    while True:
        done, n_items, n_edges = _walk_down(grammar, chart, leaves, walk, n, done, items, n_items, edges, n_edges)
        if done == walk.of_word[n]:
            # Copy the places in use, because the columns have room for all places of the chart.
            return items[:, n_places - n_items :].copy(), edges[:, edges.shape[1] - n_edges :].copy()
        edges = np.concatenate([np.empty_like(edges), edges], axis=1)
