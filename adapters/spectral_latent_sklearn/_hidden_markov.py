"""Offer hidden Markov models of categories as an estimator with the names and defaults of hmmlearn.

| here | hmmlearn's `CategoricalHMM` |
| --- | --- |
| `score`, `score_samples`, `decode`, `predict`, `predict_proba`, `sample` | the same |
| `startprob_`, `transmat_`, `emissionprob_` | the same, for estimators that have states |
| `categories_` | 0 ... n_features - 1 |
| `n_init` | none: one start |

A model of the library also has a probability that a sequence ends after each state.  Likelihoods of this module leave
it out, as hmmlearn's do: the operators of a model that stops after every state with probability ½ give p(x) ½ⁿ for n
observations.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from spectral_latent._names import EstimatorName
from spectral_latent._options import Count, checked
from spectral_latent.anchors import AnchorHMM, AnchorOptions
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.inference import tree_weights
from spectral_latent.sequence import HiddenMarkov, HMMOptions, LatentHMM, Sequences
from spectral_latent.sequence.decoding import Decoder, state_marginals
from spectral_latent.trees import FloatArray, Forest, IntArray
from spectral_latent_sklearn._checks import categories_in, lengths_of, seed_of

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
        """Sort the columns of a model's emissions; those without a name are left out.

        hidden: the model, which may have columns without a name.
        names: the number of the category that each column of the model stands for.
        """
        emission = hidden.emission[:, np.argsort([int(name) for name in names])]
        return _States(hidden.initial, hidden.transition, emission / emission.sum(axis=1, keepdims=True))


class SpectralHMM(BaseEstimator):
    """A hidden Markov model of categorical observations; X has one column, of integers or strings.

    n_components: m, the largest number of states.
    estimator: the way to learn.  "hybrid" is Baum-Welch from one start, states that are recovered from moments.  "em"
    is Baum-Welch from random starts.  "anchor" is the anchor method: it has no local optima, and is consistent if every
    state has a category of its own.  "spectral" is the method of moments: it has no local optima either, but no states;
    it predicts and samples observations.
    n_init: the number of starts of "em", from which the likeliest model is kept.
    tol: Baum-Welch ends when the mean log-likelihood of a position rises by less than `tol` in an iteration.
    n_iter: the largest number of iterations of Baum-Welch.
    random_state: the source of random starts.

    Fitted, it has `categories_` (n,), the categories seen; `model_`, the library's model; and, if it has states,
    `startprob_` (m,), `transmat_` (m, m) and `emissionprob_` (m, n), whose columns are in the order of `categories_`.

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

    def fit(self, X: ArrayLike, lengths: ArrayLike | None = None) -> Self:
        """Learn from sequences.

        X: (N, 1) the categories of N positions, sequence after sequence.
        lengths: (T,) the length of each sequence; None for one sequence.

        Raises ValueError for objects that are not categories, lengths that do not sum to N, and parameters out of
        range.
        """
        checked("n_components", self.n_components, Count)
        checked("n_init", self.n_init, Count)
        if self.estimator not in _ESTIMATORS:
            raise ValueError(f"estimator must be one of {', '.join(_ESTIMATORS)}, not {self.estimator!r}")
        column = categories_in(validate_data(self, X, dtype=None))
        self.categories_, number = np.unique(column, return_inverse=True)
        sequences = np.split(number, np.cumsum(lengths_of(lengths, len(column)))[:-1])
        states = self._learn([row.tolist() for row in sequences])
        if states:
            self.startprob_, self.transmat_, self.emissionprob_ = states
        else:
            for name in {"startprob_", "transmat_", "emissionprob_"} & vars(self).keys():
                delattr(self, name)
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
            case "hybrid":
                self.model_ = self._latent(sequences, "hybrid", seed_of(self.random_state))
            case _:
                seeds = seed_of(self.random_state) + np.arange(self.n_init)
                models = [self._latent(sequences, "em", int(seed)) for seed in seeds]
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

    def _hidden(self) -> HiddenMarkov:
        """Make the model of `startprob_`, `transmat_` and `emissionprob_` that stops after all states alike.

        Raises ValueError if the estimator has no states.
        """
        if not self._has_states:
            raise ValueError("the spectral estimator has no states; choose another estimator: hybrid, em or anchor")
        stop = np.full(len(self.startprob_), _STOP)
        return HiddenMarkov(self.startprob_, self.transmat_, stop, self.emissionprob_)

    def _sequences(self, X: ArrayLike, lengths: ArrayLike | None) -> Sequences:
        """Number the categories of sequences.  Raises ValueError for a category that training has not seen."""
        check_is_fitted(self)
        column = categories_in(validate_data(self, X, dtype=None, reset=False))
        if column.dtype.kind != self.categories_.dtype.kind and "U" in (column.dtype.kind, self.categories_.dtype.kind):
            raise ValueError(f"X must hold categories of {self.categories_.dtype}, as in fit, not of {column.dtype}")
        number = np.minimum(np.searchsorted(self.categories_, column), len(self.categories_) - 1)
        unseen = np.flatnonzero(self.categories_[number] != column)
        if len(unseen):
            row = unseen[0]
            raise ValueError(f"row {row} of X has the category {column[row].item()!r}, which fit has not seen")
        return Sequences.of(np.split(number, np.cumsum(lengths_of(lengths, len(column)))[:-1]))

    def score(self, X: ArrayLike, lengths: ArrayLike | None = None) -> float:
        """Compute the natural logarithm of the probability of all sequences.

        X: (N, 1) the categories of N positions, sequence after sequence.
        lengths: (T,) the length of each sequence; None for one sequence.

        Raises ValueError for a category that `fit` has not seen.
        """
        sequences = self._sequences(X, lengths)
        if self._has_states:
            operators = self._hidden().operators()
            forest = Forest.of_trees(sequences.trees(n_tags=1), operators.rules)
            return float(tree_weights(operators, forest).log.sum() - len(sequences.terminal) * math.log(_STOP))
        rows = (row.tolist() for row in sequences.rows)
        return float(-sum(self.model_.surprisal(row, "nats").lexical.sum() for row in rows))

    def score_samples(self, X: ArrayLike, lengths: ArrayLike | None = None) -> tuple[float, FloatArray]:
        """Compute `score` and `predict_proba`.

        X: (N, 1) the categories of N positions, sequence after sequence.
        lengths: (T,) the length of each sequence; None for one sequence.
        """
        return self.score(X, lengths), self.predict_proba(X, lengths)

    def predict_proba(self, X: ArrayLike, lengths: ArrayLike | None = None) -> FloatArray:
        """Compute the probability (N, m) of each state at each position, given the whole sequence.

        X: (N, 1) the categories of N positions, sequence after sequence.
        lengths: (T,) the length of each sequence; None for one sequence.

        Raises ValueError if the estimator has no states.
        """
        return state_marginals(self._sequences(X, lengths), self._hidden().operators())

    def decode(self, X: ArrayLike, lengths: ArrayLike | None = None) -> tuple[float, IntArray]:
        """Find the likeliest states (N,) of sequences (Viterbi), and the logarithm of their probability with X.

        X: (N, 1) the categories of N positions, sequence after sequence.
        lengths: (T,) the length of each sequence; None for one sequence.

        Raises ValueError if the estimator has no states.
        """
        sequences = self._sequences(X, lengths)
        operators = self._hidden().with_states_as_tags()
        all_likely = np.ones(len(operators.leaf), dtype=np.bool_)
        decoder = Decoder(operators, operators, len(self.startprob_), all_likely, threshold=0.0)
        paths = [decoder.paths(row, n_best=1)[0] for row in sequences.rows]
        log = self.score(X, lengths) + sum(path.log for path in paths)
        return float(log), np.concatenate([path.tags for path in paths])

    def predict(self, X: ArrayLike, lengths: ArrayLike | None = None) -> IntArray:
        """Find the likeliest states (N,) of sequences (Viterbi).

        X: (N, 1) the categories of N positions, sequence after sequence.
        lengths: (T,) the length of each sequence; None for one sequence.

        Raises ValueError if the estimator has no states.
        """
        return self.decode(X, lengths)[1]

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[NDArray[Any], IntArray | None]:
        """Draw one sequence: its categories (n, 1), and its states (n,), which are None for the spectral estimator.

        n_samples: n, the number of positions.
        random_state: the source of random numbers; None for the `random_state` of the estimator.
        """
        check_is_fitted(self)
        checked("n_samples", n_samples, Count)
        rng = np.random.default_rng(seed_of(self.random_state if random_state is None else random_state))
        if not self._has_states:
            (drawn,) = self.model_.sample(1, rng, length=n_samples, max_length=n_samples + 1)
            return self.categories_[drawn][:, None], None
        m, n = self.emissionprob_.shape
        state = np.empty(n_samples, dtype=np.int64)
        state[0] = rng.choice(m, p=self.startprob_)
        for i in range(1, n_samples):
            state[i] = rng.choice(m, p=self.transmat_[state[i - 1]])
        drawn = [rng.choice(n, p=self.emissionprob_[h]) for h in state]
        return self.categories_[drawn][:, None], state


def _anchor_options(n_states: int) -> AnchorOptions:
    """Choose the settings of a consistent anchor model, in which any state may follow any other."""
    paper = AnchorOptions.paper(int(n_states), "best-fit")
    return AnchorOptions(
        paper.n_states, hull=paper.hull, exchange=paper.exchange, sharpness=paper.sharpness, steps=paper.steps
    )
