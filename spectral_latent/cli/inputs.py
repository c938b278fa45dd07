"""What commands read: treebanks, and text from files or standard input."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from spectral_latent.constituency import Phrase

__all__ = ["SOURCES", "sentences", "treebank", "trees_of"]

SOURCES = """\b
SOURCE is one of
  a file of trees in Penn Treebank brackets,
  a folder of files named *.mrg, *.parse, *.psd, *.ptb, *.tree or *.trees,
  nltk:NAME, a treebank of NLTK, or a part of it, nltk:NAME:train, :dev or :test."""

_TOKEN = re.compile(r"\S+", re.ASCII)  # as in bracketed trees, a no-break space belongs to its word


def treebank(sources: Iterable[str]) -> Iterator[Phrase]:
    """The trees of the sources, one after the other.  Raises CorpusError at what is not a tree with words.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "two.mrg")
    ...     _ = file.write_text("(NNS dogs) (NNS cats)")
    ...     [tree.bracketed() for tree in treebank([str(file), folder])]
    ['(NNS dogs)', '(NNS cats)', '(NNS dogs)', '(NNS cats)']
    """
    from spectral_latent.corpora import constituency_trees

    for source in sources:
        yield from _with_words(constituency_trees(source), source)


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
    from spectral_latent.corpora.text import decode

    with click.open_file(file, "rb") as stream:
        text = decode(stream.read(), _name(file))
    return _with_words(parse_brackets(text, _name(file)), _name(file))


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
    from spectral_latent.corpora.text import decode

    with click.open_file(file, "rb") as stream:
        for number, line in enumerate(stream, start=1):
            yield _TOKEN.findall(decode(line, _name(file), number))


def _name(file: str) -> str:
    return "standard input" if file == "-" else file


def _with_words(trees: Iterable[Phrase], source: str) -> Iterator[Phrase]:
    from spectral_latent.constituency import clean
    from spectral_latent.corpora import CorpusError

    for number, tree in enumerate(trees, start=1):
        if clean(tree) is None:
            raise CorpusError(f"{source}, tree {number}: no words in {tree.bracketed():.80}; remove the tree")
        yield tree
