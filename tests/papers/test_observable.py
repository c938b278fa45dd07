"""The estimators of Dhillon et al. (2012) on whole populations, and against Algorithm 1 in loops."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.papers.observable import estimate_corrected_operators, estimate_paper_operators
from benchmarks.papers.observations import Observations, embed_by_arcs
from spectral_latent.estimation import EstimationError
from spectral_latent.inference import tree_weights
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import FloatArray, Forest
from tests.dependency.trees import (
    LatentTrees,
    Sentence,
    children,
    estimates,
    every_shape,
    random_model,
    random_tree,
    s_trees,
)

K, V = 3, 6
Estimator = Callable[[Observations, FloatArray], ObservableOperators]
ESTIMATORS: list[Estimator] = [estimate_paper_operators, estimate_corrected_operators]


def invertible(rng: np.random.Generator, k: int) -> np.ndarray:
    """A random matrix of condition 10 at most."""
    while np.linalg.cond(matrix := rng.normal(size=(k, k))) > 10:
        pass
    return matrix


class Case:
    """A model, all of its population, and sentences with their probabilities."""

    def __init__(self, seed: int, *, stationary: bool) -> None:
        rng = np.random.default_rng(seed)
        self.model = random_model(rng, K, V, stationary=stationary)
        self.population = self.model.population(rng)
        self.sentences = every_shape(rng, V)
        self.p = np.array([self.model.probability(sentence) for sentence in self.sentences])
        self.representations = {
            "bigrams": embed_by_arcs(self.population, K),
            "random": rng.normal(size=(V, K)),  # its range is not that of O
        }

    def errors(self, estimator: Estimator, u: str) -> np.ndarray:
        """|p̂ / p - 1| of each sentence."""
        return abs(estimates(estimator(self.population, self.representations[u]), self.sentences) / self.p - 1)


@pytest.fixture(scope="module", params=[0, 1])
def stationary(request: pytest.FixtureRequest) -> Case:
    return Case(request.param, stationary=True)


@pytest.fixture(scope="module", params=[0, 1])
def changing(request: pytest.FixtureRequest) -> Case:
    """The distribution of states differs between the words of a tree."""
    return Case(request.param, stationary=False)


# ---------------------------------------------------------------------------------------------------------------------
# From populations


def test_paper_is_exact_on_its_own_conditions(stationary: Case) -> None:
    assert stationary.errors(estimate_paper_operators, "bigrams").max() < 1e-8


def test_paper_is_wrong_where_representations_have_another_range_than_emissions(stationary: Case) -> None:
    assert stationary.errors(estimate_paper_operators, "random").max() > 1


def test_paper_is_wrong_where_the_distribution_of_states_changes(changing: Case) -> None:
    assert changing.errors(estimate_paper_operators, "bigrams").max() > 1


@pytest.mark.parametrize("u", ["bigrams", "random"])
def test_corrected_is_exact_without_those_conditions(stationary: Case, changing: Case, u: str) -> None:
    assert stationary.errors(estimate_corrected_operators, u).max() < 1e-8
    assert changing.errors(estimate_corrected_operators, u).max() < 1e-8


def test_a_hidden_markov_model_is_a_chain_of_right_children(changing: Case) -> None:
    """Against the forward algorithm, T = T_R."""
    model = changing.model
    operators = estimate_corrected_operators(changing.population, changing.representations["random"])
    rng = np.random.default_rng(0)
    strings = [tuple(rng.integers(0, V, n).tolist()) for n in (1, 2, 3, 6, 12)]
    wanted = []
    for words in strings:
        alpha = model.initial * model.emission[words[0]]
        for x in words[1:]:
            alpha = (model.right @ alpha) * model.emission[x]
        wanted.append(alpha.sum())
    found = estimates(operators, [(words, tuple(range(len(words)))) for words in strings])
    assert found == pytest.approx(np.array(wanted), rel=1e-8)


def test_the_range_of_bigrams_is_that_of_emissions(changing: Case) -> None:
    u = changing.representations["bigrams"]
    assert u @ u.T @ changing.model.emission == pytest.approx(changing.model.emission, abs=1e-10)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_transitions_of_lower_rank_are_refused(estimator: Estimator) -> None:
    rng = np.random.default_rng(2)
    model = random_model(rng, K, V, stationary=False)
    model.left[:, 2] = (model.left[:, 0] + model.left[:, 1]) / 2
    population = model.population(rng)
    with pytest.raises(EstimationError, match=r"Λ_L cannot be inverted .* take fewer columns, or an estimator"):
        estimator(population, embed_by_arcs(population, K))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_more_dimensions_than_states_are_refused(stationary: Case, estimator: Estimator) -> None:
    u = np.random.default_rng(0).normal(size=(V, K + 1))
    with pytest.raises(EstimationError, match="fewer states than the 4 columns of U"):
        estimator(stationary.population, u)


def test_in_one_dimension_words_do_not_depend_on_one_another(changing: Case) -> None:
    u = embed_by_arcs(changing.population, 1)
    pairs = [((x, y), (0, 1)) for x, y in ((2, 3), (4, 5), (2, 5), (4, 3))]
    one, two, three, four = estimates(estimate_corrected_operators(changing.population, u), pairs)
    assert one * two == pytest.approx(three * four, rel=1e-12)


# ---------------------------------------------------------------------------------------------------------------------
# From samples


def sample(seed: int, n: int = 60) -> list[Sentence]:
    """Random words on random trees, in which some word has children on both sides."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, n).tolist()
    return [(tuple(rng.integers(0, V, size).tolist()), random_tree(rng, size)) for size in sizes]


def algorithm_1(sentences: list[Sentence], u: np.ndarray, *, corrected: bool) -> Callable[[Sentence], float]:
    """p̂ as the paper has it, from counts made in loops; with moments, c₁ and y_x of the correction if wanted."""
    singles, roots, triples, near = [], [], [], np.zeros((V, 4, V))
    pairs: dict[str, list[np.ndarray]] = {"left": [], "right": []}
    for words, heads in sentences:
        for word, x in enumerate(words, start=1):
            singles.append(u[x])
            sides = children(heads, word)
            for number, (side, mine) in enumerate(zip(("left", "right"), sides, strict=True)):
                for child in mine:
                    c = words[child - 1]
                    pairs[side].append(np.outer(u[x], u[c]))
                    near[x, number, c] += 1
                    near[c, 2 + number, x] += 1
            triples += [(u[words[i - 1]], u[x], u[words[j - 1]]) for i, j in itertools.product(*sides)]
        roots.append(u[words[heads.index(0)]])
    mu, c_1 = np.mean(singles, axis=0), np.mean(singles, axis=0)
    lambda_l, lambda_r = (np.mean(pairs[side], axis=0) for side in ("left", "right"))
    y = u @ np.linalg.inv(u.T @ u)
    if corrected:
        mu, c_1 = np.mean([r for _, _, r in triples], axis=0), np.mean(roots, axis=0)
        lambda_l = np.mean([np.outer(p, l) for l, p, _ in triples], axis=0)
        lambda_r = np.mean([np.outer(p, r) for _, p, r in triples], axis=0)
        seen = np.einsum("xbz,zi->xbi", near, u).reshape(V, -1)
        explained = u.T @ seen  # normal equations in the metric of an orthonormal basis: (UᵀU)⁻¹ on each neighbour
        metric = np.kron(np.eye(4), np.linalg.inv(u.T @ u))
        y = seen @ metric @ explained.T @ np.linalg.inv(explained @ metric @ explained.T)
    omega = np.mean([np.outer(l, r) for l, _, r in triples], axis=0)
    e_l, e_r = omega @ np.linalg.inv(lambda_r), omega.T @ np.linalg.inv(lambda_l)

    def d(v: np.ndarray) -> np.ndarray:
        k_v = np.mean([np.outer(l, r) * (p @ v) for l, p, r in triples], axis=0)
        return np.asarray(np.linalg.inv(e_l) @ k_v @ np.linalg.inv(lambda_r))

    def p_hat(sentence: Sentence) -> float:
        words, heads = sentence

        def r(word: int) -> np.ndarray:
            row = mu @ np.linalg.inv(lambda_r) @ d(y[words[word - 1]])
            left, right = children(heads, word)
            for child in right:
                row = row @ d(e_r.T @ r(child))
            for child in left:
                row = row @ d(e_l.T @ r(child))
            return row

        return float(r(heads.index(0) + 1) @ c_1)

    return p_hat


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.integers(1, K))
def test_estimates_are_those_of_algorithm_1_in_loops(seed: int, k: int) -> None:
    """Also of a U that is not orthonormal."""
    sentences = sample(seed)
    u = np.random.default_rng(seed).uniform(-1, 1, size=(V, k))
    trees = Observations.of(sentences, V)
    for estimator, corrected in ((estimate_paper_operators, False), (estimate_corrected_operators, True)):
        wanted = np.array([*map(algorithm_1(sentences, u, corrected=corrected), sentences)])
        assert estimates(estimator(trees, u), sentences) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_basis_of_representations_does_not_matter(estimator: Estimator) -> None:
    rng = np.random.default_rng(4)
    sentences = sample(4)
    trees, u = Observations.of(sentences, V), rng.normal(size=(V, K))
    one, other = (estimates(estimator(trees, basis), sentences) for basis in (u, u @ invertible(rng, K)))
    assert other == pytest.approx(one, rel=1e-6)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_weight_is_how_often_a_sentence_occurs(estimator: Estimator) -> None:
    sentences = sample(5)
    times = np.random.default_rng(5).integers(0, 4, len(sentences)).tolist()
    repeated = [sentence for sentence, n in zip(sentences, times, strict=True) for _ in range(n)]
    u = np.random.default_rng(5).normal(size=(V, 2))
    one = estimates(estimator(Observations.of(sentences, V, times), u), sentences)
    other = estimates(estimator(Observations.of(repeated, V), u), sentences)
    assert one == pytest.approx(other, rel=1e-8)


def test_corrected_approaches_the_model_with_data() -> None:
    """The median error of log p̂ from ten thousand sentences on one tree, and from a million."""
    model = LatentTrees(
        np.array([0.4, 0.6]),
        np.array([[0.9, 0.2], [0.1, 0.8]]),
        np.array([[0.2, 0.7], [0.8, 0.3]]),
        np.array([[0.5, 0.1], [0.3, 0.1], [0.1, 0.3], [0.1, 0.5]]),
    )
    rng = np.random.default_rng(0)
    heads = (2, 0, 2)
    table = model.sentences(heads)
    every = [(words, heads) for words in np.ndindex(*table.shape)]
    errors = []
    for n in (10**4, 10**6):
        drawn = Observations.of(every, 4, rng.multinomial(n, table.ravel()))
        found = estimates(estimate_corrected_operators(drawn, embed_by_arcs(drawn, 2)), every)
        errors.append(np.median(abs(np.log(abs(found)) - np.log(table.ravel()))))
    assert errors[1] < 0.3 * errors[0] < 0.1


# ---------------------------------------------------------------------------------------------------------------------
# What is refused


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("heads", [(0,), (0, 1, 1), (3, 3, 0), (0, 1, 2)])
def test_triples_are_needed(estimator: Estimator, heads: tuple[int, ...]) -> None:
    trees = Observations.of([(tuple(range(len(heads))), heads)], V)
    with pytest.raises(EstimationError, match="no word has both a left and a right child"):
        estimator(trees, np.ones((V, 1)))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_sentences_that_do_not_count_are_no_evidence(estimator: Estimator) -> None:
    trees = Observations.of([((0, 1, 2), (2, 0, 2)), ((0, 1), (2, 0))], V, [0.0, 1.0])
    with pytest.raises(EstimationError, match="no word has both a left and a right child"):
        estimator(trees, np.ones((V, 1)))


def test_roots_are_needed() -> None:
    trees = Observations.of([((0, 1, 2), (2, 3, 2))], V)
    with pytest.raises(EstimationError, match="no sentence has a root"):
        estimate_corrected_operators(trees, np.ones((V, 1)))


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("u", [np.ones((V + 1, 1)), np.ones(V), np.ones((V, 0)), np.full((V, 1), np.nan)])
def test_representations_that_do_not_fit(estimator: Estimator, u: np.ndarray) -> None:
    message = re.escape(f"U must be finite, with {V} rows, one a word; its shape is {u.shape}")
    with pytest.raises(ValueError, match=message):
        estimator(Observations.of(sample(0), V), u)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_columns_that_depend_on_one_another(estimator: Estimator) -> None:
    with pytest.raises(EstimationError, match="the 2 columns of U depend on one another"):
        estimator(Observations.of(sample(0), V), np.ones((V, 2)))


# ---------------------------------------------------------------------------------------------------------------------
# A treebank


def test_a_treebank_as_another_program_found_it(require_corpus: Callable[[str], Any]) -> None:
    """Share of gold trees with p̂ ≤ 0, and median of log |p̂| a word, over tags of the held-out files."""
    corpus = require_corpus("dependency_treebank")
    parts: dict[bool, list[tuple[list[str], list[int]]]] = {True: [], False: []}
    for name in corpus.fileids():
        if (digit := int(name[4:8]) % 10) != 9:
            for graph in corpus.parsed_sents(name):
                nodes = [graph.nodes[i] for i in range(1, len(graph.nodes))]
                parts[digit == 8].append(([node["tag"] for node in nodes], [node["head"] for node in nodes]))
    index = {tag: i for i, tag in enumerate(sorted({tag for tags, _ in parts[False] for tag in tags}))}
    train, held_out = ([(tuple(index[t] for t in tags), tuple(heads)) for tags, heads in parts[dev]] for dev in (0, 1))
    trees, s = Observations.of(train, len(index)), s_trees(held_out)
    for k, share, median in ((4, 0.501, 2.4), (8, 0.526, 7.3), (10, 0.476, 6.2), (16, 0.508, 7.1)):
        operators = estimate_paper_operators(trees, embed_by_arcs(trees, k))
        weight = tree_weights(operators, Forest.of_trees(s, operators.rules))
        assert np.mean(weight.sign <= 0) == pytest.approx(share, abs=0.005)
        assert np.median(weight.log / [len(words) for words, _ in held_out]) == pytest.approx(median, abs=0.1)
