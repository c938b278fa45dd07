"""Hold numbers for all roots and rules of a grammar with latent states.

Counts, expected counts, moments and operators are such tables, and each has its own arithmetic: counts are added over
the rules of both sides, expected counts number by number, and operators are not added.

| here | shape | what it has numbers for |
| --- | --- | --- |
| `root[a]` | (M,) | trees with the root symbol a |
| `leaf[r]` | (M,) | rule r = a → x |
| `unary[r]` | (M, M) | rule r = a → b |
| `binary[r]` | (m_a, m_b, m_c) | rule r = a → b c |

The first axis of each array has the states of the parent a.  Vectors and matrices are padded with zeros to the largest
state count M.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from spectral_latent._options import ShortRepr, counted
from spectral_latent.operators.tensors import Tensor, Tensors
from spectral_latent.trees import BoolArray, FloatArray, IntArray, Rules, SkeletalTrees, ranges

__all__ = ["Counts", "ExpectedCounts", "RuleTable", "row_sums"]

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
    binary: R2 tensors, kept as `Tensors`; any sequence of `Tensor` may be given.
    """

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
        for a, tensor in zip(self.rules.binary[:, 0].tolist(), self.binary, strict=True):
            total[a, : tensor.shape[0]] += tensor.sums()
        return total

    def scaled(self: Table, factors: FloatArray) -> Table:
        """Multiply the numbers of every rule by the factor of its parent's state.

        factors: (S, M) the factor of each state of each symbol.
        """
        data = self.binary.data.copy()
        binary = self.binary.with_data(data)
        for a, matrix in zip(self.rules.binary[:, 0].tolist(), binary.matrices(), strict=True):
            matrix *= factors[a, : len(matrix), None]
        leaf = factors[self.rules.leaf[:, 0]]
        leaf *= self.leaf  # in place: leaf rules may be millions
        unary = self.unary * factors[self.rules.unary[:, 0], :, None]
        return replace(self, leaf=leaf, unary=unary, binary=binary)

    def _plus(self: Table, other: Table) -> Table:
        """Add the numbers of the rules of both tables."""
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

        trees: the T trees.
        weight: (T,) the weight of each tree; 1 if not given.
        """
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
        binary: (R2,) the number of each binary rule.
        """
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
        """Add the counts of other trees.  A rule or a symbol that one table lacks counts as zero there.

        Raises ValueError if a symbol has different numbers of states in the tables, or if their largest numbers of
        states differ.
        """
        return self._plus(other)


@dataclass(frozen=True, eq=False, repr=False)
class ExpectedCounts(RuleTable):
    """The expected count of each number of some operators, in their layout, and the likelihood under these operators.

    In a factored tensor, each factor has its own counts; the counts of a term have the same sum in all three factors.

    log_likelihood: the sum of log Z over the components of the forest, each times its weight; 0 for a prior.
    """

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
    """Merge two tables of rules, and add the numbers of each rule.

    rows, other_rows: (R, k) and (R', k) the rules of the tables.
    counts, other: (R, ...) and (R', ...) the numbers of the rules.
    """
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
    """Merge two tables of binary rules, and add the tensors of each rule.

    rows, other_rows: (R, 3) and (R', 3) the rules of the tables.
    """
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

    pairs: the rules (R,) of some tensors, each at most once, and these tensors.
    """
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
