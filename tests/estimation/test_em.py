"""Expectation maximisation against enumeration of hidden states, and the identities that it promises."""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from spectral_latent.estimation._moments import moments_from_counts, operators_from_moments
from spectral_latent.estimation.clustering import state_counts
from spectral_latent.estimation.em import run_em, state_prior, towards_mean
from spectral_latent.estimation.starts import Ascent, beyond, climb_together, n_near
from spectral_latent.operators import Counts, ExpectedCounts, ObservableOperators
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
    shard_of,
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
SHARDS = [shard_of(columns(TREES))]


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
    found = run_em(SHARDS, start, 3, 0.0, prior)
    same_numbers(numbers_by_factor(found.model), numbers_by_factor(model.operators()), atol=1e-9)
    same_numbers(numbers_by_factor(found.statistics), counts, atol=1e-9)
    assert found.statistics.log_likelihood == pytest.approx(log_likelihood[-1], abs=1e-9)
    assert found.objective == pytest.approx(objective, abs=1e-9)
    assert found.model.probabilities


@pytest.mark.parametrize("tolerance", [0.001, 0.3])
def test_em_stops_after_the_first_rise_that_is_too_small(tolerance: float) -> None:
    start = model_of(0, False).operators(probabilities=True)
    all_points = run_em(SHARDS, start, 60, 0.0).objective
    rises = np.diff(all_points) / len(TREES)
    ends = (rises[:-1] < tolerance) & (rises[1:] <= rises[:-1])
    expected = 2 + int(np.argmax(ends))
    assert ends.any()
    found = run_em(SHARDS, start, 60, tolerance)
    assert found.objective == all_points[: expected + 1]


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


class Climber(NamedTuple):
    """A place on a hill: each iteration leaves a share of the way to the top."""

    top: float
    share: float
    left: float


class Hills:
    """The steps of climbers, which are counted by their tops."""

    def __init__(self) -> None:
        self.n_steps: Counter[float] = Counter()

    def expect(self, model: Climber) -> tuple[Climber, float]:
        return model, model.top - model.left

    def maximise(self, statistics: Climber, model: Climber) -> Climber:
        self.n_steps[model.top] += 1
        return model._replace(left=model.left * model.share)

    def beyond(self, before: Climber, after: Climber, stride: float) -> Climber:
        return after


def test_the_highest_top_is_found_and_starts_that_fall_behind_are_given_up() -> None:
    """The slow climber passes the quick ones late; the low one has no hope after one iteration."""
    hills = Hills()
    starts = [Climber(5.0, 0.3, 9.0), Climber(10.0, 0.8, 14.0), Climber(-200.0, 0.5, 9.0), Climber(9.5, 0.5, 9.0)]
    best, objective, reached = climb_together(hills, starts, 1000, 1e-6)
    assert best.top == 10.0 and objective[-1] == max(reached) == reached[1] == pytest.approx(10.0, abs=1e-4)
    assert list(objective) == sorted(objective)
    assert hills.n_steps[-200.0] == 1 < hills.n_steps[10.0]
    assert reached[2] == -204.5
    assert n_near(reached) == 2


def test_steps_grow_by_one_factor_until_one_goes_too_far() -> None:
    """A step beyond multiplies logarithms; what goes down is not kept, and the next step is one of EM."""
    strides: list[float] = []

    class Far(Hills):
        def beyond(self, before: Climber, after: Climber, stride: float) -> Climber:
            strides.append(stride)
            return after if stride < 5.0 else before._replace(left=99.0)

    ascent = Ascent(Far(), Climber(1.0, 0.9, 8.0), grows=True)
    ascent.climb(20, 0.0)
    n = next(at for at, stride in enumerate(strides) if stride >= 5.0) + 1
    assert strides[0] > 1.0 and strides[:n] == pytest.approx([strides[0] ** k for k in range(1, n + 1)])
    assert strides[n] == strides[0]
    assert ascent.n_iterations == 20 > len(ascent.objective) - 1 and ascent.objective == sorted(ascent.objective)
    before, after = np.array([0.2, 0.5, 0.3]), np.array([0.1, 0.9, 0.0])
    np.testing.assert_allclose(beyond(before, after, 3.0), before * (after / before) ** 3)


def test_a_judge_keeps_the_model_that_it_prefers_and_ends_a_start() -> None:
    """The judge likes to be half a unit below any top; it is asked every ten iterations."""
    hills = Hills()
    asked: list[float] = []

    def judge(model: Climber) -> float:
        asked.append(model.left)
        return -abs(model.left - 0.5)

    best, _, reached = climb_together(hills, [Climber(3.0, 0.9, 8.0)], 1000, 0.0, judge=judge)
    assert best.left == min(asked, key=lambda left: abs(left - 0.5))
    assert reached == (-abs(best.left - 0.5),)
    assert hills.n_steps[3.0] == 10 * (len(asked) - 1) < 100
    assert asked.index(best.left) == len(asked) - 4  # three later models were no better
