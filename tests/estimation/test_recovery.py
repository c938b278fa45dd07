"""Recovered states: exact on populations, consistent on samples, sound on any data, a start of EM that ends high."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.known_models import PROBLEMS, slope
from spectral_latent.estimation import (
    Decomposition,
    EstimationError,
    EstimatorOptions,
    FeatureColumns,
    LeafMoments,
    Moments,
    Priors,
    Progress,
    Projection,
    ProjectionOptions,
    Shard,
    Spectral,
    Treebank,
    estimate,
    find_ranks,
    spectral_moments,
)
from spectral_latent.estimation._moments import moments_from_counts
from spectral_latent.estimation._recovery import feature_rows, pivot_counts, recover_counts, state_maps
from spectral_latent.estimation.progress import LoweredStates
from spectral_latent.inference import collapse, mean_node_counts, sample_trees, tree_weights
from spectral_latent.operators import Counts, ObservableOperators
from spectral_latent.trees import Forest, SkeletalTrees
from tests.oracles import Lpcfg, columns, dense_of, moments_by_loops, numbers_of
from tests.theorems.populations import STRUCTURES, Population, random_model

OPTIONS = Decomposition(scaling=1.0, smoothing=None, cutoff=1e-6)


def error_of(found: ObservableOperators, truth: ObservableOperators) -> float:
    """The mean of |p̂ / p - 1| over trees that the true model draws."""
    trees = sample_trees(truth, 1_000, np.random.default_rng(5)).trees
    ours, theirs = (tree_weights(each, Forest.of_trees(trees, each.rules)) for each in (found, truth))
    return float(np.abs(ours.sign * np.exp(ours.log - theirs.log) - 1.0).mean())


def population_moments(model: ObservableOperators, rng: np.random.Generator) -> Moments:
    """The moments of y = G e_h and z = G⁻ᵀ e_h / γ_h for random matrices G, at a thousand trees."""
    counts = dense_of(model).scale(mean_node_counts(model))
    plain = collapse(model)
    thousand = Counts(
        counts.rules,
        counts.states,
        1000.0 * model.root,
        1000.0 * counts.leaf,
        1000.0 * counts.unary,
        [tensor.scale(1000.0) for tensor in counts.binary],
    )
    occurs = plain.scale(1000.0 * mean_node_counts(model).sum(axis=1, keepdims=True))
    observed = Counts(occurs.rules, occurs.states, 1000.0 * plain.root, occurs.leaf, occurs.unary, occurs.binary)
    bases = [rng.normal(size=(m, m)) for m in model.states]
    inverses = [np.linalg.inv(basis).T for basis in bases]
    return moments_from_counts(thousand, observed).transform_projections(model.states, bases, inverses)


@pytest.mark.parametrize("number", [0, 8, 11])
def test_the_parameters_of_a_population_are_recovered(number: int) -> None:
    model = PROBLEMS[number].model
    moments = population_moments(model, np.random.default_rng(0))
    options = EstimatorOptions(smoothing=None, cutoff=1e-6)
    maps = [SimpleNamespace(sigma=np.ones(m)) for m in model.states]
    counts = recover_counts(moments, Projection([], maps, model.states, model.states, options), options)
    assert error_of(ObservableOperators.probabilities_of(counts), model) < 1e-9


@pytest.mark.parametrize("number", [0, 11])
def test_errors_fall_with_the_root_of_the_sample(number: int) -> None:
    """Of a latent PCFG and a hidden Markov model."""
    problem, sizes = PROBLEMS[number], (1_000, 9_000)
    options = replace(OPTIONS, n_states=problem.n_states)
    found = [[error_of(estimate(problem.treebank(n, 0), options).operators, problem.model)] for n in sizes]
    assert slope(sizes, np.array(found)) == pytest.approx(-0.5, abs=0.15)


PIVOT = 100  # terminals from here on are pivots: 100 + h occurs in state h alone


def with_pivots(model: Lpcfg, share: float) -> Lpcfg:
    """The model with a terminal for every state that only it emits, with probability `share`."""
    tables = (
        {rule: array * (1 - share) for rule, array in model.of(kind).items()} for kind in ("leaf", "unary", "binary")
    )
    q, u, t = tables
    q |= {(a, PIVOT + h): share * np.eye(m)[h] for a, m in enumerate(model.states) for h in range(m)}
    return Lpcfg(model.states, model.pi, q, u, t)


@pytest.mark.parametrize("structure", ["binary trees with unary rules", "chains"])
def test_pivots_recover_the_parameters_of_a_population(structure: str) -> None:
    model = with_pivots(random_model(STRUCTURES[structure], np.random.default_rng(1)), share=0.3)
    whole = Population.of(model)
    options = EstimatorOptions("anchors", n_states=max(model.states), scaling=None, cutoff=1e-6)
    projection = whole.projection(options)
    counts = pivot_counts(whole.moments(projection), projection, options)
    assert counts.states.tolist() == model.states
    assert error_of(ObservableOperators.probabilities_of(counts), model.operators(probabilities=True)) < 1e-6


@pytest.mark.parametrize("scaling", [None, 7.0])
def test_rows_of_features_are_means_over_the_nodes_that_have_them(scaling: float | None) -> None:
    """E[Vᵀψ | inside feature i], from the projections of all nodes of three shards."""
    shards = [shard for seed in range(3) for shard in PROBLEMS[0].treebank(200, seed).shards]
    projection = Projection.learn(shards, EstimatorOptions(n_states=4, scaling=scaling))
    for a, maps in enumerate(projection.maps):
        sigma = maps.sigma
        nodes = [np.flatnonzero(shard.trees.symbol == a) for shard in shards]
        pairs = list(zip(shards, nodes, strict=True))
        seen = np.concatenate([shard.features.inside[of_symbol] for shard, of_symbol in pairs])
        outside = np.concatenate([projection.project(shard).z[of_symbol, : len(sigma)] for shard, of_symbol in pairs])
        wanted = [
            (outside * sigma)[column == value].mean(axis=0) for column in seen.T for value in np.unique(column).tolist()
        ]
        np.testing.assert_allclose(feature_rows(projection, a, scaling), wanted, atol=1e-9)


def test_expected_counts_are_clipped_sums_over_nodes() -> None:
    """Σ w ⊗ x₂ ⊗ x₃ of all nodes, without negative numbers, scaled to how often the rule occurs."""
    treebank = PROBLEMS[0].treebank(500, 0)
    (shard,), trees = treebank.shards, treebank.shards[0].trees
    options = EstimatorOptions("anchors", n_states=3)
    projection = Projection.learn([shard], options)
    counts = pivot_counts(spectral_moments(treebank, projection), projection, options)
    maps = [state_maps(projection, a, options) for a in range(len(projection.states))]
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


def test_the_numbers_of_states_of_known_models_are_found() -> None:
    problem = PROBLEMS[10]
    found = find_ranks(problem.treebank(3000, 0), ProjectionOptions(n_states=12))
    assert (found == problem.n_states).all()


def test_as_many_trees_as_are_told_show_one_more_state() -> None:
    """Weights stand for numbers of trees: singular values stay, and the default cutoff falls."""
    (shard,) = PROBLEMS[0].treebank(300, 0).shards
    options = Spectral(n_states=12, scaling=None)

    def states_of(weight: float) -> tuple[np.ndarray, tuple[LoweredStates, ...]]:
        heard: list[Progress] = []
        treebank = Treebank.of([Shard.of(shard.trees, shard.features, np.full(300, weight))])
        found = estimate(treebank, options, listener=heard.append).operators.states
        return found, next(progress.lowered for progress in heard if progress.lowered)

    found, lowered = states_of(1.0)
    for a, supported, kept, times in lowered:
        assert supported == 12 and kept == found[a] and times > 1.0
        assert states_of(0.99 * times)[0][a] == kept and states_of(1.01 * times)[0][a] > kept


def spectral(
    trees: SkeletalTrees, features: FeatureColumns, options: EstimatorOptions, priors: Priors | None = None
) -> ObservableOperators:
    return estimate(Treebank.of([Shard.of(trees, features)], priors), options).operators


def redundant() -> tuple[SkeletalTrees, FeatureColumns]:
    """Chains S → A (…), A → B (B) whose nodes of A have the same template twice: Ω has singular values of zero."""
    rng = np.random.default_rng(1)
    skeletal = columns((0, (1, (2, first), (2, second))) for first, second in rng.integers(4, size=(300, 2)).tolist())
    n = skeletal.n_nodes
    of_a = skeletal.symbol == 1
    first, second = (np.where(of_a, rng.integers(3, size=n), 0) for _ in range(2))
    inner = {"x": first, "again": first, "leaf": skeletal.terminal, "y": np.where(of_a, second, 0)}
    return skeletal, FeatureColumns.of(inner, {"u": second, "once more": second, "v": np.where(of_a, first, 0)})


def test_parameters_of_absurd_size_are_an_error() -> None:
    with pytest.raises(EstimationError, match="cutoff"):
        spectral(*redundant(), EstimatorOptions(n_states=9, smoothing=None, cutoff=0.0))


def test_parameters_that_are_no_numbers_are_an_error() -> None:
    def broken(moments: LeafMoments) -> tuple[np.ndarray, np.ndarray]:
        return moments.rules, np.full_like(moments.total, np.nan)

    with pytest.raises(EstimationError):
        spectral(*redundant(), EstimatorOptions(), Priors(broken))
