"""Tensors of probabilities as mixtures of few rank-one terms: less exact, but smaller and faster to apply.

| here | meaning |
| --- | --- |
| T | a rule's tensor of non-negative numbers (m_a, m_b, m_c), as the estimators of probabilities give them |
| Q | the rank: how many terms may stand for it |
| `weights[q]` | w_q, the mass of term q |
| `legs[k][q]` | x_q, y_q, z_q for k = 0, 1, 2: a distribution over the indices of leg k |
| `likely` | T̂ = Σ_q w_q x_q ⊗ y_q ⊗ z_q, unfolded along a leg: (m_k, product of the others) |
| D(T, T̂) | Σ T log(T / T̂) - T + T̂, the divergence of Kullback and Leibler |

Q terms take Q (m_a + m_b + m_c) numbers instead of m_a m_b m_c, and as much less time (Cohen and Collins 2012, "Tensor
decomposition for fast parsing with latent-variable PCFGs", who fit squared errors).  D suits probabilities better: its
minimum is the maximum-likelihood mixture, so the terms are non-negative, and stay normalised without a step of its own.

Each leg in turn is updated as expectation maximisation does (Lee and Seung 2001, Theorem 2, for matrices; Chi and Kolda
2012, Section 5, for tensors):  w_q x_q[i] ← w_q x_q[i] Σ_jk (T / T̂)[i, j, k] y_q[j] z_q[k].  No update raises D, and
after one of leg k the sums of T̂ over the other legs are those of T.  Leg 0 comes last: the rules of every state of a
parent keep their probabilities.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from spectral_latent.operators.operators import ObservableOperators
from spectral_latent.operators.tensors import Tensor, Tensors
from spectral_latent.trees import FloatArray

__all__ = ["low_rank_operators", "low_rank_tensor"]

_ROUNDS = 10  # updates of every leg: ten times as many parse no better
_SPREAD = 0.3  # share of the sums that every term starts with, since what is zero stays zero
_NEGLIGIBLE = 1e-12  # of the largest entry: no term is begun for less
_TINY = np.finfo(float).tiny


def low_rank_operators(operators: ObservableOperators, rank: int) -> ObservableOperators:
    """The operators with every tensor as `low_rank_tensor` gives it; probabilities still sum to one.

    Raises ValueError for a rank below 1 and for negative numbers, such as spectral operators have.

    >>> from spectral_latent.trees import Rules
    >>> rules = Rules(np.array([[0, 0]]), np.empty((0, 2), int), np.array([[0, 0, 0]]))
    >>> full = ObservableOperators(
    ...     rules, np.array([4]), np.full((1, 4), 0.25), np.full((1, 4), 0.36), np.empty((0, 4, 4)),
    ...     [Tensor.of_dense(np.full((4, 4, 4), 0.04))])
    >>> low_rank_operators(full, 1).binary[0].n_terms
    1
    """
    with threadpool_limits(1):
        return replace(operators, binary=Tensors.of(low_rank_tensor(tensor, rank) for tensor in operators.binary))


def low_rank_tensor(tensor: Tensor, rank: int) -> Tensor:
    """A tensor of at most `rank` non-negative terms, close to that given in D, with the same sums over legs 1 and 2.

    One that would not be smaller for it, or has so few terms already, stays as it is.
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
    return _climbed(dense, _crosses(dense, rank))


def _crosses(dense: FloatArray, rank: int) -> Tensor:
    """Terms through the entries that those before underestimate the most: the three lines that cross in such an entry.

    As adaptive cross approximation chooses them (Bebendorf 2000), but for negative remainders, which count as zero.
    Exact where T is of rank one, or the terms have no index in common.
    """
    rest = dense.copy()
    least = _NEGLIGIBLE * rest.max()
    rows: tuple[list[FloatArray], ...] = ([], [], [])
    for _ in range(rank):
        i, j, k = np.unravel_index(rest.argmax(), rest.shape)
        top = rest[i, j, k]
        if top <= least:
            break
        lines = [np.maximum(line, 0.0) for line in (rest[:, j, k], rest[i, :, k] / top, rest[i, j, :] / top)]
        for found, line in zip(rows, lines, strict=True):
            found.append(line)
        rest -= np.multiply.outer(lines[0], np.multiply.outer(lines[1], lines[2]))
    first, second, third = (np.array(found).reshape(-1, m) for found, m in zip(rows, dense.shape, strict=True))
    return Tensor(first, second, third)


def _climbed(dense: FloatArray, start: Tensor) -> Tensor:
    """The terms after updates of every leg in turn."""
    axes = ((0, 1, 2), (1, 0, 2), (2, 0, 1))  # each leg, and the others in the order that `pairs` has
    unfolded = [dense.transpose(order).reshape(dense.shape[order[0]], -1) for order in axes]
    legs = []
    for factor, along in zip((start.first, start.second, start.third), unfolded, strict=True):
        share = along.sum(axis=1) / max(dense.sum(), _TINY)
        spread = factor + _SPREAD * factor.sum(axis=1, keepdims=True) * share
        legs.append(spread / spread.sum(axis=1, keepdims=True))
    weights = np.full(start.n_terms, dense.sum() / max(start.n_terms, 1))
    for _ in range(_ROUNDS):
        for leg in (1, 2, 0):
            _, left, right = (legs[k] for k in axes[leg])
            pairs = (left[:, :, None] * right[:, None, :]).reshape(start.n_terms, unfolded[leg].shape[1])
            mass = weights[:, None] * legs[leg]
            likely = np.maximum(mass.T @ pairs, _TINY)
            mass *= pairs @ np.divide(unfolded[leg], likely, out=likely).T
            weights = mass.sum(axis=1)
            legs[leg] = mass / np.maximum(weights, _TINY)[:, None]
    return Tensor(weights[:, None] * legs[0], legs[1], legs[2])
