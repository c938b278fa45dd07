"""Operators from moments against the formulas of slide 25 written out on dense means."""

from __future__ import annotations

import functools
import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spectral_latent.estimation import (
    LeafMoments,
    Moments,
    Priors,
    operators_from_moments,
    relative_frequencies,
)
from spectral_latent.operators import Counts, ObservableOperators
from spectral_latent.trees import Rules, SkeletalTrees
from tests.oracles import columns, kind_and_rule, post_order, random_projections, tree_strategy

STATES = np.array([2, 1, 3])
treebanks = st.lists(tree_strategy(n_symbols=3, n_terminals=2, max_leaves=8), min_size=1, max_size=10)
seeds = st.integers(0, 2**32 - 1)


def estimated(
    skeletal: SkeletalTrees, seed: int, smoothing: float | None
) -> tuple[ObservableOperators, np.ndarray, np.ndarray]:
    y, z = random_projections(skeletal, STATES.tolist(), np.random.default_rng(seed))
    moments = Moments.of_trees(skeletal, skeletal.rules, STATES, y, z)
    return operators_from_moments(moments, smoothing), y, z


def mean(*rows: np.ndarray) -> np.ndarray:
    """The mean over nodes of the outer product of their rows."""
    return np.mean([functools.reduce(np.multiply.outer, vectors) for vectors in zip(*rows, strict=True)], axis=0)


def share(n: int, c: float | None) -> float:
    """λ, which is one without smoothing."""
    return 1.0 if c is None else float(np.sqrt(n) / (c + np.sqrt(n)))


def slide_25(
    z: np.ndarray, x: np.ndarray, y: np.ndarray, symbol_means: list[np.ndarray], c: float | None
) -> np.ndarray:
    """The smoothed mean of z ⊗ x ⊗ y, with λ at every level."""
    lam = share(len(z), c)
    pairs = (
        np.einsum("ab,c->abc", mean(z, x), mean(y))
        + np.einsum("ac,b->abc", mean(z, y), mean(x))
        + np.einsum("bc,a->abc", mean(x, y), mean(z))
    ) / 3
    singles = np.einsum("a,b,c->abc", mean(z), mean(x), mean(y))
    symbols = np.einsum("a,b,c->abc", *symbol_means)
    return lam * mean(z, x, y) + (1 - lam) * (lam * pairs + (1 - lam) * (lam * singles + (1 - lam) * symbols))


@given(treebanks, seeds, st.sampled_from([None, 0.0, 15.0, 1e6]))
def test_binary_operators_back_off_as_slide_25_says(trees: list[tuple], seed: int, c: float | None) -> None:
    skeletal = columns(trees)
    operators, y, z = estimated(skeletal, seed, c)
    count = np.bincount(skeletal.symbol, minlength=3)
    for r, ((a, b, d), tensor) in enumerate(zip(skeletal.rules.binary.tolist(), operators.binary, strict=True)):
        nodes = np.flatnonzero(skeletal.is_binary & (skeletal.rule == r))
        rows = [
            view[at][:, : STATES[s]]
            for view, at, s in (
                (z, nodes, a), (y, skeletal.left[nodes], b), (y, skeletal.right[nodes], d)
            )
        ]  # fmt: skip
        means = [view[skeletal.symbol == s][:, : STATES[s]].mean(axis=0) for view, s in ((z, a), (y, b), (y, d))]
        expected = len(nodes) / count[a] * slide_25(*rows, means, c)
        assert tensor.to_dense() == pytest.approx(expected, rel=1e-9, abs=1e-11)


@given(treebanks, seeds, st.sampled_from([None, 0.0, 15.0, 1e6]))
def test_unary_operators_back_off_to_single_moments(trees: list[tuple], seed: int, c: float | None) -> None:
    skeletal = columns(trees)
    operators, y, z = estimated(skeletal, seed, c)
    count = np.bincount(skeletal.symbol, minlength=3)
    for r, (a, b) in enumerate(skeletal.rules.unary.tolist()):
        nodes = np.flatnonzero(skeletal.is_unary & (skeletal.rule == r))
        lam = share(len(nodes), c)
        own, below = z[nodes], y[skeletal.left[nodes]]
        singles = np.outer(own.mean(axis=0), below.mean(axis=0))
        symbols = np.outer(z[skeletal.symbol == a].mean(axis=0), y[skeletal.symbol == b].mean(axis=0))
        expected = lam * mean(own, below) + (1 - lam) * (lam * singles + (1 - lam) * symbols)
        assert operators.unary[r] == pytest.approx(len(nodes) / count[a] * expected, rel=1e-9, abs=1e-11)


@given(treebanks, seeds, st.sampled_from([None, 30.0]))
def test_leaf_and_root_operators_are_means(trees: list[tuple], seed: int, c: float | None) -> None:
    skeletal = columns(trees)
    operators, y, z = estimated(skeletal, seed, c)
    for r, (a, _) in enumerate(skeletal.rules.leaf.tolist()):
        nodes = skeletal.is_leaf & (skeletal.rule == r)
        expected = z[nodes].sum(axis=0) / (skeletal.symbol == a).sum()
        assert operators.leaf[r] == pytest.approx(expected, abs=1e-12)
    for a in range(3):
        roots = skeletal.root[skeletal.symbol[skeletal.root] == a]
        assert operators.root[a] == pytest.approx(y[roots].sum(axis=0) / len(trees), abs=1e-12)
    assert operators.states.tolist() == STATES.tolist()
    assert not operators.probabilities


@given(treebanks, seeds, st.floats(0, 10))
def test_fragments_are_trees_rooted_in_every_symbol_in_proportion_to_its_nodes(
    trees: list[tuple], seed: int, fragments: float
) -> None:
    skeletal = columns(trees)
    plain, y, z = estimated(skeletal, seed, None)
    moments = Moments.of_trees(skeletal, skeletal.rules, STATES, y, z)
    for a in range(3):
        everywhere = y[skeletal.symbol == a].sum(axis=0) / skeletal.n_nodes
        expected = (plain.root[a] * len(trees) + fragments * everywhere) / (len(trees) + fragments)
        assert operators_from_moments(moments, priors=Priors(fragments=fragments)).root[a] == pytest.approx(
            expected, abs=1e-12
        )
    assert relative_frequencies(Counts.of_trees(skeletal), Priors(fragments=fragments)).root.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("tree", [(0, (1, 0), (2, 0)), (0, (1, (2, 0)))], ids=["binary", "unary"])
def test_a_rule_without_nodes_weighs_nothing(tree: tuple) -> None:
    """The rules are those of the whole treebank, the moments those of a shard."""
    skeletal = columns([(1, (0, 0), (2, 0)), (1, (0, (2, 0)))])
    rules = columns([tree, *[(1, (0, 0), (2, 0)), (1, (0, (2, 0)))]]).rules
    ones = np.ones((skeletal.n_nodes, 3))
    operators = operators_from_moments(Moments.of_trees(skeletal, rules, STATES, ones, ones), 30.0)
    if len(tree) == 2:
        assert (operators.unary[0] == 0).all()
    else:
        assert (operators.binary[0].to_dense() == 0).all()


# ---------------------------------------------------------------------------------------------------------------------
# Leaf smoothing and relative frequencies


def test_leaf_smoothing_sees_the_leaf_moments_and_may_add_rules() -> None:
    skeletal = columns([(0, (1, 0), (1, 1)), (0, (1, 0), (1, 0))])
    seen: list[LeafMoments] = []

    def smooth(moments: LeafMoments) -> tuple[np.ndarray, np.ndarray]:
        seen.append(moments)
        return np.array([[1, 0], [1, 1], [1, 9]]), np.vstack([moments.total, [[0.5]]])

    operators = relative_frequencies(Counts.of_trees(skeletal), Priors(smooth))
    assert len(seen) == 1
    assert seen[0].count.tolist() == [3.0, 1.0]
    assert operators.rules.leaf.tolist() == [[1, 0], [1, 1], [1, 9]]
    assert operators.leaf.ravel().tolist() == [3 / 4, 1 / 4, 0.5 / 4]
    assert operators.rules.binary.tolist() == [[0, 1, 1]]


@given(treebanks, seeds)
@settings(max_examples=30)
def test_unseen_rules_count_with_the_mean_vectors_of_their_symbols(trees: list[tuple], seed: int) -> None:
    skeletal = columns(trees)
    rng = np.random.default_rng(seed)
    seen, y, z = estimated(skeletal, seed, None)
    size, rules = seen.states, seen.rules
    symbols = np.unique(skeletal.symbol)
    every = {arity: np.array(list(itertools.product(symbols, repeat=arity))) for arity in (2, 3)}
    unary, binary = (rng.exponential(size=len(every[arity])) for arity in (2, 3))
    added = Rules(np.empty((0, 2), dtype=np.int64), every[2], every[3])
    extra = Counts.of_rules(added, np.zeros(len(size)), np.zeros(0), unary, binary)
    moments = Moments.of_trees(skeletal, skeletal.rules, size, y, z)
    found = operators_from_moments(moments, None, Priors(rules=extra))
    mean_y, mean_z = ({a: rows[skeletal.symbol == a].mean(axis=0) for a in symbols} for rows in (y, z))
    n = {a: (skeletal.symbol == a).sum() for a in symbols}
    total = {a: n[a] + sum(unary[every[2][:, 0] == a]) + sum(binary[every[3][:, 0] == a]) for a in n}
    assert found.rules.unary.tolist() == every[2].tolist()
    assert found.rules.binary.tolist() == every[3].tolist()
    for r, (a, b) in enumerate(every[2]):
        own = [matrix * n[a] for rule, matrix in zip(rules.unary.tolist(), seen.unary, strict=True) if rule == [a, b]]
        wanted = sum(own) + unary[r] * np.outer(mean_z[a], mean_y[b])
        assert found.unary[r] == pytest.approx(wanted / total[a], abs=1e-9)
    for r, (a, b, c) in enumerate(every[3]):
        own = [
            tensor.to_dense() * n[a]
            for rule, tensor in zip(rules.binary.tolist(), seen.binary, strict=True)
            if rule == [a, b, c]
        ]
        means = np.einsum("i,j,k", mean_z[a][: size[a]], mean_y[b][: size[b]], mean_y[c][: size[c]])
        assert found.binary[r].to_dense() == pytest.approx((sum(own) + binary[r] * means) / total[a], abs=1e-9)
    for r, (a, _) in enumerate(rules.leaf):
        assert found.leaf[r] == pytest.approx(seen.leaf[r] * n[a] / total[a], abs=1e-9)


@given(treebanks)
def test_relative_frequencies_are_counts_over_counts(trees: list[tuple]) -> None:
    skeletal = columns(trees)
    operators = relative_frequencies(Counts.of_trees(skeletal))
    nodes = [node for tree in trees for node in post_order(tree)]
    rule_count = Counter(kind_and_rule(node) for node in nodes)
    symbol_count = Counter(node[0] for node in nodes)
    root_count = Counter(tree[0] for tree in trees)
    found = {}
    for kind, table, weights in (
        ("leaf", operators.rules.leaf, operators.leaf[:, 0]),
        ("unary", operators.rules.unary, operators.unary[:, 0, 0]),
        ("binary", operators.rules.binary, [t.to_dense().item() for t in operators.binary]),
    ):
        found |= {(kind, tuple(rule)): float(w) for rule, w in zip(table.tolist(), weights, strict=True)}
    assert found == pytest.approx({rule: n / symbol_count[rule[1][0]] for rule, n in rule_count.items()})
    for a in range(operators.n_symbols):
        assert operators.root[a, 0] == pytest.approx(root_count[a] / len(trees))
        mine = [weight for (_, rule), weight in found.items() if rule[0] == a]
        assert sum(mine) == pytest.approx(1.0 if symbol_count[a] else 0.0)
    assert (operators.states == 1).all()
    assert operators.probabilities
