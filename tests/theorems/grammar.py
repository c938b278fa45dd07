"""A known grammar, and the estimator of Cohen et al. (2012), long version, Figure 7, from nodes that have weights.

In the library all nodes of a tree have one weight.  Theorem 3 assumes one node of each tree, drawn at random, and
Theorem 2 the expectations of a population; both are weights of nodes.

| here | paper | meaning |
| --- | --- | --- |
| `y`, `z` | Y = Uᵀφ, Σ⁻¹ Vᵀψ | projected inside and outside trees |
| `weights` | | how much a node counts in every mean; 1 for all nodes, p(τ) for the population |
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from spectral_latent.estimation import (
    FeatureColumns,
    Moments,
    Shard,
    Spectral,
    inside_templates,
    operators_from_moments,
    outside_templates,
)
from spectral_latent.operators import ObservableOperators, Tensor, Tensors
from spectral_latent.trees import FloatArray, IntArray, Rules, SkeletalTrees


def recursive_model() -> ObservableOperators:
    """Make the grammar of Theorem 3: phrases (symbol 0) of phrases and words (symbol 1).

    Both symbols have two states, which children mostly inherit.
    """
    rules = Rules(
        leaf=np.array([[1, x] for x in range(6)]),
        unary=np.empty((0, 2), dtype=np.int64),
        binary=np.array([[0, 0, 1], [0, 1, 0], [0, 1, 1]]),
    )
    choice = np.array([[0.35, 0.05, 0.60], [0.05, 0.35, 0.60]])  # of a rule, given the state
    inherit = np.array([[0.9, 0.1], [0.2, 0.8]])  # of a child's state, given the parent's
    emit = np.array([[0.45, 0.30, 0.15, 0.05, 0.03, 0.02], [0.01, 0.02, 0.07, 0.15, 0.25, 0.50]])
    both = inherit[:, :, None] * inherit[:, None, :]
    return ObservableOperators(
        rules,
        states=np.array([2, 2]),
        root=np.array([[0.6, 0.4], [0.0, 0.0]]),
        leaf=emit.T,
        unary=np.empty((0, 2, 2)),
        binary=Tensors.of([Tensor.of_dense(choice[:, r, None, None] * both) for r in range(3)]),
        probabilities=True,
    )


def features_of(trees: SkeletalTrees) -> FeatureColumns:
    """Choose the features of nodes: the rules at a node and below it, and one and two rules above it."""
    inside, outside = inside_templates(trees), outside_templates(trees)
    return FeatureColumns.of(
        {name: inside[name] for name in ("rule", "left-opened", "right-opened")},
        {name: outside[name] for name in ("above", "above-2")},
    )


def draw_one_node_per_tree(trees: SkeletalTrees, rng: np.random.Generator) -> FloatArray:
    """Draw one node of each tree uniformly, and weigh it by the number of nodes of its tree; gives weights (N,).

    With these weights, sums over draws have the expectation of sums over all nodes.  The long paper (sections 7.1 and
    8) draws the same way but counts every draw once; with N the nodes of a tree, that learns p(tree) / N instead of
    p(tree).
    """
    first = np.concatenate([[0], trees.root[:-1] + 1])[: len(trees.root)]
    size = trees.root + 1 - first
    weights = np.zeros(trees.n_nodes)
    weights[rng.integers(first, trees.root + 1)] = size
    return weights


def one_hot(columns: IntArray) -> sparse.csr_array:
    """Make indicator vectors (n, d): one 1 for each template's value.

    columns: (n, k) the values of k templates.
    """
    starts = np.zeros(columns.shape[1] + 1, dtype=np.int64)
    places = np.zeros_like(columns)
    for template, column in enumerate(columns.T):
        values, places[:, template] = np.unique(column, return_inverse=True)
        starts[template + 1] = starts[template] + len(values)
    n, k = columns.shape
    ends = np.arange(n + 1) * k
    return sparse.csr_array((np.ones(n * k), (places + starts[:-1]).ravel(), ends), shape=(n, int(starts[-1])))


def estimate_from_nodes(shard: Shard, weights: FloatArray, options: Spectral) -> ObservableOperators:
    """Estimate operators by Figure 7 from nodes with weights (N,); features are not scaled."""
    trees, features = shard.trees, shard.features
    groups = trees.nodes_by_symbol()
    states = np.ones(len(groups), dtype=np.int64)
    y, z = np.zeros((2, trees.n_nodes, options.n_states))
    for a, nodes in enumerate(groups):
        inside, outside = one_hot(features.inside[nodes]), one_hot(features.outside[nodes])
        n = weights[nodes].sum()
        omega = inside.T @ (sparse.diags_array(weights[nodes] / n) @ outside)  # step 1: a weighted mean of products
        u, sigma, vt = np.linalg.svd(omega.toarray())
        states[a] = m = np.count_nonzero(sigma[: options.n_states] > options.cutoff_for(n) * sigma[0])
        y[nodes, :m] = inside @ u[:, :m]
        z[nodes, :m] = outside @ (vt[:m].T / sigma[:m])
    largest = int(states.max())
    moments = Moments.of_trees(trees, trees.rules, states, y[:, :largest], z[:, :largest], weights)
    return operators_from_moments(moments, options.smoothing)
