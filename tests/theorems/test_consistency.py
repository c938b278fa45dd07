"""Theorem 3: the error of estimated probabilities falls as one over the square root of the number of trees."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st

from benchmarks.papers.cohen2012 import (
    OPTIONS,
    VARIANTS,
    bound_of,
    draw_errors,
    examples_needed,
)
from benchmarks.papers.errors import slope_of
from benchmarks.papers.known_grammars import all_trees, features_of, finite_model, recursive_model
from benchmarks.papers.weighted_nodes import draw_one_node_per_tree, estimate_from_nodes, one_hot
from spectral_latent.estimation import EstimatorOptions, Projection, Shard
from spectral_latent.inference import sample_trees, tree_weights
from spectral_latent.trees import Forest

SIZES = [1_000, 4_000, 16_000]


@pytest.fixture(scope="module")
def found() -> dict[str, np.ndarray]:
    return draw_errors(SIZES, seeds=3)


@pytest.mark.parametrize("variant", ["all nodes", "one node per tree", "all nodes, marginals"])
def test_theorem_3_the_error_falls_with_the_square_root_of_the_sample(
    found: dict[str, np.ndarray], variant: str
) -> None:
    slope, _ = slope_of(SIZES, found[variant])
    assert -0.6 < slope < -0.4


def test_all_nodes_give_smaller_errors_than_one_per_tree(found: dict[str, np.ndarray]) -> None:
    assert (np.median(found["all nodes"], axis=1) < np.median(found["one node per tree"], axis=1)).all()


def test_draws_counted_once_each_do_not_converge_to_the_truth(found: dict[str, np.ndarray]) -> None:
    assert (found["one node, counted once"] > 0.2).all()


def test_the_bound_of_theorem_3() -> None:
    """σ by another decomposition; ε, δ and N by hand; and zeros of Σ⁻¹ are not its smallest element."""
    model = finite_model(0)
    trees = all_trees(model.rules)
    features = features_of(trees)
    weights = np.exp(tree_weights(model, Forest.of_trees(trees, model.rules)).log)[trees.tree]
    options = EstimatorOptions(n_states=2, scaling=None, cutoff=1e-9)
    bound = bound_of(Shard.of(trees, features), weights, options)
    sigmas = []
    for nodes in trees.nodes_by_symbol():
        inner, outer = (one_hot(table[nodes]).toarray() for table in (features.inside, features.outside))
        omega = (inner * weights[nodes, None]).T @ outer / weights[nodes].sum()
        sigma = np.sqrt(np.linalg.eigvalsh(omega @ omega.T).clip(min=0.0))[::-1]
        sigmas.append(sigma[:2][sigma[:2] > 1e-6 * sigma[0]][-1])
    assert bound.sigma == pytest.approx(min(sigmas), rel=1e-6)
    assert (bound.n_states, bound.n_rules) == (2, 3 + 6)
    assert 0 < bound.smallest < 1
    root = 1.5 ** (1 / 11) - 1
    wanted = 128 * 4 * np.log(2 * 2 * 9 / 0.05) / (root * bound.smallest * bound.sigma**2) ** 2
    assert examples_needed(bound, 5, 0.5, 0.05) == pytest.approx(wanted)


def sample(n_trees: int) -> Shard:
    trees = sample_trees(recursive_model(), n_trees, np.random.default_rng(0)).trees
    return Shard.of(trees, features_of(trees))


def test_the_model_satisfies_the_conditions() -> None:
    options = EstimatorOptions(n_states=4, scaling=None, cutoff=0.0)
    for maps in Projection.learn([sample(20_000)], options).maps:
        assert maps.sigma[1] > 3 * maps.sigma[2]  # two states, and noise


# ---------------------------------------------------------------------------------------------------------------------
# Weights of nodes


seeds = st.integers(0, 2**32 - 1)


def test_where_all_weights_are_one_the_library_estimates_the_same() -> None:
    shard = sample(500)
    trees = shard.trees
    found = estimate_from_nodes(shard, np.ones(trees.n_nodes), OPTIONS)
    ours, theirs = (
        tree_weights(operators, Forest.of_trees(trees, operators.rules))
        for operators in (found, VARIANTS["all nodes"].estimate(shard, 0))
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
