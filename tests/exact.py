"""The spectral estimator on populations: nodes have weights, and sums over nodes are dense and plain.

Only the last step, from moments to operators, is the library's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spectral_latent.estimation import EstimatorOptions, FeatureColumns, Moments, operators_from_moments
from spectral_latent.operators import ObservableOperators, Tensor
from spectral_latent.trees import SkeletalTrees


class Projected(NamedTuple):
    """The dimensions of each symbol's projections (S,), and y and z of every node, zero-padded, (N, M)."""

    states: np.ndarray
    y: np.ndarray
    z: np.ndarray


def _indicators(columns: np.ndarray) -> np.ndarray:
    """(n, d): a one for each column's value."""
    return np.concatenate([(column[:, None] == np.unique(column)).astype(float) for column in columns.T], axis=1)


def project(
    trees: SkeletalTrees, features: FeatureColumns, options: EstimatorOptions, weights: np.ndarray
) -> Projected:
    """y = Uᵀφ and z = Vᵀψ / σ of raw indicators, where U σ Vᵀ is the decomposition of Σ w φψᵀ / Σ w."""
    assert options.scaling is None
    n_symbols = int(trees.symbol.max()) + 1
    states = np.ones(n_symbols, dtype=np.int64)
    found = []
    for a in range(n_symbols):
        nodes = np.flatnonzero(trees.symbol == a)
        phi, psi = _indicators(features.inside[nodes]), _indicators(features.outside[nodes])
        w = weights[nodes] / weights[nodes].sum()
        u, sigma, vt = np.linalg.svd(phi.T @ (psi * w[:, None]), full_matrices=False)
        m = states[a] = min(options.states, int((sigma > options.cutoff * sigma[0]).sum()))
        found.append((nodes, phi @ u[:, :m], psi @ vt[:m].T / sigma[:m]))
    y, z = np.zeros((2, trees.n_nodes, int(states.max())))
    for nodes, inside, outside in found:
        y[nodes, : inside.shape[1]] = inside
        z[nodes, : outside.shape[1]] = outside
    return Projected(states, y, z)


def moments(trees: SkeletalTrees, projected: Projected, weights: np.ndarray) -> Moments:
    """Sum the products of augmented vectors over nodes, each with its weight; a root has that of its node."""
    rules, rule, states = trees.rules, trees.rule, projected.states
    one = np.ones((trees.n_nodes, 1))
    y = np.concatenate([projected.y, one], axis=1)
    z = np.concatenate([projected.z, one], axis=1) * weights[:, None]
    size = y.shape[1]
    place = [np.append(np.arange(m), size - 1) for m in states]

    def total(vectors: np.ndarray, which: np.ndarray, n: int) -> np.ndarray:
        """Sum the vectors (k, M+1) of each of the numbers 0 ... n - 1."""
        sums = np.zeros((n, size))
        np.add.at(sums, which, vectors)
        return sums

    def nodes_of(kind: np.ndarray, r: int) -> np.ndarray:
        return np.flatnonzero(kind & (rule == r))

    unary = np.zeros((len(rules.unary), size, size))
    for r in range(len(rules.unary)):
        nodes = nodes_of(trees.is_unary, r)
        unary[r] = np.einsum("na,nb->ab", z[nodes], y[trees.left[nodes]])
    binary = []
    for r, (a, b, c) in enumerate(rules.binary.tolist()):
        nodes = nodes_of(trees.is_binary, r)
        legs = z[nodes][:, place[a]], y[trees.left[nodes]][:, place[b]], y[trees.right[nodes]][:, place[c]]
        binary.append(Tensor.of_dense(np.einsum("na,nb,nc->abc", *legs)))
    leaf = trees.is_leaf
    return Moments(
        rules=rules,
        states=states,
        root=total(y[trees.root] * weights[trees.root, None], trees.symbol[trees.root], len(states)),
        leaf=total(z[leaf], rule[leaf], len(rules.leaf)),
        unary=unary,
        binary=binary,  # type: ignore[arg-type] # any sequence of tensors will do
        outside=total(z, trees.symbol, len(states)),
        inside=total(y * weights[:, None], trees.symbol, len(states)),
    )


def operators(trees: SkeletalTrees, projected: Projected, weights: np.ndarray) -> ObservableOperators:
    """Operators of weighted nodes, without smoothing."""
    return operators_from_moments(moments(trees, projected, weights), None)
