"""Moments: sums over the nodes of a treebank.  They add, so the moments of shards add up to those of the whole.

| here | long paper | meaning |
| --- | --- | --- |
| `binary[r]` | n · D^{a→b c} | Σ_i z⁺_i ⊗ y⁺_i2 ⊗ y⁺_i3 over the nodes with rule r |
| `unary[r]` | - | Σ_i z⁺_i ⊗ y⁺_i2 |
| `leaf[r]` | n · d∞_{a→x} | Σ_i z_i |
| `root[a]` | T · c¹_a | Σ y over trees rooted in a |
| `outer[a]`, `inner[a]` | - | Σ z and Σ y over all nodes of a |

x⁺ = [x; 1]: with a one appended, a product of three holds the third-order moment, all pairwise and single ones,
and the count; smoothing needs them all.  Where nodes have weights, every sum over nodes, and every count, is weighted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spectral_latent.operators import Tensor
from spectral_latent.trees import FloatArray, IntArray, Rules, SkeletalTrees

__all__ = ["LeafMoments", "Moments", "grouped", "row_sums", "state_sums"]


@dataclass(frozen=True, eq=False)
class LeafMoments:
    """Of R0 rules a → x: which, how often, and Σ z.  Of S symbols: how often, and Σ z over all nodes.

    rules: (R0, 2).  count: (R0,).  total: (R0, M).  symbol_count: (S,).  symbol_total: (S, M).
    """

    rules: IntArray
    count: FloatArray
    total: FloatArray
    symbol_count: FloatArray
    symbol_total: FloatArray


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over nodes, in the notation of this module; M is the largest state count.

    states: (S,).  n_trees: T.  count: (S,) nodes per symbol.  root, outer, inner: (S, M).
    leaf: (R0, M), leaf_count: (R0,).  unary: (R1, M+1, M+1).  binary: R2 tensors (m_a+1, m_b+1, m_c+1).
    """

    rules: Rules
    states: IntArray
    n_trees: float
    count: FloatArray
    root: FloatArray
    outer: FloatArray
    inner: FloatArray
    leaf: FloatArray
    leaf_count: FloatArray
    unary: FloatArray
    binary: list[Tensor]

    @staticmethod
    def of(
        trees: SkeletalTrees,
        rules: Rules,
        states: IntArray,
        y: FloatArray,
        z: FloatArray,
        weights: FloatArray | None = None,
    ) -> Moments:
        """Moments of trees whose nodes have projected inside and outside trees y, z: (N, M), zero-padded.

        weights: (N,) how often each node counts, once if not given.
        Rules that the table lacks are left out.
        """
        rule, symbol, n_symbols = trees.rule_in(rules), trees.symbol, len(states)
        leaves = np.flatnonzero(trees.is_leaf & (rule >= 0))
        leaf, w = rule[leaves], np.ones(trees.n_nodes) if weights is None else weights
        return Moments(
            rules=rules,
            states=states,
            n_trees=float(w[trees.root].sum()),
            count=np.bincount(symbol, w, minlength=n_symbols).astype(float),
            root=row_sums(symbol[trees.root], y[trees.root] * w[trees.root, None], n_symbols),
            outer=row_sums(symbol, z if weights is None else z * w[:, None], n_symbols),
            inner=row_sums(symbol, y if weights is None else y * w[:, None], n_symbols),
            leaf=row_sums(leaf, z[leaves] * w[leaves, None], len(rules.leaf)),
            leaf_count=np.bincount(leaf, w[leaves], minlength=len(rules.leaf)).astype(float),
            unary=_unary(trees, rule, rules, y, z, w),
            binary=_binary(trees, rule, rules, states, y, z, weights),
        )

    def __add__(self, other: Moments) -> Moments:
        """Moments of two shards that share `rules`, `states` and projections."""
        return Moments(
            rules=self.rules,
            states=self.states,
            n_trees=self.n_trees + other.n_trees,
            count=self.count + other.count,
            root=self.root + other.root,
            outer=self.outer + other.outer,
            inner=self.inner + other.inner,
            leaf=self.leaf + other.leaf,
            leaf_count=self.leaf_count + other.leaf_count,
            unary=self.unary + other.unary,
            binary=[(ours + theirs).compact() for ours, theirs in zip(self.binary, other.binary, strict=True)],
        )

    def truncated(self, states: IntArray) -> Moments:
        """The moments for fewer states (S,): projections are ordered, so their leading parts are projections too."""
        keep = [np.append(np.arange(m), -1) for m in states]
        largest = int(states.max())
        mask = np.arange(largest) < states[:, None]
        unary = np.zeros((len(self.unary), largest + 1, largest + 1))
        for r, (a, b) in enumerate(self.rules.unary):
            unary[r][np.ix_(keep[a], keep[b])] = self.unary[r][np.ix_(keep[a], keep[b])]
        return Moments(
            rules=self.rules,
            states=states,
            n_trees=self.n_trees,
            count=self.count,
            root=self.root[:, :largest] * mask,
            outer=self.outer[:, :largest] * mask,
            inner=self.inner[:, :largest] * mask,
            leaf=self.leaf[:, :largest] * mask[self.rules.leaf[:, 0]],
            leaf_count=self.leaf_count,
            unary=unary,
            binary=[
                tensor.selected((keep[a], keep[b], keep[c]))
                for tensor, (a, b, c) in zip(self.binary, self.rules.binary, strict=True)
            ],
        )

    def leaves(self) -> LeafMoments:
        """The part that concerns terminals."""
        return LeafMoments(self.rules.leaf, self.leaf_count, self.leaf, self.count, self.outer)


def row_sums(which: IntArray, rows: FloatArray, size: int) -> FloatArray:
    """Sum of the rows (n, M) that share a value of `which` (n,): (size, M)."""
    order = np.argsort(which, kind="stable")
    sums = np.zeros((size, rows.shape[1]))
    if len(order):
        values, starts = np.unique(which[order], return_index=True)
        sums[values] = np.add.reduceat(rows[order], starts, axis=0)
    return sums


def state_sums(
    rules: Rules, leaf: FloatArray, unary: FloatArray, binary: Sequence[Tensor], shape: tuple[int, int]
) -> FloatArray:
    """Sums of what the rules of each symbol and state hold, over rules and children's states: shape (S, M)."""
    total = row_sums(rules.leaf[:, 0], leaf, shape[0])
    total += row_sums(rules.unary[:, 0], unary.sum(axis=2), shape[0])
    for a, tensor in zip(rules.binary[:, 0], binary, strict=True):
        total[a, : tensor.shape[0]] += tensor.sums()
    return total


def grouped(rule: IntArray, nodes: IntArray, n_rules: int) -> list[IntArray]:
    """The nodes of each rule, in node order; nodes without a rule (-1) are left out."""
    nodes = nodes[rule[nodes] >= 0]
    order = nodes[np.argsort(rule[nodes], kind="stable")]
    return np.split(order, np.searchsorted(rule[order], np.arange(1, n_rules)))[:n_rules]


def _augmented(rows: FloatArray) -> FloatArray:
    """A column of ones appended."""
    return np.concatenate([rows, np.ones((len(rows), 1))], axis=1)


def _unary(
    trees: SkeletalTrees, rule: IntArray, rules: Rules, y: FloatArray, z: FloatArray, weights: FloatArray
) -> FloatArray:
    nodes = np.flatnonzero(trees.is_unary)
    unary = np.zeros((len(rules.unary), z.shape[1] + 1, y.shape[1] + 1))
    if len(nodes):
        for r, group in enumerate(grouped(rule, nodes, len(rules.unary))):
            unary[r] = (_augmented(z[group]) * weights[group, None]).T @ _augmented(y[trees.left[group]])
    return unary


def _binary(
    trees: SkeletalTrees,
    rule: IntArray,
    rules: Rules,
    states: IntArray,
    y: FloatArray,
    z: FloatArray,
    weights: FloatArray | None,
) -> list[Tensor]:
    """Factored only without weights: the number of terms then is the count, as smoothing reads it."""
    nodes = np.flatnonzero(trees.is_binary)
    if not len(rules.binary):
        return []
    tensors = []
    for (a, b, c), group in zip(rules.binary, grouped(rule, nodes, len(rules.binary)), strict=True):
        outer = _augmented(z[group, : states[a]])
        inner = _augmented(y[trees.left[group], : states[b]]), _augmented(y[trees.right[group], : states[c]])
        if weights is None:
            tensors.append(Tensor(outer, *inner).compact())
        else:
            tensors.append(Tensor.of_dense(Tensor(outer * weights[group, None], *inner).multiplied_out()))
    return tensors
