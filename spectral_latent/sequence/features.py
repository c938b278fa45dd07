"""The features of sequences: what stands at a position and around it.

The spine at position i has what comes from i on below it, and what comes before i outside; the emission has its
observation inside and both neighbours outside.

| here | meaning |
| --- | --- |
| x | the observation at a position |
| t | its tag |
| x+1, x-1 | those of the next position and of the one before; -1 beyond the ends |
"""

from __future__ import annotations

import numpy as np

from spectral_latent.estimation import FeatureColumns, joint
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.trees import IntArray

__all__ = ["tagged_features", "untagged_features"]


def _columns(sequences: Sequences, emission: list[IntArray], spine: list[IntArray]) -> IntArray:
    """Templates (2N, d) of nodes from those of emissions and spines (N,); the shorter list is padded."""
    columns = np.full((2 * len(sequences.terminal), max(len(emission), len(spine))), -1, dtype=np.int64)
    for nodes, templates in ((sequences.emission, emission), (sequences.spine, spine)):
        for k, template in enumerate(templates):
            columns[nodes, k] = template
    return columns


def tagged_features(sequences: Sequences, ladders: IntArray) -> FeatureColumns:
    """Few templates, for symbols that are tags: words with their signatures, and up to three tags in a row.

    ladders: (N, L) the signatures of the word at each position, coarsest first, -1 beyond the finest.
    """
    word, tag = sequences.terminal, sequences.tag
    tag_1, tag_2, next_1, next_2 = (sequences.shifted(tag, offset) for offset in (-1, -2, 1, 2))
    word_1 = sequences.shifted(word, -1)
    inside = _columns(
        sequences,
        emission=[word, *ladders.T[1:4]],
        spine=[word, next_1, joint(word, next_1), joint(next_1, next_2)],
    )
    outside = _columns(
        sequences,
        emission=[tag_1, next_1, joint(tag_1, next_1)],
        spine=[tag_1, joint(tag_1, tag_2), joint(tag_1, word_1)],
    )
    return FeatureColumns(inside, outside)


def _order(n_symbols: int, n_positions: int) -> int:
    """The longest n-grams of which each occurs √N times if all are equally frequent, at least 1.

    >>> _order(2, 100_000), _order(20, 100_000), _order(1, 100_000)
    (8, 1, 8)
    """
    longest = 8  # of n-grams over one or two symbols; beyond that, templates only cost time
    order = 1
    while order < longest and (n_symbols ** (order + 1)) ** 2 <= n_positions:
        order += 1
    return order


def untagged_features(sequences: Sequences) -> FeatureColumns:
    """Single observations up to two positions away; where the alphabet is small, n-grams to either side besides.

    >>> untagged_features(Sequences.of([[7, 8], [9]])).outside.tolist()
    [[-1, 8], [7, -1], [7, -1], [-1, -1], [-1, -1], [-1, -1]]
    """
    x = sequences.terminal
    order = _order(len(np.unique(x)), len(x))
    after = [sequences.shifted(x, offset) for offset in range(max(order, 2))]
    before = [sequences.shifted(x, -1 - offset) for offset in range(max(order, 2))]
    following = [joint(*after[1 : 1 + n]) for n in range(2, order + 1) if n < len(after)]
    grams_after = [joint(*after[:n]) for n in range(2, order + 1)]
    grams_before = [joint(*before[:n]) for n in range(2, order + 1)]
    inside = _columns(sequences, emission=[x], spine=[*after[:2], *grams_after])
    outside = _columns(
        sequences,
        emission=[before[0], after[1], *grams_before, *following],
        spine=[*before[:2], *grams_before],
    )
    return FeatureColumns(inside, outside)
