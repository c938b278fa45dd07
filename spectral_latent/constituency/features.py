"""The feature templates of the slides (18, 19) for constituency trees.

Those of the core need nothing but the tree; here are the two that look at heads.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from spectral_latent.estimation import FeatureColumns, inside_templates, outside_templates
from spectral_latent.trees import BoolArray, IntArray, SkeletalTrees

__all__ = ["FeatureSet", "constituency_features"]

FeatureSet = Literal["all", "simple"]


def _head_tags(trees: SkeletalTrees, head_is_right: BoolArray, tags: IntArray) -> tuple[IntArray, IntArray]:
    """The tag of each node's head, and of the first head above that is another node's (-1 if none)."""
    head_child = np.where(trees.is_leaf, -1, np.where(head_is_right, trees.right, trees.left))
    head = trees.follow(head_child)
    is_head = head[trees.parent] == head
    projection = trees.follow(np.where((trees.parent >= 0) & is_head, trees.parent, -1))
    governor = trees.parent[projection]
    tag = tags[trees.symbol[head]]
    return tag, np.where(governor >= 0, tag[governor], -1)


def constituency_features(
    trees: SkeletalTrees, head_is_right: BoolArray, tags: IntArray, which: FeatureSet = "all"
) -> FeatureColumns:
    """All templates of slides 18 and 19, or the simple ones of slide 28: rule below, rule above.

    head_is_right: (N,) of binary nodes.  tags: (S,) a number of the tag that a leaf's symbol ends in.
    """
    inner, outer = inside_templates(trees), outside_templates(trees)
    if which == "simple":
        return FeatureColumns.of({"rule": inner["rule"]}, {"above": outer["above"]})
    own, governor = _head_tags(trees, head_is_right, tags)
    return FeatureColumns.of(inner | {"head": own}, outer | {"governor": governor})
