"""Moments against loops over nodes, their additivity, and moments made of counts."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.estimation import Moments
from spectral_latent.estimation._moments import moments_from_counts
from spectral_latent.estimation.clustering import state_counts
from spectral_latent.operators import Counts, Tensor, Tensors
from spectral_latent.trees import Rules, SkeletalTrees
from tests.oracles import (
    columns,
    moments_by_loops,
    numbers_of,
    random_projections,
    same_moments,
    same_numbers,
    tree_strategy,
)

STATES = [2, 1, 3]
CLOSE = {"rtol": 1e-9, "atol": 1e-9}
treebanks = st.lists(tree_strategy(n_symbols=3, n_terminals=2, max_leaves=8), min_size=1, max_size=8)
seeds = st.integers(0, 2**32 - 1)


def moments_of(trees: SkeletalTrees, seed: int, rules: Rules | None = None) -> tuple[Moments, Moments]:
    """The moments of random projections, and the same by loops."""
    rules = rules or trees.rules
    y, z = random_projections(trees, STATES, np.random.default_rng(seed))
    found = Moments.of_trees(trees, rules, np.array(STATES), y, z)
    return found, moments_by_loops(trees, rules, STATES, y, z)


@given(treebanks, seeds, st.data())
def test_moments_of_shards_add_up_to_those_of_the_whole(trees: list[tuple], seed: int, data: st.DataObject) -> None:
    skeletal = columns(trees)
    y, z = random_projections(skeletal, STATES, np.random.default_rng(seed))
    cuts = sorted({0, len(trees), *data.draw(st.lists(st.integers(0, len(trees)), max_size=3))})
    total: Moments | None = None
    for first, end in itertools.pairwise(cuts):
        at = slice(int(skeletal.root[first - 1]) + 1 if first else 0, int(skeletal.root[end - 1]) + 1)
        part = Moments.of_trees(columns(trees[first:end]), skeletal.rules, np.array(STATES), y[at], z[at])
        total = part if total is None else total + part
    assert total is not None
    same_moments(total, moments_by_loops(skeletal, skeletal.rules, STATES, y, z), **CLOSE)


@pytest.mark.parametrize(
    ("known", "unknown"),
    [
        pytest.param((0, (1, 0), (2, 0)), (0, (2, 0), (1, 0)), id="binary"),
        pytest.param((0, (1, (2, 0))), (0, (2, (1, 0), (1, 0))), id="unary"),
        pytest.param((0, (1, 0), (2, 0)), (0, (1, 0), (2, 1)), id="leaf"),
    ],
)
def test_rules_that_the_table_lacks_are_no_part_of_other_rules(known: tuple, unknown: tuple) -> None:
    same_moments(*moments_of(columns([known, unknown]), 0, columns([known]).rules), **CLOSE)


# ---------------------------------------------------------------------------------------------------------------------
# Linear maps of projections


@given(treebanks, seeds, st.tuples(*[st.integers(1, 4)] * 3))
def test_moments_of_mapped_projections_are_mapped_moments(
    trees: list[tuple], seed: int, onto: tuple[int, int, int]
) -> None:
    skeletal = columns(trees)
    rng = np.random.default_rng(seed)
    y, z = random_projections(skeletal, STATES, rng)
    inside = [rng.normal(size=(k, m)) for k, m in zip(onto, STATES, strict=True)]
    outside = [rng.normal(size=(k, m)) for k, m in zip(onto, STATES, strict=True)]
    mapped = np.zeros((2, skeletal.n_nodes, max(onto)))
    for node, a in enumerate(skeletal.symbol.tolist()):
        mapped[0, node, : onto[a]] = inside[a] @ y[node, : STATES[a]]
        mapped[1, node, : onto[a]] = outside[a] @ z[node, : STATES[a]]
    before = Moments.of_trees(skeletal, skeletal.rules, np.array(STATES), y, z)
    found = before.transform_projections(np.array(onto), inside, outside)
    same_moments(found, moments_by_loops(skeletal, skeletal.rules, onto, *mapped), rtol=1e-8, atol=1e-8)


# ---------------------------------------------------------------------------------------------------------------------
# Moments of counts


def states_of(trees: SkeletalTrees) -> np.ndarray:
    """The number of states (S,) of the symbols up to the last that occurs."""
    return np.array(STATES)[: trees.symbol.max() + 1]


def random_counts(trees: SkeletalTrees, rng: np.random.Generator) -> Counts:
    """Every node has a state with 1/3 and another one with 2/3."""
    states = states_of(trees)
    total: Counts | None = None
    for weight in (1 / 3, 2 / 3):
        counts = state_counts(trees, trees.rules, states, rng.integers(states[trees.symbol]))
        part = replace(counts, root=weight * counts.root).scale(np.full(counts.root.shape, weight))
        total = part if total is None else total + part
    assert total is not None
    return total


@given(treebanks, seeds)
def test_moments_of_counts_are_sums_of_posteriors(trees: list[tuple], seed: int) -> None:
    """y: the posterior of a node's states; z: the posterior times n(a) / n(a, h).  Written out entry by entry."""
    skeletal = columns(trees)
    counts = random_counts(skeletal, np.random.default_rng(seed))
    found = moments_from_counts(counts, Counts.of_trees(skeletal))
    n = np.bincount(skeletal.symbol).astype(float)
    of_state = counts.sums()
    scale = np.divide(n[:, None], of_state, out=np.zeros_like(of_state), where=of_state > 0)
    before = numbers_of(counts)
    for (kind, rule), array in numbers_of(found).items():
        expected = before[kind, rule]
        for axis in range(expected.ndim):
            expected = np.concatenate([expected.sum(axis=axis, keepdims=True), expected], axis=axis)
        if kind != "root":
            factors = scale[rule[0], : len(expected) - 1]
            expected[1:] *= factors.reshape(-1, *([1] * (expected.ndim - 1)))
        np.testing.assert_allclose(array, expected, **CLOSE)
    np.testing.assert_allclose(found.inside[:, 1:], of_state, **CLOSE)
    np.testing.assert_allclose(found.outside[:, 1:], of_state * scale, **CLOSE)
    np.testing.assert_allclose(found.count, n)
    assert found.n_trees == len(trees)


def test_moments_of_counts_in_factors_stay_in_factors() -> None:
    """Whose second and third factors sum to one."""
    trees = columns([(0, (0, 0), (0, 1))] * 8)
    rng = np.random.default_rng(0)
    first = rng.exponential(size=(2, 8))
    second, third = rng.dirichlet(np.ones(8), size=(2, 2))
    factors = Tensor(8 * first / first.sum(), second, third)
    leaf = rng.exponential(size=(2, 8))
    leaf *= 8 / leaf.sum(axis=1, keepdims=True)
    rows = (np.full((1, 8), 1.0), leaf, np.empty((0, 8, 8)))
    observed = Counts.of_trees(trees)
    tables = [
        Counts(trees.rules, np.array([8]), *rows, Tensors.of([tensor]))
        for tensor in (factors, Tensor.of_dense(factors.to_dense()))
    ]
    in_factors, dense = (moments_from_counts(table, observed) for table in tables)
    assert in_factors.binary[0].n_terms == 2
    assert dense.binary[0].n_terms == 0
    same_numbers(numbers_of(in_factors), numbers_of(dense), **CLOSE)
