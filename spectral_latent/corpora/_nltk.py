"""Read NLTK's corpora by name, and their parts for training, development and test; convert NLTK's trees to phrases.

NLTK itself, whose import takes longer than reading a treebank, is imported only for corpora that its readers alone can
read.
"""

from __future__ import annotations

import os
import re
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, nullcontext, suppress
from itertools import chain, islice
from pathlib import Path
from sys import intern  # one string per distinct word and tag
from typing import Any, Literal, NamedTuple, TypeVar, cast

from spectral_latent._threads import in_blocks
from spectral_latent.constituency.cleaning import EMPTY_TAG, Changes, is_empty, tagged_words, without_empty
from spectral_latent.constituency.tree import Phrase, inner_first
from spectral_latent.corpora.brackets import LEMMAS, NO_WORDS, SAMPLE, Markup, parse_brackets, without_outer_bracket
from spectral_latent.corpora.text import CorpusError
from spectral_latent.estimation import EstimationError

_T = TypeVar("_T")
_PARTS = ("train", "dev", "test")
_ONE_CHARACTER = re.compile(r"\(([^\s()])\)")  # (,)
_WITH_LEMMA = re.compile(r"\(([^\s()]+) ([^\s()]+) [^\s()]+\)")  # (tag word lemma)
_UNWRITABLE = re.compile(r"\s|.[()]|[()].")  # in a label; a bracket alone is a tag, which is written as -LRB-
_FRAME = re.compile(r"[\s*]+")  # the white space and asterisks that NLTK puts around its messages


def items_of_corpus(
    source: str,
    method: str,
    kind: str,
    items_of_file: Callable[[Any, str, str], Iterable[_T]],
    *,
    example: str = "treebank",
) -> Iterator[_T]:
    """Read a corpus, file by file in sorted order."""
    corpus, _, part = source.removeprefix("nltk:").partition(":")
    if part not in ("", *_PARTS):
        raise CorpusError(f"{source}: no part {part!r}; give nltk:{corpus}, or one of its parts {', '.join(_PARTS)}")
    if (corpus, method) == ("alpino", "parsed_sents"):
        raise CorpusError(
            f"{source}: NLTK leaves XML in most trees of Alpino, and words out of their order; convert alpino.xml to "
            f"brackets, as `python -m benchmarks.alpino` does in a checkout of the project"
        )
    reader = CorpusFiles.find(corpus) or _reader(corpus, method, kind, example)
    files = sorted(reader.fileids())
    if len(files) == 1:
        return _part(items_of_file(reader, corpus, files[0]), part)
    chosen = list(_part(files, part))
    if not chosen:
        raise CorpusError(
            f"{source}: none of the {len(files)} files is in this part, which has one in ten; give nltk:{corpus}"
        )
    return chain.from_iterable(items_of_file(reader, corpus, file) for file in chosen)


def _part(items: Iterable[_T], part: str) -> Iterator[_T]:
    """Keep the items of a part, which the last digit of their numbers tells; keep all items if `part` is empty."""
    return (item for n, item in enumerate(items, start=1) if part in ("", {8: "dev", 9: "test"}.get(n % 10, "train")))


def _reader(corpus: str, method: str, kind: str, example: str) -> Any:
    """Find NLTK's reader of a corpus that is installed."""
    import nltk.corpus

    reader = getattr(nltk.corpus, corpus, None)
    try:
        has_method = hasattr(reader, method)
    except LookupError as error:
        raise CorpusError(
            f"nltk:{corpus}: the corpus is not installed; run `python -m nltk.downloader {corpus}`, "
            f"or let NLTK_DATA name the folder that holds it"
        ) from error
    if not has_method:
        from difflib import get_close_matches

        alike = get_close_matches(corpus, dir(nltk.corpus), n=1, cutoff=0.8)
        remedy = f"did you mean nltk:{alike[0]}?" if alike and reader is None else f"give one such as nltk:{example}"
        raise CorpusError(f"nltk:{corpus}: NLTK has no such {kind}; {remedy}")
    return reader


def annotation_of(reader: Any) -> Annotation:
    """Tell what the files of a reader hold."""
    if isinstance(reader, CorpusFiles):
        return reader.annotation
    from nltk.corpus.reader import BracketParseCorpusReader, CategorizedBracketParseCorpusReader, DependencyCorpusReader

    if isinstance(reader, DependencyCorpusReader):
        return "dependencies"
    has_brackets = type(reader) in (BracketParseCorpusReader, CategorizedBracketParseCorpusReader)
    return "brackets" if has_brackets else "other"


# Trees


def phrases_of_file(changes: Changes | None, reader: Any, corpus: str, file: str) -> Iterable[Phrase]:
    """Read the trees of one file of a corpus, without traces."""
    changes = Changes() if changes is None else changes
    phrases = _own_phrases(reader, corpus, file, changes, traces=False)
    if phrases is not None:
        return phrases
    if isinstance(reader, CorpusFiles):
        reader = _reader(corpus, "parsed_sents", "treebank", "treebank")
    phrases = _phrases_by_nltk(reader, file, _place(corpus, file), changes)
    return filter(None, (without_empty(phrase, changes) for phrase in phrases))


def _own_phrases(reader: Any, corpus: str, file: str, changes: Changes, traces: bool = True) -> Iterable[Phrase] | None:
    """Read the trees of one file without NLTK; return None if only NLTK can read them.

    `parse_brackets` reads plain brackets.  It is faster than NLTK, and does not cut a tree in two where a line is not
    indented.  NLTK reads other brackets, such as those with comments, and files with brackets that do not match."""
    if annotation_of(reader) == "brackets":
        own = Changes()
        text = _one_word_per_tag(reader.raw(file), own)
        with suppress(CorpusError):
            trees = list(in_blocks(parse_brackets(text, _place(corpus, file), own, traces=traces)))
            changes.add(own)
            return trees
    return None


def _place(corpus: str, file: str) -> str:
    """Name a file of a corpus, for messages."""
    return f"nltk:{corpus}, file {file}"


def _one_word_per_tag(text: str, changes: Changes) -> str:
    """Write (,) and (tag word lemma) as (, ,) and (tag word), as NLTK's bracket readers do."""
    text, n_lemmas = _WITH_LEMMA.subn(r"(\1 \2)", _ONE_CHARACTER.sub(r"(\1 \1)", text))
    if n_lemmas:
        changes.counts[LEMMAS] += n_lemmas
    return text


def _phrases_by_nltk(reader: Any, file: str, where: str, changes: Changes) -> Iterator[Phrase]:
    """Read the trees of a file by NLTK."""
    try:
        yield from _convert(_read_by_nltk(reader, file, where), changes, f"{where}, sentence", leaves_out=True)
    except (TypeError, ValueError) as error:
        raise CorpusError(str(error)) from error


def _read_by_nltk(reader: Any, file: str, where: str) -> Iterator[Any]:
    """Return NLTK's trees of a file; raise CorpusError, which names the sentence, where NLTK cannot read one."""
    number = 1
    try:
        for tree in _closing(reader.parsed_sents(file)):
            yield tree
            number += 1
    except (TypeError, ValueError) as error:
        raise CorpusError(f"{where}, sentence {number}: {error}") from error


def phrases_from_nltk(trees: Iterable[Any], changes: Changes | None = None) -> Iterator[Phrase]:
    """Make phrases of a treebank's trees, such as `parsed_sents()` of a corpus, without traces.

    Where brackets do not match, or a line within a tree is not indented, NLTK's readers make flat trees of pairs of a
    word and its tag.  Such trees are left out, and a warning after the last tree counts them;
    `constituency_trees("nltk:NAME")` reads them.

    trees: objects of `nltk.Tree`; any iterable, read once.

    Raises the errors of `phrase_from_nltk`, ValueError for a label with white space or a bracket, and EstimationError
    for a tree without words, with the number of the tree.

    >>> import warnings
    >>> from nltk.tree import Tree
    >>> changes = Changes()
    >>> trees = [Tree("NN", ["rain"]), Tree("S", [("It", "PRP"), ("rains", "VBZ")])]
    >>> with warnings.catch_warnings(action="ignore"):
    ...     print(list(phrases_from_nltk(trees, changes)), changes.table(), sep="\\n")
    [<Phrase: (NN rain)>]
    1  trees that NLTK could not read left out
       the first: tree 2
    """
    changes = Changes() if changes is None else changes
    return filter(None, (without_empty(phrase, changes) for phrase in _convert(trees, changes, "tree")))


def _convert(trees: Iterable[Any], changes: Changes, place: str, leaves_out: bool = False) -> Iterator[Phrase]:
    """Make phrases of trees, and leave out those that NLTK has flattened; errors name the number after the place."""
    own = Changes()
    phrases = _converted(trees, own, place)
    beginning = list(islice(phrases, SAMPLE))
    markup = Markup.of_trees([phrase for _, phrase in beginning])
    for number, raw in chain(beginning, phrases):
        phrase = markup.mark(raw, own)
        if phrase is not None and any(tagged_words(phrase)):
            yield phrase
        elif leaves_out:
            own.leave_out(NO_WORDS, f"{place} {number}")
        else:
            raise EstimationError(f"{place} {number}: the tree has no words; remove it")
    own.warn(stacklevel=2)
    changes.add(own)


def _converted(trees: Iterable[Any], changes: Changes, place: str) -> Iterator[tuple[int, Phrase]]:
    """Make phrases of trees as they stand, with their numbers, and leave out those that NLTK has flattened."""
    for number, tree in enumerate(trees, start=1):
        if hasattr(tree, "label") and len(tree) and all(isinstance(child, tuple) for child in tree):
            changes.leave_out("trees that NLTK could not read left out", f"{place} {number}")
            continue
        try:
            phrase = plain_phrase_from_nltk(tree)
            for node in inner_first([phrase]):
                if _UNWRITABLE.search(node.label):
                    raise ValueError(
                        f"the label {node.label!r:.80} has white space or a bracket, which no file of trees can hold; "
                        f"take it out of the label"
                    )
        except (TypeError, ValueError) as error:
            raise type(error)(f"{place} {number}: {error}") from None
        yield number, phrase


# Tags and words


_Token = tuple[Any, Any, Any]  # a word, its own tag (None without tags), and the tag to be read; of any types


def tagged_of_file(
    changes: Changes | None, column: str | None, reader: Any, corpus: str, file: str
) -> Iterator[list[tuple[str, str]]]:
    """Read the tagged sentences of one file of a corpus, without empty elements."""
    return _without_empty(reader, corpus, file, changes, column, has_tags=True)


def words_of_file(changes: Changes | None, reader: Any, corpus: str, file: str) -> Iterator[list[str]]:
    """Read the words of the sentences of one file of a corpus, without empty elements."""
    rows = _without_empty(reader, corpus, file, changes, None, has_tags=False)
    return ([word for word, _ in row] for row in rows)


def _tokens(reader: Any, corpus: str, file: str, changes: Changes, column: str | None) -> Iterator[list[_Token]]:
    """Read the sentences of a file: `_own_phrases` reads those of trees if it can, and NLTK reads all others.

    In trees, NLTK takes a line that is not indented for another sentence."""
    phrases = _own_phrases(reader, corpus, file, changes) if column is None else None
    if phrases is not None:
        for tree in phrases:
            yield [(leaf.children[0], leaf.label, leaf.label) for leaf in tree.preterminals()]
        return
    if isinstance(reader, CorpusFiles):
        reader = _reader(corpus, "tagged_sents", "tagged corpus", "treebank")
    if column is not None:
        views = reader.tagged_sents(file), reader.tagged_sents(file, tagset=column)
        for sentence, mapped in zip(*map(_closing, views), strict=True):
            yield [(word, own, tag) for (word, own), (_, tag) in zip(sentence, mapped, strict=True)]
    elif hasattr(reader, "tagged_sents"):
        for sentence in _closing(reader.tagged_sents(file)):
            yield [(word, tag, tag) for word, tag in sentence]
    else:
        for sentence in _closing(reader.sents(file)):
            yield [(word, None, None) for word in sentence]


def _closing(view: Any) -> Iterator[Any]:
    """Return the items of a corpus view, and close its file even if not all items are read."""
    with closing(view) if hasattr(view, "close") else nullcontext():
        yield from view


def _without_empty(
    reader: Any, corpus: str, file: str, changes: Changes | None, column: str | None, *, has_tags: bool
) -> Iterator[list[tuple[str, str]]]:
    """Check each word that is not an empty element, with its tag if it has one, and leave out empty sentences."""
    changes = Changes() if changes is None else changes
    where = _place(corpus, file)
    is_view_of_trees = column is not None and (isinstance(reader, CorpusFiles) or hasattr(reader, "parsed_sents"))
    number = 1
    try:
        for sentence in _tokens(reader, corpus, file, changes, column):
            items = []
            for word, own_tag, tag in sentence:
                # NLTK's own views of trees give words and labels, without what stands around them.
                if own_tag == EMPTY_TAG or (is_view_of_trees and is_empty(own_tag, word)):
                    changes.remove(word)
                else:
                    items.append(_checked(word, tag if has_tags else "X"))
            if items:
                yield items
            else:
                changes.leave_out("sentences without words left out", f"{where}, sentence {number}")
            number += 1
    except (LookupError, TypeError, ValueError) as error:
        if column and not isinstance(error, ValueError):
            raise CorpusError(
                f"{where}: NLTK knows no universal tags for this corpus; leave out the column, "
                f"or run `python -m nltk.downloader universal_tagset`"
            ) from error
        reason = _FRAME.sub(" ", str(error)).strip()
        raise CorpusError(f"{where}, sentence {number}: {reason}; restore the corpus, or take another") from error


def _checked(word: Any, tag: Any) -> tuple[str, str]:
    """Return a word and its tag; raise ValueError if one of them is missing."""
    if not (isinstance(word, str) and word):
        raise ValueError(f"expected a word, got {word!r:.80}")
    if not (isinstance(tag, str) and tag):
        raise ValueError(f"expected a tag for the word {word!r:.80}, got {tag!r:.80}")
    return intern(str(word)), intern(str(tag))


# Files of treebanks, which are read without NLTK


Annotation = Literal["brackets", "dependencies", "other"]

# The folder, the names of the files, their encoding and their annotation, as in `nltk.corpus`.
_CORPORA: dict[str, tuple[str, str, str, Annotation]] = {
    "cess_cat": ("cess_cat", r"(?!\.).*\.tbf", "ISO-8859-15", "brackets"),
    "cess_esp": ("cess_esp", r"(?!\.).*\.tbf", "ISO-8859-15", "brackets"),
    "dependency_treebank": ("dependency_treebank", r".*\.dp", "ascii", "dependencies"),
    "treebank": ("treebank/combined", r"wsj_.*\.mrg", "ascii", "brackets"),
}


class CorpusFiles(NamedTuple):
    """The files of a treebank in a folder or a zip file, with the methods of NLTK's readers that need no more."""

    paths: dict[str, Path | zipfile.Path]
    encoding: str
    annotation: Annotation

    @staticmethod
    def find(corpus: str) -> CorpusFiles | None:
        """Find the files where NLTK looks for them: folders before zip files; None if it must look for itself.

        NLTK does so once it is imported, because a program may then have changed its paths and its readers."""
        if corpus not in _CORPORA or "nltk" in sys.modules:
            return None
        folder, names, encoding, annotation = _CORPORA[corpus]
        data = [Path(place, "corpora") for place in _data_folders()]
        for root in (*(place / folder for place in data), *(place / f"{corpus}.zip" for place in data)):
            try:
                if root.exists():
                    within = zipfile.Path(root, f"{folder}/") if root.suffix == ".zip" else root
                    paths = {path.name: path for path in within.iterdir() if re.fullmatch(names, path.name)}
                    return CorpusFiles(paths, encoding, annotation) if paths else None
            except (OSError, ValueError, zipfile.BadZipFile):
                return None
        return None

    def fileids(self) -> list[str]:
        """List the names of the files."""
        return list(self.paths)

    def raw(self, file: str) -> str:
        """Read the text of a file."""
        return self.paths[file].read_bytes().decode(self.encoding)


def _data_folders() -> list[str]:
    """List the folders of NLTK's data in the order in which NLTK looks into them."""
    given = [os.path.expanduser(folder) for folder in os.environ.get("NLTK_DATA", "").split(os.pathsep) if folder]
    own = [] if os.path.expanduser("~/") == "~/" else [os.path.expanduser("~/nltk_data")]
    if sys.platform == "win32":
        return [*given, *own]
    of_python = [os.path.join(sys.prefix, *part, "nltk_data") for part in ((), ("share",), ("lib",))]
    of_system = [f"{place}/{part}/nltk_data" for part in ("share", "lib") for place in ("/usr", "/usr/local")]
    return [*given, *own, *of_python, *of_system]


# Trees of NLTK


def phrase_from_nltk(tree: Any) -> Phrase:
    """Make a phrase of an `nltk.Tree`; a root without a label is dropped if it has one child.

    Leaves may contain anything, also spaces and brackets.  Traces have the tag -NONE-, as `parse_brackets` gives it.

    Raises `TypeError` for leaves or labels that are not strings, and `ValueError` for an empty leaf, an empty label
    below the root, and a constituent that is empty, has several words, or words beside phrases.

    >>> from nltk.tree import Tree
    >>> phrase_from_nltk(Tree("NP", [Tree("NNS", ["dogs"])]))
    <Phrase: (NP (NNS dogs))>
    """
    phrase = plain_phrase_from_nltk(tree)
    return Markup.of_trees([phrase]).mark(phrase, Changes()) or phrase


def plain_phrase_from_nltk(tree: Any) -> Phrase:
    """Make a phrase as `phrase_from_nltk` does, but leave traces as they stand."""
    parents_first: list[Any] = []  # parents before children, siblings from right to left
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        parents_first.append(node)
        is_inner = node is not tree
        if not (is_inner and isinstance(node, str)):
            _check(node, is_inner)
            waiting.extend(node)
    done: list[Any] = []
    for node in reversed(parents_first):
        if isinstance(node, str):
            done.append(node[:])  # a plain string, also of a subclass
        else:
            first = len(done) - len(node)  # the children are the latest phrases, in order
            done[first:] = [Phrase(node.label(), tuple(done[first:]))]
    (root,) = done
    return without_outer_bracket(cast(Phrase, root))


def _is_pair(node: Any) -> bool:
    """Tell whether a node is a word with its tag."""
    return isinstance(node, tuple) and len(node) == 2 and all(isinstance(part, str) and part for part in node)


def _check(node: Any, inner: bool) -> None:
    """Raise TypeError or ValueError for a node that `phrase_from_nltk` does not take."""
    if isinstance(node, list | tuple) and not hasattr(node, "label") and all(map(_is_pair, node)) and len(node):
        raise TypeError(
            f"expected an nltk.Tree, got a list of words with their tags, {node!r:.60}; give parsed sentences, or "
            f"train a tagger such as LatentHMMTagger"
        )
    if not (isinstance(node, list) and hasattr(node, "label")):
        raise TypeError(f"expected an nltk.Tree whose leaves are strings, got {type(node).__name__} {node!r:.80}")
    label = node.label()
    if not isinstance(label, str):
        raise TypeError(f"a label must be a string, got {type(label).__name__} {label!r:.80}")
    has_word = any(isinstance(child, str) for child in node)
    if len(node) == 0 or "" in node:
        raise ValueError(f"the constituent {label} is empty; remove it, or give it a word")
    if has_word and len(node) > 1:
        raise ValueError(
            f"the constituent {label} has several words, or words beside phrases; give each word a tag of its own"
        )
    if not label and (inner or has_word):
        raise ValueError("a constituent has no label; only a root over phrases may lack one")
