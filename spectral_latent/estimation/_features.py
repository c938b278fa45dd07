"""Compute feature templates of inside and outside trees, as columns of integers.

A template has one integer for each node, which is the name of the node's feature.  Templates are made from columns of
`SkeletalTrees` by `hash_columns`, which gives equal rows the same name in any treebank.  This module has the templates
of slides 18 and 19 that need only the tree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spectral_latent.trees import BoolArray, IntArray, SkeletalTrees

_STEP = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ over the golden ratio


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Map 64-bit numbers one to one, so that they are scattered (Steele, Lea and Flood 2014, SplitMix64)."""
    values = values + _STEP
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def hash_columns(*columns: IntArray | BoolArray) -> IntArray:
    """Hash the rows of columns (N,) to one column (N,) of 64-bit names.

    A name depends on the values of its row alone, so that it means the same in any shard of a treebank.  Among n
    different rows, two have the same name with a probability of about n² / 2⁶⁵.

    columns: one or more columns (N,) of integers or truth values.

    >>> hash_columns(np.array([3, 3, 7]), np.array([-1, 2, -1])) == hash_columns(np.array([3]), np.array([-1]))
    array([ True, False, False])
    """
    merged = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        merged = _mix(merged + column.astype(np.int64).view(np.uint64))
    return merged.view(np.int64)


def _at(column: IntArray, nodes: IntArray) -> IntArray:
    """Look up column (N,) at nodes (n,); the result is -1 for node -1."""
    return np.where(nodes < 0, -1, column[nodes])


def rule_names(trees: SkeletalTrees) -> IntArray:
    """Name each node's rule, (N,), as `hash_columns` does.

    >>> tree = SkeletalTrees.of([0, 0, 2], left=[-1, -1, 0], right=[-1, -1, 1], terminal=[5, 5, -1], root=[2])
    >>> names = rule_names(tree)
    >>> names == names[0]
    array([ True,  True, False])
    """
    symbol = trees.symbol
    return hash_columns(symbol, _at(symbol, trees.left), _at(symbol, trees.right), trees.terminal)


def _magnitude(column: IntArray) -> IntArray:
    """Count the binary digits of counts (N,), which puts them on a logarithmic scale."""
    digits: IntArray = np.frexp(column.astype(float))[1].astype(np.int64)
    return digits


def inside_templates(trees: SkeletalTrees) -> dict[str, IntArray]:
    """Compute the inside templates of slide 18, each (N,).

    They are the rule below, its children, the rule with the rule of one child, and the width.  Widths are rounded to
    powers of two, because spans of exactly 17 leaves are too rare for statistics.

    >>> tree = SkeletalTrees.of([0, 1, 2], left=[-1, -1, 0], right=[-1, -1, 1], terminal=[5, 6, -1], root=[2])
    >>> sorted(inside_templates(tree))
    ['left', 'left-opened', 'right', 'right-opened', 'rule', 'width']
    """
    rule = rule_names(trees)
    return {
        "rule": rule,
        "left": _at(trees.symbol, trees.left),
        "right": _at(trees.symbol, trees.right),
        "left-opened": hash_columns(rule, _at(rule, trees.left)),
        "right-opened": hash_columns(rule, _at(rule, trees.right)),
        "width": _magnitude(trees.n_leaves),
    }


def parent_rule(trees: SkeletalTrees) -> IntArray:
    """Name the rule above each node, with the side of the node in it, (N,); -1 at a root."""
    return np.where(trees.parent < 0, -1, hash_columns(_at(rule_names(trees), trees.parent), trees.is_right_child))


def outside_templates(trees: SkeletalTrees) -> dict[str, IntArray]:
    """Compute the outside templates of slide 19, each (N,).

    They are the rule above, the two and the three rules above, each with the side of the node; the parent; the
    grandparent; and the numbers of leaves on either side.

    >>> tree = SkeletalTrees.of([0, 1, 2], left=[-1, -1, 0], right=[-1, -1, 1], terminal=[5, 6, -1], root=[2])
    >>> outside_templates(tree)["leaves-before"], outside_templates(tree)["leaves-after"]
    (array([0, 1, 0]), array([1, 0, 0]))
    """
    parent = trees.parent
    once = parent_rule(trees)
    grandparent = _at(parent, parent)
    twice = hash_columns(once, _at(once, parent))
    leaves = trees.n_leaves
    return {
        "above": once,
        "above-2": twice,
        "above-3": hash_columns(twice, _at(once, grandparent)),
        "parent": _at(trees.symbol, parent),
        "grandparent": hash_columns(_at(trees.symbol, parent), _at(trees.symbol, grandparent)),
        "leaves-before": _magnitude(trees.first_leaf),
        "leaves-after": _magnitude(leaves[trees.root][trees.tree] - trees.first_leaf - leaves),
    }


@dataclass(frozen=True, eq=False)
class FeatureColumns:
    """Hold the templates of N nodes: one integer for each template and node.

    inside: (N, d_φ) the inside templates.
    outside: (N, d_ψ) the outside templates."""

    inside: IntArray
    outside: IntArray

    @staticmethod
    def of(inside: dict[str, IntArray], outside: dict[str, IntArray]) -> FeatureColumns:
        """Stack named templates (N,).

        inside: inside templates (N,) by name, one or more.
        outside: outside templates (N,) by name, one or more."""
        return FeatureColumns(np.stack(list(inside.values()), axis=1), np.stack(list(outside.values()), axis=1))
