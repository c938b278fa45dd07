"""Approximate tensors of probabilities by mixtures of a few rank-one terms, which are smaller and faster to apply.

| here | meaning |
| --- | --- |
| T | a rule's tensor of non-negative numbers (m_a, m_b, m_c), as the estimators of probabilities give them |
| Q | the rank: the largest number of terms |
| `weights[q]` | w_q, the mass of term q |
| `legs[k][q]` | x_q, y_q, z_q for k = 0, 1, 2: a distribution over the indices of leg k |
| `likely` | T̂ = Σ_q w_q x_q ⊗ y_q ⊗ z_q, unfolded along leg k: (m_k, product of the other lengths) |
| D(T, T̂) | Σ T log(T / T̂) - T + T̂, the divergence of Kullback and Leibler |

Q terms take Q (m_a + m_b + m_c) numbers instead of m_a m_b m_c, and the time falls by the same factor (Cohen and
Collins 2012, "Tensor decomposition for fast parsing with latent-variable PCFGs", who fit squared errors).  D suits
probabilities
better: its minimum is the maximum-likelihood mixture, whose terms are non-negative and normalised.

The legs are updated in turn by expectation maximisation (Lee and Seung 2001, Theorem 2, for matrices; Chi and Kolda
2012, Section 5, for tensors):  w_q x_q[i] ← w_q x_q[i] Σ_jk (T / T̂)[i, j, k] y_q[j] z_q[k].  No update raises D.
After an update of leg k, the sums of T̂ over the other legs equal the same sums of T.  Leg 0 is updated last, so that
the rules of every state of a parent keep their probabilities.  If T is zero everywhere at an index of a leg, T̂ is zero
there, too, and the index is left out: most tensors of counts have few other indices.
"""

from __future__ import annotations

import numpy as np

from spectral_latent._compiled import TINY, compiled, part_compiler
from spectral_latent._options import Count, checked
from spectral_latent.operators.tensors import Tensor
from spectral_latent.trees import FloatArray

_Legs = tuple[FloatArray, ...]  # an array for each leg
_ROUNDS = 10  # updates of every leg; ten times as many do not improve F1
_SPREAD = 0.3  # the share of the sums that is added to every term at the start, because an update never changes a zero
_NEGLIGIBLE = 1e-12  # terms are only added for entries above this share of the largest entry


def low_rank_tensor(tensor: Tensor, rank: int) -> Tensor:
    """Approximate a tensor by at most `rank` non-negative terms, close in D, with the same sums over legs 1 and 2.

    A tensor that would not become smaller, or that has at most `rank` terms already, is returned unchanged.

    rank: the largest number of terms, at least 1.
    Raises ValueError for a rank below 1 and for negative numbers.

    >>> one = Tensor(np.array([[0.5, 0.25]]), np.array([[0.75, 0.25]]), np.array([[0.5, 0.5, 0.0]]))
    >>> two = Tensor(np.array([[0.0, 0.5]]), np.array([[0.0, 1.0]]), np.array([[0.0, 0.0, 1.0]]))
    >>> near = low_rank_tensor(Tensor.of_dense((one + two).to_dense()), 1)
    >>> near.n_terms, near.sums().round(3)
    (1, array([0.5 , 0.75]))
    """
    checked("rank", rank, Count)
    if rank * sum(tensor.shape) >= np.prod(tensor.shape) or (tensor.dense is None and tensor.n_terms <= rank):
        return tensor
    dense = tensor.to_dense()
    if (dense < 0.0).any():
        raise ValueError("a tensor with negative numbers has no non-negative terms; use an estimator of probabilities")
    used = [dense.any(axis=others) for others in ((1, 2), (0, 2), (0, 1))]
    factors = [np.zeros((rank, m)) for m in dense.shape]
    fitted = _fit_terms(dense[np.ix_(*used)], rank)
    for factor, indices, terms in zip(factors, used, fitted, strict=True):
        factor[: len(terms), indices] = terms
    return Tensor(*(factor[: len(fitted[0])] for factor in factors))


def _fit_terms(dense: FloatArray, rank: int) -> list[FloatArray]:
    """Find terms by cross approximation, and update all their legs in turn.

    dense: (m_a, m_b, m_c) the tensor T, with a positive number at every index of each leg.
    Returns factors (Q, m_a), (Q, m_b) and (Q, m_c)."""
    legs = [np.zeros((rank, m)) for m in dense.shape]
    n_terms = _add_crosses(dense.copy(), *legs)
    if n_terms == 0:
        return [leg[:0] for leg in legs]
    # Unfold T along each leg, with the two other legs in order.
    unfolded = [np.ascontiguousarray(np.moveaxis(dense, k, 0)).reshape(m, -1) for k, m in enumerate(dense.shape)]
    legs = [_spread(leg[:n_terms], along.sum(axis=1)) for leg, along in zip(legs, unfolded, strict=True)]
    weights = np.full(n_terms, dense.sum() / n_terms)
    pairs = [np.empty((n_terms, along.shape[1])) for along in unfolded]
    room = (tuple(map(np.empty_like, arrays)) for arrays in (unfolded, legs))
    _update_in_turn(tuple(unfolded), weights, tuple(legs), tuple(pairs), *room)
    return [weights[:, None] * legs[0], legs[1], legs[2]]


def _add_crosses(rest: FloatArray, first: FloatArray, second: FloatArray, third: FloatArray) -> int:
    """Find terms one by one, each from the three lines through the entry with the largest remainder; count them.

    This is adaptive cross approximation (Bebendorf 2000), but negative remainders count as zero.  The terms are exact
    if T has rank one, or if they have no index in common.

    rest: (m_a, m_b, m_c) the tensor T, from which the terms are subtracted.
    first, second, third: (Q, m_a), (Q, m_b) and (Q, m_c) room for the factors."""
    least = _NEGLIGIBLE * rest.max(initial=0.0)
    for q in range(len(first)):
        i, j, k = np.unravel_index(rest.argmax(), rest.shape)
        top = rest[i, j, k]
        if top <= least:
            return q
        # The factors of the term are the three lines through its largest remainder.
        np.maximum(rest[:, j, k], 0.0, out=first[q])
        np.maximum(rest[i, :, k] / top, 0.0, out=second[q])
        np.maximum(rest[i, j] / top, 0.0, out=third[q])
        rest -= (first[q, :, None] * second[q])[:, :, None] * third[q]
    return len(first)


def _spread(factor: FloatArray, sums: FloatArray) -> FloatArray:
    """Normalise the rows of a factor (Q, m) to distributions (Q, m), after a share of the sums is added to each row.

    sums: (m,) the sums of T over the other legs."""
    leg: FloatArray = factor + factor.sum(axis=1, keepdims=True) * (_SPREAD * sums / sums.sum())
    leg /= leg.sum(axis=1, keepdims=True)
    return leg


@compiled
def _update_in_turn(
    unfolded: _Legs, weights: FloatArray, legs: _Legs, pairs: _Legs, ratios: _Legs, gains: _Legs
) -> None:
    """Update each leg in turn, given the tensor unfolded along each, masses (Q,), and room for each; see `_update`."""
    for _ in range(_ROUNDS):
        for k, left, right in ((1, 0, 2), (2, 0, 1), (0, 1, 2)):
            _update(unfolded[k], weights, legs[k], legs[left], legs[right], pairs[k], ratios[k], gains[k])


def _update(
    unfolded: FloatArray,
    weights: FloatArray,
    leg: FloatArray,
    left: FloatArray,
    right: FloatArray,
    pairs: FloatArray,
    ratio: FloatArray,
    gain: FloatArray,
) -> None:
    """Update the distributions of a leg and the masses of the terms.

    unfolded: (m, m' m'') the tensor T, unfolded along the leg.
    weights: (Q,) the masses of the terms.
    leg: (Q, m) the distributions of the leg.
    left, right: (Q, m') and (Q, m'') the distributions of the other legs.
    pairs, ratio, gain: room for (Q, m' m''), (m, m' m'') and (Q, m) numbers."""
    leg *= weights[:, None]
    pairs[:] = (left[:, :, None] * right[:, None, :]).reshape(pairs.shape)
    np.dot(leg.T, pairs, ratio)  # T̂
    np.dot(pairs, (unfolded / (ratio + TINY)).T, gain)
    leg *= gain
    leg.sum(axis=1, out=weights)
    leg /= weights[:, None] + TINY


@part_compiler(_update)
def _update_by_loops(
    unfolded: FloatArray,
    weights: FloatArray,
    leg: FloatArray,
    left: FloatArray,
    right: FloatArray,
    pairs: FloatArray,
    ratio: FloatArray,
    gain: FloatArray,
) -> None:
    """Do what `_update` does."""
    n_terms, width = right.shape
    for q in range(n_terms):
        for i in range(leg.shape[1]):
            leg[q, i] *= weights[q]
        for j in range(left.shape[1]):
            for k in range(width):
                pairs[q, j * width + k] = left[q, j] * right[q, k]
    # Compute T̂, and overwrite it by T / T̂.
    np.dot(leg.T, pairs, ratio)
    for i in range(ratio.shape[0]):
        for p in range(ratio.shape[1]):
            ratio[i, p] = unfolded[i, p] / (ratio[i, p] + TINY)
    np.dot(pairs, ratio.T, gain)
    for q in range(n_terms):
        total = 0.0
        for i in range(leg.shape[1]):
            leg[q, i] *= gain[q, i]
            total += leg[q, i]
        weights[q] = total
        for i in range(leg.shape[1]):
            leg[q, i] /= total + TINY
