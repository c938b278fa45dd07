"""Compute surprisal and entropy from the probabilities of prefixes, under one model or several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import scipy

from spectral_latent._options import checked
from spectral_latent.trees import BoolArray, FloatArray

Unit: TypeAlias = Literal["bits", "nats"]


class Surprisal(NamedTuple):
    """The surprisal of each of n words after the words before it, -log p(word | words before), and its two parts.

    A word has infinite surprisal if no sentence begins with the words up to it; so have all words after it.  The
    surprisal of an unseen word is that of any unseen word of its spelling, and says nothing of this particular word.

    total: (n,) the surprisal of each word.
    lexical: (n,) the surprisal of the word, given that its tag is one that it may have.
    syntactic: (n,) the surprisal of its tags: of a tag that the word may have.
    end: the surprisal of the end of the sentence after its last word.
    seen: (n,) whether the word was seen in training."""

    total: FloatArray
    lexical: FloatArray
    syntactic: FloatArray
    end: float
    seen: BoolArray

    @property
    def sentence(self) -> float:
        """The surprisal of the whole sentence, -log p(sentence): the sum over its words and its end."""
        return float(self.total.sum()) + self.end


class Prefixes(NamedTuple):
    """Natural logarithms of the probabilities of the prefixes of a sentence of n words; -inf for zero.

    words: (n + 1,) the probability that a sentence begins with the first i words, for i from 0 to n.
    tags: (n,) the probability that a sentence begins with the first i words, and a tag that word i may have follows.
    """

    words: FloatArray
    tags: FloatArray
    sentence: float

    @staticmethod
    def mean(several: list[Prefixes]) -> Prefixes:
        """Average the probabilities under several grammars.

        several: the probabilities of one sentence under each grammar.

        >>> both = [Prefixes(np.log([1.0, p]), np.log([p]), np.log(p)) for p in (0.2, 0.4)]
        >>> np.exp(Prefixes.mean(both).words).round(12)
        array([1. , 0.3])
        """
        share = math.log(len(several))
        words, tags, sentence = (_log_sum(np.stack(column)) - share for column in zip(*several, strict=True))
        return Prefixes(words, tags, float(sentence))

    def surprisal(self, unit: Unit, seen: BoolArray) -> Surprisal:
        """Compute the surprisal of each word, of its tags, and of the end of the sentence.

        seen: (n,) whether each word was seen in training.

        Raises ValueError for another unit.

        >>> prefixes = Prefixes(np.log([1.0, 0.25, 0.125]), np.log([0.5, 0.125]), np.log(0.0625))
        >>> surprisal = prefixes.surprisal("bits", seen=np.array([True, True]))
        >>> surprisal.total, surprisal.lexical, surprisal.syntactic, surprisal.sentence
        (array([2., 1.]), array([1., 0.]), array([1., 1.]), 4.0)
        """
        base = _base(unit)
        before, after = self.words[:-1], self.words[1:]
        return Surprisal(
            _lost(before, after) / base,
            _lost(self.tags, after) / base,
            _lost(before, self.tags) / base,
            float(_lost(self.words[-1:], np.array([self.sentence]))[0]) / base,
            seen,
        )


def _log_sum(logs: FloatArray) -> FloatArray:
    """Compute the logarithms (...) of sums of probabilities from their logarithms (k, ...); NaN stays NaN."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.logaddexp.reduce(logs))


def _lost(before: FloatArray, after: FloatArray) -> FloatArray:
    """Subtract the logarithms `after` (n,) from the logarithms `before` (n,); inf if `after` is -inf."""
    is_zero = np.isneginf(after)
    return np.where(is_zero, np.inf, before - np.where(is_zero, 0.0, after))


class NextWords(NamedTuple):
    """The probabilities of the next event after each prefix of a sentence of n words.

    prefixes: (n + 1,) natural logarithms of the probabilities of the prefixes.
    following: (n + 1, X + 1) the probabilities of the X terminals, and of the end, after each prefix.  A row is NaN
    if no sentence begins with the prefix."""

    prefixes: FloatArray
    following: FloatArray

    @staticmethod
    def mean(several: Sequence[NextWords]) -> NextWords:
        """Average the probabilities under several grammars of the same lexicon.

        several: the probabilities of one sentence under each grammar.

        >>> one = NextWords(np.log([1.0, 0.3]), np.array([[1.0, 0.0], [1.0, 0.0]]))
        >>> other = NextWords(np.log([1.0, 0.1]), np.array([[0.0, 1.0], [0.0, 1.0]]))
        >>> NextWords.mean([one, other]).following
        array([[0.5 , 0.5 ],
               [0.75, 0.25]])
        """
        logs, following = (np.stack(column) for column in zip(*several, strict=True))
        total = _log_sum(logs)
        with np.errstate(invalid="ignore"):
            weight = np.exp(logs - total)[:, :, None]
        share = np.where(weight == 0.0, 0.0, weight * following).sum(axis=0)
        return NextWords(total - math.log(len(several)), share)


def entropies(following: FloatArray, unit: Unit) -> FloatArray:
    """Compute the entropy (n,) of each of n distributions.

    following: (n, X) rows of probabilities.

    Raises ValueError for another unit.

    >>> entropies(np.array([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]]), "bits")
    array([1., 0.])
    """
    return np.asarray(scipy.special.entr(following).sum(axis=1) / _base(unit))


def _base(unit: Unit) -> float:
    """Find the natural logarithm of the base of a unit.  Raises ValueError for another unit."""
    return math.log(2.0) if checked("unit", unit, Unit) == "bits" else 1.0
