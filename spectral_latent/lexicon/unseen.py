"""Emissions of words that the training data lack, from their signatures and their spelling.

| here | meaning |
| --- | --- |
| p(a, s) | `joint` of a leaf rule a → s, s a signature: p(s \\| a) p(a) in the plain model |
| p(f, s) / p(s) | `share` of the family f of a |
| c∞(a, s) P(f \\| x) / (p(f, s) / p(s)) | the vector of a → x, for an unseen word x whose finest known signature is s |

Where s has no rule for any symbol of f, the signature that all words share takes its place; a family of which that
has no rule either emits no unseen word, unless it is known to be that of the word: then the family's commonest word
takes its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from spectral_latent.lexicon.lexicon import Lexicon
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import FloatArray, Forest, IntArray, Rules, Vocabulary, ranges

__all__ = ["UnseenLeaves", "UnseenWords"]

_REMEMBERED = 50_000  # words whose spelling is weighed once
_FLOOR = 1e-12  # least P(f | x) of the family that a word is known to have


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

    def within(self, operators: ObservableOperators, forest: Forest) -> tuple[ObservableOperators, Forest]:
        """The operators with those leaf rules alone that a forest uses, and the forest that numbers them so.

        The forest given numbers them as `added_to` does, whose table is large.
        """
        rule = forest.rule.copy()
        at = np.flatnonzero((forest.left < 0) & (rule >= 0))
        used, rule[at] = np.unique(rule[at], return_inverse=True)
        own = np.maximum(used - len(operators.rules.leaf), -1)
        source = np.where(own < 0, used, np.append(self.source, 0)[own])
        factor = np.where(own < 0, 1.0, np.append(self.factor, 1.0)[own])
        terminal = np.where(own < 0, operators.rules.leaf[source, 1], np.append(self.terminal, -1)[own])
        rules = np.stack([operators.rules.leaf[source, 0], terminal], axis=1)
        return operators.with_leaves(rules, operators.leaf[source] * factor[:, None], alone=True), forest._replace(
            rule=rule
        )

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
        order = np.lexsort((-joint, family[symbol]))
        self._posteriors: dict[tuple[str, bool], FloatArray] = {}
        self.commonest = terminal[order[np.searchsorted(family[symbol[order]], np.arange(self.spelling.n_symbols))]]

    def _rows(self, terminal: IntArray) -> tuple[IntArray, IntArray]:
        """Where among the sorted rules those of each family begin and end, at terminals (n, K) or (n, 1): (n, K)."""
        key = terminal * self.spelling.n_symbols + np.arange(self.spelling.n_symbols)
        return np.searchsorted(self.keys, key, "left"), np.searchsorted(self.keys, key, "right")

    def _posterior(self, places: Sequence[tuple[str, bool]]) -> FloatArray:
        """P(f | x) (n, K) of words, each opening a sentence or not; the first _REMEMBERED are weighed once."""
        known = {place: self._posteriors.get(place) for place in places}
        if new := [place for place, row in known.items() if row is None]:
            found = dict(zip(new, self.spelling.posterior(*zip(*new, strict=True)), strict=True))
            known |= found
            if len(self._posteriors) < _REMEMBERED:
                self._posteriors |= found
        rows = [row for place in places if (row := known[place]) is not None]
        return np.stack(rows) if rows else np.zeros((0, self.spelling.n_symbols))

    def read(
        self, sentences: Iterable[Sequence[str]], least: float, family: IntArray | None = None
    ) -> tuple[IntArray, UnseenLeaves]:
        """The terminals of all words of sentences, one after another, and the leaf rules of the unseen ones.

        Families less likely than `least` are left out.
        family: (n,) the family of each word where it is known, else -1; a word is unseen that has no rule of its own.
        """
        places = [(word, at == 0) for sentence in sentences for at, word in enumerate(sentence)]
        terminal = np.array([self.lexicon.terminal(word, opens=opens) for word, opens in places], dtype=np.int64)
        is_unseen = terminal >= len(self.lexicon.known)
        given = np.full(len(terminal), -1) if family is None else family
        first, end = self._rows(terminal[:, None])
        is_unseen |= (given >= 0) & (first == end)[np.arange(len(terminal)), given]
        unseen = np.flatnonzero(is_unseen)
        words = Vocabulary[tuple[str, bool, int]]()
        names = [(*places[at], given[at]) for at in unseen.tolist()]
        terminal[unseen] = [self.lexicon.n_terminals + words.add(name) for name in names]
        spelt, opening, only = zip(*words, strict=True) if len(words) else ((), (), ())
        return terminal, self.leaves(spelt, opening, least, np.array(only, dtype=np.int64))

    def leaves(
        self, words: Sequence[str], opens: Sequence[bool], least: float, family: IntArray | None = None
    ) -> UnseenLeaves:
        """The leaf rules of words, which open sentences or not; families less likely than `least` are left out.

        The likeliest family of a word is never left out, nor that which it is known to have (n,).
        """
        signature = np.array([self.lexicon.signature(x) for x in words], dtype=np.int64)
        first, end = self._rows(signature[:, None])
        first, end = np.where(first < end, [first, end], self._rows(np.full((1, 1), self.lexicon.unknown)))
        p = self._posterior(list(zip(words, opens, strict=True)))
        only = np.zeros(p.shape, dtype=bool)
        if family is not None:
            only[family >= 0, family[family >= 0]] = True
            p = np.where(only, np.maximum(p, _FLOOR), np.where(family[:, None] < 0, p, 0.0))
            first, end = np.where((first < end) | ~only, [first, end], self._rows(self.commonest[None, :]))
        p = np.where(first < end, p, 0.0)
        word, family_of = np.nonzero((p > 0) & (p >= np.minimum(least, p.max(axis=1, keepdims=True))))
        row, pair = ranges(first[word, family_of], end[word, family_of])
        source = self.order[row]
        terminal, factor = self.lexicon.n_terminals + word[pair], p[word, family_of][pair] / self.share[source]
        return UnseenLeaves(self.symbol[source], terminal, source, factor)
