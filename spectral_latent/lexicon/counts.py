"""Count words under symbols, separately for words that open a sentence; they train the spelling model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from spectral_latent.trees import BoolArray, FloatArray, IntArray, Rules

__all__ = ["WordCounts"]


class WordCounts(NamedTuple):
    """The n distinct triples of a symbol, a word and its position, and the count of each; all columns are (n,).

    >>> seen = WordCounts.of(np.array([0, 0, 1]), np.array([7, 7, 8]), np.array([True, True, False]))
    >>> seen.word, seen.opens, seen.times
    (array([7, 8]), array([ True, False]), array([2., 1.]))
    """

    symbol: IntArray
    word: IntArray
    opens: BoolArray  # whether the word opens a sentence
    times: FloatArray

    @staticmethod
    def of(symbol: IntArray, word: IntArray, opens: BoolArray, times: FloatArray | None = None) -> WordCounts:
        """Count the triples of N tokens.

        symbol: (N,) the symbol over each token.
        word: (N,) the token's word.
        opens: (N,) whether the token opens a sentence.
        times: (N,) the weight of each token; 1 if not given.
        """
        return _merged(symbol, word, opens, np.ones(len(word)) if times is None else times)

    @staticmethod
    def total(parts: Iterable[WordCounts]) -> WordCounts:
        """Add counts.

        parts: the counts of several treebanks, in which symbols and words have the same numbers.
        """
        return _merged(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _merged(symbol: IntArray, word: IntArray, opens: BoolArray, count: FloatArray) -> WordCounts:
    """Add the counts (N,) of equal triples."""
    rows, which = Rules.distinct(np.stack([symbol, word, opens.astype(np.int64)], axis=1))
    total = np.bincount(which, count, minlength=len(rows)).astype(float)
    return WordCounts(rows[:, 0], rows[:, 1], rows[:, 2] == 1, total)
