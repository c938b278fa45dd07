"""Find the best and the n best derivations of a forest, by the sum of the weights of their edges.

With the absolute marginals |μ| of their items as weights, the best derivation is Goodman's (1996) maximum expected
recall, the minimum-Bayes-risk tree of the long paper's section 6.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from spectral_latent._compiled import check_column, compiled
from spectral_latent.inference._checks import check_forest, check_weights
from spectral_latent.trees import FloatArray, Forest, IntArray, Rules, SkeletalTrees

__all__ = ["Derivation", "best_derivation", "n_best_derivations"]


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
def _find_best_edges(forest: Forest, weights: FloatArray, score: FloatArray, best: IntArray) -> None:
    """Find the score (I,) of the best derivation below each item, -inf before, and its edge (I,), -1 before."""
    for item in range(len(forest.symbol)):
        for edge in range(forest.start[item], forest.start[item + 1]):
            # The edge's own weight, and the best scores of its children, which come before.
            total = weights[edge]
            if forest.left[edge] >= 0:
                total += score[forest.left[edge]]
            if forest.right[edge] >= 0:
                total += score[forest.right[edge]]
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
    check_weights(forest, weights)
    score = np.full(forest.n_items, -np.inf)
    best = np.full(forest.n_items, -1)
    _find_best_edges(forest, weights, score, best)
    if not len(forest.root) or not np.isfinite(score[forest.root]).any():
        return None
    root = int(forest.root[np.argmax(score[forest.root])])
    edges: list[int] = []
    stack = [root]
    while stack:  # root, right subtree, left subtree: post-order backwards
        edge = int(best[stack.pop()])
        edges.append(edge)
        stack.extend(int(child) for child in (forest.left[edge], forest.right[edge]) if child >= 0)
    return Derivation(np.array(edges[::-1]), float(score[root]))


class _Choice(NamedTuple):
    """A way to derive an item.

    cost: minus the sum of its edges' weights.
    edge: the edge that derives the item.
    left_rank: the rank of the left child's derivation that it contains, 0 for the best.
    right_rank: the rank of the right child's derivation.
    """

    cost: float
    edge: int
    left_rank: int
    right_rank: int


class _NBest:
    """The n best derivations of every item; those of an item are found by a frontier over ranks of its children.

    Huang and Chiang (2005), Algorithm 2.

    weights: (E,) the weight of each edge.
    ranked: for each item its best choices, the best first.
    """

    def __init__(self, forest: Forest, weights: FloatArray, n_best: int) -> None:
        self.forest = forest
        self.n_best = n_best
        self.weights = weights.tolist()
        self.rule = forest.rule.tolist()
        self.left = forest.left.tolist()
        self.right = forest.right.tolist()
        self.ranked: list[list[_Choice]] = []
        for item in range(forest.n_items):
            self.ranked.append(self._rank(item))

    def _choice(self, edge: int, left_rank: int, right_rank: int) -> _Choice | None:
        """Make the choice of an edge with children's derivations of these ranks; None if a child has too few."""
        cost = -self.weights[edge]
        for child, rank in ((self.left[edge], left_rank), (self.right[edge], right_rank)):
            if child >= 0:
                if rank >= len(self.ranked[child]):
                    return None
                cost += self.ranked[child][rank].cost
        return _Choice(cost, edge, left_rank, right_rank)

    def _rank(self, item: int) -> list[_Choice]:
        """List the n best choices of an item whose children are ranked."""
        # Begin with the best of each edge.
        edges = range(self.forest.start[item], self.forest.start[item + 1])
        starts = (self._choice(edge, 0, 0) for edge in edges if self.rule[edge] >= 0)
        frontier = [choice for choice in starts if choice is not None]
        heapq.heapify(frontier)
        seen: set[tuple[int, int, int]] = set()
        ranked: list[_Choice] = []
        while frontier and len(ranked) < self.n_best:
            best = heapq.heappop(frontier)
            ranked.append(best)
            # The next candidates take the next derivation of one child.
            neighbours = []
            if self.left[best.edge] >= 0:
                neighbours.append((best.edge, best.left_rank + 1, best.right_rank))
            if self.right[best.edge] >= 0:
                neighbours.append((best.edge, best.left_rank, best.right_rank + 1))
            for neighbour in neighbours:
                choice = None if neighbour in seen else self._choice(*neighbour)
                seen.add(neighbour)
                if choice is not None:
                    heapq.heappush(frontier, choice)
        return ranked

    def best_of_roots(self) -> list[Derivation]:
        """List the n best derivations of all roots."""
        heads = [
            (choice.cost, root, rank) for root in self.forest.root for rank, choice in enumerate(self.ranked[root])
        ]
        return [self.derivation(root, rank) for _, root, rank in heapq.nsmallest(self.n_best, heads)]

    def derivation(self, root: int, rank: int) -> Derivation:
        """List the edges of the derivation of that rank of a root item."""
        edges: list[int] = []
        stack = [(root, rank)]
        while stack:
            item, rank_below = stack.pop()
            choice = self.ranked[item][rank_below]
            edges.append(choice.edge)
            if self.left[choice.edge] >= 0:
                stack.append((self.left[choice.edge], choice.left_rank))
            if self.right[choice.edge] >= 0:
                stack.append((self.right[choice.edge], choice.right_rank))
        return Derivation(np.array(edges[::-1]), -self.ranked[root][rank].cost)


def n_best_derivations(forest: Forest, weights: FloatArray, n_best: int) -> list[Derivation]:
    """List up to `n_best` derivations of a one-component forest, by falling sum of edge weights.

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
    return _NBest(forest, weights, n_best).best_of_roots()
