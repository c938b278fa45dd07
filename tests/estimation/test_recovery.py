"""Recovered states: exact on populations, consistent on samples, sound on any data, a start of EM that ends high."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from benchmarks.known_models import PROBLEMS, Problem, compare, slope
from spectral_latent.estimation import (
    EM,
    Decomposition,
    EstimatorOptions,
    Moments,
    Random,
    Treebank,
    estimate,
    spectral_moments,
)
from spectral_latent.estimation._moments import moments_from_counts
from spectral_latent.estimation._projections import Projection
from spectral_latent.estimation._recovery import common_factor, recover_counts, recover_maps
from spectral_latent.inference import collapse, mean_node_counts
from spectral_latent.operators import Counts, ObservableOperators
from tests.estimation.test_pivots import check, shard_of, treebank_of
from tests.oracles import (
    Lpcfg,
    Rule,
    all_rules,
    change_basis,
    columns,
    dense_of,
    proper,
    random_lpcfg,
    tree_strategy,
)
from tests.sequence.hmms import random_hmm

OPTIONS = Decomposition(scaling=1.0, smoothing=None, cutoff=1e-6)


def profiles(model: ObservableOperators) -> list[np.ndarray]:
    """Describe every state (m_a, d) of each symbol by its rules, and by the terminals of itself and of its children."""
    rules = model.rules
    below = np.zeros((*model.root.shape, int(rules.leaf[:, 1].max()) + 1))
    for (a, x), row in zip(rules.leaf.tolist(), model.leaf, strict=True):
        below[a, :, x] = row
    columns = [[below[a, :m]] for a, m in enumerate(model.states)]
    for (a, b), matrix in zip(rules.unary.tolist(), model.unary, strict=True):
        columns[a].append((matrix @ below[b])[: model.states[a]])
    for (a, b, c), tensor in zip(rules.binary.tolist(), model.binary, strict=True):
        full = tensor.to_dense()
        columns[a].append(full.sum(axis=2) @ below[b, : full.shape[1]])
        columns[a].append(full.sum(axis=1) @ below[c, : full.shape[2]])
        columns[a].append(full.sum(axis=(1, 2))[:, None])
    return [np.concatenate(parts, axis=1) for parts in columns]


def matched(model: ObservableOperators, truth: ObservableOperators) -> ObservableOperators:
    """Reorder the states of a model so that they are like those of the truth, which has the same rules."""
    bases = []
    for ours, theirs in zip(profiles(model), profiles(truth), strict=True):
        distance = np.abs(theirs[:, None, :] - ours[None, :, :]).sum(axis=2)
        bases.append(np.eye(len(ours))[linear_sum_assignment(distance)[1]])
    return change_basis(model, bases)


def total_variation(model: ObservableOperators, truth: ObservableOperators) -> float:
    """Compute the total variation of the rules of a state, a mean over the nodes of trees, plus that of the roots."""
    model = matched(model, truth)
    rules = truth.rules
    gap = np.zeros(truth.root.shape)
    np.add.at(gap, rules.leaf[:, 0], np.abs(model.leaf - truth.leaf))
    np.add.at(gap, rules.unary[:, 0], np.abs(model.unary - truth.unary).sum(axis=2))
    for a, ours, theirs in zip(rules.binary[:, 0].tolist(), model.binary, truth.binary, strict=True):
        of_state = np.abs(ours.to_dense() - theirs.to_dense()).sum(axis=(1, 2))
        gap[a, : len(of_state)] += of_state
    nodes = mean_node_counts(truth)
    return float((gap * nodes).sum() / nodes.sum() + np.abs(model.root - truth.root).sum()) / 2


def aligned(model: ObservableOperators, truth: ObservableOperators) -> ObservableOperators:
    """Write a model over the rules of the truth, some of which a sample may lack."""
    nothing, something = (
        Counts(each.rules, each.states, share * each.root, each.leaf, each.unary, each.binary).scale(
            np.full(each.root.shape, share)
        )
        for each, share in ((truth, 0.0), (model, 1.0))
    )
    total = nothing + something
    rows = (total.root, total.leaf, total.unary, total.binary)
    return ObservableOperators(total.rules, total.states, *rows, probabilities=True)


def errors(problem: Problem, sizes: tuple[int, ...], seeds: list[int]) -> np.ndarray:
    """Compute the total variation of recovered models, (sizes, seeds)."""
    options = replace(OPTIONS, n_states=problem.n_states)
    return np.array(
        [
            [
                total_variation(
                    aligned(estimate(problem.treebank(n, seed), options).operators, problem.model), problem.model
                )
                for seed in seeds
            ]
            for n in sizes
        ]
    )


class Maps(NamedTuple):
    """A stand-in for the maps of features, of which only the singular values are read."""

    sigma: np.ndarray


def factored(model: Lpcfg) -> Lpcfg:
    """The model in which the states of two children are independent given the rule and the parent's state."""
    for rule, array in model.t.items():
        total = array.sum(axis=(1, 2))
        both = array.sum(axis=2)[:, :, None] * array.sum(axis=1)[:, None, :]
        model.t[rule] = both / total[:, None, None]
    return model


def with_finite_trees(model: Lpcfg) -> Lpcfg:
    """The model in which rules that branch have a quarter of the probability in every state."""
    for a, m in enumerate(model.states):
        kinds = [(kind, model.of(kind)) for kind in ("leaf", "unary", "binary")]
        mine = [(array, kind == "binary") for kind, table in kinds for rule, array in table.items() if rule[0] == a]
        for is_binary in (False, True):
            total = sum((array.reshape(m, -1).sum(axis=1) for array, which in mine if which == is_binary), np.zeros(m))
            wanted = 0.25 if is_binary else 0.75
            for array, which in mine:
                if which == is_binary:
                    array *= (wanted / total).reshape(-1, *([1] * (array.ndim - 1)))
    return proper(model)


def lpcfg(seed: int, states: list[int], rules: dict[str, list[Rule]]) -> ObservableOperators:
    """A random factored model."""
    model = with_finite_trees(factored(random_lpcfg(np.random.default_rng(seed), states, rules)))
    return model.operators(probabilities=True)


POPULATIONS = {
    "phrases": lpcfg(0, [3, 3], all_rules(2, 4)),
    "phrases of unequal numbers of states": lpcfg(1, [5, 3], all_rules(2, 4)),
    "dependency trees": lpcfg(
        2, [4, 4], {"leaf": [(0, 0), (0, 1), (0, 2)], "unary": [(1, 0)], "binary": [(0, 0, 1), (1, 1, 1)]}
    ),
    "a chain": random_hmm(np.random.default_rng(3), 4, 6, stop=(0.2, 0.5)).operators(),
}


def expected_counts_of(model: ObservableOperators) -> ObservableOperators:
    """How often each rule occurs with each choice of states in one tree on average."""
    return dense_of(model).scale(mean_node_counts(model))


def population_moments(model: ObservableOperators, rng: np.random.Generator) -> Moments:
    """The moments of y = G e_h and z = G⁻ᵀ e_h / γ_h for random matrices G, at a thousand trees."""
    counts = expected_counts_of(model)
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


@pytest.mark.parametrize("name", POPULATIONS)
def test_the_parameters_of_a_population_are_recovered(name: str) -> None:
    model = POPULATIONS[name]
    moments = population_moments(model, np.random.default_rng(0))
    options = EstimatorOptions(smoothing=None, cutoff=1e-6)
    projection = Projection([], [Maps(np.ones(m)) for m in model.states], model.states, model.states, options)
    counts = recover_counts(moments, projection, options)
    assert total_variation(ObservableOperators.probabilities_of(counts), model) < 1e-5


def test_the_common_factor_of_tensors_is_found_where_children_have_fewer_states() -> None:
    """Σ_h first_h ⊗ second_rh ⊗ third_rh with more terms than the second and third legs of most tensors are long."""
    rng = np.random.default_rng(4)
    first = rng.normal(size=(4, 4))
    tensors = np.zeros((5, 4, 4, 4))
    for r, (j, k) in enumerate([(3, 2), (2, 3), (4, 2), (3, 3), (2, 4)]):
        tensors[r, :, :j, :k] = np.einsum("hi,hj,hk->ijk", first, rng.normal(size=(4, j)), rng.normal(size=(4, k)))
    cosine = common_factor(tensors) @ (first / np.linalg.norm(first, axis=1, keepdims=True)).T
    assert sorted(np.abs(cosine).argmax(axis=1)) == [0, 1, 2, 3]
    assert np.abs(cosine).max(axis=1) == pytest.approx(np.ones(4), abs=1e-6)


def test_a_symbol_whose_shares_would_be_negative_gets_its_pivots() -> None:
    """A treebank far from any factored model."""
    trees = columns([(0, (1, 0), (1, 1)), (0, (1, 1), (1, 0)), (0, (0, (1, 0), (1, 1)), (1, 2))] * 60)
    shard = shard_of(trees)
    options = EstimatorOptions(n_states=4)
    projection = Projection.learn([shard], options)
    moments = spectral_moments(Treebank.of([shard]), projection)
    for a, maps in enumerate(recover_maps(moments, projection, options)):
        assert maps.gamma.min() > 0
        assert maps.gamma.sum() == pytest.approx(1.0)
        assert maps.inside.shape == maps.outside.shape == (len(maps.gamma), projection.states[a])


# ---------------------------------------------------------------------------------------------------------------------
# Samples


def test_errors_fall_with_the_root_of_the_sample() -> None:
    """The total variation of all parameters, of a latent PCFG and a hidden Markov model."""
    sizes = (2_000, 32_000)
    found = np.concatenate([errors(PROBLEMS[number], sizes, [0]) for number in (0, 11)], axis=1)
    assert slope(sizes, found) == pytest.approx(-0.5, abs=0.15)
    assert found[-1].max() < 0.1


@pytest.mark.slow
def test_spectral_probabilities_converge_and_those_of_as_many_clusters_do_not() -> None:
    """Smoothing, scaling and cutoff as by default: their bias vanishes, that of hard clusters stays."""
    found = dict(compare(PROBLEMS[:1], (2_000, 32_000), [0]))
    assert found["spectral"][1, 0] < 0.05 < 0.3 < found["m clusters"][1, 0]
    assert found["spectral"][1, 0] < 0.5 * found["spectral"][0, 0]


def test_em_from_recovered_states_ends_as_high_as_the_best_of_random_starts() -> None:
    treebank = PROBLEMS[0].treebank(500, seed=0)
    m = PROBLEMS[0].n_states
    starts = [OPTIONS.with_settings(n_states=m), *(Random(m, smoothing=None, seed=seed) for seed in range(3))]
    climbs = (EM(start, iterations=200, tolerance=1e-4, state_smoothing=0.0) for start in starts)
    recovered, *others = (climb.fit(treebank).objective[-1] for climb in climbs)
    assert (recovered - max(others)) / 500 > -0.01


# ---------------------------------------------------------------------------------------------------------------------
# Any data


@given(st.lists(tree_strategy(), min_size=1, max_size=6), st.integers(1, 40))
def test_any_trees(trees: list, times: int) -> None:
    treebank = columns(trees * times)
    treebank = replace(treebank, symbol=np.unique(treebank.symbol, return_inverse=True)[1])
    check(estimate(treebank_of(treebank), EstimatorOptions("moments", n_states=4)).operators, treebank)
