"""Hold treebanks of sequences: their shards, and the priors of transitions between tags."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from spectral_latent.estimation import Columns, FeatureColumns, Priors, Treebank
from spectral_latent.operators import Counts
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.sequence.features import longest_grams, untagged_features
from spectral_latent.trees import FloatArray, Rules, SkeletalTrees

__all__ = ["SequenceShard", "StoredSequences", "columns_of", "tag_shares", "untagged_shard", "with_back_off"]


class SequenceShard(NamedTuple):
    """A shard of sequences, which computes its s-trees and features at each access.

    columns: the columns of `Sequences`.
    n_tags: K, the number of tags.
    featurise: the function that computes the features of sequences; other processes must be able to import it.
    """

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


def columns_of(sequences: Sequences) -> Columns:
    """Make the columns of a shard from sequences."""
    return {name: getattr(sequences, name) for name in ("terminal", "tag", "start", "weight")}


@dataclass(frozen=True)
class StoredSequences:
    """The sequences of all shards; a shard in a file is read at each iteration.

    shards: the sequences in shards.
    """

    shards: Sequence[SequenceShard]

    def __iter__(self) -> Iterator[Sequences]:
        return (shard.sequences for shard in self.shards)


def with_back_off(treebank: Treebank, n_tags: int, priors: Priors, back_off: float) -> Treebank:
    """Add priors to a treebank, under which every tag may be followed by every tag and by the end."""
    counts = treebank.counts
    ends = counts.n_trees / (counts.symbol[:n_tags].sum() + 1)
    rules = _transitions(tag_shares(counts, n_tags), ends, back_off)
    return replace(treebank, priors=priors._replace(rules=rules))


def tag_shares(counts: Counts, n_tags: int) -> FloatArray:
    """Compute the share (K,) of each tag among all positions."""
    emissions = counts.symbol[:n_tags]
    return np.asarray(emissions / emissions.sum())


def _transitions(prior: FloatArray, ends: float, tokens: float) -> Counts:
    """Make pseudo-counts of transitions from every tag to every tag and to the end, `tokens` for each tag.

    prior: (K,) the share of each tag among all positions.
    """
    n_tags = len(prior)
    tags = np.arange(n_tags)
    before, after = np.divmod(np.arange(n_tags**2), n_tags)
    rules = Rules(
        np.empty((0, 2), dtype=np.int64),
        unary=np.stack([n_tags + tags, tags], axis=1),
        binary=np.stack([n_tags + before, before, n_tags + after], axis=1),
    )
    return Counts.of_rules(
        rules,
        root=np.zeros(2 * n_tags),
        leaf=np.zeros(0),
        unary=np.full(n_tags, tokens * ends),
        binary=tokens * (1.0 - ends) * prior[after],
    )
