"""Convert sequences to right-branching s-trees (Cohen et al. 2012, Discussion), and back.

A position with tag t has two nodes: its emission, which is a leaf, and its spine, which spans this position and all
positions after it.  Sequences without tags have a single tag.

| here | as a rule | hidden Markov model |
| --- | --- | --- |
| symbol t, of K tags | t → x | the emission of a position with tag t |
| symbol K + t | K+t → t K+t' | a position with tag t, then one with tag t' |
| | K+t → t | the last position |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from spectral_latent._compiled import check_column, check_starts
from spectral_latent.trees import BoolArray, FloatArray, IntArray, SkeletalTrees

__all__ = ["Sequences"]


@dataclass(frozen=True, eq=False)
class Sequences:
    """T sequences of numbered observations, one after another, with N positions in all; no sequence is empty.

    terminal: (N,) the observation at each position.
    tag: (N,) the tag of each position, 0 ... K - 1.
    start: (T + 1,) the first position of each sequence, and N.
    weight: (T,) the weight of each sequence: it counts as this many sequences.

    >>> sequences = Sequences.of([[7, 8], [9]], tags=[[0, 1], [0]])
    >>> trees = sequences.trees(n_tags=2)
    >>> trees.symbol, trees.left, trees.right
    (array([0, 1, 3, 2, 0, 2]), array([-1, -1,  1,  0, -1,  4]), array([-1, -1, -1,  2, -1, -1]))
    """

    terminal: IntArray
    tag: IntArray
    start: IntArray
    weight: FloatArray

    def __post_init__(self) -> None:
        n = np.size(self.terminal)
        check_column("observations", self.terminal, (n,), np.int64)
        check_column("tags", self.tag, (n,), np.int64)
        check_starts("starts of sequences", self.start, n)
        check_column("weights of sequences", self.weight, (len(self.start) - 1,), np.float64)

    @staticmethod
    def of(
        terminals: Iterable[Iterable[int]],
        tags: Iterable[Iterable[int]] | None = None,
        weight: FloatArray | None = None,
    ) -> Sequences:
        """Join sequences of integers.  Raises ValueError if one is empty.

        terminals: the observations of each sequence.
        tags: the tags of each sequence; all are 0 if not given.
        weight: (T,) the weight of each sequence; 1 if not given.
        """
        rows = [np.asarray(list(row), dtype=np.int64) for row in terminals]
        length = np.array([len(row) for row in rows], dtype=np.int64)
        if (length == 0).any():
            raise ValueError(f"sequence {int(np.argmin(length)) + 1} is empty")
        terminal = np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64)
        tag = np.zeros_like(terminal) if tags is None else np.array([t for row in tags for t in row], dtype=np.int64)
        weight = np.ones(len(rows)) if weight is None else weight
        return Sequences(terminal, tag, np.concatenate([[0], np.cumsum(length)]), weight)

    @staticmethod
    def of_lengths(lengths: IntArray) -> Sequences:
        """Make sequences in which every position has an observation of its own: its number.

        lengths: (T,) the length of each sequence.

        >>> Sequences.of_lengths(np.array([1, 2])).rows
        [array([0]), array([1, 2])]
        """
        start = np.concatenate([[0], np.cumsum(lengths)])
        n = int(start[-1])
        return Sequences(np.arange(n), np.zeros(n, dtype=np.int64), start, np.ones(len(lengths)))

    @property
    def n_sequences(self) -> int:
        """The number of sequences, T."""
        return len(self.start) - 1

    @property
    def rows(self) -> list[IntArray]:
        """The terminals of each sequence."""
        return [self.terminal[first:end] for first, end in pairwise(self.start.tolist())]

    @cached_property
    def sequence(self) -> IntArray:
        """(N,) the number of the sequence of each position."""
        return np.repeat(np.arange(self.n_sequences), np.diff(self.start))

    @cached_property
    def is_last(self) -> BoolArray:
        """(N,) whether the position is the last of its sequence."""
        last = np.zeros(len(self.terminal), dtype=bool)
        last[self.start[1:] - 1] = True
        return last

    @cached_property
    def emission(self) -> IntArray:
        """(N,) the leaf of each position; the leaves of a sequence come before its spine, in the order of positions."""
        return np.arange(len(self.terminal)) + self.start[self.sequence]

    @cached_property
    def spine(self) -> IntArray:
        """(N,) the spine node of each position; spines come after the leaves, that of the last position first."""
        return self.start[self.sequence] + 2 * self.start[self.sequence + 1] - 1 - np.arange(len(self.terminal))

    def shifted(self, column: IntArray, offset: int) -> IntArray:
        """Take from a column (N,) the values `offset` positions to the right; -1 beyond the ends of a sequence.

        column: (N,) integers, one for each position.
        offset: the number of positions to the right; negative for the left.

        >>> sequences = Sequences.of([[7, 8], [9]])
        >>> sequences.shifted(sequences.terminal, 1), sequences.shifted(sequences.terminal, -1)
        (array([ 8, -1, -1]), array([-1,  7, -1]))
        """
        position = np.arange(len(column)) + offset
        beyond = (position < self.start[self.sequence]) | (position >= self.start[self.sequence + 1])
        return np.where(beyond, -1, column[np.clip(position, 0, len(column) - 1)])

    def trees(self, n_tags: int) -> SkeletalTrees:
        """Make the s-trees of the sequences, with 2N nodes, for K = n_tags.

        n_tags: K, the number of tags.
        """
        symbol, left, right, terminal = np.full((4, 2 * len(self.terminal)), -1, dtype=np.int64)
        symbol[self.emission] = self.tag
        terminal[self.emission] = self.terminal
        symbol[self.spine] = n_tags + self.tag
        left[self.spine] = self.emission
        right[self.spine] = np.where(self.is_last, -1, self.spine - 1)
        return SkeletalTrees(symbol, left, right, terminal, 2 * self.start[1:] - 1)

    @staticmethod
    def of_trees(trees: SkeletalTrees) -> Sequences:
        """Convert s-trees back to sequences of weight 1; the inverse of `trees`.

        trees: s-trees as `trees` makes them.

        >>> again = Sequences.of_trees(Sequences.of([[7, 8], [9]], tags=[[0, 1], [0]]).trees(2))
        >>> again.terminal, again.tag, again.start
        (array([7, 8, 9]), array([0, 1, 0]), array([0, 2, 3]))
        """
        leaf = trees.is_leaf
        start = np.concatenate([[0], (trees.root + 1) // 2])
        return Sequences(trees.terminal[leaf], trees.symbol[leaf], start, np.ones(len(trees.root)))

    @staticmethod
    def joined(parts: Sequence[Sequences]) -> Sequences:
        """Join the sequences of all parts, in order.

        parts: sequences over the same observations and tags.
        """
        terminal = np.concatenate([part.terminal for part in parts])
        tag = np.concatenate([part.tag for part in parts])
        length = np.concatenate([np.diff(part.start) for part in parts])
        weight = np.concatenate([part.weight for part in parts])
        return Sequences(terminal, tag, np.concatenate([[0], np.cumsum(length)]), weight)

    def parts(self, size: int) -> Iterator[Sequences]:
        """Cut the sequences into parts of at least `size` positions each but the last; no sequence is cut.

        size: the smallest number of positions of a part.
        """
        first = 0
        while first < self.n_sequences:
            end = min(int(np.searchsorted(self.start, self.start[first] + size)), self.n_sequences)
            positions = slice(self.start[first], self.start[end])
            start = self.start[first : end + 1] - self.start[first]
            yield Sequences(self.terminal[positions], self.tag[positions], start, self.weight[first:end])
            first = end

    def part(self, which: BoolArray) -> Sequences:
        """Select some of the sequences.

        which: (T,) whether to keep each sequence.
        """
        keep = which[self.sequence]
        start = np.concatenate([[0], np.cumsum(np.diff(self.start)[which])])
        return Sequences(self.terminal[keep], self.tag[keep], start, self.weight[which])
