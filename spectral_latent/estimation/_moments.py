"""Compute moments, which are sums over the nodes of a treebank, and operators from them.

The moments of shards add up to those of the whole treebank.  x⁺ = [1; x] is a vector behind a one.

| here | long paper | meaning |
| --- | --- | --- |
| `binary[r]` | n · D^{a→b c} | Σ_i z⁺_i ⊗ y⁺_i2 ⊗ y⁺_i3 over the nodes with rule r |
| `unary[r]` | - | Σ_i z⁺_i ⊗ y⁺_i2 |
| `leaf[r]` | n · d∞_{a→x} | Σ_i z⁺_i |
| `root[a]` | T · c¹_a | Σ y⁺ over trees rooted in a |
| `outside[a]`, `inside[a]` | - | Σ z⁺ and Σ y⁺ over all nodes of a |

A product of three augmented vectors has all moments of lower orders and the count, too, which smoothing needs.  Without
it, exact moments give exact operators (Theorem 2), and from M examples errors fall as 1/√M (Theorem 3).

Operators are computed with the back-off of slide 25.  For a rule a → b c with n nodes and λ = √n / (C + √n), bars for
means over the rule's nodes:

    λ E[z⊗x⊗y] + (1-λ) ( λ (E[z⊗x]⊗ȳ + E[z⊗y]⊗x̄ + E[x⊗y]⊗z̄) / 3 + (1-λ) ( λ z̄⊗x̄⊗ȳ + (1-λ) z̄^a⊗x̄^b⊗ȳ^c ) )

where z̄^a, x̄^b, ȳ^c are means over all nodes of the symbols.  With s = (1-λ)/3,

    E[(z + s z̄) ⊗ (x + s x̄) ⊗ (y + s ȳ)] = E[zxy] + s (E[zx] ȳ + E[zy] x̄ + E[xy] z̄) + (3s² + s³) z̄ x̄ ȳ,

so that the smoothed sum of n rank-one terms is a sum of n + 2 terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from spectral_latent import _scipy as scipy
from spectral_latent.operators import Counts, ObservableOperators, Tensor, Tensors, row_sums
from spectral_latent.operators.operators import RuleTable
from spectral_latent.trees import FloatArray, IntArray, Rules, SkeletalTrees


@dataclass(frozen=True, eq=False)
class LeafMoments:
    """Hold the moments of R0 rules a → x and of the S symbols above them.

    rules: (R0, 2) symbol and terminal of each rule.
    count: (R0,) the count of each rule.
    total: (R0, M) Σ z over the nodes with each rule.
    symbol_count: (S,) the number of nodes of each symbol.
    symbol_total: (S, M) Σ z over all nodes of each symbol."""

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
    rules: pseudo-counts of unary and binary rules; a table with one state for each symbol."""

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
    inside: (S, M+1) the sums of y⁺ over all nodes of a symbol."""

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

    @cached_property
    def mean_outside(self) -> FloatArray:
        """The mean z̄ over the nodes of each symbol, (S, M)."""
        return self.outside[:, 1:] / np.where(self.count > 0, self.count, 1.0)[:, None]

    @cached_property
    def mean_inside(self) -> FloatArray:
        """The mean ȳ over the nodes of each symbol, (S, M)."""
        return self.inside[:, 1:] / np.where(self.count > 0, self.count, 1.0)[:, None]

    def means_of(self, a: int, *children: int) -> list[FloatArray]:
        """Take z̄ of the parent of a rule and ȳ of each child, each without padding."""
        m = self.states
        return [self.mean_outside[a, : m[a]], *(self.mean_inside[b, : m[b]] for b in children)]

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

        rules: the rules to count; nodes with other rules are left out.
        states: (S,) the dimensions of the projections of each symbol.
        y: (N, M) projected inside trees, zero beyond a symbol's states.
        z: (N, M) projected outside trees, zero beyond a symbol's states.
        weight: (N,) the weight of each node; 1 if not given."""
        rule = trees.rule_in(rules)
        symbol = trees.symbol
        leaves = np.flatnonzero(trees.is_leaf & (rule >= 0))
        times = np.ones((trees.n_nodes, 1)) if weight is None else weight[:, None]
        # Multiply one vector of each product by the weight.
        outside = times * augment(z)
        inside = augment(y)
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
        return replace(self.merge(other), outside=self.outside + other.outside, inside=self.inside + other.inside)

    def transform_projections(self, states: IntArray, inside: list[FloatArray], outside: list[FloatArray]) -> Moments:
        """Compute the moments after linear maps of the projections, y to A y and z to B z.

        states: (S,) the dimensions m' of the maps' results.
        inside: for each symbol the matrix A (m', m).
        outside: for each symbol the matrix B (m', m)."""
        a_plus, b_plus = (
            [scipy.linalg.block_diag(np.ones((1, 1)), matrix) for matrix in maps] for maps in (inside, outside)
        )
        every = np.arange(len(states))
        parent, child = self.rules.unary.T
        return replace(
            self,
            states=states,
            root=_map_rows(self.root, a_plus, every),
            leaf=_map_rows(self.leaf, b_plus, self.rules.leaf[:, 0]),
            unary=_map_rows(_map_rows(self.unary, b_plus, parent), a_plus, child),
            binary=Tensors.of(
                tensor.transform((b_plus[a], a_plus[b], a_plus[c]))
                for tensor, (a, b, c) in zip(self.binary, self.rules.binary.tolist(), strict=True)
            ),
            outside=_map_rows(self.outside, b_plus, every),
            inside=_map_rows(self.inside, a_plus, every),
        )

    def truncate(self, states: IntArray) -> Moments:
        """Compute the moments for fewer states (S,).

        Projections are ordered by their singular values, so that their leading parts are projections, too.

        states: (S,) the new number of states of each symbol, at most the present number."""
        leading = [np.eye(int(m), int(most)) for m, most in zip(states, self.states, strict=True)]
        return self.transform_projections(states, leading, leading)

    def leaves(self) -> LeafMoments:
        """Return the moments of leaf rules and of the symbols above them."""
        return LeafMoments(self.rules.leaf, self.leaf[:, 0], self.leaf[:, 1:], self.outside[:, 0], self.outside[:, 1:])


def augment(rows: FloatArray) -> FloatArray:
    """Put a one before each row (n, M)."""
    return np.concatenate([np.ones((len(rows), 1)), rows], axis=1)


def _map_rows(table: FloatArray, maps: list[FloatArray], symbols: IntArray) -> FloatArray:
    """Map the second axis of a table (R, M, ...) by the matrix (k, m) of each row's symbol, and put it last.

    The numbers beyond k are padding, and so are those beyond m in the table."""
    mapped = np.zeros((len(table), *table.shape[2:], max(map(len, maps))))
    for a, matrix in enumerate(maps):
        of_symbol = np.flatnonzero(symbols == a)
        k, m = matrix.shape
        mapped[of_symbol, ..., :k] = np.tensordot(table[of_symbol, :m], matrix, (1, 1))
    return mapped


def group_nodes(rule: IntArray, nodes: IntArray, n_rules: int) -> list[IntArray]:
    """Group nodes (n,) by their rule, in node order; nodes without a rule (-1) are left out.

    rule: (N,) the rule of every node.
    nodes: (n,) the nodes to group."""
    nodes = nodes[rule[nodes] >= 0]
    order = nodes[np.argsort(rule[nodes], kind="stable")]
    return np.split(order, np.searchsorted(rule[order], np.arange(1, n_rules)))[:n_rules]


def _unary(trees: SkeletalTrees, rule: IntArray, rules: Rules, inside: FloatArray, outside: FloatArray) -> FloatArray:
    """Sum z⁺ ⊗ y⁺ over the nodes of each unary rule, (R1, M+1, M+1); inside, outside: (N, M+1)."""
    nodes = np.flatnonzero(trees.is_unary)
    unary = np.zeros((len(rules.unary), outside.shape[1], inside.shape[1]))
    for r, group in enumerate(group_nodes(rule, nodes, len(rules.unary))):
        unary[r] = outside[group].T @ inside[trees.left[group]]
    return unary


def _binary(
    trees: SkeletalTrees, rule: IntArray, rules: Rules, states: IntArray, inside: FloatArray, outside: FloatArray
) -> Iterator[Tensor]:
    """Sum z⁺ ⊗ y⁺ ⊗ y⁺ over the nodes of each binary rule, a term for each node; inside, outside: (N, M+1)."""
    end = (states + 1).tolist()
    nodes = np.flatnonzero(trees.is_binary)
    groups = group_nodes(rule, nodes, len(rules.binary))
    for (a, b, c), group in zip(rules.binary.tolist(), groups, strict=True):
        left = inside[trees.left[group]]
        right = inside[trees.right[group]]
        yield Tensor(outside[group, : end[a]], left[:, : end[b]], right[:, : end[c]])


def moments_from_counts(counts: Counts, observed: Counts) -> Moments:
    """Make moments from expected counts of rules with their states.

    y is the posterior of a node's states, and z is the posterior times n(a) / n(a, h).  Smoothed operators are computed
    from these moments as from those of spectral projections; without smoothing they are relative frequencies."""
    of_states = counts.sums()
    scale = np.divide(observed.symbol[:, None], of_states, out=np.zeros_like(of_states), where=of_states > 0)

    def scale_states(array: FloatArray, a: int) -> FloatArray:
        """Put sums before the counts (m_a, ...) of a rule, and multiply those of each state by n(a) / n(a, h)."""
        for axis in range(array.ndim):  # the sums over every set of axes give the moments of augmented vectors
            array = np.concatenate([array.sum(axis=axis, keepdims=True), array], axis=axis)
        array[1:] *= scale[a, : len(array) - 1].reshape(-1, *([1] * (array.ndim - 1)))
        return array

    def tensor(given: Tensor, a: int) -> Tensor:
        """Make the moments (m_a+1, m_b+1, m_c+1) from a binary rule's counts."""
        if given.dense is not None:
            return Tensor.of_dense(scale_states(given.dense, a))
        of_state = given.first * scale[a, : given.shape[0]]
        first = np.concatenate([given.first.sum(axis=1, keepdims=True), of_state], axis=1)
        return Tensor(first, augment(given.second), augment(given.third))

    rules = observed.rules
    size = of_states.shape[1] + 1
    unary = [scale_states(matrix, a) for matrix, a in zip(counts.unary, rules.unary[:, 0].tolist(), strict=True)]
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


def confidence(count: float, smoothing: float | None) -> float:
    """Compute λ = √count / (C + √count); 1 without smoothing."""
    return 1.0 if smoothing is None else float(np.sqrt(count) / (smoothing + np.sqrt(count)))


def _count_and_means(tensor: Tensor) -> tuple[float, list[FloatArray]]:
    """Compute n and the means z̄, x̄, ȳ from the moments of augmented vectors."""
    if tensor.dense is None:
        # The ones of the two other vectors are the weights of each term.
        first = tensor.first
        second = tensor.second
        third = tensor.third
        weights = (second[:, 0] * third[:, 0], first[:, 0] * third[:, 0], first[:, 0] * second[:, 0])
        n = float(first[:, 0] @ weights[0])
        sums = [weight @ factor[:, 1:] for weight, factor in zip(weights, (first, second, third), strict=True)]
    else:
        dense = tensor.dense
        n = float(dense[0, 0, 0])
        sums = [dense[1:, 0, 0], dense[0, 1:, 0], dense[0, 0, 1:]]
    return n, [total / (n or 1.0) for total in sums]


def _rank_one(weight: float, vectors: list[FloatArray]) -> Tensor:
    """Make a rank-one tensor from three vectors (m_k,) and a weight."""
    z, x, y = (vector[None, :] for vector in vectors)
    return Tensor(weight * z, x, y)


def _smooth_tensor(tensor: Tensor, symbol_means: list[FloatArray], smoothing: float | None) -> Tensor:
    """Compute n times the smoothed mean of z ⊗ x ⊗ y from n times the mean of z⁺ ⊗ x⁺ ⊗ y⁺."""
    n, means = _count_and_means(tensor)
    trust = confidence(n, smoothing)
    shift = (1 - trust) / 3
    maps = [np.concatenate([shift * mean[:, None], np.eye(len(mean))], axis=1) for mean in means]
    shifted = tensor.transform((maps[0], maps[1], maps[2])).scale(trust)
    if trust == 1.0:
        return shifted
    rest = trust * ((1 - trust) ** 2 - 3 * shift**2 - shift**3)
    return shifted + (_rank_one(n * rest, means) + _rank_one(n * (1 - trust) ** 3, symbol_means))


def _smooth_matrix(matrix: FloatArray, symbol_means: list[FloatArray], smoothing: float | None) -> FloatArray:
    """Compute n times the smoothed mean (M, M) of z ⊗ y (slide 25) from n times the mean (M+1, M+1) of z⁺ ⊗ y⁺."""
    n = matrix[0, 0]
    trust = confidence(n, smoothing)
    z = matrix[1:, 0] / (n or 1.0)
    y = matrix[0, 1:] / (n or 1.0)
    backed_off = trust * np.outer(z, y) + (1 - trust) * np.outer(*symbol_means)
    return np.asarray(trust * matrix[1:, 1:] + n * (1 - trust) * backed_off)


def _smoothed(moments: Moments, smoothing: float | None) -> RuleTable:
    """Compute the smoothed sums of z, of z ⊗ y and of z ⊗ x ⊗ y over the nodes of each rule, without ones."""
    rules = moments.rules
    width = moments.mean_outside.shape[1]
    unary = [
        _smooth_matrix(matrix, [moments.mean_outside[a], moments.mean_inside[b]], smoothing)
        for matrix, (a, b) in zip(moments.unary, rules.unary.tolist(), strict=True)
    ]
    binary = (
        _smooth_tensor(tensor, moments.means_of(*rule), smoothing)
        for tensor, rule in zip(moments.binary, rules.binary.tolist(), strict=True)
    )
    matrices = np.array(unary).reshape(-1, width, width)
    return RuleTable(rules, moments.states, moments.root[:, 1:], moments.leaf[:, 1:], matrices, Tensors.of(binary))


def _with_priors(sums: RuleTable, moments: Moments, priors: Priors) -> RuleTable:
    """Add leaves, roots and rules to smoothed sums; a rule of the prior has the mean vectors of its symbols."""
    rules = sums.rules
    root = sums.root + priors.fragments * moments.inside[:, 1:] / moments.count.sum()
    leaf_rules, leaf = (rules.leaf, sums.leaf) if priors.leaves is None else priors.leaves(moments.leaves())
    sums = replace(sums, rules=replace(rules, leaf=leaf_rules), root=root, leaf=leaf)
    if (prior := priors.rules) is None:
        return sums
    a, b = prior.rules.unary.T
    binary = (
        _rank_one(n, moments.means_of(*rule))
        for n, rule in zip(prior.binary.data.tolist(), prior.rules.binary.tolist(), strict=True)
    )
    further = replace(
        sums,
        rules=prior.rules,
        root=np.zeros_like(root),
        leaf=np.zeros((0, root.shape[1])),
        unary=prior.unary * moments.mean_outside[a, :, None] * moments.mean_inside[b, None, :],
        binary=Tensors.of(binary),
    )
    return sums.merge(further)


def operators_from_moments(
    moments: Moments, smoothing: float | None = None, priors: Priors | None = None
) -> ObservableOperators:
    """Compute operators from moments (long paper, equations 14-16 and Figure 7, step 3).

    z already includes (Σ̂^a)⁻¹, so that only divisions by counts remain: C^{a→b c} = Σ z⊗x⊗y / count(a),
    c∞ = Σ z / count(a), c¹ = Σ_roots y / T.

    smoothing: C of slide 25; None for no smoothing.
    priors: additions for trees that the treebank lacks; none if not given.

    >>> from spectral_latent.trees import SkeletalTrees
    >>> trees = SkeletalTrees.of([0, 0], left=[-1, -1], right=[-1, -1], terminal=[5, 6], root=[0, 1])
    >>> y = np.array([[2.0], [1.0]])
    >>> operators = operators_from_moments(Moments.of_trees(trees, trees.rules, np.array([1]), y, z=1.0 / y))
    >>> operators.root, operators.leaf
    (array([[1.5]]), array([[0.25],
           [0.5 ]]))
    """
    priors = priors or Priors()
    sums = _with_priors(_smoothed(moments, smoothing), moments, priors)
    nodes = np.where(moments.count > 0, moments.count, 1.0)
    if priors.rules is not None:
        nodes += priors.rules.sums()[:, 0]
    table = sums.scale(np.broadcast_to(1.0 / nodes[:, None], sums.root.shape))
    root = table.root / (moments.n_trees + priors.fragments)
    return ObservableOperators(table.rules, table.states, root, table.leaf, table.unary, table.binary)
