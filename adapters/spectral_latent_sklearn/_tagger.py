"""Offer the latent hidden Markov model of tagged words as an estimator over lists of sequences."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from spectral_latent import sequence
from spectral_latent.sequence import TaggerOptions
from spectral_latent.trees import FloatArray
from spectral_latent_sklearn._base import LatentEstimator
from spectral_latent_sklearn._checks import list_of

__all__ = ["LatentTagClassifier"]


class LatentTagClassifier(LatentEstimator):
    """A tagger of sentences of words, whose tags have latent states; X and y are lists of lists.

    n_states: the largest number of latent states of a tag.
    estimator: the way to find states, as `spectral_latent.estimation.EstimatorOptions` names it.
    random_state: the source of the starts of clusters and of random states.

    Fitted, it has `classes_`, the tags, and `model_`, the library's tagger.

    >>> X = [["dogs", "bark"], ["cats", "sleep", "well"]] * 5
    >>> y = [["N", "V"], ["N", "V", "R"]] * 5
    >>> tagger = LatentTagClassifier(n_states=1).fit(X, y)
    >>> tagger.predict([["cats", "bark"], []])
    [['N', 'V'], []]
    >>> round(tagger.score(X, y), 1)
    1.0
    """

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what the estimator takes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.target_tags.required = True
        return tags

    def fit(self, X: Sequence[Sequence[str]], y: Sequence[Sequence[Hashable]]) -> Self:
        """Learn from tagged sentences.

        X: the words of each sentence.
        y: the tags of each sentence, one for each word.

        Raises ValueError if X and y do not fit together, or if a sentence is empty.
        """
        options = TaggerOptions(self._estimator_options())
        pairs = [list(zip(words, tags, strict=True)) for words, tags in _pairs(X, y)]
        self.model_ = sequence.LatentTagger.train(pairs, options)
        self.classes_ = self.model_.tags
        return self

    def predict(self, X: Sequence[Sequence[str]]) -> list[list[Any]]:
        """Find the likeliest tag of each word, given its sentence; an empty sentence has none.

        X: the words of each sentence.
        """
        check_is_fitted(self)
        return list(self.model_.tag_all(list_of(X, "sentence")))

    def predict_proba(self, X: Sequence[Sequence[str]]) -> list[FloatArray]:
        """Compute the probability of each tag for each word; an array (n, K) for each sentence of n words.

        X: the words of each sentence; columns are in the order of `classes_`.
        """
        check_is_fitted(self)
        return [self.model_.posteriors(words) for words in list_of(X, "sentence")]

    def score(self, X: Sequence[Sequence[str]], y: Sequence[Sequence[Hashable]]) -> float:
        """Compute the accuracy: the share of words with the right tag.

        X: the words of each sentence.
        y: the tags of each sentence.

        Raises ValueError if X and y do not fit together, or have no word.
        """
        gold = [tags for _, tags in _pairs(X, y)]
        found = self.predict(X)
        right = [a == b for row, tags in zip(found, gold, strict=True) for a, b in zip(row, tags, strict=True)]
        if not right:
            raise ValueError("no words to score; all sentences of X are empty")
        return right.count(True) / len(right)


def _pairs(X: Any, y: Any) -> list[tuple[list[str], list[Hashable]]]:
    """Pair sentences with their tags.  Raises ValueError if their numbers differ."""
    sentences, tags = list_of(X, "sentence"), list_of(y, "list of tag")
    if len(sentences) != len(tags):
        raise ValueError(f"X has {len(sentences)} sentences, but y has {len(tags)}")
    for number, (words, of_words) in enumerate(zip(sentences, tags, strict=True), start=1):
        if isinstance(words, str) or isinstance(of_words, str):
            raise ValueError(f"sentence {number} must be a list of words with a list of tags, not a string")
        if len(words) != len(of_words):
            raise ValueError(f"sentence {number} has {len(words)} words, but {len(of_words)} tags")
    return list(zip(sentences, tags, strict=True))
