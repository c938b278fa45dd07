"""Hold treebanks: sequences of shards, in memory or in files.

Numbers of symbols and terminals, and values of features, mean the same in all shards.
"""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple, Protocol, overload

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import save_file

from spectral_latent.estimation._features import FeatureColumns
from spectral_latent.estimation._moments import Priors
from spectral_latent.estimation._options import EstimationError
from spectral_latent.estimation._parallel import parallel_map
from spectral_latent.files import temporary_folder
from spectral_latent.operators import Counts
from spectral_latent.trees import FloatArray, SkeletalTrees

__all__ = [
    "SHARD_NODES",
    "ColumnStore",
    "Columns",
    "Shard",
    "SkeletalShard",
    "Treebank",
    "TreebankShard",
    "count_rules",
]

SHARD_NODES = 1 << 16  # the number of nodes of a shard, about, for any number of jobs
_MEMORY = 1 << 28  # the largest number of bytes that stay in memory
_TREE_COLUMNS = ("symbol", "left", "right", "terminal", "root")  # of `SkeletalTrees`

Columns = Mapping[str, NDArray[Any]]


class SkeletalShard(Protocol):
    """Some trees of a treebank, in memory, or read at each access."""

    @property
    def trees(self) -> SkeletalTrees:
        """The trees."""

    @property
    def weight(self) -> FloatArray:
        """The weight of each tree, (T,): a tree of weight 2 counts as two trees."""


class TreebankShard(SkeletalShard, Protocol):
    """Some trees of a treebank and the features of their nodes."""

    @property
    def features(self) -> FeatureColumns:
        """The features of the nodes."""


class _TemporaryFolder:
    """A folder that is removed together with this object."""

    def __init__(self) -> None:
        self.path = temporary_folder()
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


class StoredColumns(Mapping[str, NDArray[Any]]):
    """Arrays in a file, which are read at each access.

    path: the file that holds the columns.
    folder: the folder of the file, which exists as long as these columns refer to it; worker processes only get the
    path.
    """

    def __init__(self, path: Path, folder: _TemporaryFolder | None = None) -> None:
        self._path = path
        self._folder = folder

    def __reduce__(self) -> tuple[type[StoredColumns], tuple[Path]]:
        return StoredColumns, (self._path,)

    @staticmethod
    def write(name: str, columns: Columns, folder: _TemporaryFolder) -> StoredColumns:
        """Write arrays to a file of a folder; integers are written in four bytes if they fit."""
        path = folder.path / f"{name}.safetensors"
        save_file({name: _narrowed(column) for name, column in columns.items()}, path)
        return StoredColumns(path, folder)

    def __getitem__(self, name: str) -> NDArray[Any]:
        with safe_open(self._path, framework="np") as file:
            column = file.get_tensor(name)
        return np.asarray(column, dtype=np.int64 if column.dtype == np.int32 else None)

    def __iter__(self) -> Iterator[str]:
        with safe_open(self._path, framework="np") as file:
            names = list(file.keys())
        return iter(names)

    def __len__(self) -> int:
        return len(list(iter(self)))


def _narrowed(column: NDArray[Any]) -> NDArray[Any]:
    """Store 64-bit integers (n, ...) in four bytes if they fit."""
    if column.dtype != np.int64 or not column.size:
        return column
    limits = np.iinfo(np.int32)
    fits = limits.min <= column.min() and column.max() <= limits.max
    return column.astype(np.int32) if fits else column


class ColumnStore(Sequence[Columns]):
    """Tables of arrays, one for each shard, in memory while they are small, and then in files.

    The files are in a temporary folder, which workers can read, too.  It is removed when no object refers to its
    shards.

    memory: the largest number of bytes in memory; if the shards are larger, all of them are kept in files.

    >>> store = ColumnStore(memory=0)
    >>> store.append({"a": np.array([1, 2])})
    >>> [columns["a"] for columns in store]
    [array([1, 2])]
    """

    def __init__(self, memory: int = _MEMORY) -> None:
        self._memory = memory
        self._size = 0
        self._shards: list[Columns] = []
        self._folder: _TemporaryFolder | None = None

    def append(self, columns: Columns) -> None:
        """Add the arrays of a shard."""
        self._size += sum(column.nbytes for column in columns.values())
        self._shards.append(columns)
        first = len(self._shards) - 1
        if self._folder is None and self._size > self._memory:
            self._folder = _TemporaryFolder()
            first = 0
        if self._folder is not None:
            for number in range(first, len(self._shards)):
                self._shards[number] = StoredColumns.write(str(number), self._shards[number], self._folder)

    def __len__(self) -> int:
        return len(self._shards)

    @overload
    def __getitem__(self, number: int) -> Columns: ...

    @overload
    def __getitem__(self, number: slice) -> Sequence[Columns]: ...

    def __getitem__(self, number: int | slice) -> Columns | Sequence[Columns]:
        return self._shards[number]


class Shard(NamedTuple):
    """Weighted trees and the features of their nodes as a table of arrays, in memory or in a file.

    >>> trees = SkeletalTrees.of([0], left=[-1], right=[-1], terminal=[5], root=[0])
    >>> shard = Shard.of(trees, FeatureColumns.of({"a": np.array([1])}, {"b": np.array([2])}))
    >>> shard.trees.terminal, shard.features.outside
    (array([5]), array([[2]]))
    """

    columns: Columns

    @staticmethod
    def of(trees: SkeletalTrees, features: FeatureColumns, weight: FloatArray | None = None) -> Shard:
        """Make a shard of trees in memory.

        trees: T trees of N nodes.
        features: the features of these nodes.
        weight: (T,) the weight of each tree; 1 if not given.
        """
        columns = {name: getattr(trees, name) for name in _TREE_COLUMNS}
        weight = np.ones(len(trees.root)) if weight is None else weight
        return Shard({**columns, "weight": weight, "inside": features.inside, "outside": features.outside})

    @property
    def trees(self) -> SkeletalTrees:
        """The trees."""
        return SkeletalTrees(*(self.columns[name] for name in _TREE_COLUMNS))

    @property
    def weight(self) -> FloatArray:
        """The weight of each tree, (T,)."""
        return self.columns["weight"]

    @property
    def features(self) -> FeatureColumns:
        """The features of the nodes."""
        return FeatureColumns(self.columns["inside"], self.columns["outside"])


def _counts_of(shard: SkeletalShard) -> Counts:
    """Count the roots and rules of a shard."""
    return Counts.of_trees(shard.trees, shard.weight)


def count_rules(shards: Iterable[SkeletalShard], jobs: int | None = 1) -> Counts:
    """Count the roots and rules of all shards."""
    none = Counts.of_trees(SkeletalTrees.of([], left=[], right=[], terminal=[], root=[]))
    return reduce(Counts.__add__, parallel_map(_counts_of, shards, jobs), none)


@dataclass(frozen=True, eq=False)
class Treebank:
    """A treebank that is ready for estimation.

    shards: the trees with their features, which are iterated several times.
    counts: the counts of the rules of all shards.
    priors: additions for trees that the treebank lacks.
    Raises EstimationError if there are no trees, or if a symbol below the largest number has no node.
    """

    shards: Sequence[TreebankShard]
    counts: Counts
    priors: Priors = field(default_factory=Priors)

    def __post_init__(self) -> None:
        if not self.counts.n_trees:
            raise EstimationError("no trees to learn from")
        if len(missing := np.flatnonzero(self.counts.symbol == 0)):
            raise EstimationError(f"symbols {missing.tolist()} occur at no node; number symbols without gaps")

    @staticmethod
    def of(shards: Sequence[TreebankShard], priors: Priors | None = None, *, jobs: int | None = 1) -> Treebank:
        """Count the rules of shards.

        shards: trees and the features of their nodes, which are iterated several times.
        priors: additions for trees that the treebank lacks; none if not given.
        """
        return Treebank(shards, count_rules(shards, jobs), priors or Priors())
