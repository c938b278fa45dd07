"""Treebanks in shards, which need not be in memory together.

What a number stands for must be the same in all shards: symbols, terminals, and the values of features.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from spectral_latent.estimation.features import FeatureColumns
from spectral_latent.estimation.mapping import mapped
from spectral_latent.estimation.options import EstimationError
from spectral_latent.estimation.smoothing import Unseen
from spectral_latent.estimation.tally import Tally
from spectral_latent.trees import SkeletalTrees

__all__ = ["Shard", "ShardedData", "SomeTrees", "StoredShard", "StoredShards", "tally_of"]

_COLUMNS = ("symbol", "left", "right", "terminal", "root")


class SomeTrees(Protocol):
    """Trees and their features, in memory or to be read when asked for."""

    @property
    def trees(self) -> SkeletalTrees:
        """The trees."""

    @property
    def features(self) -> FeatureColumns:
        """The features of their nodes."""


class Shard(NamedTuple):
    """Trees and their features."""

    trees: SkeletalTrees
    features: FeatureColumns


class StoredShard(NamedTuple):
    """A shard in a file, which is read whenever its trees or features are asked for."""

    path: Path

    @property
    def trees(self) -> SkeletalTrees:
        """The trees."""
        with np.load(self.path) as columns:
            return SkeletalTrees(*(columns[name] for name in _COLUMNS))

    @property
    def features(self) -> FeatureColumns:
        """Their features."""
        with np.load(self.path) as columns:
            return FeatureColumns(columns["inside"], columns["outside"])


class StoredShards:
    """Shards in files of a temporary folder, which workers read too, and which is gone when the shards are.

    >>> shards, trees = StoredShards(), SkeletalTrees.of([0], left=[-1], right=[-1], terminal=[5], root=[0])
    >>> shards.append(Shard(trees, FeatureColumns.of({"a": np.array([1])}, {"b": np.array([2])})))
    >>> [(shard.trees.terminal, shard.features.outside) for shard in shards]
    [(array([5]), array([[2]]))]
    """

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="spectral-latent-")
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._n = 0

    def _path(self, number: int) -> Path:
        return Path(self._folder, f"{number}.npz")

    def append(self, shard: Shard) -> None:
        """Write a shard."""
        columns = {name: getattr(shard.trees, name) for name in _COLUMNS}
        np.savez(self._path(self._n), inside=shard.features.inside, outside=shard.features.outside, **columns)
        self._n += 1

    def __len__(self) -> int:
        return self._n

    def __iter__(self) -> Iterator[StoredShard]:
        return (StoredShard(self._path(number)) for number in range(self._n))


def _counted(shard: SomeTrees) -> Tally:
    return Tally.of(shard.trees)


def tally_of(shards: Iterable[SomeTrees], jobs: int | None = 1) -> Tally:
    """The counts of all shards."""
    return reduce(Tally.__add__, mapped(_counted, shards, jobs), Tally.none())


@dataclass(frozen=True, eq=False)
class ShardedData:
    """What `TrainingData` is, in shards; they are iterated several times.

    Raises EstimationError if there are no trees, or a symbol below the largest occurs at no node.
    """

    shards: Iterable[SomeTrees]
    tally: Tally
    unseen: Unseen = field(default_factory=Unseen)

    def __post_init__(self) -> None:
        if not self.tally.n_trees or not self.tally.symbol.all():
            raise EstimationError("no trees to learn from, or symbols that occur at no node")

    @staticmethod
    def of(shards: Iterable[SomeTrees], unseen: Unseen | None = None, *, jobs: int | None = 1) -> ShardedData:
        """Count what the shards have."""
        return ShardedData(shards, tally_of(shards, jobs), unseen or Unseen())
