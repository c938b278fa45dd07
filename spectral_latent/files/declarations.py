"""Declare what the fields of stored objects hold, beyond their types: `Annotated[IntArray, Axes("n"), Index("S")]`.

| beside a type | meaning |
| --- | --- |
| `AtLeast`, `Above`, `AtMost`, `Below` | limits of each number, or of each name, as in `Options` |
| `Distinct`, `Sorted`, `Shares` | limits of an array as a whole; the first one of a list, too |
| `Probabilities` | operators whose numbers are a distribution over the rules of a symbol, in each of its states |
| `Axes("S", "m", 2)` | the lengths of axes; a letter is the same length in all fields of an object |
| `Index("S")` | each number is at least 0, and below the length of an axis |
| `Text()` | a file has the strings as one compressed array, not as JSON |
| `Given("features.names")` | a file does not have the field: it is a field of the object that holds this one |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectral_latent._options import Limit
from spectral_latent.operators import ObservableOperators

__all__ = ["Axes", "Distinct", "Given", "Index", "Probabilities", "Shares", "Sorted", "Text"]

_ROUNDING = 1e-6  # the largest rounding error of a sum of shares


class Distinct(Limit):
    """Accept names or numbers that are all different."""

    def accepts(self, value: Any) -> bool:
        """Tell whether all values are different.

        value: names or numbers, as a list or as an array (n,).
        """
        return len(set(value.tolist() if isinstance(value, np.ndarray) else value)) == len(value)

    def __str__(self) -> str:
        return "without repetition"


class Sorted(Limit):
    """Accept numbers (n,) that never fall, or rows (n, k) in lexicographic order without repetition."""

    def accepts(self, value: NDArray[Any]) -> bool:
        """Tell whether the numbers or the rows are in order.

        value: (n,) numbers or (n, k) rows.
        """
        step = np.diff(value, axis=0)
        if step.ndim == 1:
            return bool((step >= 0).all())
        # Compare each row with the row before at the first column where they differ; equal rows are out of order.
        first = (step != 0).argmax(axis=1)
        return bool((step[np.arange(len(step)), first] > 0).all())

    def __str__(self) -> str:
        return "in order"


class Shares(Limit):
    """Accept numbers (..., n) that are not negative, and sum to one along the last axis."""

    def accepts(self, value: NDArray[Any]) -> bool:
        """Tell whether every row is non-negative and sums to one.

        value: (..., n) the numbers.
        """
        return bool((value >= 0.0).all() and (np.abs(value.sum(axis=-1) - 1.0) <= _ROUNDING).all())

    def __str__(self) -> str:
        return "shares that sum to one"


class Probabilities(Limit):
    """Accept operators whose numbers are probabilities; a file's sums are checked when it is read."""

    def accepts(self, value: ObservableOperators) -> bool:
        """Tell whether operators say that they are probabilities.

        value: any operators.
        """
        return value.probabilities

    def __str__(self) -> str:
        return "probabilities"


class Axes:
    """The length of each axis of an array, or the length of a list: a letter, a number, or None for any length."""

    def __init__(self, *lengths: str | int | None) -> None:
        self.lengths = lengths


@dataclass(frozen=True)
class Index:
    """Accept numbers of the places along an axis.

    axis: the letter of the axis.
    """

    axis: str


class Text:
    """Store a list of strings as one compressed array."""


@dataclass(frozen=True)
class Given:
    """Take a field from the object that holds this one.

    path: the name of the other object's field, or names joined by dots; fields before this object are known.
    """

    path: str
