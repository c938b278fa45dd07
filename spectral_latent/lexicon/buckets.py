"""Hash features of parts to buckets, so that a log-linear model of parts needs no list of its features.

A feature of a part is its first value together with up to four other values; a template names these values.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from spectral_latent._compiled import compiled, compiled_part
from spectral_latent.trees import FloatArray, IntArray

__all__ = [
    "N_BUCKETS",
    "BucketArray",
    "HashArray",
    "class_of",
    "hash_features",
    "hash_name",
    "list_columns",
    "mix",
    "pad_words",
    "spread",
    "sum_weights",
]

HashArray = NDArray[np.uint64]
BucketArray = NDArray[np.int32]

N_BUCKETS = 1 << 18
_PAD = 2  # places without a word before and after a sentence
_WIDTH = 4  # the largest number of values of a template, besides the first value


def list_columns(templates: Sequence[Sequence[str]], values: Sequence[str]) -> IntArray:
    """List the columns of the values of each of T templates, (T, 4), filled up with -1.

    templates: the names of the values of each feature, besides the first value.
    values: the names of all values, in the order of their columns.

    >>> list_columns([("size",), ("colour", "size")], ["kind", "colour", "size"])
    array([[ 2, -1, -1, -1],
           [ 1,  2, -1, -1]])
    """
    table = np.full((len(templates), _WIDTH), -1, dtype=np.int64)
    for row, template in enumerate(templates):
        table[row, : len(template)] = [values.index(name) for name in template]
    return table


@lru_cache(1 << 16)
def hash_name(name: str) -> int:
    """Hash a name to a number above 0 that is the same in every process.

    name: the name, such as a word.
    """
    return zlib.crc32(name.encode()) + 1


def pad_words(column: HashArray, start: IntArray) -> tuple[HashArray, IntArray]:
    """Put two places without a word before each of T sentences and after the last one.

    Returns the longer column, and by how much the words of each sentence are shifted in it, (T,).

    column: (N,) a value of each word.
    start: (T + 1,) the first word of each sentence, and N.

    >>> pad_words(np.array([7, 8], dtype=np.uint64), np.array([0, 1, 2]))
    (array([0, 0, 7, 0, 0, 8, 0, 0], dtype=uint64), array([2, 4]))
    """
    shift = _PAD * np.arange(1, len(start))
    padded = np.zeros(len(column) + _PAD * len(start), dtype=np.uint64)
    padded[np.arange(len(column)) + np.repeat(shift, np.diff(start))] = column
    return padded, shift


def class_of(numbers: FloatArray, most: int) -> HashArray:
    """Round numbers down to integers from -most to most, and add `most`, so that the smallest is zero.

    numbers: (n,) numbers of any size.
    most: the largest class before `most` is added.
    """
    return (np.clip(np.floor(numbers), -most, most) + most).astype(np.uint64)


@compiled_part
def mix(state: np.uint64, value: np.uint64) -> np.uint64:
    """Mix a value into a hash.

    state: the hash so far.
    value: the next value.
    """
    product = (state ^ value) * np.uint64(0x9E3779B97F4A7C15)
    return product ^ (product >> np.uint64(29))


def hash_features(values: HashArray, templates: IntArray) -> BucketArray:
    """Find the bucket of each feature of L parts, (L, T).

    values: (L, V) the values of each part; the first belongs to all features.
    templates: (T, 4) the columns of the values of each template, as `list_columns` lists them.
    """
    return _hashed(values, templates, N_BUCKETS)


@compiled
def _hashed(values: HashArray, templates: IntArray, n_buckets: int) -> BucketArray:
    """Hash the first value of each part with the values of each template, (L, T); see `hash_features`."""
    buckets = np.empty((len(values), len(templates)), dtype=np.int32)
    mask = np.uint64(n_buckets - 1)
    for row in range(len(values)):
        for template in range(len(templates)):
            # Begin with the number of the template, so that equal values in different templates have different hashes.
            state = mix(np.uint64(template + 1), values[row, 0])
            for place in range(templates.shape[1]):
                if templates[template, place] >= 0:
                    state = mix(state, values[row, templates[template, place]])
            # Take middle bits of the product, because they depend on all bits of the values.
            buckets[row, template] = np.int32((state >> np.uint64(20)) & mask)
    return buckets


@compiled
def sum_weights(buckets: BucketArray, weights: FloatArray) -> FloatArray:
    """Sum the weights of the features of each part, (L,).

    buckets: (L, T) the bucket of each feature.
    weights: (B,) the weight of each bucket.
    """
    sums = np.zeros(len(buckets))
    for row in range(len(buckets)):
        for template in range(buckets.shape[1]):
            sums[row] += weights[buckets[row, template]]
    return sums


@compiled
def spread(buckets: BucketArray, amount: FloatArray, size: int) -> FloatArray:
    """Add the amount of each part to the buckets of its features, (B,).

    buckets: (L, T) the bucket of each feature.
    amount: (L,) the amounts.
    size: B, the number of buckets.
    """
    total = np.zeros(size)
    for row in range(len(buckets)):
        for template in range(buckets.shape[1]):
            total[buckets[row, template]] += amount[row]
    return total
