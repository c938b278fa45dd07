"""Make small shards of treebanks, in memory or in files, and count the items of a stream that are in use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

import pytest

from spectral_latent.estimation import _treebank

Item = TypeVar("Item", bound=tuple)  # type: ignore[type-arg] # tuples of any kind


def make_shards(monkeypatch: pytest.MonkeyPatch, size: int, *, in_files: bool) -> None:
    """Make the reader of treebanks begin a new shard after so many nodes, and keep shards in files or not."""
    monkeypatch.setattr(_treebank, "SHARD_NODES", size)
    monkeypatch.setattr(_treebank, "_MEMORY", 0 if in_files else 1 << 40)


class Watch:
    """Count the items of a stream that are in use.

    read: the number of items that were given out.
    most: the largest number of items that were in use at once.
    """

    def __init__(self) -> None:
        self.read = 0
        self.most = 0
        self._in_use: set[int] = set()

    def stream(self, items: Iterable[Item]) -> Iterator[Item]:
        """Give out copies of tuples, which can be read once."""
        in_use = self._in_use

        def forget(item: object) -> None:
            in_use.discard(id(item))

        for item in items:
            watched = type("Watched", (type(item),), {"__del__": forget})
            copy = tuple.__new__(watched, item)
            in_use.add(id(copy))
            self.read += 1
            self.most = max(self.most, len(in_use))
            yield copy
            del copy
