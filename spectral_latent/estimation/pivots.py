"""The pivot estimator (Cohen and Collins 2014), by anchors (Arora et al. 2013; Stratos et al. 2016).

It assumes that every state has a pivot: an inside feature that occurs in no other state of its symbol.

| here | papers | meaning |
| --- | --- | --- |
| `outer`, a row per node | Vᵀψ(o) = σ ∘ z | its outside tree in m dimensions |
| `rows[i]` | Ω_i (Stratos et al., equation 3) | E[Vᵀψ \\| inside feature i] = Σ_h p(h \\| i) E[Vᵀψ \\| h] |
| `mixtures[i]` | O_i (Proposition 4.1) | p(h \\| i); the corners of the rows' hull are the rows of pivots |
| `corners` | Θ (Proposition 4.1); (K^a)ᵀ (long paper) | E[Vᵀψ \\| h], a row per state |
| `gamma[h]` | π̄_h (equation 4); γ^a_h (long paper) | p(h \\| a) = Σ_i p(h \\| i) p(i) |
| `x` | (G^a)⁻¹ y | from Σ^a = G^a diag(γ) (K^a)ᵀ (long paper, equation 19), and Σ^a = diag(σ) |
| `w` | (K^a)⁻¹ Vᵀψ | coordinates with respect to the corners |
| Σ w ⊗ x₂ ⊗ x₃ | - | the expected count of a rule with each choice of states |

The pivots make known the matrix G^a that the spectral estimator leaves open.  In the basis of the states, moments are
the expected counts that EM takes from inference; here no inference is needed, and there are no local optima.
"""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from spectral_latent.estimation.em import Counts, maximisation, moments_of
from spectral_latent.estimation.features import FeatureColumns
from spectral_latent.estimation.moments import Moments
from spectral_latent.estimation.options import EstimatorOptions, TrainingData
from spectral_latent.estimation.projections import ProjectedTrees
from spectral_latent.estimation.simplex import anchors, convex_weights
from spectral_latent.estimation.smoothing import normalised, solve
from spectral_latent.operators import ObservableOperators, Tensor
from spectral_latent.trees import FloatArray, IntArray

__all__ = ["StateViews", "pivot_counts", "pivot_start", "pivots", "state_views"]

_START = 0.01  # the least mixing of states where EM starts, so that no tree has probability zero
_TINY = 1e-300


class StateViews(NamedTuple):
    """The states of all N nodes as inside trees show them (x) and outside trees (w): E[x | h] = E[w | h] = e_h."""

    states: IntArray  # (S,)
    gamma: FloatArray  # (S, M)
    x: FloatArray  # (N, M)
    w: FloatArray  # (N, M)


def _corners(inside: IntArray, outer: FloatArray, weights: FloatArray, cutoff: float) -> tuple[FloatArray, FloatArray]:
    """E[Vᵀψ | h] (k, m) and γ (k,), k ≤ m, of a symbol with n nodes.

    inside: (n, d_φ) columns.  outer: (n, m).  weights: (n,) how often each node counts.  Pivots are sought among the
    features of at least √n / 2 nodes: as n grows these are ever rarer, and yet the errors of their rows vanish.
    """
    indicators = FeatureColumns.one_hot(inside, scaling=None)
    count = indicators.T @ weights
    rows = (indicators.T @ (outer * weights[:, None])) / np.maximum(count, _TINY)[:, None]
    found = anchors(rows, count, outer.shape[1], least=np.sqrt(weights.sum()) / 2, cutoff=cutoff)
    mixtures = convex_weights(rows, rows[found]).weights
    root = np.sqrt(count)[:, None]
    corners = np.linalg.lstsq(root * mixtures, root * rows)[0]  # arg min of Σ_i count_i ‖rows_i - mixtures_i corners‖²
    gamma = count @ mixtures
    return corners, gamma / gamma.sum()


def state_views(data: TrainingData, projected: ProjectedTrees, cutoff: float) -> StateViews:
    """The projections in the basis of the states.

    A symbol has as many states as it has pivots whose rows differ: each must be farther from the span of those before
    than `cutoff` times the first.
    """
    states, gamma = projected.states.copy(), np.zeros_like(projected.sigma)
    x, w = np.zeros((2, *projected.y.shape))
    for a, nodes in enumerate(data.trees.nodes_by_symbol()):
        m = projected.states[a]
        sigma = projected.sigma[a, :m]
        outer = projected.z[nodes, :m] * sigma
        weights = np.ones(len(nodes)) if projected.weights is None else projected.weights[nodes]
        corners, shares = _corners(data.features.inside[nodes], outer, weights, cutoff)
        k = states[a] = len(shares)
        gamma[a, :k] = shares
        x[nodes, :k] = projected.y[nodes, :m] @ (corners / np.maximum(sigma, _TINY)).T * shares
        w[nodes, :k] = outer @ np.linalg.pinv(corners)
    largest = int(states.max())
    return StateViews(states, gamma[:, :largest], x[:, :largest], w[:, :largest])


def _counts(estimates: FloatArray, totals: FloatArray, independent: FloatArray) -> FloatArray:
    """Counts (R, ...) of rules that occur totals (R,) times: estimates, clipped at zero; where none is left, γ⊗γ⊗γ."""
    positive = np.maximum(estimates, 0.0)
    axes = tuple(range(1, positive.ndim))
    lost = positive.sum(axis=axes, keepdims=True) <= _TINY
    positive = np.where(lost, independent, positive)
    scaled: FloatArray = positive * (totals.reshape(lost.shape) / positive.sum(axis=axes, keepdims=True))
    return scaled


def pivot_counts(data: TrainingData, projected: ProjectedTrees, cutoff: float) -> tuple[Counts, IntArray]:
    """Expected counts of all rules with their states, and how many states (S,) each symbol has; see `state_views`.

    How often a rule occurs is known; sampling error makes some of the counts negative, and these are set to zero.
    """
    trees, rules = data.trees, data.trees.rules
    states, gamma, x, w = state_views(data, projected, cutoff)
    moments = Moments.of(trees, rules, states, x, w, projected.weights)
    node_weights = None if projected.weights is None else projected.weights[trees.root]
    roots = np.bincount(trees.symbol[trees.root], node_weights, minlength=len(states)).astype(float)

    def independent(*symbols: int) -> FloatArray:
        shares: FloatArray = reduce(np.multiply.outer, (gamma[a, : states[a]] for a in symbols))
        return shares

    unary, (a, b) = moments.unary, rules.unary.T
    binary = (tensor.multiplied_out()[None] for tensor in moments.binary)
    counts = Counts(
        root=_counts(moments.root, roots, gamma),
        leaf=_counts(moments.leaf, moments.leaf_count, gamma[rules.leaf[:, 0]]),
        unary=_counts(unary[:, :-1, :-1], unary[:, -1, -1], gamma[a, :, None] * gamma[b, None, :]),
        binary=[
            Tensor.of_dense(_counts(moment[:, :-1, :-1, :-1], moment[:, -1, -1, -1], independent(*rule))[0])
            for moment, rule in zip(binary, rules.binary, strict=True)
        ],
        log_likelihood=np.nan,
    )
    return counts, states


def pivots(data: TrainingData, projected: ProjectedTrees, options: EstimatorOptions) -> ObservableOperators:
    """Probabilities from moments alone; consistent if every state has a pivot and outside trees tell states apart."""
    with threadpool_limits(1):
        counts, states = pivot_counts(data, projected, options.cutoff)
        moments = moments_of(counts, states, data.tally)
        return normalised(solve(moments, options.smoothing, data.unseen))


def pivot_start(data: TrainingData, projected: ProjectedTrees, options: EstimatorOptions) -> ObservableOperators:
    """Where EM starts from (Cohen and Collins 2014, "Pivot+EM"): one M-step on the expected counts."""
    with threadpool_limits(1):
        counts, states = pivot_counts(data, projected, options.cutoff)
        return maximisation(counts, data.trees.rules, states, max(options.state_smoothing, _START))
