"""Read corpora from each SOURCE: a file, a folder, or a corpus of NLTK."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spectral_latent.constituency import Changes, Phrase
    from spectral_latent.corpora import Format
    from spectral_latent.corpora.sources import Entry
    from spectral_latent.dependency import DependencySentence
    from spectral_latent.evaluation import GoldTree

__all__ = ["dependency_entries", "gold_trees", "rooted_sentences", "tagged", "treebank", "universal", "untagged"]


def treebank(
    sources: Iterable[str], changes: Changes | None = None, form: Format | None = None, skip_bad: bool = False
) -> Iterator[Phrase]:
    """Read the trees of sources, and count what is changed in them."""
    from spectral_latent.corpora import constituency_trees

    for source in sources:
        yield from constituency_trees(source, changes, form, skip_bad=skip_bad)


def gold_trees(
    sources: Iterable[str], changes: Changes | None = None, form: Format | None = None, skip_bad: bool = False
) -> Iterator[GoldTree]:
    """Read the trees of sources, and their words without traces."""
    from spectral_latent.evaluation import GoldTree

    yield from filter(None, (GoldTree.of(tree, changes) for tree in treebank(sources, changes, form, skip_bad)))


def dependency_entries(
    sources: Iterable[str], changes: Changes | None = None, form: Format | None = None
) -> Iterator[Entry]:
    """Read the dependency trees of sources with their places."""
    from spectral_latent.corpora.sources import tree_entries

    for source in sources:
        yield from tree_entries(source, changes, form)


def rooted_sentences(
    sources: Iterable[str], changes: Changes | None = None, form: Format | None = None
) -> Iterator[DependencySentence]:
    """Read the dependency trees of sources, and refuse a tree with several roots."""
    return (entry.rooted().sentence for entry in dependency_entries(sources, changes, form))


def tagged(
    sources: Iterable[str],
    column: str | None,
    default: str | None = None,
    changes: Changes | None = None,
    form: Format | None = None,
) -> Iterator[list[tuple[str, str]]]:
    """Read the tagged sentences of sources: the tags of a column, or of a default column where a source has it."""
    from spectral_latent.corpora import tagged_sentences

    for source in sources:
        yield from tagged_sentences(source, column, default, changes, form)


def untagged(sources: Iterable[str], changes: Changes | None = None, form: Format | None = None) -> Iterator[list[str]]:
    """Read the sentences of sources without their tags."""
    from spectral_latent.corpora import sentences

    for source in sources:
        yield from sentences(source, changes, form)


def universal(
    sources: Iterable[str], changes: Changes | None = None, form: Format | None = None
) -> Iterator[list[tuple[str, str]]]:
    """Read sentences with universal tags, which are made of UPOS tags, or by NLTK of the tags of a corpus."""
    from spectral_latent.corpora import CorpusError, universal_tag

    for source in sources:
        column = "universal" if source.startswith("nltk:") else None
        for sentence in tagged([source], column, changes=changes, form=form):
            try:
                yield [(word, universal_tag(tag)) for word, tag in sentence]
            except ValueError as error:
                raise CorpusError(f"{source}: {error}") from None
