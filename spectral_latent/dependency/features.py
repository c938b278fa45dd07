"""Compute the feature templates of dependency trees.

The core computes the templates that need only the s-tree.  This module adds templates of words, tags and distances
below a node (inside) and around it (outside).  The order of words is that of the leaves, which is the order of the
sentence if the tree is projective.
"""

from __future__ import annotations

import numpy as np

from spectral_latent.dependency.conversion import DependencyTrees
from spectral_latent.estimation import FeatureColumns, hash_columns, inside_templates, outside_templates
from spectral_latent.trees import IntArray

__all__ = ["dependency_features"]


def _at(column: IntArray, places: IntArray) -> IntArray:
    """Look up column[places]; -1 for a negative place."""
    return np.where(places < 0, -1, column[places])


def dependency_features(converted: DependencyTrees, tag: IntArray, word: IntArray) -> FeatureColumns:
    """Compute the templates of all nodes.

    tag: (n,) the number of the tag at each place.
    word: (n,) the number of the form at each place.
    """
    trees, head = converted
    is_right = converted.head_is_right.astype(np.int64)
    modifier = np.where(trees.is_binary, np.where(is_right, trees.left, trees.right), -1)
    dependant = _at(head, modifier)

    # The governor of a node is the head of the first node above it that has another head; -1 below the root.
    is_top = (trees.parent < 0) | (head[trees.parent] != head)
    top = trees.follow(np.where(is_top, -1, trees.parent))
    governor = _at(head, trees.parent[top])
    is_root = trees.parent[top] < 0
    governor = np.where(is_root, -1, governor)
    side = np.where(is_root, 0, np.where(governor < head, 1, 2))
    sibling = np.where(trees.is_right_child, trees.left[trees.parent], trees.right[trees.parent])
    sibling = np.where(trees.parent < 0, -1, sibling)

    # Find the leaves at both ends of each node, and the words beside them.
    order = trees.terminal[trees.is_leaf]  # places in the order of the leaves
    first_of_tree = np.concatenate([[0], np.cumsum(trees.n_leaves[trees.root])])[trees.tree]
    first = first_of_tree + trees.first_leaf
    last = first + trees.n_leaves - 1
    end = first_of_tree + trees.n_leaves[trees.root][trees.tree]
    before = np.where(trees.first_leaf > 0, order[first - 1], -1)
    after = np.where(last + 1 < end, order[np.minimum(last + 1, len(order) - 1)], -1)
    position = np.argsort(order)  # the position of each place among the leaves
    gap = np.where(side == 1, first - position[governor], position[governor] - last)  # from the governor to the span
    distance = np.where(is_root, 0, np.frexp(gap.astype(float))[1].astype(np.int64))

    inner = {
        "head": word[head],
        "dependant-tag": hash_columns(_at(tag, dependant), is_right),
        "dependant": _at(word, dependant),
        "first-tag": tag[order[first]],
        "last-tag": tag[order[last]],
        "first": word[order[first]],
        "last": word[order[last]],
    }
    outer = {
        "governor-tag": hash_columns(_at(tag, governor), side),
        "governor": _at(word, governor),
        "sibling-tag": hash_columns(_at(tag, _at(head, sibling)), side),
        "before-tag": _at(tag, before),
        "after-tag": _at(tag, after),
        "before": _at(word, before),
        "after": _at(word, after),
        "distance": hash_columns(distance, side),
    }
    worded = converted.over(word)
    return FeatureColumns.of(inside_templates(worded) | inner, outside_templates(worded) | outer)
