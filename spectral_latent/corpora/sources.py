"""Read treebanks of phrases and of dependencies by name: a file, a folder, or a corpus of NLTK."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from spectral_latent._threads import in_blocks
from spectral_latent.constituency.cleaning import Changes
from spectral_latent.constituency.tree import Phrase
from spectral_latent.corpora._nltk import annotation_of, items_of_corpus, phrases_of_file
from spectral_latent.corpora.brackets import parse_brackets
from spectral_latent.corpora.conllu import count_no_words, parse_with_lines
from spectral_latent.corpora.formats import ENDINGS, READINGS, Format, items_of_files, sniff_format
from spectral_latent.corpora.text import CorpusError, read_text
from spectral_latent.dependency import DependencySentence


def constituency_trees(
    source: str | os.PathLike[str],
    changes: Changes | None = None,
    form: Format | None = None,
    *,
    skip_bad: bool = False,
) -> Iterator[Phrase]:
    """Read the trees of a treebank, without traces and other empty elements.

    Labels are those of the treebank; `clean` also takes away what they tell besides the category.

    - a file in Penn Treebank brackets, or in the Penn format of historical corpora; see `parse_brackets`;
    - a folder: all files beneath it, in sorted order, that have an ending of this format and are not hidden;
    - `nltk:NAME`, a corpus of NLTK that has `parsed_sents`, or a part of one: `nltk:NAME:train`, `:dev`, `:test`.
      The sorted files, or the sentences if there is one file, are numbered from 1.  Those whose number ends in 9 are
      test, those whose number ends in 8 are dev, all others are train.

    form: `brackets` to read a file as trees whatever its name and its lines look like; `historical` or `penn` to
        decide, too, whether it is in the Penn format of historical corpora, which its first trees tell otherwise.
    skip_bad: whether to leave out trees of files that cannot be read, and count them.

    Raises `CorpusError` for a source that does not exist and for trees that break the rules of `parse_brackets`.

    >>> import tempfile
    >>> from pathlib import Path
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
        return items_of_corpus(name, "parsed_sents", "treebank", partial(phrases_of_file, changes))

    def read(path: Path) -> Iterator[Phrase]:
        return phrases_of_text(read_text(path), os.fspath(path), changes, form, skip_bad=skip_bad, traces=False)

    return items_of_files(name, "treebank", read, ENDINGS["brackets"])


def phrases_of_text(
    text: str,
    source: str,
    changes: Changes | None = None,
    form: Format | None = None,
    *,
    skip_bad: bool = False,
    traces: bool = True,
) -> Iterator[Phrase]:
    """Read the trees of a text in brackets; see `constituency_trees`."""
    sniff_format(source, text, "brackets", given=form)  # refuses other formats
    historical = READINGS[form] if form else None
    trees = parse_brackets(text, source, changes, historical=historical, skip_bad=skip_bad, traces=traces)
    return in_blocks(trees)


def dependency_trees(
    source: str | os.PathLike[str], changes: Changes | None = None, form: Format | None = None
) -> Iterator[DependencySentence]:
    """Read the trees of a dependency treebank.

    - a file in CoNLL-U or CoNLL-X;
    - a folder: all files beneath it, in sorted order, that have an ending of this format and are not hidden;
    - `nltk:NAME`, a dependency treebank of NLTK, or a part of it; see `constituency_trees`.

    form: `conllu` to read a file as a table whatever its name and its lines look like.

    Several words may have the head 0, as in many treebanks in CoNLL-X; `DependencySentence.roots` tells which.

    Raises `CorpusError`, which names the source, the sentence and the line, for a sentence without heads, or whose
    heads do not lead from every word to a root; also for a source that does not exist, and for text that breaks the
    rules of `parse_conllu`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "one.conllu")
    ...     _ = file.write_text("1 Dogs _ NNS _ _ 2 _ _ _\\n2 bark _ VBP _ _ 0 _ _ _\\n".replace(" ", "\\t"))
    ...     [sentence.heads for sentence in dependency_trees(file)]
    [(2, 0)]
    """
    return (entry.sentence for entry in tree_entries(source, changes, form))


def tree_entries(
    source: str | os.PathLike[str], changes: Changes | None = None, form: Format | None = None
) -> Iterator[Entry]:
    """Read the trees of a dependency treebank, with their places in it."""
    return map(Entry.tree, _entries(os.fspath(source), changes, form))


class Entry(NamedTuple):
    """A sentence, and its place in a treebank.

    number: the place of the sentence in the file, counted from 1."""

    sentence: DependencySentence
    source: str
    number: int
    lines: Sequence[int]

    def error(self, problem: str, word: int = 1) -> CorpusError:
        """Make the error for a problem with a word of the sentence."""
        return CorpusError(f"{self.source}, sentence {self.number}, line {self.lines[word - 1]}: {problem}")

    def tree(self) -> Entry:
        """Return the entry if its heads are a tree, perhaps with several roots; raise CorpusError if they are not."""
        sentence = self.sentence
        if sentence.is_tree():
            return self
        if sentence.heads is None:
            raise self.error("no word has a HEAD; give one to each, or leave the sentence out")
        if not sentence.roots:
            raise self.error("no word has the HEAD 0; give it to the root")
        cycle = sentence.cycle()
        words = " to ".join(f"{word} {sentence.forms[word - 1]!r}" for word in (*cycle, cycle[0]))
        raise self.error(f"the heads lead in a circle, from {words}; give one of these words another HEAD", cycle[0])

    def rooted(self) -> Entry:
        """Return the entry if its heads are a tree with one root; raise CorpusError if they are not."""
        roots = self.tree().sentence.roots
        if len(roots) > 1:
            words = ", ".join(f"{word} {self.sentence.forms[word - 1]!r}" for word in roots)
            raise self.error(f"the words {words} have the HEAD 0; give it to one word alone", roots[1])
        return self


def _entries(name: str, changes: Changes | None, form: Format | None) -> Iterator[Entry]:
    """Read the sentences of a source."""
    if name.startswith("nltk:"):
        return items_of_corpus(
            name,
            "parsed_sents",
            "dependency treebank",
            partial(_entries_of_nltk, changes),
            example="dependency_treebank",
        )

    def read(path: Path) -> Iterator[Entry]:
        return entries_of_text(read_text(path), os.fspath(path), changes, form)

    return items_of_files(name, "dependency treebank", read, ENDINGS["conllu"])


def _entries_of_nltk(changes: Changes | None, reader: Any, corpus: str, file: str) -> Iterator[Entry]:
    """Read the sentences of one file of a corpus of NLTK."""
    if annotation_of(reader) != "dependencies":
        raise CorpusError(f"nltk:{corpus}: no dependency treebank; give one such as nltk:dependency_treebank")
    return entries_of_text(in_conllu(reader.raw(file)), f"nltk:{corpus}, file {file}", changes)


def in_conllu(text: str) -> str:
    """Write lines of FORM, TAG, HEAD and perhaps DEPREL, as NLTK's dependency treebanks have, as lines of CoNLL-U."""
    lines = []
    word = 0
    for line in text.split("\n"):
        columns = line.rstrip("\r").split("\t")
        word = word + 1 if line.strip() else 0
        if len(columns) in (3, 4):
            form, tag, head, *relation = columns
            line = "\t".join((str(word), form, "_", tag, tag, "_", head, *(relation or "_"), "_", "_"))
        lines.append(line)
    return "\n".join(lines)


def entries_of_text(
    text: str, source: str, changes: Changes | None = None, form: Format | None = None
) -> Iterator[Entry]:
    """Read the sentences of a text in CoNLL-U or CoNLL-X; heads may be missing."""
    guess = sniff_format(source, text, "conllu", given=form)
    if changes is not None:
        count_no_words(text, changes)
    parsed = guess.noted(parse_with_lines(text, source))
    return (Entry(sentence, source, number, lines) for number, (sentence, lines) in enumerate(parsed, start=1))
