"""Number the observations of sequences without tags; all unseen observations share one number."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np

from spectral_latent.estimation import LeafMoments
from spectral_latent.files import Distinct
from spectral_latent.trees import FloatArray, IntArray, Vocabulary

__all__ = ["Alphabet"]


@dataclass(frozen=True, eq=False, repr=False)
class Alphabet:
    """Numbers of observations: terminals 0 ... n-1 for observations seen in training, and terminal n for all others.

    known: the observations seen in training, which are the names of terminals 0 ... n-1; each is kept once.

    >>> alphabet = Alphabet(["a", ("b", 1), "a"])
    >>> alphabet.terminals_of([("b", 1), "a", 7]).tolist()
    [1, 0, 2]
    """

    known: Annotated[Sequence[Hashable], Distinct()]

    def __post_init__(self) -> None:
        object.__setattr__(self, "known", self._names.names)

    @cached_property
    def _names(self) -> Vocabulary[Hashable]:
        return Vocabulary(self.known)

    @property
    def n_terminals(self) -> int:
        """The number of terminals, n + 1."""
        return len(self._names) + 1

    def terminals_of(self, sequence: Sequence[Hashable]) -> IntArray:
        """Look up the terminal of each observation.

        sequence: n observations; the result is (n,).
        """
        terminals = self._names.numbers(sequence)
        return np.where(terminals < 0, len(self._names), terminals)

    @staticmethod
    def unseen_tokens(count: FloatArray) -> float:
        """Estimate the number of tokens of unseen observations: one more than the observations seen at most once.

        The estimate of Good and Turing is the number of observations seen once; adding one keeps it positive.

        count: (n,) the number of times that each observation was seen.
        """
        return 1.0 + np.count_nonzero((count > 0) & (count <= 1))

    def smooth(self, moments: LeafMoments) -> tuple[IntArray, FloatArray]:
        """Add the rule of terminal n, for unseen observations: return leaf rules (R, 2) and sums of z (R, M).

        The sum of z of this rule is the sum over the observations seen once, plus the mean of z.  All sums are then
        scaled, so that their total stays the same.

        moments: the moments of the leaf rules of one emitting symbol.
        """
        (symbol,) = np.unique(moments.rules[:, 0])
        n = moments.symbol_count[symbol]
        mean = moments.symbol_total[symbol] / n
        rare = moments.total[moments.count <= 1].sum(axis=0) + mean
        rules = np.concatenate([moments.rules, [[symbol, len(self._names)]]])
        total = np.concatenate([moments.total, rare[None]])
        return rules, total * (n / (n + self.unseen_tokens(moments.count)))
