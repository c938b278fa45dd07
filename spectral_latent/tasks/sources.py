"""Read corpora from each SOURCE: a file, a folder, or a corpus of NLTK."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from spectral_latent.tasks.inputs import refuse_format

if TYPE_CHECKING:
    from spectral_latent.constituency import Changes, Phrase
    from spectral_latent.corpora import Format
    from spectral_latent.corpora.sources import Entry
    from spectral_latent.dependency import DependencySentence
    from spectral_latent.evaluation import GoldTree

__all__ = ["dependency_entries", "gold_trees", "rooted_sentences", "tagged", "treebank", "universal", "untagged"]

_T = TypeVar("_T")
_BEGINNING = 1 << 16  # the number of bytes that are read to tell the format of a file


def treebank(sources: Iterable[str], changes: Changes | None = None) -> Iterator[Phrase]:
    """Read the trees of sources, and count what is changed in them.

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
    """Read the trees of sources, and their words without traces."""
    from spectral_latent.evaluation import GoldTree

    yield from filter(None, (GoldTree.of(tree, changes) for tree in treebank(sources, changes)))


def dependency_entries(sources: Iterable[str], changes: Changes | None = None) -> Iterator[Entry]:
    """Read the dependency trees of sources with their places."""
    from spectral_latent.corpora.sources import tree_entries

    return _read(sources, partial(tree_entries, changes=changes), "conllu", "malt-tab")


def rooted_sentences(sources: Iterable[str], changes: Changes | None = None) -> Iterator[DependencySentence]:
    """Read the dependency trees of sources, and refuse a tree with several roots."""
    return (entry.rooted().sentence for entry in dependency_entries(sources, changes))


def tagged(
    sources: Iterable[str], column: str | None, default: str | None = None, changes: Changes | None = None
) -> Iterator[list[tuple[str, str]]]:
    """Read the tagged sentences of sources: the tags of a column, or of a default column where a source has it."""
    from spectral_latent.corpora import tagged_sentences

    read = partial(tagged_sentences, column=column, default=default, changes=changes)
    return _read(sources, read, "tagged", "conllu", "malt-tab")


def untagged(sources: Iterable[str], changes: Changes | None = None) -> Iterator[list[str]]:
    """Read the sentences of sources without their tags."""
    from spectral_latent.corpora import sentences

    return _read(sources, partial(sentences, changes=changes), "tokens", "tagged", "conllu", "malt-tab")


def universal(sources: Iterable[str], changes: Changes | None = None) -> Iterator[list[tuple[str, str]]]:
    """Read sentences with universal tags, which are made of UPOS tags, or by NLTK of the tags of a corpus.

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
    """Read sources one after the other, and refuse a file that has none of the needed formats."""
    from spectral_latent.corpora import sniff_format
    from spectral_latent.corpora.text import utf8_chunks

    for source in sources:
        path = Path(source)
        if path.is_file():
            with path.open("rb") as file:
                chunks = iter(partial(file.read, _BEGINNING), b"")
                beginning = next(utf8_chunks(chunks, source), b"").decode("utf-8", errors="replace")
            refuse_format(source, sniff_format(source, beginning), *needed)
        yield from read(source)
