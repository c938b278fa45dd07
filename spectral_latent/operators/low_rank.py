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
probabilities better: its minimum is the maximum-likelihood mixture, whose terms are non-negative and normalised.

The legs are updated in turn by expectation maximisation (Lee and Seung 2001, Theorem 2, for matrices; Chi and Kolda
2012, Section 5, for tensors):  w_q x_q[i] ← w_q x_q[i] Σ_jk (T / T̂)[i, j, k] y_q[j] z_q[k].  No update raises D.
After an update of leg k, the sums of T̂ over the other legs equal the same sums of T.  Leg 0 is updated last, so that
the rules of every state of a parent keep their probabilities.  If T is zero everywhere at an index of a leg, T̂ is zero
there, too, and the index is left out: most tensors of counts have few other indices.
"""

import numpy as np

from spectral_latent._compiled import TINY
from spectral_latent._options import Count, checked
from spectral_latent.operators.tensors import Tensor
from spectral_latent.trees import FloatArray

_ROUNDS = 10  # of EM, each an update of every leg; ten times as many do not improve F1
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
    fitted = _fit_by_em(dense[np.ix_(*used)], rank)
    for factor, indices, terms in zip(factors, used, fitted, strict=True):
        factor[: len(terms), indices] = terms
    return Tensor(*(factor[: len(fitted[0])] for factor in factors))


def _fit_by_em(dense: FloatArray, rank: int) -> list[FloatArray]:
    """Find terms by cross approximation, and update all their legs in turn by expectation maximisation.

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
    for _ in range(_ROUNDS):
        for k, left, right in ((1, 0, 2), (2, 0, 1), (0, 1, 2)):
            pairs = (legs[left][:, :, None] * legs[right][:, None, :]).reshape(n_terms, -1)
            leg = legs[k] * weights[:, None]
            leg *= pairs @ (unfolded[k] / (leg.T @ pairs + TINY)).T  # T / T̂
            weights = leg.sum(axis=1)
            legs[k] = leg / (weights[:, None] + TINY)
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
