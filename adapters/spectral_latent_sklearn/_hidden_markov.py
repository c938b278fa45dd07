"""Offer hidden Markov models of categories as an estimator with the names and defaults of hmmlearn.

| here | hmmlearn's `CategoricalHMM` |
| --- | --- |
| `score`, `score_samples`, `decode`, `predict`, `predict_proba`, `sample` | the same |
| `startprob_`, `transmat_`, `emissionprob_` | the same, for estimators that have states |
| `categories_` | 0 ... n_features - 1 |
| `n_init` | none: one start |
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from spectral_latent._names import EstimatorName
from spectral_latent._options import Count, checked
from spectral_latent.anchors import AnchorHMM, AnchorOptions
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.sequence import HiddenMarkov, HMMOptions, LatentHMM
from spectral_latent.trees import FloatArray, IntArray
from spectral_latent_sklearn._checks import categories_in, lengths_of, seed_of
from spectral_latent_sklearn._markov import MarkovEstimator

__all__ = ["SpectralHMM"]

_ESTIMATORS = ("spectral", "em", "hybrid", "anchor")
_STOP = 0.5


class _States(NamedTuple):
    """The probabilities of a model that has states.

    initial: (m,) the probability that a sequence begins in each state.
    transition: (m, m) the probability of each next state.
    emission: (m, n) the probability of each category in each state.
    """

    initial: FloatArray
    transition: FloatArray
    emission: FloatArray

    @staticmethod
    def of(hidden: HiddenMarkov, names: list[Any]) -> _States:
        """Sort the columns of a model's emissions; those without a name are left out."""
        emission = hidden.emission[:, np.argsort([int(name) for name in names])]
        return _States(hidden.initial, hidden.transition, emission / emission.sum(axis=1, keepdims=True))


class SpectralHMM(MarkovEstimator):
    """A hidden Markov model of categorical observations: integers or strings in the one column of X.

    If X has several columns, a row is one category.

    n_components: m, the largest number of states.
    estimator: the way to learn.  "hybrid" is Baum-Welch from one start, states that are recovered from moments; if
    moments show fewer than m states, random starts join it.  "em" is Baum-Welch from random starts.  "anchor" is the
    anchor method: it has no local optima, and is consistent if every state has a category of its own.  "spectral" is
    the method of moments: it has no local optima either, but no states; it predicts and samples observations.
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
        estimator: Literal["spectral", "em", "hybrid", "anchor"] = "hybrid",
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

    def fit(self, X: ArrayLike, y: object = None, *, lengths: ArrayLike | None = None) -> Self:
        """Learn from sequences.  Warns if the data support fewer states than `n_components`.

        X: (N, d) the categories of N positions, sequence after sequence.
        y: an argument of the interface that is not used.
        lengths: (T,) the length of each sequence; None for one sequence.

        Raises ValueError for objects that are not categories, for lengths that do not sum to N, for fewer positions
        than states, and for parameters out of range.
        """
        checked("n_init", self.n_init, Count)
        if self.estimator not in _ESTIMATORS:
            raise ValueError(f"estimator must be one of {', '.join(_ESTIMATORS)}, not {self.estimator!r}")
        x = categories_in(validate_data(self, X, dtype=None))
        self._check_counts(len(x))
        categories, number = np.unique(x, axis=0, return_inverse=True)
        self.categories_ = categories[:, 0] if x.shape[1] == 1 else categories
        sequences = np.split(number.ravel(), np.cumsum(lengths_of(lengths, len(x), y))[:-1])
        states = self._learn([row.tolist() for row in sequences])
        if states:
            self.startprob_, self.transmat_, self.emissionprob_ = states
        else:
            for name in {"startprob_", "transmat_", "emissionprob_"} & vars(self).keys():
                delattr(self, name)
        self._warn_of_fewer(len(states.initial) if states else self.model_.grammar.n_states)
        return self

    def _learn(self, sequences: list[list[int]]) -> _States | None:
        """Learn `model_` from sequences of the numbers of categories; return its states, if it has any."""
        self.model_: Any
        match self.estimator:
            case "anchor":
                words = ([str(x) for x in row] for row in sequences)
                self.model_ = AnchorHMM.train(words, _anchor_options(self.n_components))
                return _States.of(self.model_.hidden, self.model_.words)
            case "spectral":
                self.model_ = self._latent(sequences, "spectral", seed_of(self.random_state))
                return None
        first = seed_of(self.random_state)
        models = [self._latent(sequences, "hybrid", first)] if self.estimator == "hybrid" else []
        if not models or models[0].hidden.n_states < self.n_components:
            models += [self._latent(sequences, "em", first + start) for start in range(self.n_init)]
        self.model_ = max(models, key=lambda model: model.objective[-1])
        return _States.of(self.model_.hidden, self.model_.observations.known)

    def _latent(self, sequences: list[list[int]], name: EstimatorName, seed: int) -> LatentHMM:
        """Train a latent hidden Markov model."""
        mean_length = sum(map(len, sequences)) / len(sequences)
        options = EstimatorOptions(
            name,
            n_states=int(self.n_components),
            iterations=self.n_iter,
            tolerance=self.tol * mean_length,
            seed=seed,
        )
        return LatentHMM.train(sequences, HMMOptions(options, choose_states=False))

    @property
    def _has_states(self) -> bool:
        """Whether the fitted model has states."""
        return hasattr(self, "transmat_")

    def _numbers(self, X: ArrayLike) -> IntArray:
        """Number the categories (N,) of rows.  Raises ValueError for a category that training has not seen."""
        rows = categories_in(validate_data(self, X, dtype=None, reset=False)).tolist()
        known = self.categories_.reshape(len(self.categories_), -1).tolist()
        index = {tuple(category): number for number, category in enumerate(known)}
        numbers = np.array([index.get(tuple(row), -1) for row in rows])
        if (numbers < 0).any():
            row = int(np.argmin(numbers))
            category = ", ".join(map(repr, rows[row]))
            raise ValueError(f"row {row} of X has the category {category}, which fit has not seen")
        return numbers

    def _over_positions(self, X: ArrayLike) -> tuple[HiddenMarkov, FloatArray]:
        """Make a model that emits the number of each row with the probability of its category.

        Raises ValueError if the estimator has no states.
        """
        if not self._has_states:
            raise ValueError("the spectral estimator has no states; choose another estimator: hybrid, em or anchor")
        numbers = self._numbers(X)
        stop = np.full(len(self.startprob_), _STOP)
        model = HiddenMarkov(self.startprob_, self.transmat_, stop, self.emissionprob_[:, numbers])
        return model, np.full(len(numbers), -math.log(_STOP))

    def score(self, X: ArrayLike, y: object = None, *, lengths: ArrayLike | None = None) -> float:
        """Compute the natural logarithm of the probability of all sequences.

        X: (N, d) the categories of N positions, sequence after sequence.
        y: an argument of the interface that is not used.
        lengths: (T,) the length of each sequence; None for one sequence.

        Raises ValueError for a category that `fit` has not seen.
        """
        check_is_fitted(self)
        if self._has_states:
            return super().score(X, y, lengths=lengths)
        numbers = self._numbers(X)
        rows = np.split(numbers, np.cumsum(lengths_of(lengths, len(numbers), y))[:-1])
        return float(-sum(self.model_.surprisal(row.tolist(), "nats").lexical.sum() for row in rows))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[NDArray[Any], IntArray | None]:
        """Draw one sequence: its categories (n, d), and its states (n,), which are None for the spectral estimator.

        n_samples: n, the number of positions.
        random_state: the source of random numbers; None for the `random_state` of the estimator.
        """
        check_is_fitted(self)
        if self._has_states:
            return super().sample(n_samples, random_state)
        checked("n_samples", n_samples, Count)
        rng = np.random.default_rng(seed_of(self.random_state if random_state is None else random_state))
        (drawn,) = self.model_.sample(1, rng, length=n_samples, max_length=n_samples + 1)
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
