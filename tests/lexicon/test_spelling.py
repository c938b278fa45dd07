"""The spelling model: its optimum, its features, and words of any script."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import log_softmax

from spectral_latent.files import read, write
from spectral_latent.lexicon.choices import Choices, choice_loss
from spectral_latent.lexicon.log_linear import Examples, log_linear_weights, penalised_loss
from spectral_latent.lexicon.spelling import SpellingModel, SpellingOptions

any_text = st.text(st.characters(exclude_categories=()), max_size=10)  # surrogates and unassigned code points too
words = st.one_of(any_text, st.text(alphabet="aAbB1-.", max_size=6), st.sampled_from(["walk", "walks", "Walk", "ß"]))


def random_training(seed: int, n_words: int = 40, n_symbols: int = 4) -> tuple[list[str], tuple[np.ndarray, ...]]:
    """Distinct words, and columns (word, symbol, count, opens) in no order, some pairs twice."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 7, n_words)
    vocabulary = sorted({"".join(rng.choice(list("aAb1-"), length)) for length in lengths})
    n = 3 * len(vocabulary)
    columns = (rng.integers(0, len(vocabulary), n), rng.integers(0, n_symbols, n))
    return vocabulary, (*columns, rng.integers(0, 5, n).astype(float), rng.random(n) < 0.3)


def test_at_the_optimum_the_model_expects_what_the_data_show_less_the_penalty() -> None:
    vocabulary, columns = random_training(0)
    options = SpellingOptions(penalty=0.5, iterations=500, frequent=0.0, least=0.0)
    model = SpellingModel.train(vocabulary, *columns, n_symbols=4, options=options)
    total = Counter[int]()
    for word, _, count, _ in zip(*columns, strict=True):
        total[word] += count
    observed, expected = np.zeros_like(model.weights), np.zeros_like(model.weights)
    for word, symbol, count, opens in zip(*columns, strict=True):
        if count:
            _, feature, value = model.features([vocabulary[word]], [opens])
            phi = np.bincount(feature, value, minlength=len(model.keys))
            share = count / total[word]
            observed[:, symbol] += phi * share
            expected += np.outer(phi, model.posterior([vocabulary[word]], [opens])[0]) * share
    assert np.abs(model.weights).max() > 0.1
    np.testing.assert_allclose(expected, observed - 0.5 * model.weights, atol=5e-3)


def feature_names(model: SpellingModel, word: str, opens: bool = False) -> dict[tuple[str, int], float]:
    """The non-zero features of a word by name and symbol, read from the stored form."""
    names = model.names.names
    _, feature, value = model.features([word], [opens])
    size = model.n_symbols + 1
    keys = model.keys[feature]
    return {(names[key // size], key % size - 1): v for key, v in zip(keys.tolist(), value.tolist(), strict=True)}


def test_pieces_and_relations_of_a_word() -> None:
    vocabulary = ["walk", "walks", "Walk", "walked", "walker", "Anna"]
    word, symbol = np.array([0, 0, 1, 2, 3, 4, 5]), np.array([0, 1, 0, 2, 1, 2, 2])
    count = np.array([3.0, 1, 5, 2, 7, 1, 1])
    model = SpellingModel.train(vocabulary, word, symbol, count, options=SpellingOptions(min_count=1, least=0.0))
    found = feature_names(model, "walky")
    pieces = {name for name, at in found if at < 0}
    assert pieces == {"b", "l5", "sx", "fx", "cx", "^w", "^wa", "^wal", "^walk"}
    # relatives of walky, by its stem walk: walk, walks, Walk, walked and walker; the share of 1 is ¼ + 0 + 0 + 1 + 0
    general = {at: value for (name, at), value in found.items() if name == "~"}
    assert general == pytest.approx({0: 1.75 / 5, 1: 1.25 / 5, 2: 2 / 5})
    own = {at: value for (name, at), value in feature_names(model, "walk").items() if name == "~"}
    assert own == pytest.approx({0: 1 / 4, 1: 1 / 4, 2: 2 / 4})  # not of walk itself
    assert {at: v for (name, at), v in feature_names(model, "walk").items() if name == "<"} == {2: 1.0}
    assert {at: v for (name, at), v in feature_names(model, "WALK").items() if name == ">"} == {0: 0.75, 1: 0.25}
    assert not {name for name, _ in feature_names(model, "Anna")} & {"~", "<", ">"}  # no one but itself


def test_pieces_of_a_long_word() -> None:
    """Lengths up to 12, the first 6 of its classes without runs, up to 5 last and 4 first characters."""
    word = "aB1-c.D2ef12345"
    columns = np.array([0, 1]), np.array([0, 1]), np.array([2.0, 1.0])
    model = SpellingModel.train([word, "b"], *columns, options=SpellingOptions(min_count=1, least=0.0))
    pieces = {name for name, at in feature_names(model, word) if at < 0}
    ends = {"-5", "-45", "-345", "-2345", "-12345", "^a", "^ab", "^ab1", "^ab1-"}
    assert pieces == {"b", "l12", "sxXd-x.", "fx", *("c" + kind for kind in "xXd-."), *ends}


def test_opening_a_sentence_is_a_feature() -> None:
    vocabulary = ["Green", "Brown", "Paris", "Rome"]
    columns = np.array([0, 1, 2, 3, 2, 3]), np.array([0, 0, 1, 1, 1, 1])
    opens = np.array([True, True, False, False, False, False])
    model = SpellingModel.train(vocabulary, *columns, opens=opens)
    first, later = model.posterior(["White", "White"], [True, False])
    assert first[0] > 0.5 > later[0]


@given(st.lists(words, max_size=8, unique=True), st.lists(st.tuples(words, st.booleans()), max_size=5), st.data())
def test_any_words_have_a_distribution(
    vocabulary: list[str], probes: list[tuple[str, bool]], data: st.DataObject
) -> None:
    n = len(vocabulary)
    pairs = data.draw(st.lists(st.tuples(st.integers(0, max(n - 1, 0)), st.integers(0, 2)), max_size=12 if n else 0))
    word, symbol = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    options = SpellingOptions(min_count=1, iterations=5)
    model = SpellingModel.train(vocabulary, word, symbol, n_symbols=3, options=options)
    asked, opens = [*vocabulary, *(w for w, _ in probes)], [*[False] * n, *(o for _, o in probes)]
    p = model.posterior(asked, opens)
    assert p.shape == (len(asked), 3)
    assert np.all(p > 0)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    for row, (one, first) in enumerate(zip(asked, opens, strict=True)):
        np.testing.assert_allclose(model.posterior([one], [first])[0], p[row], rtol=1e-5)
    again = read(SpellingModel, *write(model), words=vocabulary)
    np.testing.assert_array_equal(again.posterior(asked, opens), p)


def dense_loss(weights: np.ndarray, features: np.ndarray, target: np.ndarray, penalty: float) -> float:
    """The formula, with a matrix for each of its terms."""
    loss = -(target * log_softmax(features @ weights, axis=1)).sum() + penalty / 2 * (weights**2).sum()
    return float(loss)


def dense_gradient(weights: np.ndarray, features: np.ndarray, target: np.ndarray, penalty: float) -> np.ndarray:
    """The expectation of each feature under the model, less its sum in the data, plus the penalty."""
    p = np.exp(log_softmax(features @ weights, axis=1))
    gradient: np.ndarray = features.T @ (target.sum(axis=1, keepdims=True) * p - target) + penalty * weights
    return gradient


def few_features(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Examples (25, 6) with few features, and one class of four for each."""
    rng = np.random.default_rng(seed)
    return rng.random((25, 6)) * (rng.random((25, 6)) < 0.15), np.eye(4)[rng.integers(0, 4, 25)]


@pytest.mark.parametrize("frequent", [0.0, 2.0, np.inf])
@pytest.mark.parametrize("seed", range(2))
def test_loss_and_gradient_are_the_formulas(seed: int, frequent: float) -> None:
    features, target = few_features(seed)
    examples = Examples.of(sparse.csr_array(features), sparse.csr_array(target), frequent)
    free = ((features.T @ target) > 0) | (features.sum(axis=0) >= frequent)[:, None]
    rng = np.random.default_rng(seed)
    flat, penalty = rng.normal(0.0, 10.0, size=np.count_nonzero(free)), rng.random()
    weights = np.zeros(free.shape)
    weights[free] = flat
    loss, gradient = penalised_loss(examples, flat, penalty)
    assert loss == pytest.approx(dense_loss(weights, features, target, penalty), rel=1e-12)
    expected = dense_gradient(weights, features, target, penalty)
    np.testing.assert_allclose(gradient, expected[free], rtol=1e-10, atol=1e-11)


def test_scores_may_be_of_any_size() -> None:
    scores = np.array([[1e30, 0.0, -1e30], [-1e4, -1e4, -1e4], [-690.0, 0.0, -710.0], [-1e-300, 0.0, 1e-17]])
    for row in scores:
        for a in range(3):
            target = sparse.csr_array(np.eye(3)[[a]])
            loss, gradient = penalised_loss(Examples.of(sparse.csr_array([[1.0]]), target, frequent=0.0), row, 0.0)
            assert loss == pytest.approx(-log_softmax(row)[a], rel=1e-13)
            np.testing.assert_allclose(gradient, np.exp(log_softmax(row)) - np.eye(3)[a], rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("frequent", [0.0, np.inf])
def test_weights_are_where_the_gradient_is_zero(frequent: float) -> None:
    """Of all weights, or of those alone that a feature and a class support by occurring together."""
    features, target = few_features(2)
    free = ((features.T @ target) > 0) | (frequent == 0.0)
    found = log_linear_weights(sparse.csr_array(features), sparse.csr_array(target), 0.1, 300, frequent=frequent)
    weights = found.toarray()
    np.testing.assert_array_equal(weights != 0, free)
    gradient = dense_gradient(weights, features, target, 0.1)
    assert np.abs(gradient[free]).max() < 0.01 < np.abs(gradient[~free]).max(initial=1.0)
    nearby = [dense_loss(weights + free * step, features, target, 0.1) for step in (0.1, -0.1)]
    assert dense_loss(weights, features, target, 0.1) < min(nearby)


@pytest.mark.parametrize("alone", [True, False])
def test_choices_have_the_loss_of_the_formula_and_the_gradient_of_finite_differences(alone: bool) -> None:
    """Each candidate is right or wrong by itself, or one of several is the right one."""
    rng = np.random.default_rng(1)
    buckets, log = rng.integers(12, size=(30, 5)).astype(np.int32), rng.normal(size=30)
    start = np.arange(31) if alone else np.array([0, 3, 4, 10, 18, 30])
    is_right = rng.random(30) < 0.5 if alone else np.isin(np.arange(30), [1, 3, 9, 18])
    times = rng.uniform(0.5, 2.0, len(start) - 1)
    given = Choices.alone(buckets, log, is_right, times) if alone else Choices(buckets, log, is_right, times, start)
    choices = given.to_learn_from(2.0)
    point = rng.normal(size=13)
    expected = 0.35 * (point[:-1] ** 2).sum()
    for choice, (begin, end) in enumerate(itertools.pairwise(start.tolist())):
        score = np.exp([point[buckets[at]].sum() + point[-1] * log[at] for at in range(begin, end)])
        if alone:
            p = score[0] / (1.0 + score[0])
            expected -= 2.0 * times[choice] * np.log(p if is_right[begin] else 1.0 - p)
        elif end > begin + 1 and is_right[begin:end].any():  # else there is nothing to learn
            expected -= 2.0 * times[choice] * np.log(score[is_right[begin:end]][0] / score.sum())
    value, gradient = choice_loss(choices, point, penalty=0.7)
    assert value == pytest.approx(expected)
    for at in range(13):
        step = 1e-5 * np.eye(13)[at]
        ahead, behind = (choice_loss(choices, point + sign * step, 0.7)[0] for sign in (1, -1))
        assert gradient[at] == pytest.approx((ahead - behind) / 2e-5, abs=1e-6)
    twice, other = choice_loss(Choices.join([choices, choices]), point, 0.0), choice_loss(choices, point, 0.0)
    assert twice[0] == pytest.approx(2.0 * other[0])
    np.testing.assert_allclose(twice[1], 2.0 * other[1])
