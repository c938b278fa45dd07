"""Graphs as s-trees and back, against an independent binarisation; every way in which a graph can be wrong."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.trees import MISSING, GraphError, GraphTrees, SkeletalTrees, Symbol, from_networkx, to_networkx
from tests.oracles import columns, nested, tree_strategy


class Plant(NamedTuple):
    """A tree with any number of children."""

    label: Hashable
    observation: Hashable
    children: tuple[Plant, ...] = ()


labels = st.sampled_from(["A", "B", 3, ("C", 1), 2.5])
observations = st.one_of(st.none(), st.sampled_from(["x", "y", 0, ("z",), MISSING]))
plants = st.recursive(
    st.builds(Plant, labels, observations, st.just(())),
    lambda below: st.builds(Plant, labels, observations, st.lists(below, max_size=5).map(tuple)),
    max_leaves=12,
)


def planted(plant: Plant, names: list[Hashable], *, shuffle: Any = None) -> nx.DiGraph:
    """A graph; with `shuffle` nodes and edges are added in random order, and edges carry their `order`."""
    nodes: list[tuple[Hashable, dict[str, Any]]] = []
    edges: list[tuple[Hashable, Hashable, dict[str, Any]]] = []

    def visit(plant: Plant) -> Hashable:
        name = names[len(nodes)]
        data = {"label": plant.label} | ({} if plant.observation is None else {"observation": plant.observation})
        nodes.append((name, data))
        for number, child in enumerate(plant.children):
            edges.append((name, visit(child), {} if shuffle is None else {"order": number * 0.5 - 1}))
        return name

    visit(plant)
    if shuffle is not None:
        shuffle(nodes)
        shuffle(edges)
    else:
        edges.sort(key=lambda edge: (names.index(edge[0]), names.index(edge[1])))
    graph = nx.DiGraph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(edges)
    return graph


def named(graph: nx.DiGraph, node: Hashable | None = None) -> tuple[Any, ...]:
    """A graph whose edges were added in order, as nested tuples with the nodes' names."""
    if node is None:
        (node,) = (node for node, degree in graph.in_degree() if degree == 0)
    data = graph.nodes[node]
    return node, data["label"], data.get("observation"), *(named(graph, child) for child in graph.successors(node))


def names_of(random: Any) -> list[Hashable]:
    names: list[Hashable] = [*range(40), *"abcdefghijklmnopqrstuvwxyz", *((i, "n") for i in range(40))]
    random.shuffle(names)
    return names


def binarised(plant: Plant) -> tuple[Any, ...]:
    """The s-tree as nested tuples of symbols (label, part) and terminals in lists."""

    def rest(parts: list[Any]) -> tuple[Any, ...]:
        return parts[0] if len(parts) == 1 else ((plant.label, "rest"), parts[0], rest(parts[1:]))

    if not plant.children:
        return (plant.label, "node"), [plant.observation]
    parts = [binarised(child) for child in plant.children]
    if plant.observation is not None:
        parts.insert(0, ((plant.label, "observation"), [plant.observation]))
    return (plant.label, "node"), *([parts[0]] if len(parts) == 1 else [parts[0], rest(parts[1:])])


def spelt(read: GraphTrees) -> list[tuple[Any, ...]]:
    """The trees that were read, as `binarised` has them."""

    def spell(tree: tuple[Any, ...]) -> tuple[Any, ...]:
        symbol = tuple(read.symbols[tree[0]])
        if isinstance(tree[1], int):
            return symbol, [read.terminals[tree[1]]]
        return symbol, *map(spell, tree[1:])

    return list(map(spell, nested(read.trees)))


@given(st.lists(plants, max_size=4), st.randoms(use_true_random=False))
def test_graphs_become_binarised_trees_and_come_back(forest: list[Plant], random: Any) -> None:
    graphs = [planted(plant, names_of(random)) for plant in forest]
    read = from_networkx(graphs)
    assert spelt(read) == list(map(binarised, forest))
    again = SkeletalTrees.of(
        read.trees.symbol,
        left=read.trees.left,
        right=read.trees.right,
        terminal=read.trees.terminal,
        root=read.trees.root,
    )
    assert again.n_nodes == len(read.nodes)
    assert list(map(named, to_networkx(*read))) == list(map(named, graphs))
    # The order of edges overrules that in which they were added.
    names = [[name for name in graph] for graph in graphs]
    shuffled = [planted(plant, own, shuffle=random.shuffle) for plant, own in zip(forest, names, strict=True)]
    assert list(map(named, to_networkx(*from_networkx(shuffled)))) == list(map(named, graphs))


@given(plants, st.randoms(use_true_random=False))
def test_nodes_of_an_s_tree_are_part_of_the_node_that_is_theirs(plant: Plant, random: Any) -> None:
    graph = planted(plant, names_of(random))
    read = from_networkx([graph])
    values = [f"{read.symbols[a].part} {at}" for at, a in enumerate(read.trees.symbol)]
    (back,) = to_networkx(*read, attributes={"mine": values})
    for at, (a, x, node) in enumerate(zip(read.trees.symbol, read.trees.terminal, read.nodes, strict=True)):
        assert graph.nodes[node]["label"] == read.symbols[a].label
        assert (back.nodes[node]["mine"] == f"node {at}") == (read.symbols[a].part == "node")
        assert x < 0 or graph.nodes[node].get("observation") == read.terminals[x]


def tree(*edges: tuple[str, str], order: dict[str, Any] | None = None, **changed: dict[str, Any]) -> nx.DiGraph:
    """r → a, b; a → c, d, with more edges, orders of the edges to some nodes, and changed attributes of nodes."""
    graph = nx.DiGraph([("r", "a"), ("r", "b"), ("a", "c"), ("a", "d"), *edges])
    nx.set_node_attributes(graph, "X", "label")
    nx.set_node_attributes(graph, changed)
    for child, value in (order or {}).items():
        (parent,) = graph.predecessors(child)
        graph.edges[parent, child]["order"] = value
    return graph


class Incomparable:
    """Like pandas.NA: what it is compared with gives no answer."""

    def __ne__(self, other: object) -> Any:
        return self

    def __hash__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        raise TypeError("no answer")


NAN = float("nan")
BAD: list[tuple[Any, str]] = [  # a graph, and what the error names
    (nx.DiGraph(), "graph 2"),
    (tree().to_undirected(), "graph 2.* not Graph"),
    (nx.MultiDiGraph(tree()), "graph 2.* not MultiDiGraph"),
    (None, "graph 2.* not NoneType"),
    (tree(("b", "d")), "graph 2, node 'd'.* 'a' and 'b'"),
    (tree(("s", "t")), "graph 2, nodes 'r' and 's'"),
    (tree(("c", "r")), "graph 2, node '[rac]'.* cycle"),
    (tree(("u", "v"), ("v", "u"), ("v", "w")), "graph 2, node '[uv]'.* cycle"),
    (tree(d={"label": None}), "graph 2, node 'd'.* `label`"),
    (tree(d={"label": ["X"]}), r"graph 2, node 'd'.* \['X'\] is not hashable"),
    (tree(a={"label": NAN}), "graph 2, node 'a': the label is NaN"),
    (tree(b={"observation": NAN}), "graph 2, node 'b': the observation is NaN"),
    (tree(a={"observation": (1, ("x", NAN))}), "graph 2, node 'a': the observation is NaN"),
    (tree(a={"observation": np.zeros(2)}), "graph 2, node 'a': the observation .* not hashable"),
    (tree(a={"observation": Incomparable()}), "graph 2, node 'a': the observation .* compared"),
    (tree(order={"c": 1}), "graph 2, node 'a': child 'd' has no `order`"),
    (tree(order={"c": 1, "d": 1}), "graph 2, node 'a': the `order` of 'c' and 'd'"),
    (tree(order={"a": 1, "b": "2"}), "graph 2, node 'r': the `order`"),
]


@pytest.mark.parametrize(("bad", "named"), BAD, ids=[named for _, named in BAD])
def test_what_is_no_tree_is_an_error_that_names_the_node(bad: Any, named: str) -> None:
    with pytest.raises(GraphError, match=named):
        from_networkx([tree(), bad, tree()])


PARTS = st.builds(Symbol, st.sampled_from("AB"), st.sampled_from(["node", "rest", "observation"]))


def is_node(tree: tuple[Any, ...], symbols: list[Symbol]) -> bool:
    """Whether a nested s-tree is the binarisation of some graph, by the grammar in the module's head."""
    label, part = symbols[tree[0]]

    def is_tail(tree: tuple[Any, ...]) -> bool:
        if symbols[tree[0]] == (label, "rest"):
            return len(tree) == 3 and is_node(tree[1], symbols) and is_tail(tree[2])
        return is_node(tree, symbols)

    if part != "node" or len(tree) == 2:
        return part == "node" and (isinstance(tree[1], int) or is_node(tree[1], symbols))
    observed = symbols[tree[1][0]] == (label, "observation") and isinstance(tree[1][1], int)
    return (observed or is_node(tree[1], symbols)) and is_tail(tree[2])


@given(tree_strategy(n_symbols=4, max_leaves=4), st.lists(PARTS, min_size=4, max_size=4, unique=True))
def test_s_trees_are_refused_exactly_when_they_come_from_no_graph(tree: tuple, symbols: list[Symbol]) -> None:
    trees, terminals = columns([tree]), ["x", "y", MISSING]
    if is_node(tree, symbols):
        read = from_networkx(to_networkx(trees, symbols, terminals), symbols, terminals)
        assert nested(read.trees) == [tree]
    else:
        with pytest.raises(ValueError, match="stands where a graph has no such part"):
            to_networkx(trees, symbols, terminals)
