"""Emissions of words that the training data lack, from their signatures and their spelling.

| here | meaning |
| --- | --- |
| p(a, s) | `joint` of a leaf rule a → s, s a signature: p(s \\| a) p(a) in the plain model |
| p(f, s) / p(s) | `share` of the family f of a |
| c∞(a, s) P(f \\| x) / (p(f, s) / p(s)) | the vector of a → x, for an unseen word x whose finest known signature is s |

Where s has no rule for any symbol of f, the signature that all words share takes its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spectral_latent.lexicon.lexicon import Lexicon
from spectral_latent.trees import FloatArray, IntArray

__all__ = ["UnseenLeaves", "UnseenWords"]


class UnseenLeaves(NamedTuple):
    """R leaf rules a → x: the word x, the leaf rule a → s whose vector to take, and what to multiply it with."""

    word: IntArray  # (R,)
    source: IntArray  # (R,)
    factor: FloatArray  # (R,)


class UnseenWords:
    """Leaf rules for unseen words.

    lexicon: one that has learnt spellings.  rules: (R0, 2) all leaf rules.  weight: (R0,) theirs in the plain model.
    prior: (S,) share of each symbol.  family: (S,) the family of each symbol over words.
    """

    def __init__(
        self, lexicon: Lexicon, rules: IntArray, weight: FloatArray, prior: FloatArray, family: IntArray
    ) -> None:
        if lexicon.spelling is None:
            raise ValueError("the lexicon has learnt no spellings")
        self.lexicon, self.spelling = lexicon, lexicon.spelling
        symbol, terminal = rules.T
        joint = weight * prior[symbol]
        key = terminal * self.spelling.n_symbols + family[symbol]
        self.share = np.bincount(key, joint)[key] / np.bincount(terminal, joint)[terminal]
        self.order = np.argsort(key, kind="stable")
        self.keys = key[self.order]

    def _rows(self, key: IntArray) -> tuple[IntArray, IntArray]:
        """Where among the sorted rules those of each family at each terminal begin and end."""
        return np.searchsorted(self.keys, key, "left"), np.searchsorted(self.keys, key, "right")

    def leaves(self, words: Sequence[str], opens: Sequence[bool], least: float) -> UnseenLeaves:
        """The leaf rules of words, which open sentences or not; families less likely than `least` are left out.

        The likeliest family of a word is never left out.
        """
        p = self.spelling.posterior(words, opens)
        word, family = np.nonzero(p >= np.minimum(least, p.max(axis=1, keepdims=True)))
        signature = np.array([self.lexicon.signature(x) for x in words], dtype=np.int64)
        first, end = self._rows(signature[word] * self.spelling.n_symbols + family)
        shared, shared_end = self._rows(self.lexicon.unknown * self.spelling.n_symbols + family)
        first, end = np.where(first < end, [first, end], [shared, shared_end])
        count = end - first
        pair = np.repeat(np.arange(len(word)), count)
        place = np.arange(len(pair)) - np.repeat(np.cumsum(count) - count, count)
        source = self.order[first[pair] + place]
        return UnseenLeaves(word[pair], source, p[word, family][pair] / self.share[source])
