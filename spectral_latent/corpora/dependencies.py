"""Dependency treebanks by name, and sentences to be parsed: a file, a folder, or a corpus of NLTK."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from spectral_latent.corpora._folders import files_beneath
from spectral_latent.corpora._nltk import items_of_corpus
from spectral_latent.corpora.conllu import parse_tab_with_lines, parse_with_lines
from spectral_latent.corpora.tagged import sentences, tagged_sentences
from spectral_latent.corpora.text import CorpusError, read_text
from spectral_latent.dependency import DependencySentence

__all__ = ["annotated_sentences", "dependency_trees"]

_T = TypeVar("_T")
_TAB = (".dp", ".tab")
_TABLES = (".conllu", ".conll", ".conllx", *_TAB)


def dependency_trees(source: str | os.PathLike[str]) -> Iterator[DependencySentence]:
    """The sentences of a dependency treebank.

    `source` is one of

    - a file in CoNLL-U, CoNLL-X or Malt-TAB; it is taken for the last if it is named *.dp or *.tab, or if the first
      line that does not begin with # has three or four columns;
    - a folder: all files beneath it, in sorted order, that end in .conllu, .conll, .conllx, .dp or .tab and are not
      hidden;
    - `nltk:NAME`, a dependency treebank of NLTK, or a part of it: `nltk:NAME:train`, `:dev`, `:test`.  With n the
      place of a file among the sorted file names, or that of a sentence if there is one file, counted from 1,
      n mod 10 = 9 is test, 8 is dev, and the rest is train.

    Several words may have the head 0, as in many treebanks in CoNLL-X; `DependencySentence.roots` tells which.

    Raises `CorpusError`, which names source, sentence and line, for a sentence without heads, or with a word from
    which they do not lead to the root; also for a source that does not exist, and for what breaks the rules of
    `parse_conllu`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "one.dp")
    ...     _ = file.write_text("Dogs\\tNNS\\t2\\nbark\\tVBP\\t0\\n")
    ...     [sentence.heads for sentence in dependency_trees(file)]
    [(2, 0)]
    """
    return map(_tree, _entries(os.fspath(source)))


def annotated_sentences(source: str | os.PathLike[str]) -> Iterator[DependencySentence]:
    """The sentences of a source with what is annotated of them, for a parser's input.

    `source` is one that `dependency_trees` takes, but heads may be missing and need not be a tree; or one that
    `tagged_sentences` or `sentences` takes.  Files are told apart by how their names end, as in a folder.

    Raises `CorpusError` as those do.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "two.txt")
    ...     _ = file.write_text("Dogs/NNS bark/VBP\\nYes/UH\\n")
    ...     [(sentence.forms, sentence.xpos, sentence.heads) for sentence in annotated_sentences(file)]
    [(('Dogs', 'bark'), ('NNS', 'VBP'), None), (('Yes',), ('UH',), None)]
    """
    name = os.fspath(source)
    path = Path(name)
    if name.startswith("nltk:"):
        with suppress(CorpusError):
            return _sentences(_begun(_entries(name)))
    elif path.is_dir():
        with suppress(CorpusError):
            return _sentences(_entries(name))
    elif path.suffix.lower() in _TABLES:
        return _sentences(_entries(name))
    try:
        tagged = _begun(tagged_sentences(name))
    except CorpusError:
        return map(DependencySentence.of, sentences(name))
    return (DependencySentence.of([word for word, _ in pairs], [tag for _, tag in pairs]) for pairs in tagged)


class _Entry(NamedTuple):
    """A sentence, the source that it is from, its number there, and the lines of its words."""

    sentence: DependencySentence
    source: str
    number: int
    lines: Sequence[int]


def _entries(name: str) -> Iterator[_Entry]:
    if name.startswith("nltk:"):
        return items_of_corpus(
            name, "parsed_sents", "dependency treebank", _entries_of_nltk, example="dependency_treebank"
        )
    path = Path(name)
    if not path.is_dir():
        return _entries_of_file(path)
    return chain.from_iterable(map(_entries_of_file, files_beneath(path, "dependency treebank", _TABLES)))


def _entries_of_file(path: Path) -> Iterator[_Entry]:
    return _entries_of_text(read_text(path), os.fspath(path))


def _entries_of_nltk(reader: Any, corpus: str, file: str) -> Iterator[_Entry]:
    from nltk.corpus.reader import DependencyCorpusReader

    if not isinstance(reader, DependencyCorpusReader):
        raise CorpusError(f"nltk:{corpus}: no dependency treebank; give one such as nltk:dependency_treebank")
    return _entries_of_text(reader.raw(file), f"nltk:{corpus}, file {file}")


def _entries_of_text(text: str, source: str) -> Iterator[_Entry]:
    first = next((line for line in text.split("\n") if line.strip() and not line.startswith("#")), "")
    is_tab = source.lower().endswith(_TAB) or first.count("\t") in (2, 3)
    parsed = (parse_tab_with_lines if is_tab else parse_with_lines)(text, source)
    return (_Entry(sentence, source, number, lines) for number, (sentence, lines) in enumerate(parsed, start=1))


def _tree(entry: _Entry) -> DependencySentence:
    """The sentence, if it is a tree."""
    sentence = entry.sentence
    if sentence.is_tree():
        return sentence
    cycle = sentence.cycle() or (1,)
    if sentence.heads is None:
        problem = "no word has a HEAD; give one to each, or leave the sentence out"
    elif not sentence.roots:
        problem = "no word has the HEAD 0; give it to the root"
    else:
        words = " to ".join(f"{word} {sentence.forms[word - 1]!r}" for word in (*cycle, cycle[0]))
        problem = f"the heads lead in a circle, from {words}; give one of these words another HEAD"
    raise CorpusError(f"{entry.source}, sentence {entry.number}, line {entry.lines[cycle[0] - 1]}: {problem}")


def _sentences(entries: Iterator[_Entry]) -> Iterator[DependencySentence]:
    return (entry.sentence for entry in entries)


def _begun(items: Iterator[_T]) -> Iterator[_T]:
    """The items, of which the first is asked for at the call, so that its errors are raised there."""
    return chain(list(islice(items, 1)), items)
