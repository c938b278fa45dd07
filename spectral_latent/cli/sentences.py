"""Read the sentences of FILE, or of standard input: lines as they come, tables and trees as a whole."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from spectral_latent.cli.console import message

if TYPE_CHECKING:
    from spectral_latent.corpora import Format
    from spectral_latent.dependency import DependencySentence
    from spectral_latent.tokenisation import Token, Tokenisation

__all__ = [
    "Input",
    "InputSentence",
    "RawTextCheck",
    "read_partial_phrases",
    "read_partial_sentences",
    "read_sentences",
    "read_text",
    "tell_of_tags",
]

NumberedLine: TypeAlias = tuple[int, str]  # the number of a line, and its text with its end
LINES = ("tokens", "tagged", "json")  # whose lines are sentences

_CHUNK = 1 << 16  # the number of bytes that are read at once
_SHOWING = 100  # the first sentences, whose words show whether a text is in the language of the model
_AWAITED = {  # what a terminal is asked to type
    "brackets": "trees from the terminal; Ctrl-D ends",
    "conllu": "CoNLL-U from the terminal; an empty line ends a sentence, and Ctrl-D the input",
    "json": "JSON from the terminal, an object on each line; Ctrl-D ends",
    "text": "text from the terminal; an empty line ends a paragraph, and Ctrl-D the text",
    "lists": "lists from the terminal; Ctrl-D ends",
}
_LINES_AWAITED = "sentences from the terminal, one a line, with spaces between words and marks; Ctrl-D ends"


class InputSentence(NamedTuple):
    """A sentence, and its place in the input.

    sentence: the words, with tags and heads where the input has them; no words for an empty line of tokens.
    number: the number of the line if each line is a sentence; otherwise the number of the sentence; after the name of
    its file if there are several, as in `b.txt:3`.
    lines: the lines of the sentence in a table, each with its line end; none in other formats.
    places: the index in `lines` of the line of each word.
    tokens: the words as they stand in raw text; none in other formats.
    name: the name in the row or the comments of the sentence; empty if there is none.
    constraints: the known parts of the tree, as the parser takes them; None if no part is known."""

    sentence: DependencySentence
    number: int | str
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
        return [token.shown for token in self.tokens] or self.words

    @property
    def tags(self) -> dict[int, str]:
        """The tags by the numbers of words from 0: XPOS, or UPOS if no word has XPOS."""
        for column in (self.sentence.xpos, self.sentence.upos):
            if tags := {word: tag for word, tag in enumerate(column) if tag != "_"}:
                return tags
        return {}

    @property
    def is_whole(self) -> bool:
        """Tell whether this is a sentence.  An empty line is a sentence; comments at the end of a table are not."""
        return bool(self.sentence.forms) or not self.lines

    @property
    def spaces(self) -> list[bool]:
        """Tell for each word whether white space follows it or its token; after the last word it always does."""
        if not self.tokens:
            return [True] * len(self.words)
        first = {token.first for token in self.tokens}
        return [token.end not in first for token in self.tokens]

    @property
    def text(self) -> str:
        """The sentence as a line of text."""
        if not self.tokens:
            return " ".join(self.words)
        rows = zip(self.tokens, self.spaces, strict=True)
        return "".join(f"{token.form} " if space else token.form for token, space in rows if token.part < 2).strip()


class Input(NamedTuple):
    """The sentences of an input, and then the comments after the last sentence of a table.

    is_pipe: whether sentences come one by one, because who writes them may wait for answers.
    unit: what the numbers of sentences count, lines or sentences."""

    source: str
    form: Format
    sentences: Iterator[InputSentence]
    is_pipe: bool = False

    @property
    def unit(self) -> str:
        """The name of what the numbers of sentences count."""
        return "line" if self.form in LINES else "sentence"


# Files, and lines of them


def _name(file: str) -> str:
    """Name an input in messages."""
    return "standard input" if file == "-" else file


def _chunks(file: str, form: str | None) -> Iterator[bytes]:
    """Read a file, or standard input for `-`, in parts; the parts of a pipe are read as they come."""
    if file == "-" and sys.stdin.isatty():
        message(f"Reading {_AWAITED.get(form or '', _LINES_AWAITED)}")
    stream: Any = sys.stdin.buffer if file == "-" else open(file, "rb")  # noqa: SIM115
    try:
        while chunk := stream.read1(_CHUNK):
            yield chunk
    finally:
        if file != "-":
            stream.close()


def _batches(file: str, form: str | None) -> Iterator[list[tuple[int, bytes]]]:
    """Read the whole lines that come together, each with its number; the last line may have no end."""
    from spectral_latent.corpora.text import utf8_chunks

    number = 1
    rest = bytearray()
    for chunk in utf8_chunks(_chunks(file, form), _name(file)):
        rest += chunk
        if b"\n" in chunk:
            *whole, rest = rest.split(b"\n")
            yield [(number + at, bytes(line) + b"\n") for at, line in enumerate(whole)]
            number += len(whole)
    if rest:
        yield [(number, bytes(rest))]


def read_text(file: str, form: str | None = None) -> tuple[str, str]:
    """Read a file, or standard input for `-`, as a whole; return its text and its name in messages."""
    from spectral_latent.corpora.text import decode_all

    return decode_all(_chunks(file, form), _name(file)), _name(file)


# Sentences


def read_sentences(files: Sequence[str], form: Format | None, tokenisation: Tokenisation) -> Input:
    """Read the sentences of files, or of standard input for `-`, as they are asked for, one file after the other.

    Without a format, the names of files or their first lines show it; of a pipe, the lines that come at first.  The
    tokenisation divides raw text, and recognises raw text among lines that should be tokenised, of which there is a
    message."""
    return _joined([_read_file(file, form, tokenisation) for file in files])


def _joined(given: Sequence[Input]) -> Input:
    """Join the inputs of several files, whose names then stand before the numbers of sentences."""
    first, *others = given
    if not others:
        return first
    from spectral_latent.corpora import CorpusError
    from spectral_latent.corpora.formats import NAMES

    for each in others:
        if each.form != first.form:
            raise CorpusError(
                f"{first.source}: {NAMES[first.form]}, and {each.source}: {NAMES[each.form]}; give files of one "
                f"format, or --format"
            )
    sentences = (_of_file(Path(each.source).name, sentence) for each in given for sentence in each.sentences)
    return Input(", ".join(each.source for each in given), first.form, sentences, any(each.is_pipe for each in given))


def _of_file(file: str, sentence: InputSentence) -> InputSentence:
    """Return a sentence of one of several files, whose lines end with an empty line."""
    lines = sentence.lines
    if lines and lines[-1].strip(" \t\r\n"):
        lines = (*lines[:-1], lines[-1].rstrip("\r\n") + "\n", "\n")
    return sentence._replace(number=f"{file}:{sentence.number}", lines=lines)


def _read_file(file: str, form: Format | None, tokenisation: Tokenisation) -> Input:
    """Read the sentences of a file in a format that is given or shown."""
    from spectral_latent.corpora.formats import SHOWING, Guess, sniff_format
    from spectral_latent.corpora.text import decode

    source = _name(file)
    is_pipe = file == "-" or not Path(file).is_file()
    batches = _batches(file, form)
    guess = Guess(form)
    if form is None:
        begun: list[list[tuple[int, bytes]]] = []
        n_left = 1 if is_pipe else SHOWING  # lines that show the format
        while n_left > 0 and (batch := next(batches, None)):
            begun.append(batch)
            n_left -= sum(bool(line.strip()) and not line.startswith(b"#") for _, line in batch)
        batches = chain(begun, batches)
        guess = sniff_format(source, b"".join(line for batch in begun for _, line in batch).decode(errors="replace"))
        if guess.doubt:
            message(f"Warning: {guess.warning(source)}")
    lines = ((number, decode(line, source, number)) for batch in batches for number, line in batch)
    reader = _SentenceReader(source, tokenisation)
    readers: dict[Any, Callable[[Iterable[NumberedLine]], Iterator[InputSentence]]] = {
        "tokens": reader.tokens,
        "tagged": reader.tagged,
        "json": reader.rows,
        "text": reader.text,
        "conllu": reader.conllu,
    }
    sentences = readers.get(guess.form, reader.trees)(lines)
    return Input(source, guess.form, guess.noted(_with_known_words(sentences, tokenisation)), is_pipe)


def _with_known_words(sentences: Iterable[InputSentence], tokenisation: Tokenisation) -> Iterator[InputSentence]:
    """Return sentences; warn once if most words of the first ones were never seen."""
    seen: list[list[str]] = []
    for sentence in sentences:
        if len(seen) < _SHOWING:
            seen.append(sentence.words)
        yield sentence
    if warning := tokenisation.warns_of(seen):
        message(f"Warning: {warning}")


class RawTextCheck:
    """A check that warns of the first line that is clearly not tokenised."""

    def __init__(
        self, tokenisation: Tokenisation, kind: str = "line", remedy: str = "for raw text, give --text"
    ) -> None:
        self._tokenisation = tokenisation
        self._kind = kind
        self._remedy = remedy
        self._has_warned = False

    def look_at(self, words: Sequence[str], number: int) -> None:
        """Warn if a line is not tokenised, unless there was a warning before."""
        if not self._has_warned and self._tokenisation.is_raw(words):
            self._has_warned = True
            message(
                f"Warning: {self._kind} {number} has no spaces between words and marks, as tokenised text has; "
                f"{self._remedy}"
            )


@dataclass
class _SentenceReader:
    """The readers of all formats, from numbered lines to sentences."""

    source: str
    tokenisation: Tokenisation

    def tokens(self, lines: Iterable[NumberedLine]) -> Iterator[InputSentence]:
        """Read a sentence from each line of words with spaces between them."""
        from spectral_latent.corpora import plain_sentences

        check = RawTextCheck(self.tokenisation)
        for number, line in lines:
            (words,) = plain_sentences([line])
            check.look_at(words, number)
            yield _of_words(words, number)

    def tagged(self, lines: Iterable[NumberedLine]) -> Iterator[InputSentence]:
        """Read a sentence from each line of tokens word/TAG."""
        from spectral_latent.corpora import parse_tagged

        for number, line in lines:
            pairs = next(parse_tagged(line, self.source, number)) if line.strip(" \t\r\n\v\f") else []
            yield _of_words([word for word, _ in pairs], number, tags=[tag for _, tag in pairs])

    def rows(self, lines: Iterable[NumberedLine]) -> Iterator[InputSentence]:
        """Read a sentence from each row of words, and all sentences of each row of raw text."""
        from spectral_latent.corpora.rows import parse_rows

        for number, row in parse_rows(lines, self.source):
            name = row.name or ""
            if row.words is not None:
                yield _of_words(row.words, number, tags=row.tags, name=name)
                continue
            for place, tokens in enumerate(self.tokenisation.sentences(row.text or ""), start=1):
                yield _of_words(tokens=tokens, number=number, name=f"{name or number}.{place}")

    def text(self, lines: Iterable[NumberedLine]) -> Iterator[InputSentence]:
        """Divide each paragraph of raw text, which an empty line ends, into sentences and words."""
        number = 0
        paragraph = ""
        for _, line in chain(lines, [(0, "\n")]):
            paragraph += line
            if not line.strip(" \t\r\n"):
                for number, tokens in enumerate(self.tokenisation.sentences(paragraph), start=number + 1):  # noqa: B020
                    yield _of_words(tokens=tokens, number=number)
                paragraph = ""

    def trees(self, lines: Iterable[NumberedLine]) -> Iterator[InputSentence]:
        """Read the words and tags of bracketed trees, traces left out."""
        from spectral_latent.constituency import clean
        from spectral_latent.corpora import parse_brackets

        text = "".join(line for _, line in lines)
        trees = parse_brackets(text, self.source) if text.strip() else iter(())
        for number, tree in enumerate(filter(None, map(clean, trees)), start=1):
            yield _of_words(list(tree.words()), number, tags=[leaf.label for leaf in tree.preterminals()])

    def conllu(self, lines: Iterable[NumberedLine]) -> Iterator[InputSentence]:
        """Read the sentences of a table in CoNLL-U."""
        from spectral_latent.corpora.conllu import parse_with_lines

        text = "".join(line for _, line in lines)
        return _with_lines(parse_with_lines(text, self.source) if _has_words(text) else iter(()), text)


def _of_words(
    words: Sequence[str] = (),
    number: int = 0,
    *,
    tags: Sequence[str] | None = None,
    tokens: Sequence[Token] = (),
    name: str = "",
) -> InputSentence:
    """Make a sentence of words, or of the tokens of raw text."""
    from spectral_latent.dependency import DependencySentence

    sentence = DependencySentence.of_tokens(tokens) if tokens else DependencySentence.of(words, tags or None)
    return InputSentence(sentence, number, tokens=tuple(tokens), name=name)


def _has_words(table: str) -> bool:
    """Tell whether a table in CoNLL-U has a line that is neither empty nor a comment."""
    return any(line.strip(" \t\r\ufeff") and not line.startswith("#") for line in table.split("\n"))


def _with_lines(parsed: Iterable[tuple[DependencySentence, Sequence[int]]], text: str) -> Iterator[InputSentence]:
    """Give each sentence of a table its lines, up to the empty line after its words; the last lines have no words."""
    from spectral_latent.corpora.conllu import comment_value

    lines = text.split("\n")
    lines = [*(f"{line}\n" for line in lines[:-1]), *filter(None, lines[-1:])]
    begin = 0
    for number, (sentence, of_words) in enumerate(parsed, start=1):
        end = of_words[-1]
        while end < len(lines) and lines[end].strip(" \t\r\n"):
            end += 1
        places = tuple(line - 1 - begin for line in of_words)
        name = comment_value(sentence, "sent_id") or ""
        yield InputSentence(sentence, number, tuple(lines[begin : end + 1]), places, name=name)
        begin = end + 1
    if begin < len(lines):
        yield _of_words()._replace(lines=tuple(lines[begin:]))


def tell_of_tags(given: Input) -> Input:
    """Return an input, and say once that its tags are not used if it has some."""

    def sentences() -> Iterator[InputSentence]:
        is_told = False
        for sentence in given.sentences:
            if not is_told and sentence.tags:
                is_told = True
                message(f"The tags of {given.source} are not used: this command takes the words alone")
            yield sentence

    return given._replace(sentences=sentences())


# Partly known trees, which are all checked before the first is parsed


def read_partial_phrases(files: Sequence[str], form: Format | None, parser: Any) -> Input:
    """Read sentences with brackets around some of their words."""
    from spectral_latent.corpora.brackets import parse_partial_with_lines
    from spectral_latent.model import Partial

    def read(file: str) -> Input:
        text, source = _read_as(file, "brackets", form)
        sentences = []
        for number, (line, tree) in enumerate(parse_partial_with_lines(text, source), start=1):
            constraints, _ = parser.known(tree.constraints)
            with _at(source, line):
                parser.checked(Partial(tree.sentence, constraints))
            sentences.append(_of_words(tree.sentence, number)._replace(constraints=tree.constraints))
        return Input(source, "brackets", iter(sentences))

    return _joined([read(file) for file in files])


def read_partial_sentences(
    files: Sequence[str], form: Format | None, parser: Any, *, non_projective: bool = False, **_: Any
) -> Input:
    """Read sentences in CoNLL-U some of whose heads and relations are known."""
    from spectral_latent.corpora.conllu import parse_partial_conllu_with_lines

    def read(file: str) -> Input:
        text, source = _read_as(file, "conllu", form)
        trees = list(parse_partial_conllu_with_lines(text, source))
        for tree, lines in trees:
            with _at(source, lines[0]):
                parser.checked(tree, projective=not non_projective)
        read = _with_lines(((tree.sentence, lines) for tree, lines in trees), text)
        sentences = [next(read)._replace(constraints=tree.constraints) for tree, _ in trees]
        return Input(source, "conllu", iter([*sentences, *read]))

    return _joined([read(file) for file in files])


def _read_as(file: str, needed: Format, form: Format | None) -> tuple[str, str]:
    """Read a file as a whole; refuse other formats than the needed one."""
    from spectral_latent.corpora import sniff_format

    text, source = read_text(file, needed)
    sniff_format(source, text, needed, given=form)
    return text, source


@contextmanager
def _at(source: str, line: int) -> Iterator[None]:
    """Name the line in an error about a sentence."""
    from spectral_latent.corpora.text import Line

    try:
        yield
    except ValueError as error:
        raise Line(source, line).error(str(error)) from None
