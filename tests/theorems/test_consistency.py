"""Theorem 3: the error of estimated probabilities falls as one over the square root of the number of trees."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from benchmarks.known_models import slope
from spectral_latent.estimation import EstimatorOptions, Projection, Shard, Spectral, Treebank, estimate
from spectral_latent.inference import sample_trees, tree_weights
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import Forest, SkeletalTrees
from tests.theorems.grammar import draw_one_node_per_tree, estimate_from_nodes, features_of, recursive_model

SIZES = [1_000, 4_000, 16_000]
OPTIONS = Spectral(n_states=2, scaling=None, smoothing=None)


def all_nodes(shard: Shard, _seed: int) -> ObservableOperators:
    return estimate(Treebank.of([shard]), OPTIONS).operators


def one_node_per_tree(shard: Shard, seed: int) -> ObservableOperators:
    return estimate_from_nodes(shard, draw_one_node_per_tree(shard.trees, np.random.default_rng(seed)), OPTIONS)


def one_node_counted_once(shard: Shard, seed: int) -> ObservableOperators:
    """As sections 7.1 and 8 of the long paper print it."""
    drawn = draw_one_node_per_tree(shard.trees, np.random.default_rng(seed)) > 0
    return estimate_from_nodes(shard, drawn.astype(float), OPTIONS)


ESTIMATORS = {function.__name__: function for function in (all_nodes, one_node_per_tree, one_node_counted_once)}


def error(estimated: ObservableOperators, unseen: SkeletalTrees) -> float:
    """Σ |p̂ - p| = E |p̂ / p - 1|, a mean over trees that were sampled from p."""
    theirs, ours = (
        tree_weights(model, Forest.of_trees(unseen, model.rules)) for model in (recursive_model(), estimated)
    )
    return float(np.abs(ours.sign * np.exp(ours.log - theirs.log) - 1.0).mean())


@pytest.fixture(scope="module")
def found() -> dict[str, np.ndarray]:
    """Errors (sizes, seeds) of each estimator on independent samples."""
    unseen = sample_trees(recursive_model(), 5000, np.random.default_rng([0, 0])).trees
    errors = {name: np.zeros((len(SIZES), 3)) for name in ESTIMATORS}
    for (i, n_trees), seed in product(enumerate(SIZES), range(3)):
        trees = sample_trees(recursive_model(), n_trees, np.random.default_rng([1 + seed, n_trees])).trees
        for name, estimator in ESTIMATORS.items():
            errors[name][i, seed] = error(estimator(Shard.of(trees, features_of(trees)), seed), unseen)
    return errors


@pytest.mark.parametrize("name", ["all_nodes", "one_node_per_tree"])
def test_theorem_3_the_error_falls_with_the_square_root_of_the_sample(found: dict[str, np.ndarray], name: str) -> None:
    assert -0.6 < slope(SIZES, found[name]) < -0.4


def test_all_nodes_give_smaller_errors_than_one_per_tree(found: dict[str, np.ndarray]) -> None:
    assert (np.median(found["all_nodes"], axis=1) < np.median(found["one_node_per_tree"], axis=1)).all()


def test_draws_counted_once_each_do_not_converge_to_the_truth(found: dict[str, np.ndarray]) -> None:
    assert (found["one_node_counted_once"] > 0.2).all()


def sample(n_trees: int) -> Shard:
    trees = sample_trees(recursive_model(), n_trees, np.random.default_rng(0)).trees
    return Shard.of(trees, features_of(trees))


def test_the_model_satisfies_the_conditions() -> None:
    options = EstimatorOptions(n_states=4, scaling=None, cutoff=0.0)
    for maps in Projection.learn([sample(20_000)], options).maps:
        assert maps.sigma[1] > 3 * maps.sigma[2]  # two states, and noise


# ---------------------------------------------------------------------------------------------------------------------
# Weights of nodes


def test_where_all_weights_are_one_the_library_estimates_the_same() -> None:
    shard = sample(500)
    trees = shard.trees
    found = estimate_from_nodes(shard, np.ones(trees.n_nodes), OPTIONS)
    ours, theirs = (
        tree_weights(operators, Forest.of_trees(trees, operators.rules)) for operators in (found, all_nodes(shard, 0))
    )
    assert ours.log == pytest.approx(theirs.log, rel=1e-9)
    assert (ours.sign == theirs.sign).all()


def test_draws_are_one_node_of_each_tree_and_unbiased() -> None:
    trees, n = sample(60).trees, 4000
    size = np.bincount(trees.tree)
    draws = np.array([draw_one_node_per_tree(trees, np.random.default_rng(seed)) for seed in range(n)])
    assert {tuple(np.bincount(trees.tree[weights > 0])) for weights in draws} == {(1,) * len(size)}
    assert ((draws == 0) | (draws == size[trees.tree])).all()
    error = np.sqrt((size[trees.tree] - 1) / n)  # a weight is N with probability 1 / N
    assert (np.abs(draws.mean(axis=0) - 1.0) <= 5 * error).all()
