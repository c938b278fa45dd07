"""How often a treebank has what: all that estimators need to know of it besides latent states."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spectral_latent.estimation.moments import Moments
from spectral_latent.operators import Tensor
from spectral_latent.trees import BoolArray, FloatArray, IntArray, Rules, SkeletalTrees

__all__ = ["Tally"]


@dataclass(frozen=True, eq=False)
class Tally:
    """Counts of rules and of roots; those of shards add up to those of the whole.

    leaf: (R0,), unary: (R1,), binary: (R2,) how often each rule occurs.  opening: (R0,) how often a leaf rule is the
    first of a sentence.  root: (S,) trees rooted in each symbol.

    >>> trees = SkeletalTrees.of([0, 0, 0], left=[-1, -1, 0], right=[-1, -1, 1], terminal=[5, 6, -1], root=[2])
    >>> twice = Tally.of(trees) + Tally.of(trees)
    >>> twice.leaf, twice.opening, twice.binary, twice.symbol
    (array([2., 2.]), array([2., 0.]), array([2.]), array([6.]))
    """

    rules: Rules
    leaf: FloatArray
    unary: FloatArray
    binary: FloatArray
    opening: FloatArray
    root: FloatArray

    @staticmethod
    def of(trees: SkeletalTrees, opens: BoolArray | None = None) -> Tally:
        """Count; opens: of each leaf, in node order, whether it opens a sentence: the first leaf of a tree, if None."""
        rules, rule, leaf = trees.rules, trees.rule, trees.is_leaf
        opens = trees.first_leaf[leaf] == 0 if opens is None else opens
        return Tally(
            rules,
            leaf=_counts(rule[leaf], len(rules.leaf)),
            unary=_counts(rule[trees.is_unary], len(rules.unary)),
            binary=_counts(rule[trees.is_binary], len(rules.binary)),
            opening=_counts(rule[leaf][opens], len(rules.leaf)),
            root=_counts(trees.symbol[trees.root], int(trees.symbol.max(initial=-1)) + 1),
        )

    @staticmethod
    def none() -> Tally:
        """The counts of no trees."""
        return Tally.of(SkeletalTrees.of([], left=[], right=[], terminal=[], root=[]))

    @property
    def n_trees(self) -> int:
        """T."""
        return int(self.root.sum())

    @cached_property
    def symbol(self) -> FloatArray:
        """How many nodes each symbol has (S,)."""
        parents = [getattr(self.rules, kind)[:, 0] for kind in ("leaf", "unary", "binary")]
        counts = np.concatenate([self.leaf, self.unary, self.binary])
        return np.bincount(np.concatenate(parents), counts, minlength=len(self.root)).astype(float)

    def __add__(self, other: Tally) -> Tally:
        """The counts of both, over the rules of both."""
        (leaf, counts), (unary, (unary_count,)), (binary, (binary_count,)) = (
            _sums(ours, theirs, own, more)
            for ours, theirs, own, more in (
                (self.rules.leaf, other.rules.leaf, (self.leaf, self.opening), (other.leaf, other.opening)),
                (self.rules.unary, other.rules.unary, (self.unary,), (other.unary,)),
                (self.rules.binary, other.rules.binary, (self.binary,), (other.binary,)),
            )
        )
        root = np.zeros(max(len(self.root), len(other.root)))
        root[: len(self.root)] += self.root
        root[: len(other.root)] += other.root
        return Tally(Rules(leaf, unary, binary), counts[0], unary_count, binary_count, counts[1], root)

    def moments(self) -> Moments:
        """The moments with y = z = 1: those of one state a symbol."""
        return Moments(
            rules=self.rules,
            states=np.ones(len(self.root), dtype=np.int64),
            n_trees=self.n_trees,
            count=self.symbol,
            root=self.root[:, None],
            outer=self.symbol[:, None],
            inner=self.symbol[:, None],
            leaf=self.leaf[:, None],
            leaf_count=self.leaf,
            unary=np.ones((1, 2, 2)) * self.unary[:, None, None],
            binary=[Tensor.of_dense(np.full((2, 2, 2), n)) for n in self.binary],
        )


def _counts(which: IntArray, size: int) -> FloatArray:
    return np.bincount(which, minlength=size).astype(float)


def _sums(
    rows: IntArray, more_rows: IntArray, counts: tuple[FloatArray, ...], more: tuple[FloatArray, ...]
) -> tuple[IntArray, list[FloatArray]]:
    """The rules of both tables, and the sums of each of their counts."""
    table, which = Rules.distinct(np.concatenate([rows, more_rows]))
    sums = (np.concatenate(pair) for pair in zip(counts, more, strict=True))
    return table, [np.bincount(which, count, minlength=len(table)).astype(float) for count in sums]
