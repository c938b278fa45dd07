"""Hold skeletal trees as columns of integers: one row per node in post-order, trees one after another.

| here | long paper | meaning |
| --- | --- | --- |
| s-tree | s-tree, r_1 ... r_N | a tree of rules whose latent states are unseen (section 4) |
| `rule` | r_i | the rule at node i |
| `symbol` | a_i | its left-hand side |
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spectral_latent.trees.symbols import BoolArray, IntArray, Rules


def _column(values: Sequence[int] | IntArray) -> IntArray:
    """Convert values to integers (N,).  Raises ValueError if they are not integers."""
    column = np.array(values)
    if column.ndim != 1 or (column.size and (column.dtype.kind not in "iu" or column.dtype == np.uint64)):
        raise ValueError("a column of skeletal trees must be one-dimensional and of 64-bit integers")
    return column.astype(np.int64)


@dataclass(frozen=True, eq=False)
class SkeletalTrees:
    """T s-trees with N nodes in all.

    symbol: (N,) the left-hand side of each node's rule.
    left, right: (N,) the left and the right child of each node; a leaf has -1 in both, a unary node in `right`.
    terminal: (N,) the observation of each leaf; -1 at other nodes.
    root: (T,) the root node of each tree, increasing.

    >>> tree = SkeletalTrees.of([0, 1, 2], left=[-1, -1, 0], right=[-1, -1, 1], terminal=[5, 6, -1], root=[2])
    >>> tree.rules.binary, tree.rules.leaf
    (array([[2, 0, 1]]), array([[0, 5],
           [1, 6]]))
    >>> tree.parent, tree.first_leaf, tree.n_leaves
    (array([ 2,  2, -1]), array([0, 1, 0]), array([1, 1, 2]))
    """

    symbol: IntArray
    left: IntArray
    right: IntArray
    terminal: IntArray
    root: IntArray

    @staticmethod
    def of(
        symbol: Sequence[int] | IntArray,
        *,
        left: Sequence[int] | IntArray,
        right: Sequence[int] | IntArray,
        terminal: Sequence[int] | IntArray,
        root: Sequence[int] | IntArray,
    ) -> SkeletalTrees:
        """Make trees of five columns of integers.  Raises ValueError if they do not describe trees.

        symbol: (N,) the left-hand side of each node's rule.
        left: (N,) the left child, or the only child, of each node; -1 at a leaf.
        right: (N,) the right child of each node; -1 at a leaf and at a unary node.
        terminal: (N,) the observation of each leaf; -1 at other nodes.
        root: (T,) the root node of each tree, increasing."""
        trees = SkeletalTrees(*map(_column, (symbol, left, right, terminal, root)))
        trees._check()
        return trees

    @staticmethod
    def post_order(symbol: IntArray, n_children: IntArray, terminal: IntArray, root: IntArray) -> SkeletalTrees:
        """Make trees of their nodes in post-order and the number of children of each.

        symbol: (N,) the left-hand side of each node's rule.
        n_children: (N,) the number of children of each node: 0, 1 or 2.
        terminal: (N,) the observation of each leaf; -1 at other nodes.
        root: (T,) the root node of each tree, increasing.

        >>> tree = SkeletalTrees.post_order(np.arange(3), np.array([0, 0, 2]), np.array([5, 6, -1]), np.array([2]))
        >>> tree.left, tree.right
        (array([-1, -1,  0]), array([-1, -1,  1]))
        """
        # The last child is just before its node.  As many subtrees are complete after a binary node as after its left
        # child, and more are in between.
        complete = np.cumsum(1 - n_children)
        order = np.argsort(complete, kind="stable")
        before = np.empty_like(order)
        before[order] = np.concatenate([[-1], order])[:-1]
        last = np.arange(len(order)) - 1
        left = np.select([n_children == 2, n_children == 1], [before, last], -1)
        return SkeletalTrees.of(
            symbol, left=left, right=np.where(n_children == 2, last, -1), terminal=terminal, root=root
        )

    def _check(self) -> None:
        """Raise ValueError unless the columns are trees in post-order."""
        n = len(self.symbol)
        if not len(self.left) == len(self.right) == len(self.terminal) == n:
            raise ValueError("columns of skeletal trees differ in length")
        if (self.symbol < 0).any() or (np.minimum(self.left, self.right) < -1).any():
            raise ValueError("symbols of skeletal trees must be at least 0, and an absent child must be -1")
        # Every child comes before its parent, and every node is the child of one node or a root.
        children = np.concatenate([self.left, self.right])
        parents = np.tile(np.arange(n), 2)[children >= 0]
        children = children[children >= 0]
        if (children >= parents).any() or (np.diff(self.root) <= 0).any():
            raise ValueError("skeletal trees must list children before parents and roots in order")
        uses = np.bincount(np.concatenate([children, self.root]), minlength=n)
        if len(uses) != n or (uses != 1).any():
            raise ValueError("every node of skeletal trees must be the root of a tree or the child of one node")
        if ((self.left < 0) & (self.right >= 0)).any() or ((self.left < 0) != (self.terminal >= 0)).any():
            raise ValueError("a node of a skeletal tree must have either a terminal or a left child")
        # In post-order, the last child is just before its parent, and the right subtree just after the left one.
        # `depth` counts the complete subtrees after each node; after a binary node, there are as many as after its left
        # child.
        arity = (self.left >= 0).astype(np.int64) + (self.right >= 0)
        depth = np.cumsum(1 - arity)
        inner = np.flatnonzero(arity > 0)
        binary = np.flatnonzero(arity == 2)
        last = np.where(self.right >= 0, self.right, self.left)[inner]
        if (last != inner - 1).any() or (depth[self.left[binary]] != depth[binary]).any():
            raise ValueError("skeletal trees must list their nodes in post-order")

    @property
    def n_nodes(self) -> int:
        """The number of nodes, N."""
        return len(self.symbol)

    @cached_property
    def is_leaf(self) -> BoolArray:
        """Whether the node's rule is a → x, (N,)."""
        return self.left < 0

    @cached_property
    def is_binary(self) -> BoolArray:
        """Whether the node's rule is a → b c, (N,)."""
        return self.right >= 0

    @cached_property
    def is_unary(self) -> BoolArray:
        """Whether the node's rule is a → b, (N,)."""
        return (self.left >= 0) & (self.right < 0)

    def rows(self) -> tuple[IntArray, IntArray, IntArray]:
        """List the rules at leaf nodes (n0, 2), unary nodes (n1, 2) and binary nodes (n2, 3), in node order."""
        leaf = self.is_leaf
        unary = self.is_unary
        binary = self.is_binary
        symbol = self.symbol
        return (
            np.stack([symbol[leaf], self.terminal[leaf]], axis=1),
            np.stack([symbol[unary], symbol[self.left[unary]]], axis=1),
            np.stack([symbol[binary], symbol[self.left[binary]], symbol[self.right[binary]]], axis=1),
        )

    @cached_property
    def _distinct(self) -> tuple[Rules, IntArray]:
        """The distinct rules, and each node's row (N,) among the rules of its kind."""
        rule = np.empty(self.n_nodes, dtype=np.int64)
        tables = []
        for kind, rows in zip((self.is_leaf, self.is_unary, self.is_binary), self.rows(), strict=True):
            table, rule[kind] = Rules.distinct(rows)
            tables.append(table)
        return Rules(*tables), rule

    @property
    def rules(self) -> Rules:
        """The distinct rules of these trees."""
        return self._distinct[0]

    @property
    def rule(self) -> IntArray:
        """Each node's rule, (N,): a row of `rules.leaf`, `rules.unary` or `rules.binary`, as the node's kind says."""
        return self._distinct[1]

    def rule_in(self, rules: Rules) -> IntArray:
        """Look up each node's rule (N,) in a table; -1 for a rule that the table lacks."""
        number = np.empty(self.n_nodes, dtype=np.int64)
        kinds = (self.is_leaf, self.is_unary, self.is_binary)
        tables = (rules.leaf, rules.unary, rules.binary)
        for kind, table, rows in zip(kinds, tables, self.rows(), strict=True):
            number[kind] = Rules.find(table, rows)
        return number

    @cached_property
    def tree(self) -> IntArray:
        """The tree of each node, 0 ... T - 1, (N,)."""
        return np.searchsorted(self.root, np.arange(self.n_nodes))

    @cached_property
    def parent(self) -> IntArray:
        """The node above, -1 at a root, (N,)."""
        parent = np.full(self.n_nodes, -1, dtype=np.int64)
        for child in (self.left, self.right):
            inner = np.flatnonzero(child >= 0)
            parent[child[inner]] = inner
        return parent

    @cached_property
    def is_right_child(self) -> BoolArray:
        """Whether the node is the right child of a binary node, (N,)."""
        side = np.zeros(self.n_nodes, dtype=bool)
        side[self.right[self.right >= 0]] = True
        return side

    def separate(self) -> Iterator[SkeletalTrees]:
        """Yield each tree alone, whose nodes are numbered from 0.

        >>> both = SkeletalTrees.of(
        ...     [0, 0, 1, 2], left=[-1, -1, -1, 1], right=[-1, -1, -1, 2], terminal=[5, 6, 7, -1], root=[0, 3])
        >>> [tree.left.tolist() for tree in both.separate()]
        [[-1], [-1, -1, 0]]
        """
        first = 0
        for root in self.root.tolist():
            nodes = slice(first, root + 1)
            left, right = (np.maximum(child[nodes] - first, -1) for child in (self.left, self.right))
            yield SkeletalTrees(self.symbol[nodes], left, right, self.terminal[nodes], np.array([root - first]))
            first = root + 1

    def nodes_by_symbol(self) -> list[IntArray]:
        """List the nodes (n,) of each symbol 0, 1, ..., in node order."""
        order = np.argsort(self.symbol, kind="stable")
        return np.split(order, np.searchsorted(self.symbol[order], np.arange(1, int(self.symbol.max(initial=0)) + 1)))

    def follow(self, step: IntArray) -> IntArray:
        """Find the end (N,) of the path node → step[node] → ... ; a path ends where step is -1.

        step: (N,) a node nearer to the path's end, or -1.

        >>> tree = SkeletalTrees.of([0, 1, 2], left=[-1, -1, 0], right=[-1, -1, 1], terminal=[5, 6, -1], root=[2])
        >>> tree.follow(tree.right)
        array([0, 1, 1])
        """
        # Pointer doubling: each round goes twice as far, so that log2(depth) rounds reach all ends.
        end = np.where(step < 0, np.arange(self.n_nodes), step)
        while True:
            further = end[end]
            if np.array_equal(further, end):
                return end
            end = further

    @cached_property
    def first_leaf(self) -> IntArray:
        """The position within its tree of the leftmost leaf below the node, (N,)."""
        # In post-order, leaves come from left to right.
        leaves_before: IntArray = np.cumsum(self.is_leaf) - self.is_leaf
        first_node = np.concatenate([[0], self.root[:-1] + 1])
        offset: IntArray = leaves_before[first_node[self.tree]] if self.n_nodes else leaves_before
        return leaves_before[self.follow(self.left)] - offset

    @cached_property
    def n_leaves(self) -> IntArray:
        """The number of leaves at or below the node, (N,)."""
        last = self.follow(np.where(self.right >= 0, self.right, self.left))
        return self.first_leaf[last] - self.first_leaf + 1
