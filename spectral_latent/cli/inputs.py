"""What commands read: treebanks, tagged sentences, and text from files or standard input."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

if TYPE_CHECKING:
    from spectral_latent.constituency import Phrase
    from spectral_latent.evaluation import GoldTree

__all__ = [
    "SOURCES",
    "TAGGED_SOURCES",
    "TEXT_SOURCES",
    "Piece",
    "column_option",
    "gold_trees",
    "numbered_lines",
    "pieces",
    "sentences",
    "tagged",
    "text_of",
    "treebank",
    "trees_of",
    "universal",
    "untagged",
]

SOURCES = """\b
SOURCE of trees is one of
  a file of trees in Penn Treebank brackets,
  a folder of files named *.mrg, *.parse, *.psd, *.ptb, *.tree or *.trees,
  nltk:NAME, a treebank of NLTK, or a part of it, nltk:NAME:train, :dev or :test."""
TAGGED_SOURCES = """\b
SOURCE of tagged sentences is one of
  a file in CoNLL-U, CoNLL-X or Malt-TAB, named *.conllu, *.conll, *.conllx, *.dp or *.tab,
  any other file: one sentence a line, as in the/DT dog/NN,
  a folder of files with such names, or named *.pos or *.tagged,
  nltk:NAME, a tagged corpus of NLTK, or a part of it, nltk:NAME:train, :dev or :test."""
TEXT_SOURCES = """\b
SOURCE of sentences is one of
  a file in CoNLL-U, CoNLL-X or Malt-TAB, named *.conllu, *.conll, *.conllx, *.dp or *.tab,
  any other file: one tokenised sentence a line; tags as in the/DT dog/NN are left out,
  a folder of files with such names, or named *.pos or *.tagged; or, without these, *.tok or *.txt,
  nltk:NAME, a corpus of NLTK, or a part of it, nltk:NAME:train, :dev or :test."""
_CHUNK = 1 << 16  # bytes

_Command = TypeVar("_Command", bound=Callable[..., Any])


def column_option(command: _Command) -> _Command:
    """The option `--column`."""
    return click.option(
        "--column",
        type=click.Choice(["upos", "xpos", "universal"]),
        help="Which tags: the column upos or xpos of CoNLL-U; universal for what NLTK makes of a corpus's own tags.",
    )(command)


def treebank(sources: Iterable[str]) -> Iterator[Phrase]:
    """Read the trees of the sources, one after the other.  Raises CorpusError at what is not a tree with words.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "two.mrg")
    ...     _ = file.write_text("(NNS dogs) (NNS cats)")
    ...     [tree.bracketed() for tree in treebank([str(file), folder])]
    ['(NNS dogs)', '(NNS cats)', '(NNS dogs)', '(NNS cats)']
    """
    from spectral_latent.corpora import constituency_trees

    for source in sources:
        yield from constituency_trees(source)


def gold_trees(sources: Iterable[str]) -> Iterator[GoldTree]:
    """Read the trees of the sources, with their words without traces; errors as for `treebank`."""
    from spectral_latent.evaluation import GoldTree

    yield from filter(None, map(GoldTree.of, treebank(sources)))


def tagged(sources: Iterable[str], column: str | None, default: str | None = None) -> Iterator[list[tuple[str, str]]]:
    """The tagged sentences of the sources, one after the other; see `tagged_sentences`, also for CorpusError.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "one.tagged")
    ...     _ = file.write_text("Dogs/NNS bark/VBP")
    ...     list(tagged([str(file)], None))
    [[('Dogs', 'NNS'), ('bark', 'VBP')]]
    """
    from spectral_latent.corpora import tagged_sentences

    for source in sources:
        yield from tagged_sentences(source, column, default)


def untagged(sources: Iterable[str]) -> Iterator[list[str]]:
    """The sentences of the sources without tags, one after the other.  Raises CorpusError as `corpora.sentences` does.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "one.txt")
    ...     _ = file.write_text("Dogs bark")
    ...     list(untagged([str(file)]))
    [['Dogs', 'bark']]
    """
    from spectral_latent.corpora import sentences

    for source in sources:
        yield from sentences(source)


def universal(sources: Iterable[str]) -> Iterator[list[tuple[str, str]]]:
    """Tagged sentences with universal tags, made of UPOS or, by NLTK, of a corpus's own.  Raises CorpusError.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "one.tagged")
    ...     _ = file.write_text("She/PRON is/AUX")
    ...     list(universal([str(file)]))
    [[('She', 'PRON'), ('is', 'VERB')]]
    """
    from spectral_latent.corpora import CorpusError, tagged_sentences, universal_tag

    for source in sources:
        for sentence in tagged_sentences(source, "universal" if source.startswith("nltk:") else None):
            try:
                yield [(word, universal_tag(tag)) for word, tag in sentence]
            except ValueError as error:
                raise CorpusError(f"{source}: {error}") from None


def trees_of(file: str) -> Iterator[Phrase]:
    """The bracketed trees of a file, or of standard input for `-`; errors as for `treebank`.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "one.txt")
    ...     _ = file.write_text("(NNS dogs)")
    ...     [tree.label for tree in trees_of(str(file))]
    ['NNS']
    """
    from spectral_latent.corpora import parse_brackets

    return parse_brackets(*text_of(file))


def text_of(file: str) -> tuple[str, str]:
    """What stands in a file, or in standard input for `-`, and its name; errors as for `sentences`.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "one.txt")
    ...     _ = file.write_text("(NNS dogs)")
    ...     text_of(str(file))[0]
    '(NNS dogs)'
    """
    from spectral_latent.corpora.text import decode

    with click.open_file(file, "rb") as stream:
        return decode(stream.read(), _name(file)), _name(file)


def sentences(file: str) -> Iterator[list[str]]:
    """The tokens of each line of a file, or of standard input for `-`, as they come.

    Raises CorpusError for bytes that are not UTF-8.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "two.txt")
    ...     _ = file.write_text("dogs bark\\n\\n")
    ...     list(sentences(str(file)))
    [['dogs', 'bark'], []]
    """
    from spectral_latent.corpora import plain_sentences

    return plain_sentences(line for _, line in numbered_lines(file))


def numbered_lines(file: str) -> Iterator[tuple[int, str]]:
    """The lines of a file, or of standard input for `-`, as they come; errors as for `sentences`.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "two.txt")
    ...     _ = file.write_text("dogs bark\\n\\n")
    ...     list(numbered_lines(str(file)))
    [(1, 'dogs bark'), (2, '')]
    """
    from spectral_latent.corpora.text import decode

    with click.open_file(file, "rb") as stream:
        for number, line in enumerate(stream, start=1):
            yield number, decode(line, _name(file), number).removesuffix("\n")


class Piece(NamedTuple):
    """A part of a text: where it comes from, the number of its first line, and its lines."""

    source: str
    line: int
    text: str


def pieces(file: str, end: re.Pattern[bytes], check: Callable[[Piece], object] | None = None) -> Iterable[Piece]:
    """A file, or standard input for `-`, in pieces that end where the pattern does; the last may end anywhere.

    What comes through a pipe is there as it comes.  A regular file is read and checked before its pieces are there.
    Raises CorpusError for bytes that are not UTF-8.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "two.txt")
    ...     _ = file.write_text("dogs bark\\n\\nyes")
    ...     [piece.text for piece in pieces(str(file), re.compile(rb"\\n"))]
    ['dogs bark\\n\\n', 'yes']
    """
    from spectral_latent.corpora.text import decode

    if file == "-" or not Path(file).is_file():
        return _pieces(file, end)
    content = Path(file).read_bytes()
    whole = Piece(file, 1, decode(content, file))
    if check is not None:
        check(whole)
    return list(_cut(BytesIO(content), file, end))


def _pieces(file: str, end: re.Pattern[bytes]) -> Iterator[Piece]:
    with click.open_file(file, "rb") as stream:
        yield from _cut(stream, _name(file), end)


def _cut(stream: IO[bytes], source: str, end: re.Pattern[bytes]) -> Iterator[Piece]:
    from spectral_latent.corpora.text import decode

    line = 1
    rest = bytearray()
    begin = 0  # of the last line: a piece ends with a line, so that what is before has been searched
    while chunk := stream.read1(_CHUNK):  # type: ignore[attr-defined]
        rest += chunk
        if b"\n" not in chunk:
            continue
        at = max((match.end() for match in end.finditer(rest, begin)), default=0)
        begin = rest.rindex(b"\n") + 1
        if at:
            yield Piece(source, line, decode(bytes(rest[:at]), source, line))
            line += rest.count(b"\n", 0, at)
            del rest[:at]
            begin -= at
    if rest:
        yield Piece(source, line, decode(bytes(rest), source, line))


def _name(file: str) -> str:
    return "standard input" if file == "-" else file
