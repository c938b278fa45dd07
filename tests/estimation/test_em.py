"""The E-step against enumeration of hidden states, the M-step against plain ratios, and the ascent of EM."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spectral_latent.estimation import (
    Counts,
    EstimationError,
    EstimatorOptions,
    FeatureColumns,
    Progress,
    TrainingData,
    estimate,
    expectation,
    expectation_maximisation,
    inside_templates,
    maximisation,
    outside_templates,
    random_start,
    relative_frequencies,
)
from spectral_latent.inference import tree_weights
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import Forest, SkeletalTrees
from tests.oracles import (
    Lpcfg,
    children,
    columns,
    kind_and_rule,
    nested,
    post_order,
    random_lpcfg,
    rules_of,
    tree_strategy,
)

STATES = [2, 3, 2]
treebanks = st.lists(tree_strategy(max_leaves=3), min_size=1, max_size=4)
seeds = st.integers(0, 2**32 - 1)


def expected_counts(model: Lpcfg, trees: list[tuple]) -> tuple[dict[tuple, float], float]:
    """Σ over trees and hidden states of p(states | tree), by what they count, and the log-likelihood."""
    counts: dict[tuple, float] = defaultdict(float)
    log_likelihood = 0.0
    for shared in trees:
        (tree,) = nested(columns([shared]))  # every node an object of its own
        nodes = list(post_order(tree))
        number = {id(node): i for i, node in enumerate(nodes)}
        parts = [(*kind_and_rule(node), [i, *(number[id(c)] for c in children(node))]) for i, node in enumerate(nodes)]
        weights = {}
        for h in itertools.product(*(range(model.states[node[0]]) for node in nodes)):
            p = math.prod(float(model.of(kind)[rule][tuple(h[i] for i in at)]) for kind, rule, at in parts)
            weights[h] = p * float(model.pi[tree[0]][h[-1]])
        total = sum(weights.values())
        log_likelihood += math.log(total)
        for h, p in weights.items():
            counts["root", tree[0], h[-1]] += p / total
            for kind, rule, at in parts:
                counts[kind, rule, *(h[i] for i in at)] += p / total
    return counts, log_likelihood


@given(treebanks, seeds)
@settings(max_examples=40)
def test_the_e_step_counts_what_enumeration_counts(trees: list[tuple], seed: int) -> None:
    model = random_lpcfg(np.random.default_rng(seed), STATES, rules_of(trees))
    found = expectation(model.operators(), columns(trees))
    expected, log_likelihood = expected_counts(model, trees)
    assert found.log_likelihood == pytest.approx(log_likelihood)
    for a, h in np.ndindex(found.root.shape):
        assert found.root[a, h] == pytest.approx(expected["root", a, h], abs=1e-12)
    for kind, arrays in (("leaf", found.leaf), ("unary", found.unary), ("binary", found.binary)):
        for rule, array in zip(sorted(model.of(kind)), arrays, strict=True):
            for at in np.ndindex(np.shape(array)):
                assert array[at] == pytest.approx(expected[kind, rule, *at], abs=1e-10)
    skeletal = columns(trees)
    nodes = found.of_states(skeletal.rules).sum(axis=1)
    assert nodes == pytest.approx(np.bincount(skeletal.symbol, minlength=3))


def test_the_e_step_of_a_chain_of_10_000_nodes_counts_them() -> None:
    n = 10_000
    chain = SkeletalTrees.of(
        np.arange(n) % 2,
        left=np.arange(-1, n - 1),
        right=np.full(n, -1),
        terminal=np.r_[0, np.full(n - 1, -1)],
        root=[n - 1],
    )
    rules = {"leaf": [(0, 0), (1, 0)], "unary": [(0, 1), (1, 0)], "binary": []}
    model = random_lpcfg(np.random.default_rng(0), [2, 3], rules)
    del model.q[1, 0]
    found = expectation(model.operators(), chain)
    assert found.log_likelihood < -1000
    assert found.of_states(chain.rules).sum(axis=1) == pytest.approx([n / 2, n / 2])


def test_a_tree_of_probability_zero_is_named() -> None:
    trees = columns([(0, (0, 0), (0, 0)), (0, (0, 1), (0, 0))])
    operators = relative_frequencies(columns([(0, (0, 0), (0, 0))]))
    with pytest.raises(EstimationError, match="tree 2"):
        expectation(operators, trees)


@given(treebanks, seeds, st.sampled_from([0.0, 0.01, 0.3, 1.0]))
@settings(max_examples=40)
def test_the_m_step_is_relative_frequency_mixed_over_states(trees: list[tuple], seed: int, substates: float) -> None:
    rng = np.random.default_rng(seed)
    rules = rules_of(trees)
    model = random_lpcfg(rng, STATES, rules)
    skeletal = columns(trees)
    counts = expectation(model.operators(), skeletal)
    found = maximisation(counts, skeletal.rules, np.array(STATES), substates)
    total: dict[tuple[int, int], float] = defaultdict(float)
    arrays = {"leaf": counts.leaf, "unary": counts.unary, "binary": counts.binary}
    for kind, table in rules.items():
        for rule, array in zip(table, arrays[kind], strict=True):
            for h in range(STATES[rule[0]]):
                total[rule[0], h] += float(np.sum(array[h]))
    new = {"leaf": found.leaf, "unary": found.unary, "binary": [tensor.multiplied_out() for tensor in found.binary]}
    for kind, table in rules.items():
        for rule, array, result in zip(table, arrays[kind], new[kind], strict=True):
            m = STATES[rule[0]]
            own = np.array([array[h] / total[rule[0], h] for h in range(m)])
            expected = (1 - substates) * own + substates * own.mean(axis=0)
            assert result[:m] == pytest.approx(expected, abs=1e-12)
            assert (result[m:] == 0).all()
    assert found.root == pytest.approx(counts.root / len(trees))
    assert found.probabilities


def sample(n: int, seed: int = 0) -> SkeletalTrees:
    """Trees whose leaves tell which of two hidden kinds they are of."""
    rng = np.random.default_rng(seed)

    def grow(kind: int, depth: int) -> tuple:
        if depth == 0 or rng.random() < 0.4:
            return 1, int(rng.choice(4, p=([0.6, 0.3, 0.1, 0.0], [0.0, 0.1, 0.3, 0.6])[kind]))
        other = kind if rng.random() < 0.8 else 1 - kind
        return 0, grow(kind, depth - 1), grow(other, depth - 1)

    return columns([(0, grow(kind, 3), grow(kind, 3)) for kind in rng.integers(2, size=n).tolist()])


def training_data(trees: SkeletalTrees) -> TrainingData:
    return TrainingData(trees, FeatureColumns.of(inside_templates(trees), outside_templates(trees)))


def log_likelihood(operators: ObservableOperators, trees: SkeletalTrees) -> float:
    return float(tree_weights(operators, Forest.of_trees(trees, operators.rules)).log.sum())


def test_no_iteration_lowers_the_likelihood_and_more_states_raise_it() -> None:
    trees = sample(150)
    data = training_data(trees)
    progress: list[Progress] = []
    options = EstimatorOptions(estimator="em", states=3, iterations=25, tolerance=0.0, substates=0.0)
    operators = estimate(data, options, listener=progress.append)
    values = [step.log_likelihood for step in progress]
    assert values == sorted(values)
    assert [step.done for step in progress] == list(range(1, len(values) + 1))
    assert log_likelihood(operators, trees) >= values[-1]
    assert log_likelihood(operators, trees) > log_likelihood(relative_frequencies(trees), trees) + 50


def test_one_state_is_relative_frequencies() -> None:
    trees = sample(30)
    found = estimate(training_data(trees), EstimatorOptions(estimator="em", states=1, iterations=1))
    expected = relative_frequencies(trees)
    for name in ("root", "leaf", "unary"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name))
    for ours, theirs in zip(found.binary, expected.binary, strict=True):
        assert ours.multiplied_out() == pytest.approx(theirs.multiplied_out())


def check_probabilities(operators: ObservableOperators) -> None:
    assert operators.probabilities
    total = np.zeros(operators.root.shape)
    for (a, _), row in zip(operators.rules.leaf, operators.leaf, strict=True):
        total[a] += row
    for (a, _), block in zip(operators.rules.unary, operators.unary, strict=True):
        total[a] += block.sum(axis=1)
    for (a, _, _), tensor in zip(operators.rules.binary, operators.binary, strict=True):
        full = tensor.multiplied_out()
        assert (full >= 0).all()
        total[a, : len(full)] += full.sum(axis=(1, 2))
    used = np.arange(total.shape[1]) < operators.states[:, None]
    assert total[used] == pytest.approx(np.ones(used.sum()))
    assert operators.root.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("estimator", ["clustering", "em", "hybrid"])
def test_estimates_are_probabilities_and_the_same_for_any_number_of_jobs(estimator: str) -> None:
    data = training_data(sample(200))
    options = EstimatorOptions(estimator=estimator, states=4, iterations=3)
    first = estimate(data, options)
    check_probabilities(first)
    assert first.states.max() > 1
    for again in (estimate(data, options), estimate(data, options, jobs=2)):
        assert [a.tobytes() for a in again.packed] == [a.tobytes() for a in first.packed]


def test_a_random_start_is_near_relative_frequencies_and_depends_on_the_seed_alone() -> None:
    trees, states = sample(50), np.array([3, 2])
    start, same, other = (random_start(trees, states, seed) for seed in (1, 1, 2))
    check_probabilities(start)
    assert start.leaf.tobytes() == same.leaf.tobytes()
    assert start.leaf.tobytes() != other.leaf.tobytes()
    plain = relative_frequencies(trees)
    for tensor, (_, b, c), theirs in zip(start.binary, start.rules.binary, plain.binary, strict=True):
        one = theirs.multiplied_out().item() / (states[b] * states[c])
        assert tensor.multiplied_out() == pytest.approx(np.full_like(tensor.multiplied_out(), one), rel=0.25)


def test_no_iterations_return_the_start() -> None:
    trees = sample(20)
    start = random_start(trees, np.array([2, 2]))
    options = EstimatorOptions(estimator="em", iterations=0)
    found = expectation_maximisation(training_data(trees), start, options, lambda _: None)
    assert found.leaf == pytest.approx(start.leaf)
    assert isinstance(expectation(found, trees), Counts)
