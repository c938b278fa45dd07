"""Feature templates of inside and outside trees, as columns of integers.

A template is one integer per node; it fires one feature at every node, named by its value.  Templates are made from
columns of `SkeletalTrees` by `joint`, which gives the same things the same name in any treebank; here are those of the
slides (18, 19) that need nothing but the tree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spectral_latent.trees import BoolArray, IntArray, SkeletalTrees

__all__ = ["FeatureColumns", "above", "inside_templates", "joint", "outside_templates"]

_STEP = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ over the golden ratio


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A one-to-one map of 64-bit numbers that scatters them (Steele, Lea and Flood 2014, SplitMix64)."""
    values = values + _STEP
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def joint(*columns: IntArray | BoolArray) -> IntArray:
    """One column (N,) that tells apart what the given ones tell apart together.

    Its values are 64-bit names that depend on the values given alone, so that they mean the same in any shard of a
    treebank.  Two of n different ones are equal with a probability of about n² / 2⁶⁵.

    >>> joint(np.array([3, 3, 7]), np.array([-1, 2, -1])) == joint(np.array([3]), np.array([-1]))
    array([ True, False, False])
    """
    merged = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        merged = _mixed(merged + column.astype(np.int64).view(np.uint64))
    return merged.view(np.int64)


def _at(column: IntArray, nodes: IntArray) -> IntArray:
    """column[nodes], and -1 where nodes is -1."""
    return np.where(nodes < 0, -1, column[nodes])


def _rule(trees: SkeletalTrees) -> IntArray:
    """Each node's rule, as one column."""
    symbol = trees.symbol
    return joint(symbol, _at(symbol, trees.left), _at(symbol, trees.right), trees.terminal)


def _magnitude(column: IntArray) -> IntArray:
    """The number of binary digits: counts on a logarithmic scale."""
    digits: IntArray = np.frexp(column.astype(float))[1].astype(np.int64)
    return digits


def inside_templates(trees: SkeletalTrees) -> dict[str, IntArray]:
    """The rule below; its pairs; the rule with one child opened; the width (slide 18).

    Widths are taken by magnitude: a span of 17 leaves has no statistics of its own.

    >>> tree = SkeletalTrees.of([0, 1, 2], left=[-1, -1, 0], right=[-1, -1, 1], terminal=[5, 6, -1], root=[2])
    >>> sorted(inside_templates(tree))
    ['left', 'left-opened', 'right', 'right-opened', 'rule', 'width']
    """
    rule = _rule(trees)
    return {
        "rule": rule,
        "left": _at(trees.symbol, trees.left),
        "right": _at(trees.symbol, trees.right),
        "left-opened": joint(rule, _at(rule, trees.left)),
        "right-opened": joint(rule, _at(rule, trees.right)),
        "width": _magnitude(trees.n_leaves),
    }


def above(trees: SkeletalTrees) -> IntArray:
    """The rule above each node with the foot's side marked (N,); -1 at a root."""
    return np.where(trees.parent < 0, -1, joint(_at(_rule(trees), trees.parent), trees.is_right_child))


def outside_templates(trees: SkeletalTrees) -> dict[str, IntArray]:
    """One, two and three rules up with the foot marked; parent and grandparent; leaves to either side (slide 19).

    >>> tree = SkeletalTrees.of([0, 1, 2], left=[-1, -1, 0], right=[-1, -1, 1], terminal=[5, 6, -1], root=[2])
    >>> outside_templates(tree)["leaves-before"], outside_templates(tree)["leaves-after"]
    (array([0, 1, 0]), array([1, 0, 0]))
    """
    parent, once = trees.parent, above(trees)
    grandparent = _at(parent, parent)
    twice = joint(once, _at(once, parent))
    leaves = trees.n_leaves
    return {
        "above": once,
        "above-2": twice,
        "above-3": joint(twice, _at(once, grandparent)),
        "parent": _at(trees.symbol, parent),
        "grandparent": joint(_at(trees.symbol, parent), _at(trees.symbol, grandparent)),
        "leaves-before": _magnitude(trees.first_leaf),
        "leaves-after": _magnitude(leaves[trees.root][trees.tree] - trees.first_leaf - leaves),
    }


@dataclass(frozen=True, eq=False)
class FeatureColumns:
    """Inside and outside templates of a treebank's nodes: (N, d_φ) and (N, d_ψ) columns of integers."""

    inside: IntArray
    outside: IntArray

    @staticmethod
    def of(inside: dict[str, IntArray], outside: dict[str, IntArray]) -> FeatureColumns:
        """Columns from named templates."""
        return FeatureColumns(np.stack(list(inside.values()), axis=1), np.stack(list(outside.values()), axis=1))

    @staticmethod
    def one_hot(columns: IntArray, scaling: float | None) -> sparse.csr_array:
        """The feature vectors (n, d) of n nodes: one non-zero per template.

        With `scaling` κ the entry of feature i is √(n / (count_i + κ)) (slide 23); without, it is 1.

        >>> FeatureColumns.one_hot(np.array([[4, 0], [9, 0]]), scaling=None).toarray()
        array([[1., 0., 1.],
               [0., 1., 1.]])
        """
        n, n_templates = columns.shape
        indices = np.empty((n, n_templates), dtype=np.int32)
        values = np.ones((n, n_templates))
        size = 0
        for k in range(n_templates):
            _, which, count = np.unique(columns[:, k], return_inverse=True, return_counts=True)
            indices[:, k] = size + which
            if scaling is not None:
                values[:, k] = np.sqrt(n / (count + scaling))[which]
            size += len(count)
        starts = np.arange(0, n * n_templates + 1, n_templates)
        return sparse.csr_array((values.ravel(), indices.ravel(), starts), shape=(n, size))

    def views(self, nodes: IntArray, scaling: float | None) -> tuple[sparse.csr_array, sparse.csr_array]:
        """φ (n, d) and ψ (n, d') of the given nodes of one symbol."""
        return self.one_hot(self.inside[nodes], scaling), self.one_hot(self.outside[nodes], scaling)
