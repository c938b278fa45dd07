"""Derivations out of a forest: the best and the k best under additive weights of edges.

With the absolute marginals |μ| of their items as weights, the best derivation is Goodman's (1996) maximum expected
recall, the minimum-Bayes-risk tree of the long paper's section 6.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
from numba import njit

from spectral_latent.trees import FloatArray, Forest, IntArray, Rules, SkeletalTrees

__all__ = ["Derivation", "best_derivation", "k_best_derivations"]


class Derivation(NamedTuple):
    """One tree of a forest: its edges in post-order, and the sum of their weights."""

    edges: IntArray  # (n,)
    score: float

    def alone(self, forest: Forest) -> Forest:
        """The derivation as a forest of its own."""
        edges = self.edges
        item = np.searchsorted(forest.start, edges, side="right") - 1
        left, right = np.full((2, len(edges)), -1, dtype=np.int64)
        finished: list[int] = []
        for node, edge in enumerate(edges.tolist()):
            if forest.right[edge] >= 0:
                right[node] = finished.pop()
            if forest.left[edge] >= 0:
                left[node] = finished.pop()
            finished.append(node)
        start, root, component = np.arange(len(edges) + 1), np.array([len(edges) - 1]), np.zeros(1, dtype=np.int64)
        return Forest(forest.symbol[item], start, forest.rule[edges], left, right, root, component)

    def tree(self, forest: Forest, rules: Rules) -> SkeletalTrees:
        """The derivation as a single s-tree; `rules` are those the forest's edges number."""
        own = self.alone(forest)
        terminal = np.full(own.n_items, -1, dtype=np.int64)
        leaf = own.left < 0
        terminal[leaf] = rules.leaf[own.rule[leaf], 1]
        return SkeletalTrees(own.symbol, own.left, own.right, terminal, own.root)


@njit(cache=True, nogil=True)
def _best_edges(forest: Forest, weights: FloatArray) -> tuple[FloatArray, IntArray]:
    """Score of the best derivation below each item, and its edge (-1 where there is none)."""
    n_items = len(forest.symbol)
    score = np.full(n_items, -np.inf)
    best = np.full(n_items, -1, dtype=np.int64)
    for item in range(n_items):
        for edge in range(forest.start[item], forest.start[item + 1]):
            total = weights[edge]
            if forest.left[edge] >= 0:
                total += score[forest.left[edge]]
            if forest.right[edge] >= 0:
                total += score[forest.right[edge]]
            if forest.rule[edge] >= 0 and total > score[item]:
                score[item], best[item] = total, edge
    return score, best


def best_derivation(forest: Forest, weights: FloatArray) -> Derivation | None:
    """The derivation of a one-component forest whose edges' weights (E,) add up to the most; None if there is none.

    Ties go to the first edge and the first root.
    """
    score, best = _best_edges(forest, weights)
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
    """A way to derive an item: minus its score, the edge, and the rank of each child's own derivation."""

    cost: float
    edge: int
    left_rank: int
    right_rank: int


class _KBest:
    """The k best derivations of every item, items in order, each by a frontier over child ranks.

    Huang and Chiang (2005), Algorithm 2.
    """

    def __init__(self, forest: Forest, weights: FloatArray, k: int) -> None:
        self.forest, self.weights, self.k = forest, weights.tolist(), k
        self.left, self.right, self.rule = forest.left.tolist(), forest.right.tolist(), forest.rule.tolist()
        self.ranked: list[list[_Choice]] = []
        for item in range(forest.n_items):
            self.ranked.append(self._rank(item))

    def _choice(self, edge: int, left_rank: int, right_rank: int) -> _Choice | None:
        cost = -self.weights[edge]
        for child, rank in ((self.left[edge], left_rank), (self.right[edge], right_rank)):
            if child >= 0:
                if rank >= len(self.ranked[child]):
                    return None
                cost += self.ranked[child][rank].cost
        return _Choice(cost, edge, left_rank, right_rank)

    def _rank(self, item: int) -> list[_Choice]:
        edges = range(self.forest.start[item], self.forest.start[item + 1])
        starts = (self._choice(edge, 0, 0) for edge in edges if self.rule[edge] >= 0)
        frontier = [choice for choice in starts if choice is not None]
        heapq.heapify(frontier)
        seen: set[tuple[int, int, int]] = set()
        ranked: list[_Choice] = []
        while frontier and len(ranked) < self.k:
            best = heapq.heappop(frontier)
            ranked.append(best)
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
        """The k best derivations of all roots."""
        heads = [
            (choice.cost, root, rank) for root in self.forest.root for rank, choice in enumerate(self.ranked[root])
        ]
        return [self.derivation(root, rank) for _, root, rank in heapq.nsmallest(self.k, heads)]

    def derivation(self, root: int, rank: int) -> Derivation:
        """The derivation of that rank of a root item."""
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


def k_best_derivations(forest: Forest, weights: FloatArray, k: int) -> list[Derivation]:
    """Up to k derivations of a one-component forest, by falling sum of edge weights (E,).

    >>> forest = Forest(
    ...     symbol=np.array([0, 1, 2]), start=np.array([0, 2, 3, 4]), rule=np.array([0, 1, 2, 0]),
    ...     left=np.array([-1, -1, -1, 0]), right=np.array([-1, -1, -1, 1]),
    ...     root=np.array([2]), component=np.array([0]))
    >>> [derivation.edges.tolist() for derivation in k_best_derivations(forest, np.ones(4), 5)]
    [[0, 2, 3], [1, 2, 3]]
    """
    return _KBest(forest, weights, k).best_of_roots()
