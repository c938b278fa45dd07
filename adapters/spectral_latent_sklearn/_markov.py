"""Offer hidden Markov models of categories and of numbers, with the names, defaults and habits of hmmlearn.

A model of the library also has a probability that a sequence ends after each state.  The estimators leave it out of
likelihoods, as hmmlearn does: under a model that stops after every state with probability ½, n observations x have the
probability p(x) ½ⁿ.

| here | hmmlearn's `CategoricalHMM` and `GaussianHMM` |
| --- | --- |
| `score`, `score_samples`, `decode`, `predict`, `predict_proba`, `sample` | the same |
| `startprob_`, `transmat_`, `emissionprob_`, `means_`, `covars_` | the same, for estimators that have states |
| `categories_`, `categories` | 0 ... n_features - 1, `n_features` |
| `aic`, `bic` | the same |
| `score_sequences`: a score for each sequence | `score` of each |
| `n_init` | none: one start |
"""

import math
import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from spectral_latent.anchors import AnchorHMM, AnchorOptions
from spectral_latent.estimation import EM, Estimator, EstimatorOptions, n_near
from spectral_latent.sequence import (
    Alphabet,
    GaussianLearner,
    GaussianMarkov,
    HiddenMarkov,
    HMMOptions,
    LatentHMM,
    Sequences,
    draw_states,
    state_posteriors,
    supported_states,
    train_gaussian,
)
from spectral_latent.trees import BoolArray, FloatArray, IntArray
from spectral_latent_sklearn._checks import (
    allowed_states,
    categories_in,
    check_count,
    lengths_of,
    missing_in,
    named_categories,
    seed_of,
)


class MarkovEstimator(BaseEstimator):
    """Base of estimators over the rows of sequences, which lie one after another.

    `lengths` has the number of rows of each sequence.  `groups`, (N,) anything that differs between sequences, says the
    same of each row, so that searches can divide it: with `set_config(enable_metadata_routing=True)`,
    `GridSearchCV(hmm.set_fit_request(groups=True).set_score_request(groups=True), grid, cv=GroupKFold())` keeps
    sequences whole.

    `states` has what is known of states: (N,) numbers, -1 if unknown, or (N, m) whether a row may have each state.  A
    score is then the probability of X and of such states.

    Fitted, it has `startprob_` (m,) and `transmat_` (m, m)."""

    _choices: ClassVar[Mapping[str, Sequence[str]]]  # the values of parameters that are names

    n_components: int
    estimator: str
    n_init: int
    tol: float
    n_iter: int
    random_state: Any
    startprob_: FloatArray
    transmat_: FloatArray
    n_near_: int

    @abstractmethod
    def _over_positions(self, X: ArrayLike) -> tuple[HiddenMarkov, FloatArray]:
        """Make a model that emits the number of each of N rows, and list the logarithms (N,) to add to its own."""

    @property
    @abstractmethod
    def _n_parameters(self) -> int:
        """The number of free parameters of emissions."""

    @abstractmethod
    def _emit(self, state: IntArray, rng: np.random.Generator) -> NDArray[Any]:
        """Draw the observations (n, d) of states (n,)."""

    def _checked(self, n_rows: int, states: ArrayLike | None, *, has_gaps: bool) -> BoolArray | None:
        """Check the parameters against N rows, some of which may be missing; tell which states (N, m) each may have."""
        check_count("n_init", self.n_init)
        check_count("n_components", self.n_components)
        for name, choices in self._choices.items():
            if (value := getattr(self, name)) not in choices:
                raise ValueError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
        if n_rows < self.n_components:
            raise ValueError(f"{self.n_components} states need as many positions, not {n_rows}")
        allowed = allowed_states(states, n_rows, int(self.n_components))
        if (has_gaps or allowed is not None) and self.estimator not in _CLIMBING:
            raise ValueError(f"missing values and known states need EM, not {self.estimator}; choose moments-em")
        return allowed

    def _estimator_of(self, name: str, lengths: IntArray) -> Estimator:
        """Choose the settings of an estimator for sequences of given lengths (T,); `tol` is for a position."""
        return EstimatorOptions(name, int(self.n_components)).with_settings(
            iterations=self.n_iter, tolerance=self.tol * float(lengths.mean()), seed=seed_of(self.random_state)
        )

    def _warn_of_fewer(self, n_states: int) -> None:
        """Warn if a model has fewer states than it was asked for."""
        if n_states < self.n_components:
            warnings.warn(
                f"the data support {n_states} of the {self.n_components} states asked for; give more data, or ask for "
                f"n_components={n_states}",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _keep_n_near(self, reached: Sequence[float]) -> None:
        """Keep how many starts of EM came near the best, given what each has reached; none for other estimators."""
        if hasattr(self, "n_near_"):
            del self.n_near_
        if reached:
            self.n_near_ = n_near(reached)

    def _read(
        self, X: ArrayLike, lengths: ArrayLike | None, states: ArrayLike | None
    ) -> tuple[HiddenMarkov, Sequences, FloatArray]:
        """Make a model over positions and its sequences, and list what to add to log-probabilities for each row."""
        check_is_fitted(self)
        model, lacking = self._over_positions(X)
        model = model.among(allowed_states(states, len(lacking), model.n_states))
        return model, Sequences.of_lengths(lengths_of(lengths, len(lacking))), lacking

    def score(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        lengths: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        states: ArrayLike | None = None,
    ) -> float:
        """Compute the natural logarithm of the probability, or of the density, of all sequences.

        Raises ValueError if X, the lengths or the states do not fit the model, as all methods do."""
        check_is_fitted(self)
        if y is not None or groups is not None:
            lengths = lengths_of(lengths, len(np.asarray(X)), y, groups)
        return float(self.score_sequences(X, lengths, states).sum())

    def score_sequences(
        self, X: ArrayLike, lengths: ArrayLike | None = None, states: ArrayLike | None = None
    ) -> FloatArray:
        """Compute the natural logarithm (T,) of the probability, or of the density, of each sequence."""
        model, sequences, lacking = self._read(X, lengths, states)
        log = state_posteriors(sequences, model)[1]
        return np.asarray(log + np.add.reduceat(lacking, sequences.start[:-1]))

    def aic(self, X: ArrayLike, lengths: ArrayLike | None = None) -> float:
        """Compute Akaike's information criterion, 2 k - 2 `score`, for k free parameters; lower is better.

        Raises ValueError if the estimator has no states."""
        return 2.0 * self._n_free - 2.0 * self.score(X, lengths=lengths)

    def bic(self, X: ArrayLike, lengths: ArrayLike | None = None) -> float:
        """Compute the Bayesian information criterion, k log N - 2 `score`, for k free parameters; lower is better.

        Raises ValueError if the estimator has no states."""
        return self._n_free * math.log(len(np.asarray(X))) - 2.0 * self.score(X, lengths=lengths)

    @property
    def _n_free(self) -> int:
        """The number of free parameters."""
        check_is_fitted(self)
        if not hasattr(self, "transmat_"):
            raise ValueError("the spectral estimator has no states; choose moments-em, em or anchors")
        m = len(self.startprob_)
        return m - 1 + m * (m - 1) + self._n_parameters

    def score_samples(
        self, X: ArrayLike, lengths: ArrayLike | None = None, states: ArrayLike | None = None
    ) -> tuple[float, FloatArray]:
        """Compute `score` and `predict_proba`."""
        return self.score(X, lengths=lengths, states=states), self.predict_proba(X, lengths, states)

    def predict_proba(
        self, X: ArrayLike, lengths: ArrayLike | None = None, states: ArrayLike | None = None
    ) -> FloatArray:
        """Compute the probability (N, m) of each state at each position, given the whole sequence.

        The states of a sequence that is impossible under the model have equal probabilities."""
        model, sequences, _ = self._read(X, lengths, states)
        return state_posteriors(sequences, model)[0]

    def decode(
        self, X: ArrayLike, lengths: ArrayLike | None = None, states: ArrayLike | None = None
    ) -> tuple[float, IntArray]:
        """Find the likeliest states (N,) of sequences (Viterbi), and the logarithm of their probability with X."""
        model, sequences, lacking = self._read(X, lengths, states)
        found, log = model.likeliest_states(sequences)
        return log + float(lacking.sum()), found

    def predict(self, X: ArrayLike, lengths: ArrayLike | None = None, states: ArrayLike | None = None) -> IntArray:
        """Find the likeliest states (N,) of sequences (Viterbi)."""
        return self.decode(X, lengths, states)[1]

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[NDArray[Any], IntArray | None]:
        """Draw one sequence of n positions: its observations (n, d), and its states (n,)."""
        check_is_fitted(self)
        check_count("n_samples", n_samples)
        rng = np.random.default_rng(seed_of(self.random_state if random_state is None else random_state))
        state = draw_states(self.startprob_, self.transmat_, n_samples, rng)
        return self._emit(state, rng), state


_STOP = 0.5
_CLIMBING = ("moments-em", "em")  # the estimators with EM
_ONE_COLUMN = (
    "X has one column, with an observation in each row: join sequences, np.concatenate(sequences).reshape(-1, 1), and "
    "give lengths=[len(each) for each in sequences]"
)
_BACK_OFF = 1e-3  # positions that are added to each state, so that no transition is impossible


class SpectralHMM(MarkovEstimator):
    """A hidden Markov model of categorical observations: integers or strings in the one column of X.

    A row of None is missing, in training and in use.

    A category that `fit` has not seen has the probability `unseen_` in every state: that of Good and Turing for all
    such categories together, (1 + s) / (N + 1 + s), where s of the N observations have a category of their own.  It
    stands beside the probabilities of the categories seen, which sum to one, as they do in hmmlearn; scores of other
    models of the same rows compare, and none is infinite.  If `categories` names what may occur, all of these
    probabilities sum to one, those that `fit` has not seen share `unseen_`, and others are refused.

    n_components: m, the largest number of states.
    estimator: the way to learn.  "moments-em" is Baum-Welch from the states that moments show and from random starts.
    "em" is Baum-Welch from random starts.  Both maximise what `score` computes: all starts climb together, and those
    that fall behind are given up (`spectral_latent.estimation.starts`).  "anchors" is the anchor method, which is
    consistent if every state has a category of its own.  "spectral" is the method of moments, which has no states: it
    predicts and samples observations.  Neither of these two climbs from a start.
    n_init: the number of random starts.
    tol: Baum-Welch ends when the mean log-likelihood of a position rises by less than `tol` in an iteration.
    n_iter: the largest number of iterations of Baum-Welch from each start.
    categories: (n,) all categories that may occur, in the order of the columns of `emissionprob_`; None for those that
    `fit` sees, in their own order.
    random_state: the source of random starts.

    Fitted, it has `categories_` (n,); `unseen_`; `model_`, the library's model; and, if it has states, `startprob_`
    (m,), `transmat_` (m, m) and `emissionprob_` (m, n) with columns in the order of `categories_`.  After Baum-Welch,
    `n_near_` tells how many starts came within 1 nat of the best.

    >>> X = [[0], [1], [0], [1], [0]] * 50
    >>> hmm = SpectralHMM(n_components=2, random_state=0).fit(X, lengths=[5] * 50)
    >>> hmm.transmat_.round().astype(int)
    array([[0, 1],
           [1, 0]])
    >>> round(hmm.score([[0], [1], [0]]), 1)
    0.0
    """

    _choices: ClassVar[Mapping[str, Sequence[str]]] = {"estimator": ("spectral", "em", "moments-em", "anchors")}

    def __init__(
        self,
        n_components: int = 1,
        estimator: Literal["spectral", "em", "moments-em", "anchors"] = "moments-em",
        *,
        n_init: int = 20,
        tol: float = 2e-5,
        n_iter: int = 1000,
        categories: ArrayLike | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.estimator = estimator
        self.n_init = n_init
        self.tol = tol
        self.n_iter = n_iter
        self.categories = categories
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what the estimator takes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        lengths: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        states: ArrayLike | None = None,
    ) -> Self:
        """Learn from sequences.  Warns if the data support fewer states than `n_components`.

        With missing rows or known states, EM starts from random states alone, near the states that are known.

        Raises ValueError for several columns, for objects that are not categories, for categories that `categories`
        lacks, for lengths that do not sum to N, for fewer positions than states, for parameters out of range, and for
        missing rows or known states with an estimator without EM."""
        column = self._column(X, reset=True)
        is_missing = missing_in(column)
        if is_missing.all():
            raise ValueError("all rows of X are missing")
        seen = categories_in(column[~is_missing])
        allowed = self._checked(len(column), states, has_gaps=bool(is_missing.any()))
        self.categories_ = np.unique(seen) if self.categories is None else named_categories(self.categories)
        numbers = self._numbers(column)
        count = np.bincount(numbers[numbers >= 0], minlength=len(self.categories_)).astype(np.float64)
        unseen = Alphabet.unseen_tokens(count[count > 0])
        self.unseen_ = unseen / (unseen + count.sum())
        sizes = lengths_of(lengths, len(column), y, groups)
        cuts = np.cumsum(sizes)[:-1]
        sequences = [row.tolist() for row in np.split(numbers, cuts)]
        for name in {"startprob_", "transmat_", "emissionprob_"} & vars(self).keys():
            delattr(self, name)
        if allowed is not None or is_missing.any():
            of_rows = np.ones((len(column), int(self.n_components)), dtype=bool) if allowed is None else allowed
            self._learn_partly(sequences, np.split(of_rows, cuts), sizes)
        else:
            self._learn(sequences, sizes)
        self._keep_n_near(getattr(self.model_, "reached", ()))
        return self

    def _learn(self, sequences: list[list[int]], lengths: IntArray) -> None:
        """Learn from sequences of the numbers of categories; lengths: (T,)."""
        self.model_: Any
        if self.estimator == "anchors":
            words = ([str(x) for x in row] for row in sequences)
            self.model_ = AnchorHMM.train(words, _anchor_options(self.n_components))
            self._take(self.model_.hidden, self.model_.words)
            self._warn_of_fewer(len(self.startprob_))
            return
        self.model_ = LatentHMM.train(sequences, self._options(self.estimator, lengths))
        n_states = self.model_.grammar.n_states
        if self.estimator != "spectral":
            self._take(self.model_.hidden, self.model_.observations.known)
            hidden = HiddenMarkov(self.startprob_, self.transmat_, np.full(n_states, _STOP), self.emissionprob_)
            n_states = supported_states(Sequences.of(sequences), hidden, self.tol * float(lengths.sum()))
        self._warn_of_fewer(n_states)

    def _learn_partly(self, sequences: list[list[int]], allowed: list[BoolArray], lengths: IntArray) -> None:
        """Learn where categories are missing (-1) or states are known; allowed: (T_i, m) for each sequence."""
        rows = [[None if x < 0 else x for x in row] for row in sequences]
        known = [[frozenset(np.flatnonzero(each).tolist()) for each in row] for row in allowed]
        self.model_ = LatentHMM.train_partly(rows, known, self._options("em", lengths))
        self._take(self.model_.hidden, self.model_.observations.known)

    def _options(self, name: str, lengths: IntArray) -> HMMOptions:
        """Choose the settings of a latent hidden Markov model, which maximises the likelihood of observations alone."""
        estimator = self._estimator_of(name, lengths)
        if not isinstance(estimator, EM):
            return HMMOptions(estimator, choose_states=False)
        return HMMOptions(
            estimator,
            choose_states=False,
            back_off=_BACK_OFF,
            random_starts=int(self.n_init),
            ends=False,
            prior=False,
        )

    def _take(self, hidden: HiddenMarkov, names: Sequence[Any]) -> None:
        """Keep the probabilities of a model whose first observations have the numbers `names` as their names."""
        numbers = [int(name) for name in names]
        emission = hidden.emission[:, : len(numbers)] / hidden.emission[:, : len(numbers)].sum(axis=1, keepdims=True)
        self.startprob_ = hidden.initial
        self.transmat_ = hidden.transition
        self.emissionprob_ = np.zeros((len(emission), len(self.categories_)))
        if n_unseen := len(self.categories_) - len(numbers):
            self.emissionprob_[:] = self.unseen_ / n_unseen
            emission *= 1.0 - self.unseen_
        self.emissionprob_[:, numbers] = emission

    @property
    def _has_states(self) -> bool:
        """Whether the fitted model has states."""
        return hasattr(self, "transmat_")

    def _column(self, X: ArrayLike, *, reset: bool = False) -> NDArray[Any]:
        """Check X, and return its one column (N,)."""
        if isinstance(X, list | tuple) and len({len(row) for row in X if isinstance(row, list | tuple)}) > 1:
            raise ValueError(f"the rows of X have different lengths; {_ONE_COLUMN}")
        given = validate_data(self, X, dtype=None, reset=reset)
        if given.shape[1] != 1:
            raise ValueError(f"X has {given.shape[1]} columns; {_ONE_COLUMN}")
        return np.asarray(given[:, 0])

    def _numbers(self, column: NDArray[Any]) -> IntArray:
        """Number the categories (N,) of rows: -1 for a missing row, n for a category that fit has not seen."""
        numbers = np.full(len(column), -1)
        places = np.flatnonzero(~missing_in(column))
        given = categories_in(column[places]) if len(places) else self.categories_[:0]
        are_strings = np.asarray(self.categories_).dtype.kind == "U"
        if (given.dtype.kind == "U") != are_strings:
            others = "strings" if are_strings else "integers"
            raise ValueError(f"row {places[0]} of X has the category {given[0].item()!r}, but the others are {others}")
        index = {category: number for number, category in enumerate(self.categories_.tolist())}
        n = len(index)
        numbers[places] = [index.get(category, n) for category in given.tolist()]
        if self.categories is not None and (numbers == n).any():
            at = int(np.argmax(numbers[places] == n))
            category = given[at].item()
            raise ValueError(f"row {places[at]} of X has the category {category!r}, which `categories` does not name")
        return numbers

    def _over_positions(self, X: ArrayLike) -> tuple[HiddenMarkov, FloatArray]:
        """Make a model that emits the number of each row with the probability of its category."""
        if not self._has_states:
            raise ValueError("the spectral estimator has no states; choose moments-em, em or anchors")
        numbers = self._numbers(self._column(X))
        stop = np.full(len(self.startprob_), _STOP)
        unseen = np.full((len(stop), 1), getattr(self, "unseen_", 0.0))
        emission = np.concatenate([self.emissionprob_, unseen, np.ones_like(unseen)], axis=1)[:, numbers]
        model = HiddenMarkov(self.startprob_, self.transmat_, stop, emission)
        return model, np.full(len(numbers), -math.log(_STOP))

    def score_sequences(
        self, X: ArrayLike, lengths: ArrayLike | None = None, states: ArrayLike | None = None
    ) -> FloatArray:
        """Compute the natural logarithm (T,) of the probability of each sequence.

        Raises ValueError for missing rows or known states with the estimator "spectral"."""
        check_is_fitted(self)
        if self._has_states or states is not None:
            return super().score_sequences(X, lengths, states)
        numbers = self._numbers(self._column(X))
        if (numbers < 0).any():
            raise ValueError(f"row {int(np.argmin(numbers))} of X is missing; choose moments-em, em or anchors")
        rows = np.split(numbers, np.cumsum(lengths_of(lengths, len(numbers)))[:-1])
        log = np.array([-self.model_.surprisal(row.tolist(), "nats").lexical.sum() for row in rows])
        # The model has one probability for all categories that it has not seen; those that have names share it.
        seen = set(self.model_.observations.known)
        n_unseen = max(len(self.categories_) - len(seen), 1)
        return np.asarray(log - [math.log(n_unseen) * sum(x not in seen for x in row.tolist()) for row in rows])

    @property
    def _n_parameters(self) -> int:
        """The number of free probabilities of emissions."""
        m, n = self.emissionprob_.shape
        return int(m * (n - 1))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[NDArray[Any], IntArray | None]:
        """Draw one sequence of n positions: its categories (n, 1), and its states (n,), or None if there are none."""
        check_is_fitted(self)
        if self._has_states:
            return super().sample(n_samples, random_state)
        check_count("n_samples", n_samples)
        rng = np.random.default_rng(seed_of(self.random_state if random_state is None else random_state))
        (drawn,) = self.model_.sample(1, rng, length=n_samples)
        return self.categories_[drawn][:, None], None

    def _emit(self, state: IntArray, rng: np.random.Generator) -> NDArray[Any]:
        """Draw the categories (n, 1) of states (n,)."""
        n = self.emissionprob_.shape[1]
        drawn = [rng.choice(n, p=self.emissionprob_[h]) for h in state]
        return np.asarray(self.categories_[drawn][:, None])


def _anchor_options(n_states: int) -> AnchorOptions:
    """Choose the settings of a consistent anchor model, in which any state may follow any other."""
    return AnchorOptions(
        int(n_states), "best-fit", smoothing=0.0, spelling=False, prior=0.0, exchange=False, sharpness=1.0, steps=None
    )


class SpectralGaussianHMM(MarkovEstimator):
    """A hidden Markov model with Gaussian emissions.  A number that is NaN is missing, in training and in use.

    n_components: m, the number of states.
    covariance_type: the form of covariance matrices, "diag" or "full".
    estimator: the way to learn.  "moments" is the method of moments, on cells into which observations are divided in
    three ways; the likeliest model is kept.  It is consistent for emissions of any form, but needs many positions.
    "moments-em" is EM from these three and from random starts together (`spectral_latent.estimation.starts`).
    n_init: the number of random starts.
    min_covar: the smallest variance in any direction.
    tol: EM ends when the mean log-likelihood of a position rises by less than `tol` in an iteration.
    n_iter: the largest number of iterations of EM.
    random_state: the source of random starts and of the cells' first centres.

    Fitted, it has `startprob_` (m,), `transmat_` (m, m), `means_` (m, d) and `covars_` (m, d, d).  After EM, `n_near_`
    tells how many starts came within 1 nat of the best.

    >>> rng = np.random.default_rng(0)
    >>> X = np.tile([[0.0], [9.0]], (100, 1)) + rng.normal(size=(200, 1))
    >>> hmm = SpectralGaussianHMM(n_components=2, random_state=0).fit(X)
    >>> np.sort(hmm.means_[:, 0]).round(), hmm.transmat_.round().astype(int)
    (array([0., 9.]), array([[0, 1],
           [1, 0]]))
    """

    _choices: ClassVar[Mapping[str, Sequence[str]]] = {
        "estimator": ("moments-em", "moments"),
        "covariance_type": ("diag", "full"),
    }

    def __init__(
        self,
        n_components: int = 1,
        covariance_type: Literal["diag", "full"] = "diag",
        *,
        estimator: Literal["moments-em", "moments"] = "moments-em",
        n_init: int = 10,
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
        self,
        X: ArrayLike,
        y: object = None,
        *,
        lengths: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        states: ArrayLike | None = None,
    ) -> Self:
        """Learn from sequences.  Warns if the data support fewer states than `n_components`.

        Raises ValueError for infinite numbers, for a column without numbers, for NaN or known states with the estimator
        "moments", for known states of which the data support fewer, for lengths that do not sum to N, for fewer
        positions than states, and for parameters out of range."""
        if not self.min_covar > 0.0:
            raise ValueError(f"min_covar must be above 0, not {self.min_covar!r}")
        x = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        is_missing = np.isnan(x)
        if (is_lost := is_missing.all(axis=0)).any():
            raise ValueError(f"column {int(is_lost.argmax())} of X has no number; leave it out")
        allowed = self._checked(len(x), states, has_gaps=bool(is_missing.any()))
        sizes = lengths_of(lengths, len(x), y, groups)
        options = self._estimator_of(self.estimator, sizes)
        learner = GaussianLearner(x, sizes, self.covariance_type, self.min_covar, allowed)
        best, _, reached = train_gaussian(learner, options, int(self.n_init))
        self.startprob_ = best.initial
        self.transmat_ = best.transition
        self.means_ = best.means
        self.covars_ = best.covars
        self._keep_n_near(reached)
        self._warn_of_fewer(len(best.initial))
        return self

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what the estimator takes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @property
    def _n_parameters(self) -> int:
        """The number of free means and covariances."""
        m, d = self.means_.shape
        return int(m * (2 * d if self.covariance_type == "diag" else d + d * (d + 1) // 2))

    def _over_positions(self, X: ArrayLike) -> tuple[HiddenMarkov, FloatArray]:
        """Make a model that emits the number of each row with its density."""
        x = validate_data(self, X, dtype=np.float64, reset=False, ensure_all_finite="allow-nan")
        return GaussianMarkov(self.startprob_, self.transmat_, self.means_, self.covars_).over_positions(x)

    def _emit(self, state: IntArray, rng: np.random.Generator) -> NDArray[Any]:
        """Draw the observations (n, d) of states (n,)."""
        noise = rng.normal(size=(len(state), self.means_.shape[1]))
        roots = np.linalg.cholesky(self.covars_)
        return np.asarray(self.means_[state] + np.einsum("nde,ne->nd", roots[state], noise))
