"""Hash features of parts to buckets, so that a log-linear model of parts needs no list of its features.

A feature of a part is its first value together with up to four other values; a template names these values.
"""

import zlib
from collections.abc import Mapping
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectral_latent._compiled import compiled, compiled_part
from spectral_latent.trees import BoolArray, FloatArray, IntArray, ranges

HashArray = NDArray[np.uint64]
BucketArray = NDArray[np.int32]
Templates = tuple[tuple[str, ...], ...]  # the names of the values of each feature, besides the first value

N_BUCKETS = 1 << 18
_PAD = 2  # places without a word before and after a sentence
_PARTS = 32  # weights are multiples of 1/32, which take a third of the place of numbers of two bytes in a file
_WIDTH = 4  # the largest number of values of a template, besides the first value


@lru_cache(1 << 16)
def hash_name(name: str) -> int:
    """Hash a name to a number above 0 that is the same in every process."""
    return zlib.crc32(name.encode()) + 1


def pad_words(column: HashArray, start: IntArray) -> tuple[HashArray, IntArray]:
    """Put two places without a word before each of T sentences and after the last one.

    Returns the longer column, and by how much the words of each sentence are shifted in it, (T,).

    column: (N,) a value of each word.
    start: (T + 1,) the first word of each sentence, and N."""
    shift = _PAD * np.arange(1, len(start))
    padded = np.zeros(len(column) + _PAD * len(start), dtype=np.uint64)
    padded[np.arange(len(column)) + np.repeat(shift, np.diff(start))] = column
    return padded, shift


def class_of(numbers: FloatArray, most: int) -> HashArray:
    """Round numbers down to integers from -most to most, and add `most`, so that the smallest is zero.

    numbers: (n,) numbers of any size."""
    return (np.clip(np.floor(numbers), -most, most) + most).astype(np.uint64)


@compiled_part
def mix(state: Any, value: Any) -> Any:
    """Mix a value into a hash, or values (n,) into hashes (n,)."""
    product = (state ^ value) * np.uint64(0x9E3779B97F4A7C15)
    return product ^ (product >> np.uint64(29))


def hash_features(
    templates: Templates,
    first: HashArray,
    columns: Mapping[str, NDArray[np.integer[Any]]],
    n_buckets: int = N_BUCKETS,
) -> BucketArray:
    """Find the bucket of each feature of L parts, (L, T).

    first: (L,) the value that belongs to all features.
    columns: (L,) the values of each name; others than those of the templates are left out."""
    names, places = _lay_out(templates)
    # Each column is cast before they are joined, because NumPy joins signed and unsigned integers to rounded floats.
    values = np.stack([column.astype(np.uint64) for column in (first, *(columns[name] for name in names))], axis=1)
    return _hashed(values, places, n_buckets)


def list_names(templates: Templates) -> tuple[str, ...]:
    """List the names of the values that templates have, each once."""
    return tuple(dict.fromkeys(chain.from_iterable(templates)))


@lru_cache(64)
def _lay_out(templates: Templates) -> tuple[tuple[str, ...], IntArray]:
    """List the names of values, and the column of each value of a template after the first, (T, 4), filled with -1."""
    names = list_names(templates)
    table = np.full((len(templates), _WIDTH), -1, dtype=np.int64)
    for row, template in enumerate(templates):
        table[row, : len(template)] = [1 + names.index(name) for name in template]
    return names, table


@compiled
def _hashed(values: HashArray, templates: IntArray, n_buckets: int) -> BucketArray:
    """Hash the first of the values (L, V) of each part with those of each template (T, 4); see `hash_features`."""
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


def sum_weights(buckets: BucketArray, weights: FloatArray) -> FloatArray:
    """Sum the weights of the features of each part, (L,), in the order of features.

    buckets: (L, T) the bucket of each feature.
    weights: (B,) the weight of each bucket."""
    sums = np.zeros(len(buckets))
    for column in buckets.T:
        sums += weights.take(column)
    return sums


@compiled
def spread(buckets: BucketArray, amount: FloatArray, size: int) -> FloatArray:
    """Add the amount of each part to the buckets of its features, (B,).

    buckets: (L, T) the bucket of each feature.
    amount: (L,) the amounts."""
    total = np.zeros(size)
    for row in range(len(buckets)):
        for template in range(buckets.shape[1]):
            total[buckets[row, template]] += amount[row]
    return total


def round_weights(weights: FloatArray) -> FloatArray:
    """Round weights of any shape to multiples of 1/32.

    >>> round_weights(np.array([0.26, -0.01]))
    array([0.25, 0.  ])
    """
    return np.round(_PARTS * weights) / _PARTS + 0.0  # without zeros of two signs


@compiled
def descend(
    buckets: BucketArray, error: FloatArray, rate: float, least: float, weights: FloatArray, squares: FloatArray
) -> None:
    """Take a step of AdaGrad with the features of each part; bucket 0 keeps its weight.

    buckets: (L, T) the bucket of each feature.
    error: (L,) the gradient of the weights of each part.
    least: the least error from which weights learn.
    weights, squares: (B,) the weights, and the sums of the squares of their gradients; both change."""
    for row in range(len(buckets)):
        if abs(error[row]) >= least:
            for template in range(buckets.shape[1]):
                bucket = buckets[row, template]
                if bucket > 0:
                    squares[bucket] += error[row] ** 2
                    weights[bucket] -= rate * error[row] / np.sqrt(squares[bucket])


def hash_to_ends(values: HashArray, number: IntArray, longest: int) -> HashArray:
    """Hash the values from each place to the end of its part, (n,); 1 if these are more than the longest.

    values: (n,) hashes.
    number: (n,) the number of the part of each place.
    longest: the largest number of values that are hashed."""
    last = np.flatnonzero(np.diff(number, append=-1))  # of each part
    size = last[np.searchsorted(last, np.arange(len(values)))] + 1 - np.arange(len(values))
    # Only a part that is hashed to its end has a hash: a longer one would look like its first values.
    at = np.flatnonzero(size <= longest)
    hashed = np.where(size <= longest, 0, 1).astype(np.uint64)
    for k in range(longest):
        at = at[size[at] > k]
        hashed[at] = mix(hashed[at], values[at + k])
    return hashed


def find_words(values: HashArray, is_break: BoolArray, words: IntArray, longest: int) -> IntArray:
    """Measure the longest word that begins, that ends before, and that goes on at each place, (3, n); 0 for none.

    values: (n,) hashes.
    is_break: (n,) values that no word has.
    words: (K,) the upper halves of the hashes of words, sorted; see `hash_to_ends`.
    longest: the largest number of values of a word."""
    sizes = np.zeros((3, len(values) + 1), dtype=np.int64)
    at = np.arange(len(values))
    state = np.zeros_like(values)
    for size in range(1, longest + 1):
        # Add the value before the end to the hash of what begins at each place; look for it among those of words.
        at = at[at + size <= len(values)]
        at = at[~is_break[at + size - 1]]
        state[at] = mix(state[at], values[at + size - 1])
        half = (state[at] >> np.uint64(32)).astype(np.int64)
        begin = at[np.searchsorted(words, half, "left") < np.searchsorted(words, half, "right")]
        # Sizes rise, so that a longer word replaces a shorter one.
        within, _ = ranges(begin + 1, begin + size)
        for row, places in enumerate((begin, begin + size, within)):
            sizes[row, places] = size
    return sizes[:, :-1]
