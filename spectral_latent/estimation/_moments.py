"""Compute moments: sums over the nodes of a treebank.  The moments of shards add up to those of the whole treebank.

x⁺ = [1; x] is a vector behind a one.

| here | long paper | meaning |
| --- | --- | --- |
| `binary[r]` | n · D^{a→b c} | Σ_i z⁺_i ⊗ y⁺_i2 ⊗ y⁺_i3 over the nodes with rule r |
| `unary[r]` | - | Σ_i z⁺_i ⊗ y⁺_i2 |
| `leaf[r]` | n · d∞_{a→x} | Σ_i z⁺_i |
| `root[a]` | T · c¹_a | Σ y⁺ over trees rooted in a |
| `outside[a]`, `inside[a]` | - | Σ z⁺ and Σ y⁺ over all nodes of a |

A product of three augmented vectors has the third-order moment, all pairwise and single moments, and the count;
smoothing needs all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from spectral_latent.operators import Counts, Tensor, Tensors, row_sums
from spectral_latent.operators.rule_table import RuleTable
from spectral_latent.trees import FloatArray, IntArray, Rules, SkeletalTrees

__all__ = [
    "LeafMoments",
    "LeafSmoothing",
    "Moments",
    "Priors",
    "augmented",
    "grouped",
    "moments_from_counts",
]


@dataclass(frozen=True, eq=False)
class LeafMoments:
    """Hold the moments of R0 rules a → x and of the S symbols above them.

    rules: (R0, 2) symbol and terminal of each rule.
    count: (R0,) the count of each rule.
    total: (R0, M) Σ z over the nodes with each rule.
    symbol_count: (S,) the number of nodes of each symbol.
    symbol_total: (S, M) Σ z over all nodes of each symbol.
    """

    rules: IntArray
    count: FloatArray
    total: FloatArray
    symbol_count: FloatArray
    symbol_total: FloatArray


LeafSmoothing = Callable[[LeafMoments], tuple[IntArray, FloatArray]]


class Priors(NamedTuple):
    """Additions of a formalism to the moments, for trees that the treebank lacks.

    leaves: a function from the leaf moments to leaf rules (R0, 2) and sums (R0, M), which may have more rules than the
    treebank; None to keep the moments.
    fragments: the pseudo-count of trees whose roots may have any symbol, divided among the symbols in proportion to
    their nodes, so that a part of a tree is a tree, too.
    rules: pseudo-counts of unary and binary rules; a table with one state for each symbol.
    """

    leaves: LeafSmoothing | None = None
    fragments: float = 0.0
    rules: Counts | None = None


@dataclass(frozen=True, eq=False)
class Moments(RuleTable):
    """Hold sums over nodes as a table of rules, in the notation of this module; M is the largest state count.

    states: (S,) the dimensions of y and z, without the one.
    root: (S, M+1) the sums over roots.
    leaf: (R0, M+1) the sums over the nodes of leaf rules.
    unary: (R1, M+1, M+1) the sums over the nodes of unary rules.
    binary: R2 tensors (m_a+1, m_b+1, m_c+1), the sums over the nodes of binary rules.
    outside: (S, M+1) the sums of z⁺ over all nodes of a symbol.
    inside: (S, M+1) the sums of y⁺ over all nodes of a symbol.
    """

    outside: FloatArray
    inside: FloatArray

    @property
    def n_trees(self) -> float:
        """The number of trees, T."""
        return float(self.root[:, 0].sum())

    @property
    def count(self) -> FloatArray:
        """The number of nodes of each symbol, (S,)."""
        return self.outside[:, 0]

    @staticmethod
    def of_trees(
        trees: SkeletalTrees,
        rules: Rules,
        states: IntArray,
        y: FloatArray,
        z: FloatArray,
        weight: FloatArray | None = None,
    ) -> Moments:
        """Sum the projections of the nodes of trees.

        trees: trees of N nodes.
        rules: the rules to count; nodes with other rules are left out.
        states: (S,) the dimensions of the projections of each symbol.
        y: (N, M) projected inside trees, zero beyond a symbol's states.
        z: (N, M) projected outside trees, zero beyond a symbol's states.
        weight: (N,) the weight of each node; 1 if not given.
        """
        rule = trees.rule_in(rules)
        symbol = trees.symbol
        leaves = np.flatnonzero(trees.is_leaf & (rule >= 0))
        times = np.ones((trees.n_nodes, 1)) if weight is None else weight[:, None]
        # Multiply one vector of each product by the weight.
        outside = times * augmented(z)
        inside = augmented(y)
        weighted = times * inside
        return Moments(
            rules=rules,
            states=states,
            root=row_sums(symbol[trees.root], weighted[trees.root], len(states)),
            leaf=row_sums(rule[leaves], outside[leaves], len(rules.leaf)),
            unary=_unary(trees, rule, rules, inside, outside),
            binary=Tensors.of(_binary(trees, rule, rules, states, inside, outside)),
            outside=row_sums(symbol, outside, len(states)),
            inside=row_sums(symbol, weighted, len(states)),
        )

    def __add__(self, other: Moments) -> Moments:
        """Add the moments of two shards that share states and projections."""
        return replace(self._plus(other), outside=self.outside + other.outside, inside=self.inside + other.inside)

    def transformed(self, states: IntArray, inside: list[FloatArray], outside: list[FloatArray]) -> Moments:
        """Compute the moments after linear maps of the projections, y to A y and z to B z.

        states: (S,) the dimensions m' of the maps' results.
        inside: for each symbol the matrix A (m', m).
        outside: for each symbol the matrix B (m', m).
        """
        a_plus, b_plus = ([_augmented_map(matrix) for matrix in maps] for maps in (inside, outside))
        every = np.arange(len(states))
        parent, child = self.rules.unary.T
        return replace(
            self,
            states=states,
            root=_mapped(self.root, a_plus, every),
            leaf=_mapped(self.leaf, b_plus, self.rules.leaf[:, 0]),
            unary=_mapped(_mapped(self.unary, b_plus, parent), a_plus, child),
            binary=Tensors.of(
                tensor.transform((b_plus[a], a_plus[b], a_plus[c]))
                for tensor, (a, b, c) in zip(self.binary, self.rules.binary.tolist(), strict=True)
            ),
            outside=_mapped(self.outside, b_plus, every),
            inside=_mapped(self.inside, a_plus, every),
        )

    def truncated(self, states: IntArray) -> Moments:
        """Compute the moments for fewer states (S,).

        Projections are ordered by their singular values, so that their leading parts are projections, too.

        states: (S,) the new number of states of each symbol, at most the present number.
        """
        leading = [np.eye(int(m), int(most)) for m, most in zip(states, self.states, strict=True)]
        return self.transformed(states, leading, leading)

    def leaves(self) -> LeafMoments:
        """Return the moments of leaf rules and of the symbols above them."""
        return LeafMoments(self.rules.leaf, self.leaf[:, 0], self.leaf[:, 1:], self.outside[:, 0], self.outside[:, 1:])


def augmented(rows: FloatArray) -> FloatArray:
    """Put a one before each row.

    rows: (n, M) the rows.
    """
    return np.concatenate([np.ones((len(rows), 1)), rows], axis=1)


def _augmented_map(matrix: FloatArray) -> FloatArray:
    """Extend a linear map (m', m) to augmented vectors: it keeps the one."""
    rows, columns = matrix.shape
    extended = np.zeros((rows + 1, columns + 1))
    extended[0, 0] = 1.0
    extended[1:, 1:] = matrix
    return extended


def _mapped(table: FloatArray, maps: list[FloatArray], symbols: IntArray) -> FloatArray:
    """Map the second axis of a table (R, M, ...) by the matrix (k, m) of each row's symbol, and put it last.

    The numbers beyond k are padding, and so are those beyond m in the table.
    """
    mapped = np.zeros((len(table), *table.shape[2:], max(map(len, maps))))
    for a, matrix in enumerate(maps):
        of_symbol = np.flatnonzero(symbols == a)
        k, m = matrix.shape
        mapped[of_symbol, ..., :k] = np.tensordot(table[of_symbol, :m], matrix, (1, 1))
    return mapped


def grouped(rule: IntArray, nodes: IntArray, n_rules: int) -> list[IntArray]:
    """Group nodes (n,) by their rule, in node order; nodes without a rule (-1) are left out.

    rule: (N,) the rule of every node.
    nodes: (n,) the nodes to group.

    >>> grouped(np.array([1, -1, 0, 1]), np.array([0, 1, 3]), 2)
    [array([], dtype=int64), array([0, 3])]
    """
    nodes = nodes[rule[nodes] >= 0]
    order = nodes[np.argsort(rule[nodes], kind="stable")]
    return np.split(order, np.searchsorted(rule[order], np.arange(1, n_rules)))[:n_rules]


def _unary(trees: SkeletalTrees, rule: IntArray, rules: Rules, inside: FloatArray, outside: FloatArray) -> FloatArray:
    """Sum z⁺ ⊗ y⁺ over the nodes of each unary rule, (R1, M+1, M+1); inside, outside: (N, M+1)."""
    nodes = np.flatnonzero(trees.is_unary)
    unary = np.zeros((len(rules.unary), outside.shape[1], inside.shape[1]))
    for r, group in enumerate(grouped(rule, nodes, len(rules.unary))):
        unary[r] = outside[group].T @ inside[trees.left[group]]
    return unary


def _binary(
    trees: SkeletalTrees, rule: IntArray, rules: Rules, states: IntArray, inside: FloatArray, outside: FloatArray
) -> Iterator[Tensor]:
    """Sum z⁺ ⊗ y⁺ ⊗ y⁺ over the nodes of each binary rule, a term for each node; inside, outside: (N, M+1)."""
    end = (states + 1).tolist()
    nodes = np.flatnonzero(trees.is_binary)
    groups = grouped(rule, nodes, len(rules.binary))
    for (a, b, c), group in zip(rules.binary.tolist(), groups, strict=True):
        left = inside[trees.left[group]]
        right = inside[trees.right[group]]
        yield Tensor(outside[group, : end[a]], left[:, : end[b]], right[:, : end[c]])


def _with_sums(counts: FloatArray) -> FloatArray:
    """Put before counts (m, ...) their sums over every set of axes, which gives the moments of augmented vectors."""
    for axis in range(counts.ndim):
        counts = np.concatenate([counts.sum(axis=axis, keepdims=True), counts], axis=axis)
    return counts


def moments_from_counts(counts: Counts, observed: Counts) -> Moments:
    """Make moments from expected counts of rules with their states.

    y is the posterior of a node's states, and z is the posterior times n(a) / n(a, h).  Smoothed operators are computed
    from these moments as from those of spectral projections; without smoothing they are relative frequencies.

    >>> trees = SkeletalTrees.of([0], left=[-1], right=[-1], terminal=[5], root=[0])
    >>> rows = np.array([[0.25, 0.75]])
    >>> counts = Counts(trees.rules, np.array([2]), rows, rows, np.empty((0, 2, 2)), Tensors.of([]))
    >>> moments = moments_from_counts(counts, Counts.of_trees(trees))
    >>> moments.inside, moments.outside
    (array([[1.  , 0.25, 0.75]]), array([[1., 1., 1.]]))
    """
    of_states = counts.sums()
    scale = np.divide(observed.symbol[:, None], of_states, out=np.zeros_like(of_states), where=of_states > 0)

    def scaled(array: FloatArray, a: int) -> FloatArray:
        """Put sums before the counts (m_a, ...) of a rule, and multiply those of each state by n(a) / n(a, h)."""
        array = _with_sums(array)
        array[1:] *= scale[a, : len(array) - 1].reshape(-1, *([1] * (array.ndim - 1)))
        return array

    def tensor(given: Tensor, a: int) -> Tensor:
        """Make the moments (m_a+1, m_b+1, m_c+1) from a binary rule's counts."""
        if given.dense is not None:
            return Tensor.of_dense(scaled(given.dense, a))
        of_state = given.first * scale[a, : given.shape[0]]
        first = np.concatenate([given.first.sum(axis=1, keepdims=True), of_state], axis=1)
        return Tensor(first, augmented(given.second), augmented(given.third))

    rules = observed.rules
    size = of_states.shape[1] + 1
    unary = [scaled(matrix, a) for matrix, a in zip(counts.unary, rules.unary[:, 0].tolist(), strict=True)]
    return Moments(
        rules=rules,
        states=counts.states,
        root=np.concatenate([observed.root, counts.root], axis=1),
        leaf=np.concatenate([observed.leaf, counts.leaf * scale[rules.leaf[:, 0]]], axis=1),
        unary=np.array(unary).reshape(-1, size, size),
        binary=Tensors.of(
            tensor(given, a) for given, a in zip(counts.binary, rules.binary[:, 0].tolist(), strict=True)
        ),
        outside=np.concatenate([observed.symbol[:, None], of_states * scale], axis=1),
        inside=np.concatenate([observed.symbol[:, None], of_states], axis=1),
    )
