"""Compute weights of trees that are never negative: coarse estimates replace failed latent estimates of subtrees.

A spectral estimate of a subtree may be negative; then the estimates of all trees with this subtree are wrong.  The
estimate of every node i, with symbol a, is therefore compared with the estimate of the coarse grammar:

| here | meaning |
| --- | --- |
| c¹_a · α_i | the estimate of the subtree as a tree of its own; see `GrammarOptions.fragments` |
| p_i | the estimate of the same subtree in the coarse grammar |
| ζ_a | the sum of a symbol's inside vectors; see `inference.sums` |

An estimate *fails* if it is below a share of p_i.  From the leaves up, the inside vector of a failed node is replaced
by ζ_a times the inside weight of the coarse grammar.  The nodes above then depend on the symbol and the coarse
probability of the subtree.  If the estimate of a whole tree fails, the tree gets the coarse weight.
"""

from __future__ import annotations

import numpy as np

from spectral_latent.inference import ScaledVectors, SignedLog, inside, total_weight
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import BoolArray, FloatArray, Forest, IntArray, SkeletalTrees

__all__ = ["floored_weights"]


def _subtree_weights(operators: ObservableOperators, forest: Forest, inside_vectors: ScaledVectors) -> SignedLog:
    """Compute c¹ · α of every item, (I,): its weight as a tree of its own."""
    product = (operators.root[forest.symbol] * inside_vectors.vectors).sum(axis=1)
    return SignedLog.from_scaled(product, inside_vectors.exponents)


def _subtree_sums(values: BoolArray | FloatArray, size: IntArray) -> FloatArray:
    """Sum values (N,) of nodes in post-order over the subtree of each node; size: (N,) the nodes of the subtree."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    sums: FloatArray = total[1:] - total[np.arange(1, len(total)) - size]
    return sums


def _strictly_below(cut: BoolArray, size: IntArray) -> BoolArray:
    """Tell whether each node in post-order, (N,), is strictly below a cut node; size: (N,) the nodes of its subtree."""
    nodes = np.flatnonzero(cut)
    change = np.zeros(len(cut) + 1, dtype=np.int64)
    np.add.at(change, nodes + 1 - size[nodes], 1)
    np.add.at(change, nodes, -1)
    below: BoolArray = np.cumsum(change[:-1]) > 0
    return below


def floored_weights(
    operators: ObservableOperators,
    coarse: ObservableOperators,
    trees: SkeletalTrees,
    forest: Forest,
    stand_in: FloatArray,
    floor: float,
) -> SignedLog:
    """Compute the weights of T trees, after failed subtrees are replaced.

    stand_in: (S, M) ζ of each symbol; see `inference.mean_inside_vectors`.
    """
    # In post-order, the nodes of a subtree are the nodes from its first leaf to its top.
    size = np.arange(trees.n_nodes) - trees.follow(trees.left) + 1
    by_coarse = inside(coarse, forest)
    least = _subtree_weights(coarse, forest, by_coarse)
    below_by_coarse = SignedLog.from_scaled(by_coarse.vectors[:, 0], by_coarse.exponents).log
    # To cut a subtree, its top becomes a leaf, with one of S further leaf rules, whose vectors are ζ.
    n_rules = len(operators.rules.leaf)
    symbols = np.arange(len(stand_in))
    cuts = np.stack([symbols, np.full(len(symbols), -1)], axis=1)
    extended = operators.with_leaf_rules(
        np.concatenate([operators.rules.leaf, cuts]), np.concatenate([operators.leaf, stand_in])
    )
    cut = np.zeros(trees.n_nodes, dtype=bool)
    while True:
        inside_vectors = inside(extended, forest)
        weight = _subtree_weights(extended, forest, inside_vectors)
        factors = np.where(cut, below_by_coarse, 0.0)
        fails = (weight.sign <= 0) | (weight.log + _subtree_sums(factors, size) < least.log + np.log(floor))
        fails &= (least.sign > 0) & ~cut & ~_strictly_below(cut, size)
        # Cut the lowest nodes that fail, because the nodes above may be right after that.
        nodes = np.flatnonzero(fails & (_subtree_sums(fails, size) == 1))
        if not len(nodes):
            break
        cut[nodes] = True
        cut &= ~_strictly_below(cut, size)
        rule = forest.rule.copy()
        left = forest.left.copy()
        right = forest.right.copy()
        rule[nodes] = n_rules + forest.symbol[nodes]
        left[nodes] = -1
        right[nodes] = -1
        forest = forest._replace(rule=rule, left=left, right=right)
    total = total_weight(extended, forest, inside_vectors)
    top = trees.root
    log = total.log + np.bincount(trees.tree, factors, minlength=len(top))
    return SignedLog(np.where(cut[top], least.sign[top], total.sign), np.where(cut[top], least.log[top], log))
