"""Balance weighted automata by their Gramians (Balle, Panangaden and Precup 2015).

| here | meaning |
| --- | --- |
| a_u = α A_{u_1} ... A_{u_n} | the forward vector of a string: rows of P |
| b_v = A_{v_1} ... A_{v_n} β | the backward vector: columns of S; f(u v) = a_u b_v, that is H = P S |
| F, FᵀF = Σ_u a_uᵀ a_u = PᵀP | a factor of the reachability Gramian |
| B, BᵀB = Σ_v b_v b_vᵀ = S Sᵀ | a factor of the observability Gramian |
| F Bᵀ = U diag(s) Vᵀ | s are the singular values of H, which has infinitely many rows and columns |

In the basis L = s^(-1/2) Uᵀ F, R = Bᵀ V s^(-1/2) with L R = I, both Gramians are diag(s).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spectral_latent.automata.hankel import Factorisation
from spectral_latent.trees import FloatArray

__all__ = ["Balanced", "forward_factor"]

_MOST_STEPS = 100_000  # the length of the longest strings in a sum
_LARGE = 1e100  # a sum with larger numbers diverges
_ZERO = 1e-12  # a singular value that is a smaller share of the largest one counts as zero


def _compressed(rows: FloatArray) -> FloatArray:
    """Replace rows (k, m) by at most m rows of the same products RᵀR."""
    return np.asarray(np.linalg.qr(rows, mode="r")) if len(rows) > rows.shape[1] else rows


def forward_factor(automaton: Factorisation) -> FloatArray:
    """Compute a factor F (k, m) of the sum of a_uᵀ a_u over all strings, with k ≤ m.

    Raises ValueError if the sum is infinite.

    >>> half = Factorisation(np.array([1.0]), np.array([[[0.5]]]), np.array([0.5]))
    >>> abs(forward_factor(half)).round(6)  # the root of 1 + 1/4 + 1/16 + ...
    array([[1.154701]])
    """
    of_length = automaton.initial[None]  # a factor of the sum over the strings of one length
    total = of_length
    for _ in range(_MOST_STEPS):
        m = len(automaton.initial)
        of_length = _compressed((of_length @ automaton.step).reshape(-1, m))
        size = np.abs(of_length).max(initial=0.0)
        if size <= np.finfo(float).eps * np.abs(total).max(initial=0.0):
            return total
        if not size < _LARGE:
            break
        total = _compressed(np.concatenate([total, of_length]))
    raise ValueError("the sum of f(x)² over all strings is infinite, or converges too slowly")


class Balanced(NamedTuple):
    """An automaton, its singular values, and the change to the basis in which both Gramians are diagonal.

    automaton: the numbers of an automaton with m states.
    singular_values: (k,) the singular values of the Hankel matrix that are not zero, the largest first; k ≤ m.
    left: (k, m) the matrix L, which leads to the new basis.
    right: (m, k) the matrix R, which leads back.
    """

    automaton: Factorisation
    singular_values: FloatArray
    left: FloatArray
    right: FloatArray

    @staticmethod
    def compute(automaton: Factorisation) -> Balanced:
        """Balance an automaton.  Raises ValueError if the sum of f(x)² over all strings is infinite.

        >>> half = Factorisation(np.array([1.0]), np.array([[[0.5]]]), np.array([0.5]))
        >>> Balanced.compute(half).singular_values.round(6)
        array([0.666667])
        """
        # The backward vectors of strings are the forward vectors of the mirrored strings.
        mirrored = Factorisation(automaton.final, automaton.step.transpose(0, 2, 1), automaton.initial)
        forward = forward_factor(automaton)
        backward = forward_factor(mirrored)
        u, s, vt = np.linalg.svd(forward @ backward.T, full_matrices=False)
        rank = max(int((s > _ZERO * s[0]).sum()), 1)
        root = np.sqrt(np.divide(1.0, s[:rank], out=np.zeros(rank), where=s[:rank] > 0))
        left = root[:, None] * (u[:, :rank].T @ forward)
        right = (backward.T @ vt[:rank].T) * root
        return Balanced(automaton, s[:rank], left, right)

    def truncated(self, n_states: int) -> Factorisation:
        """Keep the states of the largest singular values; see `WeightedAutomaton.minimised` for the error."""
        left = self.left[:n_states]
        right = self.right[:, :n_states]
        return Factorisation(
            initial=self.automaton.initial @ right,
            step=left @ self.automaton.step @ right,
            final=left @ self.automaton.final,
        )
