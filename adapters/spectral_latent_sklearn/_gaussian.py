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
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from spectral_latent._options import Count, checked
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.sequence import HiddenMarkov, Sequences
from spectral_latent.sequence.baum_welch import expectation
from spectral_latent.sequence.decoding import Decoder
from spectral_latent.sequence.gaussian import GaussianMarkov, gaussian_baum_welch, gaussian_moments, positions
from spectral_latent.trees import FloatArray, IntArray
from spectral_latent_sklearn._checks import lengths_of, seed_of

__all__ = ["SpectralGaussianHMM"]

_ESTIMATORS = ("hybrid", "recovered")
_COVARIANCES = ("diag", "full")


class SpectralGaussianHMM(BaseEstimator):
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

    def fit(self, X: ArrayLike, lengths: ArrayLike | None = None) -> Self:
        """Learn from sequences.

        X: (N, d) the observations of N positions, sequence after sequence.
        lengths: (T,) the length of each sequence; None for one sequence.

        Raises ValueError for numbers that are not finite, for lengths that do not sum to N, for fewer positions than
        states, and for parameters out of range.
        """
        checked("n_components", self.n_components, Count)
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
        if len(x) < self.n_components:
            raise ValueError(f"{self.n_components} states need as many positions, not {len(x)}")
        sizes = lengths_of(lengths, len(x))
        seeds = seed_of(self.random_state) + np.arange(self.n_init)
        models = [self._learn(x, sizes, int(seed)) for seed in seeds]
        likelihoods = [_log_likelihood(model, x, sizes) for model in models]
        best = models[int(np.argmax(likelihoods))]
        self.startprob_ = best.initial
        self.transmat_ = best.transition
        self.means_ = best.means
        self.covars_ = best.covars
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
        if self.estimator == "hybrid":
            model, _ = gaussian_baum_welch(x, lengths, model, options, self.covariance_type, self.min_covar)
        return model

    def _read(self, X: ArrayLike, lengths: ArrayLike | None) -> tuple[Sequences, HiddenMarkov, float]:
        """Number the positions of sequences, weigh them, and return the number to add to log-likelihoods."""
        check_is_fitted(self)
        x = validate_data(self, X, dtype=np.float64, reset=False)
        model = GaussianMarkov(self.startprob_, self.transmat_, self.means_, self.covars_)
        hidden, lacking = model.over_positions(x)
        return positions(lengths_of(lengths, len(x))), hidden, float(lacking.sum())

    def score(self, X: ArrayLike, lengths: ArrayLike | None = None) -> float:
        """Compute the natural logarithm of the density of all sequences.

        X: (N, d) the observations of N positions, sequence after sequence.
        lengths: (T,) the length of each sequence; None for one sequence.
        """
        return self.score_samples(X, lengths)[0]

    def score_samples(self, X: ArrayLike, lengths: ArrayLike | None = None) -> tuple[float, FloatArray]:
        """Compute `score` and `predict_proba`.

        X: (N, d) the observations of N positions, sequence after sequence.
        lengths: (T,) the length of each sequence; None for one sequence.
        """
        sequences, hidden, lacking = self._read(X, lengths)
        counts = expectation([sequences], hidden)
        return counts.log_likelihood + lacking, counts.emitted

    def predict_proba(self, X: ArrayLike, lengths: ArrayLike | None = None) -> FloatArray:
        """Compute the probability (N, m) of each state at each position, given the whole sequence.

        X: (N, d) the observations of N positions, sequence after sequence.
        lengths: (T,) the length of each sequence; None for one sequence.
        """
        return self.score_samples(X, lengths)[1]

    def decode(self, X: ArrayLike, lengths: ArrayLike | None = None) -> tuple[float, IntArray]:
        """Find the likeliest states (N,) of sequences (Viterbi), and the logarithm of their density with X.

        X: (N, d) the observations of N positions, sequence after sequence.
        lengths: (T,) the length of each sequence; None for one sequence.
        """
        sequences, hidden, lacking = self._read(X, lengths)
        operators = hidden.with_states_as_tags()
        all_likely = np.ones(len(operators.leaf), dtype=np.bool_)
        decoder = Decoder(operators, operators, hidden.n_states, all_likely, threshold=0.0)
        paths = [decoder.paths(row, n_best=1)[0] for row in sequences.rows]
        log = expectation([sequences], hidden).log_likelihood + lacking + sum(path.log for path in paths)
        return float(log), np.concatenate([path.tags for path in paths])

    def predict(self, X: ArrayLike, lengths: ArrayLike | None = None) -> IntArray:
        """Find the likeliest states (N,) of sequences (Viterbi).

        X: (N, d) the observations of N positions, sequence after sequence.
        lengths: (T,) the length of each sequence; None for one sequence.
        """
        return self.decode(X, lengths)[1]

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[NDArray[Any], IntArray]:
        """Draw one sequence: its observations (n, d), and its states (n,).

        n_samples: n, the number of positions.
        random_state: the source of random numbers; None for the `random_state` of the estimator.
        """
        check_is_fitted(self)
        checked("n_samples", n_samples, Count)
        rng = np.random.default_rng(seed_of(self.random_state if random_state is None else random_state))
        m, d = self.means_.shape
        state = np.empty(n_samples, dtype=np.int64)
        state[0] = rng.choice(m, p=self.startprob_)
        for i in range(1, n_samples):
            state[i] = rng.choice(m, p=self.transmat_[state[i - 1]])
        roots = np.linalg.cholesky(self.covars_)
        return self.means_[state] + np.einsum("nde,ne->nd", roots[state], rng.normal(size=(n_samples, d))), state


def _log_likelihood(model: GaussianMarkov, x: FloatArray, lengths: IntArray) -> float:
    """Compute the log-likelihood of observations (N, d) of sequences of some lengths (T,)."""
    hidden, lacking = model.over_positions(x)
    return expectation([positions(lengths)], hidden).log_likelihood + float(lacking.sum())
