"""Offer hidden Markov models of categories and of numbers, with the names, defaults and habits of hmmlearn.

A model of the library also has a probability that a sequence ends after each state.  The estimators leave it out of
likelihoods, as hmmlearn does: under a model that stops after every state with probability ½, n observations x have the
probability p(x) ½ⁿ.

All methods that take sequences also take what is known of their states: `states`, (N,) numbers with -1 for an unknown
state, or (N, m) booleans, whether a row may have each state.  A score is then the probability of X and of such states.

| here | hmmlearn's `CategoricalHMM` and `GaussianHMM` |
| --- | --- |
| `score`, `score_samples`, `decode`, `predict`, `predict_proba`, `sample` | the same |
| `startprob_`, `transmat_`, `emissionprob_`, `means_`, `covars_` | the same, for estimators that have states |
| `categories_` | 0 ... n_features - 1 |
| `n_init` | none: one start |
"""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from spectral_latent._names import OLD_ESTIMATORS, EstimatorName
from spectral_latent._options import Count, checked
from spectral_latent.anchors import AnchorHMM, AnchorOptions
from spectral_latent.estimation import EM, ESTIMATORS, EstimatorOptions
from spectral_latent.inference import tree_weights
from spectral_latent.sequence import HiddenMarkov, HMMOptions, LatentHMM, Sequences
from spectral_latent.sequence.baum_welch import expectation
from spectral_latent.sequence.decoding import state_marginals
from spectral_latent.sequence.gaussian import GaussianMarkov, gaussian_baum_welch, gaussian_moments
from spectral_latent.sequence.hidden_markov import draw_states
from spectral_latent.trees import BoolArray, FloatArray, Forest, IntArray
from spectral_latent_sklearn._checks import allowed_states, categories_in, lengths_of, missing_in, seed_of

__all__ = ["MarkovEstimator", "SpectralGaussianHMM", "SpectralHMM"]


class MarkovEstimator(BaseEstimator):
    """Base of estimators over the rows of sequences, which lie one after another.

    Fitted, it has `startprob_` (m,) and `transmat_` (m, m).
    """

    n_components: int
    estimator: str
    random_state: Any
    startprob_: FloatArray
    transmat_: FloatArray

    @abstractmethod
    def _over_positions(self, X: ArrayLike) -> tuple[HiddenMarkov, FloatArray]:
        """Make a model that emits the number of each of N rows, and list the logarithms (N,) to add to its own."""

    @abstractmethod
    def _emit(self, state: IntArray, rng: np.random.Generator) -> NDArray[Any]:
        """Draw the observations (n, d) of states (n,)."""

    @property
    def _name(self) -> str:
        """The present name of the estimator."""
        return OLD_ESTIMATORS.get(self.estimator, self.estimator)

    def _check_counts(self, n_rows: int) -> None:
        """Raise ValueError if the number of states is out of range, or larger than the number of rows."""
        checked("n_components", self.n_components, Count)
        if n_rows < self.n_components:
            raise ValueError(f"{self.n_components} states need as many positions, not {n_rows}")

    def _warn_of_fewer(self, n_states: int) -> None:
        """Warn if a model has fewer states than it was asked for."""
        if n_states < self.n_components:
            warnings.warn(
                f"the data support {n_states} of the {self.n_components} states asked for; give more data, or ask for "
                f"n_components={n_states}",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _read(
        self, X: ArrayLike, lengths: ArrayLike | None, states: ArrayLike | None, y: Any = None
    ) -> tuple[HiddenMarkov, Sequences, float]:
        """Make a model over positions and its sequences, and compute the number to add to its log-probabilities."""
        check_is_fitted(self)
        model, lacking = self._over_positions(X)
        model = model.among(allowed_states(states, len(lacking), model.n_states))
        return model, Sequences.of_lengths(lengths_of(lengths, len(lacking), y)), float(lacking.sum())

    def score(
        self, X: ArrayLike, y: object = None, *, lengths: ArrayLike | None = None, states: ArrayLike | None = None
    ) -> float:
        """Compute the natural logarithm of the probability, or of the density, of all sequences.

        states: (N,) or (N, m) what is known of the states; see this module.

        Raises ValueError if X, the lengths or the states do not fit the model, as all methods do.
        """
        model, sequences, lacking = self._read(X, lengths, states, y)
        operators = model.operators()
        forest = Forest.of_trees(sequences.trees(n_tags=1), operators.rules)
        return float(tree_weights(operators, forest).log.sum()) + lacking

    def score_samples(
        self, X: ArrayLike, lengths: ArrayLike | None = None, states: ArrayLike | None = None
    ) -> tuple[float, FloatArray]:
        """Compute `score` and `predict_proba`.

        states: (N,) or (N, m) what is known of the states; see this module.
        """
        return self.score(X, lengths=lengths, states=states), self.predict_proba(X, lengths, states)

    def predict_proba(
        self, X: ArrayLike, lengths: ArrayLike | None = None, states: ArrayLike | None = None
    ) -> FloatArray:
        """Compute the probability (N, m) of each state at each position, given the whole sequence.

        The states of a sequence that is impossible under the model have equal probabilities.

        states: (N,) or (N, m) what is known of the states; see this module.
        """
        model, sequences, _ = self._read(X, lengths, states)
        return state_marginals(sequences, model.operators())

    def decode(
        self, X: ArrayLike, lengths: ArrayLike | None = None, states: ArrayLike | None = None
    ) -> tuple[float, IntArray]:
        """Find the likeliest states (N,) of sequences (Viterbi), and the logarithm of their probability with X.

        states: (N,) or (N, m) what is known of the states; see this module.
        """
        model, sequences, lacking = self._read(X, lengths, states)
        found, log = model.likeliest_states(sequences)
        return log + lacking, found

    def predict(self, X: ArrayLike, lengths: ArrayLike | None = None, states: ArrayLike | None = None) -> IntArray:
        """Find the likeliest states (N,) of sequences (Viterbi).

        states: (N,) or (N, m) what is known of the states; see this module.
        """
        return self.decode(X, lengths, states)[1]

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[NDArray[Any], IntArray | None]:
        """Draw one sequence: its observations (n, d), and its states (n,).

        n_samples: n, the number of positions.
        """
        check_is_fitted(self)
        checked("n_samples", n_samples, Count)
        rng = np.random.default_rng(seed_of(self.random_state if random_state is None else random_state))
        state = draw_states(self.startprob_, self.transmat_, n_samples, rng)
        return self._emit(state, rng), state


_ESTIMATORS = ("spectral", "em", "moments-em", "anchors")
_STOP = 0.5


def _states_of(hidden: HiddenMarkov, names: list[Any]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """List start (m,), transitions (m, m) and emissions (m, n) of a model; emissions without a name are left out."""
    emission = hidden.emission[:, np.argsort([int(name) for name in names])]
    return hidden.initial, hidden.transition, emission / emission.sum(axis=1, keepdims=True)


class SpectralHMM(MarkovEstimator):
    """A hidden Markov model of categorical observations: integers or strings in the one column of X.

    If X has several columns, a row is one category.  A row of None is missing, in training and in use.

    n_components: m, the largest number of states.
    estimator: the way to learn.  "moments-em" is Baum-Welch from one start, the states that moments show; if
    moments show fewer than m states, random starts join it.  "em" is Baum-Welch from random starts.  "anchors" is
    the anchor method: it has no local optima, and is consistent if every state has a category of its own.  "spectral"
    is the method of moments: it has no local optima either, but no states; it predicts and samples observations.
    n_init: the number of random starts; the likeliest model is kept.
    tol: Baum-Welch ends when the mean log-likelihood of a position rises by less than `tol` in an iteration.
    n_iter: the largest number of iterations of Baum-Welch.
    random_state: the source of random starts.

    Fitted, it has `categories_` (n,) or (n, d), the categories seen; `model_`, the library's model; and, if it has
    states, `startprob_` (m,), `transmat_` (m, m) and `emissionprob_` (m, n) with columns in the order of `categories_`.

    >>> X = [[0], [1], [0], [1], [0]] * 50
    >>> hmm = SpectralHMM(n_components=2, random_state=0).fit(X, lengths=[5] * 50)
    >>> hmm.transmat_.round().astype(int)
    array([[0, 1],
           [1, 0]])
    >>> round(hmm.score([[0], [1], [0]]), 1)
    0.0
    """

    def __init__(
        self,
        n_components: int = 1,
        estimator: Literal["spectral", "em", "moments-em", "anchors"] = "moments-em",
        *,
        n_init: int = 10,
        tol: float = 2e-5,
        n_iter: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.estimator = estimator
        self.n_init = n_init
        self.tol = tol
        self.n_iter = n_iter
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what the estimator takes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def fit(
        self, X: ArrayLike, y: object = None, *, lengths: ArrayLike | None = None, states: ArrayLike | None = None
    ) -> Self:
        """Learn from sequences.  Warns if the data support fewer states than `n_components`.

        With missing rows or known states, EM starts from random states alone, near the states that are known.

        states: (N,) or (N, m) what is known of the states; see this module.

        Raises ValueError for objects that are not categories, for lengths that do not sum to N, for fewer positions
        than states, for parameters out of range, and for missing rows or known states with an estimator without EM.
        """
        checked("n_init", self.n_init, Count)
        if self._name not in _ESTIMATORS:
            raise ValueError(f"estimator must be one of {', '.join(_ESTIMATORS)}, not {self.estimator!r}")
        given = validate_data(self, X, dtype=None)
        is_missing = missing_in(given)
        if is_missing.all():
            raise ValueError("all rows of X are missing")
        x = categories_in(given[~is_missing])
        self._check_counts(len(given))
        allowed = allowed_states(states, len(given), int(self.n_components))
        categories, number = np.unique(x, axis=0, return_inverse=True)
        self.categories_ = categories[:, 0] if x.shape[1] == 1 else categories
        numbers = np.full(len(given), -1)
        numbers[~is_missing] = number.ravel()
        cuts = np.cumsum(lengths_of(lengths, len(given), y))[:-1]
        sequences = [row.tolist() for row in np.split(numbers, cuts)]
        if allowed is None and not is_missing.any():
            learnt = self._learn(sequences)
        else:
            of_rows = np.ones((len(given), int(self.n_components)), dtype=bool) if allowed is None else allowed
            learnt = self._learn_partly(sequences, np.split(of_rows, cuts))
        if learnt:
            self.startprob_, self.transmat_, self.emissionprob_ = learnt
        else:
            for name in {"startprob_", "transmat_", "emissionprob_"} & vars(self).keys():
                delattr(self, name)
        self._warn_of_fewer(len(self.startprob_) if learnt else self.model_.grammar.n_states)
        return self

    def _learn(self, sequences: list[list[int]]) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        """Learn `model_` from sequences of the numbers of categories; return its states, if it has any."""
        self.model_: Any
        match self._name:
            case "anchors":
                words = ([str(x) for x in row] for row in sequences)
                self.model_ = AnchorHMM.train(words, _anchor_options(self.n_components))
                return _states_of(self.model_.hidden, self.model_.words)
            case "spectral":
                self.model_ = self._latent(sequences, "spectral", seed_of(self.random_state))
                return None
        first = seed_of(self.random_state)
        models = [self._latent(sequences, "moments-em", first)] if self._name == "moments-em" else []
        if not models or models[0].hidden.n_states < self.n_components:
            models += [self._latent(sequences, "em", first + start) for start in range(self.n_init)]
        self.model_ = max(models, key=lambda model: model.objective[-1])
        return _states_of(self.model_.hidden, self.model_.observations.known)

    def _learn_partly(
        self, sequences: list[list[int]], allowed: list[BoolArray]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Learn `model_` where categories are missing (-1) or states are known; allowed: (T_i, m) for each sequence."""
        if self._name not in ("em", "moments-em"):
            raise ValueError(f"missing rows and known states need EM, not {self.estimator}; choose moments-em or em")
        rows = [[None if x < 0 else x for x in row] for row in sequences]
        known = [[frozenset(np.flatnonzero(each).tolist()) for each in row] for row in allowed]
        first = seed_of(self.random_state)
        models = [
            LatentHMM.train_partly(rows, known, self._options(sequences, "em", first + start))
            for start in range(self.n_init)
        ]
        self.model_ = max(models, key=lambda model: model.objective[-1])
        return _states_of(self.model_.hidden, self.model_.observations.known)

    def _options(self, sequences: list[list[int]], name: EstimatorName, seed: int) -> HMMOptions:
        """Choose the settings of a latent hidden Markov model."""
        mean_length = sum(map(len, sequences)) / len(sequences)
        options = ESTIMATORS[name].with_settings(
            n_states=int(self.n_components), iterations=self.n_iter, tolerance=self.tol * mean_length, seed=seed
        )
        return HMMOptions(options, choose_states=False)

    def _latent(self, sequences: list[list[int]], name: EstimatorName, seed: int) -> LatentHMM:
        """Train a latent hidden Markov model."""
        return LatentHMM.train(sequences, self._options(sequences, name, seed))

    @property
    def _has_states(self) -> bool:
        """Whether the fitted model has states."""
        return hasattr(self, "transmat_")

    def _numbers(self, X: ArrayLike) -> IntArray:
        """Number the categories (N,) of rows, -1 if a row is missing.

        Raises ValueError for a category that training has not seen.
        """
        given = validate_data(self, X, dtype=None, reset=False)
        numbers = np.full(len(given), -1)
        known = self.categories_.reshape(len(self.categories_), -1).tolist()
        index = {tuple(category): number for number, category in enumerate(known)}
        places = np.flatnonzero(~missing_in(given)).tolist()
        rows = categories_in(given[places]).tolist() if places else []
        for place, row in zip(places, rows, strict=True):
            number = index.get(tuple(row))
            if number is None:
                category = ", ".join(map(repr, row))
                raise ValueError(f"row {place} of X has the category {category}, which fit has not seen")
            numbers[place] = number
        return numbers

    def _over_positions(self, X: ArrayLike) -> tuple[HiddenMarkov, FloatArray]:
        """Make a model that emits the number of each row with the probability of its category.

        Raises ValueError if the estimator has no states.
        """
        if not self._has_states:
            raise ValueError("the spectral estimator has no states; choose moments-em, em or anchors")
        numbers = self._numbers(X)
        stop = np.full(len(self.startprob_), _STOP)
        emission = np.where(numbers < 0, 1.0, self.emissionprob_[:, numbers])
        model = HiddenMarkov(self.startprob_, self.transmat_, stop, emission)
        return model, np.full(len(numbers), -math.log(_STOP))

    def score(
        self, X: ArrayLike, y: object = None, *, lengths: ArrayLike | None = None, states: ArrayLike | None = None
    ) -> float:
        """Compute the natural logarithm of the probability of all sequences.

        states: (N,) or (N, m) what is known of the states; see this module.

        Raises ValueError for a category that `fit` has not seen, and for missing rows or known states with the
        estimator "spectral".
        """
        check_is_fitted(self)
        if self._has_states or states is not None:
            return super().score(X, y, lengths=lengths, states=states)
        numbers = self._numbers(X)
        if (numbers < 0).any():
            raise ValueError(f"row {int(np.argmin(numbers))} of X is missing; choose moments-em, em or anchors")
        rows = np.split(numbers, np.cumsum(lengths_of(lengths, len(numbers), y))[:-1])
        return float(-sum(self.model_.surprisal(row.tolist(), "nats").lexical.sum() for row in rows))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[NDArray[Any], IntArray | None]:
        """Draw one sequence: its categories (n, d), and its states (n,), which are None for the spectral estimator.

        n_samples: n, the number of positions.
        """
        check_is_fitted(self)
        if self._has_states:
            return super().sample(n_samples, random_state)
        checked("n_samples", n_samples, Count)
        rng = np.random.default_rng(seed_of(self.random_state if random_state is None else random_state))
        (drawn,) = self.model_.sample(1, rng, length=n_samples)
        return self.categories_[drawn].reshape(n_samples, -1), None

    def _emit(self, state: IntArray, rng: np.random.Generator) -> NDArray[Any]:
        """Draw the categories (n, d) of states (n,)."""
        n = self.emissionprob_.shape[1]
        drawn = [rng.choice(n, p=self.emissionprob_[h]) for h in state]
        return self.categories_[drawn].reshape(len(state), -1)


def _anchor_options(n_states: int) -> AnchorOptions:
    """Choose the settings of a consistent anchor model, in which any state may follow any other."""
    paper = AnchorOptions.paper(int(n_states), "best-fit")
    return AnchorOptions(
        paper.n_states, hull=paper.hull, exchange=paper.exchange, sharpness=paper.sharpness, steps=paper.steps
    )


_GAUSSIAN_ESTIMATORS = ("moments-em", "moments")
_COVARIANCES = ("diag", "full")


class SpectralGaussianHMM(MarkovEstimator):
    """A hidden Markov model with Gaussian emissions.  A number that is NaN is missing, in training and in use.

    n_components: m, the number of states.
    covariance_type: the form of covariance matrices, "diag" or "full".
    estimator: the way to learn.  "moments" is the method of moments: it is consistent for emissions of any form, but
    needs many positions.  "moments-em" starts EM from its result: first on cells of the observations, then on the
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
        estimator: Literal["moments-em", "moments"] = "moments-em",
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

    def fit(
        self, X: ArrayLike, y: object = None, *, lengths: ArrayLike | None = None, states: ArrayLike | None = None
    ) -> Self:
        """Learn from sequences.  Warns if the data support fewer states than `n_components`.

        states: (N,) or (N, m) what is known of the states; see this module.

        Raises ValueError for infinite numbers, for a column without numbers, for NaN or known states with the estimator
        "moments", for known states of which the data support fewer, for lengths that do not sum to N, for fewer
        positions than states, and for parameters out of range.
        """
        checked("n_init", self.n_init, Count)
        for name, value, choices in (
            ("estimator", self._name, _GAUSSIAN_ESTIMATORS),
            ("covariance_type", self.covariance_type, _COVARIANCES),
        ):
            if value not in choices:
                raise ValueError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
        if not self.min_covar > 0.0:
            raise ValueError(f"min_covar must be above 0, not {self.min_covar!r}")
        x = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        self._check_counts(len(x))
        is_missing = np.isnan(x)
        if (is_lost := is_missing.all(axis=0)).any():
            raise ValueError(f"column {int(is_lost.argmax())} of X has no number; leave it out")
        if self._name == "moments" and is_missing.any():
            raise ValueError("the estimator moments needs all numbers, but X has NaN; choose moments-em")
        allowed = allowed_states(states, len(x), int(self.n_components))
        if self._name == "moments" and allowed is not None:
            raise ValueError("the estimator moments cannot use known states; choose moments-em")
        sizes = lengths_of(lengths, len(x), y)
        seeds = seed_of(self.random_state) + np.arange(self.n_init)
        models = [self._learn(x, sizes, int(seed), allowed) for seed in seeds]
        likelihoods = [_log_likelihood(model, x, sizes, allowed) for model in models]
        best = models[int(np.argmax(likelihoods))]
        self.startprob_ = best.initial
        self.transmat_ = best.transition
        self.means_ = best.means
        self.covars_ = best.covars
        self._warn_of_fewer(len(best.initial))
        return self

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what the estimator takes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _learn(self, x: FloatArray, lengths: IntArray, seed: int, allowed: BoolArray | None) -> GaussianMarkov:
        """Train a model on observations (N, d) of sequences of some lengths (T,)."""
        options = EstimatorOptions(self.estimator, int(self.n_components)).with_settings(
            iterations=self.n_iter, tolerance=self.tol * len(x) / len(lengths), seed=seed
        )
        model = gaussian_moments(x, lengths, options, self.covariance_type, self.min_covar)
        if allowed is not None and len(model.initial) < allowed.shape[1]:
            raise ValueError(f"the data support {len(model.initial)} states, but {allowed.shape[1]} are known")
        if isinstance(options, EM):
            model, _ = gaussian_baum_welch(x, lengths, model, options, self.covariance_type, self.min_covar, allowed)
        return model

    def _over_positions(self, X: ArrayLike) -> tuple[HiddenMarkov, FloatArray]:
        """Make a model that emits the number of each row with its density."""
        x = validate_data(self, X, dtype=np.float64, reset=False, ensure_all_finite="allow-nan")
        return GaussianMarkov(self.startprob_, self.transmat_, self.means_, self.covars_).over_positions(x)

    def _emit(self, state: IntArray, rng: np.random.Generator) -> NDArray[Any]:
        """Draw the observations (n, d) of states (n,)."""
        noise = rng.normal(size=(len(state), self.means_.shape[1]))
        roots = np.linalg.cholesky(self.covars_)
        return np.asarray(self.means_[state] + np.einsum("nde,ne->nd", roots[state], noise))


def _log_likelihood(model: GaussianMarkov, x: FloatArray, lengths: IntArray, allowed: BoolArray | None) -> float:
    """Compute the log-likelihood of observations (N, d) of sequences of some lengths (T,), in allowed states (N, m)."""
    hidden, lacking = model.over_positions(x)
    return expectation([Sequences.of_lengths(lengths)], hidden.among(allowed)).log_likelihood + float(lacking.sum())
