"""Read tagged sentences, and sentences without tags, by name: a file, a folder, or a corpus of NLTK.

UPOS may be mapped to the universal tags of Petrov, Das and McDonald (2012):

| universal tag | UPOS |
| --- | --- |
| NOUN | NOUN, PROPN |
| VERB | VERB, AUX |
| CONJ | CCONJ, SCONJ |
| PRT | PART |
| X | X, INTJ, SYM |
| . | PUNCT |
| ADJ, ADP, ADV, DET, NUM, PRON | the same |
"""

import os
import re
import warnings
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from string import whitespace
from sys import intern  # one string per distinct word and tag
from types import MappingProxyType

from spectral_latent.constituency.cleaning import Changes
from spectral_latent.corpora._nltk import items_of_corpus, tagged_of_file, words_of_file
from spectral_latent.corpora.conllu import count_no_words, parse_with_lines
from spectral_latent.corpora.formats import ENDINGS, Format, Guess, items_of_files, sniff_format
from spectral_latent.corpora.text import CorpusError, Line, read_text
from spectral_latent.dependency import DependencySentence
from spectral_latent.dependency.tree import TagColumn, choose_column, with_all_tags

UNIVERSAL_TAGS = (".", "ADJ", "ADP", "ADV", "CONJ", "DET", "NOUN", "NUM", "PRON", "PRT", "VERB", "X")

_OF_UPOS = MappingProxyType(
    {
        "AUX": "VERB",
        "CCONJ": "CONJ",
        "INTJ": "X",
        "PART": "PRT",
        "PROPN": "NOUN",
        "PUNCT": ".",
        "SCONJ": "CONJ",
        "SYM": "X",
        **{tag: tag for tag in UNIVERSAL_TAGS},
    }
)


def universal_tag(tag: str) -> str:
    """Return the universal tag of a UPOS tag; a universal tag is returned unchanged.

    Raises ValueError for any other tag.

    >>> [universal_tag(tag) for tag in ("PROPN", "AUX", "SCONJ", "PUNCT", "ADV", ".")]
    ['NOUN', 'VERB', 'CONJ', '.', 'ADV', '.']
    """
    universal = _OF_UPOS.get(tag)
    if universal is None:
        raise ValueError(f"{tag!r} is neither a UPOS tag nor a universal one; take the column upos, or universal")
    return universal


_Tagged = list[tuple[str, str]]
_TAGGED_ENDINGS = (*ENDINGS["conllu"], *ENDINGS["tagged"])
_TOKEN = re.compile(r"\S+", re.ASCII)  # as in bracketed trees, a no-break space belongs to its word


def tagged_sentences(
    source: str | os.PathLike[str],
    column: str | None = None,
    default: str | None = None,
    changes: Changes | None = None,
    form: Format | None = None,
    columns: list[TagColumn] | None = None,
) -> Iterator[_Tagged]:
    """Read sentences with their tags; a sentence is a list of pairs of word and tag.

    - a file in CoNLL-U or CoNLL-X, whose tags are in the columns upos and xpos;
    - a file of one sentence a line, as in `the/DT dog/NN`; see `parse_tagged`.  `sniff_format` tells
      the formats apart;
    - a folder: all files beneath it, in sorted order, that have an ending of these formats and are not hidden;
    - `nltk:NAME`, a corpus of NLTK that has `tagged_sents`, or a part of one; see `constituency_trees`.
      Empty elements (`is_empty`) are left out.

    column: the tags to read: `upos` or `xpos` of a table; `universal` for the universal tags that NLTK makes of a
        corpus's own tags.  If not given, the default decides.
    default: the tags to read from sources that have them.  From other sources the only tags are read, and from tables
        `upos`.
    form: the format of files, `tagged` or `conllu`; if not given, it is guessed.
    columns: a list to which the column of each table is added when its first sentence is read.

    If a word of a table has no tag in the column, it gets its tag from the other column, or the tag X; a warning counts
    these words.  If no word has a tag in the column, the other column is read.

    Raises `CorpusError` for a source that does not exist, a column that the source cannot have, a table without tags,
    and text that breaks the rules of `parse_conllu` or `parse_tagged`.

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
        return items_of_corpus(name, "tagged_sents", "tagged corpus", partial(tagged_of_file, changes, column))
    read = partial(_tagged_of_file, column, default, changes, form, [] if columns is None else columns)
    return items_of_files(name, "tagged", read, _TAGGED_ENDINGS)


def sentences(
    source: str | os.PathLike[str], changes: Changes | None = None, form: Format | None = None
) -> Iterator[list[str]]:
    """Read sentences without tags; a sentence is a list of words.

    source: a source that `tagged_sentences` takes, whose tags are left out and may be missing from CoNLL-U; or

    - a file of tokenised text, one sentence a line, with spaces between the words.  `sniff_format` tells it from
      words with tags;
    - a folder of such files named *.tok or *.txt, in which no file has a name that `tagged_sentences` reads;
    - `nltk:NAME`, a corpus of NLTK that has `sents`.

    form: the format of files; if not given, it is guessed.  A warning tells if a text may have another one.

    Raises `CorpusError` as `tagged_sentences` does, and for a text without words.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.txt").write_text("Dogs bark\\n\\nYes\\n")
    ...     _ = Path(folder, "b.txt").write_text("He/she barks\\n")
    ...     list(sentences(folder))
    [['Dogs', 'bark'], ['Yes'], ['He/she', 'barks']]
    """
    name = os.fspath(source)
    if name.startswith("nltk:"):
        return items_of_corpus(name, "sents", "corpus", partial(words_of_file, changes))
    return items_of_files(name, "text", partial(_words_of_text_file, changes, form), _TAGGED_ENDINGS, ENDINGS["tokens"])


def parse_tagged(text: str, source: str = "<string>", line: int = 1) -> Iterator[_Tagged]:
    r"""Read the sentences of a text such as `the/DT dog/NN`: one sentence a line, with spaces between the words.

    The last slash of a token divides word and tag; other slashes are part of the word.  A backslash before a slash, as
    in the Penn Treebank, is kept.  `nltk.tag.str2tuple` does the same, but here tags keep their case.  Empty lines are
    left out.

    line: the number of the first line of the text.

    Raises `CorpusError`, which names `source` and the line, for a word without a tag, a tag without a word, and a text
    without sentences.

    >>> list(parse_tagged(r"and\/or/CC 1/2/CD"))
    [[('and\\/or', 'CC'), ('1/2', 'CD')]]
    """
    is_empty = True
    for number, tokens in enumerate(plain_sentences(text.split("\n")), start=line):
        if tokens:
            yield [_divide(token, Line(source, number)) for token in tokens]
            is_empty = False
    if is_empty:
        raise CorpusError(f"{source}: no sentences; give lines such as the/DT dog/NN")


def plain_sentences(lines: Iterable[str]) -> Iterator[list[str]]:
    """Split each line into words; an empty line has none.

    Only ASCII white space divides words: a no-break or an ideographic space belongs to its word.

    >>> list(plain_sentences(["Dogs bark .\\n", "\\n"]))
    [['Dogs', 'bark', '.'], []]
    """
    return map(_TOKEN.findall, lines)


def _tagged_of_file(
    column: str | None,
    default: str | None,
    changes: Changes | None,
    given: Format | None,
    columns: list[TagColumn],
    path: Path,
) -> Iterator[_Tagged]:
    """Read the tagged sentences of a file."""
    text, guess = _read(path, given, "tagged", "conllu")
    if guess.form == "conllu":
        if column not in (None, "upos", "xpos"):
            raise CorpusError(f"{path}: no tags in a column {column!r}; give upos, or xpos")
        preferred: TagColumn = "xpos" if (column or default) == "xpos" else "upos"
        return _with_tags(_table(text, guess, path, changes), preferred, columns, path)
    if column is not None:
        raise CorpusError(f"{path}: no columns as in CoNLL-U; leave out the column {column!r}")
    return guess.noted(parse_tagged(text, os.fspath(path)))


def _read(path: Path, given: Format | None, *needed: Format) -> tuple[str, Guess]:
    """Read a file and tell its format."""
    text = read_text(path)
    return text, sniff_format(os.fspath(path), text, *needed, given=given)


def _table(text: str, guess: Guess, path: Path, changes: Changes | None) -> Iterator[DependencySentence]:
    """Read the sentences of a table."""
    if changes is not None:
        count_no_words(text, changes)
    return (sentence for sentence, _ in guess.noted(parse_with_lines(text, os.fspath(path))))


def _with_tags(
    sentences: Iterator[DependencySentence], preferred: TagColumn, columns: list[TagColumn], path: Path
) -> Iterator[_Tagged]:
    """Pair the words of a table with their tags, whose column is noted; raise CorpusError for a table without tags."""
    column, rest = choose_column(sentences, preferred)
    if column is None:
        raise CorpusError(f"{path}: no word has a tag; give a table with tags in the columns UPOS or XPOS")
    columns.append(column)
    for sentence in with_all_tags(rest, column):
        yield list(zip(sentence.forms, getattr(sentence, column), strict=True))


def _words_of_text_file(changes: Changes | None, given: Format | None, path: Path) -> Iterator[list[str]]:
    """Read the sentences of a file without their tags."""
    text, guess = _read(path, given, "tokens", "tagged", "conllu")
    if guess.doubt:
        warnings.warn(guess.warning(os.fspath(path)), stacklevel=2)
    if guess.form == "conllu":
        return (list(sentence.forms) for sentence in _table(text, guess, path, changes))
    if not text.strip(whitespace):
        raise CorpusError(f"{path}: no words; give a sentence a line, with spaces between the words")
    if guess.form == "tagged":
        tagged = guess.noted(parse_tagged(text, os.fspath(path)))
        return ([word for word, _ in sentence] for sentence in tagged)
    return filter(None, plain_sentences(text.split("\n")))


def _divide(token: str, line: Line) -> tuple[str, str]:
    """Divide a token at its last slash into word and tag; raise CorpusError if one of them is missing."""
    word, _, tag = token.rpartition("/")
    if not word or not tag:
        raise line.error(f"{token!r} is not a word/TAG; tag every word, as in dog/NN")
    return intern(word), intern(tag)
