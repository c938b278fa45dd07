"""Convert graphs to s-trees with features: those of the neighbourhoods of nodes, and those that the user gives."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from spectral_latent.estimation import (
    Columns,
    FeatureColumns,
    Formalism,
    Shard,
    hash_columns,
    inside_templates,
    outside_templates,
    rule_names,
)
from spectral_latent.trees import (
    MISSING,
    BoolArray,
    FloatArray,
    GraphError,
    GraphTrees,
    IntArray,
    SkeletalTrees,
    Symbol,
    Vocabulary,
    from_networkx,
)
from spectral_latent.trees.graphs import check_name

if TYPE_CHECKING:  # importing networkx takes a quarter of a second
    import networkx as nx

Feature = Callable[["nx.DiGraph", Hashable], Hashable]


def neighbourhoods(trees: SkeletalTrees) -> tuple[dict[str, IntArray], dict[str, IntArray]]:
    """Compute inside and outside templates, each (N,), for trees whose labels tell little about their nodes.

    They are the templates of `estimation` and further ones: inside, the observations of the first and the last leaf
    below the node; outside, the sibling's rule, and the observations of the leaves before and after.

    >>> tree = SkeletalTrees.of([0, 1, 2], left=[-1, -1, 0], right=[-1, -1, 1], terminal=[5, 6, -1], root=[2])
    >>> inside_columns, outside_columns = neighbourhoods(tree)
    >>> inside_columns["last"], outside_columns["before"], outside_columns["after"]
    (array([5, 6, 6]), array([-1,  5, -1]), array([ 6, -1, -1]))
    """
    last = trees.follow(np.where(trees.right >= 0, trees.right, trees.left))
    sibling = np.where(trees.is_right_child, trees.left[trees.parent], trees.right[trees.parent])
    # A sibling is described by the name of its rule, which is the same in every treebank, and by the side.
    has_sibling = (trees.parent >= 0) & (sibling >= 0)
    sibling_rule = hash_columns(rule_names(trees)[sibling], trees.is_right_child)
    leaves = trees.terminal[trees.is_leaf]
    n_before = np.cumsum(trees.is_leaf)[last]  # the number of leaves of all trees up to the last leaf below the node
    # The last leaf below a node is leaves[n_before - 1].  Neighbours in other trees are replaced by -1 below.
    is_first = trees.first_leaf == 0
    is_last = last == last[trees.root][trees.tree]
    inside_columns = {"first": trees.terminal[trees.follow(trees.left)], "last": trees.terminal[last]}
    outside_columns = {
        "sibling": np.where(has_sibling, sibling_rule, -1),
        "before": np.where(is_first, -1, leaves[n_before - trees.n_leaves - 1]),
        "after": np.where(is_last, -1, leaves[np.minimum(n_before, len(leaves) - 1)]),
    }
    return inside_templates(trees) | inside_columns, outside_templates(trees) | outside_columns


def place_of(encoded: GraphTrees, node: int, first: int = 1) -> str:
    """Name the graph and its node that a node of the s-trees is part of, for messages."""
    return f"graph {encoded.trees.tree[node] + first}, node {encoded.nodes[node]!r}"


def _numbers_of(
    name: str,
    feature: Feature,
    values: Vocabulary[Hashable],
    graphs: Sequence[nx.DiGraph],
    encoded: GraphTrees,
    first: int,
) -> IntArray:
    """Number the values (N,) of a given feature at each node of the s-trees; -1 at parts of a node."""
    numbers = np.full(encoded.trees.n_nodes, -1, dtype=np.int64)
    is_node = _are_nodes(encoded)
    for node, tree in enumerate(encoded.trees.tree.tolist()):
        if is_node[node]:
            try:
                value = feature(graphs[tree], encoded.nodes[node])
            except Exception as error:
                error.add_note(f"in the feature {name!r} of {place_of(encoded, node, first)}")
                raise
            numbers[node] = values.add(check_name(value, place_of(encoded, node, first), f"feature {name!r}"))
    return numbers


def _are_nodes(encoded: GraphTrees) -> BoolArray:
    """Tell which nodes (N,) of s-trees are whole nodes of graphs, and not parts."""
    return np.array([symbol.part == "node" for symbol in encoded.symbols], dtype=bool)[encoded.trees.symbol]


class GraphFormalism(Formalism["nx.DiGraph"]):
    """The conversion of graphs (`estimation.Formalism`), with the features of `neighbourhoods` and given features.

    inside_features: functions of the user that describe a node and the nodes below it, by name.
    outside_features: functions of the user that describe all other nodes, by name.

    The lists `symbols` and `terminals` grow with each symbol and each terminal that occurs for the first time."""

    def __init__(self, inside_features: Mapping[str, Feature], outside_features: Mapping[str, Feature]) -> None:
        self.symbols: list[Symbol] = []
        self.terminals: list[Hashable] = []
        # A function may be an inside and an outside feature; each has values of its own.
        self._inside = {name: (feature, Vocabulary[Hashable]()) for name, feature in inside_features.items()}
        self._outside = {name: (feature, Vocabulary[Hashable]()) for name, feature in outside_features.items()}
        self._n_read = 0

    def n_nodes(self, graph: nx.DiGraph) -> int:
        """Bound the number of nodes of a graph's s-tree, which has fewer than two nodes for each node of the graph."""
        return 2 * len(graph)

    def columns(self, graphs: Sequence[nx.DiGraph], weight: FloatArray) -> Columns:
        """Make the s-trees and features of graphs; weight: (T,)."""
        first = self._n_read + 1
        self._n_read += len(graphs)
        encoded = from_networkx(graphs, self.symbols, self.terminals, first=first)
        self.symbols = encoded.symbols
        self.terminals = encoded.terminals
        trees = encoded.trees
        if MISSING in encoded.terminals:
            node = int(np.flatnonzero(trees.terminal == encoded.terminals.index(MISSING))[0])
            place = place_of(encoded, node, first)
            raise GraphError(f"{place}: its observation is missing, and training needs all observations")
        is_node = _are_nodes(encoded)
        inside_columns, outside_columns = neighbourhoods(trees)
        # A part of a node has the outside features of the whole node, and the inside features of its first child.
        whole = trees.follow(np.where(is_node, -1, trees.parent))
        for name, given in self._inside.items():
            column = _numbers_of(name, *given, graphs, encoded, first)
            inside_columns[f"given: {name}"] = np.where(is_node | (trees.left < 0), column, column[trees.left])
        for name, given in self._outside.items():
            outside_columns[f"given: {name}"] = _numbers_of(name, *given, graphs, encoded, first)[whole]
        return Shard.of(trees, FeatureColumns.of(inside_columns, outside_columns), weight).columns
