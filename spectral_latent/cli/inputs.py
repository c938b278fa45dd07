"""Read sentences and trees from FILE, or from standard input."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from spectral_latent.cli.console import Console
from spectral_latent.cli.sentences import (
    InputSentence,
    NumberedLine,
    RawTextCheck,
    sentences_of_lines,
    sentences_of_rows,
    sentences_of_table,
    sentences_of_tagged_lines,
    sentences_of_text,
    sentences_of_trees,
)

if TYPE_CHECKING:
    from spectral_latent.corpora import Format
    from spectral_latent.tokenisation import Tokenisation

__all__ = [
    "FORMATS",
    "Input",
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
    "tokens",
    "text",
)  # the formats of `corpora`, which is not imported, so that help is quick

_Command = TypeVar("_Command", bound=Callable[..., Any])


def format_options(command: _Command) -> _Command:
    """Add the options for the format of FILE to a command, which gets the format as its argument `form`.

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
    "tokens": "tokenised sentences",
}
_USES: dict[Format, str] = {
    "brackets": "constituency parsers (`train constituency`)",
    "conllu": "dependency parsers (`train dependency`) and taggers (`train tagger`)",
    "malt-tab": "dependency parsers (`train dependency`) and taggers (`train tagger`)",
    "tagged": "taggers (`train tagger`)",
    "json": "`parse` and `tag`",
}
_CHUNK = 1 << 16  # the number of bytes that are read at once
_FIRST_LINE = re.compile(rb"^(?!(?:\xef\xbb\xbf)?#)[^\S\n]*\S[^\n]*\n", re.MULTILINE)  # the line that shows the format
_LINE_ENDS = re.compile(rb"\n")
_SENTENCE_ENDS: dict[Format, re.Pattern[bytes]] = {
    "tokens": _LINE_ENDS,
    "tagged": _LINE_ENDS,
    "json": _LINE_ENDS,
    "text": re.compile(rb"^[ \t]*\r?\n", re.MULTILINE),
    "malt-tab": re.compile(rb"^ *\r?\n", re.MULTILINE),
    # A sentence ends with the line of a word, comments, and an empty line.
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


def refuse_format(source: str, found: Format, *needed: Format) -> None:
    """Raise ClickException for a format that is not among the needed formats, unless it is lines of tokens.

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
    console: tells the user of a terminal what to type.
    needed: the formats that the file may have; any format if none is given.

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


class Input(NamedTuple):
    """The sentences of an input.

    form: the format of the input.
    batches: the sentences in batches; a batch of a pipe has the sentences that came together.
    length: the number of sentences; None if the input is a pipe.
    """

    form: Format
    batches: Iterator[Iterable[InputSentence]]
    length: int | None = None

    @property
    def sentences(self) -> Iterator[InputSentence]:
        """Return all sentences; comments after the last sentence of a table are left out."""
        return (each for each in chain.from_iterable(self.batches) if each.is_whole)

    @property
    def unit(self) -> str:
        """The name of the unit that the numbers of sentences count."""
        return "line" if self.form in ("tokens", "tagged", "json") else "sentence"


def read_sentences(file: str, form: Format | None, tokenisation: Tokenisation, console: Console) -> Input:
    """Read the sentences of a pipe as they come, or of a file after a first pass, which checks the whole file.

    file: the name of a file, or `-` for standard input.
    form: the format of the input; None for the format that `sniff_format` tells.
    tokenisation: the way to divide raw text; it also recognises raw text among lines that should be tokenised.
    console: tells the user of a terminal what to type, that an input is empty, and that text is not tokenised.

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
    """Open a file, and read as much as is needed to tell its format."""
    from spectral_latent.corpora import sniff_format
    from spectral_latent.corpora.rows import parse_json_rows
    from spectral_latent.corpora.text import decode, utf8_chunks

    source = _source(file)
    chunks = utf8_chunks(_chunks(file), source)
    begun = bytearray()
    if form is None:
        line = _read_first_line(chunks, begun)
        form = sniff_format(file, decode(line, source))
        if not line.strip():
            console.message(f"{source}: no sentences")
    chunks = chain([bytes(begun)], chunks)
    if form == "brackets":
        return Input(form, iter([sentences_of_trees(chunks, source)]))
    pieces = (_numbered_lines(piece, source, first) for first, piece in _pieces(chunks, _SENTENCE_ENDS[form]))
    if form == "tokens":
        check = RawTextCheck(tokenisation, console)
        return Input(form, (sentences_of_lines(lines, check) for lines in pieces))
    if form == "tagged":
        return Input(form, (sentences_of_tagged_lines(lines, source) for lines in pieces))
    if form == "json":
        return Input(form, (sentences_of_rows(parse_json_rows(lines, source), tokenisation) for lines in pieces))
    numbers = count(1)
    if form == "text":
        return Input(form, (sentences_of_text(lines, tokenisation, numbers) for lines in pieces))
    return Input(form, (sentences_of_table(lines, source, form == "malt-tab", numbers) for lines in pieces))


def _chunks(file: str) -> Iterator[bytes]:
    """Read a file in parts; the parts of a pipe are read as they come."""
    with click.open_file(file, "rb") as stream:
        while chunk := stream.read1(_CHUNK):  # type: ignore[attr-defined]
            yield chunk


def _read_first_line(chunks: Iterator[bytes], begun: bytearray) -> bytes:
    """Read a text as far as its first line that shows the format, and return it with the lines before it.

    chunks: parts of the text.
    begun: the parts that are read; the function appends to it.
    """
    start = 0  # the beginning of the lines that have not been searched
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
    start = 0  # the beginning of the lines in which a match may begin
    for chunk in chunks:
        rest += chunk
        if b"\n" not in chunk:
            continue
        whole = rest.rindex(b"\n") + 1
        at = max((match.end() for match in end.finditer(rest, start)), default=0)
        # A match of several lines begins with the line of a word.  All other complete lines have been searched.
        start = max((line.start() for line in _WORD_LINE.finditer(rest, max(at, start), whole)), default=whole) - at
        if at:
            yield first, bytes(rest[:at])
            first += rest.count(b"\n", 0, at)
            del rest[:at]
    if rest:
        yield first, bytes(rest)


def _numbered_lines(piece: bytes, source: str, first: int) -> Iterator[NumberedLine]:
    """Decode the lines of a piece one by one, so that the lines before an error are returned first."""
    from spectral_latent.corpora.text import decode

    return ((number, decode(line, source, number)) for number, line in enumerate(BytesIO(piece), start=first))


def _source(file: str) -> str:
    """Return the name of an input for messages."""
    return "standard input" if file == "-" else file
