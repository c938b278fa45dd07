"""Hidden Markov models with Gaussian emissions: moments are consistent, missing numbers and known states are summed."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from spectral_latent.estimation import EstimatorOptions
from spectral_latent.sequence.gaussian import GaussianLearner, GaussianMarkov, gaussian_moments
from spectral_latent_sklearn import SpectralGaussianHMM

TRUE = GaussianMarkov(
    initial=np.array([0.6, 0.3, 0.1]),
    transition=np.array([[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.7, 0.2, 0.1]]),
    means=np.array([[0.0, 0.0], [2.0, 1.0], [-1.0, 2.5]]),
    covars=np.array([[[1.0, 0.3], [0.3, 0.5]], [[0.4, 0.0], [0.0, 0.6]], [[0.5, -0.2], [-0.2, 0.8]]]),
)


def drawn(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw one sequence of n observations and its states."""
    rng = np.random.default_rng(seed)
    state = np.empty(n, dtype=int)
    state[0] = rng.choice(3, p=TRUE.initial)
    for i, u in enumerate(rng.random(n - 1), start=1):
        state[i] = min(int(np.searchsorted(TRUE.transition[state[i - 1]].cumsum(), u)), 2)
    roots = np.linalg.cholesky(TRUE.covars)
    return TRUE.means[state] + np.einsum("nde,ne->nd", roots[state], rng.normal(size=(n, 2))), state


def error(found: Any) -> dict[str, float]:
    """Find the largest errors of a model, whose states may come in another order."""
    order = min(
        map(list, itertools.permutations(range(3))), key=lambda order: np.abs(found.means[order] - TRUE.means).max()
    )
    return {
        "means": np.abs(found.means[order] - TRUE.means).max(),
        "covars": np.abs(found.covars[order] - TRUE.covars).max(),
        "transition": np.abs(found.transition[np.ix_(order, order)] - TRUE.transition).max(),
    }


@pytest.fixture(scope="module")
def data() -> np.ndarray:
    return drawn(4000, seed=0)[0]


@pytest.fixture(scope="module")
def fitted(data: np.ndarray) -> SpectralGaussianHMM:
    return SpectralGaussianHMM(3, "full", n_init=1, random_state=0).fit(data)


def test_moments_are_consistent() -> None:
    """Sixteen times the positions have about a quarter of the error, and far less than clusters could have."""
    options = EstimatorOptions("moments", n_states=3)
    errors = [
        error(gaussian_moments(drawn(n, seed=3)[0], np.array([n]), options, "full", 1e-6)) for n in (4000, 64_000)
    ]
    for name, most in (("means", 0.06), ("covars", 0.12), ("transition", 0.03)):
        assert errors[1][name] < most
        assert errors[1][name] < 0.6 * errors[0][name]


def test_the_objective_of_em_is_the_likelihood_over_all_paths() -> None:
    lengths = [3, 1, 2]
    x = drawn(sum(lengths), seed=3)[0]
    density = np.stack([multivariate_normal(TRUE.means[k], TRUE.covars[k]).pdf(x) for k in range(3)], axis=1)
    log, start = 0.0, 0
    for length in lengths:
        rows = density[start : start + length]
        paths = itertools.product(range(3), repeat=length)
        of_paths = (
            TRUE.initial[path[0]]
            * math.prod(TRUE.transition[a, b] for a, b in itertools.pairwise(path))
            * math.prod(row[state] for row, state in zip(rows, path, strict=True))
            for path in paths
        )
        log, start = log + math.log(sum(of_paths)), start + length
    assert GaussianLearner(x, np.array(lengths), "full", 1e-3).expect(TRUE)[1] == pytest.approx(log)


def test_draws_have_the_means_and_covariances_of_their_states(fitted: SpectralGaussianHMM) -> None:
    """Within six standard errors of a mean, and three tenths of a variance."""
    x, states = fitted.sample(6000, random_state=1)
    for k in range(3):
        rows, covar = x[states == k], fitted.covars_[k]
        assert (np.abs(rows.mean(axis=0) - fitted.means_[k]) < 6 * np.sqrt(np.diag(covar) / len(rows))).all()
        assert np.cov(rows.T) == pytest.approx(covar, abs=0.3 * np.diag(covar).max())
    assert (x == fitted.sample(6000, random_state=1)[0]).all() and (x != fitted.sample(6000, random_state=2)[0]).any()


def test_em_begins_at_moments_too(data: np.ndarray) -> None:
    """From there the likelihood rises; the one random start would lie below."""
    moments = SpectralGaussianHMM(3, "full", estimator="moments", random_state=0).fit(data)
    one_step = SpectralGaussianHMM(3, "full", n_init=1, n_iter=1, random_state=0).fit(data)
    assert one_step.score(data) > moments.score(data)


def test_em_stops_when_a_position_gains_less_than_the_tolerance(data: np.ndarray) -> None:
    """However long the sequences are."""
    short, long = (
        SpectralGaussianHMM(2, n_init=1, n_iter=99, tol=1e-2, random_state=0).fit(data, lengths=lengths)
        for lengths in ([100] * 40, [4000])
    )
    assert short.score(data) == pytest.approx(long.score(data), abs=1e-2 * len(data))
    assert (
        max(short.score(data), long.score(data))
        < SpectralGaussianHMM(2, n_init=1, random_state=0).fit(data).score(data) - 1
    )


def test_variances_have_a_least_value() -> None:
    X = np.tile([[0.0, 1.0], [3.0, 1.0]], (100, 1))
    hmm = SpectralGaussianHMM(2, min_covar=0.01, n_init=1, random_state=0).fit(X)
    assert np.isfinite(hmm.score(X))
    np.testing.assert_allclose(np.einsum("mdd->md", hmm.covars_), 0.01)


def test_requests_that_cannot_be_met(fitted: SpectralGaussianHMM, data: np.ndarray) -> None:
    wrong = {"n_components": 0, "n_init": -1, "estimator": "em", "covariance_type": "spherical", "min_covar": 0.0}
    for name, value in wrong.items():
        with pytest.raises(ValueError, match=f"{name} .*must be"):
            clone(fitted).set_params(**{name: value}).fit(data)
    with pytest.raises(ValueError, match="3 states need as many positions, not 2"):
        clone(fitted).fit(data[:2])
    with pytest.raises(ValueError, match="lengths must sum to the 5 rows"):
        fitted.score(data[:5], lengths=[2])
    with pytest.raises(NotFittedError):
        SpectralGaussianHMM().score([[0.0]])


def test_missing_numbers_are_summed_over() -> None:
    """Brute force over states, with SciPy's densities of the numbers that are there."""
    x = drawn(5, seed=3)[0]
    x[1, 0] = x[3, 1] = np.nan
    x[2] = np.nan
    total = 0.0
    for states in itertools.product(range(3), repeat=5):
        p = TRUE.initial[states[0]] * np.prod([TRUE.transition[a, b] for a, b in itertools.pairwise(states)])
        for row, h in zip(x, states, strict=True):
            here = np.flatnonzero(~np.isnan(row))
            if len(here):
                p *= multivariate_normal(TRUE.means[h][here], TRUE.covars[h][np.ix_(here, here)]).pdf(row[here])
        total += p
    hmm = SpectralGaussianHMM(3, "full")
    hmm.startprob_, hmm.transmat_, hmm.means_, hmm.covars_ = TRUE.initial, TRUE.transition, TRUE.means, TRUE.covars
    hmm.n_features_in_ = 2
    assert hmm.score(x) == pytest.approx(math.log(total), rel=1e-9)


def test_missing_numbers_that_leave_nothing_to_learn() -> None:
    x = np.array([[1.0, np.nan], [2.0, np.nan], [3.0, np.nan]])
    with pytest.raises(ValueError, match="column 1"):
        SpectralGaussianHMM(1).fit(x)
    with pytest.raises(ValueError, match="moments-em"):
        SpectralGaussianHMM(1, estimator="moments").fit(np.array([[1.0], [np.nan], [2.0]]))


def test_known_states_are_numbered_so_and_others_are_summed_over(data: np.ndarray, fitted: SpectralGaussianHMM) -> None:
    """The likelihood with one known state of each number adds up to that of all."""
    m = fitted.n_components
    x = data[:30]
    each = [fitted.score(x, states=np.where(np.arange(30) == 12, h, -1)) for h in range(m)]
    assert np.logaddexp.reduce(each) == pytest.approx(fitted.score(x))
    wanted = np.roll(np.arange(m), 1)[fitted.predict(data)]
    known = np.where(np.arange(len(data)) % 40 == 0, wanted, -1)
    found = SpectralGaussianHMM(m, fitted.covariance_type, random_state=3).fit(data, states=known)
    assert np.mean(found.predict(data) == wanted) > 0.95
    with pytest.raises(ValueError, match="moments-em"):
        SpectralGaussianHMM(m, estimator="moments").fit(data, states=known)
