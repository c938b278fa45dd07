"""Compute the feature templates of slides 18 and 19 for constituency trees.

The core computes the templates that need only the tree; this module adds the two templates that use heads.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from spectral_latent.constituency.conversion import PhraseTrees
from spectral_latent.estimation import FeatureColumns, inside_templates, outside_templates
from spectral_latent.trees import IntArray

__all__ = ["FeatureSet", "constituency_features"]

FeatureSet = Literal["all", "simple"]


def _head_tags(converted: PhraseTrees, tags: IntArray) -> tuple[IntArray, IntArray]:
    """Find the tag of each node's head, and the tag of its governor: the next other head above; -1 if there is none."""
    trees, head_is_right = converted
    head_child = np.where(trees.is_leaf, -1, np.where(head_is_right, trees.right, trees.left))
    head = trees.follow(head_child)
    # Follow each node up while it has the head of its parent; above the last such node is the governor.
    is_head = head[trees.parent] == head
    projection = trees.follow(np.where((trees.parent >= 0) & is_head, trees.parent, -1))
    governor = trees.parent[projection]
    tag = tags[trees.symbol[head]]
    return tag, np.where(governor >= 0, tag[governor], -1)


def constituency_features(converted: PhraseTrees, tags: IntArray, which: FeatureSet = "all") -> FeatureColumns:
    """Compute all templates of slides 18 and 19, or the two simple templates of slide 28: rule below and rule above.

    tags: (S,) the number of the last label of each symbol; at a leaf, this label is a tag.
    """
    trees = converted.trees
    inner = inside_templates(trees)
    outer = outside_templates(trees)
    if which == "simple":
        return FeatureColumns.of({"rule": inner["rule"]}, {"above": outer["above"]})
    own, governor = _head_tags(converted, tags)
    return FeatureColumns.of(inner | {"head": own}, outer | {"governor": governor})
