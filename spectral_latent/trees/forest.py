"""Packed forests: items and the rule applications (edges) that derive them, items before the items built on them.

A chart, a trellis and a single s-tree are all forests; an s-tree is a forest with one edge per item.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from spectral_latent.trees.skeletal import SkeletalTrees
from spectral_latent.trees.symbols import BoolArray, IntArray, Rules


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

        rules: the table that numbers rules; a rule that it lacks has the number -1."""
        return Forest(
            symbol=trees.symbol,
            start=np.arange(trees.n_nodes + 1),
            rule=trees.rule_in(rules),
            left=trees.left,
            right=trees.right,
            root=trees.root,
            component=np.arange(len(trees.root)),
        )

    @staticmethod
    def join(forests: Sequence[Forest]) -> Forest:
        """Join forests of one component each, which get the numbers 0, 1, ...; there may be none."""
        none = np.zeros(0, dtype=np.int64)
        columns = ([none, *(forest[at] for forest in forests)] for at in (0, 2, 3, 4, 5))
        symbol, rule, left, right, root = map(np.concatenate, columns)
        n_items, n_edges, n_roots = (
            np.array([len(forest[at]) for forest in forests], dtype=np.int64) for at in (0, 2, 5)
        )
        item_before, edge_before = np.cumsum(n_items) - n_items, np.cumsum(n_edges) - n_edges
        start = np.concatenate([none, *(forest.start[:-1] for forest in forests)]) + np.repeat(edge_before, n_items)
        below = np.repeat(item_before, n_edges)
        return Forest(
            symbol,
            np.append(start, len(rule)),
            rule,
            np.where(left < 0, -1, left + below),
            np.where(right < 0, -1, right + below),
            root + np.repeat(item_before, n_roots),
            np.repeat(np.arange(len(forests)), n_roots),
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

    def restrict(self, keep: BoolArray) -> Forest:
        """Leave out items, and all edges that derive them or have them as a child.

        keep: (I,) whether to keep each item; roots must be kept.

        Raises ValueError if a root is left out, or if there is not one truth value for each item.

        >>> tree = SkeletalTrees.of([0, 1, 2], left=[-1, -1, 0], right=[-1, -1, 1], terminal=[5, 6, -1], root=[2])
        >>> forest = Forest.of_trees(tree, tree.rules).restrict(np.array([True, False, True]))
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


class ForestBuilder:
    """Append the items of a forest, children before parents, with the rules of a table; see `Forest`.

    It is meant for formalisms that are tried out; large charts are built by compiled code.

    rules: the table of rules; an edge by a rule that it lacks has weight zero.

    >>> none = np.empty((0, 2), dtype=np.int64)
    >>> builder = ForestBuilder(Rules(np.array([[0, 5], [1, 6]]), none, np.array([[2, 0, 1]])))
    >>> builder.end(builder.add(2, [(builder.leaf(0, 5), builder.leaf(1, 6))]))
    >>> builder.forest().rule, builder.forest().left
    (array([0, 1, 0]), array([-1, -1,  0]))
    """

    def __init__(self, rules: Rules) -> None:
        tables = (rules.leaf, rules.unary, rules.binary)
        self._leaf, self._unary, self._binary = ({tuple(row): r for r, row in enumerate(t.tolist())} for t in tables)
        self.symbol: list[int] = []
        self._start = [0]
        self._edges: list[tuple[int, int, int]] = []
        self._roots: list[tuple[int, int]] = []
        self._n_components = 0

    def _append(self, symbol: int, edges: Iterable[tuple[int, int, int]]) -> int:
        """Append an item with edges, each a rule and two children, and return its number."""
        self.symbol.append(symbol)
        self._edges += edges
        self._start.append(len(self._edges))
        return len(self.symbol) - 1

    def leaf(self, symbol: int, terminal: int) -> int:
        """Append an item that is a leaf, and return its number."""
        return self._append(symbol, [(self._leaf.get((symbol, terminal), -1), -1, -1)])

    def add(self, symbol: int, children: Iterable[tuple[int, ...]]) -> int:
        """Append an item that has one or more derivations, and return its number."""
        edges = []
        for below in children:
            rule = (symbol, *(self.symbol[child] for child in below))
            number = (self._binary if len(below) == 2 else self._unary).get(rule, -1)
            edges.append((number, below[0], below[1] if len(below) == 2 else -1))
        return self._append(symbol, edges)

    def end(self, *roots: int) -> None:
        """End a component, such as that of an input.

        roots: the items at the top of the component."""
        self._roots += ((root, self._n_components) for root in roots)
        self._n_components += 1

    def forest(self) -> Forest:
        """Return the forest of all components."""
        rule, left, right = np.array(self._edges, dtype=np.int64).reshape(-1, 3).T.copy()
        root, component = np.array(self._roots, dtype=np.int64).reshape(-1, 2).T.copy()
        return Forest(np.array(self.symbol), np.array(self._start), rule, left, right, root, component)
