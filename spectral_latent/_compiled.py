"""How functions are compiled, and the constants and helpers that compiled functions of several rooms share."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["EMPTY", "TINY", "compiled", "with_room"]

compiled = njit(cache=True, nogil=True)
"""Compile a function when it is first called, keep the result in a file, and run it without the interpreter's lock."""

TINY = 1e-300
"""A number that may be divided by, and that is less than any that counts."""

EMPTY = -(1 << 40)
"""The exponent of a zero in numbers of the form x · 2^exponent: far below that of any other number."""


@compiled
def with_room(rows: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return rows (n, k) that have room for row `size`: moved to twice the room if they are full.

    rows: (n, k), of which the first `size` ≥ 1 are in use.

    >>> with_room(np.array([[1, 2]]), 1).shape
    (2, 2)
    """
    if size < len(rows):
        return rows
    larger = np.empty((2 * len(rows), rows.shape[1]), dtype=np.int64)
    larger[:size] = rows[:size]
    return larger
