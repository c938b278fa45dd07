"""States as clusters of nodes (Narayan and Cohen 2015): k-means on projected inside and outside trees, then counting.

| here | meaning |
| --- | --- |
| point of node i | [y_i; σ ∘ z_i] = [Uᵀφ; Vᵀψ], each half scaled to unit mean square |
| state h(i) | the cluster of the point among those of the node's symbol |
| y = e_h, z = e_h n(a) / n(a, h) | with these, moments are counts and `solve` gives relative frequencies |
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.cluster.vq import kmeans2

from spectral_latent.estimation.moments import Moments
from spectral_latent.estimation.options import EstimatorOptions, TrainingData
from spectral_latent.estimation.projections import ProjectedTrees
from spectral_latent.estimation.smoothing import Unseen, normalised, solve
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import FloatArray, IntArray, SkeletalTrees

__all__ = ["cluster_states", "clustering", "from_states"]


def _clusters(points: FloatArray, k: int, seed: int) -> IntArray:
    """Cluster (n,) of each point (n, d), numbered without gaps from 0."""
    k = min(k, len(np.unique(points, axis=0)))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "One of the clusters is empty")
        _, labels = kmeans2(points, k, iter=10, minit="++", rng=np.random.default_rng(seed))
    return np.unique(labels, return_inverse=True)[1]


def cluster_states(trees: SkeletalTrees, projected: ProjectedTrees, seed: int = 0) -> IntArray:
    """The state (N,) of every node."""
    states = np.zeros(trees.n_nodes, dtype=np.int64)
    for a, nodes in enumerate(trees.nodes_by_symbol()):
        m = int(projected.states[a])
        if m > 1:
            halves = (projected.y[nodes, :m], projected.z[nodes, :m] * projected.sigma[a, :m])
            scaled = [half / max(float(np.sqrt((half**2).mean())), 1e-300) for half in halves]
            states[nodes] = _clusters(np.concatenate(scaled, axis=1), m, seed)
    return states


def from_states(
    trees: SkeletalTrees,
    state: IntArray,
    smoothing: float | None = None,
    unseen: Unseen | None = None,
) -> ObservableOperators:
    """Relative frequencies of trees whose nodes' states (N,) are known; see `solve`.

    >>> trees = SkeletalTrees.of([0, 0, 0], left=[-1, -1, 0], right=[-1, -1, 1], terminal=[5, 6, -1], root=[2])
    >>> operators = from_states(trees, np.array([0, 1, 1]))
    >>> operators.leaf
    array([[1. , 0. ],
           [0. , 0.5]])
    """
    n_symbols = int(trees.symbol.max()) + 1
    states = np.zeros(n_symbols, dtype=np.int64)
    np.maximum.at(states, trees.symbol, state + 1)
    inner = np.eye(states.max())[state]
    count = np.zeros((n_symbols, states.max()))
    np.add.at(count, (trees.symbol, state), 1.0)
    weight = count.sum(axis=1)[trees.symbol] / count[trees.symbol, state]
    moments = Moments.of(trees, trees.rules, states, inner, inner * weight[:, None])
    return normalised(solve(moments, smoothing, unseen)).multiplied_out()


def clustering(data: TrainingData, projected: ProjectedTrees, options: EstimatorOptions) -> ObservableOperators:
    """Probabilities from clustered nodes."""
    state = cluster_states(data.trees, projected, options.seed)
    return from_states(data.trees, state, options.smoothing, data.unseen)
