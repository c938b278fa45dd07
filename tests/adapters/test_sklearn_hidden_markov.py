"""Hidden Markov models of categories as an estimator of scikit-learn's."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold

from spectral_latent.sequence import HiddenMarkov
from spectral_latent_sklearn import SpectralHMM
from tests.sequence.hmms import draw_strings, paths

CHAIN = HiddenMarkov(
    initial=np.array([0.6, 0.3, 0.1]),
    transition=np.array([[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.7, 0.2, 0.1]]),
    stop=np.full(3, 1 / 8),
    emission=np.array([[0.7, 0.3, 0.0, 0.0, 0.0], [0.0, 0.2, 0.8, 0.0, 0.0], [0.0, 0.0, 0.1, 0.3, 0.6]]),
)


def drawn(n: int, seed: int) -> tuple[np.ndarray, list[int]]:
    """Draw sequences from the chain, and join them to one column."""
    strings = draw_strings(CHAIN, n, np.random.default_rng(seed))
    return np.concatenate(strings)[:, None], list(map(len, strings))


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, list[int]]:
    return drawn(1500, seed=0)


@pytest.fixture(scope="module")
def fitted(data: tuple[np.ndarray, list[int]]) -> SpectralHMM:
    return SpectralHMM(3, random_state=0).fit(data[0], lengths=data[1])


def test_spectral_operators_have_no_states(data: tuple[np.ndarray, list[int]], fitted: SpectralHMM) -> None:
    hmm = clone(fitted).fit(data[0], lengths=data[1]).set_params(estimator="spectral").fit(data[0], lengths=data[1])
    assert not hasattr(hmm, "transmat_")
    assert hmm.sample(7)[0].shape == (7, 1)
    assert hmm.sample(7)[1] is None
    for call in (hmm.predict, hmm.predict_proba, hmm.decode):
        with pytest.raises(ValueError, match="the spectral estimator has no states"):
            call([[0], [1]])


def test_categories_may_be_strings_or_far_apart(data: tuple[np.ndarray, list[int]], fitted: SpectralHMM) -> None:
    X, lengths = data
    names = np.array(["e", "a", "d", "b", "c"])
    apart = np.array([70, 3, 50, 9, 20])
    for renamed in (names[X], names[X].astype(object), np.array([70, 3, 50, 9, 2**53])[X] * 1.0, apart[X]):
        hmm = clone(fitted).fit(renamed, lengths=lengths)
        assert hmm.score(renamed, lengths=lengths) == pytest.approx(fitted.score(X, lengths=lengths), rel=1e-6)
        assert hmm.sample(3)[0].dtype == hmm.categories_.dtype
    assert hmm.categories_.tolist() == [3, 9, 20, 50, 70]


def test_grid_search_keeps_grouped_sequences_whole() -> None:
    """Every fold has the score of its own sequences under the model of the others."""
    X, lengths = drawn(40, seed=4)
    groups = np.repeat(np.arange(40), lengths)
    with config_context(enable_metadata_routing=True):
        hmm = SpectralHMM(n_iter=20, random_state=0).set_fit_request(groups=True).set_score_request(groups=True)
        search = GridSearchCV(hmm, {"n_components": [1, 3]}, cv=GroupKFold(2)).fit(X, groups=groups)
    assert search.best_params_ == {"n_components": 3}
    for number, (train, test) in enumerate(GroupKFold(2).split(X, groups=groups)):
        of_train, of_test = (np.unique(groups[part], return_counts=True)[1] for part in (train, test))
        score = clone(search.best_estimator_).fit(X[train], lengths=of_train).score(X[test], lengths=of_test)
        assert search.cv_results_[f"split{number}_test_score"][1] == pytest.approx(score)


def refused(hmm: SpectralHMM) -> Iterator[tuple[Callable[[], Any], str]]:
    """List calls that must fail, each with what the message says."""
    X = [[0], [1], [0]]
    yield lambda: clone(hmm).fit(X, lengths=[1, 1]), "lengths must sum to the 3 rows of X, not to 2"
    yield lambda: hmm.score(X, lengths=[2, 2]), "lengths must sum to the 3 rows of X, not to 4"
    for lengths in ([3, 0], [1.5, 1.5], [[3]], [4, -1]):
        yield lambda lengths=lengths: clone(hmm).fit(X, lengths=lengths), "lengths must be positive integers"
    yield lambda: clone(hmm).fit([[0.5], [1.0]]), "categories, integers or strings, not float64"
    yield lambda: hmm.score([[0.0], [0.5]]), "categories, integers or strings, not float64"
    yield lambda: clone(hmm).fit(X, [2, 1]), "y has 2 entries for the 3 rows of X; give lengths by name"
    yield lambda: clone(hmm).fit([[0], [1]]), "3 states need as many positions, not 2"
    # Sequences as rows, which hmmlearn takes for features, and sequences of different lengths.
    yield lambda: clone(hmm).fit([[0, 1, 0]] * 5), r"X has 3 columns.* join .* lengths"
    yield lambda: clone(hmm).fit([["a", "b"], ["c", "a"]] * 5), r"X has 2 columns.* join .* lengths"
    yield lambda: clone(hmm).fit([["a", "b"], ["c"]] * 5), r"different lengths.* join .* lengths"
    yield lambda: clone(hmm).fit(np.array([["a"], [1]], dtype=object)), "categories, integers or strings, not object"
    yield lambda: clone(hmm).fit([[2.0**53 + 2], [0.0]]), "categories, integers or strings, not float64"
    yield lambda: clone(hmm).fit([0, 1, 0]), "Expected 2D array"
    yield lambda: hmm.predict([["a"]]), "row 0 of X has the category 'a', but the others are integers"
    named = clone(hmm).set_params(categories=[0, 1], n_components=1)
    yield lambda: clone(named).fit([[0], [1], [7]]), "row 2 of X has the category 7, which `categories` does not name"
    yield lambda: clone(named).fit(X).score([[7]]), "row 0 of X has the category 7, which `categories` does not name"
    yield lambda: clone(named).set_params(categories=[0, 1, 0]).fit(X), "a list of different integers or strings"
    yield lambda: hmm.predict([[0, 1]]), "X has 2 features, but SpectralHMM is expecting 1"
    yield lambda: hmm.sample(0), "n_samples == 0, must be >= 1"
    for name, value in {"n_components": 0, "n_init": -1, "estimator": "mcmc"}.items():
        yield lambda name=name, value=value: clone(hmm).set_params(**{name: value}).fit(X), f"{name} .*must be"
    yield lambda: hmm.score(X, [2, 1]), "give lengths by name"
    yield lambda: hmm.score(X, groups=[1, 2]), "the sequence of each of the 3 rows"
    yield lambda: hmm.score(X, groups=[1, 2, 1]), "one after another"


def test_requests_that_cannot_be_met(fitted: SpectralHMM) -> None:
    for call, message in refused(fitted):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(NotFittedError):
        SpectralHMM().score([[0]])


def test_a_category_that_fit_has_not_seen_has_a_small_probability() -> None:
    """That of Good and Turing: two of the nine rows have categories of their own."""
    hmm = SpectralHMM(2, random_state=0).fit([[x] for x in "abababacd"])
    assert hmm.unseen_ == pytest.approx((1 + 2) / (9 + 1 + 2))
    new = hmm.score([["a"], ["new"], ["b"]])
    missing = hmm.score(np.array([["a"], [None], ["b"]], dtype=object))
    assert new == pytest.approx(missing + math.log(hmm.unseen_))
    np.testing.assert_allclose(hmm.emissionprob_.sum(axis=1), 1.0)


@pytest.mark.parametrize("estimator", ["moments-em", "anchors", "spectral"])
def test_named_categories_are_a_distribution(estimator: Any) -> None:
    """With those that fit has not seen, in the order in which they are named."""
    hmm = SpectralHMM(1, estimator, categories=["z", "b", "y", "a"], random_state=0).fit([[x] for x in "aabab" * 40])
    assert hmm.categories_.tolist() == ["z", "b", "y", "a"]
    p = [math.exp(hmm.score([[x]])) for x in "zbya"]
    assert sum(p) == pytest.approx(1.0, abs=1e-6)
    assert p[0] == p[2] == pytest.approx(1 / 201 / 2, rel=0.1) and p[3] > p[1]
    if estimator != "spectral":
        np.testing.assert_allclose(hmm.emissionprob_[0], p)


def test_scores_of_sequences_and_criteria(data: tuple[np.ndarray, list[int]], fitted: SpectralHMM) -> None:
    lengths = data[1][:10]
    X = data[0][: sum(lengths)]
    scores = fitted.score_sequences(X, lengths)
    rows = np.split(X, np.cumsum(lengths)[:-1])
    np.testing.assert_allclose(scores, [fitted.score(row) for row in rows])
    assert scores.sum() == pytest.approx(fitted.score(X, lengths=lengths))
    spectral = SpectralHMM(3, "spectral").fit(*data[:1], lengths=data[1])
    assert spectral.score_sequences(X, lengths).sum() == pytest.approx(spectral.score(X, lengths=lengths))
    with pytest.raises(ValueError, match="has no states"):
        spectral.bic(X, lengths)
    n_free = 2 + 3 * 2 + 3 * 4
    assert fitted.aic(X, lengths) == pytest.approx(2 * n_free - 2 * scores.sum())
    assert fitted.bic(X, lengths) == pytest.approx(n_free * math.log(len(X)) - 2 * scores.sum())


@pytest.mark.parametrize(
    ("X", "lengths", "found"),
    [
        ([["a"]] * 5, None, 1),
        ([["a"]] * 3, [1, 1, 1], 1),
        ([["a"], ["b"], ["a"], ["c"]] * 5, [1] * 20, 1),
        ([["a"], ["b"]] * 9, None, 2),
    ],
)
def test_states_that_add_nothing_are_told(X: list, lengths: list[int] | None, found: int) -> None:
    """One symbol; sequences of length 1; and more states than a cycle has."""
    with pytest.warns(ConvergenceWarning, match=f" {found} of the {found + 1} states"):
        SpectralHMM(found + 1, random_state=0).fit(X, lengths=lengths)
    if found == 2:
        first, second = SpectralHMM(2, random_state=3).fit(X).predict(X[:2])
        assert first != second
        for estimator, fewer in (("anchors", 2), ("spectral", 1)):
            with pytest.warns(ConvergenceWarning, match=f" {fewer} of the 5 states"):
                SpectralHMM(5, estimator, random_state=0).fit(X)


def test_missing_rows_and_known_states_are_those_of_enumeration(fitted: SpectralHMM) -> None:
    """Of all strings and paths that agree with what is known, under the chain that was fitted."""
    model = HiddenMarkov(fitted.startprob_, fitted.transmat_, np.full(3, 0.5), fitted.emissionprob_)
    X = np.array([[0], [None], [2], [1]], dtype=object)
    states = np.array([-1, 1, -1, 2])
    total, chosen = 0.0, np.zeros((4, 3))
    for x in range(5):
        for path, p in paths(model, (0, x, 2, 1)).items():
            if path[1] == 1 and path[3] == 2:
                total += p / 0.5**4
                chosen[range(4), list(path)] += p / 0.5**4
    assert fitted.score(X, states=states) == pytest.approx(math.log(total))
    np.testing.assert_allclose(fitted.predict_proba(X, states=states), chosen / total, atol=1e-12)
    sets = np.ones((4, 3), dtype=bool)
    sets[1], sets[3] = [False, True, False], [False, False, True]
    assert fitted.score(X, states=sets) == fitted.score(X, states=states)
    assert fitted.predict(X, states=states)[[1, 3]].tolist() == [1, 2]


def test_training_with_a_few_known_states_numbers_them_so(data: tuple[np.ndarray, list[int]]) -> None:
    X, lengths = data
    first = SpectralHMM(3, random_state=0).fit(X, lengths=lengths).predict(X, lengths)
    wanted = np.array([2, 0, 1])[first]
    known = np.where(np.arange(len(X)) % 50 == 0, wanted, -1)
    gone = X.astype(object)
    gone[7::40] = None
    found = SpectralHMM(3, random_state=0, n_init=1).fit(gone, lengths=lengths, states=known)
    assert np.mean(found.predict(X, lengths) == wanted) > 0.9


@pytest.mark.parametrize(
    ("X", "states"),
    [
        ([[None], [None]], None),
        ([[0], [1]], [0, 5]),
        ([[0], [1]], [0.5, 1.0]),
        ([[0], [1]], [[False, False], [True, True]]),
    ],
)
def test_wrong_states_and_missing_rows_are_refused(X: list, states: Any) -> None:
    with pytest.raises(ValueError):
        SpectralHMM(2).fit(np.array(X, dtype=object), states=states)
