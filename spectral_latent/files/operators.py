"""Store operators: leaf rules share vectors, and numbers are factors times shares, of two bytes.

Smoothing gives rare terminals a mean vector, so that the vectors of most leaf rules of a symbol are multiples of a few
vectors: c∞ of leaf rule r is `factor[r] * shares[vector[r]]`.  Operators of this form take a tenth of the memory.

Numbers are rounded to digits that are the same on all kinds of processors:

| here | type in a file | meaning |
| --- | --- | --- |
| group | - | numbers of similar size, such as the entries of one vector |
| `factor` | float32 | the largest absolute value of a group; float64 if it is too small for a float32 |
| `share` | float16 | a number divided by the factor of its group, between -1 and 1 |

A share has 11 binary digits: a number keeps three decimal digits, or 3e-8 of the largest number of its group.  The
product of factor and share has 35 binary digits, so that double precision holds it exactly.

Code for another kind of processor adds up numbers in another order, which changes the last of the 53 binary digits of a
sum, and more digits after many sums.  The digits that rounding keeps are the same, unless a number lies in the middle
between two rounded numbers.

An array that does not fit the other arrays is refused: rules must be in order, and the sizes of tensors must add up.
The owner of operators knows the names of terminals, and checks that there are enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from spectral_latent._compiled import read_only
from spectral_latent._options import AtLeast
from spectral_latent.files.codec import SMALL, Axes, Index, are_sorted, array_fault, register, sum_to_one
from spectral_latent.operators import ObservableOperators, Tensors
from spectral_latent.trees import BoolArray, FloatArray, IntArray, Rules, Vocabulary

_DIGITS = 24  # binary digits of a factor
_COMPACT = (7, 6)  # binary digits of a factor and of a share in a compact model
_LEAST = 2.0**-10  # smaller shares of the numbers of a tensor are 0 in a compact model
_ALIKE = 1e-6  # how far a vector of a compact model may be from the one that it shares, times its part of its symbol
_ROUNDING = 2.0**-5  # the rules of a state, of a compact model too, sum to one up to this
_COARSE = 2.0**-40, 2.0**10  # the range of the sums of coarse rules
_FIRST = 100  # vectors
_MOST_NUMBERS = 1 << 28  # the largest table of vectors, padded to one length


def round_digits(numbers: FloatArray, digits: int = _DIGITS) -> FloatArray:
    """Round numbers to some binary digits.

    numbers: (n,) the numbers, or an array of any other shape."""
    mantissa, exponent = np.frexp(numbers)
    return np.asarray(np.ldexp(np.round(np.ldexp(mantissa, digits)), exponent - digits), dtype=np.float64)


def _round_parts(numbers: FloatArray, lengths: IntArray, digits: int = _DIGITS) -> tuple[FloatArray, FloatArray]:
    """Compute the factor of each group (n,) of given lengths (n,), and the share of each number (N,), rounded."""
    if not len(lengths):
        return np.zeros(0), np.zeros(0)
    largest = np.maximum.reduceat(np.abs(numbers), np.cumsum(lengths) - lengths)
    factor = round_digits(largest, digits)
    divisor = np.repeat(np.where(factor > 0.0, factor, np.inf), lengths)
    return factor, (numbers / divisor).astype(np.float16).astype(np.float64)


def round_groups(numbers: FloatArray, lengths: IntArray, compact: bool = False) -> FloatArray:
    """Round numbers (N,) to the nearest products of a factor and a share.

    The largest number of a group keeps 24 binary digits.  Rounding a second time changes nothing.

    numbers: (N,) n groups, one after another.
    lengths: (n,) the number of numbers in each group, at least 1."""
    digits, of_share = _COMPACT if compact else (_DIGITS, _DIGITS)
    factor, share = _round_parts(numbers, lengths, digits)
    return round_digits(share, of_share) * np.repeat(factor, lengths)


def divide_groups(numbers: FloatArray, lengths: IntArray) -> tuple[FloatArray, FloatArray]:
    """Divide numbers (N,) exactly into the factors of their groups (n,) and shares (N,).

    If any number was not rounded, all factors are 1.

    numbers: (N,) n groups, one after another.
    lengths: (n,) the number of numbers in each group, at least 1."""
    factor, share = _round_parts(numbers, lengths)
    if np.array_equal(share * np.repeat(factor, lengths), numbers):
        return factor, share
    return np.ones(len(lengths)), numbers


def _share_vectors(vectors: FloatArray) -> FloatArray:
    """Replace the vectors of a symbol's leaf rules (R, m), without negative numbers, by multiples of fewer vectors.

    From the largest vector to the smallest, each joins the most alike of the groups before it, if one less the cosine
    of their angle, times the vector's part of the sum of all vectors, is below `_ALIKE`; otherwise it is a new group.
    The vectors of a group take the direction of their sum, and keep their own sums, so that the sum of all stays."""
    sums = vectors.sum(axis=1)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    least = 1.0 - _ALIKE * sums.sum() / sums
    firsts = np.empty_like(units)  # the first vector of each group
    group = np.empty(len(units), dtype=np.int64)
    n = 0
    for row in np.argsort(-sums, kind="stable"):
        cosines = firsts[:n] @ units[row]
        group[row] = cosines.argmax() if cosines.max(initial=-1.0) > least[row] else n
        if group[row] == n:
            firsts[n] = units[row]
            n += 1
    directions = np.zeros((n, vectors.shape[1]))
    np.add.at(directions, group, vectors)
    _, shares = _round_parts(directions.ravel(), np.full(n, vectors.shape[1]))
    shares = round_digits(shares, _COMPACT[1]).reshape(directions.shape)[group]
    return shares * round_digits(sums / shares.sum(axis=1), _COMPACT[0])[:, None]


def round_operators(operators: ObservableOperators, compact: bool = False) -> ObservableOperators:
    """Round all numbers of operators, so that a file holds most of them in two bytes.

    The vector of a leaf rule is a group of numbers, and so is each part of a tensor.  The numbers of roots and of unary
    rules have 24 binary digits.

    compact: whether to keep 6 binary digits of the shares within a group in place of 11, and 7 of its factor, to drop
    the smallest numbers of tensors, and to let leaf rules share vectors of probabilities that are alike.

    >>> from spectral_latent.trees import Rules
    >>> rules = Rules(np.array([[0, 0]]), np.empty((0, 2), int), np.empty((0, 3), int))
    >>> leaf = np.array([[0.75, 0.1]])
    >>> operators = ObservableOperators(
    ...     rules, np.array([2]), np.array([[0.5, 0.5]]), leaf, np.empty((0, 2, 2)), [])
    >>> round_operators(operators).leaf.tolist()
    [[0.75, 0.0999755859375]]
    """
    leaf = operators.leaf.copy()
    symbol = operators.rules.leaf[:, 0]
    if compact and operators.probabilities and leaf.shape[1] > 1:
        for rows in np.split(np.arange(len(leaf)), np.flatnonzero(np.diff(symbol)) + 1):
            rows = rows[leaf[rows].any(axis=1)]
            leaf[rows] = _share_vectors(leaf[rows])
    states = operators.states[symbol]
    is_state = np.arange(leaf.shape[1]) < states[:, None]
    leaf[is_state] = round_groups(leaf[is_state], states, compact)
    data = operators.binary.data
    if compact:
        _, share = _round_parts(data, operators.binary.parts)
        data = np.where(np.abs(share) < _LEAST, 0.0, data)
    sigma = operators.singular_values
    return replace(
        operators,
        root=round_digits(operators.root),
        leaf=leaf,
        unary=round_digits(operators.unary),
        binary=operators.binary.with_data(round_groups(data, operators.binary.parts, compact)),
        singular_values=None if sigma is None else round_digits(sigma, 11),
    )


def _smallest(shares: NDArray[np.floating]) -> NDArray[np.floating]:
    """Convert vectors (V, M) to two bytes a number if no digit is lost."""
    if shares.dtype == np.float16:
        return shares
    with np.errstate(over="ignore"):
        for rows in (shares[:_FIRST], shares):  # the first vectors tell most tables that were not rounded
            small = rows.astype(np.float16)
            if not np.array_equal(small, rows):
                return shares
    return small


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
        """Find the vectors that leaf rules share; they are few if the operators were rounded."""
        rules = operators.rules.leaf
        leaf = operators.leaf
        factor, share = divide_groups(leaf.ravel(), np.full(len(leaf), leaf.shape[1]))
        shares = _smallest(share.reshape(leaf.shape))
        vector = Vocabulary(_named(rules[:, 0], shares)).numbers(_named(rules[:, 0], shares))
        first = np.unique(vector, return_index=True)[1]
        rest = operators.with_leaf_rules(rules[:0], np.empty((0, leaf.shape[1])))
        return CompactOperators(rest, rules, vector, factor, shares[first])

    @staticmethod
    def apart(operators: ObservableOperators) -> CompactOperators:
        """Give each leaf rule its own vector, which takes less time.

        operators: operators whose vectors were not rounded, so that they are different."""
        rules = operators.rules.leaf
        rest = operators.with_leaf_rules(rules[:0], operators.leaf[:0])
        return CompactOperators(rest, rules, np.arange(len(rules)), np.ones(len(rules)), operators.leaf)

    @property
    def rules(self) -> Rules:
        """The rules of the operators."""
        return Rules(self.leaf_rules, self.rest.rules.unary, self.rest.rules.binary)

    @cached_property
    def sums(self) -> FloatArray:
        """The sum of the rules with children of each symbol and state, (S, M); see `RuleTable.sums`."""
        return self.rest.sums()

    @property
    def operators(self) -> ObservableOperators:
        """The operators with the vectors of all leaf rules, which are computed at each access."""
        return self.rest.with_leaf_rules(self.leaf_rules, self.shares[self.vector] * self.factor[:, None])

    def with_leaves(self, rules: IntArray, source: IntArray, factor: FloatArray) -> ObservableOperators:
        """Make operators with leaf rules that are multiples of present ones; see `ObservableOperators.with_leaves`.

        rules: (n, 2) symbol and terminal of each new rule.
        source: (n,) the present leaf rule whose vector each new rule takes.
        factor: (n,) the factor of this vector."""
        leaf = self.shares[self.vector[source]] * self.factor[source, None]
        return self.rest.with_leaf_rules(rules, leaf * factor[:, None], trusted=True)


def _symbols_of(vector: IntArray, symbol: IntArray) -> IntArray:
    """Find the symbol of each vector (V,), given the vector and the symbol of each leaf rule, (R,).

    Raises ValueError if a vector has no rule, or rules of several symbols."""
    parent = np.full(int(vector.max(initial=-1)) + 1, -1, dtype=np.int64)
    parent[vector] = symbol
    if (parent < 0).any() or (parent[vector] != symbol).any():
        raise ValueError("the vectors do not fit the leaf rules")
    return parent


def _are_states(states: IntArray, m: int) -> BoolArray:
    """Tell which numbers (V, m) of vectors belong to their states (V,); the other numbers are padding."""
    are_states: BoolArray = np.arange(m) < states[:, None]
    return are_states


def _check_sums(sums: FloatArray, states: IntArray) -> None:
    """Check that the rules of each state are a distribution, given their sums (S, M); raise ValueError if not.

    Rounding changes a sum by less than _ROUNDING.  Coarse probabilities, of one state a symbol, smooth each emission by
    itself, so that the sum of a symbol is small if its trees have small weights."""
    low, high = _COARSE if (states == 1).all() else (1.0 - _ROUNDING, 1.0 + _ROUNDING)
    if not ((sums >= low) & (sums <= high))[_are_states(states, sums.shape[1])].all():
        raise ValueError("the rules of a state do not sum to one")


@dataclass(frozen=True, eq=False)
class _Arrays:
    """The arrays of compact operators in a file.

    The parts of tensors are divided into factors and shares, like the vectors of leaf rules.

    probabilities: whether the numbers are probabilities: no number is negative, and the rules of each state are a
        distribution."""

    probabilities: bool
    states: Annotated[IntArray, Axes("S"), AtLeast(1)]
    root: Annotated[FloatArray, Axes("S", "M")]
    leaf_rules: Annotated[IntArray, Axes("L", 2), AtLeast(0), are_sorted]
    unary_rules: Annotated[IntArray, Axes("U", 2), Index("S"), are_sorted]
    binary_rules: Annotated[IntArray, Axes("B", 3), Index("S"), are_sorted]
    unary: Annotated[FloatArray, Axes("U", "M", "M")]
    terms: Annotated[IntArray, Axes("B"), AtLeast(0)]
    data_factor: Annotated[FloatArray, Axes("P")]
    data_share: Annotated[FloatArray, Axes("N"), SMALL]
    leaf_factor: Annotated[FloatArray, Axes("L"), AtLeast(0.0)]
    leaf_vector: Annotated[IntArray, Axes("L"), Index("L")]
    leaf_share: Annotated[FloatArray, Axes("V"), SMALL]
    singular_values: Annotated[FloatArray, Axes("S", "K"), AtLeast(0.0)] | None = None

    @staticmethod
    def of(operators: ObservableOperators | CompactOperators) -> _Arrays:
        """Divide the numbers of operators into factors and shares."""
        compact = operators if isinstance(operators, CompactOperators) else CompactOperators.of(operators)
        rest, rules = compact.rest, compact.rules
        symbol = _symbols_of(compact.vector, rules.leaf[:, 0])
        is_state = _are_states(rest.states[symbol], rest.root.shape[1])
        return _Arrays(
            rest.probabilities,
            rest.states,
            rest.root,
            rules.leaf,
            rules.unary,
            rules.binary,
            rest.unary,
            rest.binary.terms,
            *divide_groups(rest.binary.data, rest.binary.parts),
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
        if self.root[~_are_states(self.states, m)].any():
            raise ValueError("a root has numbers beyond its states")
        if (int(self.leaf_vector.max(initial=0)) + 1) * m > _MOST_NUMBERS:
            raise ValueError("the vectors of leaf rules are too large")
        symbol = _symbols_of(self.leaf_vector, rules.leaf[:, 0])
        is_state = _are_states(self.states[symbol], m)
        shares = np.zeros(is_state.shape, self.leaf_share.dtype)
        shares[is_state] = self.leaf_share  # an error if there are not as many numbers
        data = np.repeat(self.data_factor, parts)
        data *= self.data_share
        extreme = self.leaf_share
        if extreme.dtype == np.float16 and extreme.size:  # numbers above zero, and below, are in the order of integers
            extreme = extreme[[extreme.view(np.int16).argmax(), extreme.view(np.uint16).argmax()]]
        for product in (extreme * self.leaf_factor.max(initial=0.0), data):
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
            if min(array.min(initial=0.0) for array in (self.root, self.unary, extreme, data)) < 0.0:
                raise ValueError("a probability is negative")
            self._check_distributions(made, symbol)
        return made

    def _check_distributions(self, compact: CompactOperators, symbol: IntArray) -> None:
        """Raise ValueError unless roots and rules are distributions, given the symbols of vectors, (V,)."""
        if not sum_to_one(self.root.ravel()):
            raise ValueError("the roots do not sum to one")
        # Leaf rules that share a vector add up to the vector times the sum of their factors.
        times = np.bincount(self.leaf_vector, self.leaf_factor, minlength=len(symbol))
        sums = compact.sums.copy()
        ends = [*np.flatnonzero(np.diff(symbol)) + 1, len(symbol)]
        for first, end in pairwise([0, *ends] if len(symbol) else []):  # vectors of one symbol, one after another
            sums[symbol[first]] += times[first:end] @ compact.shares[first:end]
        _check_sums(sums, self.states)

    def operators(self) -> ObservableOperators:
        """Make operators with the vectors of all leaf rules.  Raises ValueError as `compact` does."""
        return self.compact().operators


register(CompactOperators, _Arrays, _Arrays.of, _Arrays.compact)
register(ObservableOperators, _Arrays, _Arrays.of, _Arrays.operators)
