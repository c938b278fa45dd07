"""Weights of trees that are never negative: where the latent estimate of a subtree fails, the plain one stands in.

An estimate from singular vectors may be negative, and then so is that of all trees with that part.  Every node i of
symbol a, with its words, is therefore compared with what the plain grammar says of it:

| here | meaning |
| --- | --- |
| c¹_a · α_i | the estimate of the subtree as a tree of its own; see `GrammarOptions.fragments` |
| p_i | the same of the plain grammar |
| ζ_a = Σ_x c∞_{a→x} + Σ C^{a→b c}(ζ_b, ζ_c) | the inside vector of whatever a has below; scaled to c¹_a · ζ_a = p(a) |

From the leaves up, a node whose estimate is below a share of p_i gets the inside vector ζ_a times the plain grammar's
inside weight: what is above it sees the symbol, and the plain grammar's probability.  A whole tree that fails has the
plain grammar's weight.
"""

from __future__ import annotations

import numpy as np

from spectral_latent.inference import ScaledVectors, Weight, inside, total_weight
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import BoolArray, FloatArray, Forest, IntArray, SkeletalTrees

__all__ = ["floored_weights", "whatever"]

_ROUNDS = 20


def whatever(operators: ObservableOperators, plain: ObservableOperators) -> FloatArray:
    """ζ (S, M) of grammars over the same rules, by iteration from the leaves' sums; zero where c¹ · ζ ≤ 0."""
    leaves = np.zeros_like(operators.root)
    np.add.at(leaves, operators.rules.leaf[:, 0], operators.leaf)

    def scaled(vectors: FloatArray) -> FloatArray:
        own = (operators.root * vectors).sum(axis=1)
        scale = np.divide(plain.root[:, 0], own, out=np.zeros(len(own)), where=own > 0)
        rows: FloatArray = vectors * scale[:, None]
        return rows

    found, m = scaled(leaves), operators.states
    for _ in range(_ROUNDS):
        sums = leaves.copy()
        for tensor, (a, b, c) in zip(operators.binary, operators.rules.binary, strict=True):
            sums[a, : m[a]] += tensor.applied_left(found[b, : m[b]]) @ found[c, : m[c]]
        for matrix, (a, b) in zip(operators.unary, operators.rules.unary, strict=True):
            sums[a] += matrix @ found[b]
        found = scaled(sums)
    return found


def _alone(operators: ObservableOperators, forest: Forest, inner: ScaledVectors) -> Weight:
    """c¹ · α of every item."""
    product = (operators.root[forest.symbol] * inner.vectors).sum(axis=1)
    return Weight.from_scaled(product, inner.exponents)


def _within(values: BoolArray | FloatArray, size: IntArray) -> FloatArray:
    """Sums of what nodes in post-order have (N,) over those at or below each; size: (N,) how many these are."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    sums: FloatArray = total[1:] - total[np.arange(1, len(total)) - size]
    return sums


def floored_weights(
    operators: ObservableOperators,
    plain: ObservableOperators,
    trees: SkeletalTrees,
    forest: Forest,
    stand_in: FloatArray,
    floor: float,
) -> Weight:
    """Weights of trees, given as a forest of the grammars' rules; no subtree's is below `floor` of the plain one's.

    stand_in: (S, M), ζ of `whatever`.
    """
    size = 2 * trees.n_leaves - 1
    by_plain = inside(plain, forest)
    least = _alone(plain, forest, by_plain)
    below_by_plain = Weight.from_scaled(by_plain.vectors[:, 0], by_plain.exponents).log
    n_rules = len(operators.rules.leaf)
    symbols = np.arange(len(stand_in))
    extended = operators.with_leaves(np.stack([symbols, np.full(len(symbols), -1)], axis=1), stand_in)
    cut = np.zeros(trees.n_nodes, dtype=bool)
    while True:
        inner = inside(extended, forest)
        own, factors = _alone(extended, forest, inner), np.where(cut, below_by_plain, 0.0)
        fails = (own.sign <= 0) | (own.log + _within(factors, size) < least.log + np.log(floor))
        fails &= (least.sign > 0) & ~cut & ~_below(cut, size)
        nodes = np.flatnonzero(fails & (_within(fails, size) == 1))
        if not len(nodes):
            break
        cut[nodes] = True
        cut &= ~_below(cut, size)
        rule, left, right = forest.rule.copy(), forest.left.copy(), forest.right.copy()
        rule[nodes], left[nodes], right[nodes] = n_rules + forest.symbol[nodes], -1, -1
        forest = forest._replace(rule=rule, left=left, right=right)
    weight, top = total_weight(extended, forest, inner), trees.root
    log = weight.log + np.bincount(trees.tree, factors, minlength=len(top))
    return Weight(np.where(cut[top], least.sign[top], weight.sign), np.where(cut[top], least.log[top], log))


def _below(cut: BoolArray, size: IntArray) -> BoolArray:
    """Whether each node in post-order is strictly below one of those."""
    nodes = np.flatnonzero(cut)
    change = np.zeros(len(cut) + 1, dtype=np.int64)
    np.add.at(change, nodes + 1 - size[nodes], 1)
    np.add.at(change, nodes, -1)
    below: BoolArray = np.cumsum(change[:-1]) > 0
    return below
