"""Offer hidden Markov models of numbers as an estimator with the names and defaults of hmmlearn.

| here | hmmlearn's `GaussianHMM` |
| --- | --- |
| `score`, `score_samples`, `decode`, `predict`, `predict_proba`, `sample` | the same |
| `startprob_`, `transmat_`, `means_`, `covars_` | the same |
| `n_init` | none: one start |
"""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import validate_data

from spectral_latent._options import Count, checked
from spectral_latent.estimation import EM, EstimatorOptions
from spectral_latent.sequence import HiddenMarkov, Sequences
from spectral_latent.sequence.baum_welch import expectation
from spectral_latent.sequence.gaussian import GaussianMarkov, gaussian_baum_welch, gaussian_moments
from spectral_latent.trees import FloatArray, IntArray
from spectral_latent_sklearn._checks import lengths_of, seed_of
from spectral_latent_sklearn._markov import MarkovEstimator

__all__ = ["SpectralGaussianHMM"]

_ESTIMATORS = ("hybrid", "recovered")
_COVARIANCES = ("diag", "full")


class SpectralGaussianHMM(MarkovEstimator):
    """A hidden Markov model with Gaussian emissions.

    n_components: m, the number of states.
    covariance_type: the form of covariance matrices, "diag" or "full".
    estimator: the way to learn.  "recovered" is the method of moments: it is consistent for emissions of any form, but
    needs many positions.  "hybrid" starts EM from its result: first on cells of the observations, then on the
    observations themselves.
    n_init: the number of ways to divide the observations into cells, of which the likeliest model is kept.
    min_covar: the smallest variance in any direction.
    tol: EM ends when the mean log-likelihood of a position rises by less than `tol` in an iteration.
    n_iter: the largest number of iterations of EM.
    random_state: the source of the cells' first centres.

    Fitted, it has `startprob_` (m,), `transmat_` (m, m), `means_` (m, d) and `covars_` (m, d, d).

    >>> rng = np.random.default_rng(0)
    >>> X = np.tile([[0.0], [9.0]], (100, 1)) + rng.normal(size=(200, 1))
    >>> hmm = SpectralGaussianHMM(n_components=2, random_state=0).fit(X)
    >>> np.sort(hmm.means_[:, 0]).round(), hmm.transmat_.round().astype(int)
    (array([0., 9.]), array([[0, 1],
           [1, 0]]))
    """

    def __init__(
        self,
        n_components: int = 1,
        covariance_type: Literal["diag", "full"] = "diag",
        *,
        estimator: Literal["hybrid", "recovered"] = "hybrid",
        n_init: int = 3,
        min_covar: float = 1e-3,
        tol: float = 2e-5,
        n_iter: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.estimator = estimator
        self.n_init = n_init
        self.min_covar = min_covar
        self.tol = tol
        self.n_iter = n_iter
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None, *, lengths: ArrayLike | None = None) -> Self:
        """Learn from sequences.  Warns if the data support fewer states than `n_components`.

        X: (N, d) the observations of N positions, sequence after sequence.
        y: an argument of the interface that is not used.
        lengths: (T,) the length of each sequence; None for one sequence.

        Raises ValueError for numbers that are not finite, for lengths that do not sum to N, for fewer positions than
        states, and for parameters out of range.
        """
        checked("n_init", self.n_init, Count)
        for name, value, allowed in (
            ("estimator", self.estimator, _ESTIMATORS),
            ("covariance_type", self.covariance_type, _COVARIANCES),
        ):
            if value not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")
        if not self.min_covar > 0.0:
            raise ValueError(f"min_covar must be above 0, not {self.min_covar!r}")
        x = validate_data(self, X, dtype=np.float64)
        self._check_counts(len(x))
        sizes = lengths_of(lengths, len(x), y)
        seeds = seed_of(self.random_state) + np.arange(self.n_init)
        models = [self._learn(x, sizes, int(seed)) for seed in seeds]
        likelihoods = [_log_likelihood(model, x, sizes) for model in models]
        best = models[int(np.argmax(likelihoods))]
        self.startprob_ = best.initial
        self.transmat_ = best.transition
        self.means_ = best.means
        self.covars_ = best.covars
        self._warn_of_fewer(len(best.initial))
        return self

    def _learn(self, x: FloatArray, lengths: IntArray, seed: int) -> GaussianMarkov:
        """Train a model on observations (N, d) of sequences of some lengths (T,)."""
        options = EstimatorOptions(
            self.estimator,
            n_states=int(self.n_components),
            iterations=self.n_iter,
            tolerance=self.tol * len(x) / len(lengths),
            seed=seed,
        )
        model = gaussian_moments(x, lengths, options, self.covariance_type, self.min_covar)
        if isinstance(options, EM):
            model, _ = gaussian_baum_welch(x, lengths, model, options, self.covariance_type, self.min_covar)
        return model

    def _over_positions(self, X: ArrayLike) -> tuple[HiddenMarkov, FloatArray]:
        """Make a model that emits the number of each row with its density."""
        x = validate_data(self, X, dtype=np.float64, reset=False)
        return GaussianMarkov(self.startprob_, self.transmat_, self.means_, self.covars_).over_positions(x)

    def _emit(self, state: IntArray, rng: np.random.Generator) -> NDArray[Any]:
        """Draw the observations (n, d) of states (n,)."""
        noise = rng.normal(size=(len(state), self.means_.shape[1]))
        roots = np.linalg.cholesky(self.covars_)
        return np.asarray(self.means_[state] + np.einsum("nde,ne->nd", roots[state], noise))


def _log_likelihood(model: GaussianMarkov, x: FloatArray, lengths: IntArray) -> float:
    """Compute the log-likelihood of observations (N, d) of sequences of some lengths (T,)."""
    hidden, lacking = model.over_positions(x)
    return expectation([Sequences.of_lengths(lengths)], hidden).log_likelihood + float(lacking.sum())
