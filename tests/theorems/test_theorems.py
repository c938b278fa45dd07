"""The theorems of the long paper, each as one test over every structure; docs/mathematics.md refers to them.

Populations are enumerated, every tree with every choice of states, so that expectations are exact.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from spectral_latent.estimation import (
    EstimatorOptions,
    FeatureColumns,
    Projection,
    Shard,
    Treebank,
    estimate,
    operators_from_moments,
)
from spectral_latent.estimation.progress import LoweredStates
from spectral_latent.estimation.svd import truncated_svd
from spectral_latent.inference import collapse, inside, marginals, outside, total_weight, tree_weights
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import Forest
from tests.oracles import change_basis, cky_forest, figure_2, plain
from tests.theorems.populations import STRUCTURES, Population, random_model, with_twin
from tests.theorems.test_consistency import one_hot

EXACT = EstimatorOptions(n_states=5, scaling=None, smoothing=None, cutoff=1e-7)
TOLERANCE = 1e-10


@pytest.fixture(scope="module", params=STRUCTURES)
def population(request: pytest.FixtureRequest) -> Population:
    return Population.of(random_model(STRUCTURES[request.param], np.random.default_rng(3)))


@pytest.fixture(scope="module")
def branching() -> Population:
    """One population, for what has nothing to do with structure."""
    return Population.of(random_model(STRUCTURES["binary trees"], np.random.default_rng(3)))


def probabilities(operators: ObservableOperators, population: Population) -> np.ndarray:
    return plain(tree_weights(operators, Forest.of_trees(population.skeletal, operators.rules)))


def check(operators: ObservableOperators, population: Population) -> None:
    """Every tree's probability, and the marginals of the most ambiguous sentences, are those of the enumeration."""
    assert operators.rules.equals(population.model.rules())
    assert probabilities(operators, population) == pytest.approx(population.p, rel=TOLERANCE)
    sentences = population.sentences(5)
    parsed = cky_forest(population.model, list(sentences))
    inner = inside(operators, parsed.forest)
    total = np.exp(total_weight(operators, parsed.forest, inner).log)
    mu = marginals(operators, parsed.forest, inner, outside(operators, parsed.forest, inner))
    expected = [population.item_probability(trees) for trees in sentences.values()]
    for (number, item), found in zip(parsed.items, mu, strict=True):
        p = population.p[list(sentences.values())[number]].sum()
        assert total[number] == pytest.approx(p, rel=TOLERANCE)
        assert found * p == pytest.approx(expected[number][item], rel=TOLERANCE, abs=TOLERANCE * p)


def estimated(population: Population, options: EstimatorOptions = EXACT) -> tuple[Projection, ObservableOperators]:
    """Projections and operators from the exact moments of a population."""
    projection = population.projection(options)
    return projection, operators_from_moments(population.moments(projection), options.smoothing)


# The model and Theorem 1


def test_figures_2_and_3_are_sums_over_states_and_trees(population: Population) -> None:
    assert population.p.sum() == pytest.approx(1.0)
    assert max(map(len, population.sentences(5).values())) > 3
    found = [figure_2(population.model, tree) for tree in population.trees]
    assert found == pytest.approx(population.p, rel=TOLERANCE)
    check(population.model.operators(), population)


def test_theorem_1_invertible_maps_change_nothing(population: Population) -> None:
    rng = np.random.default_rng(0)
    orthogonal = [[np.linalg.qr(rng.normal(size=(m, m)))[0] for _ in range(2)] for m in population.model.states]
    bases = [left * rng.uniform(0.5, 2.0, size=len(left)) @ right for left, right in orthogonal]
    check(change_basis(population.model.operators(), bases), population)


# Lemma 1 and Theorem 2


def means(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """E[row | state]: rows (n, d) and p(node, state) (n, m) to (d, m)."""
    return rows.T @ weights / weights.sum(axis=0)


def test_lemma_1_singular_vectors_satisfy_condition_2(population: Population) -> None:
    """Ω = I diag(γ) Jᵀ, whose singular vectors make G = Uᵀ I and K = Vᵀ J invertible, and Σ = G diag(γ) Kᵀ."""
    for m, nodes in zip(population.model.states, population.skeletal.nodes_by_symbol(), strict=True):
        phi, psi = (one_hot(side[nodes]) for side in (population.features.inside, population.features.outside))
        states = population.states[nodes, :m]
        of_node, gamma = states.sum(axis=1) / states.sum(), states.sum(axis=0) / states.sum()
        i, j = means(phi.toarray(), states), means(psi.toarray(), states)
        assert np.linalg.matrix_rank(i) == np.linalg.matrix_rank(j) == m and (gamma > 0).all()  # condition 1
        omega = phi.T @ (of_node[:, None] * psi.toarray())
        np.testing.assert_allclose(omega, i * gamma @ j.T, rtol=TOLERANCE, atol=1e-14)  # equation 21
        u, sigma, v = truncated_svd(sparse.csr_array(omega), m)
        g, k = u.T @ i, v.T @ j
        assert max(np.linalg.cond(g), np.linalg.cond(k)) < 1e5  # condition 2
        assert g * gamma @ k.T == pytest.approx(np.diag(sigma), rel=1e-8, abs=1e-12)  # equation 19


def test_theorem_2_exact_moments_give_exact_probabilities(population: Population) -> None:
    projection, operators = estimated(population)
    assert projection.states.tolist() == population.model.states
    check(operators, population)


def test_the_default_options_are_exact_in_the_limit(population: Population) -> None:
    """More states than the model has, smoothing, scaling and the cutoff do no harm where n is as good as infinite."""
    shard = Shard.of(population.skeletal, population.features, 1e30 * population.p)
    operators = estimate(Treebank.of([shard])).operators
    assert operators.states.tolist() == population.model.states
    assert np.log(probabilities(operators, population)) == pytest.approx(np.log(population.p), rel=0.0, abs=TOLERANCE)


def test_theorem_2_the_operators_are_the_model_in_the_basis_of_the_projections(population: Population) -> None:
    """The theorem's three claims: C = T(·G^b, ·G^c) (G^a)⁻¹, c∞ = q (G^a)⁻¹ and c¹ = G^a π with G^a = (U^a)ᵀ I^a."""
    projection, operators = estimated(population)
    projected = population.projected(projection)
    groups = zip(population.model.states, population.skeletal.nodes_by_symbol(), strict=True)
    bases = [means(projected.y[nodes, :m], population.states[nodes, :m]) for m, nodes in groups]  # E[y | state]
    expected = change_basis(population.model.operators(), bases)
    for name in ("root", "leaf", "unary"):
        array = getattr(expected, name)
        assert getattr(operators, name) == pytest.approx(array, rel=1e-8, abs=1e-9 * np.abs(array).max(initial=0.0))
    for found, tensor in zip(operators.binary, expected.binary, strict=True):
        full = tensor.to_dense()
        assert found.to_dense() == pytest.approx(full, rel=1e-8, abs=1e-9 * np.abs(full).max())


# The conditions, and what happens where they fail


@pytest.mark.parametrize("share", [0.3, 0.0])
def test_states_that_are_alike_or_never_reached_are_dropped_without_loss(branching: Population, share: float) -> None:
    """Condition 1 fails, of the rank of I or of γ > 0: the rank of Ω is that of the model without such a state."""
    twins = Population.of(with_twin(branching.model, 0, 1, share))
    assert twins.trees == branching.trees and twins.p == pytest.approx(branching.p)
    assert twins.model.states == [5, 3]
    projection, operators = estimated(twins)
    assert projection.lowered == (LoweredStates(0, 5, 4, math.inf), LoweredStates(1, 5, 3, math.inf))
    check(operators, branching)


def test_features_that_tell_no_states_apart_leave_the_plain_grammar(population: Population) -> None:
    """Condition 2 fails: Ω has rank one, and what is learnt is the plain PCFG with the same expected rule counts."""
    same = np.zeros((population.skeletal.n_nodes, 1), dtype=np.int64)  # a feature that every node has
    blind = replace(population, features=FeatureColumns(same, same))
    projection, operators = estimated(blind)
    assert projection.lowered == tuple(LoweredStates(a, m, 1, math.inf) for a, m in enumerate(projection.supported))
    plain = collapse(replace(population.model.operators(), probabilities=True))
    assert probabilities(operators, population) == pytest.approx(probabilities(plain, population), rel=1e-9)
    assert np.abs(probabilities(operators, population) - population.p).sum() > 0.05
