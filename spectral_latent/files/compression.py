"""Compress the arrays of model files.

Numbers are converted to the smallest type that holds them.  Their bytes are compressed by zlib, and stored as an array
of bytes: first the lowest byte of every number, then the next byte of every number.  Equal arrays are stored once.

Two entries of the settings of a file describe the arrays:

| entry | meaning |
| --- | --- |
| `arrays` | name: the type of the numbers in memory, their smaller type, and the shape |
| `copies` | name: the name of an equal array, which is stored |
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["TooLargeError", "pack_arrays", "unpack_arrays"]

_FLOATS = ("float16", "float32")
_SMALLER = {"int64": ("uint8", "uint16", "uint32"), "float32": _FLOATS[:1], "float64": _FLOATS}  # the smallest first
_STORED = {"bool", *_SMALLER, *_SMALLER["int64"], *_FLOATS}
_MOST_AXES = 4
_LONGEST_AXIS = 1 << 48
_MOST_COMPRESSED = 1100  # the largest number of bytes that zlib can make from one compressed byte


class TooLargeError(ValueError):
    """An error for arrays that would be larger than the memory that they may have.

    n_bytes: the size of the arrays.
    """

    def __init__(self, n_bytes: int) -> None:
        super().__init__(f"the arrays have {n_bytes} bytes")
        self.n_bytes = n_bytes


def pack_arrays(arrays: Mapping[str, NDArray[Any]]) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Compress arrays; an array that is equal to another one is left out.

    arrays: arrays of any shape, by name.

    Returns the compressed arrays, and the entries `arrays` and `copies` of the settings.
    Raises ValueError, naming the array, for numbers of a type that files do not hold.

    >>> stored, table = pack_arrays({"a": np.array([1, 2]), "b": np.array([1, 2])})
    >>> list(stored), table
    (['a'], {'arrays': {'a': ['int64', 'uint8', (2,)]}, 'copies': {'b': 'a'}})
    """
    stored: dict[str, NDArray[Any]] = {}
    names: dict[tuple[Any, ...], str] = {}
    table: dict[str, list[Any]] = {}
    copies: dict[str, str] = {}
    for name, given in sorted(arrays.items()):
        if given.dtype.name not in _STORED:
            raise ValueError(
                f"the array {name} has numbers of {given.dtype}; a file holds {', '.join(sorted(_STORED))}"
            )
        array = given.astype(given.dtype.newbyteorder("="), copy=False)
        smallest = np.ascontiguousarray(_smallest(array)).reshape(array.shape)
        entry = [array.dtype.name, smallest.dtype.name, array.shape]
        first = names.setdefault((*entry, smallest.tobytes()), name)
        if first == name:
            stored[name] = _compressed(smallest)
            table[name] = entry
        else:
            copies[name] = first
    return stored, {"arrays": table, "copies": copies}


def _smallest(array: NDArray[Any]) -> NDArray[Any]:
    """Convert numbers of any shape to the smallest type that holds them exactly."""
    for smaller in _SMALLER.get(array.dtype.name, ()):
        with np.errstate(over="ignore", invalid="ignore"):
            converted = array.astype(smaller)
            if np.array_equal(converted.astype(array.dtype), array):
                return converted
    return array


def _compressed(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Compress the bytes of an array of any shape, first the lowest bytes of all numbers, then the next bytes."""
    places = array.reshape(-1).view(np.uint8).reshape(-1, array.itemsize)
    return np.frombuffer(zlib.compress(places.T.tobytes()), dtype=np.uint8)


def _n_numbers(entry: Any, n_stored: int) -> int:
    """Count the numbers of an array, by its entry in the settings and the number of its compressed bytes."""
    kind, smaller, shape = entry
    if smaller != kind and smaller not in _SMALLER[kind]:
        raise ValueError(f"numbers of {smaller} are not a smaller type of {kind}")
    if smaller not in _STORED or len(shape) > _MOST_AXES:
        raise ValueError("an array has an unknown type or an impossible shape")
    if not all(type(length) is int and 0 <= length < _LONGEST_AXIS for length in shape):
        raise ValueError("an array has an impossible shape")
    n_numbers = math.prod(shape)
    if n_numbers * np.dtype(smaller).itemsize > _MOST_COMPRESSED * (n_stored + 1):
        raise ValueError("an array is larger than its compressed bytes can make")
    return int(n_numbers)


def _decompressed(stored: NDArray[Any], entry: Any) -> NDArray[Any]:
    """Make an array, in its smaller type, from its compressed bytes (n,) and its checked entry in the settings."""
    _, smaller, shape = entry
    itemsize = np.dtype(smaller).itemsize
    size = itemsize * math.prod(shape)
    reader = zlib.decompressobj()
    content = reader.decompress(stored.tobytes(), size + 1)
    if len(content) != size or not reader.eof or reader.unused_data:
        raise ValueError("an array has too few or too many bytes")
    places = np.frombuffer(content, dtype=np.uint8).reshape(itemsize, -1)
    numbers: NDArray[Any] = np.ascontiguousarray(places.T).view(smaller).reshape(shape)
    return numbers


def unpack_arrays(
    stored: Mapping[str, NDArray[Any]], settings: dict[str, Any], max_bytes: int
) -> dict[str, NDArray[Any]]:
    """Restore the arrays that `pack_arrays` compressed, and remove the entries about them from the settings.

    Raises TooLargeError if the arrays are larger than max_bytes.  Raises ValueError, TypeError, KeyError,
    AttributeError or zlib.error if the entries do not fit the stored arrays.

    >>> unpack_arrays(*pack_arrays({"a": np.array([1, 2])}), max_bytes=100)
    {'a': array([1, 2])}
    """
    table = settings.pop("arrays")
    copies = settings.pop("copies")
    if table.keys() != stored.keys() or copies.keys() & table.keys():
        raise ValueError("the stored arrays are not those of the table")
    n_bytes = 0
    for name, entry in table.items():
        n_bytes += _n_numbers(entry, stored[name].size) * np.dtype(entry[0]).itemsize
    if n_bytes > max_bytes:
        raise TooLargeError(n_bytes)
    arrays = {name: _decompressed(stored[name], entry).astype(entry[0], copy=False) for name, entry in table.items()}
    return arrays | {name: arrays[first] for name, first in copies.items()}
