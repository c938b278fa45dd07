"""Graphs to look at: s-trees, forests and rules as networkx graphs, and places for the nodes of a tree.

Symbols and terminals go by their numbers where no names are given.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from spectral_latent.trees.forest import Forest
from spectral_latent.trees.graphs import Symbol, to_networkx
from spectral_latent.trees.skeletal import SkeletalTrees
from spectral_latent.trees.symbols import FloatArray, Rules

if TYPE_CHECKING:  # importing it takes a quarter of a second
    import networkx as nx

__all__ = ["forest_to_networkx", "rule_graph", "s_trees_to_networkx", "tree_layout"]

Names = Sequence[Hashable] | None


def _name(names: Names, number: int) -> Hashable:
    return int(number) if names is None else names[number]


def s_trees_to_networkx(trees: SkeletalTrees, symbols: Names = None, terminals: Names = None) -> list[nx.DiGraph]:
    """s-trees as they are, parts of nodes as nodes of their own: `label` is the symbol, `observation` the terminal.

    >>> tree = SkeletalTrees.of([0, 1, 2], left=[-1, -1, 0], right=[-1, -1, 1], terminal=[5, 6, -1], root=[2])
    >>> (graph,) = s_trees_to_networkx(tree, ["A", "B", "C"])
    >>> list(graph.edges), graph.nodes[1]
    ([(0, 1), (0, 2)], {'label': 'A', 'observation': 5})
    """
    n_symbols, n_terminals = int(trees.symbol.max(initial=-1)) + 1, int(trees.terminal.max(initial=-1)) + 1
    return to_networkx(
        trees,
        [Symbol(_name(symbols, a)) for a in range(n_symbols)],
        [_name(terminals, x) for x in range(n_terminals)],
    )


def forest_to_networkx(
    forest: Forest, rules: Rules, symbols: Names = None, terminals: Names = None, weights: FloatArray | None = None
) -> nx.DiGraph:
    """A forest as a bipartite graph: items ("item", i) → edges ("edge", e) that derive them → items ("item", j).

    Of an item: `symbol`, `root`, and `weight` if weights (I,) are given, as by `inference.marginals`.  Of an edge:
    `rule`, its row in `rules` or -1, and `terminal` if it derives a leaf.  Arcs to children have their `order`.

    >>> tree = SkeletalTrees.of([0, 1, 2], left=[-1, -1, 0], right=[-1, -1, 1], terminal=[5, 6, -1], root=[2])
    >>> graph = forest_to_networkx(Forest.of_trees(tree, tree.rules), tree.rules)
    >>> list(graph.successors(("edge", 2))), graph.nodes["edge", 0]
    ([('item', 0), ('item', 1)], {'bipartite': 1, 'rule': 0, 'terminal': 5})
    """
    import networkx as nx

    graph, roots = nx.DiGraph(), set(forest.root.tolist())
    for i, symbol in enumerate(forest.symbol):
        graph.add_node(("item", i), bipartite=0, symbol=_name(symbols, symbol), root=i in roots)
        if weights is not None:
            graph.nodes["item", i]["weight"] = float(weights[i])
        for e in range(forest.start[i], forest.start[i + 1]):
            rule, children = int(forest.rule[e]), (int(forest.left[e]), int(forest.right[e]))
            graph.add_node(("edge", e), bipartite=1, rule=rule)
            if children[0] < 0 <= rule:
                graph.nodes["edge", e]["terminal"] = _name(terminals, rules.leaf[rule, 1])
            graph.add_edge(("item", i), ("edge", e))
            graph.add_edges_from((("edge", e), ("item", j), {"order": k}) for k, j in enumerate(children) if j >= 0)
    return graph


def rule_graph(
    rules: Rules,
    symbols: Names = None,
    terminals: Names = None,
    weights: tuple[FloatArray, FloatArray, FloatArray] | None = None,
) -> nx.MultiDiGraph:
    """Rules as a bipartite graph: ("symbol", a) → (kind, r), row r of `rules.leaf`, `.unary` or `.binary` → children.

    Of a symbol or ("terminal", x): `name`.  Of a rule: `weight` if weights (R0,), (R1,), (R2,) are given.  Arcs to
    children have their `order`; a rule with two children of one symbol has two arcs to it.

    >>> tree = SkeletalTrees.of([0, 0, 0], left=[-1, -1, 0], right=[-1, -1, 1], terminal=[5, 6, -1], root=[2])
    >>> graph = rule_graph(tree.rules, ["A"])
    >>> list(graph.edges(("leaf", 0))), graph.number_of_edges(("binary", 0), ("symbol", 0))
    ([(('leaf', 0), ('terminal', 5))], 2)
    """
    import networkx as nx

    graph = nx.MultiDiGraph()
    for k, kind in enumerate(("leaf", "unary", "binary")):
        for r, (a, *below) in enumerate(getattr(rules, kind).tolist()):
            graph.add_node(("symbol", a), bipartite=0, name=_name(symbols, a))
            graph.add_node((kind, r), bipartite=1)
            if weights is not None:
                graph.nodes[kind, r]["weight"] = float(weights[k][r])
            graph.add_edge(("symbol", a), (kind, r))
            child_kind, names = ("terminal", terminals) if kind == "leaf" else ("symbol", symbols)
            for order, b in enumerate(below):
                graph.add_node((child_kind, b), bipartite=0, name=_name(names, b))
                graph.add_edge((kind, r), (child_kind, b), order=order)
    return graph


def tree_layout(graph: nx.DiGraph) -> dict[Hashable, tuple[float, float]]:
    """Places for the nodes of a tree, as `networkx.draw` takes them: leaves side by side, parents above the middle.

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
        below = [place[child][0] for child in graph.successors(node)]
        place[node] = ((below[0] + below[-1]) / 2 if below else float(n_leaves), -float(depth[node]))
        n_leaves += not below
    return place
