"""Dependency trees that commands read, and sentences that are parsed: lines of CoNLL-U."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from spectral_latent.cli.inputs import numbered_lines, text_of

if TYPE_CHECKING:
    from spectral_latent.corpora.dependencies import Entry
    from spectral_latent.dependency import DependencyParse, DependencySentence

__all__ = ["DEPENDENCY_SOURCES", "FORMATS", "Format", "Table", "dependency_entries", "dependency_trees_of", "tables"]

DEPENDENCY_SOURCES = """\b
SOURCE of dependency trees is one of
  a file in CoNLL-U, CoNLL-X or Malt-TAB,
  a folder of files named *.conllu, *.conll, *.conllx, *.dp or *.tab,
  nltk:NAME, a dependency treebank of NLTK, or a part of it, nltk:NAME:train, :dev or :test."""
Format = Literal["conllu", "malt-tab", "tagged", "text"]
FORMATS: tuple[Format, ...] = ("conllu", "malt-tab", "tagged", "text")
_HEAD = 6  # the place of HEAD in a line of CoNLL-U, from 0; DEPREL comes next
_UPOS = 3  # the column of UPOS; that of XPOS follows
_COLUMNS = 10

_Line = tuple[int, str]  # its number, and what stands there


def dependency_entries(sources: Iterable[str]) -> Iterator[Entry]:
    """The dependency trees of the sources, one after the other; see `dependency_trees`, also for CorpusError.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "one.dp")
    ...     _ = file.write_text("dogs\\tNNS\\t0\\n")
    ...     [entry.sentence.heads for entry in dependency_entries([str(file)])]
    [(0,)]
    """
    from spectral_latent.corpora.dependencies import tree_entries

    for source in sources:
        yield from tree_entries(source)


def dependency_trees_of(file: str) -> Iterator[DependencySentence]:
    """The trees of one root in a file, or in standard input for `-`; otherwise as for `dependency_entries`."""
    from spectral_latent.corpora.dependencies import entries_of_text

    return (entry.rooted().sentence for entry in entries_of_text(*text_of(file)))


class Table(NamedTuple):
    """A sentence to be parsed, and where it comes from.

    number: of the sentence in its file, or of its line if each has a sentence.  lines: of CoNLL-U, the sentence's own
    where it has some.  words: the place of each word among the lines.
    """

    sentence: DependencySentence
    number: int
    lines: list[str]
    words: list[int]

    @staticmethod
    def of(sentence: DependencySentence, number: int) -> Table:
        """A sentence that was not in CoNLL-U."""
        from spectral_latent.corpora import to_conllu

        lines = to_conllu(sentence).split("\n")[:-1]
        first = len(sentence.comments)
        return Table(sentence, number, lines, list(range(first, first + len(sentence.forms))))

    def parsed(self, parse: DependencyParse, with_score: bool) -> str:
        """The lines with heads, relations, and tags where they were missing; all else as it stands, but for comments.

        >>> from spectral_latent.dependency import DependencyParse, DependencySentence
        >>> words = DependencySentence.of(["Yes"])
        >>> parse = DependencyParse(words._replace(heads=(0,)), sign=1, log=-0.5)
        >>> print(Table.of(words, 3).parsed(parse, with_score=True).replace("\\t", " "), end="")
        # sent_id = 3
        # score = -0.500000
        1 Yes _ _ _ _ 0 _ _ _
        <BLANKLINE>
        """
        lines = list(self.lines)
        sentence = parse.sentence
        found = zip(self.words, sentence.heads or (), sentence.relations, sentence.upos, sentence.xpos, strict=True)
        for at, head, relation, *tags in found:
            columns = lines[at].split("\t")
            columns[_HEAD : _HEAD + 2] = str(head), relation
            for column, tag in enumerate(tags, start=_UPOS):
                columns[column] = tag if columns[column] == "_" else columns[column]
            lines[at] = "\t".join(columns)
        notes = ["# FALLBACK"] if parse.is_fallback else []
        if with_score:
            has_name = any(comment.startswith("sent_id") for comment in sentence.comments)
            notes = [*([] if has_name else [f"# sent_id = {self.number}"]), f"# score = {parse.log:.6f}", *notes]
        begin = next(at for at, line in enumerate(lines) if line.strip(" \r") and not line.startswith("#"))
        return "".join(f"{line}\n" for line in (*lines[:begin], *notes, *lines[begin:]))


def tables(file: str, form: Format | None = None) -> Iterator[Table]:
    """The sentences of a file, or of standard input for `-`, without their trees, as they come.

    form: what the file is; if it is not given, its name tells, or its first line.  Raises CorpusError, which names the
    line, for what breaks the rules of the format.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "two.txt")
    ...     _ = file.write_text("Dogs/NNS bark/VBP\\n\\nYes/UH\\n")
    ...     [(table.sentence.xpos, table.number) for table in tables(str(file))]
    [(('NNS', 'VBP'), 1), (('UH',), 3)]
    """
    lines = numbered_lines(file)
    begin: list[_Line] = []
    for number, line in lines:
        begin.append((number, line))
        if line.strip() and not line.startswith("#"):
            break
    form = form or _form_of(file, begin[-1][1] if begin else "")
    source, lines = "standard input" if file == "-" else file, chain(begin, lines)
    if form == "text" or form == "tagged":
        return _of_text(lines, source, form == "tagged")
    return _of_blocks(_blocks(lines), source, form == "malt-tab")


def _form_of(file: str, line: str) -> Format:
    """What a file is, by the end of its name, or by the first line that is no comment.

    >>> _form_of("a.dp", ""), _form_of("-", "and/CC so/RB"), _form_of("-", "and so"), _form_of("-", "1" + 9 * "\\t_")
    ('malt-tab', 'tagged', 'text', 'conllu')
    """
    from spectral_latent.corpora import CorpusError, parse_tagged
    from spectral_latent.corpora.conllu import CONLLU, MALT_TAB

    ending = Path(file).suffix.lower()
    if ending in CONLLU or line.count("\t") == _COLUMNS - 1:
        return "conllu"
    if ending in MALT_TAB:
        return "malt-tab"
    try:
        list(parse_tagged(line))
    except CorpusError:
        return "text"
    return "tagged"


def _of_text(lines: Iterable[_Line], source: str, is_tagged: bool) -> Iterator[Table]:
    """A sentence for each line that has words."""
    from spectral_latent.corpora import parse_tagged, plain_sentences
    from spectral_latent.dependency import DependencySentence

    for number, line in lines:
        words, tags = next(plain_sentences([line])), None
        if is_tagged and words:
            (pairs,) = parse_tagged(line, source, number)
            words, tags = [word for word, _ in pairs], [tag for _, tag in pairs]
        if words:
            sentence = DependencySentence.of(words, tags)
            yield Table.of(sentence._replace(comments=(f"sent_id = {number}",)), number)


def _of_blocks(blocks: Iterable[list[_Line]], source: str, is_tab: bool) -> Iterator[Table]:
    """A sentence for each block."""
    from spectral_latent.corpora.conllu import parse_tab_with_lines, parse_with_lines

    for number, block in enumerate(blocks, start=1):
        first, lines = block[0][0], [line for _, line in block]
        ((sentence, numbers),) = (parse_tab_with_lines if is_tab else parse_with_lines)("\n".join(lines), source, first)
        if is_tab:
            yield Table.of(sentence.without_tree(), number)
        else:
            ended = lines if not lines[-1].strip(" \r") else [*lines, ""]
            yield Table(sentence.without_tree(), number, ended, [line - first for line in numbers])


def _blocks(lines: Iterable[_Line]) -> Iterator[list[_Line]]:
    """The lines up to each empty line that comes after words; comments after the last words are left out."""
    block: list[_Line] = []
    has_words = False
    for number, line in lines:
        is_empty = not line.strip(" \r")
        block.append((number, line))
        has_words = has_words or not (is_empty or line.startswith("#"))
        if is_empty and has_words:
            yield block
            block, has_words = [], False
    if has_words:
        yield block
