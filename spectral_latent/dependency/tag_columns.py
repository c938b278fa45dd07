"""Choose the column of tags that a model learns from: one for a whole treebank, with a tag for every word."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from itertools import chain

from spectral_latent.dependency.sentence import BLANK, DependencySentence, TagColumn

__all__ = ["UNTAGGED", "choose_column", "with_all_tags"]

UNTAGGED = "X"  # the universal tag for words that have no part of speech


def choose_column(
    sentences: Iterable[DependencySentence], preferred: TagColumn
) -> tuple[TagColumn | None, Iterator[DependencySentence]]:
    """Choose the column of tags by the first sentence with tags: the preferred column if the sentence has tags there.

    Returns the column, or None if no sentence has tags; and all sentences.

    >>> words = DependencySentence.of(["dogs"])
    >>> column, sentences = choose_column([words, words.with_tags("xpos", ("NNS",))], "upos")
    >>> column, len(list(sentences))
    ('xpos', 2)
    """
    columns: tuple[TagColumn, TagColumn] = ("upos", "xpos") if preferred == "upos" else ("xpos", "upos")
    rest = iter(sentences)
    begun: list[DependencySentence] = []
    for sentence in rest:
        begun.append(sentence)
        for column in columns:
            if any(tag != BLANK for tag in getattr(sentence, column)):
                return column, chain(begun, rest)
    return None, iter(begun)


def with_all_tags(sentences: Iterable[DependencySentence], column: TagColumn) -> Iterator[DependencySentence]:
    """Give every word a tag in a column: its tag there, or its tag in the other column, or else `UNTAGGED`.

    After the last sentence, a warning counts the words that had no tag there.

    >>> gaps = DependencySentence.of(["Big", "dogs"]).with_tags("upos", ("ADJ", "_"))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     [sentence.upos for sentence in with_all_tags([gaps], "upos")]
    [('ADJ', 'X')]
    >>> print(caught[0].message)
    words without an upos tag: 1 of 2, such as 'dogs'; they get the xpos tag, or X if there is none either
    """
    n_words = 0
    without: list[str] = []
    for sentence in sentences:
        n_words += len(sentence.forms)
        own: tuple[str, ...] = getattr(sentence, column)
        if BLANK in own:
            without += (form for form, tag in zip(sentence.forms, own, strict=True) if tag == BLANK)
            filled = tuple(UNTAGGED if tag == BLANK else tag for tag in sentence.tags(column))
            sentence = sentence.with_tags(column, filled)
        yield sentence
    if without:
        other = "xpos" if column == "upos" else "upos"
        warnings.warn(
            f"words without an {column} tag: {len(without)} of {n_words}, such as {without[0]!r}; they get the {other} "
            f"tag, or {UNTAGGED} if there is none either",
            stacklevel=2,
        )
