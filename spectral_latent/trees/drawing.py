"""Convert s-trees to graphs that can be drawn, and place the nodes of a tree."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from spectral_latent.trees.graphs import Symbol, to_networkx
from spectral_latent.trees.skeletal import SkeletalTrees

if TYPE_CHECKING:  # importing networkx takes a quarter of a second
    import networkx as nx

__all__ = ["s_trees_to_networkx", "tree_layout"]

Names = Sequence[Hashable] | None


def _name(names: Names, number: int) -> Hashable:
    """Look up the name of a number; without names, return the number."""
    return int(number) if names is None else names[number]


def s_trees_to_networkx(trees: SkeletalTrees, symbols: Names = None, terminals: Names = None) -> list[nx.DiGraph]:
    """Convert s-trees to graphs node by node: `label` is the symbol, `observation` the terminal.

    trees: the s-trees, one graph for each.
    symbols: the name of each symbol; if not given, symbols are named by their numbers.
    terminals: the name of each terminal; if not given, terminals are named by their numbers.

    >>> tree = SkeletalTrees.of([0, 1, 2], left=[-1, -1, 0], right=[-1, -1, 1], terminal=[5, 6, -1], root=[2])
    >>> (graph,) = s_trees_to_networkx(tree, ["A", "B", "C"])
    >>> list(graph.edges), graph.nodes[1]
    ([(0, 1), (0, 2)], {'label': 'A', 'observation': 5})
    """
    n_symbols = int(trees.symbol.max(initial=-1)) + 1
    n_terminals = int(trees.terminal.max(initial=-1)) + 1
    return to_networkx(
        trees,
        [Symbol(_name(symbols, a)) for a in range(n_symbols)],
        [_name(terminals, x) for x in range(n_terminals)],
    )


def tree_layout(graph: nx.DiGraph) -> dict[Hashable, tuple[float, float]]:
    """Place the nodes of a tree, as `networkx.draw` takes them: leaves side by side, parents above the middle.

    graph: a tree with edges from parents to children; the children of a node are in the order of its edges.

    >>> import networkx as nx
    >>> tree_layout(nx.DiGraph([("a", "b"), ("a", "c"), ("c", "d")]))
    {'b': (0.0, -1.0), 'd': (1.0, -2.0), 'c': (1.0, -1.0), 'a': (0.5, 0.0)}
    """
    import networkx as nx

    (root,) = (node for node, degree in graph.in_degree() if degree == 0)
    depth = nx.shortest_path_length(graph, root)
    place: dict[Hashable, tuple[float, float]] = {}
    n_leaves = 0
    for node in nx.dfs_postorder_nodes(graph, root):
        children = [place[child][0] for child in graph.successors(node)]
        # A parent is in the middle between its first and its last child, a leaf to the right of all earlier leaves.
        place[node] = ((children[0] + children[-1]) / 2 if children else float(n_leaves), -float(depth[node]))
        n_leaves += not children
    return place
