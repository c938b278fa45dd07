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

from spectral_latent.estimation import FeatureColumns
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.trees import IntArray

__all__ = ["longest_grams", "tagged_features", "untagged_features"]


def _columns(sequences: Sequences, emission: list[IntArray], spine: list[IntArray]) -> IntArray:
    """Templates (2N, d) of nodes from those of emissions and spines (N,); the shorter list is padded."""
    columns = np.full((2 * len(sequences.terminal), max(len(emission), len(spine))), -1, dtype=np.int64)
    for nodes, templates in ((sequences.emission, emission), (sequences.spine, spine)):
        for k, template in enumerate(templates):
            columns[nodes, k] = template
    return columns


def _gram(*columns: tuple[IntArray, int]) -> IntArray:
    """One column that tells apart what columns (N,) of values -1 ... size - 1 tell apart; the same in every shard.

    >>> _gram((np.array([-1, 0, 1]), 2), (np.array([0, 0, -1]), 3))
    array([1, 5, 8])
    """
    code = np.zeros_like(columns[0][0])
    for column, size in columns:
        code = code * (size + 1) + column + 1
    return code


def tagged_features(sequences: Sequences, ladders: IntArray, n_tags: int) -> FeatureColumns:
    """Few templates, for symbols that are tags: words with their signatures, and up to three tags in a row.

    ladders: (W, L) the signatures of each word, coarsest first, -1 beyond the finest.
    """
    word, tag = sequences.terminal, sequences.tag
    before, before_2, after, after_2 = ((sequences.shifted(tag, offset), n_tags) for offset in (-1, -2, 1, 2))
    words, words_before = (word, len(ladders)), (sequences.shifted(word, -1), len(ladders))
    inside = _columns(
        sequences,
        emission=[word, *ladders[word].T[1:4]],
        spine=[word, after[0], _gram(words, after), _gram(after, after_2)],
    )
    outside = _columns(
        sequences,
        emission=[before[0], after[0], _gram(before, after)],
        spine=[before[0], _gram(before, before_2), _gram(before, words_before)],
    )
    return FeatureColumns(inside, outside)


def longest_grams(n_symbols: int, n_positions: int) -> int:
    """The length of the longest n-grams of which each occurs √N times if all are equally frequent; 1 to 8.

    >>> longest_grams(2, 100_000), longest_grams(20, 100_000), longest_grams(1, 100_000)
    (8, 1, 8)
    """
    length = 1
    while length < 8 and (n_symbols ** (length + 1)) ** 2 <= n_positions:
        length += 1
    return length


def untagged_features(sequences: Sequences, n_symbols: int, longest: int) -> FeatureColumns:
    """Single observations up to three positions away; n-grams to either side up to the given length besides.

    >>> untagged_features(Sequences.of([[0, 1]]), n_symbols=2, longest=1).outside.tolist()
    [[-1, 1, -1, -1], [0, -1, -1, -1], [0, -1, -1, -1], [-1, -1, -1, -1]]
    """
    x = sequences.terminal
    after = [(sequences.shifted(x, offset), n_symbols) for offset in range(max(longest + 1, 3))]
    before = [(sequences.shifted(x, -1 - offset), n_symbols) for offset in range(max(longest, 3))]
    near, far = [column for column, _ in after[:3]], [column for column, _ in before[:3]]
    lengths = range(2, longest + 1)
    grams_before = [_gram(*before[:n]) for n in lengths]
    inside = _columns(sequences, emission=[x], spine=[*near, *(_gram(*after[:n]) for n in lengths)])
    outside = _columns(
        sequences,
        emission=[far[0], near[1], far[1], near[2], *grams_before, *(_gram(*after[1 : n + 1]) for n in lengths)],
        spine=[*far, *grams_before],
    )
    return FeatureColumns(inside, outside)
