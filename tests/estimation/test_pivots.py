"""The pivot estimator: exact on populations, consistent on samples, sound on any data."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest

from spectral_latent.estimation import (
    EstimatorOptions,
    FeatureColumns,
    Projection,
    Shard,
    Treebank,
    inside_templates,
    outside_templates,
    spectral_moments,
)
from spectral_latent.estimation._recovery import feature_rows, pivot_counts, state_maps
from spectral_latent.inference import sample_trees, tree_weights
from spectral_latent.operators import Counts, ObservableOperators
from spectral_latent.trees import Forest, SkeletalTrees
from tests.oracles import (
    Lpcfg,
    moments_by_loops,
    numbers_of,
    random_lpcfg,
)
from tests.theorems.populations import STRUCTURES, Population, random_model

PIVOT = 100  # terminals from here on are pivots: 100 + h occurs in state h alone


def with_pivots(model: Lpcfg, share: float) -> Lpcfg:
    """The model with a terminal for every state that only it emits, with probability `share`."""
    tables = (
        {rule: array * (1 - share) for rule, array in model.of(kind).items()} for kind in ("leaf", "unary", "binary")
    )
    q, u, t = tables
    q |= {(a, PIVOT + h): share * np.eye(m)[h] for a, m in enumerate(model.states) for h in range(m)}
    return Lpcfg(model.states, model.pi, q, u, t)


def by_pivots(operators: ObservableOperators) -> Lpcfg:
    """Estimates with their states in the order of the pivots that they emit."""
    rules, states = operators.rules, operators.states
    order = []
    for a, m in enumerate(states):
        emitted = operators.leaf[(rules.leaf[:, 0] == a) & (rules.leaf[:, 1] >= PIVOT), :m]
        order.append(emitted.argmax(axis=1))
        assert sorted(order[a]) == list(range(m)), f"the states of symbol {a} are not those of its pivots"

    def ordered(rule: np.ndarray, array: np.ndarray) -> np.ndarray:
        return array[np.ix_(*(order[a] for a in rule))]

    tensors = [tensor.to_dense() for tensor in operators.binary]
    return Lpcfg(
        states.tolist(),
        [root[order[a]] for a, root in enumerate(operators.root)],
        {(a, x): leaf[order[a]] for (a, x), leaf in zip(rules.leaf.tolist(), operators.leaf, strict=True)},
        {tuple(rule): ordered(rule, array) for rule, array in zip(rules.unary.tolist(), operators.unary, strict=True)},
        {tuple(rule): ordered(rule, array) for rule, array in zip(rules.binary.tolist(), tensors, strict=True)},
    )


def differences(found: Lpcfg, true: Lpcfg) -> dict[str, float]:
    """Σ |estimate - truth| for π, and per state for rules of each kind."""
    total = {"root": sum(float(np.abs(f - t).sum()) for f, t in zip(found.pi, true.pi, strict=True))}
    for kind in ("leaf", "unary", "binary"):
        ours, theirs = found.of(kind), true.of(kind)
        parts = [np.abs(ours.get(rule, np.zeros(1)) - theirs.get(rule, np.zeros(1))).sum() for rule in ours | theirs]
        total[kind] = sum(map(float, parts)) / sum(true.states)
    return total


# ---------------------------------------------------------------------------------------------------------------------
# Populations


@cache
def population(structure: str) -> tuple[Population, Projection, EstimatorOptions]:
    model = with_pivots(random_model(STRUCTURES[structure], np.random.default_rng(1)), share=0.3)
    whole = Population.of(model)
    options = EstimatorOptions("anchors", n_states=max(model.states), scaling=None, cutoff=1e-6)
    return whole, whole.projection(options), options


@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_parameters_of_a_population_are_recovered(structure: str) -> None:
    whole, projection, options = population(structure)
    counts = pivot_counts(whole.moments(projection), projection, options)
    assert counts.states.tolist() == whole.model.states
    assert max(differences(by_pivots(ObservableOperators.probabilities_of(counts)), whole.model).values()) < 1e-6


@pytest.mark.parametrize("structure", STRUCTURES)
def test_inside_and_outside_trees_show_states_without_bias(structure: str) -> None:
    """E[x | h] = E[w | h] = e_h, up to the order of states, and γ_h = p(h | a)."""
    whole, projection, options = population(structure)
    _, y, z = whole.projected(projection)
    for a, nodes in enumerate(whole.skeletal.nodes_by_symbol()):
        m = whole.model.states[a]
        maps = state_maps(projection, a, options)
        joint = whole.states[nodes, :m]
        shares = joint.sum(axis=0)
        views = (y[nodes, :m] @ maps.inside.T, z[nodes, :m] @ maps.outside.T)
        x, w = (joint.T @ view / shares[:, None] for view in views)
        order = x.argmax(axis=1)
        assert x == pytest.approx(np.eye(m)[order], abs=1e-6)
        assert w == pytest.approx(np.eye(m)[order], abs=1e-6)
        assert maps.gamma[order] == pytest.approx(shares / shares.sum(), abs=1e-8)


# ---------------------------------------------------------------------------------------------------------------------
# Samples

RULES = {
    "leaf": list(itertools.product(range(2), range(4))),
    "unary": [(0, 1), (1, 0)],
    "binary": list(itertools.product(range(2), repeat=3)),
}
SHARES = {"leaf": 0.4, "unary": 0.1, "binary": 0.5}


@cache
def true_model(seed: int) -> Lpcfg:
    """Two symbols of two states with peaked rules; with pivots, trees of some seven nodes."""
    rng = np.random.default_rng(seed)
    model = random_lpcfg(rng, [2, 2], RULES)
    for kind, share in SHARES.items():
        for a in range(2):
            mine = [array for rule, array in model.of(kind).items() if rule[0] == a]
            drawn = rng.dirichlet(np.full(sum(array[0].size for array in mine), 0.4), size=2) * share
            for array in mine:
                array[:] = drawn[:, : array[0].size].reshape(array.shape)
                drawn = drawn[:, array[0].size :]
    return with_pivots(model, share=0.25)


def sampled(seed: int, n: int) -> SkeletalTrees:
    return sample_trees(true_model(seed).operators(probabilities=True), n, np.random.default_rng(seed)).trees


def shard_of(trees: SkeletalTrees) -> Shard:
    return Shard.of(trees, FeatureColumns.of(inside_templates(trees), outside_templates(trees)))


def treebank_of(trees: SkeletalTrees) -> Treebank:
    return Treebank.of([shard_of(trees)])


@pytest.mark.parametrize("scaling", [None, 7.0])
def test_rows_of_features_are_means_over_the_nodes_that_have_them(scaling: float | None) -> None:
    """E[Vᵀψ | inside feature i], from the projections of all nodes of three shards."""
    trees = [sampled(seed, 200) for seed in range(3)]
    shards = [shard_of(part) for part in trees]
    projection = Projection.learn(shards, EstimatorOptions(n_states=4, scaling=scaling))
    for a in range(2):
        sigma = projection.maps[a].sigma
        nodes = [np.flatnonzero(shard.trees.symbol == a) for shard in shards]
        pairs = list(zip(shards, nodes, strict=True))
        seen = np.concatenate([shard.features.inside[of_symbol] for shard, of_symbol in pairs])
        outside = np.concatenate([projection.project(shard).z[of_symbol, : len(sigma)] for shard, of_symbol in pairs])
        wanted = [
            (outside * sigma)[column == value].mean(axis=0) for column in seen.T for value in np.unique(column).tolist()
        ]
        np.testing.assert_allclose(feature_rows(projection, a, scaling), wanted, atol=1e-9)


def counts_of(shards: list[Shard], options: EstimatorOptions) -> Counts:
    projection = Projection.learn(shards, options)
    return pivot_counts(spectral_moments(Treebank.of(shards), projection), projection, options)


def test_expected_counts_are_clipped_sums_over_nodes() -> None:
    """Σ w ⊗ x₂ ⊗ x₃ of all nodes, without negative numbers, scaled to how often the rule occurs."""
    trees = sampled(0, 500)
    shard = shard_of(trees)
    options = EstimatorOptions("anchors", n_states=3)
    projection = Projection.learn([shard], options)
    counts = counts_of([shard], options)
    maps = [state_maps(projection, a, options) for a in range(2)]
    _, y, z = projection.project(shard)
    states = [len(one.gamma) for one in maps]
    x, w = np.zeros((2, trees.n_nodes, max(states)))
    for a, one in enumerate(maps):
        nodes, m = np.flatnonzero(trees.symbol == a), projection.states[a]
        x[nodes, : states[a]] = y[nodes, :m] @ one.inside.T
        w[nodes, : states[a]] = z[nodes, :m] @ one.outside.T
    sums = numbers_of(moments_by_loops(trees, trees.rules, states, x, w))
    occurs = numbers_of(Counts.of_trees(trees))
    for key, found in numbers_of(counts).items():
        estimates = np.maximum(sums[key][(slice(1, None),) * found.ndim], 0.0)
        np.testing.assert_allclose(found, estimates * occurs[key].sum() / estimates.sum(), rtol=1e-7, atol=1e-7)


# ---------------------------------------------------------------------------------------------------------------------
# Any data


def check(operators: ObservableOperators, trees: SkeletalTrees) -> None:
    """Probabilities, under which every training tree is possible."""
    packed = operators.packed
    for array in (packed.root, packed.leaf, packed.unary, packed.data):
        assert np.isfinite(array).all()
        assert (array >= 0).all()
    assert operators.probabilities
    assert operators.root.shape[1] == operators.states.max()
    assert operators.root.sum() == pytest.approx(1.0)
    weights = tree_weights(operators, Forest.of_trees(trees, operators.rules))
    assert (weights.sign > 0).all()
    assert np.isfinite(weights.log).all()
