"""States in words: expected nodes, shares and probabilities against the oracle's sums, and what the command shows."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from spectral_latent import ConstituencyModel, DependencyModel, LatentTagger, LatentTreeModel
from spectral_latent.cli import main
from spectral_latent.constituency import ConstituencyOptions
from spectral_latent.corpora.embedded import embedded_treebank
from spectral_latent.dependency import DependencyOptions, DependencySentence
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.inspection import Described, NamedOperators, describe_rules, describe_states
from spectral_latent.operators import ObservableOperators, Tensor, Tensors
from spectral_latent.sequence import TaggerOptions
from spectral_latent.trees import Rules

STATES = [2, 3, 1]
RULES = Rules(
    np.array([[0, 1], [1, 0], [1, 2], [2, 1]]), np.array([[0, 1]]), np.array([[0, 0, 1], [0, 1, 2], [1, 2, 2]])
)


def random_model(seed: int) -> ObservableOperators:
    """Random probabilities, with leaf rules likely enough that trees end."""
    rng = np.random.default_rng(seed)
    m = max(STATES)
    root = np.zeros((3, m))
    leaf = np.zeros((len(RULES.leaf), m))
    unary = np.zeros((len(RULES.unary), m, m))
    for a, size in enumerate(STATES):
        root[a, :size] = rng.random(size)
    for r, (a, _) in enumerate(RULES.leaf):
        leaf[r, : STATES[a]] = 20 * rng.random(STATES[a])
    for r, (a, b) in enumerate(RULES.unary):
        unary[r, : STATES[a], : STATES[b]] = rng.random((STATES[a], STATES[b]))
    binary = Tensors.of(Tensor.of_dense(rng.random([STATES[x] for x in rule])) for rule in RULES.binary)
    table = ObservableOperators(RULES, np.array(STATES), root, leaf, unary, binary)
    return ObservableOperators.probabilities_of(table)


def expected_nodes(operators: ObservableOperators) -> dict[tuple[int, int], float]:
    """Solve n = π + n T, number by number."""
    keys = [(a, h) for a, size in enumerate(STATES) for h in range(size)]
    step: dict[tuple[tuple[int, int], tuple[int, int]], float] = defaultdict(float)
    for r, (a, b) in enumerate(RULES.unary.tolist()):
        for h, k in np.ndindex(STATES[a], STATES[b]):
            step[(a, h), (b, k)] += operators.unary[r, h, k]
    for tensor, (a, b, c) in zip(operators.binary, RULES.binary.tolist(), strict=True):
        for (h, i, j), p in np.ndenumerate(tensor.multiplied_out()):
            step[(a, h), (b, i)] += p
            step[(a, h), (c, j)] += p
    matrix = np.array([[step[one, other] for other in keys] for one in keys])
    root = np.array([operators.root[a, h] for a, h in keys])
    return dict(zip(keys, np.linalg.solve(np.eye(len(keys)) - matrix.T, root), strict=True))


@given(st.integers(0, 10**6))
@settings(max_examples=30)
def test_shares_and_probabilities_are_those_of_the_model(seed: int) -> None:
    operators = random_model(seed)
    named = NamedOperators(operators, ["S", "A", "B"], ["x", "y", "z"])
    described = {states[0].symbol: states for states in describe_states(named, 100)}
    nodes = expected_nodes(operators)
    frequency = {name: sum(n for (b, _), n in nodes.items() if b == a) for a, name in enumerate(named.symbols)}
    assert list(described) == sorted(described, key=lambda name: -frequency[name])
    for a, name in enumerate(named.symbols):
        for h, state in enumerate(described[name]):
            assert state.frequency == pytest.approx(frequency[name])
            assert state.share == pytest.approx(nodes[a, h] / frequency[name])
            for word, p in state.words:
                (row,) = np.flatnonzero((RULES.leaf == [a, named.terminals.index(word)]).all(axis=1))
                assert p == pytest.approx(operators.leaf[row, h])
    # n of B in state k under S → A [B], divided by all n of B in state k
    total = sum(nodes[0, h] * operators.binary[1].multiplied_out()[h, :, 0].sum() for h in range(STATES[0]))
    assert dict(described["B"][0].places)["S → A [B]"] == pytest.approx(total / nodes[2, 0])
    assert sum(p for _, p in described["B"][0].places) == pytest.approx(1.0)
    assert dict(described["B"][0].words) == {"y": pytest.approx(1.0)}


def test_what_is_typical_of_a_state_comes_first() -> None:
    rules = Rules(np.array([[1, 0], [1, 1], [1, 2]]), np.empty((0, 2), int), np.array([[0, 1, 1]]))
    leaf = np.array([[0.6, 0.6], [0.4, 0.0], [0.0, 0.4]])
    pair = np.zeros((1, 2, 2))
    pair[0, 0, 1] = 1.0
    root = np.array([[1.0, 0.0], [0.0, 0.0]])
    binary = Tensors.of([Tensor.of_dense(pair)])
    operators = ObservableOperators(rules, np.array([1, 2]), root, leaf, np.empty((0, 2, 2)), binary, True)
    noun, sentence = describe_states(NamedOperators(operators, ["S", "N"], ["the", "cat", "dog"]))
    assert [[word for word, _ in state.words] for state in noun] == [["cat", "the"], ["dog", "the"]]
    assert [state.places for state in noun] == [[("S → [N] N", 1.0)], [("S → N [N]", 1.0)]]
    assert sentence == [Described("S", 0, 1.0, 1.0, [], [("S → N N", 1.0)], [("at the top", 1.0)])]


def test_directions_are_no_states() -> None:
    model = ConstituencyModel.train(
        embedded_treebank(30), ConstituencyOptions(estimator=EstimatorOptions("spectral", n_states=2))
    )
    with pytest.raises(ValueError, match=r"directions .* and no states; train .* preset fast"):
        next(describe_states(model.named_operators))


CLUSTERS = EstimatorOptions("clustering", n_states=2)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One model of each kind."""
    folder = tmp_path_factory.mktemp("models")
    trees = list(embedded_treebank(60))
    tagged = [[("dogs", "N"), ("bark", "V")], [("cats", "N"), ("sleep", "V")]] * 20
    arcs = [DependencySentence.of([w for w, _ in row], [t for _, t in row]).with_heads((2, 0)) for row in tagged]
    models = {
        "constituency": ConstituencyModel.train(trees, ConstituencyOptions(estimator=CLUSTERS)),
        "tagger": LatentTagger.train(tagged, TaggerOptions(estimator=CLUSTERS)),
        "dependency": DependencyModel.train(arcs, DependencyOptions(estimator=CLUSTERS)),
    }
    for name, model in models.items():
        model.save(folder / name)
    return {name: folder / name for name in models}


@pytest.mark.parametrize("kind", ["constituency", "tagger", "dependency"])
def test_the_command_shows_states_of_every_kind_of_model(files: dict[str, Path], kind: str) -> None:
    shown = CliRunner().invoke(main, ["inspect", str(files[kind])])
    assert shown.exit_code == 0, shown.output
    assert "nodes in a tree\n  state " in shown.output
    lines = CliRunner().invoke(main, ["inspect", str(files[kind]), "--json", "--top", "1"]).output.splitlines()
    states = [json.loads(line) for line in lines]
    for symbol in {state["symbol"] for state in states}:
        assert sum(state["share"] for state in states if state["symbol"] == symbol) == pytest.approx(1.0)
    assert all(len(state["words"]) <= 1 for state in states)
    name = states[-1]["symbol"]
    one = CliRunner().invoke(main, ["inspect", str(files[kind]), "--symbol", name]).output
    assert one.startswith(f"{name}: ")
    assert one.count("nodes in a tree") == 1


def test_symbols_that_do_not_exist_are_named(files: dict[str, Path]) -> None:
    refused = CliRunner().invoke(main, ["inspect", str(files["tagger"]), "--symbol", "XYZ"])
    assert refused.exit_code == 1
    assert "no symbol 'XYZ'; there are N, V, " in refused.output
    alike = CliRunner().invoke(main, ["inspect", str(files["tagger"]), "--symbol", "v"])
    assert "no symbol 'v'; did you mean V?" in alike.output


def test_graphs_have_names_too() -> None:
    import networkx as nx

    graph = nx.DiGraph([(0, 1), (0, 2)])
    nx.set_node_attributes(graph, {0: "top", 1: "leaf", 2: "leaf"}, "label")
    nx.set_node_attributes(graph, {1: "a", 2: "b"}, "observation")
    model = LatentTreeModel.train([graph] * 20, EstimatorOptions("clustering", n_states=1))
    described = {states[0].symbol: states for states in describe_states(model.named_operators)}
    assert dict(described["leaf"][0].words) == {"a": pytest.approx(0.5), "b": pytest.approx(0.5)}


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_rules_are_as_frequent_as_in_the_model(seed: int) -> None:
    operators = random_model(seed)
    nodes = expected_nodes(operators)
    expected = {}
    for tensor, rule in zip(operators.binary, RULES.binary.tolist(), strict=True):
        a = rule[0]
        applied = tensor.multiplied_out().sum(axis=(1, 2))
        expected["{} → {} {}".format(*rule)] = sum(nodes[a, h] * applied[h] for h in range(STATES[a]))
    described = describe_rules(NamedOperators(operators, ["0", "1", "2"], ["x", "y", "z"]))
    found = {rule.name: rule.expected for rule in described}
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    assert [rule.expected for rule in described] == sorted((rule.expected for rule in described), reverse=True)
