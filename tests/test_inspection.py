"""Descriptions of states have the expected nodes, shares and probabilities of the oracle, and commands show them."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from spectral_latent import ConstituencyModel, DependencyModel, GraphModel, LatentTagger
from spectral_latent.cli import main
from spectral_latent.constituency import ConstituencyOptions
from spectral_latent.dependency import DependencyOptions, DependencySentence
from spectral_latent.estimation import EstimatorOptions, FeatureColumns, Shard, Treebank, estimate
from spectral_latent.inference import collapse
from spectral_latent.inspection import (
    Described,
    Direction,
    NamedOperators,
    describe_directions,
    describe_rules,
    describe_states,
)
from spectral_latent.operators import ObservableOperators, Tensor, Tensors
from spectral_latent.sequence import TaggerOptions
from spectral_latent.trees import Rules, SkeletalTrees
from tests.conformance.model import contents, write
from tests.toy import toy_treebank

STATES = [2, 3, 1]
RULES = Rules(
    np.array([[0, 1], [1, 0], [1, 2], [2, 1]]), np.array([[0, 1]]), np.array([[0, 0, 1], [0, 1, 2], [1, 2, 2]])
)


def random_model(seed: int) -> ObservableOperators:
    """Draw random probabilities; leaf rules are likely enough that trees end."""
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
        for (h, i, j), p in np.ndenumerate(tensor.to_dense()):
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
    total = sum(nodes[0, h] * operators.binary[1].to_dense()[h, :, 0].sum() for h in range(STATES[0]))
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
        toy_treebank(30), ConstituencyOptions(estimator=EstimatorOptions("spectral", n_states=2))
    )
    with pytest.raises(ValueError, match=r"directions .* and no states; `describe_directions`"):
        next(describe_states(model.named_operators))


CLUSTERS = EstimatorOptions("clustering", n_states=2)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Save a model of each kind."""
    folder = tmp_path_factory.mktemp("models")
    trees = list(toy_treebank(60))
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
    shown = CliRunner().invoke(main, ["info", "--states", str(files[kind])])
    assert shown.exit_code == 0, shown.output
    assert re.search(r"nodes in a tree\n  singular values [\d. ]+\n  state ", shown.output)
    lines = CliRunner().invoke(main, ["info", "--states", str(files[kind]), "--json", "--top", "1"]).output.splitlines()
    states = [json.loads(line) for line in lines]
    for symbol in {state["symbol"] for state in states}:
        assert sum(state["share"] for state in states if state["symbol"] == symbol) == pytest.approx(1.0)
    assert all(len(state["words"]) <= 1 for state in states)
    name = states[-1]["symbol"]
    one = CliRunner().invoke(main, ["info", "--states", str(files[kind]), "--symbol", name]).output
    assert one.startswith(f"{name}: ")
    assert one.count("nodes in a tree") == 1


def test_symbols_that_do_not_exist_are_named(files: dict[str, Path]) -> None:
    refused = CliRunner().invoke(main, ["info", "--states", str(files["tagger"]), "--symbol", "XYZ"])
    assert refused.exit_code == 1
    assert "no symbol 'XYZ'; there are N, V, " in refused.output
    alike = CliRunner().invoke(main, ["info", "--states", str(files["tagger"]), "--symbol", "v"])
    assert "no symbol 'v'; did you mean V?" in alike.output


def test_graphs_have_names_too() -> None:
    import networkx as nx

    graph = nx.DiGraph([(0, 1), (0, 2)])
    nx.set_node_attributes(graph, {0: "top", 1: "leaf", 2: "leaf"}, "label")
    nx.set_node_attributes(graph, {1: "a", 2: "b"}, "observation")
    model = GraphModel.train([graph] * 20, EstimatorOptions("clustering", n_states=1))
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
        applied = tensor.to_dense().sum(axis=(1, 2))
        expected["{} → {} {}".format(*rule)] = sum(nodes[a, h] * applied[h] for h in range(STATES[a]))
    described = describe_rules(NamedOperators(operators, ["0", "1", "2"], ["x", "y", "z"]))
    found = {rule.name: rule.expected for rule in described}
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    assert [rule.expected for rule in described] == sorted((rule.expected for rule in described), reverse=True)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_loadings_are_joint_means_over_roots_of_probabilities(seed: int) -> None:
    """In the basis of states, v is 1, and w is the number of nodes in each state."""
    operators = replace(random_model(seed), probabilities=False)
    coarse = collapse(random_model(seed))
    nodes = expected_nodes(operators)
    total = [sum(nodes[a, h] for h in range(size)) for a, size in enumerate(STATES)]
    named = NamedOperators(operators, ["S", "A", "B"], ["x", "y", "z"], coarse)
    for directions in describe_directions(named, 100):
        a = named.symbols.index(directions[0].symbol)
        share = np.array([nodes[a, h] for h in range(STATES[a])]) / total[a]
        joint = {("words", named.terminals[x]): operators.leaf[r] for r, (b, x) in enumerate(RULES.leaf) if a == b}
        for tensor, rule in zip(operators.binary, RULES.binary.tolist(), strict=True):
            if rule[0] == a:
                joint["rules", named.rule(rule)] = tensor.to_dense().sum(axis=(1, 2))
        for direction in directions:
            for (kind, name), vector in joint.items():
                p = vector[: len(share)] @ share
                expected = vector[direction.direction] / np.sqrt(p)
                assert dict(getattr(direction, kind))[name] == pytest.approx(expected, rel=1e-3)
            of_places = np.array([loading for _, loading in direction.places])
            assert direction.frequency == pytest.approx(total[a], rel=1e-3)
            assert (of_places >= 0).all()
        # Σ over places of E[1(place) y_h] / √p, times √p, is E[y_h]: the share of the state
    (top,) = (dict(d.places)["at the top"] for d in describe_one(named, "S")[:1])
    root = operators.root[0]
    assert top == pytest.approx(root[0] / total[0] / np.sqrt(root.sum() / total[0]), rel=1e-3)


def describe_one(named: NamedOperators, symbol: str) -> list[Direction]:
    (found,) = (directions for directions in describe_directions(named, 100) if directions[0].symbol == symbol)
    return found


def test_no_place_loads_on_a_direction_whose_singular_value_is_zero() -> None:
    sigma = np.ones((3, max(STATES)))
    sigma[:, -1] = 0.0
    operators = replace(random_model(0), probabilities=False, singular_values=sigma)
    named = NamedOperators(operators, ["S", "A", "B"], ["x", "y", "z"], collapse(random_model(0)))
    for directions in describe_directions(named):
        for direction in directions:
            loadings = [loading for _, loading in direction.places]
            assert all(loading == 0.0 for loading in loadings) == (direction.singular_value == 0.0)
            assert np.isfinite(loadings).all()


def test_loadings_of_words_are_singular_vectors() -> None:
    """Words are the only inside features and neighbours the only outside ones; numpy decomposes their counts."""
    rng = np.random.default_rng(0)
    joint = rng.dirichlet(np.full(12, 0.5)).reshape(4, 3)
    pairs = rng.choice(12, 3000, p=joint.ravel())
    left, right = np.divmod(pairs, 3)
    # a tree for each pair: a word of symbol 0 and a neighbour of symbol 1 below a node of symbol 2
    n = len(pairs)
    symbol = np.tile([0, 1, 2], n)
    child = np.full((n, 3), -1)
    child[:, 2] = 3 * np.arange(n)
    terminal = np.column_stack([left, 4 + right, np.full(n, -1)]).ravel()
    second = np.where(child >= 0, child + 1, -1)
    trees = SkeletalTrees.of(
        symbol, left=child.ravel(), right=second.ravel(), terminal=terminal, root=3 * np.arange(n) + 2
    )
    other = np.column_stack([4 + right, left, np.zeros(n, int)]).ravel()
    features = FeatureColumns(np.where(terminal >= 0, terminal, 9)[:, None], other[:, None])
    treebank = Treebank.of([Shard.of(trees, features)])
    operators = estimate(treebank, EstimatorOptions("spectral", n_states=3, scaling=0.0, smoothing=None)).operators
    named = NamedOperators(operators, ["word", "neighbour", "pair"], [f"{x}" for x in range(7)], None)
    counts = np.zeros((4, 3))
    np.add.at(counts, (left, right), 1 / n)
    u, sigma, _ = np.linalg.svd(counts / np.sqrt(np.outer(counts.sum(axis=1), counts.sum(axis=0))), full_matrices=False)
    found = describe_one(named, "word")
    assert [direction.singular_value for direction in found] == pytest.approx(sigma)
    for direction, column in zip(found, u.T, strict=True):
        loadings = np.array([dict(direction.words)[f"{x}"] for x in range(4)])
        np.testing.assert_allclose(loadings * np.sign(loadings @ column), column, atol=1e-6)
    # places show only the neighbour of a word, so that the loading of the only place is that of the mean
    assert [name for name, _ in found[0].places] == ["pair → [word] neighbour"]


@pytest.mark.parametrize("kind", ["constituency", "tagger", "dependency"])
def test_the_command_shows_directions(kind: str, tmp_path: Path) -> None:
    spectral = EstimatorOptions("spectral", n_states=2)
    tagged = [[("dogs", "N"), ("bark", "V")], [("cats", "N"), ("sleep", "V")]] * 60
    arcs = [DependencySentence.of([w for w, _ in row], [t for _, t in row]).with_heads((2, 0)) for row in tagged]
    model: ConstituencyModel | LatentTagger | DependencyModel
    match kind:
        case "constituency":
            model = ConstituencyModel.train(toy_treebank(60), ConstituencyOptions(estimator=spectral))
        case "tagger":
            model = LatentTagger.train(tagged, TaggerOptions(estimator=spectral))
        case _:
            model = DependencyModel.train(arcs, DependencyOptions(estimator=spectral))
    model.save(tmp_path / "model")
    shown = CliRunner().invoke(main, ["info", "--states", str(tmp_path / "model")])
    assert shown.exit_code == 0, shown.output
    assert re.search(r"nodes in a tree\n  singular values [\d. ]+\n  direction 0, singular value ", shown.output)
    lines = (
        CliRunner()
        .invoke(main, ["info", "--states", str(tmp_path / "model"), "--json", "--top", "2"])
        .output.splitlines()
    )
    values = [json.loads(line)["singular_value"] for line in lines if json.loads(line)["direction"] == 0]
    assert min(values) > 0.0
    # files of older versions have no singular values
    arrays, settings = contents(tmp_path / "model")
    write(tmp_path / "old", {name: x for name, x in arrays.items() if not name.endswith("singular_values")}, settings)
    old = CliRunner().invoke(main, ["info", "--states", str(tmp_path / "old")])
    assert old.exit_code == 0
    assert "  direction 0\n" in old.output
    assert "singular" not in old.output


def test_what_has_states_has_no_directions() -> None:
    with pytest.raises(ValueError, match="has states and no directions"):
        next(describe_directions(NamedOperators(random_model(0), ["S", "A", "B"], ["x", "y", "z"])))
