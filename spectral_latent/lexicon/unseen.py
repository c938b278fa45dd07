"""Emissions of words that the training data lack, from their signatures and their spelling.

| here | meaning |
| --- | --- |
| p(a, s) | `joint` of a leaf rule a → s, s a signature: p(s \\| a) p(a) in the plain model |
| p(f, s) / p(s) | `share` of the family f of a |
| c∞(a, s) P(f \\| x) / (p(f, s) / p(s)) | the vector of a → x, for an unseen word x whose finest known signature is s |

Where s has no rule for any symbol of f, the signature that all words share takes its place; a family of which that
has no rule either emits no unseen word.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from spectral_latent.lexicon.lexicon import Lexicon
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import FloatArray, IntArray, Rules, Vocabulary

__all__ = ["UnseenLeaves", "UnseenWords"]


class UnseenLeaves(NamedTuple):
    """R leaf rules a → x: a and x, the leaf rule a → s whose vector to take, and what to multiply it with.

    Terminals are in order; the first unseen word has the first number beyond those of the lexicon.
    """

    symbol: IntArray  # (R,)
    terminal: IntArray  # (R,)
    source: IntArray  # (R,)
    factor: FloatArray  # (R,)

    @staticmethod
    def none() -> UnseenLeaves:
        """No rules."""
        nothing = np.zeros(0, dtype=np.int64)
        return UnseenLeaves(nothing, nothing, nothing, np.zeros(0))

    def added_to(self, operators: ObservableOperators) -> ObservableOperators:
        """The operators with these leaf rules after their own."""
        if not len(self.symbol):
            return operators
        rules = np.stack([self.symbol, self.terminal], axis=1)
        return operators.with_leaves(rules, operators.leaf[self.source] * self.factor[:, None])

    def find(self, symbol: IntArray, terminal: IntArray) -> IntArray:
        """Index (n,) of the rule of each symbol and terminal (n,); -1 where there is none."""
        order = np.lexsort((self.terminal, self.symbol))
        table = np.stack([self.symbol[order], self.terminal[order]], axis=1)
        at = Rules.find(table, np.stack([symbol, terminal], axis=1))
        return np.where(at < 0, -1, np.append(order, -1)[at])


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
        self.symbol = symbol

    def _rows(self, signature: IntArray) -> tuple[IntArray, IntArray]:
        """Where among the sorted rules those of each family begin and end, at signatures (n,): (n, K) each."""
        key = signature[:, None] * self.spelling.n_symbols + np.arange(self.spelling.n_symbols)
        return np.searchsorted(self.keys, key, "left"), np.searchsorted(self.keys, key, "right")

    def read(self, sentences: Iterable[Sequence[str]], least: float) -> tuple[IntArray, UnseenLeaves]:
        """The terminals of all words of sentences, one after another, and the leaf rules of the unseen ones.

        Families less likely than `least` are left out.
        """
        places = [(word, at == 0) for sentence in sentences for at, word in enumerate(sentence)]
        terminal = np.array([self.lexicon.terminal(word, opens=opens) for word, opens in places], dtype=np.int64)
        unseen = np.flatnonzero(terminal >= len(self.lexicon.known))
        words = Vocabulary[tuple[str, bool]]()
        terminal[unseen] = [self.lexicon.n_terminals + words.add(places[at]) for at in unseen.tolist()]
        return terminal, self.leaves([word for word, _ in words], [opens for _, opens in words], least)

    def leaves(self, words: Sequence[str], opens: Sequence[bool], least: float) -> UnseenLeaves:
        """The leaf rules of words, which open sentences or not; families less likely than `least` are left out.

        The likeliest family of a word is never left out.
        """
        signature = np.array([self.lexicon.signature(x) for x in words], dtype=np.int64)
        first, end = self._rows(signature)
        first, end = np.where(first < end, [first, end], self._rows(np.full(1, self.lexicon.unknown)))
        p = np.where(first < end, self.spelling.posterior(words, opens), 0.0)
        word, family = np.nonzero((p > 0) & (p >= np.minimum(least, p.max(axis=1, keepdims=True))))
        count = (end - first)[word, family]
        pair = np.repeat(np.arange(len(word)), count)
        place = np.arange(len(pair)) - np.repeat(np.cumsum(count) - count, count)
        source = self.order[first[word, family][pair] + place]
        terminal, factor = self.lexicon.n_terminals + word[pair], p[word, family][pair] / self.share[source]
        return UnseenLeaves(self.symbol[source], terminal, source, factor)
