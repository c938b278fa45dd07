"""Standard errors by groups: those of a textbook for means, and near the spread of estimates for spectral models."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.known_models import PROBLEMS, measure_coverage
from spectral_latent import ConstituencyModel
from spectral_latent.constituency import ConstituencyOptions
from spectral_latent.estimation import EstimationError
from spectral_latent.model import Estimates, Jackknife
from tests.toy import toy_treebank


@given(st.integers(2, 8), st.integers(0, 2**32 - 1))
def test_the_error_of_a_mean_is_that_of_group_means(n_groups: int, seed: int) -> None:
    """With equal groups, s² is the variance of the group means over the number of groups."""
    x = np.random.default_rng(seed).normal(size=(n_groups * 12, 2))
    jackknife = Jackknife(lambda rows: np.mean(rows, axis=0), x, n_groups, seed=seed)
    found = jackknife.estimate(lambda mean: mean)
    group = np.random.default_rng(seed).permutation(np.arange(len(x)) % n_groups)
    means = np.array([x[group == g].mean(axis=0) for g in range(n_groups)])
    np.testing.assert_allclose(found.value, x.mean(axis=0))
    expected = means.std(axis=0, ddof=1) / math.sqrt(n_groups)
    np.testing.assert_allclose(found.error, expected if n_groups > 2 else [np.nan] * 2)


def test_intervals_are_students() -> None:
    found = Estimates(np.array([1.0, -0.1, 0.0]), np.array([0.1, 0.2, 0.0]), np.array([5, 5, 5]), np.zeros(3))
    low, high = found.interval(0.9)
    np.testing.assert_allclose(high - low, 2 * 2.131847 * found.error, rtol=1e-5)  # t of 4 degrees of freedom
    assert found.is_zero().tolist() == [False, True, True]
    for level in (0.0, 1.0, -3.0):
        with pytest.raises(ValueError):
            found.interval(level)


def test_the_bias_of_a_squared_mean_is_the_variance_of_the_mean() -> None:
    """E[x̄²] - E[x]² = Var[x̄]: with groups of one size the jackknife finds it exactly (Quenouille 1956)."""
    x = np.random.default_rng(1).normal(3.0, 2.0, 400)
    found = Jackknife(lambda rows: np.mean(rows), x).estimate(lambda mean: mean**2)
    group = np.random.default_rng(0).permutation(np.arange(len(x)) % 20)
    means = np.array([x[group == g].mean() for g in range(20)])
    assert found.bias == pytest.approx(means.var(ddof=1) / 20)
    low, high = found.interval()
    assert (low + high) / 2 == pytest.approx(found.value - found.bias)


def test_what_is_not_sound_is_told_with_how_many_examples_would_do() -> None:
    x = np.random.default_rng(2).normal(1.0, 1.0, 4000)
    rare = Jackknife(lambda rows: np.mean(rows), 0.05 * (x - 1.0) + 0.0005).estimate(lambda mean: mean)
    (caveat,) = rare.caveats
    enough = 4000 * (2.0 * rare.spread / rare.value) ** 2
    assert not rare.is_sound() and "1 of 1" in caveat and f"{enough:,.0f} examples" in caveat
    common = Jackknife(lambda rows: np.mean(rows), x).estimate(lambda mean: mean)
    assert common.is_sound() and not common.caveats
    default = Jackknife(lambda some: ConstituencyModel.train(some, ConstituencyOptions()), toy_treebank(60), 3)
    assert any("900 examples" in caveat for caveat in default.caveats)  # the square of twice C


def test_groups_without_a_finite_estimate_are_left_out_and_told() -> None:
    jackknife = Jackknife(lambda rows: 1.0 if 7 in rows else math.inf, range(60), 4)
    with pytest.warns(UserWarning, match="1 of 1"):
        found = jackknife.estimate(lambda model: model)
    assert found.n_groups == 3 and found.error == 0.0


def test_too_few_examples_are_refused_with_the_number_that_would_do() -> None:
    with pytest.raises(EstimationError, match="200"):
        Jackknife(len, range(199))
    assert Jackknife(len, range(190), 19).whole == 190


@pytest.mark.slow
@pytest.mark.parametrize("settings", ["default", "no smoothing"])
def test_intervals_of_a_spectral_grammar_cover_the_truth(settings: str) -> None:
    """Nominal 95 % intervals; 6 samples of 21 correlated estimates each, so that 85 % is far below chance."""
    for found in measure_coverage(PROBLEMS[0], settings, n_trees=2000, n_samples=6).values():
        assert float(found["coverage %"]) > 85.0
        assert float(found["of sound %"]) > 85.0 and float(found["sound"]) > 50.0


def test_models_of_the_library_have_errors() -> None:
    trees = toy_treebank(120)
    jackknife = Jackknife(lambda some: ConstituencyModel.train(some, ConstituencyOptions()), trees, 3)

    def probabilities(model: ConstituencyModel) -> np.ndarray:
        weights = model.score(trees[:3])
        return weights.sign * np.exp(weights.log)

    found = jackknife.estimate(probabilities)
    shares = jackknife.score(trees[:3])
    np.testing.assert_allclose(shares.error * np.abs(found.value), found.error, rtol=1e-9)
    assert shares.value.tolist() == np.sign(found.value).tolist() and (shares.is_zero() == found.is_zero()).all()
    assert found.value.shape == found.error.shape == (3,)
    assert (found.error > 0.0).all() and (found.error < 10 * np.abs(found.value)).all()
