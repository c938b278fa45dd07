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

from spectral_latent._compiled import check_column, compiled
from spectral_latent._options import Count, checked
from spectral_latent.inference._checks import check_forest, check_weights
from spectral_latent.inference._ranking import RankingRoom, rank
from spectral_latent.trees import BoolArray, FloatArray, Forest, IntArray, Rules, SkeletalTrees, range_of

__all__ = ["Derivation", "Derivations", "n_best_derivations"]

_MOST = np.iinfo(np.int64).max  # compiled code needs a limit of the number of derivations; no memory holds as many


class Derivation(NamedTuple):
    """A derivation of a forest: one tree.

    edges: (n,) the edges of the tree in post-order.
    score: the sum of the weights of these edges.
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
        item = range_of(forest.start, edges)
        left, right = np.full((2, len(edges)), -1, dtype=np.int64)
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
    """Mark all parts (P,) that marked parts contain.  A part has a smaller number than the parts that contain it."""
    for part in range(len(needed) - 1, -1, -1):
        if needed[part]:
            if left[part] >= 0:
                needed[left[part]] = True
            if right[part] >= 0:
                needed[right[part]] = True


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
    edges: (start[n],) room for the edges, or an empty array.
    """
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


def _of_parts(
    edge: IntArray, left: IntArray, right: IntArray, root: IntArray, component: IntArray, score: FloatArray
) -> Derivations:
    """Make derivations of numbered parts, and leave out the parts that no derivation contains.

    edge, left, right: (P,) the columns of parts, as in `Derivations`.
    root, component, score: (n,) the columns of derivations, as in `Derivations`.
    """
    needed = np.zeros(len(edge), dtype=np.bool_)
    needed[root] = True
    _mark_needed(left, right, needed)
    kept = np.flatnonzero(needed)
    number = np.append(np.cumsum(needed) - 1, -1)  # the last entry keeps -1, which means no child
    return Derivations(edge[kept], number[left[kept]], number[right[kept]], number[root], component, score)


@compiled
def _find_best_edges(forest: Forest, weights: FloatArray, score: FloatArray, best: IntArray) -> None:
    """Find the best derivation of each item.

    weights: (E,) the weight of each edge.
    score: (I,) gets the score of the derivation; -inf before.
    best: (I,) gets the edge at the top of the derivation; -1 before.
    """
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


def _best(forest: Forest, weights: FloatArray) -> Derivations:
    """Find the best derivation of each component that has one, given the weights (E,) of the edges."""
    score = np.full(forest.n_items, -np.inf)
    best = np.full(forest.n_items, -1)
    _find_best_edges(forest, weights, score, best)
    # Sort the roots by component, then by falling score; roots with equal scores stay in order.
    derived = np.flatnonzero(best[forest.root] >= 0)
    derived = derived[np.lexsort((-score[forest.root[derived]], forest.component[derived]))]
    first = derived[np.diff(forest.component[derived], prepend=-1) > 0]
    root = forest.root[first]
    if not len(root):
        best = best[:0]
    return _of_parts(best, forest.left[best], forest.right[best], root, forest.component[first], score[root])


def n_best_derivations(forest: Forest, weights: FloatArray, n_best: int) -> Derivations:
    """List up to `n_best` derivations of each component of a forest, by falling sum of edge weights.

    Derivations with equal sums are in the order of their roots, and below one root in the order of their edges, from
    the top down.

    forest: a forest of E edges.
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
    if n_best == 1:
        return _best(forest, weights)
    rows, costs, best_rows = rank(forest, weights, min(n_best, _MOST), RankingRoom.allocate(forest))
    edge, left, right = np.ascontiguousarray(rows[:, :3].T)
    root, of_root = np.ascontiguousarray(best_rows.T)
    return _of_parts(edge, left, right, root, forest.component[of_root], -costs[root, 0])
