"""Compute moments: sums over the nodes of a treebank.  The moments of shards add up to those of the whole treebank.

x⁺ = [x; 1] is a vector with a one appended.

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

    states: (S,) the dimensions of y and z, without the appended one.
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
        return float(self.root[:, -1].sum())

    @property
    def count(self) -> FloatArray:
        """The number of nodes of each symbol, (S,)."""
        return self.outside[:, -1]

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
        size = int(states.max()) + 1
        width = self.root.shape[1] - 1
        a_plus = [_augmented_map(matrix) for matrix in inside]
        b_plus = [_augmented_map(matrix) for matrix in outside]

        def rows(vectors: FloatArray, maps: list[FloatArray], symbols: IntArray) -> FloatArray:
            """Map the vector (M+1,) of each row by the matrix of its symbol."""
            mapped = np.zeros((len(vectors), size))
            for a, matrix in enumerate(maps):
                of_symbol = np.flatnonzero(symbols == a)
                picked = _places(matrix.shape[1], width)
                mapped[np.ix_(of_symbol, _places(len(matrix), size - 1))] = vectors[of_symbol][:, picked] @ matrix.T
            return mapped

        every = np.arange(len(states))
        unary = np.zeros((len(self.unary), size, size))
        for r, (a, b) in enumerate(self.rules.unary.tolist()):
            before = self.unary[r][np.ix_(_places(b_plus[a].shape[1], width), _places(a_plus[b].shape[1], width))]
            place = np.ix_(_places(len(b_plus[a]), size - 1), _places(len(a_plus[b]), size - 1))
            unary[r][place] = b_plus[a] @ before @ a_plus[b].T
        return replace(
            self,
            states=states,
            root=rows(self.root, a_plus, every),
            leaf=rows(self.leaf, b_plus, self.rules.leaf[:, 0]),
            unary=unary,
            binary=Tensors.of(
                tensor.transform((b_plus[a], a_plus[b], a_plus[c]))
                for tensor, (a, b, c) in zip(self.binary, self.rules.binary.tolist(), strict=True)
            ),
            outside=rows(self.outside, b_plus, every),
            inside=rows(self.inside, a_plus, every),
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
        return LeafMoments(
            self.rules.leaf, self.leaf[:, -1], self.leaf[:, :-1], self.outside[:, -1], self.outside[:, :-1]
        )


def augmented(rows: FloatArray) -> FloatArray:
    """Append a one to each row.

    rows: (n, M) the rows.
    """
    return np.concatenate([rows, np.ones((len(rows), 1))], axis=1)


def _augmented_map(matrix: FloatArray) -> FloatArray:
    """Extend a linear map (m', m) to augmented vectors: it keeps the appended one."""
    rows, columns = matrix.shape
    extended = np.zeros((rows + 1, columns + 1))
    extended[:-1, :-1] = matrix
    extended[-1, -1] = 1.0
    return extended


def _places(size: int, last: int) -> IntArray:
    """List the places of the `size` numbers of an augmented vector in a padded vector, whose last place is `last`."""
    return np.append(np.arange(size - 1), last)


def grouped(rule: IntArray, nodes: IntArray, n_rules: int) -> list[IntArray]:
    """Group nodes (n,) by their rule, in node order; nodes without a rule (-1) are left out.

    rule: (N,) the rule of every node.
    nodes: (n,) the nodes to group.
    n_rules: the number of rules, which is the number of groups.

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
    last = inside.shape[1] - 1
    place = [_places(int(m) + 1, last) for m in states]
    nodes = np.flatnonzero(trees.is_binary)
    groups = grouped(rule, nodes, len(rules.binary))
    for (a, b, c), group in zip(rules.binary.tolist(), groups, strict=True):
        left = inside[trees.left[group]]
        right = inside[trees.right[group]]
        yield Tensor(outside[group][:, place[a]], left[:, place[b]], right[:, place[c]])


def _with_sums(counts: FloatArray) -> FloatArray:
    """Append to counts (m, ...) their sums over every set of axes, which gives the moments of augmented vectors."""
    for axis in range(counts.ndim):
        counts = np.concatenate([counts, counts.sum(axis=axis, keepdims=True)], axis=axis)
    return counts


def moments_from_counts(counts: Counts, observed: Counts) -> Moments:
    """Make moments from expected counts of rules with their states.

    y is the posterior of a node's states, and z is the posterior times n(a) / n(a, h).  Smoothed operators are computed
    from these moments as from those of spectral projections; without smoothing they are relative frequencies.

    counts: counts over the rules of `observed`; the second and third factors of its tensors sum to one.
    observed: the counts of rules, which are exact, while sums over states are rounded.

    >>> trees = SkeletalTrees.of([0], left=[-1], right=[-1], terminal=[5], root=[0])
    >>> rows = np.array([[0.25, 0.75]])
    >>> counts = Counts(trees.rules, np.array([2]), rows, rows, np.empty((0, 2, 2)), Tensors.of([]))
    >>> moments = moments_from_counts(counts, Counts.of_trees(trees))
    >>> moments.inside, moments.outside
    (array([[0.25, 0.75, 1.  ]]), array([[1., 1., 1.]]))
    """
    of_states = counts.sums()
    scale = np.divide(observed.symbol[:, None], of_states, out=np.zeros_like(of_states), where=of_states > 0)

    def scaled(array: FloatArray, a: int) -> FloatArray:
        """Append sums to the counts (m_a, ...) of a rule, and multiply those of each state by n(a) / n(a, h)."""
        array = _with_sums(array)
        array[:-1] *= scale[a, : len(array) - 1].reshape(-1, *([1] * (array.ndim - 1)))
        return array

    def tensor(given: Tensor, a: int) -> Tensor:
        """Make the moments (m_a+1, m_b+1, m_c+1) from a binary rule's counts."""
        if given.dense is not None:
            return Tensor.of_dense(scaled(given.dense, a))
        of_state = given.first * scale[a, : given.shape[0]]
        first = np.concatenate([of_state, given.first.sum(axis=1, keepdims=True)], axis=1)
        return Tensor(first, augmented(given.second), augmented(given.third))

    rules = observed.rules
    size = of_states.shape[1] + 1
    unary = [scaled(matrix, a) for matrix, a in zip(counts.unary, rules.unary[:, 0].tolist(), strict=True)]
    return Moments(
        rules=rules,
        states=counts.states,
        root=np.concatenate([counts.root, observed.root], axis=1),
        leaf=np.concatenate([counts.leaf * scale[rules.leaf[:, 0]], observed.leaf], axis=1),
        unary=np.array(unary).reshape(-1, size, size),
        binary=Tensors.of(
            tensor(given, a) for given, a in zip(counts.binary, rules.binary[:, 0].tolist(), strict=True)
        ),
        outside=np.concatenate([of_states * scale, observed.symbol[:, None]], axis=1),
        inside=np.concatenate([of_states, observed.symbol[:, None]], axis=1),
    )
