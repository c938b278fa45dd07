"""Baselines of unsupervised tagging: Brown clusters by brute force, gradients by differences, estimates by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from benchmarks.papers.baselines import decode_states, score_per_word, train_baum_welch, train_cluster_hmm
from benchmarks.papers.brown import find_brown_clusters
from benchmarks.papers.featurized import FeaturizedOptions, HmmWeights, train_featurized_hmm, word_features
from spectral_latent.anchors import WordTypes
from spectral_latent.estimation import EstimationError
from spectral_latent.sequence import Sequences
from tests.sequence.hmms import draw_strings, forward_backward, probability, random_hmm

Strings = list[list[int]]
CHASES = [["The", "cat", "sees", "a", "dog"], ["a", "dog-2", "sleeps"], ["the", "dog", "sleeps"], ["a", "cat", "sees"]]


def by_frequency(strings: Strings) -> tuple[Strings, int]:
    """The same strings with symbols numbered by falling frequency, and how many there are."""
    symbols = [x for row in strings for x in row]
    order = sorted(set(symbols), key=lambda x: (-symbols.count(x), symbols.index(x)))
    return [[order.index(x) for x in row] for row in strings], len(order)


# ---------------------------------------------------------------------------------------------------------------------
# Brown clusters


END = -1


def bigrams(strings: Strings) -> list[tuple[int, int]]:
    """Neighbours, and the boundary with the first and the last."""
    return [pair for row in strings for pair in itertools.pairwise([END, *row, END])]


def information(groups: list[list[int]], pairs: list[tuple[int, int]]) -> float:
    """Σ C(c d) log(C(c d) N / (C(c ·) C(· d))) over the clusters made so far, from the list of all bigrams."""
    total = 0.0
    for c, d in itertools.product([[END], *groups], repeat=2):
        both = sum(x in c and y in d for x, y in pairs)
        before, after = sum(x in c for x, _ in pairs), sum(y in d for _, y in pairs)
        total += both * math.log(both * len(pairs) / (before * after)) if both else 0.0
    return total


def greedy(strings: Strings, n: int, m: int) -> list[list[int]]:
    """Brown et al. (1992), section 3: every merge tried out, and mutual information computed anew."""
    pairs = bigrams(strings)
    groups = [[x] for x in range(m)]
    free = m
    for x in range(m, n):
        groups.insert(free, [x])
        now, best = information(groups, pairs), (0, 1, math.inf)
        for i, j in itertools.combinations(range(m + 1), 2):
            merged = [group for k, group in enumerate(groups) if k not in (i, j)] + [groups[i] + groups[j]]
            loss = now - information(merged, pairs)
            if loss < best[2] - 1e-7:
                best = i, j, loss
        i, free, _ = best
        groups[i] += groups.pop(free)
    return sorted(sorted(group) for group in groups)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 8), min_size=1, max_size=8), min_size=2, max_size=12),
    st.integers(1, 4),
)
def test_brown_clusters_are_those_of_brute_force(strings: Strings, m: int) -> None:
    strings, n = by_frequency(strings)
    cluster = find_brown_clusters(Sequences.of(strings), n, m)
    found = [np.flatnonzero(cluster == c).tolist() for c in range(cluster.max() + 1)]
    assert sorted(found) == (greedy(strings, n, m) if n > m else [[x] for x in range(n)])
    assert [group[0] for group in found] == sorted(group[0] for group in found)


def test_brown_clusters_of_more_types() -> None:
    strings, n = by_frequency(draw_strings(random_hmm(np.random.default_rng(3), 4, 25), 150, np.random.default_rng(3)))
    cluster = find_brown_clusters(Sequences.of(strings), n, 5)
    found = sorted(np.flatnonzero(cluster == c).tolist() for c in range(5))
    assert found == greedy(strings, n, 5)


def test_mutual_information_is_the_likelihood_of_clusters() -> None:
    """log p(data) of relative frequencies = N I(clusters) - N H(types), where ends of sentences are types."""
    strings, n = by_frequency(draw_strings(random_hmm(np.random.default_rng(4), 3, 9), 30, np.random.default_rng(4)))
    words = [[f"w{x}" for x in row] for row in strings]
    model = train_cluster_hmm(WordTypes.of(words), n_states=3)
    groups = [np.flatnonzero(row).tolist() for row in model.emission]
    pairs = bigrams(strings)
    count = np.bincount([y + 1 for _, y in pairs], minlength=n + 1)
    expected = information(groups, pairs) + float(count @ np.log(count / len(pairs)))
    found = score_per_word(model, WordTypes.of(words).sequences) * sum(map(len, strings))
    assert found == pytest.approx(expected, rel=1e-12)


def test_the_clusters_of_a_brown_model_are_found() -> None:
    """Classes that follow one another almost surely, and types that tell their class."""
    rng = np.random.default_rng(0)
    model = random_hmm(rng, 4, 40, stop=(0.05, 0.1))
    model.transition[:] = 0.02 + 0.92 * np.roll(np.eye(4), 1, axis=1)
    model.emission[:] = np.kron(np.eye(4), rng.dirichlet(np.full(10, 5.0)))
    strings = draw_strings(model, 1500, rng)
    symbols = np.concatenate([np.array(row) for row in strings])
    order = np.argsort(-np.bincount(symbols, minlength=40), kind="stable")
    rank = np.argsort(order)
    cluster = find_brown_clusters(Sequences.of([rank[row] for row in strings]), 40, 4)
    assert len({(x // 10, c) for x, c in zip(order.tolist(), cluster.tolist(), strict=True)}) == 4


@pytest.mark.parametrize("strings", [[[0], [0], [1], [2]], [[0, 0, 0, 0]]])
def test_brown_clusters_without_bigrams_and_of_one_type(strings: Strings) -> None:
    n = max(x for row in strings for x in row) + 1
    assert set(find_brown_clusters(Sequences.of(strings), n, 2).tolist()) == set(range(min(n, 2)))


def test_no_clusters_are_an_error() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        find_brown_clusters(Sequences.of([[0]]), 1, 0)


def test_estimates_of_clusters_by_hand() -> None:
    """Three types are three clusters: relative frequencies of what was seen."""
    types = WordTypes.of([["a", "b"], ["a", "a", "c"], ["b"]])
    assert types.names == ["a", "b", "c"]
    model = train_cluster_hmm(types, n_states=5)
    np.testing.assert_allclose(model.initial, [2 / 3, 1 / 3, 0])
    np.testing.assert_allclose(model.transition[0], [1 / 3, 1 / 3, 1 / 3])
    np.testing.assert_allclose(model.stop, [0, 1, 1])
    np.testing.assert_allclose(model.emission, np.eye(3))


def test_estimates_of_merged_clusters_by_hand() -> None:
    types = WordTypes.of([["the", "cat", "runs"], ["the", "dog", "runs"], ["the", "cat", "sits"]])
    cluster = dict(zip(types.names, find_brown_clusters(types.sequences, 5, 3).tolist(), strict=True))
    assert cluster == {"the": 0, "cat": 1, "runs": 2, "dog": 1, "sits": 2}
    model = train_cluster_hmm(types, n_states=3)
    np.testing.assert_allclose(model.emission[1], [0, 2 / 3, 0, 1 / 3, 0])
    np.testing.assert_allclose(model.transition[0], [0, 1, 0])
    np.testing.assert_allclose(model.stop, [0, 0, 1])
    assert decode_states(model, types.sequences).tolist() == [0, 1, 2] * 3
    expected = math.log(2 / 3 * 2 / 3) + math.log(1 / 3 * 2 / 3) + math.log(2 / 3 * 1 / 3)
    assert score_per_word(model, types.sequences) == pytest.approx(expected / 9)


# ---------------------------------------------------------------------------------------------------------------------
# Log-linear models


def weights(rng: np.random.Generator, m: int, s: int) -> HmmWeights:
    return HmmWeights(rng.normal(size=m), rng.normal(size=(m, m + 1)), rng.normal(size=(m, s)))


@pytest.mark.parametrize("penalty", [0.0, 0.3])
def test_gradient_by_differences(penalty: float) -> None:
    rng = np.random.default_rng(1)
    types = WordTypes.of(CHASES)
    phi, trees = word_features(types, cutoff=2), types.sequences.trees(n_tags=1)
    at = weights(rng, 3, phi.shape[1])

    def value(vector: np.ndarray) -> float:
        return HmmWeights.of_vector(vector, 3).value_and_gradient(phi, trees, penalty)[0]

    _, gradient = at.value_and_gradient(phi, trees, penalty)
    step = 1e-5 * np.eye(len(at.vector))
    differences = [(value(at.vector + d) - value(at.vector - d)) / 2e-5 for d in step]
    np.testing.assert_allclose(gradient.vector, differences, rtol=1e-6, atol=1e-8)


def test_value_is_the_penalised_likelihood() -> None:
    types = WordTypes.of(CHASES)
    phi = word_features(types, cutoff=1)
    at = weights(np.random.default_rng(2), 2, phi.shape[1])
    value, _ = at.value_and_gradient(phi, types.sequences.trees(n_tags=1), 0.5)
    model = at.hidden(phi)
    terminals = np.split(types.sequences.terminal, types.sequences.start[1:-1])
    likelihood = sum(math.log(probability(model, x.tolist())) for x in terminals)
    assert value == pytest.approx(likelihood - 0.5 * (at.vector**2).sum())


def test_weights_make_the_probabilities_of_the_paper() -> None:
    rng = np.random.default_rng(3)
    phi = sparse.csr_array(rng.normal(size=(5, 4)))
    at = weights(rng, 3, 4)
    model = at.hidden(phi)
    raw = np.exp(at.emission @ phi.toarray().T)
    np.testing.assert_allclose(model.emission, raw / raw.sum(axis=1, keepdims=True))
    step = np.exp(at.step) / np.exp(at.step).sum(axis=1, keepdims=True)
    np.testing.assert_allclose((1 - model.stop)[:, None] * model.transition, step[:, :-1])
    np.testing.assert_allclose(model.stop, step[:, -1])
    np.testing.assert_allclose(HmmWeights.of_vector(at.vector, 3).emission, at.emission)


def test_one_state_without_penalty_has_relative_frequencies() -> None:
    types = WordTypes.of(CHASES)
    model = train_featurized_hmm(types, FeaturizedOptions(n_states=1, penalty=0.0, iterations=500))
    np.testing.assert_allclose(model.emission[0], types.tokens / types.tokens.sum(), rtol=1e-3)
    np.testing.assert_allclose(model.stop, [4 / types.tokens.sum()], rtol=1e-3)


def test_features_of_words() -> None:
    types = WordTypes.of(CHASES)
    frequent = word_features(types, cutoff=2).toarray()
    spelling = frequent.shape[1] - np.count_nonzero(types.tokens >= 2)
    np.testing.assert_array_equal(frequent[:, spelling:], np.eye(len(types.names))[:, types.tokens >= 2])
    assert word_features(types, cutoff=1).shape[1] == spelling + len(types.names)


def test_seeds_of_log_linear_models() -> None:
    types = WordTypes.of(CHASES)
    seen: list[float] = []
    options = FeaturizedOptions(n_states=2, iterations=20)
    one = train_featurized_hmm(types, options, listener=lambda told: seen.append(told.score or 0.0))
    again = train_featurized_hmm(types, options)
    other = train_featurized_hmm(types, FeaturizedOptions(n_states=2, iterations=20, seed=1))
    np.testing.assert_array_equal(one.emission, again.emission)
    assert np.abs(one.emission - other.emission).max() > 1e-6
    assert seen == sorted(seen) and len(seen) > 3


# ---------------------------------------------------------------------------------------------------------------------
# Baum-Welch and decoding


def test_the_likeliest_of_several_starts_is_returned() -> None:
    types = WordTypes.of(CHASES)
    single = [train_baum_welch(types, 3, (seed,), iterations=30) for seed in range(4)]
    likelihoods = [score_per_word(model, types.sequences) for model in single]
    best = train_baum_welch(types, 3, range(4), iterations=30)
    assert score_per_word(best, types.sequences) == pytest.approx(max(likelihoods))
    assert max(likelihoods) > min(likelihoods) + 1e-6
    with pytest.raises(ValueError, match="no seeds"):
        train_baum_welch(types, 3, ())


def test_nothing_to_learn_from_is_an_error() -> None:
    nothing = WordTypes.of([])
    for learn in (
        lambda: train_cluster_hmm(nothing, 2),
        lambda: train_baum_welch(nothing, 2),
        lambda: train_featurized_hmm(nothing),
    ):
        with pytest.raises(EstimationError, match="no sentences"):
            learn()


def test_decode_states_are_those_of_forward_backward() -> None:
    """Of more positions than are decoded together."""
    rng = np.random.default_rng(5)
    model = random_hmm(rng, 3, 6)
    strings = draw_strings(model, 2500, rng)
    assert sum(map(len, strings)) > 5000
    found = decode_states(model, Sequences.of(strings))
    expected = np.concatenate([forward_backward(model, x).gamma.argmax(axis=1) for x in strings])
    np.testing.assert_array_equal(found, expected)
