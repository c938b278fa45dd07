"""List the n best derivations of a forest, and find each only when it is needed (Huang and Chiang 2005, Algorithm 3).

A derivation of an item is a row of `rows` (n, 7).  Its cost in `costs` (n, 1) is minus the sum of the weights of its
edges.  A row is *found* after all better derivations of its item; before that, it waits in a heap.

| column | meaning |
| --- | --- |
| `_EDGE` | the edge at the top |
| `_LEFT`, `_RIGHT` | the rows of the derivations of its children; -1 for a child that is absent |
| `_RANK` | the number of better derivations of its item; -1 before the row is found |
| `_NEXT` | the next best row of its item; -1 if that is not found yet, `_NONE` after the last row |
| `_BELOW`, `_BESIDE` | the tops of the two heaps below the row, while it waits; -1 for an empty heap |

The successors of a row take the next derivation of one child: of the right child, and, if the right child has its best
derivation, of the left child.  So every pair of derivations of the children, except the best pair, is the successor of
exactly one row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spectral_latent._compiled import ZERO, compiled, compiled_part, with_room
from spectral_latent.trees import FloatArray, Forest, IntArray

__all__ = ["RankingRoom", "rank"]

_EDGE, _LEFT, _RIGHT, _RANK, _NEXT, _BELOW, _BESIDE = range(7)
_NONE = -2


class RankingRoom(NamedTuple):
    """Room for the derivations of I items.

    rows: (n, 7) the derivations, all -1 at first; grows.
    costs: (n, 1) the costs of the derivations; grows.
    waiting: (I,) the top of the heap of each item's waiting rows; -1 at first.
    last: (I,) the row of each item that was found last; -1 at first.
    stack: (I,) the items whose next derivation is needed.
    found: (n, 2) the found rows of roots, and the numbers of these roots; grows.
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
    def allocate(forest: Forest) -> RankingRoom:
        """Make room for the derivations of a forest."""
        n_rows = forest.n_edges + 64
        return RankingRoom(
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
    """Tell whether a row of an item comes before another: by cost, then by edge, then by the ranks of children.

    rows: (n, 7) the derivations, as in `RankingRoom`.
    costs: (n, 1) the costs of the derivations.
    """
    if costs[row, 0] != costs[other, 0]:
        return bool(costs[row, 0] < costs[other, 0])
    if rows[row, _EDGE] != rows[other, _EDGE]:
        return bool(rows[row, _EDGE] < rows[other, _EDGE])
    if rows[row, _LEFT] != rows[other, _LEFT]:
        return bool(rows[rows[row, _LEFT], _RANK] < rows[rows[other, _LEFT], _RANK])
    return bool(rows[rows[row, _RIGHT], _RANK] < rows[rows[other, _RIGHT], _RANK])


@compiled_part
def _merged(rows: IntArray, costs: FloatArray, top: int, other: int) -> int:
    """Merge two skew heaps, each of which may be empty (-1), and return the top of the merged heap.

    rows: (n, 7) the derivations, as in `RankingRoom`.
    costs: (n, 1) the costs of the derivations.
    """
    if top < 0:
        return other
    if other < 0:
        return top
    if _is_better(rows, costs, other, top):
        top, other = other, top
    row = top
    while True:
        # Swap the two heaps below this row, and merge the other heap with the one that is now at `_BELOW`.
        beside = rows[row, _BESIDE]
        rows[row, _BESIDE] = rows[row, _BELOW]
        if beside < 0:
            rows[row, _BELOW] = other
            return top
        if _is_better(rows, costs, other, beside):
            beside, other = other, beside
        rows[row, _BELOW] = beside
        row = beside


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
    """Append a waiting row of an item: an edge over the rows of its children; -1 for a child that is absent.

    weights: (E,) the weight of each edge.
    rows: (n, 7) the derivations, as in `RankingRoom`.
    costs: (n, 1) the costs of the derivations.
    waiting: (I,) the top of the heap of each item's waiting rows.
    """
    rows = with_room(rows, n_rows)
    costs = with_room(costs, n_rows)
    rows[n_rows, _EDGE] = edge
    rows[n_rows, _LEFT] = left
    rows[n_rows, _RIGHT] = right
    # The cost of a row is the cost of its edge and of the rows of its children.
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
    """Take the best waiting row of an item, which is then found; without a waiting row, end the list of found rows.

    rows: (n, 7) the derivations, as in `RankingRoom`.
    costs: (n, 1) the costs of the derivations.
    waiting: (I,) the top of the heap of each item's waiting rows.
    last: (I,) the row of each item that was found last.
    """
    before = last[item]
    row = waiting[item]
    if row < 0:
        # The item has no further derivation: the row that was found last is the end of the list.
        if before >= 0:
            rows[before, _NEXT] = _NONE
        return
    # Remove the top of the heap: the two heaps below it become one.
    waiting[item] = _merged(rows, costs, rows[row, _BELOW], rows[row, _BESIDE])
    # Append the row to the list of the item's found rows.
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
    """Find the next derivation of an item, and first the derivations of items below on which it depends.

    weights: (E,) the weight of each edge.
    rows: (n, 7) the derivations, as in `RankingRoom`.
    costs: (n, 1) the costs of the derivations.
    waiting, last, stack: (I,) the columns of items, as in `RankingRoom`.
    """
    stack[0] = item
    depth = 1
    while depth > 0:
        item = stack[depth - 1]
        row = last[item]
        edge = rows[row, _EDGE]
        left = rows[row, _LEFT]
        right = rows[row, _RIGHT]
        goes_left = left >= 0 and (right < 0 or rows[right, _RANK] == 0)
        # A successor of this row needs the next derivation of a child.  If that is not found yet, put the child on the
        # stack, to find it first.
        if right >= 0 and rows[right, _NEXT] == -1:
            stack[depth] = forest.right[edge]
            depth += 1
            continue
        if goes_left and rows[left, _NEXT] == -1:
            stack[depth] = forest.left[edge]
            depth += 1
            continue
        # Otherwise add the successors of this row to the heap, and take the best row.
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
def rank(forest: Forest, weights: FloatArray, n_best: int, room: RankingRoom) -> tuple[IntArray, FloatArray, IntArray]:
    """List the n best derivations of each component.

    weights: (E,) the weight of each edge.
    Returns three arrays.  The first two are the rows (n, 7) and their costs (n, 1), children before parents.  The third
    (m, 2) lists the best derivations of roots: the row and the number of the root, by component, then by rising cost,
    then in the order of the roots.
    """
    rows, costs, waiting, last, stack, found, current = room
    n_rows = ZERO
    # Find the best derivation of every item: one row waits for each edge whose children have a derivation.
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
        # The roots first ... end - 1 belong to one component, whose derivations begin at found[n_listed].
        end = first
        while end < len(forest.root) and forest.component[end] == forest.component[first]:
            end += 1
        n_listed = n_found
        # Take the best of the current rows of these roots, and replace it by the next row of its root.
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
