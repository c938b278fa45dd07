"""Factorise blocks of Hankel matrices into weighted automata (Balle, Carreras, Luque and Quattoni 2014).

| here | meaning |
| --- | --- |
| f | a function of strings over the symbols 0 ... n-1 |
| u, v | a prefix and a suffix of the basis: rows and columns |
| H[u, v] = f(u v) | `matrix` |
| H_x[u, v] = f(u x v) | `steps[x]` |
| r, c | weights of rows and columns: diagonal matrices |
| U D Vᵀ = r H c | a singular value decomposition of rank m |
| α = H[ε, ·] c V | `initial` |
| A_x = D⁻¹ Uᵀ r H_x c V | `step[x]` |
| β = D⁻¹ Uᵀ r H[·, ε] | `final` |

If H has the rank of the Hankel matrix of all strings, f(x_1 ... x_n) = α A_{x_1} ... A_{x_n} β, with any weights.  If f
is estimated from a sample, frequent rows and columns are known best: each is divided by the root of its count.

In strings drawn from a distribution f, prefixes, suffixes and factors are counted more often than whole strings.  Their
mean counts are functions of the same A_x: f(u Σ*) has (I - A)⁻¹ β in the place of β, f(Σ* u) has α (I - A)⁻¹ in the
place of α, and the mean count of a factor, Σ_vw f(v u w), has both, with A = Σ_x A_x.

Automata are balanced by their Gramians (Balle, Panangaden and Precup 2015).

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

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
import scipy

from spectral_latent.estimation.svd import truncated_svd
from spectral_latent.trees import FloatArray

Counted = Literal["strings", "prefixes", "suffixes", "factors"]
_String = tuple[int, ...]
_Symbol = TypeVar("_Symbol", bound=Hashable)
_ZERO = 1e-10  # a singular value of a block that is a smaller share of the largest one counts as zero


def strings_up_to(symbols: Iterable[_Symbol], length: int) -> list[tuple[_Symbol, ...]]:
    """List all strings of at most `length` symbols, the shortest first.

    >>> strings_up_to("ab", 2)
    [(), ('a',), ('b',), ('a', 'a'), ('a', 'b'), ('b', 'a'), ('b', 'b')]
    """
    symbols = list(symbols)
    return [string for n in range(length + 1) for string in product(symbols, repeat=n)]


def counts_of(strings: Sequence[_String], counted: Counted, longest: int) -> dict[_String, float]:
    """Count strings, or all their prefixes, suffixes or factors, and divide by the number of strings."""
    counts: Counter[_String] = Counter()
    for string in strings:
        n = len(string)
        # Strings and prefixes begin at the first symbol; strings and suffixes end at the last one.
        begins = range(n + 1) if counted in ("suffixes", "factors") else range(1)
        for i in begins:
            ends = range(i, n + 1) if counted in ("prefixes", "factors") else range(n, n + 1)
            counts.update(string[i:j] for j in ends if j - i <= longest)
    return {string: count / len(strings) for string, count in counts.items()}


def frequent_strings(
    values: Mapping[_String, float], length: int, size: int
) -> tuple[Sequence[_String], Sequence[_String]]:
    """Choose prefixes and suffixes: the beginnings and the ends of strings with the largest sums of values.

    The empty string is the first of both."""
    beginnings: dict[_String, float] = {(): np.inf}
    ends: dict[_String, float] = {(): np.inf}
    for string, value in values.items():
        for n in range(1, min(length, len(string)) + 1):
            beginnings[string[:n]] = beginnings.get(string[:n], 0.0) + value
            ends[string[-n:]] = ends.get(string[-n:], 0.0) + value
    rows, columns = (sorted(weights, key=lambda w: (-weights[w], w))[:size] for weights in (beginnings, ends))
    return rows, columns


class Factorisation(NamedTuple):
    """The numbers of a weighted automaton; see the table of this module.

    initial: (m,) the vector α, before the first symbol.
    step: (n, m, m) the matrix A_x of each symbol.
    final: (m,) the vector β, after the last symbol."""

    initial: FloatArray
    step: FloatArray
    final: FloatArray

    def of_precision(self, kind: type[np.floating[Any]]) -> Factorisation:
        """Copy the numbers in single or double precision."""
        return Factorisation(*(np.asarray(number, dtype=kind) for number in self))

    def of_strings(self, counted: Counted) -> Factorisation:
        """Turn the automaton of mean counts into the automaton of the distribution of strings."""
        remaining = np.eye(len(self.initial)) - self.step.sum(axis=0)
        initial = self.initial @ remaining if counted in ("suffixes", "factors") else self.initial
        final = remaining @ self.final if counted in ("prefixes", "factors") else self.final
        return Factorisation(initial, self.step, final)


class Hankel(NamedTuple):
    """Blocks of a Hankel matrix; the first row and the first column belong to the empty string.

    matrix: (P, S) the block H.
    steps: the block H_x (P, S) of each symbol x."""

    matrix: scipy.sparse.csr_array
    steps: Sequence[scipy.sparse.csr_array]

    @staticmethod
    def of(
        values: Mapping[_String, float], basis: tuple[Sequence[_String], Sequence[_String]], n_symbols: int
    ) -> Hankel:
        """Fill the blocks with the values of strings; other strings have the value zero.

        basis: the prefixes, which are the rows, and the suffixes, the columns; the empty string first.

        >>> Hankel.of({(): 1.0, (0,): 0.5}, ([(), (0,)], [()]), n_symbols=1).matrix.toarray()
        array([[1. ],
               [0.5]])
        """
        row_of, column_of = ({string: number for number, string in enumerate(strings)} for strings in basis)
        # The entries of H_x for each symbol x, and at the end the entries of H.
        entries: list[list[tuple[float, int, int]]] = [[] for _ in range(n_symbols + 1)]
        for string, value in values.items():
            for cut in range(len(string) + 1):
                row = row_of.get(string[:cut])
                if row is None:
                    continue
                if (column := column_of.get(string[cut:])) is not None:
                    entries[n_symbols].append((value, row, column))
                if cut < len(string) and (column := column_of.get(string[cut + 1 :])) is not None:
                    entries[string[cut]].append((value, row, column))
        shape = (len(row_of), len(column_of))
        *steps, matrix = (_sparse(of_symbol, shape) for of_symbol in entries)
        return Hankel(matrix, steps)

    def weights(self, pseudo: float) -> tuple[FloatArray, FloatArray]:
        """Compute the weights of rows (P,) and of columns (S,): one over the root of the sum of their counts.

        pseudo: a number that is added to each sum."""
        rows, columns = (np.asarray(self.matrix.sum(axis=axis)).ravel() for axis in (1, 0))
        return np.asarray((rows + pseudo) ** -0.5), np.asarray((columns + pseudo) ** -0.5)

    def factorise(self, n_states: int | None, weights: tuple[FloatArray, FloatArray] | None = None) -> Factorisation:
        """Find an automaton by a singular value decomposition.

        n_states: the number of states, or fewer if the rank of the matrix is smaller; None for the rank.
        weights: a positive weight of each row (P,) and of each column (S,); all are one if not given."""
        r, c = weights or map(np.ones, self.matrix.shape)
        most = min(self.matrix.shape) if n_states is None else n_states
        u, d, v = truncated_svd(
            scipy.sparse.csr_array(scipy.sparse.diags_array(r) @ self.matrix @ scipy.sparse.diags_array(c)), most
        )
        rank = max(int((d > _ZERO * d[0]).sum()), 1)
        inverse = np.divide(1.0, d[:rank], out=np.zeros(rank), where=d[:rank] > 0)
        left = inverse[:, None] * u[:, :rank].T * r
        right = c[:, None] * v[:, :rank]
        return Factorisation(
            initial=np.asarray(self.matrix[[0]] @ right)[0],
            step=np.stack([left @ (step @ right) for step in self.steps]),
            final=left @ self.matrix[:, [0]].toarray()[:, 0],
        )


def _sparse(entries: Sequence[tuple[float, int, int]], shape: tuple[int, int]) -> scipy.sparse.csr_array:
    """Make a matrix of its entries."""
    value, row, column = np.array(entries).reshape(-1, 3).T
    return scipy.sparse.csr_array((value, (row.astype(np.int64), column.astype(np.int64))), shape=shape)


_MOST_STEPS = 100_000  # the length of the longest strings in a sum
_LARGE = 1e100  # a sum with larger numbers diverges
_ZERO_BALANCED = 1e-12  # a singular value of all strings that is a smaller share of the largest one counts as zero


def _compress(rows: FloatArray) -> FloatArray:
    """Replace rows (k, m) by at most m rows of the same products RᵀR."""
    return np.asarray(np.linalg.qr(rows, mode="r")) if len(rows) > rows.shape[1] else rows


def forward_factor(automaton: Factorisation) -> FloatArray:
    """Compute a factor F (k, m) of the sum of a_uᵀ a_u over all strings, with k ≤ m."""
    of_length = automaton.initial[None]  # a factor of the sum over the strings of one length
    total = of_length
    for _ in range(_MOST_STEPS):
        m = len(automaton.initial)
        of_length = _compress((of_length @ automaton.step).reshape(-1, m))
        size = np.abs(of_length).max(initial=0.0)
        if size <= np.finfo(float).eps * np.abs(total).max(initial=0.0):
            return total
        if not size < _LARGE:
            break
        total = _compress(np.concatenate([total, of_length]))
    raise ValueError("the sum of f(x)² over all strings is infinite, or converges too slowly")


def balance(automaton: Factorisation) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Find the singular values (k,) that are not zero, the largest first, and L (k, m) and R (m, k)."""
    # The backward vectors of strings are the forward vectors of the mirrored strings.
    mirrored = Factorisation(automaton.final, automaton.step.transpose(0, 2, 1), automaton.initial)
    forward = forward_factor(automaton)
    backward = forward_factor(mirrored)
    u, s, vt = np.linalg.svd(forward @ backward.T, full_matrices=False)
    rank = max(int((s > _ZERO_BALANCED * s[0]).sum()), 1)
    root = np.sqrt(np.divide(1.0, s[:rank], out=np.zeros(rank), where=s[:rank] > 0))
    left = root[:, None] * (u[:, :rank].T @ forward)
    right = (backward.T @ vt[:rank].T) * root
    return s[:rank], left, right
