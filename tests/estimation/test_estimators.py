"""All estimators by one body of tests: the table, shards, engines, little data, and what they promise."""

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from functools import cache, reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from spectral_latent.estimation import (
    EM,
    ESTIMATORS,
    Estimate,
    Estimator,
    FeatureColumns,
    Priors,
    Progress,
    Shard,
    Treebank,
    estimate,
    inside_templates,
    outside_templates,
)
from spectral_latent.estimation._treebank import ColumnStore
from spectral_latent.estimation.em import towards_mean
from spectral_latent.inference import expected_counts, tree_weights
from spectral_latent.operators import Counts, ObservableOperators
from spectral_latent.trees import Forest, Rules, SkeletalTrees
from tests.oracles import columns, numbers_of, plain, same_numbers, shard_of

SETTINGS = {"n_states": 3, "iterations": 3, "smoothing": 5.0}
every_estimator = pytest.mark.parametrize("name", ESTIMATORS)
with_and_without_rank = pytest.mark.parametrize(
    ("name", "rank"), [(name, rank) for name in ESTIMATORS for rank in (None, 1) if not (name == "spectral" and rank)]
)
probabilistic = pytest.mark.parametrize("name", [name for name in ESTIMATORS if name != "spectral"])
CLIMBING = ("em", "clusters-em", "anchors-em", "moments-em")
climbing = pytest.mark.parametrize("name", CLIMBING)


def options_of(name: str, **changes: Any) -> Estimator:
    return ESTIMATORS[name].with_settings(**SETTINGS | changes)


def grown(rng: np.random.Generator, symbol: int, state: int) -> tuple:
    """A random tree whose children tend to have their parent's state, which shows in its leaves."""
    draw, below = rng.random(), state if rng.random() < 0.8 else 1 - state
    if draw < 0.6:
        return symbol, int(rng.integers(0, 3) if rng.random() < 0.4 else state + symbol)
    if draw < 0.7 and symbol:
        return symbol, grown(rng, 0, below)
    return symbol, grown(rng, 1 - state, below), grown(rng, int(rng.integers(0, 2)), state)


@cache
def sample() -> list[tuple]:
    """Trees of two symbols with two states each."""
    rng = np.random.default_rng(0)
    return [grown(rng, int(rng.integers(0, 2)), int(rng.integers(0, 2))) for _ in range(300)]


@cache
def sample_columns() -> SkeletalTrees:
    return columns(sample())


@cache
def whole() -> Treebank:
    return Treebank.of([shard_of(sample_columns())])


@cache
def learnt(name: str, rank: int | None) -> Estimate:
    return estimate(whole(), options_of(name, rank=rank))


def cut(trees: list[tuple], at: Sequence[int], memory: int = 1 << 28) -> Treebank:
    """Shards that end after so many trees, in files where they take more bytes than `memory`."""
    ends = sorted({*(end % len(trees) for end in at), len(trees)} - {0})
    store = ColumnStore(memory)
    for first, end in itertools.pairwise([0, *ends]):
        store.append(shard_of(columns(trees[first:end])).columns)
    return Treebank.of([Shard(columns) for columns in store])


def bits(found: Estimate) -> list[bytes]:
    traces = [np.array(trace).tobytes() for trace in (found.objective,)]
    return [np.asarray(array).tobytes() for array in found.operators.packed] + traces


def weights(operators: ObservableOperators, trees: SkeletalTrees) -> np.ndarray:
    return plain(tree_weights(operators, Forest.of_trees(trees, operators.rules)))


@every_estimator
def test_the_table_tells_which_operators_are_probabilities(name: str) -> None:
    operators = learnt(name, None).operators
    assert operators.probabilities == ESTIMATORS[name].probabilities == (name != "spectral")
    assert isinstance(ESTIMATORS[name], EM) == (name in CLIMBING)
    assert operators.states.tolist() == [3, 3]
    if operators.probabilities:
        assert min(array.min() for array in numbers_of(operators).values()) >= 0
        np.testing.assert_allclose(operators.sums(), np.ones((2, 3)), rtol=1e-9)
        assert operators.root.sum() == pytest.approx(1.0)


@with_and_without_rank
@settings(max_examples=2)
@given(at=st.lists(st.integers(1, 299), max_size=4), memory=st.sampled_from([0, 1 << 28]))
def test_shards_are_learnt_as_the_whole_is(name: str, rank: int | None, at: list[int], memory: int) -> None:
    found = estimate(cut(sample(), at, memory), options_of(name, rank=rank))
    wanted = learnt(name, rank)
    assert found.operators.states.tolist() == wanted.operators.states.tolist() == [3, 3]
    trees = sample_columns()
    np.testing.assert_allclose(weights(found.operators, trees), weights(wanted.operators, trees), rtol=1e-6)
    np.testing.assert_allclose(found.objective, wanted.objective, rtol=1e-9)
    if name != "spectral":
        same_numbers(numbers_of(found.operators), numbers_of(wanted.operators), atol=1e-7)


@cache
def wide_sample() -> Treebank:
    """Features of one symbol number more than 400 on both sides, so that the decomposition is iterative."""
    rng = np.random.default_rng(0)

    def branch(depth: int) -> tuple:
        if depth == 0 or rng.random() < 0.3:
            return 1, int(rng.zipf(1.3) % 600)
        return 0, branch(depth - 1), branch(depth - 1)

    trees = [(0, branch(4), branch(4)) for _ in range(300)]
    shards = []
    for first in range(0, 300, 100):
        skeletal = columns(trees[first : first + 100])
        inside = inside_templates(skeletal) | {"word": np.where(skeletal.is_leaf, skeletal.terminal, -1)}
        after = outside_templates(skeletal) | {"next": np.roll(skeletal.terminal, -1)}
        shards.append(Shard.of(skeletal, FeatureColumns.of(inside, after)))
    return Treebank.of(shards)


@pytest.mark.parametrize("name", ["spectral", "clusters-em", "moments-em"])
def test_the_result_is_the_same_bit_for_bit_for_any_number_of_jobs_and_threads(name: str) -> None:
    treebank = wide_sample()
    options = options_of(name, n_states=8)
    expected = bits(estimate(treebank, options))
    assert bits(estimate(treebank, options, jobs=2)) == expected
    with threadpool_limits(2):
        assert bits(estimate(treebank, options)) == expected


# What estimators promise


@pytest.mark.parametrize(("rank", "state_smoothing"), [(None, 0.0), (2, 0.1)])
@climbing
def test_the_objective_never_falls(name: str, rank: int | None, state_smoothing: float) -> None:
    options = options_of(
        name, n_states=6, rank=rank, state_smoothing=state_smoothing, iterations=10, tolerance=0.0, cutoff=1e-4
    )
    heard: list[Progress] = []
    found = estimate(whole(), options, listener=heard.append)
    rounding = 1e-9 * abs(found.objective[0])
    assert (np.diff(found.objective) >= -rounding).all()
    assert found.objective[-1] > found.objective[0]
    assert tuple(progress.score for progress in heard if progress.stage == "EM") == found.objective
    if rank is not None:
        assert found.operators.binary.terms.max() == rank
        assert np.median(found.operators.binary.terms) == rank


def test_em_starts_with_a_hundredth_of_the_mean_of_states() -> None:
    """So that no tree of the treebank has probability zero; without iterations, one E-step gives the probabilities."""
    settings = {"n_states": 3, "smoothing": None}
    clusters = estimate(whole(), ESTIMATORS["clustering"].with_settings(**settings)).operators
    start = towards_mean(clusters, 0.01)
    counts = expected_counts(start, Forest.of_trees(sample_columns(), start.rules)).counts()
    climbing = ESTIMATORS["clusters-em"].with_settings(**settings, iterations=0, state_smoothing=0.0)
    found = numbers_of(estimate(whole(), climbing).operators)
    same_numbers(found, numbers_of(ObservableOperators.probabilities_of(counts)), rtol=1e-9, atol=1e-12)


@every_estimator
def test_priors_reach_every_estimator(name: str) -> None:
    """Trees that begin anywhere, leaf rules with a further terminal, and a rule that no tree has."""
    unseen = Rules(np.empty((0, 2), dtype=np.int64), np.array([[0, 1]]), np.empty((0, 3), dtype=np.int64))
    counts = Counts.of_rules(unseen, np.zeros(2), np.zeros(0), np.array([40.0]), np.zeros(0))
    priors = Priors(
        leaves=lambda moments: (
            np.concatenate([moments.rules, [[1, 9]]]),
            np.concatenate([moments.total, moments.symbol_total[1:] / 50]),
        ),
        fragments=30.0,
        rules=counts,
    )
    operators = estimate(Treebank.of(whole().shards, priors), options_of(name)).operators
    assert (1, 9) in map(tuple, operators.rules.leaf.tolist())
    assert (0, 1) in map(tuple, operators.rules.unary.tolist())
    trees = columns([(0, (1, 9)), (1, 9)])
    found = weights(operators, trees)
    assert (found > 0).all()


# Shapes: every estimator on treebanks that lack something, with one state, and with more than any rank

SHAPES = {
    "one leaf": [(0, 0)],
    "one symbol": [(0, (0, (0, 0), (0, 1)), (0, 1)), (0, (0, 0), (0, (0, 1), (0, 0))), (0, (0, 1)), (0, 0)],
    "no binary rule": [(0, (1, (0, 1))), (0, (1, 0)), (1, (0, 2)), (0, 2), (0, 2), (1, (0, (1, 1)))],
    "no unary rule": [(0, (1, 0), (1, 1)), (0, (0, (1, 0), (1, 2)), (1, 0)), (0, (1, 2), (0, (1, 1), (1, 1)))] * 2,
    "one tree": [(0, (1, (0, 0), (1, 1)), (0, (1, 2)))],
    "a rule seen once": [(0, (1, 0), (1, 1)), (0, (1, 1), (1, 0)), (0, (1, (0, 2)), (1, 0)), (0, (1, 0), (1, 1))],
    "a long chain": [reduce(lambda tree, n: (0, (1, n % 3), tree), range(100), (0, 2))],
    "a sample": sample()[:12],
}
every_shape = pytest.mark.parametrize("shape", SHAPES)


def learnt_weights(trees: list[tuple], options: Estimator, weight: list[float] | None = None) -> np.ndarray:
    """The weights of trees under the estimate from them, whose numbers are sound."""
    operators = estimate(Treebank.of([shard_of(columns(trees), weight)]), options).operators
    for array in (operators.root, operators.leaf, operators.unary, operators.packed.data):
        assert np.isfinite(array).all()
        assert (array >= 0).all() or not operators.probabilities
    return weights(operators, columns(trees))


def renamed(tree: tuple, n_symbols: int) -> tuple:
    """The tree with other numbers of symbols and terminals."""
    symbol, *rest = tree
    below = [renamed(child, n_symbols) for child in rest] if isinstance(rest[0], tuple) else [(rest[0] + 1) % 3]
    return ((symbol + 1) % n_symbols, *below)


@every_shape
@every_estimator
def test_order_names_and_trees_of_weight_zero_do_not_matter(name: str, shape: str) -> None:
    """And a tree of weight two is two trees."""
    trees = SHAPES[shape]
    n, n_symbols = len(trees), int(columns(trees).symbol.max()) + 1
    options = options_of(name, n_states=4, smoothing=None)
    expected = learnt_weights(trees, options)
    assert (expected > 0).all()
    backwards = learnt_weights(trees[::-1], options)[::-1]
    np.testing.assert_allclose(backwards, expected, rtol=1e-6)
    if name != "em":  # which begins with random numbers for each rule
        other_names = learnt_weights([renamed(tree, n_symbols) for tree in trees], options)
        np.testing.assert_allclose(other_names, expected, rtol=1e-6)
    twice = learnt_weights([*trees, trees[0]], options)
    for others, weight in ((trees, [2.0] + [1.0] * (n - 1)), ([*trees, trees[-1]], [2.0] + [1.0] * (n - 1) + [0.0])):
        np.testing.assert_allclose(learnt_weights(others, options, weight)[:n], twice[:n], rtol=1e-5)


@every_shape
@probabilistic
def test_one_state_without_smoothing_is_the_plain_grammar(name: str, shape: str) -> None:
    """Relative frequencies of rules, counted here in a loop."""

    def rules_in(tree: tuple) -> list[Any]:
        symbol, *rest = tree
        below = [rule for child in rest if isinstance(child, tuple) for rule in rules_in(child)]
        return [(symbol, *(child[0] if isinstance(child, tuple) else f"word {child}" for child in rest)), *below]

    rules = [[("root", tree[0]), *rules_in(tree)] for tree in SHAPES[shape]]
    counts = Counter(itertools.chain.from_iterable(rules))
    totals: Counter[Any] = Counter()
    for rule, number in counts.items():
        totals[rule[0]] += number
    expected = [math.prod(counts[rule] / totals[rule[0]] for rule in own) for own in rules]
    found = learnt_weights(SHAPES[shape], options_of(name, n_states=1, smoothing=None))
    np.testing.assert_allclose(found, expected, rtol=1e-7)
