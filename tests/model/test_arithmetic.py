"""A fourth formalism needs only the rooms of the core and the latent tree model: arithmetic, `a + 2 * b`.

The label of every inner node is `op`, and its observation is the operator.  Latent states must find that `*` binds
closer than `+`, and that both group to the left.  `Arithmetic`, a member, answers the questions of a formalism; all
that is asked of `Calculator` is written in `LatentTreeModel`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import networkx as nx
import numpy as np
import pytest

from spectral_latent.estimation import EM, Clusters, Estimator, TreeReader, estimate, read_treebanks
from spectral_latent.files import are_distinct
from spectral_latent.model import LatentTreeModel, Member
from spectral_latent.model.parts import WeighedForest
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import Forest, ForestBuilder, SkeletalTrees, Symbol, from_networkx, to_networkx

VALUES = ["1", "2", "3", "a", "b", "c", "#", "?"]
TERMINALS = [*VALUES, "+", "*"]
Expression = str | tuple[str, Any, Any]  # a value, or an operator with two expressions
OP, OPERATOR, REST, VALUE = SYMBOLS = [Symbol("op"), Symbol("op", "observation"), Symbol("op", "rest"), Symbol("value")]


def s_trees(expressions: Iterable[Expression], terminals: Sequence[str] = TERMINALS) -> SkeletalTrees:
    def graph(expression: Expression) -> nx.DiGraph:
        graph = nx.DiGraph()

        def add(expression: Expression) -> int:
            node = len(graph)
            label, seen = ("value", expression) if isinstance(expression, str) else ("op", expression[0])
            graph.add_node(node, label=label, observation=known(seen, terminals))
            graph.add_edges_from((node, add(child)) for child in expression[1:] if not isinstance(expression, str))
            return node

        add(expression)
        return graph

    return from_networkx(map(graph, expressions), SYMBOLS, terminals).trees


def known(token: str, terminals: Sequence[str]) -> str:
    """Return the terminal of a token: `#` for an unseen number, `?` for an unseen name."""
    return token if token in terminals else "#" if token.isdigit() else "?"


@dataclass(frozen=True, eq=False, repr=False)
class Arithmetic(Member[Sequence[str], Expression]):
    options: Estimator
    terminals: Annotated[list[str], are_distinct]
    latent: ObservableOperators
    objective: tuple[float, ...] = ()

    def chart(self, inputs: Sequence[Sequence[str]]) -> WeighedForest:
        """Items are tokens, spans of the values i ... j-1, and the two sides of an operator in such a span."""
        op, operator, rest, value = range(4)
        builder = ForestBuilder(self.latent.rules)
        for tokens in inputs:
            terminals = [self.terminals.index(known(token, self.terminals)) for token in tokens]
            leaf = [builder.leaf((value, operator)[at % 2], x) for at, x in enumerate(terminals)]
            n = (len(tokens) + 1) // 2
            span = {(i, i + 1): leaf[2 * i] for i in range(n)}
            for i, j in sorted(itertools.combinations(range(n + 1), 2), key=lambda pair: pair[1] - pair[0])[n:]:
                sides = [(k, builder.add(rest, [(span[i, k], span[k, j])])) for k in range(i + 1, j)]
                span[i, j] = builder.add(op, [(leaf[2 * k - 1], below) for k, below in sides])
            builder.end(span[0, n])
        return WeighedForest(self.latent, builder.forest())

    def forest_of(self, trees: Sequence[Expression]) -> WeighedForest:
        return WeighedForest(self.latent, Forest.of_trees(s_trees(trees, self.terminals), self.latent.rules))

    def output(self, tree: SkeletalTrees, given: Sequence[str] | None = None) -> Expression:
        (graph,) = to_networkx(tree, SYMBOLS, self.terminals)

        def build(node: int, spelling: Iterator[str] | None) -> Expression:
            if not (below := list(graph.successors(node))):
                return graph.nodes[node]["observation"] if spelling is None else next(spelling)
            left = build(below[0], spelling)
            operator = graph.nodes[node]["observation"] if spelling is None else next(spelling)
            return operator, left, build(below[1], spelling)

        return build(0, None if given is None else iter(given))


@dataclass(frozen=True, eq=False, repr=False)
class Calculator(LatentTreeModel[Arithmetic, Sequence[str], Expression]):
    kind = "arithmetic"
    members: tuple[Arithmetic, ...]

    @staticmethod
    def train(expressions: Iterable[Expression], options: Estimator) -> Calculator:
        (treebank,) = read_treebanks(expressions, [TreeReader(s_trees)])
        found = estimate(treebank, options)
        return Calculator((Arithmetic(options, TERMINALS, found.operators, found.objective),))


def by_the_book(tokens: Sequence[str]) -> Expression:
    """Parse an expression as a calculator does: products first, everything from the left."""
    terms: list[Expression] = [tokens[0]]
    for operator, value in zip(tokens[1::2], tokens[2::2], strict=True):
        terms[-1:] = [("*", terms[-1], value)] if operator == "*" else [terms[-1], value]
    total = terms[0]
    for term in terms[1:]:
        total = ("+", total, term)
    return total


def sentences(n: int, values: Sequence[str], seed: int) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    drawn = [rng.choice(values, size=2 * size - 1).tolist() for size in rng.integers(1, 8, size=n)]
    for tokens in drawn:
        tokens[1::2] = rng.choice(["+", "*"], size=len(tokens) // 2).tolist()
    return drawn


@pytest.fixture(scope="module")
def models() -> dict[int, Calculator]:
    expressions = list(map(by_the_book, sentences(600, VALUES, seed=0)))
    return {m: Calculator.train(expressions, EM(Clusters(n_states=m))) for m in (1, 4)}


def test_latent_states_learn_which_operator_binds_closer(models: dict[int, Calculator], tmp_path: Path) -> None:
    held_out = sentences(200, VALUES, seed=1)
    found = {m: [parses[0].tree for parses in model.parse_all(held_out)] for m, model in models.items()}
    right = {m: np.mean([a == by_the_book(b) for a, b in zip(found[m], held_out, strict=True)]) for m in models}
    assert right[1] < 0.7 and right[4] > 0.97
    models[4].save(tmp_path / "model")
    again = Calculator.load(tmp_path / "model")
    assert again.fingerprint == models[4].fingerprint
    assert list(again.parse_all(held_out, 3, jobs=2)) == list(models[4].parse_all(held_out, 3))


def test_the_weight_of_an_input_is_that_of_all_bracketings(models: dict[int, Calculator]) -> None:
    tokens = ["a", "+", "2", "*", "b", "+", "c"]
    parses = models[4].parse_nbest(tokens, 10)
    assert len({parse.tree for parse in parses}) == len(parses) == 5
    total = np.exp(models[4].score(parse.tree for parse in parses).log).sum()
    assert np.exp(models[4].log_probabilities([tokens, ["a"]]))[0] == pytest.approx(total)


def test_a_question_that_is_answered_wrongly_is_named(models: dict[int, Calculator]) -> None:
    model, tokens = models[1], ["a", "+", "2"]
    right = model.grammar.chart([tokens])
    twice = model.grammar.chart([tokens, tokens])

    def asked(question: str, answer: Any) -> Calculator:
        wrong = type("Wrong", (Arithmetic,), {question: lambda self, given: answer})
        return model.with_members(lambda each: wrong(each.options, each.terminals, each.latent))

    for question, answer, kind in [
        ("chart", 5, TypeError),
        ("chart", right._replace(forest=None), TypeError),
        ("chart", twice, ValueError),
        ("forest_of", None, TypeError),
        ("forest_of", twice, ValueError),
        ("gains", np.append(np.zeros(right.forest.n_edges - 1), np.nan), ValueError),
        ("gains", 5, ValueError),
    ]:
        wrong = asked(question, answer)
        calls: list[Callable[[], Any]] = [lambda wrong=wrong: wrong.parse(tokens)]
        if question == "chart":
            calls.append(lambda wrong=wrong: wrong.log_probabilities([tokens]))
        elif question == "forest_of":
            calls.append(lambda wrong=wrong: wrong.score([("+", "a", "2")]))
        for call in calls:
            with pytest.raises(kind, match=f"Wrong.{question} must "):
                call()
