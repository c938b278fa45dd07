"""The features of sequences: observations and tags at a position and near it.

The inside features of a spine look at its position and those to the right, the outside features at those to the left.
The inside features of an emission look at its observation, the outside features at both sides.

| here | meaning |
| --- | --- |
| x | the observation at a position |
| t | its tag |
| x+1, x-1 | the observations at the next position and at the one before; -1 beyond the ends |
"""

from __future__ import annotations

import numpy as np

from spectral_latent.estimation import FeatureColumns
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.trees import IntArray

__all__ = ["longest_grams", "tagged_features", "untagged_features"]


def _columns(sequences: Sequences, emission: list[IntArray], spine: list[IntArray]) -> IntArray:
    """Place templates (N,) of emissions and of spines into columns of nodes (2N, d); the shorter list is padded."""
    columns = np.full((2 * len(sequences.terminal), max(len(emission), len(spine))), -1, dtype=np.int64)
    for nodes, templates in ((sequences.emission, emission), (sequences.spine, spine)):
        for k, template in enumerate(templates):
            columns[nodes, k] = template
    return columns


def _gram(*columns: tuple[IntArray, int]) -> IntArray:
    """Encode several columns as one, in the same way in every shard.

    columns: pairs of a column (N,) of values -1 ... size - 1, and the size.

    >>> _gram((np.array([-1, 0, 1]), 2), (np.array([0, 0, -1]), 3))
    array([1, 5, 8])
    """
    code = np.zeros_like(columns[0][0])
    for column, size in columns:
        code = code * (size + 1) + column + 1
    return code


def tagged_features(sequences: Sequences, ladders: IntArray, n_tags: int) -> FeatureColumns:
    """Make features of tagged sequences: words with their signatures, and up to three tags in a row.

    sequences: words with tags.
    ladders: (W, L) the signatures of each word, coarsest first, -1 beyond the finest.
    n_tags: K.
    """
    word = sequences.terminal
    n_words = len(ladders)
    before, before_2, after, after_2 = ((sequences.shifted(sequences.tag, offset), n_tags) for offset in (-1, -2, 1, 2))
    inside = _columns(
        sequences,
        emission=[word, *ladders[word].T[1:4]],
        spine=[word, after[0], _gram((word, n_words), after), _gram(after, after_2)],
    )
    outside = _columns(
        sequences,
        emission=[before[0], after[0], _gram(before, after)],
        spine=[before[0], _gram(before, before_2), _gram(before, (sequences.shifted(word, -1), n_words))],
    )
    return FeatureColumns(inside, outside)


def longest_grams(n_symbols: int, n_positions: int) -> int:
    """Choose the length of n-grams: the largest L of at most 8 with n^L ≤ √N, and at least 1.

    n_symbols: n, the number of different observations.
    n_positions: N.

    >>> longest_grams(2, 100_000), longest_grams(20, 100_000), longest_grams(1, 100_000)
    (8, 1, 8)
    """
    length = 1
    while length < 8 and (n_symbols ** (length + 1)) ** 2 <= n_positions:
        length += 1
    return length


def untagged_features(sequences: Sequences, n_symbols: int, longest: int) -> FeatureColumns:
    """Make features of sequences without tags: observations up to three positions away, and n-grams on either side.

    sequences: observations.
    n_symbols: n, the number of different observations.
    longest: the length of the longest n-grams.

    >>> untagged_features(Sequences.of([[0, 1]]), n_symbols=2, longest=1).outside.tolist()
    [[-1, 1, -1, -1], [0, -1, -1, -1], [0, -1, -1, -1], [-1, -1, -1, -1]]
    """
    x = sequences.terminal
    after = [(sequences.shifted(x, offset), n_symbols) for offset in range(max(longest + 1, 3))]
    before = [(sequences.shifted(x, -1 - offset), n_symbols) for offset in range(max(longest, 3))]
    near = [column for column, _ in after[:3]]
    far = [column for column, _ in before[:3]]
    lengths = range(2, longest + 1)
    grams_before = [_gram(*before[:n]) for n in lengths]
    inside = _columns(sequences, emission=[x], spine=[*near, *(_gram(*after[:n]) for n in lengths)])
    outside = _columns(
        sequences,
        emission=[far[0], near[1], far[1], near[2], *grams_before, *(_gram(*after[1 : n + 1]) for n in lengths)],
        spine=[*far, *grams_before],
    )
    return FeatureColumns(inside, outside)
