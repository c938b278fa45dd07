"""Read corpora from each SOURCE: a file, a folder, or a corpus of NLTK."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from spectral_latent.cli.inputs import refuse_format

if TYPE_CHECKING:
    from spectral_latent.constituency import Changes, Phrase
    from spectral_latent.corpora import Format
    from spectral_latent.corpora.sources import Entry
    from spectral_latent.evaluation import GoldTree

__all__ = [
    "DEPENDENCY_SOURCES",
    "SOURCES",
    "TAGGED_SOURCES",
    "TEXT_SOURCES",
    "dependency_entries",
    "gold_trees",
    "tagged",
    "treebank",
    "universal",
    "untagged",
]

SOURCES = """\b
SOURCE of trees is one of
  a file of trees in Penn Treebank brackets,
  a folder of files named *.mrg, *.parse, *.psd, *.ptb, *.tree or *.trees,
  nltk:NAME, a treebank of NLTK, or a part of it, nltk:NAME:train, :dev or :test."""
DEPENDENCY_SOURCES = """\b
SOURCE of dependency trees is one of
  a file in CoNLL-U, CoNLL-X or Malt-TAB,
  a folder of files named *.conllu, *.conll, *.conllx, *.dp or *.tab,
  nltk:NAME, a dependency treebank of NLTK, or a part of it, nltk:NAME:train, :dev or :test."""
TAGGED_SOURCES = """\b
SOURCE of tagged sentences is one of
  a file in CoNLL-U, CoNLL-X or Malt-TAB, or with one sentence a line, as in the/DT dog/NN,
  a folder of files named *.conllu, *.conll, *.conllx, *.dp, *.tab, *.pos or *.tagged,
  nltk:NAME, a tagged corpus of NLTK, or a part of it, nltk:NAME:train, :dev or :test."""
TEXT_SOURCES = """\b
SOURCE of sentences is one of
  a file in CoNLL-U, CoNLL-X or Malt-TAB, or with one tokenised sentence a line, with tags or without,
  a folder of files named *.conllu, *.conll, *.conllx, *.dp, *.tab, *.pos or *.tagged, or else *.tok or *.txt,
  nltk:NAME, a corpus of NLTK, or a part of it, nltk:NAME:train, :dev or :test."""
_T = TypeVar("_T")
_BEGINNING = 1 << 16  # the number of bytes that are read to tell the format of a file


def treebank(sources: Iterable[str], changes: Changes | None = None) -> Iterator[Phrase]:
    """Read the trees of sources, one source after the other.

    sources: the sources that the command line names; see `SOURCES`.
    changes: the counts to add to; None to count nothing.

    Raises CorpusError for anything but trees with words, and ClickException for a file in another format.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "two.mrg")
    ...     _ = file.write_text("(NNS dogs) (NNS cats)")
    ...     [tree.bracketed() for tree in treebank([str(file), folder])]
    ['(NNS dogs)', '(NNS cats)', '(NNS dogs)', '(NNS cats)']
    """
    from spectral_latent.corpora import constituency_trees

    return _read(sources, partial(constituency_trees, changes=changes), "brackets")


def gold_trees(sources: Iterable[str], changes: Changes | None = None) -> Iterator[GoldTree]:
    """Read the trees of sources, and their words without traces; errors are as for `treebank`.

    sources: the sources that the command line names; see `SOURCES`.
    changes: the counts to add to; None to count nothing.
    """
    from spectral_latent.evaluation import GoldTree

    yield from filter(None, (GoldTree.of(tree, changes) for tree in treebank(sources, changes)))


def dependency_entries(sources: Iterable[str], changes: Changes | None = None) -> Iterator[Entry]:
    """Read the dependency trees of sources, one source after the other.

    sources: the sources that the command line names; see `DEPENDENCY_SOURCES`.
    changes: the counts to add to; None to count nothing.

    Raises CorpusError as `corpora.dependency_trees`, and ClickException for a file in another format.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "one.dp")
    ...     _ = file.write_text("dogs\\tNNS\\t0\\n")
    ...     [entry.sentence.heads for entry in dependency_entries([str(file)])]
    [(0,)]
    """
    from spectral_latent.corpora.sources import tree_entries

    return _read(sources, partial(tree_entries, changes=changes), "conllu", "malt-tab")


def tagged(
    sources: Iterable[str], column: str | None, default: str | None = None, changes: Changes | None = None
) -> Iterator[list[tuple[str, str]]]:
    """Read the tagged sentences of sources, one source after the other.

    sources: the sources that the command line names; see `TAGGED_SOURCES`.
    column: the column with the tags; None for the default.
    default: the column of sources that have it; None for upos.
    changes: the counts to add to; None to count nothing.

    Raises CorpusError as `corpora.tagged_sentences`, and ClickException for a file in another format.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "one.tagged")
    ...     _ = file.write_text("Dogs/NNS bark/VBP")
    ...     list(tagged([str(file)], None))
    [[('Dogs', 'NNS'), ('bark', 'VBP')]]
    """
    from spectral_latent.corpora import tagged_sentences

    read = partial(tagged_sentences, column=column, default=default, changes=changes)
    return _read(sources, read, "tagged", "conllu", "malt-tab")


def untagged(sources: Iterable[str], changes: Changes | None = None) -> Iterator[list[str]]:
    """Read the sentences of sources without their tags, one source after the other.

    sources: the sources that the command line names; see `TEXT_SOURCES`.
    changes: the counts to add to; None to count nothing.

    Raises CorpusError as `corpora.sentences`, and ClickException for a file in another format.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "one.txt")
    ...     _ = file.write_text("Dogs bark")
    ...     list(untagged([str(file)]))
    [['Dogs', 'bark']]
    """
    from spectral_latent.corpora import sentences

    return _read(sources, partial(sentences, changes=changes), "tokens", "tagged", "conllu", "malt-tab")


def universal(sources: Iterable[str], changes: Changes | None = None) -> Iterator[list[tuple[str, str]]]:
    """Read sentences with universal tags, which are made of UPOS tags, or by NLTK of the tags of a corpus.

    sources: the sources that the command line names; see `TAGGED_SOURCES`.
    changes: the counts to add to; None to count nothing.

    Raises CorpusError as `tagged`, and for a tag that is neither a UPOS tag nor a universal one.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "one.tagged")
    ...     _ = file.write_text("She/PRON is/AUX")
    ...     list(universal([str(file)]))
    [[('She', 'PRON'), ('is', 'VERB')]]
    """
    from spectral_latent.corpora import CorpusError, universal_tag

    for source in sources:
        column = "universal" if source.startswith("nltk:") else None
        for sentence in tagged([source], column, changes=changes):
            try:
                yield [(word, universal_tag(tag)) for word, tag in sentence]
            except ValueError as error:
                raise CorpusError(f"{source}: {error}") from None


def _read(sources: Iterable[str], read: Callable[[str], Iterable[_T]], *needed: Format) -> Iterator[_T]:
    """Read sources one after the other.  Raises ClickException for a file that has none of the needed formats."""
    for source in sources:
        _check_format(source, *needed)
        yield from read(source)


def _check_format(source: str, *needed: Format) -> None:
    """Raise ClickException if a source is a file that has none of the needed formats.

    needed: the formats that can be read, the usual one first.
    """
    from spectral_latent.corpora import sniff_format
    from spectral_latent.corpora.text import utf8_chunks

    path = Path(source)
    if path.is_file():
        with path.open("rb") as file:
            chunks = iter(partial(file.read, _BEGINNING), b"")
            beginning = next(utf8_chunks(chunks, source), b"").decode("utf-8", errors="replace")
        refuse_format(source, sniff_format(source, beginning), *needed)
