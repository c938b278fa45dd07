"""Learning from shards: the same as from the whole, on any engine, and with bounded memory."""

from __future__ import annotations

import os
import signal
import sys
import weakref
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import joblib
import numpy as np
import pytest
from dask.distributed import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from spectral_latent.estimation import (
    EstimationError,
    EstimatorOptions,
    FeatureColumns,
    Moments,
    Progress,
    Shard,
    ShardedData,
    StoredShards,
    Tally,
    TrainingData,
    estimate,
    expectation,
    inside_templates,
    mapped,
    moments_of_shards,
    outside_templates,
    project_trees,
    relative_frequencies,
    spectral_moments,
)
from spectral_latent.inference import tree_weights
from spectral_latent.operators import ObservableOperators
from spectral_latent.sequence import HiddenMarkov, Sequences
from spectral_latent.trees import Forest, SkeletalTrees
from tests.oracles import columns, kind_and_rule, post_order, tree_strategy

SHARDED = ("spectral", "clustering", "em", "hybrid")
OPTIONS = EstimatorOptions(states=3, iterations=3, smoothing=5.0)
treebanks = st.lists(tree_strategy(n_symbols=3, n_terminals=3, max_leaves=6), min_size=1, max_size=8)


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


def shard_of(trees: list[tuple]) -> Shard:
    skeletal = columns(trees)
    return Shard(skeletal, FeatureColumns.of(inside_templates(skeletal), outside_templates(skeletal)))


def cut(trees: list[tuple], at: list[int]) -> list[Shard]:
    """Shards that end after so many trees."""
    ends = sorted({*(end % len(trees) for end in at), len(trees)} - {0})
    return [shard_of(trees[first:end]) for first, end in zip([0, *ends], ends, strict=False)]


def stored(shards: list[Shard]) -> StoredShards:
    files = StoredShards()
    for shard in shards:
        files.append(shard)
    return files


def numbers(operators: ObservableOperators) -> list[np.ndarray]:
    return [operators.root, operators.leaf, operators.unary, *(tensor.multiplied_out() for tensor in operators.binary)]


def weights(operators: ObservableOperators, trees: SkeletalTrees) -> np.ndarray:
    weight = tree_weights(operators, Forest.of_trees(trees, operators.rules))
    return weight.sign * np.exp(weight.log)


# ---------------------------------------------------------------------------------------------------------------------
# Counts


@given(treebanks)
def test_a_tally_counts(trees: list[tuple]) -> None:
    tally, nodes = Tally.of(columns(trees)), [node for tree in trees for node in post_order(tree)]
    found = {}
    for kind in ("leaf", "unary", "binary"):
        table = getattr(tally.rules, kind)
        found |= {(kind, tuple(rule)): n for rule, n in zip(table.tolist(), getattr(tally, kind), strict=True)}
    assert found == Counter(kind_and_rule(node) for node in nodes)
    first = [next(kind_and_rule(node)[1] for node in post_order(tree)) for tree in trees]
    opening = zip(map(tuple, tally.rules.leaf.tolist()), tally.opening, strict=True)
    assert {rule: n for rule, n in opening if n} == Counter(first)
    assert tally.symbol.tolist() == [sum(node[0] == a for node in nodes) for a in range(len(tally.symbol))]
    assert tally.root.tolist() == [sum(tree[0] == a for tree in trees) for a in range(len(tally.symbol))]
    assert tally.n_trees == len(trees)


@given(treebanks, treebanks)
def test_tallies_of_shards_add_up_to_that_of_the_whole(some: list[tuple], others: list[tuple]) -> None:
    added, whole = Tally.of(columns(some)) + Tally.of(columns(others)), Tally.of(columns(some + others))
    assert added.rules.equals(whole.rules)
    for name in ("leaf", "unary", "binary", "opening", "root", "symbol"):
        np.testing.assert_array_equal(getattr(added, name), getattr(whole, name))


@given(treebanks)
def test_a_tally_has_the_moments_of_one_state(trees: list[tuple]) -> None:
    skeletal = columns(trees)
    found, ones = Tally.of(skeletal).moments(), np.ones((skeletal.n_nodes, 1))
    wanted = Moments.of(skeletal, skeletal.rules, found.states, ones, ones)
    for name in ("n_trees", "count", "root", "outer", "inner", "leaf", "leaf_count", "unary"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
    for ours, theirs in zip(found.binary, wanted.binary, strict=True):
        np.testing.assert_array_equal(ours.multiplied_out(), theirs.multiplied_out())


def test_expected_counts_in_factors_add_up_to_those_of_the_whole() -> None:
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 6, 30)
    terminals = rng.integers(0, 3, lengths.sum())
    whole = Sequences(terminals, np.zeros_like(terminals), np.concatenate([[0], np.cumsum(lengths)]))
    operators = HiddenMarkov.random(whole, 3, 3, seed=1).operators()
    half = np.arange(30) < 11
    added, wanted = (
        expectation(operators, whole.part(half).trees(1)) + expectation(operators, whole.part(~half).trees(1)),
        expectation(operators, whole.trees(1)),
    )
    assert added.log_likelihood == pytest.approx(wanted.log_likelihood)
    assert [tensor.n_terms for tensor in added.binary] == [tensor.n_terms for tensor in wanted.binary] != [0]
    for name in ("root", "leaf", "unary"):
        np.testing.assert_allclose(getattr(added, name), getattr(wanted, name), atol=1e-12)
    for ours, theirs in zip(added.binary, wanted.binary, strict=True):
        for name in ("first", "second", "third"):
            np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-12)


# ---------------------------------------------------------------------------------------------------------------------
# The same as from the whole


@pytest.mark.parametrize("estimator", SHARDED)
@settings(max_examples=8)
@given(at=st.lists(st.integers(1, 299), max_size=4))
def test_shards_are_learnt_as_the_whole_is(estimator: str, at: list[int]) -> None:
    options, whole = replace(OPTIONS, estimator=estimator), shard_of(sample())
    wanted = estimate(TrainingData(*whole), options)
    found = estimate(ShardedData.of(stored(cut(sample(), at))), options)
    assert found.states.tolist() == wanted.states.tolist() == [3, 3]
    assert found.probabilities == wanted.probabilities == (estimator != "spectral")
    np.testing.assert_allclose(weights(found, whole.trees), weights(wanted, whole.trees), rtol=1e-6)
    if found.probabilities:
        for ours, theirs in zip(numbers(found), numbers(wanted), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-9)


def test_moments_of_shards_are_those_of_the_whole() -> None:
    whole = shard_of(sample())
    found = moments_of_shards(cut(sample(), [100, 200]), OPTIONS)
    wanted = spectral_moments(TrainingData(*whole), project_trees(*whole, OPTIONS))
    np.testing.assert_allclose(found.latent.leaf, wanted.leaf, atol=1e-6)
    np.testing.assert_allclose(found.latent.unary, wanted.unary, atol=1e-6)
    np.testing.assert_array_equal(found.plain.leaf[:, 0], wanted.leaf_count)


def test_many_nodes_are_clustered_by_a_part_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    shards, options = cut(sample(), [100, 200]), replace(OPTIONS, estimator="clustering", smoothing=None)
    every = estimate(ShardedData.of(shards), options)
    monkeypatch.setattr(sys.modules["spectral_latent.estimation.clustering"], "_POINTS", 60)
    part = estimate(ShardedData.of(shards), options)
    assert part.states.tolist() == every.states.tolist()
    assert any((ours != theirs).any() for ours, theirs in zip(numbers(part), numbers(every), strict=True))
    trees = columns(sample())
    plain, likelihood = relative_frequencies(trees), np.log(weights(part, trees)).sum()
    assert likelihood > np.log(weights(plain, trees)).sum()
    assert likelihood == pytest.approx(np.log(weights(every, trees)).sum(), rel=0.02)


def test_listeners_hear_of_shards_and_of_states_that_are_lowered() -> None:
    heard: list[Progress] = []
    trees = [(0, (1, 0), (1, 0)), (0, (1, 1), (1, 1))] * 60  # the templates do not see what depends on what
    data = ShardedData.of(cut(trees, [50]))
    assert estimate(data, replace(OPTIONS, states=5), listener=heard.append).states.tolist() == [1, 1]
    assert [(progress.stage, progress.done) for progress in heard] == [("shards", 1), ("shards", 2), ("projections", 1)]
    assert [(own.symbol, own.supported, own.kept) for own in heard[-1].lowered] == [(0, 5, 1), (1, 5, 1)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (EstimatorOptions("pivots"), "'pivots' needs the treebank in memory.*spectral, clustering, em, hybrid"),
        (EstimatorOptions("pivots-em"), "'pivots-em' needs the treebank in memory"),
        (EstimatorOptions(one_node_per_tree=True), "treebank in memory"),
    ],
)
def test_what_shards_do_not_support_is_refused(options: EstimatorOptions, message: str) -> None:
    with pytest.raises(EstimationError, match=message):
        estimate(ShardedData.of(cut(sample(), [100])), options)


@pytest.mark.parametrize("shards", [[], [shard_of([(1, 0)])]], ids=["none", "symbol 0 is missing"])
def test_shards_of_nothing_and_missing_symbols_are_refused(shards: list[Shard]) -> None:
    with pytest.raises(EstimationError, match="no trees to learn from, or symbols that occur at no node"):
        ShardedData.of(shards)
    with pytest.raises(EstimationError, match="no trees to learn from, or symbols that occur at no node"):
        moments_of_shards(shards, OPTIONS)


# ---------------------------------------------------------------------------------------------------------------------
# Memory and files


class Stream:
    """Shards that are made when they are asked for; counts those that are alive together."""

    def __init__(self) -> None:
        self.alive: weakref.WeakSet[SkeletalTrees] = weakref.WeakSet()
        self.most = 0

    def __iter__(self) -> Iterator[Shard]:
        for first in range(0, 300, 20):
            shard = shard_of(sample()[first : first + 20])
            self.alive.add(shard.trees)
            self.most = max(self.most, len(self.alive))
            yield shard


@pytest.mark.parametrize("estimator", SHARDED)
def test_few_shards_are_in_memory_together(estimator: str) -> None:
    stream = Stream()
    estimate(ShardedData.of(stream), replace(OPTIONS, estimator=estimator))
    assert 1 <= stream.most <= 3


def test_files_are_gone_when_the_shards_are() -> None:
    shards = stored(cut(sample(), [100]))
    paths = [shard.path for shard in shards]
    assert len(paths) == len(shards) == 2 and all(path.exists() for path in paths)
    del shards
    assert not any(path.parent.exists() for path in paths)


# ---------------------------------------------------------------------------------------------------------------------
# Engines


def process(_number: int) -> int:
    return os.getpid()


@pytest.mark.parametrize("estimator", SHARDED)
def test_engines_agree_to_the_bit(estimator: str, cluster: Client) -> None:
    options, data = replace(OPTIONS, estimator=estimator), ShardedData.of(stored(cut(sample(), [70, 140, 210])))
    one, two = (estimate(data, options, jobs=jobs) for jobs in (1, 2))
    cluster.wait_for_workers(2)
    with joblib.parallel_config(backend="dask"):
        assert os.getpid() not in mapped(process, range(4), 1)
        distributed = estimate(data, options)
    for others in (two, distributed):
        for ours, theirs in zip(numbers(one), numbers(others), strict=True):
            np.testing.assert_array_equal(ours, theirs)


def fragile(number: int, marker: Path, parent: int, table: np.ndarray) -> float:
    """A sum; the worker that is first to be given the number 3 is killed."""
    if number == 3 and os.getpid() != parent and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number + float(table.sum())


@pytest.mark.parametrize("engine", ["loky", "dask"])
@pytest.mark.parametrize("size", [10, 300_000])
def test_a_killed_worker_changes_nothing(engine: str, size: int, cluster: Client, tmp_path: Path) -> None:
    cluster.wait_for_workers(2)
    table, marker = np.linspace(0.0, 1.0, size), tmp_path / "killed"
    with joblib.parallel_config(backend=engine):
        found = list(mapped(fragile, range(8), 2, marker, os.getpid(), table))
    assert marker.exists()
    assert found == [number + float(table.sum()) for number in range(8)]


def hopeless(number: int, parent: int) -> int:
    if number == 1 and os.getpid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_workers_that_are_always_killed_are_told_of() -> None:
    with pytest.raises(EstimationError, match="killed 3 times in a row, at part"):
        list(mapped(hopeless, range(4), 2, os.getpid()))
