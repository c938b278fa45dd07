"""Restrict the symbols over each span of words, before a chart is filled.

The cell of words i ... j-1 has the number j (j-1) / 2 + i.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from spectral_latent.trees import BoolArray, IntArray

__all__ = ["Permits", "cells", "crossed_cells"]


class Permits(NamedTuple):
    """The symbols that each cell of a sentence may hold."""

    row: IntArray  # (cells,) the row of `symbols` for each cell
    symbols: BoolArray  # (K, S) K sets of symbols

    @staticmethod
    def all(n_words: int, n_symbols: int) -> Permits:
        """Permit all symbols over all spans.

        n_words: n, the number of words.
        n_symbols: S, the number of symbols.
        """
        n_cells = n_words * (n_words + 1) // 2
        return Permits(np.zeros(n_cells, dtype=np.int64), np.ones((1, n_symbols), dtype=np.bool_))


def cells(n_words: int) -> tuple[IntArray, IntArray]:
    """List the first word of each cell, and the word after its last word.

    n_words: n, the number of words.

    >>> cells(2)
    (array([0, 0, 1]), array([1, 2, 2]))
    """
    end = np.repeat(np.arange(1, n_words + 1), np.arange(1, n_words + 1))
    return np.arange(len(end)) - end * (end - 1) // 2, end


def crossed_cells(n_words: int, spans: Iterable[tuple[int, int]]) -> BoolArray:
    """Mark the cells that cross a span: they share words with the span, but neither contains the other.

    n_words: n, the number of words.
    spans: pairs of a first word and the word after the last word.

    >>> np.stack(cells(3), axis=1)[crossed_cells(3, [(0, 2)])]
    array([[1, 3]])
    """
    first, end = cells(n_words)
    crossed = np.zeros(len(end), dtype=np.bool_)
    for i, j in spans:
        crossed |= ((first < i) & (i < end) & (end < j)) | ((i < first) & (first < j) & (j < end))
    return crossed
