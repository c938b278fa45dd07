"""Hidden Markov models go to hmmlearn and come back with the same likelihoods and states."""

from typing import Any

import numpy as np
import pytest
from hmmlearn.hmm import GMMHMM, CategoricalHMM, GaussianHMM, PoissonHMM

from spectral_latent_sklearn import SpectralGaussianHMM, SpectralHMM, from_hmmlearn, to_hmmlearn

RNG = np.random.default_rng(0)
LETTERS = np.array(["a", "b", "c"])[np.cumsum(RNG.integers(0, 2, size=300)) % 3].reshape(-1, 1)
NUMBERS = RNG.normal(size=(200, 2)) + np.tile([[0.0, 3.0], [9.0, 1.0]], (100, 1))
LENGTHS = [50] * 4


def same_answers(one: Any, other: Any, x: Any, y: Any) -> None:
    """Compare scores, posteriors and likeliest states of two models; x and y are the same data."""
    np.testing.assert_allclose(one.score(x, lengths=LENGTHS), other.score(y, lengths=LENGTHS), rtol=1e-9)
    np.testing.assert_allclose(one.predict_proba(x, LENGTHS), other.predict_proba(y, LENGTHS), atol=1e-9)
    assert (one.predict(x, LENGTHS) == other.predict(y, LENGTHS)).all()


def test_categories() -> None:
    ours = SpectralHMM(3, random_state=0).fit(LETTERS[:200], lengths=LENGTHS)
    theirs = to_hmmlearn(ours)
    numbers = np.searchsorted(ours.categories_, LETTERS[:200])
    same_answers(ours, theirs, LETTERS[:200], numbers)
    same_answers(from_hmmlearn(theirs), theirs, numbers, numbers)


@pytest.mark.parametrize("form", ["diag", "full"])
def test_numbers(form: Any) -> None:
    ours = SpectralGaussianHMM(2, form, random_state=0).fit(NUMBERS, lengths=LENGTHS)
    same_answers(ours, to_hmmlearn(ours), NUMBERS, NUMBERS)


@pytest.mark.parametrize("form", ["spherical", "diag", "full", "tied"])
def test_numbers_of_hmmlearn(form: str) -> None:
    theirs = GaussianHMM(2, form, random_state=0).fit(NUMBERS, LENGTHS)
    ours = from_hmmlearn(theirs)
    same_answers(ours, theirs, NUMBERS, NUMBERS)
    assert to_hmmlearn(ours).score(NUMBERS, LENGTHS) == pytest.approx(theirs.score(NUMBERS, LENGTHS))
    assert ours.covariance_type == ("diag" if form == "diag" else "full")


def test_models_that_cannot_be_turned_are_refused() -> None:
    with pytest.raises(ValueError, match="PoissonHMM"):
        from_hmmlearn(PoissonHMM(2, random_state=0).fit(RNG.integers(0, 9, size=(50, 1))))
    with pytest.raises(ValueError, match="GMMHMM"):  # which has means, too
        from_hmmlearn(GMMHMM(2, random_state=0).fit(NUMBERS))
    with pytest.raises(ValueError, match="CategoricalHMM"):
        from_hmmlearn(CategoricalHMM(2))
    with pytest.raises(ValueError, match="states"):
        to_hmmlearn(SpectralHMM(2, "spectral").fit(LETTERS))
