"""Find the best dependency trees, given the posteriors of arcs.

| here | meaning |
| --- | --- |
| `weights[g, m]` | the weight of the arc from word g, where 0 is the root, to word m + 1 |
| weight of a tree | the sum of the weights of its arcs |
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spectral_latent._compiled import check_column, check_range
from spectral_latent.dependency.forests import ArcForest, projective
from spectral_latent.inference import (
    Derivations,
    edge_marginals,
    inside,
    marginals,
    n_best_derivations,
    outside,
    total_weight,
)
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import FloatArray, IntArray

__all__ = ["ArcMarginals", "arc_marginals", "maximum_heads", "n_best_heads"]


class ArcMarginals(NamedTuple):
    """Posteriors of the arcs and symbols of a sentence of n words, which may be negative.

    arcs: (n + 1, n) the posterior of the arc from each word, where 0 is the root, to word m + 1.
    symbols: (n, S) the posterior of each symbol over each word.
    sign: (1,) the sign of the estimate of the sentence.
    """

    arcs: FloatArray
    symbols: FloatArray
    sign: IntArray


def arc_marginals(operators: ObservableOperators, arcs: ArcForest, n: int) -> ArcMarginals:
    """Compute the posteriors of the arcs and symbols of a sentence.

    Raises ValueError if the arcs do not fit the forest and n, and the errors of `inference.inside`.
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
    # The posterior of an arc is the sum over its edges; for arcs from the root it is the sum over the roots.
    mu = np.zeros((n + 1, n))
    symbols = np.zeros((n, operators.n_symbols))
    has_arc = arcs.governor >= 0
    leaf = np.flatnonzero(forest.left < 0)
    np.add.at(mu, (arcs.governor[has_arc], arcs.dependant[has_arc] - 1), by_edge[has_arc])
    of_roots = marginals(operators, forest, inner, outer)[forest.root]
    mu[0] = np.bincount(arcs.head[forest.root] - 1, of_roots, minlength=n)
    item = forest.item[leaf]
    np.add.at(symbols, (arcs.head[item] - 1, forest.symbol[item]), by_edge[leaf])
    return ArcMarginals(mu, symbols, total_weight(operators, forest, inner).sign)


def _heads(arcs: ArcForest, derivations: Derivations, n: int) -> list[tuple[int, ...]]:
    """List the heads of the n words in the tree of each derivation."""
    edges, start = derivations.edges
    tree = np.repeat(np.arange(len(derivations)), np.diff(start))
    has_arc = arcs.governor[edges] >= 0
    edge = edges[has_arc]
    heads = np.zeros((len(derivations), n), dtype=np.int64)
    heads[tree[has_arc], arcs.dependant[edge] - 1] = arcs.governor[edge]
    return list(map(tuple, heads.tolist()))


def n_best_heads(weights: FloatArray, n_best: int) -> list[tuple[int, ...]]:
    """List the heads of up to `n_best` projective trees, by falling sum of their arcs' weights.

    weights: (n + 1, n) the weight of the arc from each word, where 0 is the root, to word m + 1; trees have only arcs
    with positive weights.
    Raises ValueError if the weights have another shape.

    >>> weights = np.array([[0.9, 0.1], [0.0, 0.9], [0.1, 0.0]])
    >>> n_best_heads(weights, 5)
    [(0, 1), (2, 0)]
    """
    arcs = projective(np.asarray(weights) > 0)
    weight = np.zeros(arcs.forest.n_edges)  # those without an arc have no weight
    has_arc = arcs.governor >= 0
    weight[has_arc] = weights[arcs.governor[has_arc], arcs.dependant[has_arc] - 1]
    return _heads(arcs, n_best_derivations(arcs.forest, weight, n_best), weights.shape[1])


def maximum_heads(weights: FloatArray) -> tuple[int, ...] | None:
    """Find the heads of the tree with one root, projective or not, whose arcs have the largest sum of weights.

    weights: (n + 1, n) the weight of the arc from each word, where 0 is the root, to word m + 1; the tree has only arcs
    with positive weights.
    Returns None if there is no tree.
    Raises ValueError if the weights have another shape.

    >>> maximum_heads(np.array([[0.9, 0.1], [0.0, 0.9], [0.1, 0.0]]))
    (0, 1)
    """
    import networkx as nx

    n = np.shape(weights)[-1] if np.ndim(weights) else 0
    check_column("weights of arcs", weights, (n + 1, n), np.float64)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(n + 1))
    one_root = weights.copy()
    one_root[0] -= n + weights.sum()  # a second arc from the root costs more than all other arcs gain
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
