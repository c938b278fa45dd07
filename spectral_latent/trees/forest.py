"""Packed forests: items and the rule applications (edges) that derive them, items before the items built on them.

A chart, a trellis and a single s-tree are all forests; an s-tree is a forest with one edge per item.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spectral_latent.trees.skeletal import SkeletalTrees
from spectral_latent.trees.symbols import BoolArray, IntArray, Rules

__all__ = ["Forest"]


class Forest(NamedTuple):
    """A packed forest of I items and E edges; children come before parents.

    Functions of `inference` check what follows, and raise ValueError with the item and the edge.

    symbol: (I,) the symbol of each item; -1 for a symbol that the operators lack: then the item has weight zero.
    start: (I + 1,) item i is derived by the edges start[i] ... start[i+1] - 1; edges of the same rule are neighbours.
    rule: (E,) the rule of each edge: a row of `rules.binary` (both children), `rules.unary` (left child only) or
        `rules.leaf` (no child); an edge with rule -1 has weight zero.
    left, right: (E,) the left and the right child item of each edge; -1 for no child.
    root: (K,) the items that may be at the top of a tree.
    component: (K,) the component of each root, non-decreasing; components share no item, and the last item of each
        component is a root.  A forest without roots has no component.

    >>> tree = SkeletalTrees.of([0, 1, 2], left=[-1, -1, 0], right=[-1, -1, 1], terminal=[5, 6, -1], root=[2])
    >>> forest = Forest.of_trees(tree, tree.rules)
    >>> forest.n_items, forest.n_edges, forest.rule
    (3, 3, array([0, 1, 0]))
    """

    symbol: IntArray
    start: IntArray
    rule: IntArray
    left: IntArray
    right: IntArray
    root: IntArray
    component: IntArray

    @staticmethod
    def of_trees(trees: SkeletalTrees, rules: Rules) -> Forest:
        """Convert trees to a forest with one component for each tree and one edge for each node.

        trees: the trees.
        rules: the table that numbers rules; a rule that it lacks has the number -1.
        """
        return Forest(
            symbol=trees.symbol,
            start=np.arange(trees.n_nodes + 1),
            rule=trees.rule_in(rules),
            left=trees.left,
            right=trees.right,
            root=trees.root,
            component=np.arange(len(trees.root)),
        )

    @property
    def n_items(self) -> int:
        """The number of items, I."""
        return len(self.symbol)

    @property
    def n_edges(self) -> int:
        """The number of edges, E."""
        return len(self.rule)

    @property
    def item(self) -> IntArray:
        """The item that each edge derives, (E,)."""
        return np.repeat(np.arange(self.n_items), np.diff(self.start))

    def restricted(self, keep: BoolArray) -> Forest:
        """Leave out items, and all edges that derive them or have them as a child.

        keep: (I,) whether to keep each item; roots must be kept.

        Raises ValueError if a root is left out, or if there is not one truth value for each item.

        >>> tree = SkeletalTrees.of([0, 1, 2], left=[-1, -1, 0], right=[-1, -1, 1], terminal=[5, 6, -1], root=[2])
        >>> forest = Forest.of_trees(tree, tree.rules).restricted(np.array([True, False, True]))
        >>> forest.symbol, forest.start, forest.root
        (array([0, 2]), array([0, 1, 1]), array([1]))
        """
        if np.shape(keep) != (self.n_items,) or np.asarray(keep).dtype != np.bool_:
            raise ValueError(f"give one truth value for each of the {self.n_items} items")
        if not keep[self.root].all():
            raise ValueError("the roots of a forest cannot be left out")
        # A child -1 is the last entry of both columns: it keeps its number, and no edge is left out because of it.
        number = np.append(np.cumsum(keep) - 1, -1)
        kept = np.append(keep, True)
        item = self.item
        edge = keep[item] & kept[self.left] & kept[self.right]
        n_edges = np.bincount(number[item[edge]], minlength=int(keep.sum()))
        return Forest(
            symbol=self.symbol[keep],
            start=np.append(0, np.cumsum(n_edges)),
            rule=self.rule[edge],
            left=number[self.left[edge]],
            right=number[self.right[edge]],
            root=number[self.root],
            component=self.component,
        )

    @property
    def n_components(self) -> int:
        """The number of components."""
        return int(self.component[-1]) + 1 if len(self.component) else 0
