"""Convert trees of networkx to skeletal trees, and back.

A tree is a `networkx.DiGraph` with edges from parent to child, of any arity and depth.

| attribute | of | meaning |
| --- | --- | --- |
| `label` | every node | its symbol: hashable, not None |
| `observation` | any node | its observation, hashable; `MISSING` if it is unknown; None or absent if there is none |
| `order` | every child edge of a node, or none | the order of the children; without it, the order of adding the edges |

A node X with children c_1 ... c_k becomes, with X' for the rest of X,

    X → c_1 X',   X' → c_2 X',   ...,   X' → c_{k-1} c_k,

two children X → c_1 c_2, one child X → c_1, and a leaf X → x with its observation x, which may be None.  The
observation of an inner node becomes a leaf of its own before c_1.  Nodes with the same label may have different numbers
of children.  Labels that are equal in Python, as 1 and True are, count as one label; so do observations.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

from spectral_latent.trees.skeletal import SkeletalTrees
from spectral_latent.trees.symbols import Vocabulary

if TYPE_CHECKING:  # importing networkx takes a quarter of a second
    import networkx as nx


class GraphError(ValueError):
    """A graph is not a rooted, ordered, labelled tree; the message names graph and node."""


class Missing(Enum):
    """The type of `MISSING`, an observation that exists but is unknown."""

    MISSING = "MISSING"

    def __repr__(self) -> str:
        return self.name


MISSING: Final = Missing.MISSING
Part = Literal["node", "rest", "observation"]


class Symbol(NamedTuple):
    """A symbol of the s-trees, which stands for a part of a node of a graph.

    part: the part: the `node` itself; the `rest` of its children, after the first ones; the `observation` of an inner
        node."""

    label: Hashable
    part: Part = "node"


class GraphTrees(NamedTuple):
    """s-trees of graphs, with the names of their symbols, terminals and nodes.

    symbols: (S,) the label and the part that each symbol stands for.
    terminals: the observation that each terminal stands for.
    nodes: (N,) the node of the graph that each node of the s-trees is part of."""

    trees: SkeletalTrees
    symbols: list[Symbol]
    terminals: list[Hashable]
    nodes: list[Hashable]


def _is_nan(value: Any) -> bool:
    """Tell whether a value, or a value in a tuple, differs from itself.  Raises TypeError if it cannot be compared."""
    return any(map(_is_nan, value)) if isinstance(value, tuple) else bool(value != value)


def check_name(value: Any, place: str, kind: str) -> Hashable:
    """Return the value if it can serve as a name; raise GraphError if it is unhashable or NaN."""
    try:
        hash(value)
        nan = _is_nan(value)
    except TypeError:
        raise GraphError(f"{place}: the {kind} {value!r:.80} is not hashable or cannot be compared") from None
    if nan:
        raise GraphError(f"{place}: the {kind} is NaN, which is equal to nothing")
    name: Hashable = value
    return name


def _children(graph: nx.DiGraph, node: Hashable, place: str) -> list[Hashable]:
    """List the children of a node, in order."""
    edges = graph.adj[node]
    order = {child: edge["order"] for child, edge in edges.items() if edge.get("order") is not None}
    if not order:
        return list(edges)
    for child in edges:
        if child not in order:
            raise GraphError(f"{place}, node {node!r}: child {child!r} has no `order`, but other children have one")
    try:
        ordered = sorted(edges, key=order.__getitem__)
        for one, other in itertools.pairwise(ordered):
            if not order[one] < order[other]:
                raise GraphError(
                    f"{place}, node {node!r}: the `order` of {one!r} and {other!r} does not tell which is first"
                )
    except TypeError:
        raise GraphError(f"{place}, node {node!r}: the `order` of its children cannot be compared") from None
    return ordered


def check_graphs(graphs: Iterable[nx.DiGraph], first: int = 1) -> Iterator[nx.DiGraph]:
    """Yield graphs after a check.  Raises GraphError for an object of another type, and for a graph without a list."""
    import networkx as nx

    if hasattr(graphs, "nodes"):
        raise GraphError("one graph where several are expected; put it in a list")
    for number, graph in enumerate(graphs, start=first):
        if not isinstance(graph, nx.DiGraph) or graph.is_multigraph():
            raise GraphError(f"graph {number}: a networkx.DiGraph is needed, not {type(graph).__name__}")
        yield graph


def _root(graph: nx.DiGraph, place: str) -> Hashable:
    """Find the one node without a parent; raise GraphError unless every other node has one parent."""
    if not len(graph):
        raise GraphError(f"{place} has no nodes")
    for node, degree in graph.in_degree():
        if degree > 1:
            one, other = list(graph.predecessors(node))[:2]
            raise GraphError(f"{place}, node {node!r}: it has two parents, {one!r} and {other!r}")
    roots = [node for node, degree in graph.in_degree() if degree == 0]
    if len(roots) > 1:
        raise GraphError(f"{place}, nodes {roots[0]!r} and {roots[1]!r}: both are roots")
    if not roots:
        raise _cycle(graph, next(iter(graph)), place)
    root: Hashable = roots[0]
    return root


def _cycle(graph: nx.DiGraph, node: Hashable, place: str) -> GraphError:
    """Make the error for a graph in which every node has one parent, so that the path up from `node` never ends."""
    path = {node: None}
    while (node := next(graph.predecessors(node))) not in path:
        path[node] = None
    return GraphError(f"{place}, node {node!r}: it lies on a cycle")


class _Nodes:
    """The nodes of s-trees in post-order, as they grow."""

    def __init__(self, symbols: Iterable[Symbol], terminals: Iterable[Hashable]) -> None:
        self.symbols = Vocabulary(symbols)
        self.terminals = Vocabulary(terminals)
        self.rows: list[tuple[int, int, int]] = []  # the symbol, the number of children, and the terminal, -1 for none
        self.nodes: list[Hashable] = []  # the node of the graph that each one is part of
        self.root: list[int] = []

    def add(self, node: Hashable, symbol: Symbol, n_children: int, observation: Hashable = None) -> None:
        """Append a node, which has an observation if it has no children."""
        terminal = -1 if n_children else self.terminals.add(observation)
        self.rows.append((self.symbols.add(symbol), n_children, terminal))
        self.nodes.append(node)


def _names(graph: nx.DiGraph, node: Hashable, place: str) -> tuple[Hashable, Hashable]:
    """Look up label and observation of a node."""
    attributes = graph.nodes[node]
    place = f"{place}, node {node!r}"
    if attributes.get("label") is None:
        raise GraphError(f"{place}: it has no `label`")
    label = check_name(attributes["label"], place, "label")
    return label, check_name(attributes.get("observation"), place, "observation")


def _append(found: _Nodes, graph: nx.DiGraph, place: str) -> None:
    """Append the s-tree of one graph."""
    first = len(found.rows)
    n_visited = 0
    # A new node has 0; a visited node has the number of its parts, which are finished when it is taken again.
    open_nodes = [(_root(graph, place), 0)]
    while open_nodes:
        node, n_parts = open_nodes.pop()
        if n_parts:
            # Close a node over its parts: join the last two parts into a `rest` until two parts are left.
            label = graph.nodes[node]["label"]
            for _ in range(n_parts - 2):
                found.add(node, Symbol(label, "rest"), 2)
            found.add(node, Symbol(label), min(n_parts, 2))
            continue
        n_visited += 1
        label, observation = _names(graph, node, place)
        below = _children(graph, node, place)
        if not below:
            found.add(node, Symbol(label), 0, observation)
            continue
        # The observation of an inner node is the first of its parts; its children are visited before it is closed.
        if observation is not None:
            found.add(node, Symbol(label, "observation"), 0, observation)
        open_nodes.append((node, len(below) + (observation is not None)))
        open_nodes.extend((child, 0) for child in reversed(below))
    if n_visited < len(graph):
        # The root does not lead to the other nodes: they have parents among themselves, and so a cycle.
        visited = set(found.nodes[first:])
        raise _cycle(graph, next(node for node in graph if node not in visited), place)
    found.root.append(len(found.rows) - 1)


def from_networkx(
    graphs: Iterable[nx.DiGraph],
    symbols: Iterable[Symbol] = (),
    terminals: Iterable[Hashable] = (),
    *,
    first: int = 1,
) -> GraphTrees:
    """Convert trees given as graphs to s-trees.

    graphs: rooted, ordered and labelled trees.
    symbols: symbols that already have numbers, in order; other symbols are numbered after them.
    terminals: observations that already have numbers, in order; other observations are numbered after them.
    first: the number of the first graph, for messages.

    Raises GraphError if a graph is not such a tree.

    >>> import networkx as nx
    >>> graph = nx.DiGraph([("top", "one"), ("top", "two"), ("top", "three")])
    >>> for node in graph: graph.nodes[node]["label"] = "X" if node == "top" else "Y"
    >>> encoded = from_networkx([graph])
    >>> encoded.nodes, [encoded.symbols[a].part for a in encoded.trees.symbol]
    (['one', 'two', 'three', 'top', 'top'], ['node', 'node', 'node', 'rest', 'node'])
    """
    found = _Nodes(symbols, terminals)
    for number, graph in enumerate(check_graphs(graphs, first), start=first):
        _append(found, graph, f"graph {number}")
    symbol, n_children, terminal = np.array(found.rows, dtype=np.int64).reshape(-1, 3).T
    trees = SkeletalTrees.post_order(symbol, n_children, terminal, np.array(found.root, dtype=np.int64))
    return GraphTrees(trees, found.symbols.names, found.terminals.names, found.nodes)


def _check_parts(trees: SkeletalTrees, symbols: Sequence[Symbol]) -> None:
    """Raise ValueError unless every part is where `from_networkx` puts it."""
    labels = Vocabulary(symbol.label for symbol in symbols)
    label = np.array([labels[symbol.label] for symbol in symbols], dtype=np.int64)[trees.symbol]
    part = np.array([symbol.part for symbol in symbols], dtype=object)[trees.symbol]
    parent = trees.parent
    continues = (parent >= 0) & (label[parent] == label)
    # A rest is the right child of a node or of another rest, and an observation the left child of a node.
    rest = continues & trees.is_right_child & trees.is_binary & (part[parent] != "observation")
    observation = continues & ~trees.is_right_child & trees.is_leaf & (part[parent] == "node") & trees.is_binary[parent]
    fits = np.select([part == "rest", part == "observation"], [rest, observation], True)
    for node in np.flatnonzero(~fits)[:1]:
        raise ValueError(f"s-tree node {node}, {symbols[trees.symbol[node]]}, stands where a graph has no such part")


def _parts(trees: SkeletalTrees, symbols: Sequence[Symbol], node: int) -> Iterator[int]:
    """List the observation and the children of a node that is a `node`, in order."""
    while trees.left[node] >= 0:
        yield int(trees.left[node])
        node = int(trees.right[node])
        if node < 0:
            return
        if symbols[trees.symbol[node]].part != "rest":
            yield node
            return


def to_networkx(
    trees: SkeletalTrees,
    symbols: Sequence[Symbol],
    terminals: Sequence[Hashable],
    nodes: Sequence[Hashable] | None = None,
    attributes: Mapping[str, Sequence[object]] | None = None,
) -> list[nx.DiGraph]:
    """Convert s-trees to graphs; `to_networkx(*encoded)` is the inverse of `encoded = from_networkx(graphs)`.

    trees: s-trees with N nodes.
    symbols: the label and the part that each symbol stands for.
    terminals: the observation that each terminal stands for.
    nodes: (N,) names of the graphs' nodes; if not given, the nodes of a tree are 0, 1, ..., parents first.
    attributes: further node attributes; each has a value for every node of the s-trees, (N,).

    Raises ValueError if a symbol is where no graph has such a part.

    >>> tree = SkeletalTrees.of([0, 1, 2], left=[-1, -1, 0], right=[-1, -1, 1], terminal=[0, 1, -1], root=[2])
    >>> (graph,) = to_networkx(tree, [Symbol("A"), Symbol("B"), Symbol("C")], ["x", None])
    >>> graph.nodes(data=True)
    NodeDataView({0: {'label': 'C'}, 1: {'label': 'A', 'observation': 'x'}, 2: {'label': 'B'}})
    """
    import networkx as nx

    _check_parts(trees, symbols)
    graphs = []
    for root in trees.root.tolist():
        graph = nx.DiGraph()
        stack: list[tuple[int, Hashable]] = [(root, None)]
        while stack:
            row, parent = stack.pop()
            symbol = symbols[trees.symbol[row]]
            terminal = int(trees.terminal[row])
            if symbol.part == "observation":
                graph.nodes[parent]["observation"] = terminals[terminal]
                continue
            name = len(graph) if nodes is None else nodes[row]
            graph.add_node(name, label=symbol.label, **{key: values[row] for key, values in (attributes or {}).items()})
            if row != root:
                graph.add_edge(parent, name)
            if terminal >= 0 and terminals[terminal] is not None:
                graph.nodes[name]["observation"] = terminals[terminal]
            stack.extend((part, name) for part in reversed(list(_parts(trees, symbols, row))))
        graphs.append(graph)
    return graphs
