"""Convert graphs to a treebank of s-trees with features."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from spectral_latent.estimation import Columns, FeatureColumns, Shard
from spectral_latent.graphs.features import Feature, GivenFeature, neighbourhoods, place_of
from spectral_latent.trees import MISSING, FloatArray, GraphError, Symbol, from_networkx

if TYPE_CHECKING:  # importing networkx takes a quarter of a second
    import networkx as nx

__all__ = ["GraphFormalism"]


class GraphFormalism:
    """The conversion of graphs (`estimation.Formalism`), with the features of `neighbourhoods` and given features.

    inside_features: functions of the user that describe a node and the nodes below it, by name.
    outside_features: functions of the user that describe all other nodes, by name.

    The lists `symbols` and `terminals` grow with each symbol and each terminal that occurs for the first time.
    """

    def __init__(self, inside_features: Mapping[str, Feature], outside_features: Mapping[str, Feature]) -> None:
        self.symbols: list[Symbol] = []
        self.terminals: list[Hashable] = []
        self._inside = {name: GivenFeature(name, feature) for name, feature in inside_features.items()}
        self._outside = {name: GivenFeature(name, feature) for name, feature in outside_features.items()}
        self._n_read = 0

    def n_nodes(self, graph: nx.DiGraph) -> int:
        """Bound the number of nodes of a graph's s-tree, which has fewer than two nodes for each node of the graph."""
        return 2 * len(graph)

    def columns(self, graphs: Sequence[nx.DiGraph], weight: FloatArray) -> Columns:
        """Make the s-trees and features of graphs.

        weight: (T,) the weight of each tree.
        """
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
        is_node = np.array([symbol.part == "node" for symbol in encoded.symbols], dtype=bool)[trees.symbol]
        inside_columns, outside_columns = neighbourhoods(trees)
        # A part of a node has the outside features of the whole node, and the inside features of its first child.
        whole = trees.follow(np.where(is_node, -1, trees.parent))
        for name, given in self._inside.items():
            column = given.column(graphs, encoded, is_node, first)
            inside_columns[f"given: {name}"] = np.where(is_node | (trees.left < 0), column, column[trees.left])
        for name, given in self._outside.items():
            outside_columns[f"given: {name}"] = given.column(graphs, encoded, is_node, first)[whole]
        return Shard.of(trees, FeatureColumns.of(inside_columns, outside_columns), weight).columns

    def shard(self, columns: Columns) -> Shard:
        """Make a shard of the s-trees and features."""
        return Shard(columns)
