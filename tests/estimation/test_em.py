"""Expectation maximisation against enumeration of hidden states, and the identities that it promises."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spectral_latent.estimation import (
    EM,
    Clusters,
    EstimationError,
    FeatureColumns,
    Progress,
    Shard,
    Treebank,
    reestimate,
    relative_frequencies,
)
from spectral_latent.estimation._low_rank import low_rank_operators
from spectral_latent.estimation._moments import moments_from_counts
from spectral_latent.estimation._smoothing import operators_from_moments
from spectral_latent.estimation.clustering import state_counts
from spectral_latent.estimation.em import EMResult, random_counts, run_em, state_prior, towards_mean
from spectral_latent.inference import expected_counts, sample_trees, tree_weights
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
    proper,
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


seeds = st.integers(0, 2**32 - 1)


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
@pytest.mark.parametrize("seed", range(3))
def test_every_iteration_is_that_of_enumeration(seed: int, with_prior: bool, factored: bool) -> None:
    """Counts by listing states, the M-step as their proportions, and the objective log L + Σ A log θ."""
    model = model_of(seed, factored)
    start = model.operators(probabilities=True)
    if factored:
        assert start.binary.terms.any()
    prior = random_prior(start, seed) if with_prior else None
    added = {} if prior is None else numbers_by_factor(prior)
    objective, log_likelihood = [], []
    for iteration in range(4):
        counts, log = counts_by_enumeration(model, [[tree] for tree in TREES])
        theta = numbers_by_factor(model.operators())
        log_likelihood.append(log)
        objective.append(log + log_prior(added, theta))
        if iteration < 3:
            model = likeliest({key: array + added.get(key, 0.0) for key, array in counts.items()})
    options = EM(iterations=3, tolerance=0.0)
    found = run_em(shards_of(TREES), start, options, prior)
    same_numbers(numbers_by_factor(found.operators), numbers_by_factor(model.operators()), atol=1e-9)
    same_numbers(numbers_by_factor(found.expected), counts, atol=1e-9)
    assert found.log_likelihood == pytest.approx(log_likelihood, abs=1e-9)
    assert found.objective == pytest.approx(objective, abs=1e-9)
    assert found.operators.probabilities


@pytest.mark.parametrize("factored", [False, True])
@given(seed=seeds)
@settings(max_examples=20)
def test_an_m_step_maximises_the_expected_objective(factored: bool, seed: int) -> None:
    """No step towards other probabilities, small or large, raises Σ n log θ."""
    counts = counts_by_enumeration(model_of(seed, factored), [[tree] for tree in TREES])[0]
    start = model_of(seed, factored).operators()
    table = expected_counts(start, Forest.of_trees(columns(TREES), start.rules))
    best = numbers_by_factor(ObservableOperators.probabilities_of(table.counts()))
    other = numbers_by_factor(model_of(seed + 1, factored).operators())

    def expected(theta: Numbers) -> float:
        """Σ n log θ."""
        return log_prior(counts, theta)

    for step in (1e-3, 0.1, 0.9):
        nearby = {key: (1 - step) * theta + step * other[key] for key, theta in best.items()}
        assert expected(nearby) < expected(best)


@pytest.mark.parametrize("factored", [False, True])
def test_an_m_step_gives_probabilities(factored: bool) -> None:
    start = model_of(0, factored).operators()
    counts = expected_counts(start, Forest.of_trees(columns(TREES), start.rules))
    for table in (counts, counts + random_prior(start, 0)):
        operators = ObservableOperators.probabilities_of(table.counts())
        has_state = np.arange(3) < operators.states[:, None]
        np.testing.assert_allclose(operators.sums(), has_state, atol=1e-12)
        assert operators.root.sum() == pytest.approx(1.0)
        assert operators.probabilities
        assert operators.binary.terms.tolist() == start.binary.terms.tolist()


# ---------------------------------------------------------------------------------------------------------------------
# Larger data


@cache
def sampled(seed: int = 0, n: int = 300) -> SkeletalTrees:
    """Short trees of two symbols with two states each."""
    rules = {"leaf": [(0, x) for x in range(3)] + [(1, x) for x in range(2)], "unary": [(1, 0)], "binary": [(0, 0, 1)]}
    model = random_lpcfg(np.random.default_rng(seed), [2, 2], rules)
    for array in model.q.values():
        array *= 3.0
    return sample_trees(proper(model).operators(probabilities=True), n, np.random.default_rng(seed)).trees


def log_likelihood(operators: ObservableOperators, trees: SkeletalTrees) -> float:
    return float(tree_weights(operators, Forest.of_trees(trees, operators.rules)).log.sum())


def climbed(trees: SkeletalTrees, share: float, rank: int | None, seed: int, iterations: int = 12) -> EMResult:
    """EM from a random start, with the prior of a state smoothing, on tensors of a rank."""
    observed = Counts.of_trees(trees)
    states = np.full(observed.n_symbols, 6 if rank else 3)
    start = random_start(observed, states, seed)
    if rank is not None:
        start = low_rank_operators(start, rank)
    options = EM(iterations=iterations, tolerance=0.0)
    return run_em([shard_of(trees)], start, options, state_prior(start, observed, share))


@pytest.mark.parametrize("rank", [None, 2])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_no_iteration_lowers_the_objective(seed: int, share: float, rank: int | None) -> None:
    trees = sampled(seed)
    found = climbed(trees, share, rank, seed)
    rounding = 1e-10 * abs(found.objective[0])
    assert (np.diff(found.objective) >= -rounding).all()
    assert found.objective[-1] > found.objective[0] + rounding
    assert found.log_likelihood[-1] == pytest.approx(log_likelihood(found.operators, trees))
    if share == 0.0:
        assert found.objective == found.log_likelihood
    assert found.operators.binary.terms.any() == (rank is not None)  # what is in factors stays so


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
    found = climbed(skeletal, share, rank, seed, iterations=6)
    assert np.isfinite(found.objective).all()
    assert (np.diff(found.objective) >= -1e-10 * (1 + abs(found.objective[0]))).all()


def test_em_in_factors_climbs_above_the_plain_grammar() -> None:
    trees = sampled(1, 600)
    found = climbed(trees, 0.0, 2, 0, iterations=40)
    plain = relative_frequencies(Counts.of_trees(trees))
    assert found.log_likelihood[-1] > log_likelihood(plain, trees)


@pytest.mark.parametrize("ends", [(), (1,), (1, 2, 3), (2, 2)], ids=["one", "two", "four", "an empty one"])
def test_shards_are_climbed_as_the_whole_is(ends: tuple[int, ...]) -> None:
    start = factored_model(0).operators(probabilities=True)
    prior = random_prior(start, 0)
    options = EM(iterations=4, tolerance=0.0)
    whole, parts = (run_em(shards, start, options, prior) for shards in (shards_of(TREES), shards_of(TREES, *ends)))
    same_numbers(numbers_of(parts.operators), numbers_of(whole.operators), atol=1e-10)
    assert parts.objective == pytest.approx(whole.objective, abs=1e-9)


def test_processes_climb_to_the_same_bits() -> None:
    start = factored_model(0).operators(probabilities=True)
    options = EM(iterations=2, tolerance=0.0)
    one, two = (run_em(shards_of(TREES, 1, 2), start, options, jobs=jobs) for jobs in (1, 2))
    assert one.objective == two.objective
    for ours, theirs in zip(one.operators.packed, two.operators.packed, strict=True):
        assert ours.tobytes() == theirs.tobytes()


# ---------------------------------------------------------------------------------------------------------------------
# Where it starts and stops


def test_traces_begin_at_the_start_and_listeners_hear_of_every_point() -> None:
    start = model_of(0, False).operators(probabilities=True)
    heard: list[Progress] = []
    for iterations in (0, 1, 5):
        heard.clear()
        options = EM(iterations=iterations, tolerance=0.0)
        found = run_em(shards_of(TREES), start, options, listener=heard.append)
        assert len(found.objective) == len(found.log_likelihood) == iterations + 1
        assert found.log_likelihood[0] == pytest.approx(log_likelihood(start, columns(TREES)))
        assert [(one.stage, one.done, one.total, one.score) for one in heard] == [
            ("EM", done, iterations, score) for done, score in enumerate(found.objective)
        ]
        if not iterations:
            assert found.operators is start


@pytest.mark.parametrize("tolerance", [0.001, 0.03, 0.3, 10.0])
def test_em_stops_after_the_first_rise_that_is_too_small(tolerance: float) -> None:
    start = model_of(0, False).operators(probabilities=True)
    all_points = run_em(shards_of(TREES), start, EM(iterations=60, tolerance=0.0)).objective
    rises = np.diff(all_points) / len(TREES)
    ends = (rises[:-1] < tolerance) & (rises[1:] <= rises[:-1])
    expected = 2 + int(np.argmax(ends))
    assert ends.any()
    found = run_em(shards_of(TREES), start, EM(iterations=60, tolerance=tolerance))
    assert found.objective == all_points[: expected + 1]


def test_one_state_is_found_in_one_iteration() -> None:
    trees = sampled()
    observed = Counts.of_trees(trees)
    start = random_start(observed, np.array([1, 1]), 0)
    found = run_em([shard_of(trees)], start, EM(iterations=50))
    assert len(found.objective) == 4  # the start, the maximum, and the maximum twice again
    same_numbers(numbers_of(found.operators), numbers_of(relative_frequencies(observed)), rtol=1e-9)


def test_trees_of_probability_zero_are_an_error() -> None:
    known, unknown = (0, (0, 0), (1, 0)), (0, 1)
    start = relative_frequencies(Counts.of_trees(columns([known])))
    with pytest.raises(EstimationError, match=r"tree 3 has probability zero"):
        run_em(shards_of([known, known, unknown], 1), start, EM(iterations=1000))


@pytest.mark.parametrize("m", [1, 2, 4])
def test_random_starts_keep_the_share_of_every_rule(m: int) -> None:
    """Up to noise, which multiplies every number by 0.5 to 1.5: the share of a rule does not depend on states."""
    observed = Counts.of_trees(sampled())
    operators = random_start(observed, np.array([m, max(1, m - 1)]), 0)
    plain = relative_frequencies(observed)
    has_state = np.arange(m) < operators.states[:, None]
    np.testing.assert_allclose(operators.sums(), has_state, atol=1e-12)
    assert operators.probabilities
    assert operators.root.sum() == pytest.approx(1.0)
    for (kind, rule), p in numbers_of(plain).items():
        if kind != "root":
            array = numbers_of(operators)[kind, rule][: operators.states[rule[0]]]
            share = array.reshape(len(array), -1).sum(axis=1)
            assert (share >= 0.5 * p / (0.5 * p + 1.5 * (1 - p))).all()
            assert (share <= 1.5 * p / (1.5 * p + 0.5 * (1 - p))).all()


def test_random_starts_depend_on_the_seed_alone() -> None:
    observed = Counts.of_trees(sampled())
    first, again, other = (random_start(observed, np.array([3, 2]), seed).binary.data for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


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
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
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


def test_a_strong_prior_makes_states_alike() -> None:
    trees = sampled()
    found = climbed(trees, 0.999, None, 0, iterations=30)
    assert np.ptp(found.operators.leaf, axis=1).max() < 0.01
    weak = climbed(trees, 0.0, None, 0, iterations=30)
    assert np.ptp(weak.operators.leaf, axis=1).max() > 0.1


def test_states_that_start_equal_stay_equal() -> None:
    """Then EM finds relative frequencies."""
    trees = sampled()
    observed = Counts.of_trees(trees)
    random = random_start(observed, np.array([2, 2]), 0)
    even = ObservableOperators.probabilities_of(
        Counts(
            random.rules,
            random.states,
            np.ones_like(random.root),
            np.ones_like(random.leaf),
            np.ones_like(random.unary),
            random.binary.with_data(np.ones_like(random.binary.data)),
        )
    )
    found = run_em([shard_of(trees)], even, EM(iterations=1)).operators
    plain = relative_frequencies(observed)
    np.testing.assert_allclose(found.leaf, np.repeat(plain.leaf, 2, axis=1), rtol=1e-9)
    assert log_likelihood(found, trees) == pytest.approx(log_likelihood(plain, trees))


@pytest.mark.parametrize("seed", range(3))
def test_operators_that_are_estimated_again_explain_the_trees_better(seed: int) -> None:
    """As any iteration of EM; the second one, from near the end of a long climb, changes next to nothing."""
    trees = columns(TREES * 3)
    treebank = Treebank.of([Shard.of(trees, FeatureColumns(*np.zeros((2, trees.n_nodes, 0), dtype=int)))])
    options = Clusters(smoothing=None)

    def log_likelihood(operators: ObservableOperators) -> float:
        return float(tree_weights(operators, Forest.of_trees(trees, operators.rules)).log.sum())

    start = random_start(treebank.counts, np.array(STATES), seed)
    again = reestimate(treebank, start, options)
    assert log_likelihood(again) > log_likelihood(start)
    climbed = run_em(treebank.shards, start, EM(iterations=300)).operators
    assert log_likelihood(reestimate(treebank, climbed, options)) == pytest.approx(log_likelihood(climbed), abs=0.3)
