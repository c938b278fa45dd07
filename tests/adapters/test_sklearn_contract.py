"""What scikit-learn expects of all estimators; files of skops, whose code never runs; and models of hmmlearn."""

from typing import Any

import numpy as np
import pytest
from hmmlearn.hmm import CategoricalHMM, GaussianHMM
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import validate_data

from spectral_latent_sklearn import SpectralGaussianHMM, SpectralHMM

WEATHER = [["rain"], ["rain"], ["sun"], ["sun"], ["sun"]] * 30
TWO_NUMBERS = np.arange(200.0)[:, None] % 2


@pytest.mark.parametrize(
    ("estimator", "X", "method"),
    [
        (SpectralHMM(2, "anchors", random_state=0), WEATHER, "predict_proba"),
        (SpectralHMM(2, "spectral"), WEATHER, "score"),
        (SpectralGaussianHMM(2, random_state=0), TWO_NUMBERS, "predict_proba"),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else "",
)
def test_files(estimator: Any, X: Any, method: str) -> None:
    """Before and after the first use, which may fill tables of what is known."""
    import skops.io  # not at the head of the module, because every process that collects tests would take a second

    estimator.fit(X)
    for _ in range(2):
        written = skops.io.dumps(estimator)
        read = skops.io.loads(written, trusted=skops.io.get_untrusted_types(data=written))
        np.testing.assert_array_equal(getattr(read, method)(X), getattr(estimator, method)(X))


class FirstColumn(SpectralHMM):
    """The estimator of the first of several columns."""

    def _column(self, X: Any, *, reset: bool = False) -> np.ndarray:
        return validate_data(self, X, dtype=None, reset=reset)[:, 0]


WITHOUT_ORDER = {
    "check_methods_sample_order_invariance": "the states of a sequence depend on the order of its rows",
    "check_methods_subset_invariance": "the state of a row depends on the other rows of its sequence",
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")  # checks of numbers, for words
@pytest.mark.parametrize(
    "estimator",
    [FirstColumn(n_init=1), SpectralGaussianHMM(n_init=1, n_iter=5)],
    ids=lambda value: type(value).__name__,
)
def test_checks_of_scikit_learn(estimator: BaseEstimator) -> None:
    """All pass but those that know no order of rows."""
    checks = check_estimator(estimator, expected_failed_checks=WITHOUT_ORDER, on_fail=None, on_skip=None)
    assert {check["status"] for check in checks} & {"passed", "skipped"}
    assert [check["check_name"] for check in checks if check["status"] == "failed"] == []
    assert clone(estimator).get_params() == estimator.get_params()
    assert get_tags(estimator).input_tags.two_d_array


RNG = np.random.default_rng(0)
LETTERS = np.array(["a", "b", "c"])[np.cumsum(RNG.integers(0, 2, size=300)) % 3].reshape(-1, 1)
NUMBERS = RNG.normal(size=(200, 2)) + np.tile([[0.0, 3.0], [9.0, 1.0]], (100, 1))
LENGTHS = [50] * 4


def same_answers(one: Any, other: Any, x: Any, y: Any) -> None:
    """Compare scores, posteriors and likeliest states of two models; x and y are the same data."""
    np.testing.assert_allclose(one.score(x, lengths=LENGTHS), other.score(y, lengths=LENGTHS), rtol=1e-9)
    np.testing.assert_allclose(one.predict_proba(x, LENGTHS), other.predict_proba(y, LENGTHS), atol=1e-9)
    assert (one.predict(x, LENGTHS) == other.predict(y, LENGTHS)).all()
    for method in ("score_samples", "decode"):
        for found, expected in zip(getattr(one, method)(x, LENGTHS), getattr(other, method)(y, LENGTHS), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def of_hmmlearn(model: Any, ours: Any, names: tuple[str, ...]) -> Any:
    """Give a model of hmmlearn the parameters of a fitted estimator."""
    for name in ("startprob_", "transmat_", *names):
        setattr(model, name, getattr(ours, name))
    return model


def test_categories() -> None:
    ours = SpectralHMM(3, random_state=0).fit(LETTERS[:200], lengths=LENGTHS)
    theirs = of_hmmlearn(CategoricalHMM(3, n_features=3), ours, ("emissionprob_",))
    same_answers(ours, theirs, LETTERS[:200], np.searchsorted(ours.categories_, LETTERS[:200]))


@pytest.mark.parametrize("form", ["diag", "full"])
def test_numbers(form: Any) -> None:
    ours = SpectralGaussianHMM(2, form, random_state=0).fit(NUMBERS, lengths=LENGTHS)
    theirs = of_hmmlearn(GaussianHMM(2, "full"), ours, ("means_", "covars_"))
    same_answers(ours, theirs, NUMBERS, NUMBERS)
    assert form == "diag" or ours.bic(NUMBERS, LENGTHS) == pytest.approx(theirs.bic(NUMBERS, LENGTHS))
