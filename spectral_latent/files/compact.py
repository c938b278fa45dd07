"""Hold operators whose leaf rules share vectors, in a tenth of the memory.

Smoothing gives rare terminals a mean vector, so that the vectors of most leaf rules of a symbol are multiples of a few
vectors.

| here | shape | meaning |
| --- | --- | --- |
| `factor[r] * shares[vector[r]]` | (M,) | c∞ of leaf rule r |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spectral_latent._compiled import read_only
from spectral_latent.files.rounding import divided
from spectral_latent.operators.operators import ObservableOperators
from spectral_latent.trees import FloatArray, IntArray, Rules, Vocabulary

__all__ = ["CompactOperators"]


def _smallest(shares: NDArray[np.floating]) -> NDArray[np.floating]:
    """Convert vectors (V, M) to two bytes a number if no digit is lost."""
    with np.errstate(over="ignore"):
        small = shares.astype(np.float16)
    return small if np.array_equal(small, shares) else shares


def _named(symbol: IntArray, shares: NDArray[np.floating]) -> Iterator[tuple[int, bytes]]:
    """Name each of the vectors (R, M) of symbols (R,) by its symbol and its bytes."""
    return zip(symbol.tolist(), map(np.ndarray.tobytes, shares), strict=True)


@dataclass(frozen=True, eq=False, repr=False)
class CompactOperators:
    """Operators in the form of files: the vectors of R leaf rules are multiples of V vectors.

    rest: the operators without leaf rules.
    leaf_rules: (R, 2) the symbol and the terminal of each leaf rule.
    vector: (R,) the number of each leaf rule's vector; only rules of the same symbol share a vector.
    factor: (R,) the factor of the vector.
    shares: (V, M) the vectors; in two bytes a number if no digit is lost, as for rounded operators.

    >>> rules = Rules(np.array([[0, 5], [0, 7]]), np.empty((0, 2), int), np.empty((0, 3), int))
    >>> operators = ObservableOperators(rules, np.array([2]), np.array([[0.5, 0.5]]),
    ...     np.array([[0.5, 0.25], [1.0, 0.5]]), np.empty((0, 2, 2)), [])
    >>> compact = CompactOperators.of(operators)
    >>> compact.factor, compact.vector, compact.shares
    (array([0.5, 1. ]), array([0, 0]), array([[1. , 0.5]], dtype=float16))
    """

    rest: ObservableOperators
    leaf_rules: IntArray
    vector: IntArray
    factor: FloatArray
    shares: NDArray[np.floating]

    def __post_init__(self) -> None:
        object.__setattr__(self, "leaf_rules", read_only(self.leaf_rules))
        object.__setattr__(self, "shares", _smallest(self.shares))

    @staticmethod
    def of(operators: ObservableOperators) -> CompactOperators:
        """Find the vectors that leaf rules share; they are few if the operators were rounded.

        operators: any operators.
        """
        rules = operators.rules.leaf
        leaf = operators.leaf
        factor, share = divided(leaf.ravel(), np.full(len(leaf), leaf.shape[1]))
        shares = _smallest(share.reshape(leaf.shape))
        vector = Vocabulary(_named(rules[:, 0], shares)).numbers(_named(rules[:, 0], shares))
        first = np.unique(vector, return_index=True)[1]
        rest = operators.with_leaf_rules(rules[:0], np.empty((0, leaf.shape[1])))
        return CompactOperators(rest, rules, vector, factor, shares[first])

    @property
    def rules(self) -> Rules:
        """The rules of the operators."""
        return Rules(self.leaf_rules, self.rest.rules.unary, self.rest.rules.binary)

    @property
    def operators(self) -> ObservableOperators:
        """The operators with the vectors of all leaf rules, which are computed at each access."""
        return self.rest.with_leaf_rules(self.leaf_rules, self.shares[self.vector] * self.factor[:, None])

    def with_leaves(self, rules: IntArray, source: IntArray, factor: FloatArray) -> ObservableOperators:
        """Make operators with leaf rules that are multiples of present ones; see `ObservableOperators.with_leaves`.

        rules: (n, 2) symbol and terminal of each new rule.
        source: (n,) the present leaf rule whose vector each new rule takes.
        factor: (n,) the factor of this vector.
        """
        leaf = self.shares[self.vector[source]] * self.factor[source, None]
        return self.rest.with_leaf_rules(rules, leaf * factor[:, None])
