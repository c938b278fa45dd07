"""Projections U^a, V^a: a truncated singular value decomposition per symbol.

| here | long paper | meaning |
| --- | --- | --- |
| `views` φ, ψ | φ(t), ψ(o) | feature vectors of a symbol's n nodes, (n, d) and (n, d') |
| Ω̂ = φᵀ ψ / n | Ω̂^a | their cross-covariance; never formed, only applied.  A weighted mean if nodes have weights |
| U, σ, V | U^a, V^a (step 1 of Figure 7) | its leading singular vectors and values |
| `y` = φ U | Y | projected inside trees, (n, m) |
| `z` = ψ V / σ | Z (Σ̂^a)⁻¹ | projected outside trees; Σ̂^a = Uᵀ Ω̂ V = diag(σ), so its inverse is a division |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import svd
from scipy.sparse.linalg import ArpackError, LinearOperator, svds

from spectral_latent.estimation.features import FeatureColumns
from spectral_latent.estimation.mapping import mapped
from spectral_latent.estimation.options import EstimatorOptions, LoweredStates
from spectral_latent.trees import FloatArray, IntArray, SkeletalTrees

__all__ = ["ProjectedTrees", "ProjectedViews", "project", "project_trees", "states_for", "truncated_svd"]

_SMALL = 400  # below this size a dense decomposition is faster than an iterative one
_TINY = 1e-300


class ProjectedViews(NamedTuple):
    """Inside and outside trees of a symbol's n nodes in m dimensions, with E[z yᵀ] = identity."""

    y: FloatArray  # (n, m)
    z: FloatArray  # (n, m)
    sigma: FloatArray  # (m,) singular values, decreasing


def truncated_svd(
    inner: sparse.csr_array, outer: sparse.csr_array, rank: int, seed: int = 0
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Leading singular triplets U (d, k), σ (k,), V (d', k) of innerᵀ outer / n; k = min(rank, d, d').

    The same input gives the same bits: ARPACK starts from a vector that the seed fixes; where it does not converge,
    and for small matrices, the decomposition is dense.

    >>> eye = sparse.csr_array(np.diag([3.0, 2.0, 1.0]))
    >>> truncated_svd(eye, eye, 2)[1]
    array([3.        , 1.33333333])
    """
    n, inner_t, outer_t = inner.shape[0], inner.T.tocsr(), outer.T.tocsr()
    omega = LinearOperator(
        (inner.shape[1], outer.shape[1]),
        matvec=lambda v: inner_t @ (outer @ v) / n,
        rmatvec=lambda v: outer_t @ (inner @ v) / n,
        dtype=np.float64,
    )
    return svd_of(omega, lambda: (inner.T @ outer).toarray() / n, rank, seed)


def svd_of(
    omega: LinearOperator | sparse.csr_array, dense: Callable[[], FloatArray], rank: int, seed: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Leading singular triplets of a matrix, as `truncated_svd` gives them; `dense` makes the matrix an array."""
    rank = min(rank, *omega.shape)
    if min(omega.shape) > max(_SMALL, 2 * rank):
        try:
            start = np.random.default_rng(seed).uniform(0.5, 1.5, min(omega.shape))
            u, sigma, vt = svds(omega, k=rank, v0=start, solver="arpack")
            return u[:, ::-1], sigma[::-1].astype(np.float64), vt[::-1].T
        except ArpackError:
            pass
    matrix = dense()
    try:
        u, sigma, vt = np.linalg.svd(matrix, full_matrices=False)
    except np.linalg.LinAlgError:  # divide and conquer may fail to converge where the plain algorithm does not
        u, sigma, vt = svd(matrix, full_matrices=False, lapack_driver="gesvd")
    return u[:, :rank], sigma[:rank].astype(np.float64), vt[:rank].T


def maps_of(
    u: FloatArray, sigma: FloatArray, v: FloatArray, cutoff: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The maps U (d, m) of inside and V / σ (d', m) of outside features, and σ (m,), of the directions worth using."""
    m = max(1, int(np.count_nonzero(sigma > cutoff * sigma[0])))
    sign = np.where(u.sum(axis=0) < 0, -1.0, 1.0)[:m]
    inverse = np.divide(sign, sigma[:m], out=np.zeros(m), where=sigma[:m] > 0)
    return u[:, :m] * sign, v[:, :m] * inverse, sigma[:m]


def states_for(count: int, states: int) -> int:
    """States that `count` nodes can support: 1 up to 10 nodes, all from 100 on, linear between.

    >>> [states_for(count, 16) for count in (1, 10, 55, 100, 5000)]
    [1, 1, 8, 16, 16]
    """
    return 1 + int((states - 1) * min(max((count - 10) / 90, 0.0), 1.0))


def project(
    inner: sparse.csr_array,
    outer: sparse.csr_array,
    states: int,
    cutoff: float,
    seed: int = 0,
    weights: FloatArray | None = None,
) -> ProjectedViews:
    """Project one symbol's views to at most `states` dimensions; those with σ_i ≤ cutoff · σ_1 are dropped.

    weights: (n,) how often each node counts in Ω̂, once if not given.  Where Ω̂ is zero, so is z.
    """
    weighted = outer if weights is None else sparse.diags_array(weights / max(weights.mean(), _TINY)) @ outer
    to_y, to_z, sigma = maps_of(*truncated_svd(inner, weighted, states, seed), cutoff)
    return ProjectedViews(inner @ to_y, outer @ to_z, sigma)


class ProjectedTrees(NamedTuple):
    """The projected inside and outside trees of all N nodes, zero-padded to the largest state count M."""

    states: IntArray  # (S,)
    y: FloatArray  # (N, M)
    z: FloatArray  # (N, M)
    sigma: FloatArray  # (S, M) singular values of each symbol
    supported: IntArray  # (S,) states that each symbol has nodes enough for; see `states_for`
    weights: FloatArray | None = None  # (N,) how often each node counts; once if None

    @property
    def lowered(self) -> tuple[LoweredStates, ...]:
        """The symbols that have fewer states than their nodes would support, because Ω̂ has too low a rank."""
        return lowered_states(self.states, self.supported)


def lowered_states(states: IntArray, supported: IntArray) -> tuple[LoweredStates, ...]:
    """The symbols with fewer states (S,) than supported (S,)."""
    symbols = np.flatnonzero(states < supported)
    return tuple(LoweredStates(int(a), int(supported[a]), int(states[a])) for a in symbols)


def _project_symbol(
    symbol: tuple[IntArray, int], features: FeatureColumns, options: EstimatorOptions, weights: FloatArray | None
) -> ProjectedViews:
    """The projections of a symbol's nodes to at most so many states."""
    nodes, states = symbol
    own = None if weights is None else weights[nodes]
    return project(*features.views(nodes, options.scaling), states, options.cutoff, options.seed, own)


def project_trees(
    trees: SkeletalTrees,
    features: FeatureColumns,
    options: EstimatorOptions,
    jobs: int | None = 1,
    weights: FloatArray | None = None,
) -> ProjectedTrees:
    """Project every symbol's nodes; on several processes with the same result.

    weights: (N,) how often each node counts, once if not given; a node of weight zero is no evidence for states.
    """
    groups = trees.nodes_by_symbol()
    counted = trees.symbol if weights is None else trees.symbol[weights > 0]
    evidence = np.bincount(counted, minlength=len(groups))
    supported = np.array([states_for(int(count), options.states) for count in evidence])
    symbols = list(zip(groups, supported.tolist(), strict=True))
    states, widest = np.zeros(len(groups), dtype=np.int64), int(supported.max())
    y, z = np.zeros((2, trees.n_nodes, widest))
    sigma = np.zeros((len(groups), widest))
    views = mapped(_project_symbol, symbols, jobs, features, options, weights)
    for a, (group, view) in enumerate(zip(groups, views, strict=True)):
        states[a] = m = len(view.sigma)
        y[group, :m], z[group, :m], sigma[a, :m] = view
    y, z, sigma = (np.ascontiguousarray(whole[:, : states.max()]) for whole in (y, z, sigma))
    return ProjectedTrees(states, y, z, sigma, supported, weights)
