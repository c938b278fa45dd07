"""Compute features of the spelling of words (Stratos et al. 2016, sections 4.4.4 and 5.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Annotated

import numpy as np
import scipy

from spectral_latent.files import Text
from spectral_latent.trees import FloatArray, Vocabulary

__all__ = ["SpellingFeatures"]

_LONGEST = 3  # the largest number of characters of a suffix
_CAPITALS = ("capital", "no capital")


@dataclass(frozen=True, eq=False, repr=False)
class SpellingFeatures:
    """The features of Berg-Kirkpatrick et al. (2010): capital, hyphen, digit, and suffixes of 1 to 3 characters.

    Capital, hyphen and digit each have a feature for yes and a feature for no.

    index: the names of the features with their numbers; the first two are those of capitals.
    Raises ValueError if the first features are others.

    >>> SpellingFeatures.of(["a-1"]).names
    ['capital', 'no capital', 'hyphen', 'digit', '-1', '--1', '-a-1']
    """

    index: Annotated[Vocabulary[str], Text()]

    def __post_init__(self) -> None:
        if tuple(self.names[: len(_CAPITALS)]) != _CAPITALS:
            raise ValueError("the first features are not those of capitals")

    @staticmethod
    def of(words: Sequence[str]) -> SpellingFeatures:
        """Collect all features of words."""
        return SpellingFeatures(Vocabulary(chain(_CAPITALS, chain.from_iterable(map(_feature_names, words)))))

    @property
    def names(self) -> list[str]:
        """The name of each feature."""
        return self.index.names

    def matrix(self, words: Sequence[str], capital: FloatArray) -> scipy.sparse.csr_array:
        """Compute the features (n, s) of n words; features that are not among the names are left out.

        capital: (n,) the share of each word's tokens that are capitalised.
        """
        rows = [[self.index.get(name) for name in _feature_names(word)] for word in words]
        row = np.repeat(np.arange(len(words)), [len(columns) for columns in rows])
        column = np.array([c for columns in rows for c in columns], dtype=np.int64)
        is_known = column >= 0
        every = np.arange(len(words))
        first = np.zeros_like(every)  # the columns of "capital" and "no capital" are 0 and 1
        values = np.concatenate([capital, 1.0 - capital, np.ones(np.count_nonzero(is_known))])
        places = (np.concatenate([every, every, row[is_known]]), np.concatenate([first, first + 1, column[is_known]]))
        return scipy.sparse.csr_array((values, places), shape=(len(words), len(self.index)))


def _feature_names(word: str) -> list[str]:
    """Name the features of a word in lower case, except the two features of capitals."""
    has_digit = any(character.isdigit() for character in word)
    kinds = ["hyphen" if "-" in word else "no hyphen", "digit" if has_digit else "no digit"]
    return kinds + ["-" + word[-length:] for length in range(1, min(_LONGEST, len(word)) + 1)]
