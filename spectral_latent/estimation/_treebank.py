"""Read treebanks of any formalism, and hold them: sequences of shards, in memory or in files.

Numbers of symbols and terminals, and values of features, mean the same in all shards.  A formalism answers five
questions.

| question | where the answer is |
| --- | --- |
| How does an object become an s-tree? | `Formalism.columns`, whose arrays `Formalism.shard` reads |
| Which features do its nodes have? | `Formalism.shard` |
| How is a terminal scored that was never seen? | `Priors`, which are given to `estimate` with the treebank |
| Which forest does a bare input have? | a `Forest`, whose edges have weights for `n_best_derivations` |
| Which objects do derivations stand for? | the formalism's own conversion of `Derivations` |
"""

from __future__ import annotations

import math
import shutil
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from numbers import Real
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import save_file

from spectral_latent._threads import without_collection
from spectral_latent.estimation._features import FeatureColumns, inside_templates, outside_templates
from spectral_latent.estimation._moments import Priors
from spectral_latent.estimation._parallel import parallel_map
from spectral_latent.estimation.progress import EstimationError
from spectral_latent.files import temporary_folder
from spectral_latent.operators import Counts
from spectral_latent.trees import FloatArray, SkeletalTrees

SHARD_NODES = 1 << 16  # the number of nodes of a shard, about, for any number of jobs
_MEMORY = 1 << 28  # the largest number of bytes of the treebanks that are read together and stay in memory
_TREE_COLUMNS = ("symbol", "left", "right", "terminal", "root")  # of `SkeletalTrees`

Columns = Mapping[str, NDArray[Any]]
Item = TypeVar("Item")
ItemIn = TypeVar("ItemIn", contravariant=True)


class TreebankShard(Protocol):
    """Some trees of a treebank and the features of their nodes, in memory, or read at each access."""

    @property
    def trees(self) -> SkeletalTrees:
        """The trees."""

    @property
    def weight(self) -> FloatArray:
        """The weight of each tree, (T,): a tree of weight 2 counts as two trees."""

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

    folder: the folder of the file, which exists as long as these columns refer to it; worker processes only get the
    path."""

    def __init__(self, path: Path, folder: _TemporaryFolder | None = None) -> None:
        self._path = path
        self._folder = folder

    def __reduce__(self) -> tuple[type[StoredColumns], tuple[Path]]:
        return StoredColumns, (self._path,)

    @staticmethod
    def write(name: str, columns: Columns, folder: _TemporaryFolder) -> StoredColumns:
        """Write arrays to a file of a folder; integers are written in four bytes if they fit."""
        path = folder.path / f"{name}.safetensors"
        save_file({name: _narrow(column) for name, column in columns.items()}, path)
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


def _narrow(column: NDArray[Any]) -> NDArray[Any]:
    """Store 64-bit integers (n, ...) in four bytes if they fit."""
    if column.dtype != np.int64 or not column.size:
        return column
    limits = np.iinfo(np.int32)
    fits = limits.min <= column.min() and column.max() <= limits.max
    return column.astype(np.int32) if fits else column


class ColumnStore:
    """Tables of arrays, one for each shard, in memory while they are small, and then in files.

    The files are in a temporary folder, which workers can read, too.  It is removed when no object refers to its
    shards.

    memory: the largest number of bytes in memory; if the shards are larger, all of them are kept in files."""

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

    def __iter__(self) -> Iterator[Columns]:
        return iter(self._shards)


@dataclass(frozen=True, eq=False)
class Shard:
    """Weighted trees and the features of their nodes as a table of arrays, in memory or in a file.

    Trees in memory are made once, so that they keep what is computed of them.

    columns: the columns of `SkeletalTrees`, the weight of each tree, and the features of nodes.

    >>> trees = SkeletalTrees.of([0], left=[-1], right=[-1], terminal=[5], root=[0])
    >>> shard = Shard.of(trees, FeatureColumns.of({"a": np.array([1])}, {"b": np.array([2])}))
    >>> shard.trees.terminal, shard.features.outside
    (array([5]), array([[2]]))
    """

    columns: Columns

    @staticmethod
    def of(trees: SkeletalTrees, features: FeatureColumns, weight: FloatArray | None = None) -> Shard:
        """Make a shard of trees in memory.

        weight: (T,) the weight of each tree; 1 if not given."""
        columns = {name: getattr(trees, name) for name in _TREE_COLUMNS}
        weight = np.ones(len(trees.root)) if weight is None else weight
        return Shard({**columns, "weight": weight, "inside": features.inside, "outside": features.outside})

    def __reduce__(self) -> tuple[type[Shard], tuple[Columns]]:
        return Shard, (self.columns,)

    @cached_property
    def _kept(self) -> SkeletalTrees:
        return SkeletalTrees(*(self.columns[name] for name in _TREE_COLUMNS))

    @property
    def trees(self) -> SkeletalTrees:
        """The trees."""
        return Shard(self.columns)._kept if isinstance(self.columns, StoredColumns) else self._kept

    @property
    def weight(self) -> FloatArray:
        """The weight of each tree, (T,)."""
        return self.columns["weight"]

    @property
    def features(self) -> FeatureColumns:
        """The features of the nodes."""
        return FeatureColumns(self.columns["inside"], self.columns["outside"])


def _counts_of(shard: TreebankShard) -> Counts:
    """Count the roots and rules of a shard."""
    return Counts.of_trees(shard.trees, shard.weight)


def count_rules(shards: Iterable[TreebankShard], jobs: int | None = 1) -> Counts:
    """Count the roots and rules of all shards."""
    none = Counts.of_trees(SkeletalTrees.of([], left=[], right=[], terminal=[], root=[]))
    return reduce(Counts.__add__, parallel_map(_counts_of, shards, jobs), none)


@dataclass(frozen=True, eq=False)
class Treebank:
    """A treebank that is ready for estimation.

    shards: the trees with their features, which are iterated several times.
    counts: the counts of the rules of all shards.
    priors: additions for trees that the treebank lacks.
    Raises EstimationError if there are no trees, or if a symbol below the largest number has no node."""

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
        priors: additions for trees that the treebank lacks; none if not given."""
        return Treebank(shards, count_rules(shards, jobs), priors or Priors())


class Formalism(Protocol[ItemIn]):
    """The conversion of objects to s-trees with features.

    A formalism object serves one treebank.  It may number symbols, terminals and features as they occur, because the
    numbers must mean the same only within one treebank."""

    def n_nodes(self, item: ItemIn) -> int:
        """Compute a bound of the number of nodes of an object's s-tree, before it is made."""

    def columns(self, items: Sequence[ItemIn], weight: FloatArray) -> Columns:
        """Convert objects to the arrays from which `shard` makes their s-trees and features.

        weight: (T,) the weight of each object: it counts as this many objects."""

    def shard(self, columns: Columns) -> TreebankShard:
        """Make a shard from the arrays of some objects; it is called after all objects are read.

        By default, the arrays are those of a `Shard`.

        columns: the arrays that `columns` returned for one shard."""
        return Shard(columns)


class TreeReader(Formalism[Item]):
    """A formalism whose nodes have the features of the core alone (`inside_templates`, `outside_templates`).

    >>> def trees(numbers):
    ...     n, none = len(numbers), [-1] * len(numbers)
    ...     return SkeletalTrees.of([0] * n, left=none, right=none, terminal=numbers, root=range(n))
    >>> (treebank,) = read_treebanks([7, 8, 7], [TreeReader(trees)])
    >>> treebank.counts.leaf.ravel()
    array([2., 1.])
    """

    def __init__(self, trees: Callable[[Sequence[Item]], SkeletalTrees]) -> None:
        self._trees = trees

    def n_nodes(self, item: Item) -> int:
        """Count the nodes of an object's s-tree, which is made for this."""
        return self._trees([item]).n_nodes

    def columns(self, items: Sequence[Item], weight: FloatArray) -> Columns:
        """Make the s-trees and features of objects.

        weight: (T,) the weight of each object."""
        trees = self._trees(items)
        return Shard.of(trees, FeatureColumns.of(inside_templates(trees), outside_templates(trees)), weight).columns


def read_treebanks(
    items: Iterable[Item],
    formalisms: Sequence[Formalism[Item]],
    *,
    weights: Iterable[float] | None = None,
    jobs: int | None = 1,
) -> list[Treebank]:
    """Read objects once, and make a treebank from them for each of several formalisms, without priors.

    Only the objects of one shard are in memory at a time.

    formalisms: the formalism of each treebank; the first one bounds the sizes of objects.
    weights: the weight of each object, a number of at least 0: an object of weight 2 counts as two objects, and an
    object of weight 0 is left out.  All weights are 1 if not given.
    Raises EstimationError if there are no objects, if there are fewer or more weights than objects, or if a weight is
    not a finite number of at least 0.

    >>> from spectral_latent.estimation import FeatureColumns, Shard
    >>> from spectral_latent.trees import SkeletalTrees
    >>> class Numbers(Formalism[int]):
    ...     "Trees of one node, which observes a number."
    ...     def n_nodes(self, number): return 1
    ...     def columns(self, numbers, weight):
    ...         n, none = len(numbers), [-1] * len(numbers)
    ...         trees = SkeletalTrees.of([0] * n, left=none, right=none, terminal=numbers, root=range(n))
    ...         return Shard.of(trees, FeatureColumns.of({"a": trees.symbol}, {"b": trees.symbol}), weight).columns
    >>> (treebank,) = read_treebanks([7, 8, 7], [Numbers()], weights=[1, 1, 0.5])
    >>> treebank.counts.rules.leaf.tolist(), treebank.counts.leaf.ravel()
    ([[0, 7], [0, 8]], array([1.5, 1. ]))
    """
    stores = [ColumnStore(_MEMORY // len(formalisms)) for _ in formalisms]
    weighted = ((item, 1.0) for item in items) if weights is None else _pair_with_weights(items, weights)
    for batch, weight in _batches(weighted, formalisms[0]):
        for formalism, store in zip(formalisms, stores, strict=True):
            with without_collection():
                columns = formalism.columns(batch, np.array(weight, dtype=np.float64))
            store.append(columns)
        del batch  # free the memory while the next batch is read
    if not len(stores[0]):
        raise EstimationError("no trees to learn from; give at least one, of a weight above 0")
    treebanks = []
    for formalism, store in zip(formalisms, stores, strict=True):
        shards = [formalism.shard(columns) for columns in store]
        treebanks.append(Treebank.of(shards, jobs=jobs))
    return treebanks


def _pair_with_weights(items: Iterable[Item], weights: Iterable[float]) -> Iterator[tuple[Item, float]]:
    """Pair objects with their weights; objects of weight 0 are left out."""
    others = iter(weights)
    number = 0
    for number, item in enumerate(items, start=1):
        weight = next(others, None)
        if weight is None:
            raise EstimationError(f"{number - 1} weights for more trees; give each tree one")
        if not (isinstance(weight, Real) and math.isfinite(weight) and weight >= 0.0):
            raise EstimationError(f"the weight of tree {number} is {weight!r}; give a finite number of at least 0")
        if weight > 0.0:
            yield item, float(weight)
    if next(others, None) is not None:
        raise EstimationError(f"there are more weights than the {number} trees; give each tree one")


def _batches(
    items: Iterable[tuple[Item, float]], formalism: Formalism[Item]
) -> Iterator[tuple[list[Item], list[float]]]:
    """Divide objects with weights into batches for shards; no batch is empty."""
    rest = iter(items)
    while True:
        batch: list[Item] = []
        weights: list[float] = []
        n_nodes = 0
        with without_collection():
            for item, weight in rest:
                batch.append(item)
                weights.append(weight)
                n_nodes += formalism.n_nodes(item)
                if n_nodes >= SHARD_NODES:
                    break
        if not batch:
            return
        yield batch, weights
