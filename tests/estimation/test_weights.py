"""Weights of nodes: a node of weight k is worth k nodes, in moments and in projections."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.estimation import (
    EstimatorOptions,
    FeatureColumns,
    Moments,
    inside_templates,
    outside_templates,
    project,
    project_trees,
    solve,
)
from spectral_latent.trees import SkeletalTrees
from tests.oracles import columns, tree_strategy

STATES = np.array([2, 1, 3])
treebanks = st.lists(st.tuples(tree_strategy(max_leaves=6), st.integers(0, 3)), min_size=1, max_size=6)
seeds = st.integers(0, 2**32 - 1)


def rows(trees: SkeletalTrees, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Random y, z (N, M), zero beyond each symbol's states."""
    used = np.arange(STATES.max()) < STATES[trees.symbol][:, None]
    y, z = np.random.default_rng(seed).normal(size=(2, *used.shape)) * used
    return y, z


def same(ours: Moments, theirs: Moments) -> None:
    for name in ("n_trees", "count", "root", "outer", "inner", "leaf", "leaf_count", "unary"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), rel=1e-9, abs=1e-9), name
    for tensor, other in zip(ours.binary, theirs.binary, strict=True):
        assert tensor.multiplied_out() == pytest.approx(other.multiplied_out(), rel=1e-9, abs=1e-9)


@given(treebanks, seeds)
def test_a_tree_of_weight_k_is_k_trees(treebank: list[tuple[tuple, int]], seed: int) -> None:
    once = columns([tree for tree, _ in treebank])
    repeated = columns([tree for tree, k in treebank for _ in range(k)])
    y, z = rows(once, seed)
    at = np.concatenate([np.flatnonzero(once.tree == i) for i, (_, k) in enumerate(treebank) for _ in range(k)] or [[]])
    at = at.astype(int)
    weights = np.array([k for _, k in treebank], dtype=float)[once.tree]
    weighted = Moments.of(once, once.rules, STATES, y, z, weights)
    same(weighted, Moments.of(repeated, once.rules, STATES, y[at], z[at]))


@given(treebanks, seeds)
def test_moments_are_linear_in_the_weights_of_single_nodes(treebank: list[tuple[tuple, int]], seed: int) -> None:
    trees = columns([tree for tree, _ in treebank])
    y, z = rows(trees, seed)
    weights = np.random.default_rng(seed).uniform(0.5, 3.0, trees.n_nodes)
    chosen = np.random.default_rng(seed).integers(2, size=trees.n_nodes).astype(float)
    whole, part, rest = (
        Moments.of(trees, trees.rules, STATES, y, z, w) for w in (weights, weights * chosen, weights * (1 - chosen))
    )
    same(whole, part + rest)
    same(
        Moments.of(trees, trees.rules, STATES, y, z, np.ones(trees.n_nodes)),
        Moments.of(trees, trees.rules, STATES, y, z),
    )


@given(treebanks, seeds, st.sampled_from([None, 15.0]))
def test_smoothing_counts_weighted_nodes(treebank: list[tuple[tuple, int]], seed: int, smoothing: float | None) -> None:
    """That weighted tensors are multiplied out makes no difference."""
    once = columns([tree for tree, _ in treebank])
    twice = columns([tree for tree, _ in treebank for _ in range(2)])
    y, z = rows(once, seed)
    at = np.concatenate([np.flatnonzero(once.tree == i // 2) for i in range(2 * len(treebank))])
    ours = solve(Moments.of(once, once.rules, STATES, y, z, np.full(once.n_nodes, 2.0)), smoothing)
    theirs = solve(Moments.of(twice, once.rules, STATES, y[at], z[at]), smoothing)
    assert ours.root == pytest.approx(theirs.root) and ours.leaf == pytest.approx(theirs.leaf)
    assert ours.unary == pytest.approx(theirs.unary)
    for tensor, other in zip(ours.binary, theirs.binary, strict=True):
        assert tensor.multiplied_out() == pytest.approx(other.multiplied_out(), rel=1e-9, abs=1e-9)


@given(seeds)
def test_projections_of_weighted_rows_are_those_of_repeated_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    hidden = rng.integers(3, size=60)
    inner, outer = (
        FeatureColumns.one_hot(((hidden + noise) % 3)[:, None], None) for noise in rng.integers(2, size=(2, 60))
    )
    times = np.concatenate([[1, 1], rng.integers(4, size=58)])
    ours = project(inner, outer, 2, 1e-9, weights=times.astype(float))
    theirs = project(inner[np.repeat(np.arange(60), times)], outer[np.repeat(np.arange(60), times)], 2, 1e-9)
    assert ours.sigma == pytest.approx(theirs.sigma)
    assert ours.z.T @ (times[:, None] * ours.y) / times.sum() == pytest.approx(np.eye(len(ours.sigma)), abs=1e-8)
    assert project(inner, outer, 2, 1e-9, weights=10.0 * times).z == pytest.approx(ours.z)


def test_nodes_of_weight_zero_are_no_evidence_for_states() -> None:
    rng = np.random.default_rng(0)
    trees = columns([(0, (1, int(x)), (1, int(x) // 2)) for x in rng.integers(4, size=300)])
    features = FeatureColumns.of(inside_templates(trees), outside_templates(trees))
    options = EstimatorOptions(states=4, cutoff=0.0)
    assert project_trees(trees, features, options).supported.tolist() == [4, 4]
    weights = (trees.tree < 20).astype(float)
    assert project_trees(trees, features, options, weights=weights).supported.tolist() == [1, 2]


def test_a_symbol_without_weight_is_projected_to_zeros() -> None:
    view = FeatureColumns.one_hot(np.array([[0], [1]]), None)
    y, z, sigma = project(view, view, 2, 0.01, weights=np.zeros(2))
    assert y.shape == z.shape == (2, 1)
    assert not z.any() and not sigma.any()
