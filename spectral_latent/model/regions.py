"""Sum surprisal over the regions of sentences: the rows of a table for a mixed model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spectral_latent.model.surprisal import Surprisal

if TYPE_CHECKING:
    from spectral_latent.tokenisation import Tokenisation

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
    tokenisation: the `tokenisation` of the model.
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
