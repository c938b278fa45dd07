"""Latent tree models over graphs agree with enumeration of states and of unknown observations."""

import dataclasses
import functools
import itertools
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spectral_latent.estimation import EstimatorOptions
from spectral_latent.graphs import GraphGrammar, GraphModel, neighbourhoods
from spectral_latent.graphs.training import GraphFormalism
from spectral_latent.trees import MISSING, GraphError, Symbol, from_networkx
from tests.oracles import (
    Lpcfg,
    by_enumeration,
    columns,
    joint,
    plain,
    post_order,
    random_lpcfg,
    random_numbers,
    tree_strategy,
)

Nested = tuple[Any, ...]  # (label, observation, child, ...)

SYMBOLS = [Symbol(label, part) for label in "AB" for part in ("node", "rest", "observation")]
TERMINALS: list[Hashable] = [None, "x", "y", ("z", 1)]
NODE, REST, SEEN = 0, 1, 2  # offsets of a label's symbols
STATES = [2, 3, 2, 1, 2, 2]
# every rule that a tree with labels A and B, up to three children and at most one observation at a node can have
RULES: dict[str, list[tuple[int, ...]]] = {
    "leaf": [(a, x) for a in (0, 3) for x in range(4)] + [(a, x) for a in (2, 5) for x in (1, 2, 3)],
    "unary": [(a, b) for a in (0, 3) for b in (0, 3)],
    "binary": [(a, b, c) for a in (0, 3) for b in (0, 3, a + SEEN) for c in (0, 3, a + REST)]
    + [(a + REST, b, c) for a in (0, 3) for b in (0, 3) for c in (0, 3, a + REST)],
}
RULES = {kind: sorted(table) for kind, table in RULES.items()}

trees = st.recursive(
    st.tuples(st.sampled_from("AB"), st.sampled_from(TERMINALS)),
    lambda below: st.builds(
        lambda label, observation, children: (label, observation, *children),
        st.sampled_from("AB"),
        st.sampled_from(TERMINALS),
        st.lists(below, min_size=1, max_size=3),
    ),
    max_leaves=4,
)
LARGEST = 9  # nodes of the largest s-tree whose states are enumerated


def graph_of(tree: Nested) -> nx.DiGraph:
    """Make a graph of a tree; nodes are numbered in pre-order."""
    graph = nx.DiGraph()

    def add(tree: Nested) -> int:
        node = len(graph)
        graph.add_node(node, label=tree[0])
        if tree[1] is not None:
            graph.nodes[node]["observation"] = tree[1]
        for child in tree[2:]:
            graph.add_edge(node, add(child))
        return node

    add(tree)
    return graph


def s_tree(tree: Nested) -> tuple:
    """Write the s-tree of a tree by the numbers of `SYMBOLS` and `TERMINALS`, as the oracles have it."""
    label, observation, *children = tree
    a, x = 3 * "AB".index(label), TERMINALS.index(observation)
    if not children:
        return a, x
    parts = [s_tree(child) for child in children]
    if x:
        parts.insert(0, (a + SEEN, x))
    while len(parts) > 2:
        parts[-2:] = [(a + REST, *parts[-2:])]
    return (a, *parts)


def size(tree: Nested) -> int:
    return len(list(post_order(s_tree(tree))))


def filled(tree: Nested) -> Iterator[Nested]:
    """List the trees with every possible observation in place of `MISSING`."""
    mine = TERMINALS[1:] if tree[1] is MISSING else [tree[1]]
    for observation, *children in itertools.product(mine, *map(filled, tree[2:])):
        yield tree[0], observation, *children


def with_missing(tree: Nested, unknown: Iterator[bool]) -> Nested:
    """Replace an observation of a tree by `MISSING` where the next of `unknown` is true."""
    hidden = next(unknown) and tree[1] is not None
    return tree[0], MISSING if hidden else tree[1], *(with_missing(child, unknown) for child in tree[2:])


@functools.cache
def lpcfg(*, proper: bool) -> Lpcfg:
    rng = np.random.default_rng(4)
    draw = random_lpcfg(rng, STATES, RULES) if proper else random_numbers(rng, STATES, RULES)
    return draw


def model_of(numbers: Lpcfg, symbols: list[Symbol] = SYMBOLS, *, probabilities: bool = False) -> GraphModel:
    operators = dataclasses.replace(numbers.operators(), probabilities=probabilities)
    return GraphModel((GraphGrammar(EstimatorOptions(), symbols, TERMINALS, operators),))


def test_every_symbol_and_terminal_has_a_name() -> None:
    (member,) = model_of(lpcfg(proper=True)).members
    assert f"up to {member.latent.states.max()} states" in member.sizes
    for names in ("symbols", "terminals"):
        with pytest.raises(ValueError):
            dataclasses.replace(member, **{names: getattr(member, names)[:-1]})


@given(st.lists(trees.filter(lambda tree: size(tree) <= LARGEST), min_size=1, max_size=3), st.booleans())
@settings(max_examples=30)
def test_scores_are_sums_over_all_states(forest: list[Nested], proper: bool) -> None:
    numbers = lpcfg(proper=proper)
    expected = [by_enumeration(numbers, s_tree(tree)) for tree in forest]
    assert plain(model_of(numbers).score(map(graph_of, forest))) == pytest.approx(expected, rel=1e-10)


@given(
    trees.filter(lambda tree: size(tree) <= LARGEST), st.lists(st.booleans(), min_size=40, max_size=40), st.booleans()
)
@settings(max_examples=40)
def test_unknown_observations_are_summed_over_and_predicted(tree: Nested, unknown: list[bool], proper: bool) -> None:
    numbers, tree = lpcfg(proper=proper), with_missing(tree, iter(unknown))
    model, graph = model_of(numbers), graph_of(tree)
    fillings = list(filled(tree))
    expected = dict(zip(fillings, plain(model.score(map(graph_of, fillings))), strict=True))
    total = sum(expected.values())
    scale = sum(map(abs, expected.values()))
    assert plain(model.score([graph])) == pytest.approx([total], abs=1e-10 * scale)
    if abs(total) < 1e-3 * scale:
        return
    predicted = model.predict(graph)
    hidden = [node for node, data in graph.nodes(data=True) if data.get("observation") is MISSING]
    assert sorted(predicted) == hidden
    for node in hidden:
        share = dict.fromkeys(TERMINALS[1:], 0.0)
        for filling, weight in expected.items():
            share[graph_of(filling).nodes[node]["observation"]] += weight / total
        assert predicted[node] == pytest.approx(share, abs=1e-8)
        assert list(predicted[node].values()) == sorted(predicted[node].values(), reverse=True)


@given(trees.filter(lambda tree: size(tree) <= 7))
@settings(max_examples=25)
def test_marginals_are_shares_of_states(tree: Nested) -> None:
    numbers = lpcfg(proper=True)
    p = joint(numbers, s_tree(tree)).p  # an axis for each node
    graph = graph_of(tree)
    found = model_of(numbers, probabilities=True).marginals(graph)
    order = list(nx.dfs_postorder_nodes(graph, 0))
    at = [i for i, node in enumerate(post_order(s_tree(tree))) if node[0] % 3 == NODE]
    assert sorted(found) == sorted(order)
    for node, i in zip(order, at, strict=True):
        share = p.sum(axis=tuple(axis for axis in range(p.ndim) if axis != i)) / p.sum()
        assert found[node] == pytest.approx(share, abs=1e-10)


def test_the_only_observation_is_filled_in_and_nodes_are_named_by_labels() -> None:
    model = GraphModel.train([graph_of(("A", "x", ("B", "x")))] * 5)
    assert model.parse(graph_of(("A", MISSING, ("B", "x")))).tree.nodes[0]["observation"] == "x"
    assert {"A", "B"} <= set(model.members[0].named_operators.symbols)


UNSEEN: list[tuple[Nested, str]] = [
    (("C", "x"), "node 0"),
    (("A", None, ("B", "x"), ("A", "w")), "node 2"),
    (("A", None, ("B", "x"), ("C", None, ("B", "x"), ("A", MISSING))), "node 2"),
    (("A", None, ("C", MISSING)), "node 1"),
]


@pytest.mark.parametrize(("tree", "node"), UNSEEN)
def test_what_was_never_seen_has_weight_zero(tree: Nested, node: str) -> None:
    model = model_of(lpcfg(proper=True), probabilities=True)
    weight = model.score([graph_of(("A", "x")), graph_of(tree), graph_of(("B", "x"))])
    assert weight.sign.tolist() == [1, 0, 1]
    assert weight.log[1] == -np.inf
    for posterior in (model.predict, model.marginals):
        with pytest.raises(ValueError, match=f"graph 1, {node}"):
            posterior(graph_of(tree))


FOREST = [("A", "x", ("B", "y"), ("B", None, ("A", "x")), ("A", "y")), ("B", "x")]


def test_given_features_are_those_of_their_node() -> None:
    """A part of a node has its outside features, and the inside features of its first child; observations have none."""

    def depth(graph: nx.DiGraph, node: Any) -> int:
        return int(nx.shortest_path_length(graph, 0, node))

    graphs = list(map(graph_of, FOREST))
    formalism = GraphFormalism({"all": lambda graph, node: (len(graph), node)}, {"depth": depth})
    found = formalism.shard(formalism.columns(graphs, np.ones(len(graphs)))).features
    with pytest.raises(GraphError, match=rf"graph {len(FOREST) + 1}, node 1: its observation is missing"):
        formalism.columns([graph_of(("A", None, ("B", MISSING)))], np.ones(1))
    read = from_networkx(graphs)
    wanted: list[tuple[Hashable, Hashable]] = []
    for at, (a, node) in enumerate(zip(read.trees.symbol, read.nodes, strict=True)):
        graph, part = graphs[read.trees.tree[at]], read.symbols[a].part
        below = node if part == "node" else read.nodes[read.trees.left[at]]
        wanted.append((None if part == "observation" else (len(graph), below), depth(graph, node)))
    for table, values in zip((found.inside, found.outside), zip(*wanted, strict=True), strict=True):
        given_last = table[:, -1].tolist()
        assert len(set(zip(given_last, values, strict=True))) == len(set(given_last)) == len(set(values))


@given(st.lists(tree_strategy(max_leaves=8), max_size=3))
@settings(max_examples=30)
def test_neighbourhoods_are_what_they_say(forest: list[tuple]) -> None:
    trees = columns(forest)
    inside_columns, outside_columns = neighbourhoods(trees)
    at = 0
    rules: dict[int, set[Hashable]] = {}
    for tree in forest:
        nodes = list(post_order(tree))
        first = [
            len([n for n in nodes[: i + 1 - len(list(post_order(node)))] if is_leaf(n)]) for i, node in enumerate(nodes)
        ]
        terminals = [node[1] for node in nodes if is_leaf(node)]
        for i, node in enumerate(nodes):
            below = [leaf[1] for leaf in post_order(node) if is_leaf(leaf)]
            around = [-1, *terminals, -1]
            assert (inside_columns["first"][at], inside_columns["last"][at]) == (below[0], below[-1])
            assert outside_columns["before"][at] == around[first[i]]
            assert outside_columns["after"][at] == around[first[i] + len(below) + 1]
            at += 1
    for node, parent in enumerate(trees.parent):
        sibling: Hashable = None
        if parent >= 0 and trees.is_binary[parent]:
            other = trees.left[parent] if trees.right[parent] == node else trees.right[parent]
            kind = (bool(trees.is_leaf[other]), bool(trees.is_unary[other]), int(trees.rule[other]))
            sibling = (kind, bool(trees.right[parent] == node))
        assert (outside_columns["sibling"][node] == -1) == (sibling is None)
        rules.setdefault(int(outside_columns["sibling"][node]), set()).add(sibling)
    assert all(len(values) == 1 for values in rules.values())
    assert len(rules) == len(set().union(*rules.values()))


def is_leaf(tree: tuple) -> bool:
    return isinstance(tree[1], int)


@pytest.mark.parametrize("name", [b"a", ("a", frozenset())])
def test_names_that_cannot_be_saved(name: Hashable, tmp_path: Path) -> None:
    model = GraphModel.train([graph_of(("A", name))], EstimatorOptions(n_states=1))
    assert model.score([graph_of(("A", name))]).sign.tolist() == [1]
    with pytest.raises(ValueError, match="cannot be saved"):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())
