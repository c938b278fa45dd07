"""Tagged sentences, and sentences without tags, by name: a file, a folder, or a corpus of NLTK."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, nullcontext
from functools import partial
from itertools import chain
from pathlib import Path
from string import whitespace
from sys import intern  # one string per distinct word and tag
from typing import Any, TypeVar

from spectral_latent.constituency.cleaning import is_empty
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.corpora._folders import files_beneath
from spectral_latent.corpora._nltk import items_of_corpus
from spectral_latent.corpora.alpino import parse_alpino
from spectral_latent.corpora.formats import ENDINGS, TABLE_ENDINGS, TABLE_READERS, Format, sniff_format
from spectral_latent.corpora.text import CorpusError, read_text
from spectral_latent.dependency import DependencySentence

__all__ = ["parse_tagged", "plain_sentences", "sentences", "tagged_sentences"]

_T = TypeVar("_T")
_Tagged = list[tuple[str, str]]
_Rows = list[tuple[Any, Any, Any]]  # each word, its own tag, by which traces are known, and the tag to be read
_TAGGED_ENDINGS = (*TABLE_ENDINGS, *ENDINGS["tagged"])
_TOKEN = re.compile(r"\S+", re.ASCII)  # as in bracketed trees, a no-break space belongs to its word
_FRAME = re.compile(r"[\s*]+")  # what NLTK puts around its messages
_COLUMNS = {"upos": "xpos", "xpos": "upos"}  # each with the other one


def tagged_sentences(
    source: str | os.PathLike[str], column: str | None = None, default: str | None = None
) -> Iterator[_Tagged]:
    """The sentences of a source, each a list of words with their tags.

    `source` is one of

    - a file in CoNLL-U or CoNLL-X, whose tags are in the columns upos and xpos, or in Malt-TAB, which has one column;
    - a file of one sentence a line, as in `the/DT dog/NN`; see `parse_tagged`.  How the formats are told apart, see
      `sniff_format`;
    - a folder: all files beneath it, in sorted order, that end in .conllu, .conll, .conllx, .dp, .tab, .pos or .tagged
      and are not hidden;
    - `nltk:NAME`, a corpus of NLTK that has `tagged_sents`, or a part of it: `nltk:NAME:train`, `:dev`, `:test`.
      With n the place of a file among the sorted file names, or that of a sentence if there is one file, counted
      from 1, n mod 10 = 9 is test, 8 is dev, and the rest is train.  Empty elements (`is_empty`) are left out.  With
      the `column` universal, the tags are those of the universal tag set, where NLTK knows them.

    Without a `column`, it is the `default` where the source has that, be it file by file.

    Raises `CorpusError` for a source that does not exist, a column that it does not have, a word without a tag, and
    what breaks the rules of `parse_conllu` or `parse_tagged`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "two.tagged")
    ...     _ = file.write_text("Dogs/NNS bark/VBP\\nYes/UH\\n")
    ...     list(tagged_sentences(file))
    [[('Dogs', 'NNS'), ('bark', 'VBP')], [('Yes', 'UH')]]
    """
    name = os.fspath(source)
    if name.startswith("nltk:"):
        if column not in (None, "universal"):
            raise CorpusError(f"{name}: no column {column!r} in NLTK's corpora; give none, or universal")
        column = column or ("universal" if default == "universal" else None)
        return items_of_corpus(name, "tagged_sents", "tagged corpus", partial(_tagged_of_nltk, column))
    return _of_files(name, "tagged", lambda path: _tagged_of_file(path, column, default), _TAGGED_ENDINGS)


def sentences(source: str | os.PathLike[str]) -> Iterator[list[str]]:
    """The sentences of a source, each a list of words, for learning without tags.

    `source` is one that `tagged_sentences` takes, the tags of which are left out and may be missing from CoNLL-U; or

    - a file of tokenised text, one sentence a line, with spaces between the words.  How it is told apart from
      words with tags, see `sniff_format`;
    - a folder of such files named *.tok or *.txt, without any of the names that are read by `tagged_sentences`;
    - `nltk:NAME`, a corpus of NLTK that has `sents`.

    Raises `CorpusError` as `tagged_sentences` does, and for a text without words.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.txt").write_text("Dogs bark\\n\\nYes\\n")
    ...     _ = Path(folder, "b.txt").write_text("Dogs/NNS bark/VBP\\n")
    ...     list(sentences(folder))
    [['Dogs', 'bark'], ['Yes'], ['Dogs', 'bark']]
    """
    name = os.fspath(source)
    if name.startswith("nltk:"):
        return items_of_corpus(name, "sents", "corpus", _words_of_nltk)
    return _of_files(name, "text", _words_of_file, _TAGGED_ENDINGS, ENDINGS["text"])


def parse_tagged(text: str, source: str = "<string>", line: int = 1) -> Iterator[_Tagged]:
    r"""The sentences of a text such as `the/DT dog/NN`: one a line, with spaces between the words.

    The last slash of a word begins its tag; others are part of the word, also where the Penn Treebank puts a
    backslash before them, which is kept.  So does `nltk.tag.str2tuple`, but here tags keep their case.  Empty lines
    mean nothing.

    Raises `CorpusError`, which names `source` and the line, of which the first is `line`, for a word without a tag, a
    tag without a word, and a text without sentences.

    >>> list(parse_tagged(r"and\/or/CC 1/2/CD"))
    [[('and\\/or', 'CC'), ('1/2', 'CD')]]
    """
    is_empty = True
    for number, tokens in enumerate(plain_sentences(text.split("\n")), start=line):
        if tokens:
            yield [_divided(token, source, number) for token in tokens]
            is_empty = False
    if is_empty:
        raise CorpusError(f"{source}: no sentences; give lines such as the/DT dog/NN")


def plain_sentences(lines: Iterable[str]) -> Iterator[list[str]]:
    """The words of each line, which white space divides; an empty line has none.

    The white space is that of ASCII: a no-break or an ideographic space belongs to its word.

    >>> list(plain_sentences(["Dogs bark .\\n", "\\n"]))
    [['Dogs', 'bark', '.'], []]
    """
    return map(_TOKEN.findall, lines)


def _of_files(name: str, kind: str, read: Callable[[Path], Iterator[_T]], *endings: tuple[str, ...]) -> Iterator[_T]:
    path = Path(name)
    if not path.is_dir():
        return read(path)
    return chain.from_iterable(map(read, files_beneath(path, kind, *endings)))


def _tagged_of_file(path: Path, column: str | None, default: str | None) -> Iterator[_Tagged]:
    text, form = _read(path)
    if form in TABLE_READERS:
        if column not in (None, *_COLUMNS):
            raise CorpusError(f"{path}: no tags in a column {column!r}; give upos, or xpos")
        table = TABLE_READERS[form](text, os.fspath(path))
        return _with_tags(table, column or (default if default in _COLUMNS else "upos"), path)
    if column is not None:
        raise CorpusError(f"{path}: no columns as in CoNLL-U; leave out the column {column!r}")
    return parse_tagged(text, os.fspath(path))


def _read(path: Path) -> tuple[str, Format]:
    """Read a file and tell its format.  Raises CorpusError for trees in brackets."""
    text = read_text(path)
    form = sniff_format(path.name, text)
    if form == "brackets":
        raise CorpusError(
            f"{path}: trees in brackets, where sentences are needed; give CoNLL-U, the/DT dog/NN, or text"
        )
    return text, form


def _with_tags(table: Iterable[tuple[DependencySentence, list[int]]], column: str, path: Path) -> Iterator[_Tagged]:
    for sentence, lines in table:
        tags: tuple[str, ...] = getattr(sentence, column)
        if "_" in tags:
            place = tags.index("_")
            raise CorpusError(
                f"{path}, line {lines[place]}: no {column} tag for the word {sentence.forms[place]!r}; "
                f"add the tag, or take the column {_COLUMNS[column]}"
            )
        yield list(zip(sentence.forms, tags, strict=True))


def _words_of_file(path: Path) -> Iterator[list[str]]:
    text, form = _read(path)
    if form in TABLE_READERS:
        return (list(sentence.forms) for sentence, _ in TABLE_READERS[form](text, os.fspath(path)))
    if not text.strip(whitespace):
        raise CorpusError(f"{path}: no words; give a sentence a line, with spaces between the words")
    if form == "tagged":
        return ([word for word, _ in sentence] for sentence in parse_tagged(text, os.fspath(path)))
    return filter(None, plain_sentences(text.split("\n")))


def _pair(token: str) -> tuple[str, str] | None:
    """Word and tag on both sides of the last slash, if there is something on both."""
    word, _, tag = token.rpartition("/")
    return (intern(word), intern(tag)) if word and tag else None


def _divided(token: str, source: str, line: int) -> tuple[str, str]:
    pair = _pair(token)
    if pair is None:
        raise CorpusError(f"{source}, line {line}: {token!r} is not a word/TAG; tag every word, as in dog/NN")
    return pair


def _tagged_of_nltk(column: str | None, reader: Any, corpus: str, file: str) -> Iterator[_Tagged]:
    rows = _rows_of_nltk(reader, file, column)
    return _without_traces(rows, _checked_pair, f"nltk:{corpus}, file {file}", column)


def _words_of_nltk(reader: Any, corpus: str, file: str) -> Iterator[list[str]]:
    rows = _rows_of_nltk(reader, file) if hasattr(reader, "tagged_sents") else _untagged_rows_of_nltk(reader, file)
    return _without_traces(rows, _checked_word, f"nltk:{corpus}, file {file}")


def _rows_of_nltk(reader: Any, file: str, column: str | None = None) -> Iterator[_Rows]:
    """By NLTK, but for Alpino, where NLTK leaves out words that are brackets, and &apos; as it is."""
    from nltk.corpus.reader import AlpinoCorpusReader

    if column is None and type(reader) is AlpinoCorpusReader:
        for tree in parse_alpino(reader.raw(file), file):
            leaves = [node for node in tree.nodes() if isinstance(node, Phrase) and node.is_preterminal()]
            yield [(leaf.children[0], leaf.label, leaf.label) for leaf in leaves]
    elif column is None:
        for sentence in _closing(reader.tagged_sents(file)):
            yield [(word, tag, tag) for word, tag in sentence]
    else:
        views = reader.tagged_sents(file), reader.tagged_sents(file, tagset=column)
        for sentence, mapped in zip(*map(_closing, views), strict=True):
            yield [(word, own, tag) for (word, own), (_, tag) in zip(sentence, mapped, strict=True)]


def _untagged_rows_of_nltk(reader: Any, file: str) -> Iterator[_Rows]:
    for sentence in _closing(reader.sents(file)):
        yield [(word, None, None) for word in sentence]


def _closing(view: Any) -> Iterator[Any]:
    """The items of a corpus view, whose file is closed also if they are not all asked for."""
    with closing(view) if hasattr(view, "close") else nullcontext():
        yield from view


def _without_traces(
    sentences: Iterable[_Rows], checked: Callable[[Any, Any], _T], where: str, column: str | None = None
) -> Iterator[list[_T]]:
    """What `checked` makes of each word and its tag, but of empty elements; sentences without words are left out."""
    number = 1
    try:
        for sentence in sentences:
            if items := [checked(word, tag) for word, own_tag, tag in sentence if not is_empty(own_tag, word)]:
                yield items
            number += 1
    except (LookupError, TypeError, ValueError) as error:
        if column and not isinstance(error, ValueError):
            raise CorpusError(
                f"{where}: NLTK knows no universal tags for this corpus; leave out the column, "
                f"or run `python -m nltk.downloader universal_tagset`"
            ) from error
        reason = _FRAME.sub(" ", str(error)).strip()
        raise CorpusError(f"{where}, sentence {number}: {reason}; restore the corpus, or take another") from error


def _checked_word(word: Any, _: Any) -> str:
    if not (isinstance(word, str) and word):
        raise ValueError(f"expected a word, got {word!r:.80}")
    return intern(str(word))


def _checked_pair(word: Any, tag: Any) -> tuple[str, str]:
    if not (isinstance(tag, str) and tag):
        raise ValueError(f"expected a tag for the word {word!r:.80}, got {tag!r:.80}")
    return _checked_word(word, tag), intern(str(tag))
