"""Constituency treebanks by name: a file, a folder, or a corpus of NLTK."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

from spectral_latent.constituency.cleaning import has_words
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.corpora._folders import files_beneath
from spectral_latent.corpora._nltk import items_of_corpus
from spectral_latent.corpora.alpino import parse_alpino
from spectral_latent.corpora.brackets import parse_brackets, read_brackets
from spectral_latent.corpora.formats import ENDINGS
from spectral_latent.corpora.nltk_trees import phrase_from_nltk
from spectral_latent.corpora.text import CorpusError

__all__ = ["constituency_trees"]

_ONE_CHARACTER = re.compile(r"\(([^\s()])\)")
_UNLABELLED = re.compile(r"(?=\(\s*\()")
_WITH_LEMMA = re.compile(r"\(([^\s()]+) ([^\s()]+) [^\s()]+\)")


def constituency_trees(source: str | os.PathLike[str]) -> Iterator[Phrase]:
    """The trees of a treebank.

    `source` is one of

    - a file in Penn Treebank brackets;
    - a folder: all files beneath it, in sorted order, that end in .mrg, .parse, .psd, .ptb, .tree or .trees and are
      not hidden;
    - `nltk:NAME`, a corpus of NLTK that has `parsed_sents`, or a part of it: `nltk:NAME:train`, `:dev`, `:test`.
      With n the place of a file among the sorted file names, or that of a sentence if there is one file, counted
      from 1, n mod 10 = 9 is test, 8 is dev, and the rest is train.

    Raises `CorpusError` for a source that does not exist and for trees that break the rules of `parse_brackets`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("b.mrg", "a.mrg", ".hidden.mrg", "notes.txt"):
    ...         _ = Path(folder, name).write_text(f"(X (Y {name}))")
    ...     for tree in constituency_trees(folder):
    ...         print(tree.bracketed())
    (X (Y a.mrg))
    (X (Y b.mrg))
    """
    name = os.fspath(source)
    if name.startswith("nltk:"):
        return items_of_corpus(name, "parsed_sents", "treebank", _trees_of_file)
    path = Path(name)
    if not path.is_dir():
        return read_brackets(path)
    return chain.from_iterable(map(read_brackets, files_beneath(path, "treebank", ENDINGS["brackets"])))


def _trees_of_file(reader: Any, corpus: str, file: str) -> Iterable[Phrase]:
    """The trees of one file of an NLTK corpus.

    Plain brackets are read by `parse_brackets`: faster than by NLTK, which also cuts a tree in two where one of its
    lines is not indented.  Other brackets, such as those with comments, are left to NLTK.
    """
    from nltk.corpus.reader import (
        AlpinoCorpusReader,
        BracketParseCorpusReader,
        CategorizedBracketParseCorpusReader,
    )

    where = f"nltk:{corpus}, file {file}"
    if type(reader) is AlpinoCorpusReader:
        return parse_alpino(reader.raw(file), where)
    if type(reader) in (BracketParseCorpusReader, CategorizedBracketParseCorpusReader):
        text = _one_word_per_tag(reader.raw(file))
        with suppress(CorpusError):
            return list(parse_brackets(text))
        with suppress(CorpusError):
            trees = list(parse_brackets(_balanced(text)))
            warnings.warn(f"{where}: brackets that do not match were mended at the end of their tree", stacklevel=2)
            return trees
    return _from_nltk(reader, file, where)


def _one_word_per_tag(text: str) -> str:
    """The text with (,) and (tag word lemma) written as (, ,) and (tag word), as NLTK's bracket readers take them."""
    return _WITH_LEMMA.sub(r"(\1 \2)", _ONE_CHARACTER.sub(r"(\1 \1)", text))


def _balanced(text: str) -> str:
    """The text with closing brackets added or removed at the end of each tree, where a tree opens with `( (`."""
    before, *trees = _UNLABELLED.split(text)
    if before.strip():
        return text
    surplus = [tree.count(")") - tree.count("(") for tree in trees]
    return "".join(
        tree[::-1].replace(")", "", extra)[::-1] if extra > 0 else tree + ")" * -extra
        for tree, extra in zip(trees, surplus, strict=True)
    )


def _from_nltk(reader: Any, file: str, where: str) -> Iterator[Phrase]:
    number = 1
    try:
        for tree in reader.parsed_sents(file):
            phrase = phrase_from_nltk(tree)
            if not has_words(phrase):
                raise ValueError("the tree has no words; remove it")
            yield phrase
            number += 1
    except (TypeError, ValueError) as error:
        raise CorpusError(f"{where}, sentence {number}: {error}") from error
