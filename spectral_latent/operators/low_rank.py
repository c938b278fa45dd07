"""Approximate tensors of probabilities by mixtures of few rank-one terms: less exact, but smaller and faster to apply.

| here | meaning |
| --- | --- |
| T | a rule's tensor of non-negative numbers (m_a, m_b, m_c), as the estimators of probabilities give them |
| Q | the rank: how many terms may stand for it |
| `weights[q]` | w_q, the mass of term q |
| `legs[k][q]` | x_q, y_q, z_q for k = 0, 1, 2: a distribution over the indices of leg k |
| `likely` | T̂ = Σ_q w_q x_q ⊗ y_q ⊗ z_q, unfolded along a leg: (m_k, product of the others) |
| D(T, T̂) | Σ T log(T / T̂) - T + T̂, the divergence of Kullback and Leibler |

Q terms take Q (m_a + m_b + m_c) numbers instead of m_a m_b m_c, and the time falls likewise (Cohen and Collins 2012,
"Tensor decomposition for fast parsing with latent-variable PCFGs", who fit squared errors).  D suits probabilities
better: its minimum is the maximum-likelihood mixture, whose terms are non-negative and normalised.

Each leg in turn is updated as expectation maximisation does (Lee and Seung 2001, Theorem 2, for matrices; Chi and Kolda
2012, Section 5, for tensors):  w_q x_q[i] ← w_q x_q[i] Σ_jk (T / T̂)[i, j, k] y_q[j] z_q[k].  No update raises D.
After an update of leg k, the sums of T̂ over the other legs equal those of T.  Leg 0 is updated last, so that the rules
of every state of a parent keep their probabilities.  Where T is zero nothing is added; most tensors of counts are zero
nearly everywhere.
"""

from __future__ import annotations

import numpy as np

from spectral_latent._compiled import TINY, compiled, compiled_part
from spectral_latent.operators.tensors import Tensor
from spectral_latent.trees import FloatArray, IntArray

__all__ = ["low_rank_tensor"]

_ROUNDS = 10  # updates of every leg: ten times as many parse no better
_SPREAD = 0.3  # share of the sums that every term starts with, since what is zero stays zero
_SPARSE = 1 / 12  # if a smaller share of a tensor is not zero, the rest is not looked at
_NEGLIGIBLE = 1e-12  # of the largest entry: no term is begun for less


def low_rank_tensor(tensor: Tensor, rank: int) -> Tensor:
    """Approximate a tensor by at most `rank` non-negative terms, close in D, with the same sums over legs 1 and 2.

    A tensor that would not become smaller, or that has at most `rank` terms already, is returned unchanged.

    tensor: a tensor of non-negative numbers.
    rank: the most terms, at least 1.

    Raises ValueError for a rank below 1 and for negative numbers.

    >>> one = Tensor(np.array([[0.5, 0.25]]), np.array([[0.75, 0.25]]), np.array([[0.5, 0.5, 0.0]]))
    >>> two = Tensor(np.array([[0.0, 0.5]]), np.array([[0.0, 1.0]]), np.array([[0.0, 0.0, 1.0]]))
    >>> near = low_rank_tensor(Tensor.of_dense((one + two).multiplied_out()), 1)
    >>> near.n_terms, near.sums().round(3)
    (1, array([0.5 , 0.75]))
    """
    if rank < 1:
        raise ValueError(f"the rank must be at least 1, not {rank}")
    if rank * sum(tensor.shape) >= np.prod(tensor.shape) or (tensor.dense is None and tensor.n_terms <= rank):
        return tensor
    dense = tensor.multiplied_out()
    if (dense < 0.0).any():
        raise ValueError("a tensor with negative numbers has no non-negative terms; use an estimator of probabilities")
    return Tensor(*_climbed(np.ascontiguousarray(dense), rank))


@compiled_part
def _crosses(dense: FloatArray, rank: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Find terms one by one, each from the three lines through the entry that the terms before underestimate most.

    This is adaptive cross approximation (Bebendorf 2000), but negative remainders count as zero.  The terms are exact
    if T has rank one, or if they have no index in common.
    dense: (m_a, m_b, m_c).
    Returns factors (Q, m_a), (Q, m_b) and (Q, m_c).
    """
    m_a, m_b, m_c = dense.shape
    rest = dense.copy()
    least = _NEGLIGIBLE * rest.max()
    first = np.zeros((rank, m_a))
    second = np.zeros((rank, m_b))
    third = np.zeros((rank, m_c))
    for q in range(rank):
        # the largest remainder, at (i, j, k)
        at = rest.argmax()
        i = at // (m_b * m_c)
        j = at // m_c % m_b
        k = at % m_c
        top = rest[i, j, k]
        if top <= least:
            return first[:q], second[:q], third[:q]
        first[q] = np.maximum(rest[:, j, k], 0.0)
        second[q] = np.maximum(rest[i, :, k], 0.0) / top
        third[q] = np.maximum(rest[i, j, :], 0.0) / top
        # subtract the term
        for h in range(m_a):
            for b in range(m_b):
                weight = first[q, h] * second[q, b]
                if weight > 0.0:
                    for c in range(m_c):
                        rest[h, b, c] -= weight * third[q, c]
    return first, second, third


@compiled_part
def _starting_leg(factor: FloatArray, sums: FloatArray) -> FloatArray:
    """Make distributions (Q, m) of a factor (Q, m), and give every index a share of each.

    sums: (m,) the sums of T over the other legs.
    """
    share = _SPREAD * sums / max(sums.sum(), TINY)
    leg = np.empty_like(factor)
    for q in range(len(factor)):
        spread = factor[q] + factor[q].sum() * share
        leg[q] = spread / spread.sum()
    return leg


@compiled_part
def _updated(
    unfolded: FloatArray, weights: FloatArray, leg: FloatArray, left: FloatArray, right: FloatArray
) -> FloatArray:
    """Compute the masses w_q x_q (Q, m) of a leg after an update.

    unfolded: (m, m' m'') T along the leg.
    weights: (Q,).
    leg: (Q, m).
    left, right: (Q, m') and (Q, m'') the other legs.
    """
    width = right.shape[1]
    pairs = np.empty((len(leg), unfolded.shape[1]))
    for q in range(len(leg)):
        for j in range(left.shape[1]):
            for k in range(width):
                pairs[q, j * width + k] = left[q, j] * right[q, k]
    mass = leg * weights.reshape(-1, 1)
    # T̂, and then T / T̂ in its place
    ratio = np.dot(mass.T, pairs)
    for i in range(ratio.shape[0]):
        for p in range(ratio.shape[1]):
            ratio[i, p] = unfolded[i, p] / max(ratio[i, p], TINY)
    mass *= np.dot(pairs, ratio.T)
    return mass


@compiled_part
def _updated_at(
    entries: IntArray,
    numbers: FloatArray,
    weights: FloatArray,
    legs: tuple[FloatArray, FloatArray, FloatArray],
    which: int,
) -> FloatArray:
    """Compute the same masses w_q x_q (Q, m) of a leg from the few entries of T that are not zero.

    entries: (n, 3) the indices of these entries.
    numbers: (n,) T at each of them.
    weights: (Q,).
    legs: (Q, m_a), (Q, m_b) and (Q, m_c).
    which: the number of the leg.
    """
    x, y, z = legs
    mass = np.zeros_like(legs[which])
    share = np.empty(len(weights))
    for e in range(len(entries)):
        # T̂ is the sum of the shares that the terms have in this entry; T is divided among them.
        near = 0.0
        for q in range(len(weights)):
            share[q] = weights[q] * x[q, entries[e, 0]] * y[q, entries[e, 1]] * z[q, entries[e, 2]]
            near += share[q]
        ratio = numbers[e] / max(near, TINY)
        for q in range(len(weights)):
            mass[q, entries[e, which]] += ratio * share[q]
    return mass


@compiled_part
def _normalised(mass: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Split masses (Q, m) into weights (Q,) and distributions (Q, m)."""
    weights = mass.sum(axis=1)
    return weights, mass / np.maximum(weights, TINY).reshape(-1, 1)


@compiled
def _climbed(dense: FloatArray, rank: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Find terms by crosses, and update all their legs in turn.

    dense: (m_a, m_b, m_c).
    Returns factors (Q, m_a), (Q, m_b) and (Q, m_c).
    """
    m_a, m_b, m_c = dense.shape
    # T along each leg, with the other two in order
    along_0 = dense.reshape(m_a, m_b * m_c)
    along_1 = np.ascontiguousarray(dense.transpose(1, 0, 2)).reshape(m_b, m_a * m_c)
    along_2 = np.ascontiguousarray(dense.transpose(2, 0, 1)).reshape(m_c, m_a * m_b)
    first, second, third = _crosses(dense, rank)
    x = _starting_leg(first, along_0.sum(axis=1))
    y = _starting_leg(second, along_1.sum(axis=1))
    z = _starting_leg(third, along_2.sum(axis=1))
    weights = np.full(len(x), dense.sum() / max(len(x), 1))
    entries = np.argwhere(dense)
    is_sparse = len(entries) < _SPARSE * dense.size
    numbers = along_0.ravel()[np.flatnonzero(dense)]
    for _ in range(_ROUNDS):
        if is_sparse:
            weights, y = _normalised(_updated_at(entries, numbers, weights, (x, y, z), 1))
            weights, z = _normalised(_updated_at(entries, numbers, weights, (x, y, z), 2))
            weights, x = _normalised(_updated_at(entries, numbers, weights, (x, y, z), 0))
        else:
            weights, y = _normalised(_updated(along_1, weights, y, x, z))
            weights, z = _normalised(_updated(along_2, weights, z, x, y))
            weights, x = _normalised(_updated(along_0, weights, x, y, z))
    return weights.reshape(-1, 1) * x, y, z
