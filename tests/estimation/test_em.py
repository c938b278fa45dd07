"""Expectation maximisation against enumeration of hidden states, and the identities that it promises."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spectral_latent.estimation import (
    Clusters,
    EstimationError,
    FeatureColumns,
    Shard,
    Treebank,
    reestimate,
    relative_frequencies,
)
from spectral_latent.estimation._estimators import low_rank_operators
from spectral_latent.estimation._moments import moments_from_counts, operators_from_moments
from spectral_latent.estimation.clustering import state_counts
from spectral_latent.estimation.em import random_counts, run_em, state_prior, towards_mean
from spectral_latent.estimation.starts import Ascent
from spectral_latent.inference import tree_weights
from spectral_latent.operators import Counts, ExpectedCounts, ObservableOperators
from spectral_latent.trees import Forest, SkeletalTrees
from tests.oracles import (
    FACTORS,
    Lpcfg,
    Numbers,
    columns,
    counts_by_enumeration,
    numbers_by_factor,
    numbers_of,
    random_lpcfg,
    random_numbers,
    same_numbers,
    tree_strategy,
)

RULES = {
    "leaf": [(0, 0), (0, 1), (1, 0), (1, 2), (2, 3)],
    "unary": [(2, 0)],
    "binary": [(0, 1, 1), (1, 0, 2), (2, 1, 0)],
}
STATES = [2, 3, 2]
TREES = [
    (0, (1, (0, 1), (2, 3)), (1, 2)),
    (1, (0, 0), (2, (0, 1))),
    (2, (1, 0), (0, (1, 2), (1, 0))),
    (0, 1),
]


def random_start(observed: Counts, states: np.ndarray, seed: int = 0) -> ObservableOperators:
    """The probabilities that counts split at random make."""
    return ObservableOperators.probabilities_of(random_counts(observed, states, seed=seed))


def shard_of(trees: SkeletalTrees) -> Shard:
    """Trees without features, which EM does not look at."""
    nothing = np.zeros((trees.n_nodes, 0), dtype=np.int64)
    return Shard.of(trees, FeatureColumns(nothing, nothing))


def shards_of(trees: list[tuple], *ends: int) -> list[Shard]:
    """Shards that end after so many trees."""
    return [shard_of(columns(trees[a:b])) for a, b in itertools.pairwise([0, *ends, len(trees)])]


def factored_model(seed: int) -> Lpcfg:
    """Probabilities; every second tensor is a mixture of terms."""
    drawn = random_numbers(np.random.default_rng(seed), STATES, RULES)
    factors = {rule: [np.abs(part) for part in parts] for rule, parts in drawn.factors.items()}
    counts: Numbers = {("root", (a,)): np.abs(vector) for a, vector in enumerate(drawn.pi)}
    for kind in ("leaf", "unary", "binary"):
        counts |= {(kind, rule): np.abs(array) for rule, array in drawn.of(kind).items() if rule not in factors}
    for rule, parts in factors.items():
        counts |= {(table, rule): part for table, part in zip(FACTORS, parts, strict=True)}
    return likeliest(counts)


def likeliest(counts: Numbers) -> Lpcfg:
    """The probabilities in proportion to counts: what an M-step must find."""
    total = [np.zeros(m) for m in STATES]
    for (kind, rule), array in counts.items():
        if kind in ("leaf", "unary", "binary"):
            total[rule[0]] += array.reshape(len(array), -1).sum(axis=1)
        elif kind == "first":
            total[rule[0]] += array.sum(axis=0)

    def shares(kind: str) -> dict:
        """The counts of one kind over those of the parent's states."""
        return {
            rule: array / total[rule[0]].reshape(-1, *([1] * (array.ndim - 1)))
            for (of_kind, rule), array in counts.items()
            if of_kind == kind
        }

    tables = [shares(kind) for kind in ("leaf", "unary", "binary")]
    factors = {}
    for rule in [rule for kind, rule in counts if kind == "first"]:
        first = counts["first", rule] / total[rule[0]]
        others = [counts[table, rule] for table in ("second", "third")]
        factors[rule] = (first, *(part / part.sum(axis=1, keepdims=True) for part in others))
        tables[2][rule] = np.einsum("qi,qj,qk->ijk", *factors[rule])
    roots = [counts["root", (a,)] for a in range(3)]
    whole = sum(float(vector.sum()) for vector in roots)
    return Lpcfg(STATES, [vector / whole for vector in roots], *tables, factors)


def model_of(seed: int, factored: bool) -> Lpcfg:
    if factored:
        return factored_model(seed)
    return random_lpcfg(np.random.default_rng(seed), STATES, RULES)


def random_prior(operators: ObservableOperators, seed: int) -> ExpectedCounts:
    """Pseudo-counts in the layout of operators; every factor of a term has as many."""
    rng = np.random.default_rng(seed)
    prior = ExpectedCounts(
        operators.rules,
        operators.states,
        np.zeros_like(operators.root),
        rng.uniform(0.1, 2.0, operators.leaf.shape) * (operators.leaf > 0),
        rng.uniform(0.1, 2.0, operators.unary.shape) * (operators.unary > 0),
        operators.binary.with_data(rng.uniform(0.1, 2.0, operators.binary.data.shape)),
    )
    for tensor in prior.binary:
        for factor in (tensor.second, tensor.third):
            factor *= tensor.first.sum(axis=1, keepdims=True) / factor.sum(axis=1, keepdims=True)
    return prior


def log_prior(prior: Numbers, theta: Numbers) -> float:
    """Σ A log θ."""
    return sum(float((a[a > 0] * np.log(theta[key][a > 0])).sum()) for key, a in prior.items())


# ---------------------------------------------------------------------------------------------------------------------
# Against enumeration


@pytest.mark.parametrize("factored", [False, True])
@pytest.mark.parametrize("with_prior", [False, True])
def test_every_iteration_is_that_of_enumeration(with_prior: bool, factored: bool) -> None:
    """Counts by listing states, the M-step as their proportions, and the objective log L + Σ A log θ."""
    model = model_of(0, factored)
    start = model.operators(probabilities=True)
    if factored:
        assert start.binary.terms.any()
    prior = random_prior(start, 0) if with_prior else None
    added = {} if prior is None else numbers_by_factor(prior)
    objective, log_likelihood = [], []
    for iteration in range(4):
        counts, log = counts_by_enumeration(model, [[tree] for tree in TREES])
        theta = numbers_by_factor(model.operators())
        log_likelihood.append(log)
        objective.append(log + log_prior(added, theta))
        if iteration < 3:
            model = likeliest({key: array + added.get(key, 0.0) for key, array in counts.items()})
    found = run_em(shards_of(TREES), start, 3, 0.0, prior)
    same_numbers(numbers_by_factor(found.model), numbers_by_factor(model.operators()), atol=1e-9)
    same_numbers(numbers_by_factor(found.statistics), counts, atol=1e-9)
    assert found.statistics.log_likelihood == pytest.approx(log_likelihood[-1], abs=1e-9)
    assert found.objective == pytest.approx(objective, abs=1e-9)
    assert found.model.probabilities


# ---------------------------------------------------------------------------------------------------------------------
# Larger data


def log_likelihood(operators: ObservableOperators, trees: SkeletalTrees) -> float:
    return float(tree_weights(operators, Forest.of_trees(trees, operators.rules)).log.sum())


def climbed(
    trees: SkeletalTrees, share: float, rank: int | None, seed: int
) -> Ascent[ObservableOperators, ExpectedCounts]:
    """EM from a random start, with the prior of a state smoothing, on tensors of a rank."""
    observed = Counts.of_trees(trees)
    states = np.full(observed.n_symbols, 6 if rank else 3)
    start = random_start(observed, states, seed)
    if rank is not None:
        start = low_rank_operators(start, rank)
    return run_em([shard_of(trees)], start, 6, 0.0, state_prior(start, observed, share))


@given(
    trees=st.lists(tree_strategy(n_symbols=2), min_size=1, max_size=6),
    share=st.sampled_from([0.0, 0.1, 0.5, 0.9]),
    rank=st.sampled_from([None, 2]),
    seed=st.integers(0, 5),
)
@settings(max_examples=40)
def test_no_iteration_lowers_the_objective_on_any_trees(
    trees: list[tuple], share: float, rank: int | None, seed: int
) -> None:
    skeletal = columns(trees)
    skeletal = replace(skeletal, symbol=np.unique(skeletal.symbol, return_inverse=True)[1])
    found = climbed(skeletal, share, rank, seed)
    assert np.isfinite(found.objective).all()
    assert found.statistics.log_likelihood == pytest.approx(log_likelihood(found.model, skeletal))
    assert (np.diff(found.objective) >= -1e-10 * (1 + abs(found.objective[0]))).all()


# ---------------------------------------------------------------------------------------------------------------------
# Where it starts and stops


@pytest.mark.parametrize("tolerance", [0.001, 0.3])
def test_em_stops_after_the_first_rise_that_is_too_small(tolerance: float) -> None:
    start = model_of(0, False).operators(probabilities=True)
    all_points = run_em(shards_of(TREES), start, 60, 0.0).objective
    rises = np.diff(all_points) / len(TREES)
    ends = (rises[:-1] < tolerance) & (rises[1:] <= rises[:-1])
    expected = 2 + int(np.argmax(ends))
    assert ends.any()
    found = run_em(shards_of(TREES), start, 60, tolerance)
    assert found.objective == all_points[: expected + 1]


def test_trees_of_probability_zero_are_an_error() -> None:
    known, unknown = (0, (0, 0), (1, 0)), (0, 1)
    start = relative_frequencies(Counts.of_trees(columns([known])))
    with pytest.raises(EstimationError, match=r"tree 3 has probability zero"):
        run_em(shards_of([known, known, unknown], 1), start, 1000, 0.001)


# ---------------------------------------------------------------------------------------------------------------------
# The prior of states


def mean_of_states(theta: np.ndarray, m: int) -> np.ndarray:
    """For each of the m states of a rule's parent the mean of θ (M, ...) over them, and zero in the padding."""
    mean = np.zeros_like(theta)
    mean[:m] = theta[:m].mean(axis=0)
    return mean


def smoothed_start() -> ObservableOperators:
    """Smoothed probabilities of known states, whose terms have second and third factors of several sums."""
    trees = columns(TREES)
    states = np.array([6, 5, 6])
    state = np.random.default_rng(0).integers(0, 5, trees.n_nodes)
    counts = state_counts(trees, trees.rules, states, state)
    moments = moments_from_counts(counts, Counts.of_trees(trees))
    start = ObservableOperators.probabilities_of(operators_from_moments(moments, 15.0))
    assert (start.binary.terms > 0).all()
    assert all(np.ptp(tensor.second.sum(axis=1)) > 0.1 for tensor in start.binary)
    return start


STARTS = {
    "dense": lambda: model_of(0, factored=False).operators(probabilities=True),
    "in factors": lambda: model_of(0, factored=True).operators(probabilities=True),
    "smoothed": smoothed_start,
}


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
@pytest.mark.parametrize("share", [0.1, 1.0])
def test_states_are_mixed_with_their_mean(share: float, start: Callable[[], ObservableOperators]) -> None:
    before = start()
    found = towards_mean(before, share)
    expected = {
        (kind, rule): theta
        if kind == "root"
        else (1 - share) * theta + share * mean_of_states(theta, before.states[rule[0]])
        for (kind, rule), theta in numbers_of(before).items()
    }
    same_numbers(numbers_of(found), expected, atol=1e-12)
    assert found.probabilities
    assert found.binary.terms.tolist() == before.binary.terms.tolist()


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
def test_the_prior_has_the_mean_of_states_for_equally_many_nodes(start: Callable[[], ObservableOperators]) -> None:
    """s / (1 - s) times the mean number of nodes of a state."""
    before = start()
    prior = state_prior(before, Counts.of_trees(columns(TREES)), 0.25)
    expected = {}
    for (kind, rule), theta in numbers_of(before).items():
        m = before.states[rule[0]]
        nodes = (columns(TREES).symbol == rule[0]).sum() / m / 3
        expected[kind, rule] = np.zeros_like(theta) if kind == "root" else nodes * mean_of_states(theta, m)
    same_numbers(numbers_of(prior.counts()), expected, atol=1e-12)
    for tensor in prior.binary:
        for factor in (tensor.second, tensor.third):
            np.testing.assert_allclose(factor.sum(axis=1), tensor.first.sum(axis=1), atol=1e-12)


def test_operators_that_are_estimated_again_explain_the_trees_better() -> None:
    """As any iteration of EM; the second one, from near the end of a long climb, changes next to nothing."""
    trees = columns(TREES * 3)
    treebank = Treebank.of([Shard.of(trees, FeatureColumns(*np.zeros((2, trees.n_nodes, 0), dtype=int)))])
    options = Clusters(smoothing=None)
    start = random_start(treebank.counts, np.array(STATES))
    again = reestimate(treebank, start, options)
    assert log_likelihood(again, trees) > log_likelihood(start, trees)
    climbed = run_em(treebank.shards, start, 300, 0.001).model
    again = reestimate(treebank, climbed, options)
    assert log_likelihood(again, trees) == pytest.approx(log_likelihood(climbed, trees), abs=0.3)
