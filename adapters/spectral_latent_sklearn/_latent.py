"""Offer the tagger as a classifier of words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from spectral_latent import sequence
from spectral_latent.estimation import EstimatorName, EstimatorOptions
from spectral_latent.sequence import TaggerOptions
from spectral_latent.trees import FloatArray, IntArray
from spectral_latent_sklearn._checks import check_count, seed_of


class LatentTagClassifier(ClassifierMixin, BaseEstimator):
    """A tagger, whose tags have latent states, as a classifier of words in their sentences.

    X has two columns: the sentence of each row, any value that its neighbours in other sentences do not have, and the
    word.  Cross-validation leaves sentences whole with `GroupKFold` and the first column as `groups`.

    n_states: the largest number of latent states of a tag.
    estimator: the way to find states, as `spectral_latent.estimation.EstimatorOptions` names it.
    random_state: the source of the starts of clusters and of random states.

    Fitted, it has `classes_` (K,), the tags, and `model_`, the library's tagger.

    >>> X = [[1, "dogs"], [1, "bark"], [2, "cats"], [2, "sleep"], [2, "well"]] * 5
    >>> y = ["N", "V", "N", "V", "R"] * 5
    >>> tagger = LatentTagClassifier(n_states=1).fit(X, y)
    >>> tagger.predict([["a", "cats"], ["a", "bark"], ["b", "dogs"]]).tolist()
    ['N', 'V', 'N']
    >>> round(tagger.score(X, y), 1)
    1.0
    """

    def __init__(
        self, n_states: int = 8, *, estimator: EstimatorName = "clusters-em", random_state: Any = None
    ) -> None:
        self.n_states = n_states
        self.estimator = estimator
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what the estimator takes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from tagged sentences.

        X: (N, 2) the sentence and the word of each row.
        y: (N,) the tag of each word; None if it is not known.

        Raises ValueError if X and y do not fit together."""
        check_count("n_states", self.n_states)
        estimator = EstimatorOptions(self.estimator, int(self.n_states)).with_settings(seed=seed_of(self.random_state))
        options = TaggerOptions(estimator)
        words, start = self._sentences(X, reset=True)
        tags = column_or_1d(y)
        check_consistent_length(X, tags)
        rows = zip(words, np.split(tags, start), strict=True)
        pairs = [list(zip(sentence, of_words.tolist(), strict=True)) for sentence, of_words in rows]
        is_known = np.array([tag is not None for tag in tags], dtype=bool)
        train = sequence.LatentTagger.train if is_known.all() else sequence.LatentTagger.train_partly
        self.model_ = train(pairs, options)
        self.classes_ = np.unique(tags[is_known])
        return self

    def _sentences(self, X: ArrayLike, reset: bool = False) -> tuple[list[list[str]], IntArray]:
        """Divide rows into the words of sentences; return the first row of each sentence but the first, too."""
        rows = validate_data(self, X, dtype=object, reset=reset)
        if rows.shape[1] != 2:
            raise ValueError(f"X must have two columns, the sentence and the word, not {rows.shape[1]}")
        for number, word in enumerate(rows[:, 1]):
            if not isinstance(word, str):
                raise ValueError(f"row {number} of X must have a word in its second column, not {word!r:.60}")
        start = np.flatnonzero(rows[1:, 0] != rows[:-1, 0]) + 1
        return [row.tolist() for row in np.split(rows[:, 1], start)], start

    def predict(self, X: ArrayLike, known: Sequence[Any] | None = None) -> NDArray[Any]:
        """Find the likeliest tag (N,) of each word, given its sentence.

        known: the tags that are known: for each of the N words its tag, a set of tags that it may have, or None."""
        check_is_fitted(self)
        words, start = self._sentences(X)
        found = self.model_.tag_all(words)
        if known is not None:
            check_consistent_length(X, known)
            bounds = pairwise([0, *start.tolist(), len(known)])
            found = map(self.model_.tag, words, (known[first:end] for first, end in bounds))
        return np.array([tag for tags in found for tag in tags], dtype=self.classes_.dtype)

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Compute the probability (N, K) of each tag for each word, given its sentence, in the order of `classes_`."""
        check_is_fitted(self)
        words, _ = self._sentences(X)
        column = [self.model_.tags.index(tag) for tag in self.classes_.tolist()]
        return np.concatenate([self.model_.posteriors(sentence)[:, column] for sentence in words])
