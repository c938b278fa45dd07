"""NLTK's corpora by name, and the parts of them that are for training, development and test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, TypeVar

from spectral_latent.corpora.text import CorpusError

__all__ = ["items_of_corpus"]

_T = TypeVar("_T")
_PARTS = ("train", "dev", "test")


def items_of_corpus(
    source: str,
    method: str,
    kind: str,
    items_of_file: Callable[[Any, str, str], Iterable[_T]],
    *,
    example: str = "treebank",
) -> Iterator[_T]:
    """What `items_of_file` finds, given an NLTK reader, its name, and each of its files in sorted order.

    `source` is `nltk:NAME`, or a part of it: `nltk:NAME:train`, `:dev`, `:test`.  With n the place of a file among
    the sorted file names, or that of an item if there is one file, counted from 1, n mod 10 = 9 is test, 8 is dev,
    and the rest is train.

    Raises `CorpusError`, at the call, for a name that NLTK does not know or whose reader is without the `method`,
    for a corpus that is not installed, and for a part that does not exist or has no files.  The first of these names
    the `example`, a corpus that would do.
    """
    corpus, _, part = source.removeprefix("nltk:").partition(":")
    if part not in ("", *_PARTS):
        raise CorpusError(f"{source}: no part {part!r}; give nltk:{corpus}, or one of its parts {', '.join(_PARTS)}")
    reader = _reader(corpus, method, kind, example)
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
    """The items of a part by the n mod 10 rule; all of them if it has no name."""
    return (item for n, item in enumerate(items, start=1) if part in ("", {8: "dev", 9: "test"}.get(n % 10, "train")))


def _reader(corpus: str, method: str, kind: str, example: str) -> Any:
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
        raise CorpusError(f"nltk:{corpus}: NLTK has no such {kind}; give one such as nltk:{example}")
    return reader
