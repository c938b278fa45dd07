"""Where the spectral estimator is beyond its conditions; its theorems are in `tests/theorems`."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from spectral_latent.estimation import (
    EstimationError,
    EstimatorOptions,
    FeatureColumns,
    LeafMoments,
    Priors,
    Shard,
    Treebank,
    estimate,
)
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import SkeletalTrees
from tests.oracles import columns


def spectral(
    trees: SkeletalTrees, features: FeatureColumns, options: EstimatorOptions, priors: Priors | None = None
) -> ObservableOperators:
    return estimate(Treebank.of([Shard.of(trees, features)], priors), options).operators


def redundant(arity: int) -> tuple[SkeletalTrees, FeatureColumns]:
    """Chains S → A (…), A → B (B) whose nodes of A have the same template twice: Ω has singular values of zero."""
    rng = np.random.default_rng(1)
    trees = []
    for _ in range(300):
        leaves = [(2, int(rng.integers(4))) for _ in range(arity)]
        trees.append((0, (1, *leaves)))
    skeletal = columns(trees)
    n = skeletal.n_nodes
    of_a = skeletal.symbol == 1
    first, second = (np.where(of_a, rng.integers(3, size=n), 0) for _ in range(2))
    inner = {"x": first, "again": first, "leaf": skeletal.terminal, "y": np.where(of_a, second, 0)}
    return skeletal, FeatureColumns.of(inner, {"u": second, "once more": second, "v": np.where(of_a, first, 0)})


def test_redundant_features_give_fewer_states_and_sound_numbers() -> None:
    for arity in (1, 2):
        operators = spectral(*redundant(arity), EstimatorOptions(n_states=9, smoothing=None))
        packed = operators.packed
        assert operators.states[1] <= 5
        for array in (packed.root, packed.leaf, packed.unary, packed.data):
            assert np.abs(array).max(initial=0.0) < 1e3


def test_parameters_of_absurd_size_are_an_error() -> None:
    with pytest.raises(EstimationError, match="cutoff"):
        spectral(*redundant(2), EstimatorOptions(n_states=9, smoothing=None, cutoff=0.0))


def test_unary_parameters_of_absurd_size_are_an_error() -> None:
    """Inside and outside trees of A are independent, so that Ω has rank one, but its child depends on what is above."""
    often = {(i, j): (3, 5, 7)[i] * (2, 5, 11)[j] for i, j in itertools.product(range(3), range(3))}
    grid = [pair for pair, times in often.items() for _ in range(times)]
    trees = columns([(0, (1, (2, int(v > 0)))) for _, v in grid])
    inner, outer = np.zeros((2, trees.n_nodes), dtype=int)
    inner[trees.symbol == 1], outer[trees.symbol == 1] = np.array(grid).T
    inner[trees.is_leaf] = trees.terminal[trees.is_leaf]
    features = FeatureColumns(inner[:, None], outer[:, None])
    with pytest.raises(EstimationError, match="cutoff"):
        spectral(trees, features, EstimatorOptions(n_states=3, scaling=None, smoothing=None, cutoff=0.0))


def test_parameters_that_are_no_numbers_are_an_error() -> None:
    def broken(moments: LeafMoments) -> tuple[np.ndarray, np.ndarray]:
        return moments.rules, np.full_like(moments.total, np.nan)

    with pytest.raises(EstimationError):
        spectral(*redundant(2), EstimatorOptions(), Priors(broken))
