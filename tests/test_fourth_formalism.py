"""A fourth formalism needs only the rooms of the core: arithmetic without brackets, `a + 2 * b`.

The label of every inner node is `op`, and its observation is the operator.  Latent states must find that `*` binds
closer than `+`, and that both group to the left.  `Arithmetic`, an `estimation.Formalism`, and `Chart` answer the five
questions of a formalism.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from spectral_latent.estimation import (
    Columns,
    EstimationError,
    EstimatorOptions,
    FeatureColumns,
    Shard,
    estimate,
    hash_columns,
    inside_templates,
    outside_templates,
    read_treebanks,
)
from spectral_latent.inference import Derivation, inside, marginals, n_best_derivations, outside, total_weight
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import (
    FloatArray,
    Forest,
    Rules,
    SkeletalTrees,
    Symbol,
    Vocabulary,
    from_networkx,
    to_networkx,
)
from tests.streams import make_shards

Expression = str | tuple[str, Any, Any]  # a value, or an operator with two expressions

OP, OPERATOR, REST, VALUE = SYMBOLS = [Symbol("op"), Symbol("op", "observation"), Symbol("op", "rest"), Symbol("value")]


class Arithmetic:
    """Convert expressions to s-trees with features, and inputs to forests."""

    def __init__(self, terminals: Sequence[str]) -> None:
        self.terminals = Vocabulary(terminals)

    # How does an object become an s-tree?

    def n_nodes(self, expression: Expression) -> int:
        """Count the nodes: an operator takes three, for itself, its observation and the rest of its children."""
        return 1 if isinstance(expression, str) else 3 + sum(map(self.n_nodes, expression[1:]))

    def columns(self, expressions: Sequence[Expression], weight: FloatArray) -> Columns:
        trees = self.trees(expressions)
        return Shard.of(trees, self.features(trees), weight).columns

    def shard(self, columns: Columns) -> Shard:
        return Shard(columns)

    @staticmethod
    def graph(expression: Expression) -> nx.DiGraph:
        graph = nx.DiGraph()

        def add(expression: Expression) -> int:
            node = len(graph)
            if isinstance(expression, str):
                graph.add_node(node, label="value", observation=expression)
            else:
                graph.add_node(node, label="op", observation=expression[0])
                for child in expression[1:]:
                    graph.add_edge(node, add(child))
            return node

        add(expression)
        return graph

    def trees(self, expressions: Sequence[Expression]) -> SkeletalTrees:
        read = from_networkx(map(self.graph, map(self._known, expressions)), SYMBOLS, self.terminals)
        assert read.symbols == SYMBOLS
        return read.trees

    def _known(self, expression: Expression) -> Expression:
        if isinstance(expression, str):
            return self.known(expression)
        return expression[0], *map(self._known, expression[1:])

    # Which features do its nodes have?

    @staticmethod
    def features(trees: SkeletalTrees) -> FeatureColumns:
        """Add the operator at a node, and the operator above with the side of the node, to the features of the core."""
        operator = np.where(trees.is_binary, trees.terminal[trees.left], -1)
        above = trees.parent
        while (inner := (above >= 0) & (operator[above] < 0)).any():  # a rest is only a part of an operator
            above = np.where(inner, trees.parent[above], above)
        outer = hash_columns(np.where(above < 0, -1, operator[above]), trees.is_right_child.astype(int))
        return FeatureColumns.of(inside_templates(trees) | {"op": operator}, outside_templates(trees) | {"op": outer})

    # How is a terminal scored that training did not have?

    def known(self, token: str) -> str:
        """Return the terminal of a token: `#` for an unseen number, `?` for an unseen name."""
        return token if token in self.terminals else "#" if token.isdigit() else "?"

    # Which forest does a bare input have?

    def forest(self, tokens: Sequence[str], rules: Rules) -> tuple[Forest, list[int]]:
        """Build the forest of an input, and list for each item the first token that the item covers.

        Items are tokens, spans of the values i ... j-1, and the two sides of an operator in such a span."""
        op, operator, rest, value = range(4)
        items: list[tuple[int, int, list[tuple[int, int, int]]]] = []  # symbol, position, edges

        def binary(*rule: int) -> int:
            return int(Rules.find(rules.binary, np.array([rule]))[0])

        def add(symbol: int, position: int, edges: list[tuple[int, int, int]]) -> int:
            items.append((symbol, position, edges))
            return len(items) - 1

        known = [self.terminals[self.known(token)] for token in tokens]
        leaf = Rules.find(rules.leaf, np.array([[(value, operator)[at % 2], x] for at, x in enumerate(known)]))
        token = [add((value, operator)[at % 2], at, [(int(r), -1, -1)]) for at, r in enumerate(leaf)]
        n = (len(tokens) + 1) // 2
        span = {(i, i + 1): token[2 * i] for i in range(n)}
        for width in range(2, n + 1):
            for i in range(n - width + 1):
                edges = []
                for k in range(i + 1, i + width):
                    sides = span[i, k], span[k, i + width]
                    below = add(rest, 2 * i, [(binary(rest, *(items[side][0] for side in sides)), *sides)])
                    edges.append((binary(op, operator, rest), token[2 * k - 1], below))
                span[i, i + width] = add(op, 2 * i, edges)
        edge = np.array([edge for *_, edges in items for edge in edges])
        start = np.concatenate([[0], np.cumsum([len(edges) for *_, edges in items])])
        symbol = np.array([symbol for symbol, *_ in items])
        root, component = np.array([len(items) - 1]), np.array([0])
        return Forest(symbol, start, *edge.T.copy(), root, component), [position for _, position, _ in items]


@dataclass
class Chart:
    """All expressions over some tokens; `position` (I,) is the first token that each item covers."""

    formalism: Arithmetic
    rules: Rules
    tokens: Sequence[str]
    forest: Forest
    position: list[int]

    # Which objects do derivations stand for?

    def expression(self, derivation: Derivation) -> Expression:
        tree = derivation.tree(self.forest, self.rules)
        item = np.searchsorted(self.forest.start, derivation.edges, side="right") - 1
        spelling = [self.tokens[self.position[i]] for i in item]
        names = self.formalism.terminals.names
        (graph,) = to_networkx(tree, SYMBOLS, names, attributes={"token": spelling})

        def build(node: int) -> Expression:
            below = [build(child) for child in graph.successors(node)]
            return (graph.nodes[node]["observation"], *below) if below else graph.nodes[node]["token"]

        return build(0)


@dataclass
class Model:
    """A model that the core learns for the formalism."""

    formalism: Arithmetic
    operators: ObservableOperators

    @staticmethod
    def train(formalism: Arithmetic, expressions: Sequence[Expression], states: int) -> Model:
        (treebank,) = read_treebanks(expressions, [formalism])
        return Model(formalism, estimate(treebank, EstimatorOptions("clusters-em", n_states=states)).operators)

    def parse(self, tokens: Sequence[str]) -> Expression:
        rules = self.operators.rules
        forest, position = self.formalism.forest(tokens, rules)
        inner = inside(self.operators, forest)
        mu = marginals(self.operators, forest, inner, outside(self.operators, forest, inner))
        (best,) = n_best_derivations(forest, mu[forest.item], 1)
        return Chart(self.formalism, rules, tokens, forest, position).expression(best)


# ---------------------------------------------------------------------------------------------------------------------


def by_the_book(tokens: Sequence[str]) -> Expression:
    """Parse an expression as a calculator does: products first, everything from the left."""
    terms: list[Expression] = [tokens[0]]
    for operator, value in zip(tokens[1::2], tokens[2::2], strict=True):
        if operator == "*":
            terms[-1] = ("*", terms[-1], value)
        else:
            terms.append(value)
    total = terms[0]
    for term in terms[1:]:
        total = ("+", total, term)
    return total


def tokens_of(expression: Expression) -> list[str]:
    if isinstance(expression, str):
        return [expression]
    return [*tokens_of(expression[1]), expression[0], *tokens_of(expression[2])]


def sentences(n: int, values: Sequence[str], seed: int) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    drawn = []
    for size in rng.integers(1, 8, size=n):
        tokens = rng.choice(values, size=2 * size - 1).tolist()
        tokens[1::2] = rng.choice(["+", "*"], size=size - 1).tolist()
        drawn.append(tokens)
    return drawn


VALUES = ["1", "2", "3", "a", "b", "c", "#", "?"]


@pytest.fixture(scope="module")
def models() -> dict[int, Model]:
    expressions = list(map(by_the_book, sentences(600, VALUES, seed=0)))
    formalism = Arithmetic([*VALUES, "+", "*"])
    return {states: Model.train(formalism, expressions, states) for states in (1, 4)}


def test_latent_states_learn_which_operator_binds_closer(models: dict[int, Model]) -> None:
    held_out = sentences(200, VALUES, seed=1)
    right = {m: np.mean([model.parse(s) == by_the_book(s) for s in held_out]) for m, model in models.items()}
    assert right[1] < 0.7
    assert right[4] > 0.97


def test_a_treebank_in_shards_is_that_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader closes a shard when it has enough nodes; the same numbers mean the same symbols in all shards."""
    expressions = list(map(by_the_book, sentences(50, VALUES, seed=3)))
    formalism = Arithmetic([*VALUES, "+", "*"])
    (whole,) = read_treebanks(expressions, [formalism])
    make_shards(monkeypatch, 30, in_files=True)
    first, second = read_treebanks(iter(expressions), [formalism, Arithmetic([*VALUES, "+", "*"])])
    assert len(whole.shards) == 1 < 10 < len(first.shards) == len(second.shards)
    for treebank in (first, second):
        assert treebank.counts.rules.equals(whole.counts.rules)
        np.testing.assert_array_equal(treebank.counts.leaf, whole.counts.leaf)
        np.testing.assert_array_equal(treebank.counts.binary.data, whole.counts.binary.data)
    sizes = [formalism.n_nodes(expression) for expression in expressions]
    assert sizes == np.diff(whole.shards[0].trees.root, prepend=-1).tolist()
    with pytest.raises(EstimationError, match="no trees to learn from"):
        read_treebanks([], [formalism])


def test_unseen_terminals_are_scored_and_come_back_as_they_were(models: dict[int, Model]) -> None:
    for tokens in sentences(100, ["17", "beta", "a", "2024"], seed=2):
        expression = models[4].parse(tokens)
        assert tokens_of(expression) == tokens
    assert models[4].parse(["17", "+", "beta", "*", "a", "+", "9"]) == ("+", ("+", "17", ("*", "beta", "a")), "9")


def test_the_weight_of_a_forest_is_that_of_all_bracketings(models: dict[int, Model]) -> None:
    model = models[4]
    rules = model.operators.rules

    def bracketings(tokens: Sequence[str]) -> list[Expression]:
        if len(tokens) == 1:
            return [tokens[0]]
        return [
            (tokens[k], left, right)
            for k in range(1, len(tokens), 2)
            for left in bracketings(tokens[:k])
            for right in bracketings(tokens[k + 1 :])
        ]

    tokens = ["a", "+", "2", "*", "b", "+", "c"]
    forest, _ = model.formalism.forest(tokens, rules)
    trees = Forest.of_trees(model.formalism.trees(bracketings(tokens)), rules)
    together, one_by_one = (
        total_weight(model.operators, forest, inside(model.operators, forest)) for forest in (forest, trees)
    )
    assert len(one_by_one.log) == 5
    assert np.exp(together.log) == pytest.approx(np.exp(one_by_one.log).sum())


def test_it_knows_nothing_but_the_core() -> None:
    tree = ast.parse(Path(__file__).read_text(encoding="utf-8"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    rooms = {module.split(".")[1] for module in modules if module.startswith("spectral_latent")}
    assert rooms == {"trees", "operators", "inference", "estimation"}
