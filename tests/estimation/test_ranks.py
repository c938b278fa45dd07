"""The numbers of states of known models are found, and noise has none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.known_models import PROBLEMS
from spectral_latent.estimation import (
    FeatureColumns,
    Progress,
    ProjectionOptions,
    Shard,
    Spectral,
    Treebank,
    estimate,
    find_ranks,
)
from spectral_latent.estimation.progress import LoweredStates
from spectral_latent.trees import SkeletalTrees


@pytest.mark.parametrize("number", [0, 6, 10, 16])
def test_the_numbers_of_states_of_known_models_are_found(number: int) -> None:
    problem = PROBLEMS[number]
    found = find_ranks(problem.treebank(6000, 0), ProjectionOptions(n_states=12))
    assert (found == problem.n_states).all()


def test_independent_features_have_one_state() -> None:
    rng = np.random.default_rng(0)
    n = 3000
    leaves = [-1] * n
    trees = SkeletalTrees.of([0] * n, left=leaves, right=leaves, terminal=rng.integers(0, 5, n), root=range(n))
    features = FeatureColumns.of({"a": rng.integers(0, 9, n)}, {"b": rng.integers(0, 9, n)})
    assert find_ranks(Treebank.of([Shard.of(trees, features)])).tolist() == [1]


def test_as_many_trees_as_are_told_show_one_more_state() -> None:
    """Weights stand for numbers of trees: singular values stay, and the default cutoff falls."""
    (shard,) = PROBLEMS[0].treebank(300, 0).shards
    options = Spectral(n_states=12, scaling=None)

    def states_of(weight: float) -> tuple[np.ndarray, tuple[LoweredStates, ...]]:
        heard: list[Progress] = []
        treebank = Treebank.of([Shard.of(shard.trees, shard.features, np.full(300, weight))])
        found = estimate(treebank, options, listener=heard.append).operators.states
        return found, next(progress.lowered for progress in heard if progress.lowered)

    found, lowered = states_of(1.0)
    for a, supported, kept, times in lowered:
        assert supported == 12 and kept == found[a] and times > 1.0
        assert states_of(0.99 * times)[0][a] == kept and states_of(1.01 * times)[0][a] > kept


def test_a_test_of_ranks_tells_how_many_times_as_many_trees_would_do() -> None:
    heard: list[Progress] = []
    treebank = PROBLEMS[0].treebank(300, 0)
    found = find_ranks(treebank, Spectral(n_states=3), listener=heard.append)
    (told,) = [progress.lowered for progress in heard]
    assert [own.kept for own in told] == found[found < 3].tolist() and len(told) > 0
    assert all(own.times > 1.0 for own in told)


def test_the_most_states_and_levels_are_checked() -> None:
    treebank = PROBLEMS[12].treebank(2000, 0)
    assert (find_ranks(treebank, ProjectionOptions(n_states=2)) <= 2).all()
    for level in (0.0, 0.6, float("nan")):
        with pytest.raises(ValueError):
            find_ranks(treebank, level=level)


def test_a_spectral_model_has_the_tested_numbers_of_states() -> None:
    problem = PROBLEMS[10]
    treebank = problem.treebank(4000, 1)
    options = Spectral(n_states=12, smoothing=None, tested=True)
    found = estimate(treebank, options).operators
    assert (found.states == problem.n_states).all()
    same = estimate(treebank, replace(options, tested=False, n_states=problem.n_states, cutoff=0.0)).operators
    np.testing.assert_allclose(np.abs(found.leaf).sum(), np.abs(same.leaf).sum(), rtol=1e-6)


def test_a_symbol_of_one_tree_has_one_state() -> None:
    """Without the group of this tree, the symbol does not occur."""
    leaves = [-1] * 400
    symbol = [0] * 399 + [1]
    trees = SkeletalTrees.of(symbol, left=leaves, right=leaves, terminal=[0, 1] * 200, root=range(400))
    features = FeatureColumns.of({"a": np.arange(400) % 2}, {"b": np.arange(400) % 2})
    assert find_ranks(Treebank.of([Shard.of(trees, features)])).tolist() == [2, 1]
