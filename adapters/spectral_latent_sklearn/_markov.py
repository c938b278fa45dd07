"""Hold the base of hidden Markov models, with the names and habits of hmmlearn.

A model of the library also has a probability that a sequence ends after each state.  The estimators leave it out of
likelihoods, as hmmlearn does: under a model that stops after every state with probability ½, n observations x have the
probability p(x) ½ⁿ.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from spectral_latent._options import Count, checked
from spectral_latent.inference import tree_weights
from spectral_latent.sequence import HiddenMarkov, Sequences
from spectral_latent.sequence.decoding import state_marginals
from spectral_latent.sequence.hidden_markov import draw_states
from spectral_latent.trees import FloatArray, Forest, IntArray
from spectral_latent_sklearn._checks import lengths_of, seed_of

__all__ = ["MarkovEstimator"]


class MarkovEstimator(BaseEstimator):
    """Base of estimators over the rows of sequences, which lie one after another.

    Fitted, it has `startprob_` (m,) and `transmat_` (m, m).
    """

    n_components: int
    random_state: Any
    startprob_: FloatArray
    transmat_: FloatArray

    @abstractmethod
    def _over_positions(self, X: ArrayLike) -> tuple[HiddenMarkov, FloatArray]:
        """Make a model that emits the number of each of N rows, and list the logarithms (N,) to add to its own."""

    @abstractmethod
    def _emit(self, state: IntArray, rng: np.random.Generator) -> NDArray[Any]:
        """Draw the observations (n, d) of states (n,)."""

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

    def _read(self, X: ArrayLike, lengths: ArrayLike | None, y: Any = None) -> tuple[HiddenMarkov, Sequences, float]:
        """Make a model over positions and its sequences, and compute the number to add to its log-probabilities."""
        check_is_fitted(self)
        model, lacking = self._over_positions(X)
        return model, Sequences.of_lengths(lengths_of(lengths, len(lacking), y)), float(lacking.sum())

    def score(self, X: ArrayLike, y: object = None, *, lengths: ArrayLike | None = None) -> float:
        """Compute the natural logarithm of the probability, or of the density, of all sequences.

        X: (N, d) the observations of N positions, sequence after sequence.
        y: an argument of the interface that is not used.
        lengths: (T,) the length of each sequence; None for one sequence.

        Raises ValueError if X or the lengths do not fit the model, as all methods do.
        """
        model, sequences, lacking = self._read(X, lengths, y)
        operators = model.operators()
        forest = Forest.of_trees(sequences.trees(n_tags=1), operators.rules)
        return float(tree_weights(operators, forest).log.sum()) + lacking

    def score_samples(self, X: ArrayLike, lengths: ArrayLike | None = None) -> tuple[float, FloatArray]:
        """Compute `score` and `predict_proba`.

        X: (N, d) the observations of N positions, sequence after sequence.
        lengths: (T,) the length of each sequence; None for one sequence.
        """
        return self.score(X, lengths=lengths), self.predict_proba(X, lengths)

    def predict_proba(self, X: ArrayLike, lengths: ArrayLike | None = None) -> FloatArray:
        """Compute the probability (N, m) of each state at each position, given the whole sequence.

        The states of a sequence that is impossible under the model have equal probabilities.

        X: (N, d) the observations of N positions, sequence after sequence.
        lengths: (T,) the length of each sequence; None for one sequence.
        """
        model, sequences, _ = self._read(X, lengths)
        return state_marginals(sequences, model.operators())

    def decode(self, X: ArrayLike, lengths: ArrayLike | None = None) -> tuple[float, IntArray]:
        """Find the likeliest states (N,) of sequences (Viterbi), and the logarithm of their probability with X.

        X: (N, d) the observations of N positions, sequence after sequence.
        lengths: (T,) the length of each sequence; None for one sequence.
        """
        model, sequences, lacking = self._read(X, lengths)
        states, log = model.likeliest_states(sequences)
        return log + lacking, states

    def predict(self, X: ArrayLike, lengths: ArrayLike | None = None) -> IntArray:
        """Find the likeliest states (N,) of sequences (Viterbi).

        X: (N, d) the observations of N positions, sequence after sequence.
        lengths: (T,) the length of each sequence; None for one sequence.
        """
        return self.decode(X, lengths)[1]

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[NDArray[Any], IntArray | None]:
        """Draw one sequence: its observations (n, d), and its states (n,).

        n_samples: n, the number of positions.
        random_state: the source of random numbers; None for the `random_state` of the estimator.
        """
        check_is_fitted(self)
        checked("n_samples", n_samples, Count)
        rng = np.random.default_rng(seed_of(self.random_state if random_state is None else random_state))
        state = draw_states(self.startprob_, self.transmat_, n_samples, rng)
        return self._emit(state, rng), state
