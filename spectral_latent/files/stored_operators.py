"""Store operators: leaf rules share vectors, and numbers are factors times shares.

An array that does not fit the other arrays is refused: rules must be in order, and the sizes of tensors must add up.
The owner of operators knows the names of terminals, and checks that there are enough.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from spectral_latent._options import AtLeast
from spectral_latent.files.codec import array_fault, register
from spectral_latent.files.compact import CompactOperators
from spectral_latent.files.declarations import Axes, Index, Shares, Sorted
from spectral_latent.files.rounding import divided
from spectral_latent.operators import ObservableOperators, Tensors, row_sums
from spectral_latent.trees import BoolArray, FloatArray, IntArray, Rules

__all__ = ["StoredOperators"]

_ROUNDING = 2.0**-9  # a number of a tensor is a product of three shares, each of 11 binary digits
_COARSE = 2.0**10
_MOST_NUMBERS = 1 << 28  # the largest table of vectors, padded to one length


def _are_states(vector: IntArray, symbol: IntArray, states: IntArray, m: int) -> BoolArray:
    """Tell which numbers (V, m) of the vectors of leaf rules belong to states; the other numbers are padding.

    vector: (R,) the vector of each leaf rule.
    symbol: (R,) the symbol of each leaf rule.
    states: (S,) the numbers of states.
    Raises ValueError if a vector has no rule, or rules of several symbols.
    """
    parent = np.full(int(vector.max(initial=-1)) + 1, -1, dtype=np.int64)
    parent[vector] = symbol
    if (parent < 0).any() or (parent[vector] != symbol).any():
        raise ValueError("the vectors do not fit the leaf rules")
    are_states: BoolArray = np.arange(m) < states[parent, None]
    return are_states


def _check_sums(sums: FloatArray, states: IntArray) -> None:
    """Check that the rules of each state are a distribution, given their sums (S, M); raise ValueError if not.

    Rounding changes a sum by less than _ROUNDING.  Coarse probabilities, of one state a symbol, smooth each emission by
    itself, so that their sums only have the size of one.
    """
    is_state = np.arange(sums.shape[1]) < states[:, None]
    low, high = (1 / _COARSE, _COARSE) if (states == 1).all() else (1.0 - _ROUNDING, 1.0 + _ROUNDING)
    if not ((sums >= low) & (sums <= high))[is_state].all():
        raise ValueError("the rules of a state do not sum to one")


@dataclass(frozen=True, eq=False)
class StoredOperators:
    """The arrays of operators in a file.

    The parts of tensors are divided into factors and shares, like the vectors of leaf rules; see `rounding`.

    probabilities: whether the numbers are probabilities: no number is negative, and the rules of each state are a
        distribution.
    """

    probabilities: bool
    states: Annotated[IntArray, Axes("S"), AtLeast(1)]
    root: Annotated[FloatArray, Axes("S", "M")]
    leaf_rules: Annotated[IntArray, Axes("L", 2), AtLeast(0), Sorted()]
    unary_rules: Annotated[IntArray, Axes("U", 2), Index("S"), Sorted()]
    binary_rules: Annotated[IntArray, Axes("B", 3), Index("S"), Sorted()]
    unary: Annotated[FloatArray, Axes("U", "M", "M")]
    terms: Annotated[IntArray, Axes("B"), AtLeast(0)]
    data_factor: Annotated[FloatArray, Axes("P")]
    data_share: Annotated[FloatArray, Axes("N")]
    leaf_factor: Annotated[FloatArray, Axes("L"), AtLeast(0.0)]
    leaf_vector: Annotated[IntArray, Axes("L"), Index("L")]
    leaf_share: Annotated[FloatArray, Axes("V")]
    singular_values: Annotated[FloatArray, Axes("S", "K"), AtLeast(0.0)] | None = None

    @staticmethod
    def of(operators: ObservableOperators | CompactOperators) -> StoredOperators:
        """Divide the numbers of operators into factors and shares.

        operators: the operators to store.
        """
        compact = operators if isinstance(operators, CompactOperators) else CompactOperators.of(operators)
        rest, rules = compact.rest, compact.rules
        is_state = _are_states(compact.vector, rules.leaf[:, 0], rest.states, rest.root.shape[1])
        return StoredOperators(
            rest.probabilities,
            rest.states,
            rest.root,
            rules.leaf,
            rules.unary,
            rules.binary,
            rest.unary,
            rest.binary.terms,
            *divided(rest.binary.data, rest.binary.parts),
            compact.factor,
            compact.vector,
            compact.shares[is_state].astype(np.float64),
            rest.singular_values,
        )

    def compact(self) -> CompactOperators:
        """Make operators whose leaf rules share vectors.  Raises ValueError if the arrays do not fit together."""
        rules = Rules(self.leaf_rules, self.unary_rules, self.binary_rules)
        for rows in (rules.leaf, rules.unary, rules.binary):
            rows.setflags(write=False)  # so that operators need no copy
        shapes = self.states[rules.binary]
        Tensors.check_sizes(shapes, self.terms, len(self.data_share))
        parts = Tensors.parts_of(shapes, self.terms)
        if len(self.data_factor) != len(parts):
            raise ValueError(f"{len(self.data_factor)} factors of {len(parts)} parts of tensors")
        m = self.root.shape[1]
        if self.root[np.arange(m) >= self.states[:, None]].any():
            raise ValueError("a root has numbers beyond its states")
        if (int(self.leaf_vector.max(initial=0)) + 1) * m > _MOST_NUMBERS:
            raise ValueError("the vectors of leaf rules are too large")
        is_state = _are_states(self.leaf_vector, rules.leaf[:, 0], self.states, m)
        shares = np.zeros(is_state.shape)
        shares[is_state] = self.leaf_share  # an error if there are not as many numbers
        data = self.data_share * np.repeat(self.data_factor, parts)
        for product in (self.leaf_share * self.leaf_factor.max(initial=0.0), data):
            if fault := array_fault(product, np.float64, (None,)):
                raise ValueError(f"a product {fault}")
        rest = ObservableOperators(
            replace(rules, leaf=rules.leaf[:0]),
            self.states,
            self.root,
            np.empty((0, m)),
            self.unary,
            Tensors(shapes, self.terms, data),
            self.probabilities,
            self.singular_values,
        )
        made = CompactOperators(rest, rules.leaf, self.leaf_vector, self.leaf_factor, shares)
        if self.probabilities:
            self._check_probabilities(made, shares)
        return made

    def _check_probabilities(self, compact: CompactOperators, shares: FloatArray) -> None:
        """Raise ValueError unless no number is negative, and roots and rules are distributions.

        shares: (V, M) the vectors of leaf rules.
        """
        numbers = (self.root, self.unary, self.data_factor, self.data_share, self.leaf_share)
        if any((array < 0.0).any() for array in numbers):
            raise ValueError("a probability is negative")
        if not Shares().accepts(self.root.ravel()):
            raise ValueError("the roots do not sum to one")
        n, rest, rules = len(self.states), compact.rest, compact.rules
        symbol = np.zeros(len(shares), dtype=np.int64)
        symbol[self.leaf_vector] = rules.leaf[:, 0]
        leaves = shares * np.bincount(self.leaf_vector, self.leaf_factor, minlength=len(shares))[:, None]
        sums = row_sums(symbol, leaves, n) + row_sums(rules.unary[:, 0], rest.unary.sum(axis=2), n)
        tensor, state, of_state = rest.binary.row_sums()
        np.add.at(sums, (rules.binary[tensor, 0], state), of_state)
        _check_sums(sums, self.states)

    def operators(self) -> ObservableOperators:
        """Make operators with the vectors of all leaf rules.  Raises ValueError as `compact` does."""
        return self.compact().operators


register(CompactOperators, StoredOperators, StoredOperators.of, StoredOperators.compact)
register(ObservableOperators, StoredOperators, StoredOperators.of, StoredOperators.operators)
