"""Moments against loops over nodes, and their additivity."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.estimation import Moments
from spectral_latent.trees import SkeletalTrees
from tests.oracles import columns, tree_strategy

STATES = np.array([2, 1, 3])
treebanks = st.lists(tree_strategy(n_symbols=3, n_terminals=2, max_leaves=8), min_size=1, max_size=8)
seeds = st.integers(0, 2**32 - 1)


def projected(trees: SkeletalTrees, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Random y, z (N, M), zero beyond each symbol's states."""
    used = np.arange(STATES.max()) < STATES[trees.symbol][:, None]
    return tuple(rng.normal(size=used.shape) * used for _ in range(2))


def by_loops(trees: SkeletalTrees, y: np.ndarray, z: np.ndarray) -> dict[str, Any]:
    """Every sum of the table in `moments`, node by node."""
    rules, m = trees.rules, int(STATES.max())
    sums: dict[str, Any] = {
        "n_trees": len(trees.root),
        "count": np.zeros(3),
        "root": np.zeros((3, m)),
        "outer": np.zeros((3, m)),
        "inner": np.zeros((3, m)),
        "leaf": np.zeros((len(rules.leaf), m)),
        "leaf_count": np.zeros(len(rules.leaf)),
        "unary": np.zeros((len(rules.unary), m + 1, m + 1)),
        "binary": [np.zeros(STATES[rule] + 1) for rule in rules.binary],
    }
    for node in range(trees.n_nodes):
        a, left, right, r = (int(column[node]) for column in (trees.symbol, trees.left, trees.right, trees.rule))
        sums["count"][a] += 1
        sums["outer"][a] += z[node]
        sums["inner"][a] += y[node]
        if node in trees.root:
            sums["root"][a] += y[node]
        if left < 0:
            sums["leaf"][r] += z[node]
            sums["leaf_count"][r] += 1
        elif right < 0:
            sums["unary"][r] += np.outer([*z[node], 1.0], [*y[left], 1.0])
        else:
            b, c = trees.symbol[left], trees.symbol[right]
            z1, y2, y3 = ([*row[: STATES[s]], 1.0] for row, s in ((z[node], a), (y[left], b), (y[right], c)))
            sums["binary"][r] += np.einsum("a,b,c->abc", z1, y2, y3)
    return sums


def check(moments: Moments, expected: dict[str, Any]) -> None:
    for name, value in expected.items():
        found = getattr(moments, name)
        if name == "binary":
            assert len(found) == len(value)
            for tensor, full in zip(found, value, strict=True):
                assert tensor.multiplied_out() == pytest.approx(full, rel=1e-9, abs=1e-9)
                assert (tensor.dense is None) != (tensor.n_terms == 0)  # compact
        else:
            assert found == pytest.approx(value, rel=1e-9, abs=1e-9), name


@given(treebanks, seeds)
def test_moments_are_sums_over_nodes(trees: list[tuple], seed: int) -> None:
    skeletal = columns(trees)
    y, z = projected(skeletal, np.random.default_rng(seed))
    check(Moments.of(skeletal, skeletal.rules, STATES, y, z), by_loops(skeletal, y, z))


@given(treebanks, seeds, st.data())
def test_moments_of_shards_add_up_to_those_of_the_whole(trees: list[tuple], seed: int, data: st.DataObject) -> None:
    skeletal = columns(trees)
    y, z = projected(skeletal, np.random.default_rng(seed))
    cuts = sorted({0, len(trees), *data.draw(st.lists(st.integers(0, len(trees)), max_size=3))})
    total: Moments | None = None
    for first, end in itertools.pairwise(cuts):
        shard = columns(trees[first:end])
        at = slice(int(skeletal.root[first - 1]) + 1 if first else 0, int(skeletal.root[end - 1]) + 1)
        part = Moments.of(shard, skeletal.rules, STATES, y[at], z[at])
        total = part if total is None else total + part
    assert total is not None
    check(total, by_loops(skeletal, y, z))


def test_adding_leaves_the_shards_as_they_are() -> None:
    skeletal = columns([(0, (1, 0), (2, 1))] * 3)
    y, z = projected(skeletal, np.random.default_rng(0))
    moments = Moments.of(skeletal, skeletal.rules, STATES, y, z)
    before = by_loops(skeletal, y, z)
    _ = moments + moments
    check(moments, before)


@given(treebanks, seeds)
def test_leaf_moments_are_the_part_that_concerns_terminals(trees: list[tuple], seed: int) -> None:
    skeletal = columns(trees)
    y, z = projected(skeletal, np.random.default_rng(seed))
    moments = Moments.of(skeletal, skeletal.rules, STATES, y, z)
    leaves = moments.leaves()
    assert leaves.rules.tolist() == skeletal.rules.leaf.tolist()
    assert leaves.count.sum() == skeletal.is_leaf.sum()
    assert leaves.symbol_count.tolist() == np.bincount(skeletal.symbol, minlength=3).tolist()
    assert leaves.symbol_total == pytest.approx(moments.outer)
    assert leaves.total == pytest.approx(moments.leaf)


@pytest.mark.parametrize(
    ("known", "unknown"),
    [
        pytest.param((0, (1, 0), (2, 0)), (0, (2, 0), (1, 0)), id="binary"),
        pytest.param((0, (1, (2, 0))), (0, (2, (1, 0), (1, 0))), id="unary"),
        pytest.param((0, (1, 0), (2, 0)), (0, (1, 0), (2, 1)), id="leaf"),
    ],
)
def test_rules_that_the_table_lacks_are_no_part_of_other_rules(known: tuple, unknown: tuple) -> None:
    skeletal = columns([known, unknown])
    ones = np.ones((skeletal.n_nodes, 3))
    rules = columns([known]).rules
    moments = Moments.of(skeletal, rules, STATES, ones, ones)
    rule = skeletal.rule_in(rules)
    seen = [
        [np.count_nonzero(kind & (rule == r)) for r in range(len(table))]
        for kind, table in (
            (skeletal.is_leaf, rules.leaf),
            (skeletal.is_unary, rules.unary),
            (skeletal.is_binary, rules.binary),
        )
    ]
    assert moments.leaf_count.tolist() == moments.leaf[:, 0].tolist() == seen[0]
    assert moments.unary[:, -1, -1].tolist() == moments.unary[:, 0, 0].tolist() == seen[1]
    assert [tensor.multiplied_out()[-1, -1, -1] for tensor in moments.binary] == seen[2]
