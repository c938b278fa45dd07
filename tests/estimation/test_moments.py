"""Moments against loops over nodes, their additivity, and moments made of counts."""

import functools
import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.estimation import Moments, Priors, operators_from_moments, relative_frequencies
from spectral_latent.estimation._moments import moments_from_counts
from spectral_latent.estimation.clustering import state_counts
from spectral_latent.operators import Counts, ObservableOperators
from spectral_latent.trees import Rules, SkeletalTrees
from tests.oracles import columns, moments_by_loops, numbers_of, random_projections, same_moments, tree_strategy

STATES = [2, 1, 3]
CLOSE = {"rtol": 1e-9, "atol": 1e-9}
treebanks = st.lists(tree_strategy(n_symbols=3, n_terminals=2, max_leaves=8), min_size=1, max_size=8)
seeds = st.integers(0, 2**32 - 1)


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
    trees, rules = columns([known, unknown]), columns([known]).rules
    y, z = random_projections(trees, STATES, np.random.default_rng(0))
    found = Moments.of_trees(trees, rules, np.array(STATES), y, z)
    same_moments(found, moments_by_loops(trees, rules, STATES, y, z), **CLOSE)


def random_counts(trees: SkeletalTrees, rng: np.random.Generator) -> Counts:
    """Every node has a state with 1/3 and another one with 2/3."""
    states = np.array(STATES)[: trees.symbol.max() + 1]  # of the symbols up to the last that occurs
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


TREES = columns([(0, (1, 0), (0, (1, 1), (2, (0, 2)))), (0, (1, 0), (1, 1)), (0, 2), (1, (0, 2), (1, 0))] * 20)


def choice_moments(states: list[int], seed: int = 0) -> Moments:
    """Moments of random projections: the first columns are the same for any number of states."""
    y, z = np.random.default_rng(seed).normal(size=(2, TREES.n_nodes, 6))
    mask = np.arange(6) < np.array(states)[TREES.symbol][:, None]
    largest = max(states)
    return Moments.of_trees(TREES, TREES.rules, np.array(states), (y * mask)[:, :largest], (z * mask)[:, :largest])


@pytest.mark.parametrize("states", [[1, 4, 2], [1, 1, 1]])
def test_truncated_moments_are_those_of_fewer_states(states: list[int]) -> None:
    found, wanted = choice_moments([6, 4, 5]).truncate(np.array(states)), choice_moments(states)
    same_moments(found, wanted, atol=1e-10)


def estimated(
    skeletal: SkeletalTrees, seed: int, smoothing: float | None
) -> tuple[ObservableOperators, np.ndarray, np.ndarray]:
    y, z = random_projections(skeletal, STATES, np.random.default_rng(seed))
    moments = Moments.of_trees(skeletal, skeletal.rules, np.array(STATES), y, z)
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
    assert operators.states.tolist() == STATES
    assert not operators.probabilities


@given(treebanks, seeds, st.floats(0, 10))
def test_fragments_are_trees_rooted_in_every_symbol_in_proportion_to_its_nodes(
    trees: list[tuple], seed: int, fragments: float
) -> None:
    skeletal = columns(trees)
    plain, y, z = estimated(skeletal, seed, None)
    moments = Moments.of_trees(skeletal, skeletal.rules, np.array(STATES), y, z)
    for a in range(3):
        everywhere = y[skeletal.symbol == a].sum(axis=0) / skeletal.n_nodes
        expected = (plain.root[a] * len(trees) + fragments * everywhere) / (len(trees) + fragments)
        assert operators_from_moments(moments, priors=Priors(fragments=fragments)).root[a] == pytest.approx(
            expected, abs=1e-12
        )
    assert relative_frequencies(Counts.of_trees(skeletal), Priors(fragments=fragments)).root.sum() == pytest.approx(1.0)


@given(treebanks, seeds)
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
