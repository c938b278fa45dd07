"""Estimate counts by pivots (Cohen and Collins 2014), found as anchors (Arora et al. 2013; Stratos et al. 2016).

The estimator assumes that every state has a pivot: an inside feature that occurs in no other state of its symbol.

| here | papers | meaning |
| --- | --- | --- |
| Vᵀψ = σ ∘ z | Vᵀψ(o) | the outside tree of a node in m dimensions |
| `rows[i]` | Ω_i (Stratos et al., equation 3) | E[Vᵀψ \\| inside feature i] = Σ_h p(h \\| i) E[Vᵀψ \\| h] |
| `mixtures[i]` | O_i (Proposition 4.1) | p(h \\| i); the corners of the rows' hull are the rows of pivots |
| `corners` | Θ (Proposition 4.1); (K^a)ᵀ (long paper) | E[Vᵀψ \\| h], a row per state |
| `gamma[h]` | π̄_h (Stratos et al., equation 4); γ^a_h (long paper) | p(h \\| a) = Σ_i p(h \\| i) p(i) |
| `x` | (G^a)⁻¹ y | from Σ^a = G^a diag(γ) (K^a)ᵀ (long paper, equation 19), and Σ^a = diag(σ) |
| `w` | (K^a)⁻¹ Vᵀψ | coordinates with respect to the corners; E[x \\| h] = E[w \\| h] = e_h |
| Σ w ⊗ x₂ ⊗ x₃ | - | the expected count of a rule with each choice of states |

The pivots determine the matrix G^a, which the spectral estimator leaves unknown.  In the basis of the states, moments
are the expected counts that EM computes by inference; here no inference is needed, and there are no local optima.  Both
x and w are linear maps of the projections, so that the moments can be mapped without a pass over the trees.

The rows need no pass over the trees, either.  With Ω̂ = U σ Vᵀ and the scales s_i of slide 23, E[Vᵀψ | inside feature
i] is U_i ∘ σ times n / (count_i s_i).
"""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import numpy as np

from spectral_latent._compiled import TINY
from spectral_latent.estimation._moments import Moments
from spectral_latent.estimation._options import ProjectionOptions
from spectral_latent.estimation._projections import Projection
from spectral_latent.estimation._smoothing import operators_from_moments
from spectral_latent.estimation.simplex import anchors, convex_weights
from spectral_latent.operators import Counts, Tensor, Tensors
from spectral_latent.trees import FloatArray

__all__ = ["StateMaps", "counts_of_states", "feature_rows", "fitted_corners", "pivot_counts", "state_maps"]


class StateMaps(NamedTuple):
    """The maps of a symbol from its projections to the basis of its states."""

    gamma: FloatArray  # (k,) shares of the states
    inside: FloatArray  # (k, m) x = inside · y
    outside: FloatArray  # (k, m) w = outside · z


def feature_rows(projection: Projection, a: int, scaling: float | None) -> FloatArray:
    """Compute E[Vᵀψ | inside feature i] of every feature of symbol a, (d, m)."""
    evidence = projection.evidence[a]
    maps = projection.maps[a]
    scale, _ = evidence.scales(scaling)
    to_rows = evidence.n / (evidence.inside_count * scale**2)
    return np.asarray(maps.to_y * maps.sigma * to_rows[:, None])  # to_y holds s_i U_i


class Corners(NamedTuple):
    """The corners of a hull of rows, and every row as a mixture of them."""

    corners: FloatArray  # (k, m) the corners
    mixtures: FloatArray  # (d, k) the weights of the corners in each row


def fitted_corners(rows: FloatArray, count: FloatArray, most: int, *, least: float, cutoff: float) -> Corners:
    """Find up to `most` corners among rows, then fit them to all rows as mixtures.

    rows: (d, m) the rows.
    count: (d,) the number of observations of each row.
    distance.
    """
    anchor_rows = anchors(rows, count, most, least=least, cutoff=cutoff)
    mixtures = convex_weights(rows, rows[anchor_rows]).weights
    root = np.sqrt(count)[:, None]
    corners = np.linalg.lstsq(root * mixtures, root * rows)[0]  # arg min of Σ_i count_i ‖rows_i - mixtures_i corners‖²
    return Corners(np.asarray(corners), mixtures)


def state_maps(projection: Projection, a: int, options: ProjectionOptions) -> StateMaps:
    """Find the pivots of symbol a, and from them the basis of its states.

    The symbol has a state for each pivot whose row differs: the distance of the row from the span of the rows before
    must exceed `cutoff` times the first distance.  Pivots are searched among the features of at least √n / 2 nodes:
    with growing n, rarer features become candidates, but the errors of their rows still vanish.
    """
    evidence = projection.evidence[a]
    sigma = projection.maps[a].sigma
    count = evidence.inside_count
    rows = feature_rows(projection, a, options.scaling)
    least = np.sqrt(evidence.n) / 2
    corners, mixtures = fitted_corners(rows, count, len(sigma), least=least, cutoff=options.cutoff_for(evidence.n))
    gamma = count @ mixtures
    gamma = gamma / gamma.sum()
    inside = gamma[:, None] * corners / np.maximum(sigma, TINY)
    return StateMaps(gamma, inside, np.linalg.pinv(corners).T * sigma)


def _counts(estimates: FloatArray, totals: FloatArray, independent: FloatArray) -> FloatArray:
    """Clip estimated counts (R, ...) at zero and scale them to totals (R,); if none is positive, take γ⊗γ⊗γ."""
    positive = np.maximum(estimates, 0.0)
    axes = tuple(range(1, positive.ndim))
    lost = positive.sum(axis=axes, keepdims=True) <= TINY
    positive = np.where(lost, independent, positive)
    return np.asarray(positive * (totals.reshape(lost.shape) / positive.sum(axis=axes, keepdims=True)))


def counts_of_states(moments: Moments, maps: list[StateMaps], smoothing: float | None = None) -> Counts:
    """Estimate the expected counts of all rules with their states.

    The count of a rule is known.  Sampling errors make some of its counts with states negative; these are set to zero.
    """
    states = np.array([len(of_symbol.gamma) for of_symbol in maps], dtype=np.int64)
    mapped = moments.transformed(
        states, [of_symbol.inside for of_symbol in maps], [of_symbol.outside for of_symbol in maps]
    )
    estimated = operators_from_moments(mapped, smoothing)  # in proportion to the counts of each rule
    rules = moments.rules
    gamma = np.zeros((len(states), int(states.max())))
    for a, of_symbol in enumerate(maps):
        gamma[a, : states[a]] = of_symbol.gamma

    def binary(tensor: Tensor, moment: Tensor, rule: list[int]) -> Tensor:
        """Make the counts (m_a, m_b, m_c) of a rule from the estimates of the counts and the moments of the rule."""
        occurs = moment.multiplied_out()[None, 0, 0, 0]
        independent: FloatArray = reduce(np.multiply.outer, (maps[a].gamma for a in rule))
        return Tensor.of_dense(_counts(tensor.multiplied_out()[None], occurs, independent)[0])

    a, b = rules.unary.T
    tensors = zip(estimated.binary, moments.binary, rules.binary.tolist(), strict=True)
    return Counts(
        rules,
        states,
        root=_counts(estimated.root, moments.root[:, 0], gamma),
        leaf=_counts(estimated.leaf, moments.leaf[:, 0], gamma[rules.leaf[:, 0]]),
        unary=_counts(estimated.unary, moments.unary[:, 0, 0], gamma[a, :, None] * gamma[b, None, :]),
        binary=Tensors.of(binary(tensor, moment, rule) for tensor, moment, rule in tensors),
    )


def pivot_counts(moments: Moments, projection: Projection, options: ProjectionOptions) -> Counts:
    """Estimate the expected counts of all rules with the states that pivots determine; see `state_maps`."""
    return counts_of_states(moments, [state_maps(projection, a, options) for a in range(len(projection.maps))])
