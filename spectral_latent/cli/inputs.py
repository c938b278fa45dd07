"""Sentences and trees that commands read from FILE, or from standard input."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BytesIO
from itertools import chain, count, pairwise
from pathlib import Path
from string import whitespace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import click

from spectral_latent.cli.console import Console

if TYPE_CHECKING:
    from spectral_latent.constituency import Phrase
    from spectral_latent.corpora import Format
    from spectral_latent.corpora.rows import Row
    from spectral_latent.dependency import DependencySentence
    from spectral_latent.tokenisation import Token, Tokenisation

__all__ = [
    "FORMATS",
    "Input",
    "InputSentence",
    "format_options",
    "read_sentences",
    "read_text",
    "refuse_format",
]

FORMATS = (
    "brackets",
    "conllu",
    "malt-tab",
    "tagged",
    "json",
    "parquet",
    "tokens",
    "text",
)  # the library's, which --help need not import

_Command = TypeVar("_Command", bound=Callable[..., Any])


def format_options(command: _Command) -> _Command:
    """Add the options for the format of FILE to a command, which gets it as `form`.

    command: the function of the command.
    """
    for option in (
        click.option(
            "--text", "form", flag_value="text", help="FILE is raw text: divide it into sentences and words first."
        ),
        click.option(
            "--format",
            "form",
            type=click.Choice(FORMATS),
            help="The format of FILE; text is --text.  [default: the one that its name or its first line shows]",
        ),
    ):
        command = option(command)
    return command


_NAMES: dict[Format, str] = {
    "brackets": "trees in brackets",
    "conllu": "sentences in CoNLL-U",
    "malt-tab": "sentences in Malt-TAB",
    "tagged": "words with tags",
    "json": "rows in JSON lines",
    "parquet": "rows in Parquet",
    "tokens": "tokenised sentences",
}
_USES: dict[Format, str] = {
    "brackets": "constituency parsers (`train constituency`)",
    "conllu": "dependency parsers (`train dependency`) and taggers (`train tagger`)",
    "malt-tab": "dependency parsers (`train dependency`) and taggers (`train tagger`)",
    "tagged": "taggers (`train tagger`)",
    "json": "`parse` and `tag`",
    "parquet": "`parse` and `tag`",
}
_CHUNK = 1 << 16  # bytes that are read at once
_FIRST_LINE = re.compile(rb"^(?!(?:\xef\xbb\xbf)?#)[^\S\n]*\S[^\n]*\n", re.MULTILINE)  # the first that shows the format
_LINE_ENDS = re.compile(rb"\n")
_SENTENCE_ENDS: dict[Format, re.Pattern[bytes]] = {
    "tokens": _LINE_ENDS,
    "tagged": _LINE_ENDS,
    "json": _LINE_ENDS,
    "text": re.compile(rb"^[ \t]*\r?\n", re.MULTILINE),
    "malt-tab": re.compile(rb"^ *\r?\n", re.MULTILINE),
    # the line of a word, comments, and an empty line
    "conllu": re.compile(rb"^(?! *\r?\n|#)[^\n]*\n(?:#[^\n]*\n)* *\r?\n", re.MULTILINE),
}
_WORD_LINE = re.compile(rb"^(?! *\r?\n|#)[^\n]*\n", re.MULTILINE)  # neither empty nor a comment

_AWAITED: dict[Format | None, str] = {
    None: "Reading sentences from the terminal, one a line, with spaces between words and marks; Ctrl-D ends",
    "text": "Reading text from the terminal; an empty line ends a paragraph, and Ctrl-D the text",
    "conllu": "Reading CoNLL-U from the terminal; an empty line ends a sentence, and Ctrl-D the input",
    "malt-tab": "Reading Malt-TAB from the terminal; an empty line ends a sentence, and Ctrl-D the input",
    "brackets": "Reading trees from the terminal; Ctrl-D ends",
    "json": "Reading JSON from the terminal, an object on each line; Ctrl-D ends",
}

_Line: TypeAlias = tuple[int, str]  # the number of a line, and its text with its end


def refuse_format(source: str, found: Format, *needed: Format) -> None:
    """Raise ClickException for a format that is not among those needed, unless it is lines of tokens.

    source: the name of the input, for the message.
    found: the format of the input.
    needed: the formats that can be read, the usual one first.

    >>> refuse_format("a.mrg", "brackets", "conllu", "malt-tab")
    Traceback (most recent call last):
    click.exceptions.ClickException: a.mrg: trees in brackets, where sentences in CoNLL-U are needed; they are for
    constituency parsers (`train constituency`)
    """
    if found != "tokens" and found not in needed:
        raise click.ClickException(
            f"{source}: {_NAMES[found]}, where {_NAMES[needed[0]]} are needed; they are for {_USES[found]}"
        )


def read_text(file: str, console: Console, *needed: Format) -> tuple[str, str]:
    """Read a file as a whole, and return its text and its name for messages.

    file: the name of a file, or `-` for standard input.
    console: prints what is awaited on a terminal.
    needed: the formats that it may have; any format if none is given.

    Raises CorpusError for bytes that are not text, and ClickException for another format.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "one.txt")
    ...     _ = path.write_text("(NNS dogs)")
    ...     read_text(str(path), Console(quiet=True), "brackets")[0]
    '(NNS dogs)'
    """
    from spectral_latent.corpora import sniff_format
    from spectral_latent.corpora.text import decode, utf8_chunks

    _say_what_is_awaited(file, _AWAITED[needed[0]] if needed else "Reading from the terminal; Ctrl-D ends", console)
    source = _source(file)
    text = decode(b"".join(utf8_chunks(_chunks(file), source)), source)
    if needed:
        refuse_format(source, sniff_format(file, text), *needed)
    return text, source


def _say_what_is_awaited(file: str, awaited: str, console: Console) -> None:
    """Print a message if an input is a terminal."""
    if file == "-" and sys.stdin.isatty():
        console.message(awaited)


class InputSentence(NamedTuple):
    """A sentence, and where it stands in its input.

    sentence: its words, with tags and heads where the input has them; no words for an empty line of tokens.
    number: the number of its line where each line is a sentence, else its own number.
    lines: its lines in a table, each with its line end; none in other formats.
    places: the index of each word's line among `lines`.
    tokens: its words as they stand in raw text; none in other formats.
    name: the name that its row gives it; empty if there is none.
    constraints: the parts of its tree that are known, as the parser takes them; None for none.
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
        """Return the name, or the number in its place."""
        return self.name or str(self.number)

    @property
    def words(self) -> list[str]:
        """Return the words."""
        return list(self.sentence.forms)

    @property
    def forms(self) -> list[str]:
        """Return the words as they stand in the input, where brackets of raw text are not escaped."""
        return [token.form for token in self.tokens] or self.words

    @property
    def spaces(self) -> list[bool]:
        """Tell for each word whether white space follows it, as it does after the last one."""
        if not self.tokens:
            return [True] * len(self.words)
        return [*(token.end < following.first for token, following in pairwise(self.tokens)), True]


class Input(NamedTuple):
    """The sentences of an input.

    form: its format.
    batches: its sentences in parts; those of a pipe in the parts in which they come.
    length: the number of its sentences; None if it is a pipe.
    """

    form: Format
    batches: Iterator[Iterable[InputSentence]]
    length: int | None = None

    @property
    def sentences(self) -> Iterator[InputSentence]:
        """Return all sentences; comments after the last sentence of a table are left out."""
        return (each for each in chain.from_iterable(self.batches) if each.sentence.forms or not each.lines)

    @property
    def unit(self) -> str:
        """Return the name of what the numbers of sentences count."""
        return "line" if self.form in ("tokens", "tagged", "json") else "row" if self.form == "parquet" else "sentence"

    def part(self, number: int, n_parts: int) -> Input:
        """Return one of several parts, which are the whole input if they are put one after the other.

        number: the number of the part, from 1.
        n_parts: the number of parts.

        Raises ClickException if the number of sentences is not known before they are read.
        """
        if self.length is None:
            raise click.ClickException(
                "--shard needs FILE, whose sentences are counted first; a pipe cannot be divided"
            )
        first = self.length * (number - 1) // n_parts
        end = self.length * number // n_parts
        # comments after the last sentence of a table, which are not counted, belong to the last part
        chosen = range(first, end if number < n_parts else sys.maxsize)
        places = count()
        batches = ((each for each in batch if next(places) in chosen) for batch in self.batches)
        return self._replace(batches=batches, length=end - first)


def read_sentences(file: str, form: Format | None, tokenisation: Tokenisation, console: Console) -> Input:
    """Read sentences: a pipe as they come, a regular file after a first pass that checks all of it.

    file: the name of a file, or `-` for standard input.
    form: the format; None for the one that `sniff_format` tells.
    tokenisation: the way to divide raw text, by which also text that should be tokenised, and is not, is recognised.
    console: prints what is awaited on a terminal, that an input is empty, and a warning for text that is not tokenised.

    Raises CorpusError, which names the line, for text that is not UTF-8 or breaks the rules of its format.

    >>> import tempfile
    >>> from spectral_latent.tokenisation import Tokenisation
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "two.txt")
    ...     _ = path.write_text("Dogs/NNS bark/VBP\\n\\nYes/UH\\n")
    ...     given = read_sentences(str(path), None, Tokenisation(frozenset()), Console(quiet=True))
    ...     [(each.words, each.sentence.xpos, each.number) for each in given.sentences]
    [(['Dogs', 'bark'], ('NNS', 'VBP'), 1), ([], (), 2), (['Yes'], ('UH',), 3)]
    """
    if file == "-" or not Path(file).is_file():
        _say_what_is_awaited(file, _AWAITED.get(form, _AWAITED[None]), console)
        return _opened(file, form, tokenisation, console)
    checked = _opened(file, form, tokenisation, Console(quiet=True))
    length = sum(1 for _ in checked.sentences)
    if not length:
        console.message(f"{file}: no sentences")
    return _opened(file, checked.form, tokenisation, console)._replace(length=length)


def _opened(file: str, form: Format | None, tokenisation: Tokenisation, console: Console) -> Input:
    """Begin to read a file, as far as its format asks for."""
    from spectral_latent.corpora import sniff_format
    from spectral_latent.corpora.rows import is_parquet, parse_json_rows
    from spectral_latent.corpora.text import decode, utf8_chunks

    source = _source(file)
    if form == "parquet" or (form is None and Path(file).is_file() and is_parquet(file)):
        return Input("parquet", iter([_sentences_of_rows(_parquet_rows(file), tokenisation)]))
    chunks = utf8_chunks(_chunks(file), source)
    begun = bytearray()
    if form is None:
        line = _read_first_line(chunks, begun)
        form = sniff_format(file, decode(line, source))
        if form == "parquet":
            raise click.ClickException(f"{source}: not Parquet, as its name says; give --format")
        if not line.strip():
            console.message(f"{source}: no sentences")
    chunks = chain([bytes(begun)], chunks)
    if form == "brackets":
        return Input(form, iter([_sentences_of_trees(chunks, source)]))
    pieces = (_numbered_lines(piece, source, first) for first, piece in _pieces(chunks, _SENTENCE_ENDS[form]))
    if form == "tokens":
        check = _RawTextCheck(tokenisation, console)
        return Input(form, (_sentences_of_lines(lines, check) for lines in pieces))
    if form == "tagged":
        return Input(form, (_sentences_of_tagged_lines(lines, source) for lines in pieces))
    if form == "json":
        return Input(form, (_sentences_of_rows(parse_json_rows(lines, source), tokenisation) for lines in pieces))
    numbers = count(1)
    if form == "text":
        return Input(form, (_sentences_of_text(lines, tokenisation, numbers) for lines in pieces))
    return Input(form, (_sentences_of_table(lines, source, form == "malt-tab", numbers) for lines in pieces))


def _chunks(file: str) -> Iterator[bytes]:
    """Read a file in parts, those of a pipe as they come."""
    with click.open_file(file, "rb") as stream:
        while chunk := stream.read1(_CHUNK):  # type: ignore[attr-defined]
            yield chunk


def _read_first_line(chunks: Iterator[bytes], begun: bytearray) -> bytes:
    """Read a text as far as its first line that shows the format, and return it with the lines before it.

    chunks: parts of the text.
    begun: is extended by the parts that are read.
    """
    start = 0  # of the lines that have not been searched
    for chunk in chunks:
        begun += chunk
        if b"\n" in chunk:
            if line := _FIRST_LINE.search(begun, start):
                return bytes(begun[: line.end()])
            start = begun.rindex(b"\n") + 1
    return bytes(begun)


def _pieces(chunks: Iterable[bytes], end: re.Pattern[bytes]) -> Iterator[tuple[int, bytes]]:
    """Join parts of a text into pieces of whole sentences, each with the number of its first line."""
    first = 1
    rest = bytearray()
    start = 0  # of the lines that may begin a match
    for chunk in chunks:
        rest += chunk
        if b"\n" not in chunk:
            continue
        whole = rest.rindex(b"\n") + 1
        at = max((match.end() for match in end.finditer(rest, start)), default=0)
        # a match of several lines begins with a word; any other line that is whole has been searched
        start = max((line.start() for line in _WORD_LINE.finditer(rest, max(at, start), whole)), default=whole) - at
        if at:
            yield first, bytes(rest[:at])
            first += rest.count(b"\n", 0, at)
            del rest[:at]
    if rest:
        yield first, bytes(rest)


def _numbered_lines(piece: bytes, source: str, first: int) -> Iterator[_Line]:
    """Decode the lines of a piece one by one, so that an error comes after the lines before it."""
    from spectral_latent.corpora.text import decode

    return ((number, decode(line, source, number)) for number, line in enumerate(BytesIO(piece), start=first))


class _RawTextCheck:
    """Warning of the first line that plainly is not tokenised."""

    def __init__(self, tokenisation: Tokenisation, console: Console) -> None:
        self._tokenisation = tokenisation
        self._console = console
        self._has_warned = False

    def look_at(self, words: Sequence[str], number: int) -> None:
        """Warn of a line unless there was a warning before.

        words: the parts of the line between spaces.
        number: the number of the line.
        """
        if not self._has_warned and self._tokenisation.is_raw(words):
            self._has_warned = True
            self._console.message(
                f"Warning: line {number} has no spaces between words and marks, as tokenised text has; for raw text, "
                f"give --text"
            )


def _sentences_of_lines(lines: Iterable[_Line], check: _RawTextCheck) -> Iterator[InputSentence]:
    """Read a sentence from each line."""
    from spectral_latent.corpora import plain_sentences
    from spectral_latent.dependency import DependencySentence

    for number, line in lines:
        (words,) = plain_sentences([line])
        check.look_at(words, number)
        yield InputSentence(DependencySentence.of(words), number)


def _sentences_of_tagged_lines(lines: Iterable[_Line], source: str) -> Iterator[InputSentence]:
    """Read a sentence of words with tags from each line."""
    from spectral_latent.corpora import parse_tagged
    from spectral_latent.dependency import DependencySentence

    for number, line in lines:
        pairs = next(parse_tagged(line, source, number)) if line.strip(whitespace) else []
        yield InputSentence(DependencySentence.of([word for word, _ in pairs], [tag for _, tag in pairs]), number)


def _sentences_of_text(
    lines: Iterable[_Line], tokenisation: Tokenisation, numbers: Iterator[int]
) -> Iterator[InputSentence]:
    """Divide raw text into sentences and words."""
    from spectral_latent.dependency import DependencySentence

    text = "".join(line for _, line in lines)
    for tokens in tokenisation.sentences(text):
        words = [token.word for token in tokens]
        yield InputSentence(DependencySentence.of(words), next(numbers), tokens=tuple(tokens))


def _parquet_rows(file: str) -> Iterator[tuple[int, Row]]:
    """Read the rows of a Parquet file, which cannot be read from a pipe."""
    from spectral_latent.corpora.rows import read_parquet

    if file == "-" or (Path(file).exists() and not Path(file).is_file()):
        raise click.ClickException(f"{_source(file)}: Parquet is read from files, and not from pipes; name a file")
    return read_parquet(file)


def _sentences_of_rows(rows: Iterable[tuple[int, Row]], tokenisation: Tokenisation) -> Iterator[InputSentence]:
    """Read a sentence from each row of words, and all sentences of each row of raw text."""
    from spectral_latent.dependency import DependencySentence

    for number, row in rows:
        name = row.name or str(number)
        if row.words is not None:
            yield InputSentence(DependencySentence.of(row.words, row.tags), number, name=name)
            continue
        for place, tokens in enumerate(tokenisation.sentences(row.text or ""), start=1):
            words = [token.word for token in tokens]
            yield InputSentence(DependencySentence.of(words), number, tokens=tuple(tokens), name=f"{name}.{place}")


def _sentences_of_trees(chunks: Iterable[bytes], source: str) -> Iterator[InputSentence]:
    """Read the words and tags of bracketed trees, traces left out."""
    from spectral_latent.constituency import clean
    from spectral_latent.corpora import parse_brackets
    from spectral_latent.corpora.text import decode
    from spectral_latent.dependency import DependencySentence

    text = decode(b"".join(chunks), source)
    trees = parse_brackets(text, source) if text.strip() else iter(())
    for number, tree in enumerate(filter(None, map(clean, trees)), start=1):
        tags = [leaf.label for leaf in _preterminals(tree)]
        yield InputSentence(DependencySentence.of(list(tree.words()), tags), number)


def _preterminals(tree: Phrase) -> Iterator[Phrase]:
    """List the nodes of a tree that are tags over a word."""
    return (node for node in tree.nodes() if not isinstance(node, str) and node.is_preterminal())


def _sentences_of_table(
    lines: Iterable[_Line], source: str, is_malt_tab: bool, numbers: Iterator[int]
) -> Iterator[InputSentence]:
    """Read a sentence from each block of lines; lines after the last one make a sentence without words."""
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


def _blocks(lines: Iterable[_Line]) -> Iterator[list[_Line]]:
    """Divide lines after each empty line that comes after words."""
    block: list[_Line] = []
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


def _source(file: str) -> str:
    """Return the name of an input for messages."""
    return "standard input" if file == "-" else file
