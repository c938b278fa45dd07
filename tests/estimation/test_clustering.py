"""Counting with known states against dictionaries, and clusters against the states that made the data."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.estimation import ProjectedTrees, cluster_states, from_states, relative_frequencies
from tests.oracles import columns, tree_strategy

treebanks = st.lists(tree_strategy(max_leaves=6), min_size=1, max_size=5)


@given(treebanks, st.integers(0, 99))
def test_known_states_are_counted_as_parts_of_the_symbols(trees: list[tuple], seed: int) -> None:
    skeletal = columns(trees)
    state = np.random.default_rng(seed).integers(3, size=skeletal.n_nodes)
    found = from_states(skeletal, state)
    pair = list(zip(skeletal.symbol.tolist(), state.tolist(), strict=True))
    count = Counter(pair)
    annotated: Counter = Counter()
    for node, (left, right) in enumerate(zip(skeletal.left.tolist(), skeletal.right.tolist(), strict=True)):
        below = tuple(state[child] for child in (left, right) if child >= 0)
        annotated[skeletal.is_leaf[node], len(below), skeletal.rule[node], state[node], *below] += 1
    assert found.probabilities
    for kind, tables in (("leaf", found.leaf), ("unary", found.unary), ("binary", found.binary)):
        rules = getattr(found.rules, kind)
        for r, (rule, table) in enumerate(zip(rules.tolist(), tables, strict=True)):
            array = table.multiplied_out() if kind == "binary" else table
            for at in np.ndindex(array.shape):
                n = annotated[kind == "leaf", len(at) - 1, r, *at]
                assert array[at] == pytest.approx(n / count[rule[0], at[0]] if n else 0.0, abs=1e-12)
    roots = Counter(pair[root] for root in skeletal.root.tolist())
    for a, h in np.ndindex(found.root.shape):
        assert found.root[a, h] == pytest.approx(roots[a, h] / len(trees), abs=1e-12)


@given(treebanks)
def test_one_state_each_is_relative_frequencies(trees: list[tuple]) -> None:
    skeletal = columns(trees)
    found, expected = from_states(skeletal, np.zeros(skeletal.n_nodes, dtype=int)), relative_frequencies(skeletal)
    assert found.leaf == pytest.approx(expected.leaf)
    assert found.root == pytest.approx(expected.root)
    assert found.unary == pytest.approx(expected.unary)


def test_points_far_apart_become_clusters_of_their_own() -> None:
    rng = np.random.default_rng(0)
    skeletal = columns([(0, (1, 0), (1, 0))] * 60)
    hidden = rng.integers(3, size=skeletal.n_nodes)
    centres = 10 * np.eye(3)
    y, z = (centres[hidden] + rng.normal(scale=0.1, size=(skeletal.n_nodes, 3)) for _ in range(2))
    projected = ProjectedTrees(np.array([1, 3]), y, z, np.ones((2, 3)))
    state = cluster_states(skeletal, projected)
    assert (state[skeletal.symbol == 0] == 0).all()
    leaves = skeletal.symbol == 1
    assert len(set(zip(state[leaves].tolist(), hidden[leaves].tolist(), strict=True))) == 3
    assert state.tolist() == cluster_states(skeletal, projected).tolist()


def test_clusters_are_numbered_without_gaps() -> None:
    """All points are one: whatever number of states is asked for, there is one."""
    skeletal = columns([(0, (0, 0), (0, 0))] * 10)
    ones = np.ones((skeletal.n_nodes, 4))
    state = cluster_states(skeletal, ProjectedTrees(np.array([4]), ones, ones, np.ones((1, 4))))
    assert set(state.tolist()) == set(range(len(set(state.tolist()))))
