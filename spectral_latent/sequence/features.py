"""Compute the features of sequences: observations and tags at a position and near it; shards compute them when read.

The inside features of a spine are those of its position and of the positions to the right; the outside features are
those of the positions to the left.  The inside features of an emission are those of its observation; the outside
features are those of both sides.

| here | meaning |
| --- | --- |
| x | the observation at a position |
| t | its tag |
| x+1, x-1 | the observations at the next position and at the one before; -1 beyond the ends |
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from spectral_latent.estimation import Columns, FeatureColumns, hash_columns
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.trees import FloatArray, IntArray, SkeletalTrees

__all__ = ["SequenceShard", "longest_grams", "tagged_features", "untagged_features", "untagged_shard"]


def _columns(sequences: Sequences, emission: list[IntArray], spine: list[IntArray]) -> IntArray:
    """Put templates (N,) of emissions and of spines into columns of all nodes (2N, d), filled up with -1."""
    columns = np.full((2 * len(sequences.terminal), max(len(emission), len(spine))), -1, dtype=np.int64)
    for nodes, templates in ((sequences.emission, emission), (sequences.spine, spine)):
        for k, template in enumerate(templates):
            columns[nodes, k] = template
    return columns


def tagged_features(sequences: Sequences, chains: IntArray) -> FeatureColumns:
    """Make features of tagged sequences: words with their signatures, and up to three neighbouring tags.

    chains: (W, L) the signatures of each of W words, coarsest first, filled up with -1."""
    word = sequences.terminal
    word_before = sequences.shift(word, -1)
    before, before_2, after, after_2 = (sequences.shift(sequences.tag, offset) for offset in (-1, -2, 1, 2))
    inside = _columns(
        sequences,
        emission=[word, *chains[word].T[1:4]],
        spine=[word, after, hash_columns(word, after), hash_columns(after, after_2)],
    )
    outside = _columns(
        sequences,
        emission=[before, after, hash_columns(before, after)],
        spine=[before, hash_columns(before, before_2), hash_columns(before, word_before)],
    )
    return FeatureColumns(inside, outside)


def longest_grams(n_symbols: int, n_positions: int) -> int:
    """Choose the length of the longest n-grams: the largest L from 1 to 8 with n^L ≤ √N; 1 if there is none."""
    length = 1
    while length < 8 and (n_symbols ** (length + 1)) ** 2 <= n_positions:
        length += 1
    return length


def untagged_features(sequences: Sequences, longest: int) -> FeatureColumns:
    """Make features of sequences without tags: observations up to three positions away, and n-grams on either side."""
    after = [sequences.shift(sequences.terminal, offset) for offset in range(max(longest + 1, 3))]
    before = [sequences.shift(sequences.terminal, -1 - offset) for offset in range(max(longest, 3))]
    lengths = range(2, longest + 1)
    grams = [hash_columns(*after[:n]) for n in lengths]
    grams_before = [hash_columns(*before[:n]) for n in lengths]
    grams_after = [hash_columns(*after[1 : n + 1]) for n in lengths]
    inside = _columns(sequences, emission=[sequences.terminal], spine=[*after[:3], *grams])
    outside = _columns(
        sequences,
        emission=[before[0], after[1], before[1], after[2], *grams_before, *grams_after],
        spine=[*before[:3], *grams_before],
    )
    return FeatureColumns(inside, outside)


class SequenceShard(NamedTuple):
    """A shard of sequences, which computes its s-trees and features at each access.

    featurise: the function that computes the features of sequences; other processes must be able to import it."""

    columns: Columns
    n_tags: int
    featurise: Callable[[Sequences], FeatureColumns]

    @property
    def sequences(self) -> Sequences:
        """The sequences."""
        return Sequences(**self.columns)

    @property
    def trees(self) -> SkeletalTrees:
        """The s-trees."""
        return self.sequences.trees(self.n_tags)

    @property
    def weight(self) -> FloatArray:
        """The weight of each sequence, (T,)."""
        return self.columns["weight"]

    @property
    def features(self) -> FeatureColumns:
        """The features of the nodes."""
        return self.featurise(self.sequences)


def untagged_shard(columns: Columns, n_symbols: int, n_positions: int) -> SequenceShard:
    """Make a shard of sequences without tags; the length of n-grams depends on the number of all positions."""
    return SequenceShard(columns, 1, partial(untagged_features, longest=longest_grams(n_symbols, n_positions)))
