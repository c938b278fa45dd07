"""Forests of dependency trees whose edges are arcs, and trees out of them.

| here | meaning |
| --- | --- |
| `headed` | a pruned chart in which every item knows its head word: the model's own forest |
| `weights[g, m]` | of the arc from word g to word m + 1, g = 0 the root: posteriors μ(g, m), or anything that adds up |
| `projective` | all projective trees over arcs of positive weight: Eisner's (1996) chart, O(n³) |
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spectral_latent._compiled import check_column, check_range, compiled
from spectral_latent.inference import (
    best_derivation,
    check_forest,
    edge_marginals,
    inside,
    k_best_derivations,
    marginals,
    outside,
)
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import BoolArray, FloatArray, Forest, IntArray

__all__ = ["ArcForest", "ArcMarginals", "arc_marginals", "headed", "k_best_heads", "maximum_heads", "projective"]


class ArcForest(NamedTuple):
    """A forest of one sentence of n words, with the arc of each edge.

    governor, dependant: (E,) words 1 ... n, governor 0 the root; both -1 at an edge without an arc.
    head: (I,) the head word of each item, 1 ... n; 0 where the item has none.
    """

    forest: Forest
    governor: IntArray
    dependant: IntArray
    head: IntArray


@compiled
def _possible_heads(forest: Forest, head_is_right: BoolArray, position: IntArray, n: int) -> IntArray:
    """Number the pairs (I, n) of an item and a word that may be its head, in order of items; -1 for others."""
    number = np.full((len(forest.symbol), n), -1, dtype=np.int64)
    count = 0
    for item in range(len(forest.symbol)):
        for e in range(forest.start[item], forest.start[item + 1]):
            # A word is its own head; a phrase may have the heads of the child that the rule says.
            if forest.left[e] < 0:
                number[item, position[item]] = 0
            else:
                child = forest.right[e] if head_is_right[forest.rule[e]] else forest.left[e]
                for h in range(n):
                    if number[child, h] >= 0:
                        number[item, h] = 0
        # Each such pair becomes an item.
        for h in range(n):
            if number[item, h] >= 0:
                number[item, h] = count
                count += 1
    return number


@compiled
def _split_edges(forest: Forest, head_is_right: BoolArray, number: IntArray, start: IntArray, edges: IntArray) -> None:
    """Fill start (I' + 1,), and edges (E', 5): rule, left, right, governor, dependant; if these have no rows, count."""
    n_edges, item_number = 0, 0
    for item in range(len(forest.symbol)):
        for h in range(number.shape[1]):
            if number[item, h] < 0:
                continue
            # Every edge of the item, with every word that may be the head of the other child.
            for e in range(forest.start[item], forest.start[item + 1]):
                r, left, right = forest.rule[e], forest.left[e], forest.right[e]
                if left < 0:
                    if len(edges):
                        edges[n_edges] = (r, -1, -1, -1, -1)
                    n_edges += 1
                    continue
                if number[right if head_is_right[r] else left, h] < 0:
                    continue
                for d in range(number.shape[1]):
                    if number[left if head_is_right[r] else right, d] >= 0:
                        if len(edges):
                            on_left, on_right = (d, h) if head_is_right[r] else (h, d)
                            edges[n_edges] = (r, number[left, on_left], number[right, on_right], h + 1, d + 1)
                        n_edges += 1
            item_number += 1
            start[item_number] = n_edges


def headed(forest: Forest, head_is_right: BoolArray, position: IntArray, n: int) -> ArcForest:
    """Split the items of a forest over n words by the head words that they may have.

    head_is_right: (R2,) of the binary rules.
    position: (I,) the word, from 0, of every item over one word.
    Raises ValueError if the forest is none or has unary rules, or if the columns do not fit it.
    """
    check_forest(forest)
    for edge in np.flatnonzero((forest.left >= 0) & (forest.right < 0))[:1]:
        raise ValueError(f"edge {edge} of the forest applies a unary rule, and dependency trees have none")
    is_binary = forest.left >= 0
    check_column("sides of heads", head_is_right, (np.size(head_is_right),), np.bool_)
    check_range("binary rules of the forest", forest.rule[is_binary], 0, len(head_is_right))
    check_column("positions of the forest's items", position, (forest.n_items,), np.int64)
    check_range("words of the forest's leaves", position[forest.item[~is_binary]], 0, n)
    number = _possible_heads(forest, head_is_right, position, n)
    item, head = np.nonzero(number >= 0)
    start = np.zeros(len(item) + 1, dtype=np.int64)
    _split_edges(forest, head_is_right, number, start, np.empty((0, 5), dtype=np.int64))
    edges = np.empty((start[-1], 5), dtype=np.int64)
    _split_edges(forest, head_is_right, number, start, edges)
    rule, left, right, governor, dependant = np.ascontiguousarray(edges.T)
    root = np.flatnonzero(np.isin(item, forest.root))
    split = Forest(forest.symbol[item], start, rule, left, right, root, np.zeros(len(root), dtype=np.int64))
    return ArcForest(split, governor, dependant, head + 1)


class ArcMarginals(NamedTuple):
    """Posteriors μ / p̂(sentence) of the arcs and symbols of n words; those of an estimate may be negative.

    arcs: (n + 1, n) of the arc from each word, 0 the root, to word m + 1.  symbols: (n, S) of the leaf rules of each
    symbol over each word.
    """

    arcs: FloatArray
    symbols: FloatArray


def arc_marginals(operators: ObservableOperators, arcs: ArcForest, n: int) -> ArcMarginals:
    """Compute the posteriors of a sentence of n words.

    Raises ValueError if the arcs do not fit the forest and n, or as `inference.inside` does.
    """
    forest = arcs.forest
    for name, column, size in (
        ("governors", arcs.governor, forest.n_edges),
        ("dependants", arcs.dependant, forest.n_edges),
        ("heads", arcs.head, forest.n_items),
    ):
        check_column(f"{name} of the forest", column, (size,), np.int64)
        check_range(f"{name} of the forest", column, -1, n + 1)
    inner = inside(operators, forest)
    outer = outside(operators, forest, inner)
    by_edge = edge_marginals(operators, forest, inner, outer)
    mu, symbols = np.zeros((n + 1, n)), np.zeros((n, operators.n_symbols))
    has_arc, leaf = arcs.governor >= 0, np.flatnonzero(forest.left < 0)
    np.add.at(mu, (arcs.governor[has_arc], arcs.dependant[has_arc] - 1), by_edge[has_arc])
    of_roots = marginals(operators, forest, inner, outer)[forest.root]
    mu[0] = np.bincount(arcs.head[forest.root] - 1, of_roots, minlength=n)
    item = forest.item[leaf]
    np.add.at(symbols, (arcs.head[item] - 1, forest.symbol[item]), by_edge[leaf])
    return ArcMarginals(mu, symbols)


@compiled
def _eisner(allowed: BoolArray, number: IntArray, edges: IntArray, start: IntArray) -> tuple[int, int]:
    """Count the items and edges of `projective`; write them where `edges` has rows.

    allowed: (n + 1, n) arcs.
    number: (4, n, n) of the items over words i ... j: all children of i there, or of j; i is j's governor, or j is i's.
    edges: (E, 4) left and right child, governor, dependant; no rows to count only.
    start: (I + 1,) where the edges of each item begin.
    """
    n = allowed.shape[1]
    n_items, n_edges = 0, 0
    for width in range(n):
        for i in range(n - width):
            j = i + width
            for kind in (2, 3, 0, 1):
                before = n_edges
                # One word without children, on either side.
                if width == 0 and kind < 2:
                    if len(edges):
                        edges[n_edges] = (-1, -1, -1, -1)
                    n_edges += 1
                # Two items side by side: joined by an arc (2, 3), or one that an arc's child completes (0, 1).
                for q in range(i, j):
                    left, right, g, d = -1, -1, -1, -1
                    if kind >= 2:
                        g, d = (i, j) if kind == 2 else (j, i)
                        if allowed[g + 1, d]:
                            left, right = number[0, i, q], number[1, q + 1, j]
                    elif kind == 0:
                        left, right = number[2, i, q + 1], number[0, q + 1, j]
                    else:
                        left, right = number[1, i, q], number[3, q, j]
                    if left >= 0 and right >= 0:
                        if len(edges):
                            edges[n_edges] = (left, right, g + 1 if g >= 0 else -1, d + 1 if g >= 0 else -1)
                        n_edges += 1
                number[kind, i, j] = -1
                if n_edges > before:
                    number[kind, i, j] = n_items
                    n_items += 1
                    if len(edges):
                        start[n_items] = n_edges
    # The last item: word r with all its children on both sides is below the root.
    for r in range(n):
        left, right = number[1, 0, r], number[0, r, n - 1]
        if allowed[0, r] and left >= 0 and right >= 0:
            if len(edges):
                edges[n_edges] = (left, right, 0, r + 1)
            n_edges += 1
    return n_items, n_edges


def projective(allowed: BoolArray) -> ArcForest:
    """Build the forest of all projective trees with one root, one derivation each.

    allowed: (n + 1, n) the arcs that they may have, from each word, 0 the root, to word m + 1.
    Raises ValueError if it has another shape.

    >>> arcs = projective(np.ones((4, 3), dtype=bool))
    >>> len(k_best_derivations(arcs.forest, np.zeros(arcs.forest.n_edges), 100))
    7
    """
    n = np.shape(allowed)[-1] if np.ndim(allowed) else 0
    check_column("allowed arcs", allowed, (n + 1, n), np.bool_)
    number = np.full((4, n, n), -1, dtype=np.int64)
    n_items, n_edges = _eisner(allowed, number, np.empty((0, 4), dtype=np.int64), np.empty(0, dtype=np.int64))
    edges, start = np.empty((n_edges, 4), dtype=np.int64), np.zeros(n_items + 2, dtype=np.int64)
    number.fill(-1)
    _eisner(allowed, number, edges, start)
    start[-1] = n_edges
    left, right, governor, dependant = np.ascontiguousarray(edges.T)
    nothing = np.zeros(n_items + 1, dtype=np.int64)
    rule = np.zeros(n_edges, dtype=np.int64)
    forest = Forest(nothing, start, rule, left, right, np.array([n_items]), np.zeros(1, dtype=np.int64))
    return ArcForest(forest, governor, dependant, nothing)


def _edge_weights(arcs: ArcForest, weights: FloatArray) -> FloatArray:
    """Look up the weights of the edges' arcs (E,); zero for an edge without one."""
    found = np.zeros(arcs.forest.n_edges)
    has_arc = arcs.governor >= 0
    found[has_arc] = weights[arcs.governor[has_arc], arcs.dependant[has_arc] - 1]
    return found


def k_best_heads(weights: FloatArray, k: int) -> list[tuple[int, ...]]:
    """List the heads of up to k projective trees, by falling sum of their arcs' weights.

    weights: (n + 1, n) of the arcs from each word, 0 the root, to word m + 1; no tree has an arc of weight ≤ 0.
    Raises ValueError if it has another shape.

    >>> weights = np.array([[0.9, 0.1], [0.0, 0.9], [0.1, 0.0]])
    >>> k_best_heads(weights, 5)
    [(0, 1), (2, 0)]
    """
    arcs = projective(np.asarray(weights) > 0)
    by_edge = _edge_weights(arcs, weights)
    if k == 1:
        best = best_derivation(arcs.forest, by_edge)
        derivations = [] if best is None else [best]
    else:
        derivations = k_best_derivations(arcs.forest, by_edge, k)
    trees = []
    for derivation in derivations:
        edges = derivation.edges[arcs.governor[derivation.edges] >= 0]
        heads = np.zeros(weights.shape[1], dtype=np.int64)
        heads[arcs.dependant[edges] - 1] = arcs.governor[edges]
        trees.append(tuple(heads.tolist()))
    return trees


def maximum_heads(weights: FloatArray) -> tuple[int, ...] | None:
    """Find the heads of the tree of one root, projective or not, whose arcs' weights add up to the most.

    Only arcs of positive weight are used; None if no tree has those alone.

    weights: (n + 1, n) of the arcs from each word, 0 the root, to word m + 1.
    Raises ValueError if it has another shape.

    >>> maximum_heads(np.array([[0.9, 0.1], [0.0, 0.9], [0.1, 0.0]]))
    (0, 1)
    """
    import networkx as nx

    n = np.shape(weights)[-1] if np.ndim(weights) else 0
    check_column("weights of arcs", weights, (n + 1, n), np.float64)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(n + 1))
    one_root = weights.copy()
    one_root[0] -= n + weights.sum()  # no second arc from the root is worth what it costs
    for governor, dependant in zip(*np.nonzero(weights > 0), strict=True):
        graph.add_edge(int(governor), int(dependant) + 1, weight=float(one_root[governor, dependant]))
    try:
        tree = nx.maximum_spanning_arborescence(graph)
    except nx.NetworkXException:
        return None
    heads = [0] * n
    for governor, dependant in tree.edges:
        heads[dependant - 1] = governor
    return tuple(heads) if heads.count(0) == 1 else None
