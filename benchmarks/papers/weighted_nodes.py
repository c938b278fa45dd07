"""The estimator of Cohen et al. (2012), long version, Figure 7, from nodes that have weights.

In the library all nodes of a tree have one weight.  Theorem 3 assumes one node of each tree, drawn at random, and
Theorem 2 the expectations of a population; both are weights of nodes.

| here | paper | meaning |
| --- | --- | --- |
| `y`, `z` | Y = Uᵀφ, Σ⁻¹ Vᵀψ | projected inside and outside trees |
| `weights` | | how much a node counts in every mean; 1 for all nodes, p(τ) for the population |
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from spectral_latent.estimation import (
    FeatureColumns,
    Moments,
    Shard,
    Spectral,
    operators_from_moments,
)
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import FloatArray, IntArray, SkeletalTrees

__all__ = ["Projected", "draw_one_node_per_tree", "estimate_from_nodes", "one_hot", "project_nodes"]


def draw_one_node_per_tree(trees: SkeletalTrees, rng: np.random.Generator) -> FloatArray:
    """Draw one node of each tree uniformly, and weigh it by the number of nodes of its tree; gives weights (N,).

    With these weights, sums over draws have the expectation of sums over all nodes.  The long paper (sections 7.1 and
    8) draws the same way but counts every draw once; with N the nodes of a tree, that learns p(tree) / N instead of
    p(tree).

    >>> from spectral_latent.trees import SkeletalTrees
    >>> trees = SkeletalTrees.of([0, 0, 1], left=[-1, -1, 0], right=[-1, -1, 1], terminal=[0, 1, -1], root=[2])
    >>> draw_one_node_per_tree(trees, np.random.default_rng(0)).sum()
    np.float64(3.0)
    """
    first = np.concatenate([[0], trees.root[:-1] + 1])[: len(trees.root)]
    size = trees.root + 1 - first
    weights = np.zeros(trees.n_nodes)
    weights[rng.integers(first, trees.root + 1)] = size
    return weights


def one_hot(columns: IntArray) -> sparse.csr_array:
    """Make indicator vectors (n, d): one 1 for each template's value.

    columns: (n, k) the values of k templates.

    >>> one_hot(np.array([[7, 1], [7, 2]])).toarray()
    array([[1., 1., 0.], [1., 0., 1.]])
    """
    starts = np.zeros(columns.shape[1] + 1, dtype=np.int64)
    places = np.zeros_like(columns)
    for template, column in enumerate(columns.T):
        values, places[:, template] = np.unique(column, return_inverse=True)
        starts[template + 1] = starts[template] + len(values)
    n, k = columns.shape
    ends = np.arange(n + 1) * k
    return sparse.csr_array((np.ones(n * k), (places + starts[:-1]).ravel(), ends), shape=(n, int(starts[-1])))


class Projected(NamedTuple):
    """Projected inside and outside trees of N nodes.

    states: (S,) the number of states of each symbol.
    y: (N, M) the vectors of inside trees, zero beyond the states of a node's symbol.
    z: (N, M) the vectors of outside trees, zero beyond the same states.
    sigma: (S, M) the singular values of each symbol, zero beyond its states.
    """

    states: IntArray
    y: FloatArray
    z: FloatArray
    sigma: FloatArray


def project_nodes(trees: SkeletalTrees, features: FeatureColumns, weights: FloatArray, options: Spectral) -> Projected:
    """Project nodes by the singular vectors of Ω̂, a weighted mean of products of indicators (Figure 7, step 1).

    weights: (N,) the weight of each node.
    """
    groups = trees.nodes_by_symbol()
    states = np.ones(len(groups), dtype=np.int64)
    y, z = np.zeros((2, trees.n_nodes, options.n_states))
    singular = np.zeros((len(groups), options.n_states))
    for a, nodes in enumerate(groups):
        inside, outside = one_hot(features.inside[nodes]), one_hot(features.outside[nodes])
        n = weights[nodes].sum()
        of_node = weights[nodes] / n
        u, sigma, vt = np.linalg.svd((inside.T @ (sparse.diags_array(of_node) @ outside)).toarray())
        states[a] = m = np.count_nonzero(sigma[: options.n_states] > options.cutoff_for(n) * sigma[0])
        y[nodes, :m] = inside @ u[:, :m]
        z[nodes, :m] = outside @ (vt[:m].T / sigma[:m])
        singular[a, :m] = sigma[:m]
    largest = int(states.max())
    return Projected(states, y[:, :largest], z[:, :largest], singular[:, :largest])


def estimate_from_nodes(shard: Shard, weights: FloatArray, options: Spectral) -> ObservableOperators:
    """Estimate operators by Figure 7 from nodes with weights; features are not scaled.

    weights: (N,) the weight of each node.
    """
    trees = shard.trees
    states, y, z, _ = project_nodes(trees, shard.features, weights, options)
    return operators_from_moments(Moments.of_trees(trees, trees.rules, states, y, z, weights), options.smoothing)
