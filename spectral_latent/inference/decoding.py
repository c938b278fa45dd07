"""Find the best and the n best derivations of a forest, by the sum of the weights of their edges.

With the absolute marginals |μ| of their items as weights, the best derivation is Goodman's (1996) maximum expected
recall, the minimum-Bayes-risk tree of the long paper's section 6.

The n best derivations are listed one by one, and each part is found only when it is needed (Huang and Chiang 2005,
Algorithm 3).  A derivation of an item is a row of `rows` (n, 7).  Its cost in `costs` (n, 1) is minus the sum of the
weights of its edges.  A row is *found* after all better derivations of its item; before that, it waits in a heap.

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

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, overload

import numpy as np

from spectral_latent._compiled import ZERO, check_column, compiled, compiled_part, with_room
from spectral_latent._options import Count, checked
from spectral_latent.inference._checks import check_forest, check_weights
from spectral_latent.trees import FloatArray, Forest, IntArray, Rules, SkeletalTrees, range_of

_EDGE, _LEFT, _RIGHT, _RANK, _NEXT, _BELOW, _BESIDE = range(7)
_NONE = -2
_MOST = np.iinfo(np.int64).max  # compiled code needs a limit of the number of derivations; no memory holds as many


@compiled_part
def _is_better(rows: IntArray, costs: FloatArray, row: int, other: int) -> bool:
    """Tell whether a row (n, 7) of an item comes before another: by cost, by edge, then by the ranks of children."""
    if costs[row, 0] != costs[other, 0]:
        return bool(costs[row, 0] < costs[other, 0])
    if rows[row, _EDGE] != rows[other, _EDGE]:
        return bool(rows[row, _EDGE] < rows[other, _EDGE])
    if rows[row, _LEFT] != rows[other, _LEFT]:
        return bool(rows[rows[row, _LEFT], _RANK] < rows[rows[other, _LEFT], _RANK])
    return bool(rows[rows[row, _RIGHT], _RANK] < rows[rows[other, _RIGHT], _RANK])


@compiled_part
def _merge_heaps(rows: IntArray, costs: FloatArray, top: int, other: int) -> int:
    """Merge two skew heaps of rows (n, 7), each of which may be empty (-1), and return the top of the merged heap."""
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
    """Append a waiting row (n, 7) of an item: an edge over the rows of its children; -1 for a child that is absent."""
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
    waiting[item] = _merge_heaps(rows, costs, waiting[item], n_rows)
    return rows, costs, n_rows + 1


@compiled_part
def _take(rows: IntArray, costs: FloatArray, waiting: IntArray, last: IntArray, item: int) -> None:
    """Take the best waiting row (n, 7) of an item, which is then found; without one, end the list of found rows."""
    before = last[item]
    row = waiting[item]
    if row < 0:
        # The item has no further derivation: the row that was found last is the end of the list.
        if before >= 0:
            rows[before, _NEXT] = _NONE
        return
    # Remove the top of the heap: the two heaps below it become one.
    waiting[item] = _merge_heaps(rows, costs, rows[row, _BELOW], rows[row, _BESIDE])
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
    """Find the next row (n, 7) of an item, and first those of the items below on which it depends."""
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
def _rank(
    forest: Forest,
    weights: FloatArray,
    n_best: int,
    rows: IntArray,
    costs: FloatArray,
    waiting: IntArray,
    last: IntArray,
    stack: IntArray,
    found: IntArray,
    current: IntArray,
) -> tuple[IntArray, FloatArray, IntArray]:
    """List the n best derivations of each component, by the weights (E,) of edges.

    rows, costs: (n, 7) and (n, 1) room for the derivations, which grows; the rows are all -1 at first.
    waiting: (I,) the top of the heap of each item's waiting rows; -1 at first.
    last: (I,) the row of each item that was found last; -1 at first.
    stack: (I,) room for the items whose next derivation is needed.
    found: (n, 2) room for the found rows of roots, and the numbers of these roots; grows.
    current: (K,) room for the next row of each root.
    Returns three arrays.  The first two are the rows (n, 7) and their costs (n, 1), children before parents.  The third
    (m, 2) lists the best derivations of roots: the row and the number of the root, by component, then by rising cost,
    then in the order of the roots."""
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


class Derivation(NamedTuple):
    """A derivation of a forest: one tree.

    edges: (n,) the edges of the tree in post-order.
    score: the sum of the weights of these edges."""

    edges: IntArray
    score: float

    def tree(self, forest: Forest, rules: Rules) -> SkeletalTrees:
        """Convert the derivation to a single s-tree.

        rules: the table whose rows the forest's edges number.
        Raises ValueError if the forest is not valid, or if these edges do not derive a tree of it by these rules."""
        check_forest(forest)
        edges = self.edges
        check_column("edges of a derivation", edges, (np.size(edges),), np.int64)
        if not len(edges) or edges.min() < 0 or edges.max() >= forest.n_edges:
            raise ValueError(f"edges of a derivation must be numbers of the forest's {forest.n_edges} edges")
        item = range_of(forest.start, edges)
        left, right, terminal = np.full((3, len(edges)), -1, dtype=np.int64)
        finished: list[int] = []  # nodes whose parents are still to come
        for node, edge in enumerate(edges.tolist()):
            # In post-order, the right child (if there is one) was finished last, and the left child just before it.
            for column, children in ((right, forest.right), (left, forest.left)):
                if children[edge] >= 0:
                    if not finished or item[finished[-1]] != children[edge]:
                        raise ValueError(f"edge {edge} does not follow the edges of its children in the derivation")
                    column[node] = finished.pop()
            finished.append(node)
        if len(finished) > 1:
            raise ValueError(f"edges of a derivation make {len(finished)} trees, not one")
        is_leaf = left < 0
        rule = forest.rule[edges[is_leaf]]
        if rule.min() < 0 or rule.max() >= len(rules.leaf):
            raise ValueError(f"a leaf of the derivation has none of the {len(rules.leaf)} leaf rules")
        terminal[is_leaf] = rules.leaf[rule, 1]
        return SkeletalTrees(forest.symbol[item], left, right, terminal, np.array([len(edges) - 1]))


@compiled
def _collect_edges(
    edge: IntArray, left: IntArray, right: IntArray, root: IntArray, start: IntArray, stack: IntArray, edges: IntArray
) -> None:
    """Write the edges of each derivation in post-order.  A first call without room for edges only counts them.

    edge, left, right: (P,) the columns of parts, as in `Derivations`.
    root: (n,) the part at the top of each derivation, as in `Derivations`.
    start: (n + 1,) the first edge of each derivation, and the number of all edges; start[0] must be 0, and the first
    call fills in the others.
    stack: (P + 1,) room for the parts that are still to be visited.
    edges: (start[n],) room for the edges, or an empty array."""
    for k in range(len(root)):
        end = start[k + 1]
        n_edges = 0
        stack[0] = root[k]
        depth = 1
        # Visit the root, then the right subtree, then the left subtree: this is post-order backwards.
        while depth > 0:
            depth -= 1
            part = stack[depth]
            n_edges += 1
            if len(edges):
                edges[end - n_edges] = edge[part]
            if left[part] >= 0:
                stack[depth] = left[part]
                depth += 1
            if right[part] >= 0:
                stack[depth] = right[part]
                depth += 1
        start[k + 1] = start[k] + n_edges


@dataclass(frozen=True, eq=False)
class Derivations(Sequence[Derivation]):
    """The n best derivations of each component of a forest, the best first, as parts that derivations share.

    A part is a derivation of an item.  A part has a smaller number than the parts that contain it.

    edge: (P,) the edge at the top of each part.
    left: (P,) the part that derives the left child of this edge; -1 without a left child.
    right: (P,) the part that derives the right child of this edge; -1 without a right child.
    root: (n,) the part at the top of each derivation, component after component.
    component: (n,) the component of each derivation.
    score: (n,) the sum of the weights of the edges of each derivation.

    >>> parts = np.array([[0, 1, 2], [-1, 0, 0], [-1, -1, -1]])
    >>> shared = Derivations(*parts, np.array([1, 2]), np.array([0, 0]), np.array([0.5, 0.25]))
    >>> len(shared), shared[1]
    (2, Derivation(edges=array([0, 2]), score=0.25))
    """

    edge: IntArray
    left: IntArray
    right: IntArray
    root: IntArray
    component: IntArray
    score: FloatArray

    @cached_property
    def edges(self) -> tuple[IntArray, IntArray]:
        """The edges of all derivations, each in post-order, and the first edge of each derivation, (n + 1,)."""
        start = np.zeros(len(self.root) + 1, dtype=np.int64)
        stack = np.empty(len(self.edge) + 1, dtype=np.int64)
        columns = (self.edge, self.left, self.right, self.root, start, stack)
        _collect_edges(*columns, np.empty(0, dtype=np.int64))
        edges = np.empty(start[-1], dtype=np.int64)
        _collect_edges(*columns, edges)
        return edges, start

    def __len__(self) -> int:
        return len(self.root)

    @overload
    def __getitem__(self, at: int) -> Derivation: ...

    @overload
    def __getitem__(self, at: slice) -> list[Derivation]: ...

    def __getitem__(self, at: int | slice) -> Derivation | list[Derivation]:
        if isinstance(at, slice):
            return [self[place] for place in range(*at.indices(len(self)))]
        score = float(self.score[at])  # raises IndexError if there is no such derivation
        edges, start = self.edges
        number = at % len(self)
        return Derivation(edges[start[number] : start[number + 1]], score)


@compiled
def _find_best(
    forest: Forest, weights: FloatArray, score: FloatArray, number: IntArray, parts: IntArray, root: IntArray
) -> tuple[int, int]:
    """Find the best derivation of each component, given the weights (E,) of the edges.

    score: (I,) -inf; gets the score of the best derivation of each item.
    number: (I,) -1; gets the number of the part that derives each item of a best derivation.
    parts: (3, I) gets the edge, the left part and the right part of each part of these derivations.
    root: (K,) gets the number of the best root of each component that has a derivation.
    Returns the number of parts, and of components with a derivation."""
    best = parts[2]  # the edge at the top of the best derivation of each item, as long as the parts are not written
    best[:] = -1
    for item in range(len(forest.symbol)):
        for edge in range(forest.start[item], forest.start[item + 1]):
            # Add the weight of the edge and the best scores of its children, which are items with smaller numbers.
            total = weights[edge]
            left, right = forest.left[edge], forest.right[edge]
            if left >= 0:
                total += score[left]
            if right >= 0:
                total += score[right]
            if forest.rule[edge] >= 0 and total > score[item]:
                score[item] = total
                best[item] = edge
    # Choose the best root of each component; of equal ones, the first.
    n_found = 0
    for k in range(len(forest.root)):
        item = forest.root[k]
        if best[item] >= 0:
            if n_found == 0 or forest.component[root[n_found - 1]] != forest.component[k]:
                root[n_found] = k
                n_found += 1
            elif score[item] > score[forest.root[root[n_found - 1]]]:
                root[n_found - 1] = k
    # Mark the items below these roots from the top down, and number them from the bottom up.
    for k in range(n_found):
        number[forest.root[root[k]]] = 0
    for item in range(len(forest.symbol) - 1, -1, -1):
        if number[item] == 0:
            left, right = forest.left[best[item]], forest.right[best[item]]
            if left >= 0:
                number[left] = 0
            if right >= 0:
                number[right] = 0
    n_parts = 0
    for item in range(len(forest.symbol)):
        if number[item] == 0:
            number[item] = n_parts
            edge = best[item]
            left, right = forest.left[edge], forest.right[edge]
            parts[0, n_parts] = edge
            parts[1, n_parts] = number[left] if left >= 0 else -1
            parts[2, n_parts] = number[right] if right >= 0 else -1
            n_parts += 1
    return n_parts, n_found


def _best(forest: Forest, weights: FloatArray) -> Derivations:
    """Find the best derivation of each component that has one, given the weights (E,) of the edges."""
    score = np.full(len(forest.symbol), -np.inf)
    number = np.full(len(score), -1)
    parts = np.empty((3, len(score)), dtype=np.int64)
    root = np.empty(len(forest.root), dtype=np.int64)
    n_parts, n_found = _find_best(forest, weights, score, number, parts, root)
    root = root[:n_found]
    edge, left, right = parts[:, :n_parts]
    top = forest.root[root]
    return Derivations(edge, left, right, number[top], forest.component[root], score[top])


def n_best_derivations(forest: Forest, weights: FloatArray, n_best: int) -> Derivations:
    """List up to `n_best` derivations of each component of a forest, by falling sum of edge weights.

    Derivations with equal sums are in the order of their roots, and below one root in the order of their edges, from
    the top down.

    weights: (E,) the weight of each edge.
    n_best: the largest number of derivations of a component.

    Raises ValueError if n_best < 1, if the forest is not valid (the message names item and edge), or if there is not
    one weight for each edge.

    >>> forest = Forest(
    ...     symbol=np.array([0, 1, 2]), start=np.array([0, 2, 3, 4]), rule=np.array([0, 1, 2, 0]),
    ...     left=np.array([-1, -1, -1, 0]), right=np.array([-1, -1, -1, 1]),
    ...     root=np.array([2]), component=np.array([0]))
    >>> [derivation.edges.tolist() for derivation in n_best_derivations(forest, np.ones(4), 5)]
    [[0, 2, 3], [1, 2, 3]]
    """
    checked("n_best", n_best, Count)
    check_weights(forest, weights)
    return trusted_derivations(forest, weights, n_best)


def trusted_derivations(forest: Forest, weights: FloatArray, n_best: int) -> Derivations:
    """List what `n_best_derivations` does, given the weights (E,) of the edges of a forest that this library built."""
    if n_best == 1:
        return _best(forest, weights)
    n_rows, n_items = forest.n_edges + 64, forest.n_items
    tables = np.full((n_rows, 7), -1), np.empty((n_rows, 1))
    of_items = np.full(n_items, -1), np.full(n_items, -1), np.full(n_items, -1)
    of_roots = np.full((64, 2), -1), np.full(len(forest.root), -1)
    rows, costs, best_rows = _rank(forest, weights, min(n_best, _MOST), *tables, *of_items, *of_roots)
    edge, left, right = np.ascontiguousarray(rows[:, :3].T)
    root, of_root = np.ascontiguousarray(best_rows.T)
    needed = np.zeros(len(edge), dtype=np.bool_)  # by these derivations
    new = root
    while len(new):
        needed[new] = True
        below = np.concatenate([left[new], right[new]])
        new = np.unique(below[(below >= 0) & ~needed[below]])
    kept = np.flatnonzero(needed)
    number = np.append(np.cumsum(needed) - 1, -1)  # the last entry keeps -1, which means no child
    columns = (edge[kept], number[left[kept]], number[right[kept]], number[root])
    return Derivations(*columns, forest.component[of_root], -costs[root, 0])
