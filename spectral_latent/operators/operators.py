"""Hold numbers for all roots and rules of a grammar with latent states: counts, expected counts, and operators.

Observable operators are the parameters of a latent tree model in some basis of its latent spaces.

| here | long paper | shape | meaning for operators |
| --- | --- | --- | --- |
| `root[a]` | c¹_a | (m_a,) | symbol a at the root |
| `leaf[r]` | c∞_{a→x} | (m_a,) | rule r = a → x |
| `unary[r]` | - | (m_a, m_b) | rule r = a → b |
| `binary[r]` | C^{a→b c} | (m_a, m_b, m_c) | rule r = a → b c; C(y, z)_i = Σ_jk C[i, j, k] y_j z_k |
| `states[a]` | m | - | dimensions of symbol a's latent space |

In the basis of the states, root is π, leaf is q and binary is t (Figures 2 and 3).  In another basis G^a the numbers
differ, but every tree probability and marginal is the same (Theorem 1).

The first axis of each array has the states of the parent a.  Vectors and matrices are padded with zeros to the largest
state count M.  Each kind of table has its own arithmetic: counts are added over the rules of both sides, expected
counts number by number, and operators are not added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from spectral_latent._compiled import check_column, check_range, read_only
from spectral_latent._options import ShortRepr, counted
from spectral_latent.operators.tensors import Tensor, Tensors, read_only_view
from spectral_latent.trees import BoolArray, FloatArray, IntArray, Rules, SkeletalTrees, ranges

Table = TypeVar("Table", bound="RuleTable")


def row_sums(which: IntArray, rows: FloatArray, size: int) -> FloatArray:
    """Sum the rows (n, M) with the same value of `which`, (size, M).

    which: (n,) the number of the sum to which each row is added.
    rows: (n, M) the rows; they may have more axes.
    size: the number of sums; a sum of no rows is zero.

    >>> row_sums(np.array([1, 0, 1]), np.array([[1.0], [2.0], [4.0]]), 3)
    array([[2.],
           [5.],
           [0.]])
    """
    if (np.diff(which) < 0).any():
        order = np.argsort(which, kind="stable")
        which = which[order]
        rows = rows[order]
    sums = np.zeros((size, *rows.shape[1:]))
    if len(which):
        values, starts = np.unique(which, return_index=True)
        sums[values] = np.add.reduceat(rows, starts, axis=0)
    return sums


@dataclass(frozen=True, eq=False, repr=False)
class RuleTable(ShortRepr):
    """Base of tables of numbers for S symbols and their rules.

    rules: the leaf, unary and binary rules.
    states: (S,) the number of latent states of each symbol, at least 1.
    root: (S, M) the numbers of root symbols.
    leaf: (R0, M) the numbers of leaf rules.
    unary: (R1, M, M) the numbers of unary rules.
    binary: R2 tensors, kept as `Tensors`; any sequence of `Tensor` may be given."""

    rules: Rules
    states: IntArray
    root: FloatArray
    leaf: FloatArray
    unary: FloatArray
    binary: Tensors

    @property
    def sizes(self) -> str:
        """The sizes of the model."""
        rules = len(self.rules.leaf) + len(self.rules.unary) + len(self.rules.binary)
        states = counted(int(self.states.max(initial=0)), "state")
        return f"{counted(self.n_symbols, 'symbol')} of up to {states}, {counted(rules, 'rule')}"

    def __post_init__(self) -> None:
        if not isinstance(self.binary, Tensors):
            object.__setattr__(self, "binary", Tensors.of(self.binary))

    @property
    def n_symbols(self) -> int:
        """The number of symbols, S."""
        return len(self.states)

    def sums(self) -> FloatArray:
        """Sum the numbers of each symbol and state over its rules and the states of the children, (S, M)."""
        total = row_sums(self.rules.leaf[:, 0], self.leaf, len(self.root))
        total += row_sums(self.rules.unary[:, 0], self.unary.sum(axis=2), len(self.root))
        tensor, state, sums = self.binary.row_sums()
        np.add.at(total, (self.rules.binary[tensor, 0], state), sums)
        return total

    def scale(self: Table, factors: FloatArray) -> Table:
        """Multiply the numbers of every rule by the factor of its parent's state.

        factors: (S, M) the factor of each state of each symbol."""
        binary = self.binary.with_data(self.binary.data.copy())
        if len(binary.data) == len(binary):  # tensors of one number each, of which a chain of many symbols has millions
            np.multiply(binary.data, factors[self.rules.binary[:, 0], 0], out=binary.data)
        else:
            for a, matrix in zip(self.rules.binary[:, 0].tolist(), binary.matrices(), strict=True):
                matrix *= factors[a, : len(matrix), None]
        leaf = factors[self.rules.leaf[:, 0]]
        leaf *= self.leaf  # in place: leaf rules may be millions
        unary = self.unary * factors[self.rules.unary[:, 0], :, None]
        return replace(self, leaf=leaf, unary=unary, binary=binary)

    def restrict(self: Table, rules: Rules, symbol: IntArray, terminal: IntArray) -> Table:
        """Select some symbols and rules, with the numbers of another table.

        rules: rules of this table, with the numbers of n symbols and X terminals in the other table.
        symbol: (n,) the number of each of these symbols in this table.
        terminal: (X,) the number of each of these terminals in this table.
        Raises ValueError if a rule is missing in this table."""
        here = np.stack([symbol[rules.leaf[:, 0]], terminal[rules.leaf[:, 1]]], axis=1)
        leaf = Rules.find(self.rules.leaf, here)
        unary = Rules.find(self.rules.unary, symbol[rules.unary])
        binary = Rules.find(self.rules.binary, symbol[rules.binary])
        if min(rows.min(initial=0) for rows in (leaf, unary, binary)) < 0:
            raise ValueError("a table cannot be restricted to rules that it lacks")
        return replace(
            self,
            rules=rules,
            states=self.states[symbol],
            root=self.root[symbol],
            leaf=self.leaf[leaf],
            unary=self.unary[unary],
            binary=Tensors.of(self.binary[r] for r in binary.tolist()),
        )

    def merge(self: Table, other: Table) -> Table:
        """Add the numbers of the rules of both tables; a rule or a symbol that one table lacks counts as zero there.

        other: a table of the same kind, whose symbols have the same numbers of states.
        Raises ValueError if they have others, or if the largest numbers of states differ."""
        common = min(self.n_symbols, other.n_symbols)
        width = self.root.shape[1]
        if width != other.root.shape[1] or not np.array_equal(self.states[:common], other.states[:common]):
            raise ValueError(f"tables of {self.states.tolist()} and {other.states.tolist()} states cannot be added")
        states = self.states if self.n_symbols >= other.n_symbols else other.states
        leaf_rules, leaf = _union(self.rules.leaf, self.leaf, other.rules.leaf, other.leaf)
        unary_rules, unary = _union(self.rules.unary, self.unary, other.rules.unary, other.unary)
        binary_rules, binary = _union_of_tensors(self.rules.binary, self.binary, other.rules.binary, other.binary)
        root = np.zeros((len(states), width))
        root[: self.n_symbols] += self.root
        root[: other.n_symbols] += other.root
        rules = Rules(leaf_rules, unary_rules, binary_rules)
        return replace(self, rules=rules, states=states, root=root, leaf=leaf, unary=unary, binary=binary)


@dataclass(frozen=True, eq=False, repr=False)
class Counts(RuleTable):
    """The counts of roots and rules with each choice of states; the terms of a tensor sum to the counts.

    >>> from spectral_latent.trees import SkeletalTrees
    >>> trees = SkeletalTrees.of([0, 0, 0], left=[-1, -1, 0], right=[-1, -1, 1], terminal=[5, 6, -1], root=[2])
    >>> twice = Counts.of_trees(trees) + Counts.of_trees(trees)
    >>> twice.leaf.ravel(), twice.binary.data, twice.symbol, twice.n_trees
    (array([2., 2.]), array([2.]), array([6.]), 2.0)
    """

    @staticmethod
    def of_trees(trees: SkeletalTrees, weight: FloatArray | None = None) -> Counts:
        """Count the roots and rules of trees, with one state a symbol.

        weight: (T,) the weight of each tree; 1 if not given."""
        rules = trees.rules
        rule = trees.rule
        n_symbols = int(trees.symbol.max(initial=-1)) + 1
        weight = np.ones(len(trees.root)) if weight is None else weight
        of_node = weight[trees.tree]

        def counts(kind: BoolArray, n_rules: int) -> FloatArray:
            """Count the rules at the nodes of one kind, (n_rules,)."""
            return np.bincount(rule[kind], of_node[kind], minlength=n_rules).astype(float)

        return Counts.of_rules(
            rules,
            root=np.bincount(trees.symbol[trees.root], weight, minlength=n_symbols).astype(float),
            leaf=counts(trees.is_leaf, len(rules.leaf)),
            unary=counts(trees.is_unary, len(rules.unary)),
            binary=counts(trees.is_binary, len(rules.binary)),
        )

    @staticmethod
    def of_rules(rules: Rules, root: FloatArray, leaf: FloatArray, unary: FloatArray, binary: FloatArray) -> Counts:
        """Make a table with one state a symbol, from one number for each root and rule.

        rules: the R0 leaf rules, R1 unary rules and R2 binary rules of the grammar.
        root: (S,) the number of each root symbol.
        leaf: (R0,) the number of each leaf rule.
        unary: (R1,) the number of each unary rule.
        binary: (R2,) the number of each binary rule."""
        states = np.ones(len(root), dtype=np.int64)
        return Counts(rules, states, root[:, None], leaf[:, None], unary[:, None, None], Tensors.scalars(binary))

    @property
    def n_trees(self) -> float:
        """The number of trees; if trees have weights, the sum of the weights."""
        return float(self.root.sum())

    @cached_property
    def symbol(self) -> FloatArray:
        """The number of nodes of each symbol, (S,)."""
        return np.asarray(self.sums().sum(axis=1))

    def __add__(self, other: Counts) -> Counts:
        """Add the counts of other trees.  A rule or a symbol that one table lacks counts as zero there."""
        return self.merge(other)


@dataclass(frozen=True, eq=False, repr=False)
class ExpectedCounts(RuleTable):
    """The expected count of each number of some operators, in their layout, and the likelihood under these operators.

    In a factored tensor, each factor has its own counts; the counts of a term have the same sum in all three factors.

    log_likelihood: the sum of log Z over the components of the forest, each times its weight; 0 for a prior."""

    log_likelihood: float = 0.0

    def __add__(self, other: ExpectedCounts) -> ExpectedCounts:
        """Add other counts under the same operators, number by number."""
        return replace(
            self,
            root=self.root + other.root,
            leaf=self.leaf + other.leaf,
            unary=self.unary + other.unary,
            binary=self.binary.with_data(self.binary.data + other.binary.data),
            log_likelihood=self.log_likelihood + other.log_likelihood,
        )

    def counts(self) -> Counts:
        """Make tensors Σ_q n_q p(i | q) p(j | q) p(k | q): the second and third factors of each term q sum to one."""
        binary = self.binary.with_data(self.binary.data.copy())
        for r in np.flatnonzero(binary.terms).tolist():
            tensor = binary[r]
            for factor in (tensor.second, tensor.third):
                total = factor.sum(axis=1, keepdims=True)
                np.divide(factor, total, out=factor, where=total > 0)
        return Counts(self.rules, self.states, self.root, self.leaf, self.unary, binary)


def _union(rows: IntArray, counts: FloatArray, other_rows: IntArray, other: FloatArray) -> tuple[IntArray, FloatArray]:
    """Merge two tables of rules, (R, k) and (R', k), and add the numbers of each rule."""
    if np.array_equal(rows, other_rows):
        return rows, counts + other
    table, which = Rules.distinct(np.concatenate([rows, other_rows]))
    total = np.zeros((len(table), *counts.shape[1:]))
    total[which[: len(rows)]] += counts
    total[which[len(rows) :]] += other
    return table, total


def _union_of_tensors(
    rows: IntArray, tensors: Tensors, other_rows: IntArray, other: Tensors
) -> tuple[IntArray, Tensors]:
    """Merge two tables of binary rules, (R, 3) and (R', 3), and add the tensors of each rule."""
    # Number the rules of both tables together; `which` has the numbers of the first table, then those of the second.
    table, which = Rules.distinct(np.concatenate([rows, other_rows]))
    rules, other_rules = np.split(which, [len(rows)])
    pairs = ((rules, tensors), (other_rules, other))
    if not tensors.terms.any() and not other.terms.any():
        return table, _sum_of_dense(len(table), pairs)
    sums: list[Tensor | None] = [None] * len(table)
    for numbers, several in pairs:
        for r, tensor in zip(numbers.tolist(), several, strict=True):
            earlier_sum = sums[r]
            sums[r] = tensor if earlier_sum is None else (earlier_sum + tensor).compact()
    return table, Tensors.of(tensor for tensor in sums if tensor is not None)


def _sum_of_dense(n_rules: int, pairs: Sequence[tuple[IntArray, Tensors]]) -> Tensors:
    """Add dense tensors of rules 0 ... n_rules - 1, without a loop over rules.

    pairs: the rules (R,) of some tensors, each at most once, and these tensors."""
    shapes = np.ones((n_rules, 3), dtype=np.int64)
    for rules, tensors in pairs:
        shapes[rules] = tensors.shapes
    sizes = shapes.prod(axis=1)
    offset = np.cumsum(sizes) - sizes
    data = np.zeros(int(sizes.sum()))
    for rules, tensors in pairs:
        # The numbers of a tensor are neighbours, and no two of these tensors have the same rule.
        place, _ = ranges(offset[rules], offset[rules] + sizes[rules])
        data[place] += tensors.data
    return Tensors(shapes, np.zeros(n_rules, dtype=np.int64), data)


class PackedOperators(NamedTuple):
    """The operators as flat arrays, as compiled code reads them; see `RuleTable` and `Tensors`."""

    states: IntArray  # (S,)
    root: FloatArray  # (S, M)
    leaf: FloatArray  # (R0, M)
    unary: FloatArray  # (R1, M, M)
    binary_rules: IntArray  # (R2, 3)
    offset: IntArray  # (R2 + 1,)
    terms: IntArray  # (R2,)
    data: FloatArray  # flat
    most_terms: int  # the largest number of terms


def _check_leaves(rules: IntArray, leaf: FloatArray, n_symbols: int, m_max: int) -> None:
    """Raise ValueError unless leaf rules (R0, 2) and numbers (R0, M) fit together, and all symbols exist."""
    check_column("leaf rules", rules, (len(rules), 2), np.int64)
    check_column("numbers of leaf rules", leaf, (len(rules), m_max), np.float64)
    check_range("symbols of leaf rules", rules[:, 0], 0, n_symbols)


@dataclass(frozen=True, eq=False, repr=False)
class ObservableOperators(RuleTable):
    """Operators of S symbols, as a table of rules.

    probabilities: whether the numbers are probabilities, because the basis has a coordinate for each state.
    singular_values: (S, K) the singular values of each symbol's Ω̂, the largest first, with zeros for a symbol that has
    fewer than K; K is at least the largest number of states.  None if no decomposition has found the latent spaces.
    Raises ValueError if rules, states and arrays do not fit together, because compiled code does not check them.  For
    the same reason rules and states cannot be written to afterwards."""

    probabilities: bool = False
    singular_values: FloatArray | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        rules = self.rules
        n_symbols, m_max = np.shape(self.root) if np.ndim(self.root) == 2 else (0, 0)
        check_column("numbers of roots", self.root, (n_symbols, m_max), np.float64)
        check_column("numbers of states", self.states, (n_symbols,), np.int64)
        _check_leaves(rules.leaf, self.leaf, n_symbols, m_max)
        check_column("unary rules", rules.unary, (len(rules.unary), 2), np.int64)
        check_column("binary rules", rules.binary, (len(rules.binary), 3), np.int64)
        check_column("numbers of unary rules", self.unary, (len(rules.unary), m_max, m_max), np.float64)
        check_range("numbers of states", self.states, 1, m_max + 1)
        if self.singular_values is not None:
            shape = np.shape(self.singular_values)
            least = int(self.states.max(initial=0))
            if len(shape) != 2 or shape[0] != n_symbols or shape[1] < least:
                raise ValueError(f"singular values have shape {shape}, and must have ({n_symbols}, {least} or more)")
        check_range("symbols of unary rules", rules.unary.ravel(), 0, n_symbols)
        check_range("symbols of binary rules", rules.binary.ravel(), 0, n_symbols)
        shapes = self.states.take(rules.binary)
        if self.binary.shapes.shape != shapes.shape:
            raise ValueError(f"{len(self.binary)} tensors for {len(shapes)} binary rules")
        if not np.array_equal(self.binary.shapes, shapes):
            r = int(np.argmax((self.binary.shapes != shapes).any(axis=1)))
            raise ValueError(
                f"the tensor of binary rule {r} has shape {self.binary.shapes[r]}, and must have {shapes[r]}"
            )
        object.__setattr__(self, "states", read_only(self.states))
        object.__setattr__(self, "rules", Rules(*map(read_only, (rules.leaf, rules.unary, rules.binary))))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Check the arrays of a copy, too."""
        self.__dict__.update(state)
        self.__post_init__()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is computed from the fields, so that workers do not get it twice."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def packed(self) -> PackedOperators:
        """View the operators as flat arrays that cannot be written to."""
        tensors = (self.binary.offset, self.binary.terms, self.binary.data)
        columns = [self.states, self.root, self.leaf, self.unary, self.rules.binary, *tensors]
        return PackedOperators._make([*map(read_only_view, columns), int(self.binary.terms.max(initial=0))])

    @staticmethod
    def probabilities_of(numbers: Counts | ObservableOperators) -> ObservableOperators:
        """Scale non-negative numbers to probabilities: the roots sum to one, and so do the rules of every state.

        If all rules of a state are zero, they stay zero.

        numbers: counts, or operators whose states have sums other than one.

        >>> rules = Rules(np.array([[0, 0], [0, 1]]), np.empty((0, 2), int), np.empty((0, 3), int))
        >>> counts = Counts.of_rules(rules, np.array([3.0]), np.array([1.0, 3.0]), np.zeros(0), np.zeros(0))
        >>> ObservableOperators.probabilities_of(counts).leaf.ravel()
        array([0.25, 0.75])
        """
        total = numbers.sums()
        table = numbers.scale(np.divide(1.0, total, out=np.zeros_like(total), where=total > 0))
        rows = (table.root / table.root.sum(), table.leaf, table.unary, table.binary)
        return ObservableOperators(table.rules, table.states, *rows, probabilities=True)

    def with_leaf_rules(self, rules: IntArray, leaf: FloatArray, *, trusted: bool = False) -> ObservableOperators:
        """Replace all leaf rules, for example by the rules of the terminals of one forest; other rules are shared.

        The other rules are not checked again, because they are read-only.

        rules: (R, 2) symbol and terminal of each rule.
        leaf: (R, M) the vectors of the rules.
        trusted: whether they are rules of these symbols for certain; otherwise, raises ValueError as the class does.

        >>> rules = Rules(np.array([[0, 7]]), np.empty((0, 2), int), np.empty((0, 3), int))
        >>> operators = ObservableOperators(
        ...     rules, np.array([1]), np.array([[0.5]]), np.array([[0.25]]), np.empty((0, 1, 1)), [])
        >>> operators.with_leaf_rules(np.array([[0, 0], [0, 1]]), np.array([[0.5], [0.75]])).leaf.ravel()
        array([0.5 , 0.75])
        """
        if not trusted:
            _check_leaves(rules, leaf, *self.root.shape)
        operators = object.__new__(ObservableOperators)
        own = Rules(read_only(rules), self.rules.unary, self.rules.binary)
        packed = self.packed._replace(leaf=read_only_view(leaf))
        operators.__dict__.update(self.__dict__ | {"rules": own, "leaf": leaf, "packed": packed})
        return operators

    def with_leaves(self, rules: IntArray, source: IntArray, factor: FloatArray) -> ObservableOperators:
        """Replace all leaf rules by multiples of some of them; see `with_leaf_rules`.

        rules: (n, 2) symbol and terminal of each new rule.
        source: (n,) the present leaf rule whose vector each new rule takes.
        factor: (n,) the factor of this vector."""
        return self.with_leaf_rules(rules, self.leaf[source] * factor[:, None], trusted=True)

    def restrict(self, rules: Rules, symbol: IntArray, terminal: IntArray) -> ObservableOperators:
        """Select some symbols (n,), terminals (X,) and rules, as every table does, and the singular values of symbols.

        >>> rules = Rules(np.array([[0, 7], [1, 5]]), np.empty((0, 2), int), np.empty((0, 3), int))
        >>> operators = ObservableOperators(rules, np.array([1, 1]), np.array([[0.5], [0.25]]),
        ...     np.array([[1.0], [0.75]]), np.empty((0, 1, 1)), [])
        >>> one = Rules(np.array([[0, 0]]), rules.unary, rules.binary)
        >>> operators.restrict(one, np.array([1]), np.array([5])).leaf
        array([[0.75]])
        """
        sigma = self.singular_values
        if sigma is None:
            return super().restrict(rules, symbol, terminal)
        return replace(
            replace(self, singular_values=None).restrict(rules, symbol, terminal), singular_values=sigma[symbol]
        )
