"""The observations of sequences without tags: any hashable objects, and what was never seen."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from spectral_latent.estimation import LeafMoments
from spectral_latent.trees import FloatArray, IntArray, Vocabulary

__all__ = ["Alphabet"]


class Alphabet:
    """Terminals 0 ... n-1 are the observations seen; terminal n is any other.

    >>> alphabet = Alphabet(["a", ("b", 1), "a"])
    >>> alphabet.terminals_of([("b", 1), "a", 7]).tolist()
    [1, 0, 2]
    """

    def __init__(self, names: Iterable[Hashable]) -> None:
        self._names: Vocabulary[Hashable] = Vocabulary(names)

    @property
    def known(self) -> list[Hashable]:
        """What was seen: the name of each terminal but the last."""
        return self._names.names

    @property
    def n_terminals(self) -> int:
        """n + 1."""
        return len(self._names) + 1

    def terminals_of(self, sequence: Sequence[Hashable]) -> IntArray:
        """The terminal of each observation."""
        found = np.array([self._names.get(name) for name in sequence], dtype=np.int64)
        return np.where(found < 0, len(self._names), found)

    @staticmethod
    def unseen_tokens(count: FloatArray) -> float:
        """How many of N tokens to expect of observations never seen: 1, and 1 for each that was seen once.

        After Good and Turing, by whom it is the number of those seen once; one more, so that it is never none.
        """
        return 1.0 + np.count_nonzero(count == 1)

    def smooth(self, moments: LeafMoments) -> tuple[IntArray, FloatArray]:
        """Leaf rules (R, 2) and sums of z (R, M) of one emitting symbol, with the terminal that was never seen.

        Its z is that of the observations seen once, and the mean; all are scaled so that the total stays the same.
        """
        (symbol,) = np.unique(moments.rules[:, 0])
        n = moments.symbol_count[symbol]
        mean = moments.symbol_total[symbol] / n
        rare = moments.total[moments.count == 1].sum(axis=0) + mean
        rules = np.concatenate([moments.rules, [[symbol, len(self._names)]]])
        total = np.concatenate([moments.total, rare[None]])
        return rules, total * (n / (n + self.unseen_tokens(moments.count)))
