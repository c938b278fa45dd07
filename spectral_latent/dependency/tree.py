"""Hold a sentence with its annotation, and choose the column of tags that a model learns from.

A whole treebank has one column of tags, with a tag for every word.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Literal, NamedTuple, TypeAlias

from spectral_latent.drawing import arcs_svg
from spectral_latent.model import check_labels, check_words
from spectral_latent.tokenisation import Token

BLANK = "_"  # the value of a column that is not annotated
TagColumn: TypeAlias = Literal["upos", "xpos"]


class DependencySentence(NamedTuple):
    """A sentence with its annotation, as in CoNLL-U; every field but the last has one entry for each word.

    Strings are not changed.  A column that is not annotated has `_` for each word; heads that are not annotated are
    None.

    >>> words = DependencySentence(
    ...     ("Dogs", "bark"), ("dog", "bark"), ("NOUN", "VERB"), ("NNS", "VBP"), ("Number=Plur", "_"),
    ...     heads=(2, 0), relations=("nsubj", "root"),
    ... )
    >>> words.is_tree(), words.with_heads((2, 1)).is_tree()
    (True, False)
    >>> DependencySentence.of(["Dogs", "bark"]).with_heads((2, 0))
    DependencySentence(forms=('Dogs', 'bark'), heads=(2, 0))
    """

    forms: tuple[str, ...]
    """The words."""
    lemmas: tuple[str, ...]
    upos: tuple[str, ...]
    """Universal part-of-speech tags, or the coarser of two tag sets."""
    xpos: tuple[str, ...]
    """Tags of the treebank's own tag set."""
    feats: tuple[str, ...]
    """Morphological features, such as `Case=Nom|Number=Sing`."""
    heads: tuple[int, ...] | None
    """The number of each word's head, where the first word is 1, and 0 is the root; None if not annotated."""
    relations: tuple[str, ...]
    """The label of the arc from each word's head."""
    comments: tuple[str, ...] = ()
    """The sentence's comments, such as `sent_id = 7`, without # and the white space around them."""
    ranges: tuple[tuple[int, int, str], ...] = ()
    """The tokens of several words: the numbers of the first and the last word, and the form of the token."""

    def __repr__(self) -> str:
        columns = self._asdict()
        annotated = [name for name, column in columns.items() if column and set(column) != {BLANK}]
        shown = dict.fromkeys(["forms", *annotated])  # words are shown even if they look like blanks
        return f"DependencySentence({', '.join(f'{name}={columns[name]!r}' for name in shown)})"

    def _repr_svg_(self) -> str | None:
        """Draw the words with arcs from heads to dependents, for notebooks; None without heads."""
        if self.heads is None:
            return None
        tags = self.xpos if set(self.upos) == {"_"} else self.upos
        return arcs_svg(self.forms, tags, self.heads, self.relations)

    @staticmethod
    def of(forms: Sequence[str], tags: Sequence[str] | None = None) -> DependencySentence:
        """Make a sentence without annotation, or with tags alone.

        tags: the tag of each word; they become both `upos` and `xpos`.
        Raises ValueError if there are not as many tags as words, and TypeError for a string in place of the words or of
        the tags.

        >>> sentence = DependencySentence.of(["Dogs", "bark"], ["NNS", "VBP"])
        >>> sentence.upos, sentence.xpos, sentence.lemmas, sentence.heads
        (('NNS', 'VBP'), ('NNS', 'VBP'), ('_', '_'), None)
        """
        check_words(forms)
        if isinstance(tags, str):
            raise TypeError(f"tags are a sequence of strings, one for each word, not the string {tags!r:.60}")
        blank = ("_",) * len(forms)
        tags = blank if tags is None else tuple(tags)
        if len(tags) != len(forms):
            raise ValueError(f"{len(tags)} tags for {len(forms)} words; give each word one tag")
        return DependencySentence(tuple(forms), blank, tags, tags, blank, None, blank)

    @staticmethod
    def of_tokens(tokens: Sequence[Token]) -> DependencySentence:
        """Make a sentence of the words that were found in a text.

        tokens: the words; those of one token of several words have the same place.

        >>> words = [Token("Vamos", "Vámonos", 0, 1), Token("nos", "Vámonos", 0, 2), Token("!", "!", 7)]
        >>> DependencySentence.of_tokens(words)
        DependencySentence(forms=('Vamos', 'nos', '!'), ranges=((1, 2, 'Vámonos'),))
        """
        first = [number for number, token in enumerate(tokens, start=1) if token.part == 1]
        last = [sum(other.first == tokens[number - 1].first for other in tokens) + number - 1 for number in first]
        ranges = tuple((one, other, tokens[one - 1].form) for one, other in zip(first, last, strict=True))
        return DependencySentence.of([token.word for token in tokens])._replace(ranges=ranges)

    def check_names(self) -> None:
        """Raise TypeError or ValueError for words and annotation that no file can hold."""
        for column in (self.forms, self.lemmas, self.feats):
            check_words(column)
        check_labels({*self.upos, *self.xpos, *self.relations})

    def with_heads(self, heads: tuple[int, ...] | None, relations: tuple[str, ...] | None = None) -> DependencySentence:
        """Replace the heads, and the relations if they are given.

        heads: the number of each word's head; 0 is the root.
        relations: the relation of each word; None to keep the present relations.

        >>> DependencySentence.of(["Dogs", "bark"]).with_heads((2, 0), ("nsubj", "root")).relations
        ('nsubj', 'root')
        """
        return self._replace(heads=heads, relations=self.relations if relations is None else relations)

    def without_tree(self) -> DependencySentence:
        """Remove heads and relations, as for a sentence that is to be parsed.

        >>> gold = DependencySentence.of(["Yes"], ["UH"]).with_heads((0,), ("root",))
        >>> gold.without_tree() == DependencySentence.of(["Yes"], ["UH"])
        True
        """
        return self.with_heads(None, (BLANK,) * len(self.forms))

    def tags(self, column: TagColumn) -> tuple[str, ...]:
        """Take the tags of a column; a word without a tag there has the tag of the other column.

        column: the column that is read first.

        >>> words = DependencySentence.of(["Big", "dogs", "bark"], ["JJ", "NNS", "_"])
        >>> words.with_tags("upos", ("ADJ", "_", "_")).tags("upos")
        ('ADJ', 'NNS', '_')
        """
        first, second = (self.upos, self.xpos) if column == "upos" else (self.xpos, self.upos)
        if BLANK not in first:
            return first
        return tuple(other if tag == BLANK else tag for tag, other in zip(first, second, strict=True))

    def with_tags(self, column: TagColumn, tags: tuple[str, ...]) -> DependencySentence:
        """Replace the tags of a column.

        >>> DependencySentence.of(["Dogs"], ["NNS"]).with_tags("upos", ("NOUN",))[2:4]
        (('NOUN',), ('NNS',))
        """
        return self._replace(upos=tags) if column == "upos" else self._replace(xpos=tags)

    @property
    def roots(self) -> tuple[int, ...]:
        """List the words whose head is 0.

        >>> DependencySentence.of(["Yes", "!"]).with_heads((0, 1)).roots
        (1,)
        """
        return tuple(word for word, head in enumerate(self.heads or (), start=1) if head == 0)

    def dependants(self) -> list[list[int]]:
        """List the dependants of the root 0, then those of each word, in the order of words.

        >>> DependencySentence.of(["Big", "dogs", "bark"]).with_heads((2, 3, 0)).dependants()
        [[3], [], [1], [2]]
        """
        below: list[list[int]] = [[] for _ in range(len(self.forms) + 1)]
        for word, head in enumerate(self.heads or (), start=1):
            below[head].append(word)
        return below

    def cycle(self) -> tuple[int, ...]:
        """Find a cycle of words, in which each word is the head of the word before it; empty if there is no cycle.

        >>> DependencySentence.of(["Big", "dogs", "bark"]).with_heads((2, 3, 2)).cycle()
        (2, 3)
        """
        heads = (0, *(self.heads or ()))
        walks = [0] * len(heads)  # the word from which a walk up the heads first reached each word
        for start in range(1, len(heads)):
            word = start
            while word and not walks[word]:
                walks[word] = start
                word = heads[word]
            if word and walks[word] == start:
                cycle = [word]
                while (word := heads[word]) != cycle[0]:
                    cycle.append(word)
                return tuple(cycle)
        return ()

    def is_tree(self) -> bool:
        """Tell whether heads are annotated and lead from every word to the root, which may have several children."""
        return self.heads is not None and not self.cycle()


def check_sentence(sentence: Any) -> None:
    """Raise TypeError for an object that is not a `DependencySentence`, and the errors of `check_names`."""
    if not isinstance(sentence, DependencySentence):
        words = f"{sentence!r}.split()" if isinstance(sentence, str) else repr(sentence)
        raise TypeError(f"expected a DependencySentence, not {sentence!r:.60}; give DependencySentence.of({words:.80})")
    sentence.check_names()


UNTAGGED = "X"  # the universal tag for words that have no part of speech


def choose_column(
    sentences: Iterable[DependencySentence], preferred: TagColumn
) -> tuple[TagColumn | None, Iterator[DependencySentence]]:
    """Choose the column of tags by the first sentence with tags: the preferred column if the sentence has tags there.

    Returns the column, or None if no sentence has tags; and all sentences."""
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

    After the last sentence, a warning counts the words that had no tag there."""
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
