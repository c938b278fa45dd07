"""Read treebanks of any formalism.

A formalism answers five questions.

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
from collections.abc import Callable, Iterable, Iterator, Sequence
from numbers import Real
from typing import Generic, Protocol, TypeVar

import numpy as np

from spectral_latent.estimation._features import FeatureColumns, inside_templates, outside_templates
from spectral_latent.estimation._options import EstimationError
from spectral_latent.estimation._treebank import (
    SHARD_NODES,
    Columns,
    ColumnStore,
    Shard,
    Treebank,
    TreebankShard,
)
from spectral_latent.trees import FloatArray, SkeletalTrees

__all__ = ["Formalism", "TreeReader", "read_treebanks"]

Item = TypeVar("Item")
ItemIn = TypeVar("ItemIn", contravariant=True)


class Formalism(Protocol[ItemIn]):
    """The conversion of objects to s-trees with features.

    A formalism object serves one treebank.  It may number symbols, terminals and features as they occur, because the
    numbers must mean the same only within one treebank.
    """

    def n_nodes(self, item: ItemIn) -> int:
        """Compute a bound of the number of nodes of an object's s-tree, before it is made.

        item: one object.
        """

    def columns(self, items: Sequence[ItemIn], weight: FloatArray) -> Columns:
        """Convert objects to the arrays from which `shard` makes their s-trees and features.

        items: the T objects of one shard.
        weight: (T,) the weight of each object: it counts as this many objects.
        """

    def shard(self, columns: Columns) -> TreebankShard:
        """Make a shard from the arrays of some objects; it is called after all objects are read.

        columns: the arrays that `columns` returned for one shard.
        """


class TreeReader(Generic[Item]):
    """A formalism whose nodes have the features of the core alone (`inside_templates`, `outside_templates`).

    trees: the function that makes the s-trees of objects.

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
        """Count the nodes of an object's s-tree, which is made for this.

        item: one object.
        """
        return self._trees([item]).n_nodes

    def columns(self, items: Sequence[Item], weight: FloatArray) -> Columns:
        """Make the s-trees and features of objects.

        items: the T objects of one shard.
        weight: (T,) the weight of each object.
        """
        trees = self._trees(items)
        return Shard.of(trees, FeatureColumns.of(inside_templates(trees), outside_templates(trees)), weight).columns

    def shard(self, columns: Columns) -> TreebankShard:
        """Make a shard of the s-trees and features.

        columns: the columns of the shard.
        """
        return Shard(columns)


def read_treebanks(
    items: Iterable[Item],
    formalisms: Sequence[Formalism[Item]],
    *,
    weights: Iterable[float] | None = None,
    jobs: int | None = 1,
) -> list[Treebank]:
    """Read objects once, and make a treebank from them for each of several formalisms, without priors.

    Only the objects of one shard are in memory at a time.

    items: the objects of the treebank.
    formalisms: the formalism of each treebank; the first one bounds the sizes of objects.
    weights: the weight of each object, a number of at least 0: an object of weight 2 counts as two objects, and an
    object of weight 0 is left out.  All weights are 1 if not given.
    jobs: the number of threads that count rules; the result does not depend on it.
    Raises EstimationError if there are no objects, if there are fewer or more weights than objects, or if a weight is
    not a finite number of at least 0.

    >>> from spectral_latent.estimation import FeatureColumns, Shard
    >>> from spectral_latent.trees import SkeletalTrees
    >>> class Numbers:
    ...     "Trees of one node, which observes a number."
    ...     def n_nodes(self, number): return 1
    ...     def columns(self, numbers, weight):
    ...         n, none = len(numbers), [-1] * len(numbers)
    ...         trees = SkeletalTrees.of([0] * n, left=none, right=none, terminal=numbers, root=range(n))
    ...         return Shard.of(trees, FeatureColumns.of({"a": trees.symbol}, {"b": trees.symbol}), weight).columns
    ...     def shard(self, columns): return Shard(columns)
    >>> (treebank,) = read_treebanks([7, 8, 7], [Numbers()], weights=[1, 1, 0.5])
    >>> treebank.counts.rules.leaf.tolist(), treebank.counts.leaf.ravel()
    ([[0, 7], [0, 8]], array([1.5, 1. ]))
    """
    stores = [ColumnStore() for _ in formalisms]
    weighted = ((item, 1.0) for item in items) if weights is None else _weighted(items, weights)
    for batch, weight in _batches(weighted, formalisms[0]):
        for formalism, store in zip(formalisms, stores, strict=True):
            store.append(formalism.columns(batch, np.array(weight, dtype=np.float64)))
        del batch  # free the memory while the next batch is read
    if not len(stores[0]):
        raise EstimationError("no trees to learn from")
    treebanks = []
    for formalism, store in zip(formalisms, stores, strict=True):
        shards = [formalism.shard(columns) for columns in store]
        treebanks.append(Treebank.of(shards, jobs=jobs))
    return treebanks


def _weighted(items: Iterable[Item], weights: Iterable[float]) -> Iterator[tuple[Item, float]]:
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
    batch: list[Item] = []
    weights: list[float] = []
    n_nodes = 0
    for item, weight in items:
        batch.append(item)
        weights.append(weight)
        n_nodes += formalism.n_nodes(item)
        if n_nodes >= SHARD_NODES:
            yield batch, weights
            batch = []
            weights = []
            n_nodes = 0
    if batch:
        yield batch, weights
