"""Read treebanks of any formalism, by the questions that a formalism answers.

A formalism answers five questions.

| question | where the answer is |
| --- | --- |
| How does an object become an s-tree? | `Formalism.columns`, whose arrays `Formalism.shard` reads |
| Which features do its nodes have? | `Formalism.shard` |
| How is a terminal scored that was never seen? | `Priors`, which are given to `estimate` with the treebank |
| Which forest does a bare input have? | `inference.Analyses.forest` |
| Which object does a derivation stand for? | `inference.Analyses.analysis` |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from spectral_latent.estimation._options import EstimationError
from spectral_latent.estimation._treebank import (
    SHARD_NODES,
    Columns,
    ColumnStore,
    Treebank,
    TreebankCounts,
    TreebankShard,
)

__all__ = ["Formalism", "read_treebanks"]

Item = TypeVar("Item")
ItemIn = TypeVar("ItemIn", contravariant=True)


class Formalism(Protocol[ItemIn]):
    """The conversion of objects to s-trees with features.

    A formalism object serves one treebank.  It may number symbols, terminals and features as they occur, because the
    numbers must mean the same in all shards only.
    """

    def n_nodes(self, item: ItemIn) -> int:
        """Bound the number of nodes of an object's s-tree, before it is made.

        item: one object.
        """

    def columns(self, items: Sequence[ItemIn]) -> Columns:
        """Convert objects to the arrays from which `shard` makes their s-trees and features.

        items: the objects of one shard.
        """

    def shard(self, columns: Columns) -> TreebankShard:
        """Make a shard of the arrays of some objects; called when all objects are read.

        columns: the arrays that `columns` returned for one shard.
        """


def read_treebanks(
    items: Iterable[Item], formalisms: Sequence[Formalism[Item]], *, jobs: int | None = 1
) -> list[Treebank]:
    """Read objects once, and make a treebank of them under each of several formalisms, without priors.

    Only the objects of one shard are in memory at a time.

    items: the objects.
    formalisms: one for each treebank; the first one bounds the sizes of objects.
    jobs: the number of threads that count rules; the result does not depend on it.
    Raises EstimationError if there are no objects.

    >>> import numpy as np
    >>> from spectral_latent.estimation import FeatureColumns, Shard
    >>> from spectral_latent.trees import SkeletalTrees
    >>> class Numbers:
    ...     "Trees of one node, which observes a number."
    ...     def n_nodes(self, number): return 1
    ...     def columns(self, numbers):
    ...         n, none = len(numbers), [-1] * len(numbers)
    ...         trees = SkeletalTrees.of([0] * n, left=none, right=none, terminal=numbers, root=range(n))
    ...         return Shard.of(trees, FeatureColumns.of({"a": trees.symbol}, {"b": trees.symbol})).columns
    ...     def shard(self, columns): return Shard(columns)
    >>> (treebank,) = read_treebanks([7, 8, 7], [Numbers()])
    >>> treebank.counts.rules.leaf.tolist(), treebank.counts.leaf.ravel()
    ([[0, 7], [0, 8]], array([2., 1.]))
    """
    stores = [ColumnStore() for _ in formalisms]
    for batch in _batches(items, formalisms[0]):
        for formalism, store in zip(formalisms, stores, strict=True):
            store.append(formalism.columns(batch))
        del batch  # while the next one is read, this one may go
    if not len(stores[0]):
        raise EstimationError("no trees to learn from")
    treebanks = []
    for formalism, store in zip(formalisms, stores, strict=True):
        shards = [formalism.shard(columns) for columns in store]
        treebanks.append(Treebank(shards, TreebankCounts.of_shards(shards, jobs)))
    return treebanks


def _batches(items: Iterable[Item], formalism: Formalism[Item]) -> Iterator[list[Item]]:
    """Divide objects into the batches of which shards are made, none of them empty."""
    batch: list[Item] = []
    n_nodes = 0
    for item in items:
        batch.append(item)
        n_nodes += formalism.n_nodes(item)
        if n_nodes >= SHARD_NODES:
            yield batch
            batch = []
            n_nodes = 0
    if batch:
        yield batch
