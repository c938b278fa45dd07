"""Find the best and the n best derivations of a forest, by the sum of the weights of their edges.

With the absolute marginals |μ| of their items as weights, the best derivation is Goodman's (1996) maximum expected
recall, the minimum-Bayes-risk tree of the long paper's section 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, overload

import numpy as np

from spectral_latent._compiled import check_column, compiled, compiled_part, with_room
from spectral_latent.inference._checks import check_forest, check_weights
from spectral_latent.trees import BoolArray, FloatArray, Forest, IntArray, Rules, SkeletalTrees, ranges

__all__ = ["Derivation", "Derivations", "best_derivation", "n_best_derivations"]

_MOST = np.iinfo(np.int64).max  # derivations of an item, for compiled code: more than any memory holds


class Derivation(NamedTuple):
    """One tree of a forest.

    edges: (n,) its edges in post-order.
    score: the sum of their weights.
    """

    edges: IntArray
    score: float

    def as_forest(self, forest: Forest) -> Forest:
        """Take the derivation out of its forest, as a forest with one edge per item.

        forest: the forest that the derivation was found in.

        Raises ValueError if the forest is not valid, or if these edges do not derive a tree of it.
        """
        check_forest(forest)
        edges = self.edges
        check_column("edges of a derivation", edges, (np.size(edges),), np.int64)
        if not len(edges) or edges.min() < 0 or edges.max() >= forest.n_edges:
            raise ValueError(f"edges of a derivation must be numbers of the forest's {forest.n_edges} edges")
        item = np.searchsorted(forest.start, edges, side="right") - 1
        left, right = np.full((2, len(edges)), -1, dtype=np.int64)
        finished: list[int] = []  # nodes whose parents are still to come
        for node, edge in enumerate(edges.tolist()):
            # In post-order the right child, if there is one, was finished last, and the left child before it.
            for column, children in ((right, forest.right), (left, forest.left)):
                if children[edge] >= 0:
                    if not finished or item[finished[-1]] != children[edge]:
                        raise ValueError(f"edge {edge} does not follow the edges of its children in the derivation")
                    column[node] = finished.pop()
            finished.append(node)
        if len(finished) > 1:
            raise ValueError(f"edges of a derivation make {len(finished)} trees, not one")
        return Forest(
            symbol=forest.symbol[item],
            start=np.arange(len(edges) + 1),
            rule=forest.rule[edges],
            left=left,
            right=right,
            root=np.array([len(edges) - 1]),
            component=np.zeros(1, dtype=np.int64),
        )

    def tree(self, forest: Forest, rules: Rules) -> SkeletalTrees:
        """Convert the derivation to a single s-tree.

        forest: the forest that the derivation was found in.
        rules: the table whose rows the forest's edges number.
        Raises ValueError if the forest is not valid, or if these edges do not derive a tree of it by these rules.
        """
        single = self.as_forest(forest)
        is_leaf = single.left < 0
        rule = single.rule[is_leaf]
        if rule.min() < 0 or rule.max() >= len(rules.leaf):
            raise ValueError(f"a leaf of the derivation has none of the {len(rules.leaf)} leaf rules")
        terminal = np.full(single.n_items, -1, dtype=np.int64)
        terminal[is_leaf] = rules.leaf[rule, 1]
        return SkeletalTrees(single.symbol, single.left, single.right, terminal, single.root)


@compiled
def _mark_needed(left: IntArray, right: IntArray, needed: BoolArray) -> None:
    """Mark all parts (P,) that the parts marked before are made of; parts come before those that are made of them."""
    for part in range(len(needed) - 1, -1, -1):
        if needed[part]:
            if left[part] >= 0:
                needed[left[part]] = True
            if right[part] >= 0:
                needed[right[part]] = True


@dataclass(frozen=True, eq=False)
class Derivations(Sequence[Derivation]):
    """The n best derivations of a forest, the best first, with the parts that they share.

    A part is a derivation of an item.  Parts come before those that are made of them.

    edge: (P,) the edge at the top of each part.
    left: (P,) the part that derives the edge's left child; -1 without one.
    right: (P,) the part that derives its right child; likewise.
    root: (n,) the part that each derivation is.
    score: (n,) the sum of the weights of the edges of each derivation.

    >>> shared = Derivations(*np.array([[0, 1, 2], [-1, 0, 0], [-1, -1, -1]]), np.array([1, 2]), np.array([0.5, 0.25]))
    >>> len(shared), shared[1]
    (2, Derivation(edges=array([0, 2]), score=0.25))
    """

    edge: IntArray
    left: IntArray
    right: IntArray
    root: IntArray
    score: FloatArray

    @cached_property
    def _columns(self) -> tuple[list[int], list[int], list[int]]:
        """The parts as Python's own numbers, which are faster one by one than those of arrays."""
        return self.edge.tolist(), self.left.tolist(), self.right.tolist()

    def __len__(self) -> int:
        return len(self.root)

    @overload
    def __getitem__(self, at: int) -> Derivation: ...

    @overload
    def __getitem__(self, at: slice) -> list[Derivation]: ...

    def __getitem__(self, at: int | slice) -> Derivation | list[Derivation]:
        if isinstance(at, slice):
            return [self[place] for place in range(*at.indices(len(self)))]
        edge, left, right = self._columns
        edges: list[int] = []
        stack = [int(self.root[at])]
        while stack:  # root, right subtree, left subtree: post-order backwards
            part = stack.pop()
            edges.append(edge[part])
            stack += [child for child in (left[part], right[part]) if child >= 0]
        return Derivation(np.array(edges[::-1]), float(self.score[at]))


def _of_parts(edge: IntArray, left: IntArray, right: IntArray, root: IntArray, score: FloatArray) -> Derivations:
    """Make derivations of numbered parts, and leave out the parts that none of them needs.

    edge: (P,) as in `Derivations`.
    left: (P,) as in `Derivations`.
    right: (P,) as in `Derivations`.
    root: (n,) as in `Derivations`.
    score: (n,) as in `Derivations`.
    """
    needed = np.zeros(len(edge), dtype=np.bool_)
    needed[root] = True
    _mark_needed(left, right, needed)
    kept = np.flatnonzero(needed)
    number = np.append(np.cumsum(needed) - 1, -1)  # -1 stays -1
    return Derivations(edge[kept], number[left[kept]], number[right[kept]], number[root], score)


@compiled
def _find_best_edges(forest: Forest, weights: FloatArray, score: FloatArray, best: IntArray) -> None:
    """Find the score (I,) of the best derivation below each item, -inf before, and its edge (I,), -1 before."""
    for item in range(len(forest.symbol)):
        for edge in range(forest.start[item], forest.start[item + 1]):
            # The edge's own weight, and the best scores of its children, which come before.
            total = weights[edge]
            left, right = forest.left[edge], forest.right[edge]
            if left >= 0:
                total += score[left]
            if right >= 0:
                total += score[right]
            if forest.rule[edge] >= 0 and total > score[item]:
                score[item] = total
                best[item] = edge


def best_derivation(forest: Forest, weights: FloatArray) -> Derivation | None:
    """Find the derivation of a one-component forest with the largest sum of edge weights; None if there is none.

    Of equal derivations, the first edge and the first root win.

    forest: a forest of E edges.
    weights: (E,).
    Raises ValueError if the forest is not valid, naming item and edge, or if there is not one weight for each edge.

    >>> forest = Forest(*(np.array(column) for column in ([0], [0, 2], [0, 1], [-1, -1], [-1, -1], [0], [0])))
    >>> best_derivation(forest, np.array([0.25, 0.5]))
    Derivation(edges=array([1]), score=0.5)
    """
    return next(iter(n_best_derivations(forest, weights, 1)), None)


def _best(forest: Forest, weights: FloatArray) -> Derivations:
    """Find the best derivation of a forest with edges of these weights (E,), if there is one."""
    score = np.full(forest.n_items, -np.inf)
    best = np.full(forest.n_items, -1)
    _find_best_edges(forest, weights, score, best)
    root = forest.root[np.argmax(score[forest.root], keepdims=True)] if len(forest.root) else forest.root
    root = root[best[root] >= 0]
    if not len(root):
        best = best[:0]
    return _of_parts(best, forest.left[best], forest.right[best], root, score[root])


@compiled_part
def _is_better(rows: FloatArray, row: int, other: int) -> bool:
    """Tell whether a choice of rows (n, 4) comes before another: by cost, then by edge, then by ranks."""
    for column in range(4):
        if rows[row, column] != rows[other, column]:
            return bool(rows[row, column] < rows[other, column])
    return False


@compiled_part
def _swap(rows: FloatArray, row: int, other: int) -> None:
    """Swap two of rows (n, 4)."""
    for column in range(4):
        rows[row, column], rows[other, column] = rows[other, column], rows[row, column]


@compiled_part
def _pop(heap: FloatArray, size: int) -> None:
    """Move the best choice of a heap (n, 4), of which `size` rows are in use, behind a heap of the others."""
    last = size - 1
    _swap(heap, 0, last)
    at = 0
    # Let the choice on top sink below its better child, until it has none.
    while 2 * at + 1 < last:
        child = 2 * at + 1
        if child + 1 < last and _is_better(heap, child + 1, child):
            child += 1
        if not _is_better(heap, child, at):
            break
        _swap(heap, at, child)
        at = child


@compiled_part
def _push(
    forest: Forest,
    weights: FloatArray,
    choices: FloatArray,
    start: IntArray,
    edge: int,
    left_rank: int,
    right_rank: int,
    heap: FloatArray,
    size: int,
) -> tuple[FloatArray, int]:
    """Put the choice of an edge with children's derivations of these ranks on the heap, if the children have them.

    weights: (E,) the weight of each edge.
    choices: (n, 4) those of the children; see `_Choices`.
    start: (I + 1,) where the choices of each item begin.
    heap: (n, 4) of which the first `size` rows are in use; it grows.
    """
    left = forest.left[edge]
    right = forest.right[edge]
    cost = -weights[edge]
    if left >= 0:
        if left_rank >= start[left + 1] - start[left]:
            return heap, size
        cost += choices[start[left] + left_rank, 0]
    if right >= 0:
        if right_rank >= start[right + 1] - start[right]:
            return heap, size
        cost += choices[start[right] + right_rank, 0]
    heap = with_room(heap, size)
    heap[size, 0] = cost
    heap[size, 1] = edge
    heap[size, 2] = left_rank
    heap[size, 3] = right_rank
    # Let the choice rise above its worse parents.
    at = size
    while at > 0 and _is_better(heap, at, (at - 1) // 2):
        _swap(heap, at, (at - 1) // 2)
        at = (at - 1) // 2
    return heap, size + 1


@compiled
def _rank(
    forest: Forest, weights: FloatArray, n_best: int, start: IntArray, choices: FloatArray, heap: FloatArray
) -> FloatArray:
    """List the n best choices of every item, the best first; see `_Choices`.

    weights: (E,) the weight of each edge.
    start: (I + 1,) zeros, which the first choice of each item is written to.
    choices: (n, 4) room for choices; it grows.
    heap: (n, 4) room for the choices of an item that may be its next best; it grows.
    """
    n_choices = 0
    for item in range(len(forest.symbol)):
        start[item] = n_choices
        # Begin with the best of each edge.
        size = 0
        for edge in range(forest.start[item], forest.start[item + 1]):
            if forest.rule[edge] >= 0:
                heap, size = _push(forest, weights, choices, start, edge, 0, 0, heap, size)
        while size > 0 and n_choices - start[item] < n_best:
            _pop(heap, size)
            size -= 1
            choices = with_room(choices, n_choices)
            for column in range(4):
                choices[n_choices, column] = heap[size, column]
            n_choices += 1
            # The next candidates take the next derivation of one child: of the left one only before any of the right.
            edge = int(heap[size, 1])
            left_rank = int(heap[size, 2])
            right_rank = int(heap[size, 3])
            if forest.right[edge] >= 0:
                heap, size = _push(forest, weights, choices, start, edge, left_rank, right_rank + 1, heap, size)
            if forest.left[edge] >= 0 and right_rank == 0:
                heap, size = _push(forest, weights, choices, start, edge, left_rank + 1, 0, heap, size)
        start[item + 1] = n_choices
    return choices[:n_choices]


class _Choices:
    """The n best derivations of every item, as choices of an edge and of derivations of its children.

    Huang and Chiang (2005), Algorithm 2: those of an item are found by a frontier over the ranks of its children's.

    choices: (n, 4) cost (minus the sum of the edges' weights), edge, and the ranks of the left and the right child's
    derivation, 0 for the best.
    start: (I + 1,) item i has the choices start[i] ... start[i+1] - 1, the best first.
    """

    def __init__(self, forest: Forest, weights: FloatArray, n_best: int) -> None:
        self.forest = forest
        self.start = np.zeros(forest.n_items + 1, dtype=np.int64)
        self.choices = _rank(forest, weights, n_best, self.start, np.empty((1024, 4)), np.empty((64, 4)))

    def best_of_roots(self, n_best: int) -> Derivations:
        """List the n best derivations of all roots."""
        roots = self.forest.root
        choice, which = ranges(self.start[roots], self.start[roots + 1])
        cost = self.choices[choice, 0]
        best = np.lexsort((choice, which, cost))[:n_best]
        edge, left_rank, right_rank = self.choices[:, 1:].T.astype(np.int64)
        left = self.forest.left[edge]
        right = self.forest.right[edge]
        # A choice is a part, which is made of the choices of its edge's children.
        left = np.where(left < 0, -1, self.start[left] + left_rank)
        right = np.where(right < 0, -1, self.start[right] + right_rank)
        return _of_parts(edge, left, right, choice[best], -cost[best])


def n_best_derivations(forest: Forest, weights: FloatArray, n_best: int) -> Derivations:
    """List up to `n_best` derivations of a one-component forest, by falling sum of edge weights.

    The first of equal derivations is that of `best_derivation`.

    forest: of E edges.
    weights: (E,) the weight of each edge.
    n_best: the most derivations to list.

    Raises ValueError if n_best < 1, if the forest is not valid, naming item and edge, or if the weights are not those
    of its edges.

    >>> forest = Forest(
    ...     symbol=np.array([0, 1, 2]), start=np.array([0, 2, 3, 4]), rule=np.array([0, 1, 2, 0]),
    ...     left=np.array([-1, -1, -1, 0]), right=np.array([-1, -1, -1, 1]),
    ...     root=np.array([2]), component=np.array([0]))
    >>> [derivation.edges.tolist() for derivation in n_best_derivations(forest, np.ones(4), 5)]
    [[0, 2, 3], [1, 2, 3]]
    """
    if n_best < 1:
        raise ValueError(f"the number of derivations must be at least 1, not {n_best}")
    check_weights(forest, weights)
    if n_best == 1:
        return _best(forest, weights)
    return _Choices(forest, weights, min(n_best, _MOST)).best_of_roots(n_best)
