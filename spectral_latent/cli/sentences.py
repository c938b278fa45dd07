"""Read the sentences of an input from the lines or parts of each format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from string import whitespace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from spectral_latent.cli.console import Console

if TYPE_CHECKING:
    from spectral_latent.corpora.rows import Row
    from spectral_latent.dependency import DependencySentence
    from spectral_latent.tokenisation import Token, Tokenisation

__all__ = [
    "InputSentence",
    "NumberedLine",
    "RawTextCheck",
    "sentences_of_lines",
    "sentences_of_rows",
    "sentences_of_table",
    "sentences_of_tagged_lines",
    "sentences_of_text",
    "sentences_of_trees",
]

NumberedLine: TypeAlias = tuple[int, str]  # the number of a line, and its text with its end


class InputSentence(NamedTuple):
    """A sentence, and its place in the input.

    sentence: the words, with tags and heads where the input has them; no words for an empty line of tokens.
    number: the number of the line if each line is a sentence; otherwise the number of the sentence.
    lines: the lines of the sentence in a table, each with its line end; none in other formats.
    places: the index in `lines` of the line of each word.
    tokens: the words as they stand in raw text; none in other formats.
    name: the name in the row of the sentence; empty if there is none.
    constraints: the known parts of the tree, as the parser takes them; None if no part is known.
    """

    sentence: DependencySentence
    number: int
    lines: tuple[str, ...] = ()
    places: tuple[int, ...] = ()
    tokens: tuple[Token, ...] = ()
    name: str = ""
    constraints: Any = None

    @property
    def sent_id(self) -> str:
        """The name of the sentence, or its number if it has no name."""
        return self.name or str(self.number)

    @property
    def words(self) -> list[str]:
        """The words of the sentence."""
        return list(self.sentence.forms)

    @property
    def forms(self) -> list[str]:
        """The words as they stand in the input: brackets of raw text are not escaped."""
        return [token.form for token in self.tokens] or self.words

    @property
    def is_whole(self) -> bool:
        """Tell whether this is a sentence.  An empty line is a sentence; comments at the end of a table are not."""
        return bool(self.sentence.forms) or not self.lines

    @property
    def spaces(self) -> list[bool]:
        """Tell for each word whether white space follows it; after the last word it always does."""
        if not self.tokens:
            return [True] * len(self.words)
        return [*(token.end < following.first for token, following in pairwise(self.tokens)), True]


class RawTextCheck:
    """A check that warns of the first line that is clearly not tokenised."""

    def __init__(
        self,
        tokenisation: Tokenisation,
        console: Console,
        kind: str = "line",
        remedy: str = "for raw text, give --text",
    ) -> None:
        """Begin the check, before the first line.

        tokenisation: recognises raw text.
        console: prints the warning.
        kind: the word for a line in the message.
        remedy: the advice at the end of the message.
        """
        self._tokenisation = tokenisation
        self._console = console
        self._kind = kind
        self._remedy = remedy
        self._has_warned = False

    def look_at(self, words: Sequence[str], number: int) -> None:
        """Warn if a line is not tokenised, unless there was a warning before.

        words: the parts of the line between spaces.
        number: the number of the line.
        """
        if not self._has_warned and self._tokenisation.is_raw(words):
            self._has_warned = True
            self._console.message(
                f"Warning: {self._kind} {number} has no spaces between words and marks, as tokenised text has; "
                f"{self._remedy}"
            )


def sentences_of_lines(lines: Iterable[NumberedLine], check: RawTextCheck) -> Iterator[InputSentence]:
    """Read a sentence from each line.

    lines: lines of words with spaces between them.
    check: warns of lines that are not tokenised.
    """
    from spectral_latent.corpora import plain_sentences
    from spectral_latent.dependency import DependencySentence

    for number, line in lines:
        (words,) = plain_sentences([line])
        check.look_at(words, number)
        yield InputSentence(DependencySentence.of(words), number)


def sentences_of_tagged_lines(lines: Iterable[NumberedLine], source: str) -> Iterator[InputSentence]:
    """Read a sentence of words with tags from each line.

    lines: lines of tokens word/TAG.
    source: the name of the input in errors.
    """
    from spectral_latent.corpora import parse_tagged
    from spectral_latent.dependency import DependencySentence

    for number, line in lines:
        pairs = next(parse_tagged(line, source, number)) if line.strip(whitespace) else []
        yield InputSentence(DependencySentence.of([word for word, _ in pairs], [tag for _, tag in pairs]), number)


def sentences_of_text(
    lines: Iterable[NumberedLine], tokenisation: Tokenisation, numbers: Iterator[int]
) -> Iterator[InputSentence]:
    """Divide raw text into sentences and words.

    lines: the lines of whole paragraphs.
    tokenisation: the way to divide raw text.
    numbers: gives each sentence its number.
    """
    from spectral_latent.dependency import DependencySentence

    text = "".join(line for _, line in lines)
    for tokens in tokenisation.sentences(text):
        words = [token.word for token in tokens]
        yield InputSentence(DependencySentence.of(words), next(numbers), tokens=tuple(tokens))


def sentences_of_rows(rows: Iterable[tuple[int, Row]], tokenisation: Tokenisation) -> Iterator[InputSentence]:
    """Read a sentence from each row of words, and all sentences of each row of raw text.

    rows: rows with their numbers.
    tokenisation: the way to divide raw text.
    """
    from spectral_latent.dependency import DependencySentence

    for number, row in rows:
        name = row.name or str(number)
        if row.words is not None:
            yield InputSentence(DependencySentence.of(row.words, row.tags), number, name=name)
            continue
        for place, tokens in enumerate(tokenisation.sentences(row.text or ""), start=1):
            words = [token.word for token in tokens]
            yield InputSentence(DependencySentence.of(words), number, tokens=tuple(tokens), name=f"{name}.{place}")


def sentences_of_trees(chunks: Iterable[bytes], source: str) -> Iterator[InputSentence]:
    """Read the words and tags of bracketed trees, traces left out.

    chunks: parts of the text.
    source: the name of the input in errors.
    """
    from spectral_latent.constituency import clean
    from spectral_latent.corpora import parse_brackets
    from spectral_latent.corpora.text import decode
    from spectral_latent.dependency import DependencySentence

    text = decode(b"".join(chunks), source)
    trees = parse_brackets(text, source) if text.strip() else iter(())
    for number, tree in enumerate(filter(None, map(clean, trees)), start=1):
        tags = [leaf.label for leaf in tree.preterminals()]
        yield InputSentence(DependencySentence.of(list(tree.words()), tags), number)


def sentences_of_table(
    lines: Iterable[NumberedLine], source: str, is_malt_tab: bool, numbers: Iterator[int]
) -> Iterator[InputSentence]:
    """Read a sentence from each block of lines; lines after the last block make a sentence without words.

    lines: lines of CoNLL-U or of Malt-TAB.
    source: the name of the input in errors.
    is_malt_tab: whether the lines are Malt-TAB.
    numbers: gives each sentence its number.
    """
    from spectral_latent.corpora.conllu import parse_tab_with_lines, parse_with_lines
    from spectral_latent.dependency import DependencySentence

    parse = parse_tab_with_lines if is_malt_tab else parse_with_lines
    for block in _blocks(lines):
        first = block[0][0]
        texts = tuple(line for _, line in block)
        if any(map(_has_word, texts)):
            ((sentence, word_lines),) = parse("".join(texts), source, first)
            yield InputSentence(sentence, next(numbers), texts, tuple(line - first for line in word_lines))
        else:
            yield InputSentence(DependencySentence.of([]), 0, texts)


def _blocks(lines: Iterable[NumberedLine]) -> Iterator[list[NumberedLine]]:
    """Divide lines after each empty line that comes after words."""
    block: list[NumberedLine] = []
    has_words = False
    for number, line in lines:
        block.append((number, line))
        has_words = has_words or _has_word(line)
        if has_words and not line.strip(" \r\n"):
            yield block
            block = []
            has_words = False
    if block:
        yield block


def _has_word(line: str) -> bool:
    """Tell whether a line of a table is neither empty nor a comment."""
    return bool(line.strip(" \r\n")) and not line.startswith("#")
