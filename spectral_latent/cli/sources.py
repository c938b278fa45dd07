"""Read corpora from each SOURCE, a file, a folder, or a corpus of NLTK, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any


def treebank(sources: Iterable[str], changes: Any = None, form: Any = None, skip_bad: bool = False) -> Iterator[Any]:
    """Read trees, and count what is changed in them."""
    from spectral_latent.corpora import constituency_trees

    return chain.from_iterable(constituency_trees(each, changes, form, skip_bad=skip_bad) for each in sources)


def gold_trees(sources: Iterable[str], changes: Any = None, form: Any = None, skip_bad: bool = False) -> Iterator[Any]:
    """Read trees, and their words without traces."""
    from spectral_latent.evaluation import GoldTree

    return filter(None, (GoldTree.of(tree, changes) for tree in treebank(sources, changes, form, skip_bad)))


def dependency_entries(sources: Iterable[str], changes: Any = None, form: Any = None) -> Iterator[Any]:
    """Read dependency trees with their places."""
    from spectral_latent.corpora.sources import tree_entries

    return chain.from_iterable(tree_entries(each, changes, form) for each in sources)


def rooted_sentences(sources: Iterable[str], changes: Any = None, form: Any = None) -> Iterator[Any]:
    """Read dependency trees, and refuse a tree with several roots."""
    return (entry.rooted().sentence for entry in dependency_entries(sources, changes, form))


def tagged(
    sources: Iterable[str], column: str | None, default: str | None = None, changes: Any = None, form: Any = None
) -> Iterator[list[tuple[str, str]]]:
    """Read sentences with the tags of a column, or of a default column where a source has it."""
    from spectral_latent.corpora import tagged_sentences

    return chain.from_iterable(tagged_sentences(each, column, default, changes, form) for each in sources)


def untagged(sources: Iterable[str], changes: Any = None, form: Any = None) -> Iterator[list[str]]:
    """Read sentences without their tags."""
    from spectral_latent.corpora import sentences

    return chain.from_iterable(sentences(each, changes, form) for each in sources)


def universal(sources: Iterable[str], changes: Any = None, form: Any = None) -> Iterator[list[tuple[str, str]]]:
    """Read sentences with universal tags, which are made of UPOS tags, or by NLTK of the tags of a corpus."""
    from spectral_latent.corpora import CorpusError, universal_tag

    for source in sources:
        column = "universal" if source.startswith("nltk:") else None
        for sentence in tagged([source], column, changes=changes, form=form):
            try:
                yield [(word, universal_tag(tag)) for word, tag in sentence]
            except ValueError as error:
                raise CorpusError(f"{source}: {error}") from None
