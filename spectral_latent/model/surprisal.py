"""Compute surprisal and entropy from the probabilities of prefixes, under one model or several; sum over regions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from spectral_latent import _scipy as scipy
from spectral_latent._options import checked
from spectral_latent.trees import BoolArray, FloatArray

if TYPE_CHECKING:
    from spectral_latent.tokenisation import Tokenisation


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


# Regions: the rows of a table for a mixed model

_OF_SENTENCES = ("position", "token")
_ADDED = ("first", "end", "words", "unseen", "surprisal", "lexical", "syntactic")


class _Region(NamedTuple):
    """A part of a sentence, with the row that it comes from, and the place where it begins in the sentence."""

    row: Mapping[str, Any]
    text: str
    first: int

    @property
    def end(self) -> int:
        """The place after its last character."""
        return self.first + len(self.text)


def surprisal_of_regions(
    rows: Iterable[Mapping[str, Any]],
    column: str,
    surprisal: Callable[[list[str]], Surprisal],
    tokenisation: Tokenisation,
    sentence: Sequence[str] = (),
) -> Iterator[dict[str, Any]]:
    """Add up the surprisal of the words of each region, and give a row for each: its own columns first, then

    | column | meaning |
    | --- | --- |
    | `position`, `token` | its number in the sentence, from 1, and its text; only if `sentence` is not given |
    | `first`, `end` | its first character, and the place after its last one, counted from 0 in the sentence |
    | `words`, `unseen` | the number of its words, and of those that training has not seen |
    | `surprisal`, `lexical`, `syntactic` | the sums over its words; see `Surprisal` |

    A word that a mark is joined to, as in `fell.`, is one region with two words of the model.  A word belongs to the
    region in which it begins.

    column: the column of raw text: of regions if `sentence` is given; otherwise of whole sentences, whose regions are
    what white space divides.
    surprisal: computes the surprisal of the words of a sentence, as `ConstituencyModel.surprisal` does.
    sentence: columns that are the same in all regions of a sentence, which lie one after another: item and condition.

    Raises ValueError for a column that a row lacks, and for one that would be overwritten; TypeError for a cell in the
    place of text that is not a string.

    >>> from spectral_latent import ConstituencyModel, load
    >>> model = ConstituencyModel.train(load("toy").sample(60, np.random.default_rng(0)))
    >>> items = [{"item": 1, "text": "The cat"}, {"item": 1, "text": "chases the zebra"}]
    >>> for row in surprisal_of_regions(items, "text", model.surprisal, model.tokenisation, ["item"]):
    ...     print({name: cell for name, cell in row.items() if not isinstance(cell, float)})
    {'item': 1, 'text': 'The cat', 'first': 0, 'end': 7, 'words': 2, 'unseen': 0}
    {'item': 1, 'text': 'chases the zebra', 'first': 8, 'end': 24, 'words': 3, 'unseen': 1}
    """
    added = _ADDED if sentence else (*_OF_SENTENCES, *_ADDED)
    for regions in _sentences(_checked(rows, column, sentence, added), column, sentence):
        begins = [region.first for region in regions]
        sums = np.zeros((len(regions), 5))
        for tokens in tokenisation.sentences(" ".join(region.text for region in regions if region.text)):
            found = surprisal([token.word for token in tokens])
            # A word begins in the last region that does not begin after it.
            at = np.searchsorted(begins, [token.first for token in tokens], side="right") - 1
            columns = (np.ones(len(tokens)), ~found.seen, found.total, found.lexical, found.syntactic)
            np.add.at(sums, at, np.stack(columns, axis=1))
        for number, (region, (words, unseen, *bits)) in enumerate(zip(regions, sums.tolist(), strict=True), start=1):
            cells = (number, region.text, region.first, region.end, int(words), int(unseen), *bits)
            yield {**region.row, **dict(zip(added, cells[-len(added) :], strict=True))}


def _sentences(
    rows: Iterable[tuple[int, Mapping[str, Any]]], column: str, sentence: Sequence[str]
) -> Iterator[list[_Region]]:
    """Divide numbered rows into sentences, and these into regions."""
    for _, together in groupby(rows, lambda numbered: [numbered[1][name] for name in sentence] or numbered[0]):
        regions: list[_Region] = []
        end = 0
        for _, row in together:
            for text in [row[column].strip()] if sentence else row[column].split():
                regions.append(_Region(row, text, end + 1 if end and text else end))
                end = regions[-1].end
        yield regions


def _checked(
    rows: Iterable[Mapping[str, Any]], column: str, sentence: Sequence[str], added: Sequence[str]
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Number rows from 1, and check their columns."""
    for number, row in enumerate(rows, start=1):
        for name in (column, *sentence):
            if name not in row:
                raise ValueError(f"row {number} has no column {name!r}, but {', '.join(map(str, row))}")
        if taken := [name for name in added if name in row]:
            raise ValueError(f"the table has a column {taken[0]!r}, which would be overwritten; give it another name")
        if not isinstance(row[column], str):
            raise TypeError(f"row {number} has {row[column]!r:.60} in the column {column!r}; give text")
        yield number, row
