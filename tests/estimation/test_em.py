"""EM against enumeration of hidden states, and what its mathematics promises."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from spectral_latent.estimation import (
    EstimationError,
    EstimatorOptions,
    FeatureColumns,
    Progress,
    Tally,
    TrainingData,
    estimate,
    expectation,
    from_states,
    inside_templates,
    maximisation,
    outside_templates,
    random_start,
)
from spectral_latent.inference import sample_trees, tree_weights
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import Forest, SkeletalTrees
from tests.oracles import Lpcfg, children, columns, kind_and_rule, nested, post_order, random_lpcfg

RULES = {
    "leaf": [(0, 0), (0, 1), (1, 0), (1, 2), (2, 3)],
    "unary": [(2, 0)],
    "binary": [(0, 1, 1), (1, 0, 2), (2, 1, 0)],
}
STATES = [2, 3, 1]
TREES = [
    (0, (1, (0, 1), (2, 3)), (1, 2)),
    (1, (0, 0), (2, (0, 1))),
    (2, (1, 0), (0, (1, 2), (1, 0))),
    (0, 1),
]


def counts_by_enumeration(model: Lpcfg, tree: tuple) -> tuple[dict, float]:
    """Expected counts of (kind, rule, states), and p(tree), by listing every assignment of states."""
    (tree,) = nested(columns([tree]))
    nodes = list(post_order(tree))
    number = {id(node): i for i, node in enumerate(nodes)}
    joint: dict = {}
    total = 0.0
    for h in itertools.product(*(range(model.states[node[0]]) for node in nodes)):
        used = [("root", (tree[0],), (h[-1],))]
        p = model.pi[tree[0]][h[-1]]
        for node in nodes:
            kind, rule = kind_and_rule(node)
            states = (h[number[id(node)]], *(h[number[id(child)]] for child in children(node)))
            used.append((kind, rule, states))
            p *= model.of(kind)[rule][states]
        total += p
        for key in used:
            joint[key] = joint.get(key, 0.0) + p
    return {key: value / total for key, value in joint.items()}, total


@pytest.mark.parametrize("seed", range(5))
def test_expected_counts_are_those_of_enumeration(seed: int) -> None:
    model = random_lpcfg(np.random.default_rng(seed), STATES, RULES)
    found = expectation(model.operators(), columns(TREES))
    wanted: dict = {}
    log = 0.0
    for tree in TREES:
        counts, p = counts_by_enumeration(model, tree)
        log += np.log(p)
        for key, value in counts.items():
            wanted[key] = wanted.get(key, 0.0) + value
    binary = [tensor.multiplied_out() for tensor in found.binary]
    tables = {"leaf": found.leaf, "unary": found.unary, "binary": binary}
    for kind, table in tables.items():
        for r, rule in enumerate(RULES[kind]):
            for states in np.ndindex(*np.shape(table[r])):
                assert table[r][states] == pytest.approx(wanted.get((kind, rule, states), 0.0), abs=1e-12)
    for a, h in np.ndindex(*found.root.shape):
        assert found.root[a, h] == pytest.approx(wanted.get(("root", (a,), (h,)), 0.0), abs=1e-12)
    assert found.log_likelihood == pytest.approx(log, abs=1e-10)


def sampled(seed: int = 0, n: int = 400) -> SkeletalTrees:
    rules = {"leaf": [(0, x) for x in range(3)] + [(1, x) for x in range(2)], "unary": [(1, 0)], "binary": [(0, 0, 1)]}
    model = random_lpcfg(np.random.default_rng(seed), [2, 2], rules)
    for rule in model.q:
        model.q[rule][:] *= 3.0  # short trees
    for a in range(2):
        mine = [array for kind in ("leaf", "unary", "binary") for rule, array in model.of(kind).items() if rule[0] == a]
        total = sum(array.reshape(2, -1).sum(axis=1) for array in mine)
        for array in mine:
            array /= total.reshape(-1, *([1] * (array.ndim - 1)))
    operators = model.operators()
    known = ObservableOperators(
        operators.rules,
        operators.states,
        operators.root,
        operators.leaf,
        operators.unary,
        operators.binary,
        probabilities=True,
    )
    return sample_trees(known, n, np.random.default_rng(seed)).trees


@pytest.mark.parametrize("seed", range(4))
def test_no_iteration_lowers_the_likelihood(seed: int) -> None:
    trees = sampled(seed)
    operators = random_start(Tally.of(trees), np.array([3, 2]), seed)
    likelihoods = []
    for _ in range(15):
        counts = expectation(operators, trees)
        likelihoods.append(counts.log_likelihood)
        operators = maximisation(counts, operators.rules, operators.states)
    assert (np.diff(likelihoods) >= -1e-9 * abs(likelihoods[0])).all()
    assert likelihoods[-1] > likelihoods[0]


def sums(operators: ObservableOperators) -> np.ndarray:
    """What the rules of each symbol and state sum to, (S, M)."""
    total = np.zeros(operators.root.shape)
    np.add.at(total, operators.rules.leaf[:, 0], operators.leaf)
    np.add.at(total, operators.rules.unary[:, 0], operators.unary.sum(axis=2))
    for (a, _, _), tensor in zip(operators.rules.binary, operators.binary, strict=True):
        total[a, : operators.states[a]] += tensor.multiplied_out().sum(axis=(1, 2))
    return total


@pytest.mark.parametrize("state_smoothing", [0.0, 0.1, 1.0])
def test_an_m_step_gives_probabilities(state_smoothing: float) -> None:
    trees = sampled()
    start = random_start(Tally.of(trees), np.array([3, 2]), 0)
    operators = maximisation(expectation(start, trees), start.rules, start.states, state_smoothing)
    valid = np.arange(3) < operators.states[:, None]
    np.testing.assert_allclose(sums(operators), valid, atol=1e-12)
    assert operators.root.sum() == pytest.approx(1.0)
    assert operators.probabilities


def test_full_smoothing_of_states_is_the_plain_grammar() -> None:
    trees = sampled()
    start = random_start(Tally.of(trees), np.array([2, 2]), 0)
    mixed = maximisation(expectation(start, trees), start.rules, start.states, state_smoothing=1.0)
    np.testing.assert_allclose(mixed.leaf[:, 0], mixed.leaf[:, 1])


def test_a_tree_of_probability_zero_is_named() -> None:
    trees = columns([(0, (0, 0), (1, 0)), (0, 1)])
    operators = from_states(columns([(0, (0, 0), (1, 0))]), np.zeros(3, dtype=np.int64))
    with pytest.raises(EstimationError, match="tree 2 has probability zero"):
        expectation(operators, trees)


def data_of(trees: SkeletalTrees) -> TrainingData:
    return TrainingData(trees, FeatureColumns.of(inside_templates(trees), outside_templates(trees)))


def log_likelihood(operators: ObservableOperators, trees: SkeletalTrees) -> float:
    return float(tree_weights(operators, Forest.of_trees(trees, operators.rules)).log.sum())


@pytest.mark.parametrize("estimator", ["clustering", "em", "hybrid"])
def test_estimators_of_probabilities_beat_the_plain_grammar_on_their_trees(estimator: str) -> None:
    trees = sampled(1, 1000)
    options = EstimatorOptions(estimator=estimator, states=3, smoothing=None, state_smoothing=0.0, iterations=30)
    operators = estimate(data_of(trees), options)
    plain = from_states(trees, np.zeros(trees.n_nodes, dtype=np.int64))
    assert operators.probabilities
    assert log_likelihood(operators, trees) >= log_likelihood(plain, trees) - 1e-6


def test_listeners_hear_rising_likelihoods() -> None:
    heard: list[Progress] = []
    options = EstimatorOptions(estimator="em", states=2, iterations=6, tolerance=0.0, state_smoothing=0.0)
    estimate(data_of(sampled()), options, listener=heard.append)
    assert [progress.done for progress in heard] == [1, 2, 3, 4, 5, 6]
    assert np.diff([progress.log_likelihood for progress in heard]).min() >= 0


def test_em_stops_when_the_likelihood_stands() -> None:
    heard: list[Progress] = []
    options = EstimatorOptions(estimator="em", states=1, iterations=50)
    estimate(data_of(sampled()), options, listener=heard.append)
    assert len(heard) <= 3


@pytest.mark.parametrize("estimator", ["spectral", "clustering", "em", "hybrid"])
@pytest.mark.parametrize(
    "trees",
    [[(0, 0)], [(0, (1, 0), (1, 0))] * 30, [(0, (1, 0), (2, 1)), (0, (1, 1), (3, 0))], TREES * 3],
    ids=["one leaf", "duplicates", "symbols seen once", "unary"],
)
def test_all_estimators_stay_finite_on_little_data(estimator: str, trees: list) -> None:
    treebank = columns(trees)
    operators = estimate(data_of(treebank), EstimatorOptions(estimator=estimator, states=40))
    assert np.isfinite(operators.packed.data).all() and np.isfinite(operators.leaf).all()
    assert (tree_weights(operators, Forest.of_trees(treebank, operators.rules)).sign > 0).all()


@pytest.mark.parametrize("estimator", ["clustering", "em", "hybrid"])
def test_the_same_seed_gives_the_same_bits(estimator: str) -> None:
    data = data_of(sampled(2))
    first, second = (estimate(data, EstimatorOptions(estimator=estimator, states=3, seed=5)) for _ in range(2))
    np.testing.assert_array_equal(first.packed.data, second.packed.data)


@pytest.mark.parametrize("m", [1, 2, 4])
def test_random_starts_keep_the_share_of_every_rule(m: int) -> None:
    """Up to noise: the share of binary rules does not depend on the number of states."""
    trees = sampled()
    operators = random_start(Tally.of(trees), np.array([m, m]), 0)
    plain = from_states(trees, np.zeros(trees.n_nodes, dtype=np.int64))
    for tensor, expected in zip(operators.binary, plain.binary, strict=True):
        share = tensor.multiplied_out().sum(axis=(1, 2))
        np.testing.assert_allclose(share, expected.multiplied_out().item(), rtol=0.35)
