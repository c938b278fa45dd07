"""The numbers of states of known models are found, and noise has none."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.recovery import PROBLEMS
from spectral_latent.estimation import FeatureColumns, ProjectionOptions, Shard, Treebank, find_ranks
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


def test_the_most_states_and_levels_are_checked() -> None:
    treebank = PROBLEMS[12].treebank(2000, 0)
    assert (find_ranks(treebank, ProjectionOptions(n_states=2)) <= 2).all()
    for level in (0.0, 0.6, float("nan")):
        with pytest.raises(ValueError):
            find_ranks(treebank, level=level)
