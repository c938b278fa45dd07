"""Third-order tensors as sums of rank-one terms, kept as factors or multiplied out.

The tensor of a rule seen at n nodes is Σ_i z_i ⊗ x_i ⊗ y_i, a row of each factor per node.  Applied as
zᵀ((X α_b) ∘ (Y α_c)) it costs n (m_a + m_b + m_c); multiplied out it costs m_a m_b m_c.  Both are exact, so the
cheaper one is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spectral_latent.trees import FloatArray, IntArray

__all__ = ["Tensor"]

_BLOCK = 4096  # rows multiplied out at a time: bounds the memory of the (rows, m_b m_c) intermediate


@dataclass(frozen=True, eq=False)
class Tensor:
    """Σ_i first[i] ⊗ second[i] ⊗ third[i] + dense, of shape (m_a, m_b, m_c).

    first: (n, m_a), second: (n, m_b), third: (n, m_c).  dense: (m_a, m_b, m_c), or None for zero.

    >>> tensor = Tensor(np.array([[1.0], [2.0]]), np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[3.0], [5.0]]))
    >>> tensor.multiplied_out()
    array([[[ 3.],
            [10.]]])
    >>> (tensor + tensor).compact().dense
    array([[[ 6.],
            [20.]]])
    """

    first: FloatArray
    second: FloatArray
    third: FloatArray
    dense: FloatArray | None = None

    @staticmethod
    def of_dense(dense: FloatArray) -> Tensor:
        """A tensor without factors."""
        m_a, m_b, m_c = dense.shape
        return Tensor(np.empty((0, m_a)), np.empty((0, m_b)), np.empty((0, m_c)), dense)

    @property
    def shape(self) -> tuple[int, int, int]:
        """(m_a, m_b, m_c)."""
        return self.first.shape[1], self.second.shape[1], self.third.shape[1]

    @property
    def n_terms(self) -> int:
        """Rank-one terms still kept as factors."""
        return len(self.first)

    def multiplied_out(self) -> FloatArray:
        """The full (m_a, m_b, m_c) array."""
        m_a, m_b, m_c = self.shape
        total = np.zeros((m_a, m_b * m_c)) if self.dense is None else self.dense.reshape(m_a, m_b * m_c).copy()
        for at in range(0, self.n_terms, _BLOCK):
            rows = slice(at, at + _BLOCK)
            pairs = (self.second[rows, :, None] * self.third[rows, None, :]).reshape(-1, m_b * m_c)
            total += self.first[rows].T @ pairs
        return total.reshape(self.shape)

    def compact(self) -> Tensor:
        """The same tensor in its cheaper form: factors only, or multiplied out only."""
        size = int(np.prod(self.shape))
        if self.dense is None and 0 < self.n_terms * sum(self.shape) <= size:
            return self
        return Tensor.of_dense(self.multiplied_out())

    def transform(self, maps: tuple[FloatArray, FloatArray, FloatArray]) -> Tensor:
        """The tensor seen through a linear map (m'_k, m_k) on each of its three legs."""
        a, b, c = maps
        dense = None if self.dense is None else b @ np.tensordot(a, self.dense, axes=1) @ c.T
        return Tensor(self.first @ a.T, self.second @ b.T, self.third @ c.T, dense)

    def selected(self, keep: tuple[IntArray, IntArray, IntArray]) -> Tensor:
        """The part of the tensor at some indices of each leg."""
        a, b, c = keep
        dense = None if self.dense is None else self.dense[np.ix_(a, b, c)]
        return Tensor(self.first[:, a], self.second[:, b], self.third[:, c], dense)

    def scale(self, factor: float) -> Tensor:
        """The tensor times a number."""
        dense = None if self.dense is None else self.dense * factor
        return Tensor(self.first * factor, self.second, self.third, dense)

    def sums(self) -> FloatArray:
        """The sum over the second and third leg, (m_a,)."""
        total: FloatArray = self.first.T @ (self.second.sum(axis=1) * self.third.sum(axis=1))
        return total if self.dense is None else total + self.dense.sum(axis=(1, 2))

    def applied_left(self, left: FloatArray) -> FloatArray:
        """The matrix (m_a, m_c) that remains once the left child's vector (m_b,) is filled in.

        >>> Tensor.of_dense(np.arange(4.0).reshape(1, 2, 2)).applied_left(np.array([0.0, 1.0]))
        array([[2., 3.]])
        """
        matrix: FloatArray = (self.first.T * (self.second @ left)) @ self.third
        return matrix if self.dense is None else matrix + np.einsum("abc,b->ac", self.dense, left)

    def applied_right(self, right: FloatArray) -> FloatArray:
        """The matrix (m_a, m_b) that remains once the right child's vector (m_c,) is filled in."""
        matrix: FloatArray = (self.first.T * (self.third @ right)) @ self.second
        return matrix if self.dense is None else matrix + np.einsum("abc,c->ab", self.dense, right)

    def weighted(self, weights: FloatArray) -> Tensor:
        """The tensor with index i of its first leg times weights[i], (m_a,)."""
        dense = None if self.dense is None else self.dense * weights[:, None, None]
        return Tensor(self.first * weights, self.second, self.third, dense)

    def expected_counts(self, outer: FloatArray, left: FloatArray, right: FloatArray) -> Tensor:
        """Σ_n outer[n] ⊗ left[n] ⊗ right[n], times the tensor entry by entry: rows (n, m_a), (n, m_b), (n, m_c).

        A tensor of probabilities in factors is a mixture, p(j, k | i) = Σ_q p(q | i) p(j | q) p(k | q), whose
        components are one more latent state: the result is in factors too, and counts them.

        >>> tensor = Tensor(np.eye(2) / 2, np.eye(2), np.array([[1.0, 0.0], [0.5, 0.5]]))
        >>> counts = tensor.expected_counts(*np.ones((3, 1, 2)))
        >>> counts.n_terms, counts.sums()
        (2, array([0.5, 0.5]))
        """
        if self.dense is not None:
            return Tensor.of_dense(self.multiplied_out() * Tensor(outer, left, right).multiplied_out())
        a, b, c = outer @ self.first.T, left @ self.second.T, right @ self.third.T
        counts = (self.first * ((b * c).T @ outer), self.second * ((a * c).T @ left), self.third * ((a * b).T @ right))
        first, second, third = counts
        total = np.maximum(first.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        return Tensor(first, second / total, third / total)

    def __add__(self, other: Tensor) -> Tensor:
        parts = [part for part in (self.dense, other.dense) if part is not None]
        return Tensor(
            np.concatenate([self.first, other.first]),
            np.concatenate([self.second, other.second]),
            np.concatenate([self.third, other.third]),
            sum(parts[1:], start=parts[0]) if parts else None,
        )
