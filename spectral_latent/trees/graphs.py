"""Trees of networkx as skeletal trees, and back.

A tree is a `networkx.DiGraph` with edges from parent to child, of any arity and depth.

| attribute | of | meaning |
| --- | --- | --- |
| `label` | every node | its symbol: hashable, not None |
| `observation` | any node | what is seen there, hashable; `MISSING` if it is unknown; None or absent if there is none |
| `order` | every child edge of a node, or none | the children's order; without it, that in which the edges were added |

A node X with children c_1 ... c_k becomes, with X' for the rest of X,

    X → c_1 X',   X' → c_2 X',   ...,   X' → c_{k-1} c_k,

two children X → c_1 c_2, one child X → c_1, and a leaf X → x with its observation x, which may be None.  The
observation of an inner node becomes a leaf of its own before c_1.  Labels need not have the same number of children
everywhere.  Labels or observations that are equal, as 1 and True are, are one.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

from spectral_latent.trees.skeletal import SkeletalTrees
from spectral_latent.trees.symbols import Vocabulary

if TYPE_CHECKING:  # importing it takes a quarter of a second
    import networkx as nx

__all__ = [
    "MISSING",
    "GraphError",
    "GraphTrees",
    "Missing",
    "Part",
    "Symbol",
    "checked_name",
    "from_networkx",
    "to_networkx",
]


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
    """A symbol of the s-trees: a label, and which part of a node so labelled it stands for.

    part: the `node` itself; the `rest` of its children, after the first ones; the `observation` of an inner node.
    """

    label: Hashable
    part: Part = "node"


class GraphTrees(NamedTuple):
    """Trees read from graphs, and what their numbers stand for."""

    trees: SkeletalTrees
    symbols: list[Symbol]
    terminals: list[Hashable]
    nodes: list[Hashable]  # (N,) the node of the graph that each node of the s-trees is part of


def _is_nan(value: Any) -> bool:
    """Whether a value, or one in a tuple, is not equal to itself; of what cannot be compared, TypeError."""
    return any(map(_is_nan, value)) if isinstance(value, tuple) else bool(value != value)


def checked_name(value: Any, where: str, what: str) -> Hashable:
    """The value, if it can serve as a name; GraphError with `where` and `what` if it is unhashable or NaN.

    >>> checked_name(("a", 1), "graph 1, node 0", "label")
    ('a', 1)
    """
    try:
        hash(value)
        nan = _is_nan(value)
    except TypeError:
        raise GraphError(f"{where}: the {what} {value!r:.80} is not hashable or cannot be compared") from None
    if nan:
        raise GraphError(f"{where}: the {what} is NaN, which is equal to nothing")
    name: Hashable = value
    return name


def _children(graph: nx.DiGraph, node: Hashable, where: str) -> list[Hashable]:
    """The children of a node, in order."""
    edges = graph.adj[node]
    order = {child: edge["order"] for child, edge in edges.items() if edge.get("order") is not None}
    if not order:
        return list(edges)
    for child in edges:
        if child not in order:
            raise GraphError(f"{where}, node {node!r}: child {child!r} has no `order`, but others have")
    try:
        ordered = sorted(edges, key=order.__getitem__)
        for one, other in itertools.pairwise(ordered):
            if not order[one] < order[other]:
                raise GraphError(f"{where}, node {node!r}: no order of children {one!r} and {other!r} by `order`")
    except TypeError:
        raise GraphError(f"{where}, node {node!r}: the `order` of its children cannot be compared") from None
    return ordered


def _root(graph: Any, where: str) -> Hashable:
    """The one node without a parent, if every other has one."""
    import networkx as nx

    if not isinstance(graph, nx.DiGraph) or graph.is_multigraph():
        raise GraphError(f"{where}: a networkx.DiGraph is needed, not {type(graph).__name__}")
    if not len(graph):
        raise GraphError(f"{where} has no nodes")
    for node, degree in graph.in_degree():
        if degree > 1:
            one, other = list(graph.predecessors(node))[:2]
            raise GraphError(f"{where}, node {node!r}: it has two parents, {one!r} and {other!r}")
    roots = [node for node, degree in graph.in_degree() if degree == 0]
    if len(roots) > 1:
        raise GraphError(f"{where}, nodes {roots[0]!r} and {roots[1]!r}: both are roots")
    if not roots:
        raise _cycle(graph, next(iter(graph)), where)
    root: Hashable = roots[0]
    return root


def _cycle(graph: nx.DiGraph, node: Hashable, where: str) -> GraphError:
    """The error of a graph in which every node has one parent, and no way up from `node` ends."""
    path = {node: None}
    while (node := next(graph.predecessors(node))) not in path:
        path[node] = None
    return GraphError(f"{where}, node {node!r}: it lies on a cycle")


class _Columns:
    """Columns of growing s-trees; see `SkeletalTrees`."""

    def __init__(self, symbols: Iterable[Symbol], terminals: Iterable[Hashable]) -> None:
        self.symbols, self.terminals = Vocabulary(symbols), Vocabulary(terminals)
        self.symbol, self.left, self.right, self.terminal, self.root = (array("q") for _ in range(5))
        self.nodes: list[Hashable] = []

    def leaf(self, symbol: Symbol, node: Hashable, observation: Hashable) -> int:
        """Append a leaf and return its number."""
        return self._append(symbol, node, -1, -1, self.terminals.add(observation))

    def inner(self, symbol: Symbol, node: Hashable, left: int, right: int = -1) -> int:
        """Append a node above others and return its number."""
        return self._append(symbol, node, left, right, -1)

    def _append(self, symbol: Symbol, node: Hashable, left: int, right: int, terminal: int) -> int:
        row = (self.symbols.add(symbol), left, right, terminal)
        for column, value in zip((self.symbol, self.left, self.right, self.terminal), row, strict=True):
            column.append(value)
        self.nodes.append(node)
        return len(self.nodes) - 1

    def read(self) -> GraphTrees:
        """The finished trees."""
        trees = SkeletalTrees.of(self.symbol, left=self.left, right=self.right, terminal=self.terminal, root=self.root)
        return GraphTrees(trees, self.symbols.names, self.terminals.names, self.nodes)


def _names(graph: nx.DiGraph, node: Hashable, where: str) -> tuple[Hashable, Hashable]:
    """Label and observation of a node."""
    data, where = graph.nodes[node], f"{where}, node {node!r}"
    if data.get("label") is None:
        raise GraphError(f"{where}: it has no `label`")
    return checked_name(data["label"], where, "label"), checked_name(data.get("observation"), where, "observation")


def _append(columns: _Columns, graph: nx.DiGraph, where: str) -> None:
    """Append the s-tree of one graph, nodes in post-order."""
    first, n_read = len(columns.nodes), 0
    finished: list[int] = []  # subtrees whose parents are still to come
    open_nodes = [(_root(graph, where), 0)]  # the second number: of parts, once they are finished
    while open_nodes:
        node, n_parts = open_nodes.pop()
        if n_parts:
            label, parts = graph.nodes[node]["label"], finished[-n_parts:]
            del finished[-n_parts:]
            while len(parts) > 2:
                right, left = parts.pop(), parts.pop()
                parts.append(columns.inner(Symbol(label, "rest"), node, left, right))
            finished.append(columns.inner(Symbol(label), node, *parts))
            continue
        n_read += 1
        label, observation = _names(graph, node, where)
        below = _children(graph, node, where)
        if not below:
            finished.append(columns.leaf(Symbol(label), node, observation))
            continue
        if observation is not None:
            finished.append(columns.leaf(Symbol(label, "observation"), node, observation))
        open_nodes.append((node, len(below) + (observation is not None)))
        open_nodes.extend((child, 0) for child in reversed(below))
    if n_read < len(graph):
        read = set(columns.nodes[first:])
        raise _cycle(graph, next(node for node in graph if node not in read), where)
    columns.root.append(finished.pop())


def from_networkx(
    graphs: Iterable[nx.DiGraph], symbols: Iterable[Symbol] = (), terminals: Iterable[Hashable] = ()
) -> GraphTrees:
    """The s-trees of trees given as graphs; symbols and terminals already numbered keep their numbers.

    Raises GraphError if a graph is no such tree.

    >>> import networkx as nx
    >>> graph = nx.DiGraph([("top", "one"), ("top", "two"), ("top", "three")])
    >>> for node in graph: graph.nodes[node]["label"] = "X" if node == "top" else "Y"
    >>> read = from_networkx([graph])
    >>> read.nodes, [read.symbols[a].part for a in read.trees.symbol]
    (['one', 'two', 'three', 'top', 'top'], ['node', 'node', 'node', 'rest', 'node'])
    """
    if hasattr(graphs, "nodes"):
        raise GraphError("one graph where several are expected; put it in a list")
    columns = _Columns(symbols, terminals)
    for number, graph in enumerate(graphs, start=1):
        _append(columns, graph, f"graph {number}")
    return columns.read()


def _check_parts(trees: SkeletalTrees, symbols: Sequence[Symbol]) -> None:
    """ValueError unless every part stands where `from_networkx` puts it."""
    label = Vocabulary(symbol.label for symbol in symbols)
    own = np.array([label[symbol.label] for symbol in symbols], dtype=np.int64)[trees.symbol]
    part = np.array([symbol.part for symbol in symbols], dtype=object)[trees.symbol]
    parent = trees.parent
    continues = (parent >= 0) & (own[parent] == own)
    rest = continues & trees.is_right_child & trees.is_binary & (part[parent] != "observation")
    seen = continues & ~trees.is_right_child & trees.is_leaf & (part[parent] == "node") & trees.is_binary[parent]
    fits = np.select([part == "rest", part == "observation"], [rest, seen], True)
    for node in np.flatnonzero(~fits)[:1]:
        raise ValueError(f"s-tree node {node}, {symbols[trees.symbol[node]]}, stands where no graph has such a part")


def _parts(trees: SkeletalTrees, symbols: Sequence[Symbol], node: int) -> Iterator[int]:
    """The observation and the children of a node that is a `node`, in order."""
    left, right = trees.left, trees.right
    while left[node] >= 0:
        yield int(left[node])
        node = int(right[node])
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
    """The inverse of `from_networkx`: `to_networkx(*read)`; a graph each.

    nodes: (N,) names of the graphs' nodes; without them, those of a tree are 0, 1, ..., parents first.
    attributes: further node attributes; their values (N,) are one for each node of the s-trees.
    Raises ValueError if symbols stand where no graph has such a part.

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
            at, parent = stack.pop()
            symbol, terminal = symbols[trees.symbol[at]], int(trees.terminal[at])
            if symbol.part == "observation":
                graph.nodes[parent]["observation"] = terminals[terminal]
                continue
            name = len(graph) if nodes is None else nodes[at]
            graph.add_node(name, label=symbol.label, **{key: values[at] for key, values in (attributes or {}).items()})
            if at != root:
                graph.add_edge(parent, name)
            if terminal >= 0 and terminals[terminal] is not None:
                graph.nodes[name]["observation"] = terminals[terminal]
            stack.extend((part, name) for part in reversed(list(_parts(trees, symbols, at))))
        graphs.append(graph)
    return graphs
