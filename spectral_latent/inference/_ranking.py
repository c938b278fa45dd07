"""List the n best derivations of a forest, each found when it is needed (Huang and Chiang 2005, Algorithm 3).

A derivation of an item is a row of `rows` (n, 7), whose cost stands in `costs` (n, 1): minus the sum of the weights of
its edges.  It is found when all better ones are; before, it waits in a heap.

| column | of a row |
| --- | --- |
| `_EDGE` | the edge at the top |
| `_LEFT`, `_RIGHT` | the rows of the derivations of its children; -1 without one |
| `_RANK` | how many derivations of its item are better; -1 before it is found |
| `_NEXT` | the next best row of its item; -1 before that is found, and `_NONE` behind the last |
| `_BELOW`, `_BESIDE` | the tops of the two heaps below it, while it waits; -1 without one |

The rows that may come after another take the next derivation of one child: of the left one only if the right one has
its best.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spectral_latent._compiled import ZERO, compiled, compiled_part, with_room
from spectral_latent.trees import FloatArray, Forest, IntArray

__all__ = ["Room", "rank"]

_EDGE, _LEFT, _RIGHT, _RANK, _NEXT, _BELOW, _BESIDE = range(7)
_NONE = -2


class Room(NamedTuple):
    """Room for the derivations of I items.

    rows: (n, 7) of -1; it grows.
    costs: (n, 1); it grows.
    waiting: (I,) of -1, the top of the heap of each item's rows that are not found yet.
    last: (I,) of -1, the last row of each item that was found.
    stack: (I,) items whose next derivation is wanted.
    found: (n, 2) the rows of the roots that were found, and the numbers of these roots; it grows.
    current: (K,) the next row of each root.
    """

    rows: IntArray
    costs: FloatArray
    waiting: IntArray
    last: IntArray
    stack: IntArray
    found: IntArray
    current: IntArray

    @staticmethod
    def of(forest: Forest) -> Room:
        """Make room for the derivations of a forest.

        forest: a forest of I items and K roots.
        """
        n_rows = forest.n_edges + 64
        return Room(
            rows=np.full((n_rows, 7), -1, dtype=np.int64),
            costs=np.empty((n_rows, 1)),
            waiting=np.full(forest.n_items, -1, dtype=np.int64),
            last=np.full(forest.n_items, -1, dtype=np.int64),
            stack=np.empty(forest.n_items, dtype=np.int64),
            found=np.empty((64, 2), dtype=np.int64),
            current=np.empty(len(forest.root), dtype=np.int64),
        )


@compiled_part
def _is_better(rows: IntArray, costs: FloatArray, row: int, other: int) -> bool:
    """Tell whether a row (n, 7) of an item comes before another: by cost, then edge, then ranks of children."""
    if costs[row, 0] != costs[other, 0]:
        return bool(costs[row, 0] < costs[other, 0])
    if rows[row, _EDGE] != rows[other, _EDGE]:
        return bool(rows[row, _EDGE] < rows[other, _EDGE])
    if rows[row, _LEFT] != rows[other, _LEFT]:
        return bool(rows[rows[row, _LEFT], _RANK] < rows[rows[other, _LEFT], _RANK])
    return bool(rows[rows[row, _RIGHT], _RANK] < rows[rows[other, _RIGHT], _RANK])


@compiled_part
def _merged(rows: IntArray, costs: FloatArray, top: int, other: int) -> int:
    """Merge two skew heaps of rows (n, 7), of which either may be empty (-1); return the top of both."""
    if top < 0:
        return other
    if other < 0:
        return top
    if _is_better(rows, costs, other, top):
        top, other = other, top
    at = top
    while True:
        # Merge the other heap with the one beside, which takes the place of the one below.
        beside = rows[at, _BESIDE]
        rows[at, _BESIDE] = rows[at, _BELOW]
        if beside < 0:
            rows[at, _BELOW] = other
            return top
        if _is_better(rows, costs, other, beside):
            beside, other = other, beside
        rows[at, _BELOW] = beside
        at = beside


@compiled_part
def _add(
    weights: FloatArray,
    rows: IntArray,
    costs: FloatArray,
    waiting: IntArray,
    n_rows: int,
    item: int,
    edge: int,
    left: int,
    right: int,
) -> tuple[IntArray, FloatArray, int]:
    """Let one more row of an item wait: an edge over the rows of its children, which are -1 where it has none.

    weights: (E,) the weight of each edge.
    rows, costs, waiting: as in `Room`, which has room for (n,) rows.
    """
    rows = with_room(rows, n_rows)
    costs = with_room(costs, n_rows)
    rows[n_rows, _EDGE] = edge
    rows[n_rows, _LEFT] = left
    rows[n_rows, _RIGHT] = right
    # The cost of a row is that of its edge and of the rows below.
    cost = -weights[edge]
    if left >= 0:
        cost += costs[left, 0]
    if right >= 0:
        cost += costs[right, 0]
    costs[n_rows, 0] = cost
    waiting[item] = _merged(rows, costs, waiting[item], n_rows)
    return rows, costs, n_rows + 1


@compiled_part
def _take(rows: IntArray, costs: FloatArray, waiting: IntArray, last: IntArray, item: int) -> None:
    """Find the best of the rows (n, 7) of an item that wait, if there is one; the columns are those of `Room`."""
    before = last[item]
    row = waiting[item]
    if row < 0:
        if before >= 0:
            rows[before, _NEXT] = _NONE
        return
    waiting[item] = _merged(rows, costs, rows[row, _BELOW], rows[row, _BESIDE])
    rows[row, _RANK] = 0
    if before >= 0:
        rows[row, _RANK] = rows[before, _RANK] + 1
        rows[before, _NEXT] = row
    last[item] = row


@compiled_part
def _find_next(
    forest: Forest,
    weights: FloatArray,
    rows: IntArray,
    costs: FloatArray,
    waiting: IntArray,
    last: IntArray,
    stack: IntArray,
    n_rows: int,
    item: int,
) -> tuple[IntArray, FloatArray, int]:
    """Find the derivation of an item that comes after its last one, and those of items below that this needs.

    weights: (E,) the weight of each edge.
    rows, costs, waiting, last, stack: as in `Room`, which has room for (n,) rows.
    """
    stack[0] = item
    depth = 1
    while depth > 0:
        item = stack[depth - 1]
        row = last[item]
        edge, left, right = rows[row, _EDGE], rows[row, _LEFT], rows[row, _RIGHT]
        goes_left = left >= 0 and (right < 0 or rows[right, _RANK] == 0)
        # First what comes after the derivations of the children.
        if right >= 0 and rows[right, _NEXT] == -1:
            stack[depth] = forest.right[edge]
            depth += 1
            continue
        if goes_left and rows[left, _NEXT] == -1:
            stack[depth] = forest.left[edge]
            depth += 1
            continue
        # Then the rows that may come after this one.
        if right >= 0 and rows[right, _NEXT] >= 0:
            after = rows[right, _NEXT]
            rows, costs, n_rows = _add(weights, rows, costs, waiting, n_rows, item, edge, left, after)
        if goes_left and rows[left, _NEXT] >= 0:
            after = rows[left, _NEXT]
            rows, costs, n_rows = _add(weights, rows, costs, waiting, n_rows, item, edge, after, right)
        _take(rows, costs, waiting, last, item)
        depth -= 1
    return rows, costs, n_rows


@compiled
def rank(forest: Forest, weights: FloatArray, n_best: int, room: Room) -> tuple[IntArray, FloatArray, IntArray]:
    """List the n best derivations of each component.

    forest: a valid forest.
    weights: (E,) the weight of each edge.
    n_best: the most derivations of a component to list.
    room: as `Room.of` makes it.
    Returns the rows (n, 7) and their costs (n, 1), children before parents; and the rows and the numbers (m, 2) of the
    roots with the best derivations, by component, then by rising cost, then in the order of the roots.
    """
    rows, costs, waiting, last, stack, found, current = room
    n_rows = ZERO
    # The best derivation of every item.
    for item in range(len(forest.symbol)):
        for edge in range(forest.start[item], forest.start[item + 1]):
            left = -1 if forest.left[edge] < 0 else last[forest.left[edge]]
            right = -1 if forest.right[edge] < 0 else last[forest.right[edge]]
            has_children = (left >= 0) == (forest.left[edge] >= 0) and (right >= 0) == (forest.right[edge] >= 0)
            if forest.rule[edge] >= 0 and has_children:
                rows, costs, n_rows = _add(weights, rows, costs, waiting, n_rows, item, edge, left, right)
        _take(rows, costs, waiting, last, item)
    for k in range(len(forest.root)):
        current[k] = last[forest.root[k]]
    n_found = ZERO
    first = 0
    while first < len(forest.root):
        # Roots first ... end - 1 are those of one component, of which n_found - n_listed derivations are found.
        end = first
        while end < len(forest.root) and forest.component[end] == forest.component[first]:
            end += 1
        n_listed = n_found
        while n_found - n_listed < n_best:
            best = -1
            for k in range(first, end):
                if current[k] >= 0 and (best < 0 or costs[current[k], 0] < costs[current[best], 0]):
                    best = k
            if best < 0:
                break
            row = current[best]
            found = with_room(found, n_found)
            found[n_found, 0] = row
            found[n_found, 1] = best
            n_found += 1
            if rows[row, _NEXT] == -1 and n_found - n_listed < n_best:
                item = forest.root[best]
                rows, costs, n_rows = _find_next(forest, weights, rows, costs, waiting, last, stack, n_rows, item)
            current[best] = rows[row, _NEXT]
        first = end
    return rows[:n_rows], costs[:n_rows], found[:n_found]
