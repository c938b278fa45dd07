"""Weights of trees: a tree of weight two counts as two trees, at every step of every estimator."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.estimation import (
    ESTIMATORS,
    FeatureColumns,
    Moments,
    Shard,
    Treebank,
    estimate,
    inside_templates,
    outside_templates,
)
from spectral_latent.estimation.clustering import state_counts
from spectral_latent.inference import expected_counts
from spectral_latent.trees import Forest
from tests.estimation.test_estimators import sample
from tests.oracles import columns, numbers_of, random_lpcfg, rules_of, same_moments, same_numbers, tree_strategy

weighted_trees = st.lists(st.tuples(tree_strategy(), st.integers(1, 3)), min_size=1, max_size=5)
seeds = st.integers(0, 2**32 - 1)


def shard_of(pairs: list[tuple[tuple, int]]) -> Shard:
    """Make a shard of trees with their weights."""
    trees = columns(tree for tree, _ in pairs)
    features = FeatureColumns.of(inside_templates(trees), outside_templates(trees))
    return Shard.of(trees, features, np.array([weight for _, weight in pairs], dtype=float))


def repeated(pairs: list[tuple[tuple, int]]) -> list[tuple[tuple, int]]:
    """List every tree as often as its weight says."""
    return [(tree, 1) for tree, weight in pairs for _ in range(weight)]


@given(weighted_trees, seeds)
def test_moments_and_known_states(pairs: list[tuple[tuple, int]], seed: int) -> None:
    """Copies of a node have the vectors and the state of the node."""
    rng = np.random.default_rng(seed)
    one = shard_of(pairs)
    many = shard_of(repeated(pairs))
    states = np.array([2, 3, 1])
    size = [one.trees.root[0] + 1, *np.diff(one.trees.root)]
    nodes = np.split(np.arange(one.trees.n_nodes), np.cumsum(size)[:-1])
    copy = np.concatenate([np.tile(own, weight) for own, (_, weight) in zip(nodes, pairs, strict=True)])
    y, z = rng.normal(size=(2, one.trees.n_nodes, 3)) * (np.arange(3) < states[one.trees.symbol, None])
    rules = one.trees.rules
    found = Moments.of_trees(one.trees, rules, states, y, z, one.weight[one.trees.tree])
    same_moments(found, Moments.of_trees(many.trees, rules, states, y[copy], z[copy]), rtol=1e-9, atol=1e-9)
    state = rng.integers(states[one.trees.symbol])
    counted = state_counts(one.trees, rules, states, state, one.weight)
    same_numbers(numbers_of(counted), numbers_of(state_counts(many.trees, rules, states, state[copy])))


def test_a_weight_for_each_component_is_needed() -> None:
    shard = shard_of([((0, 0), 1)])
    model = random_lpcfg(np.random.default_rng(0), [1], rules_of([(0, 0)]))
    with pytest.raises(ValueError, match="weights of components"):
        expected_counts(model.operators(), Forest.of_trees(shard.trees, model.rules()), np.ones(2))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_tree_of_weight_two_is_two_trees_for_every_estimator(name: str) -> None:
    pairs = [(tree, 1 + at % 3) for at, tree in enumerate(sample())]
    options = ESTIMATORS[name].with_settings(n_states=3, iterations=3, smoothing=5.0)
    found = estimate(Treebank.of([shard_of(pairs)]), options)
    wanted = estimate(Treebank.of([shard_of(repeated(pairs))]), options)
    same_numbers(numbers_of(found.operators), numbers_of(wanted.operators), rtol=1e-5, atol=1e-7)
    assert found.objective == pytest.approx(wanted.objective)
