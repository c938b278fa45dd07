"""Symbols, terminals and rules as integers.

| here | long paper | meaning |
| --- | --- | --- |
| `Rules.binary` row (a, b, c) | a → b c | arity 2 |
| `Rules.unary` row (a, b) | - | arity 1: a → b |
| `Rules.leaf` row (a, x) | a → x | arity 0: symbol a rewrites to terminal x |
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count, repeat
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

Name = TypeVar("Name", bound=Hashable)


class Vocabulary(Generic[Name]):
    """A growing two-way table of hashable names and the integers 0, 1, 2, ...

    >>> symbols = Vocabulary(["S", "NP"])
    >>> symbols.add("VP"), symbols.add("NP"), symbols["S"], symbols.get("X")
    (2, 1, 0, -1)
    >>> symbols.names
    ['S', 'NP', 'VP']
    """

    def __init__(self, names: Iterable[Name] = ()) -> None:
        self.names: list[Name] = list(dict.fromkeys(names))
        self._index: dict[Name, int] = dict(zip(self.names, count()))

    def __getstate__(self) -> dict[str, list[Name]]:
        """Return the names alone, because formats such as JSON have no keys that are tuples."""
        return {"names": self.names}

    def __setstate__(self, state: dict[str, list[Name]]) -> None:
        """Number the names of a copy again."""
        self.names = state["names"]
        self._index = dict(zip(self.names, count()))

    def add(self, name: Name) -> int:
        """Return the integer of a name, which is entered if it is new."""
        index = self._index.setdefault(name, len(self.names))
        if index == len(self.names):
            self.names.append(name)
        return index

    def get(self, name: Name) -> int:
        """Return the integer of a name, or -1 if it was never entered."""
        return self._index.get(name, -1)

    def numbers(self, names: Iterable[Name]) -> IntArray:
        """Look up the integers (n,) of names; -1 for a name that was never entered.

        >>> Vocabulary(["S", "NP"]).numbers(["NP", "X"])
        array([ 1, -1])
        """
        return np.fromiter(map(self._index.get, names, repeat(-1)), dtype=np.int64)

    def __getitem__(self, name: Name) -> int:
        return self._index[name]

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[Name]:
        return iter(self.names)

    def __contains__(self, name: Hashable) -> bool:
        return name in self._index


def _keys(rows: IntArray) -> IntArray:
    """Number rows (N, k) of integers >= -1 by keys (N,) in their lexicographic order; equal rows have equal keys."""
    key = np.zeros(len(rows), dtype=np.int64)
    size = 1  # keys are less than this
    for column in rows.T + 1:
        width = int(column.max(initial=0)) + 1
        if size * width > np.iinfo(np.int64).max:
            # The keys would need more than 64 bits.  Ranks have the same order, and there are at most N of them.
            key = np.unique(key, return_inverse=True)[1]
            column = np.unique(column, return_inverse=True)[1]
            size = int(key.max(initial=0)) + 1
            width = int(column.max(initial=0)) + 1
        key = key * width + column
        size *= width
    return key


def ranges(first: IntArray, end: IntArray) -> tuple[IntArray, IntArray]:
    """List all pairs (row, i) with first[i] <= row < end[i], in the order of i, as two columns (n,).

    first: (m,) the first row of each range.
    end: (m,) the row after the last of each range.

    >>> ranges(np.array([4, 7, 0]), np.array([6, 7, 1]))
    (array([4, 5, 0]), array([0, 0, 2]))
    """
    length = end - first
    which = np.repeat(np.arange(len(length)), length)
    # Count through the pairs, and shift the numbers of each i so that they begin at first[i].
    shift = first - (np.cumsum(length) - length)
    return np.arange(len(which)) + np.repeat(shift, length), which


def range_of(start: IntArray, place: IntArray) -> IntArray:
    """Find the range that each place is in, (n,).

    start: (m + 1,) where each of m adjacent ranges begins, and where the last one ends.
    place: (n,) places in these ranges.

    >>> range_of(np.array([0, 2, 2, 5]), np.array([4, 0, 1, 2]))
    array([2, 0, 0, 2])
    """
    return np.searchsorted(start, place, side="right") - 1


def matches(keys: IntArray, wanted: IntArray) -> tuple[IntArray, IntArray]:
    """List all pairs (row, i) with keys[row] = wanted[i], in the order of i, as two columns (n,).

    keys: (N,) sorted numbers.
    wanted: (m,) the numbers to look up.

    >>> matches(np.array([2, 5, 5]), np.array([5, 3, 2]))
    (array([1, 2, 0]), array([0, 0, 2]))
    """
    return ranges(np.searchsorted(keys, wanted, "left"), np.searchsorted(keys, wanted, "right"))


@dataclass(frozen=True, eq=False)
class Rules:
    """The distinct rules of a grammar, each kind in lexicographic order.

    A rule is named by its kind and its row.

    leaf: (R0, 2) the parent and the terminal of each leaf rule.
    unary: (R1, 2) the parent and the child of each unary rule.
    binary: (R2, 3) the parent, the left child and the right child of each binary rule."""

    leaf: IntArray
    unary: IntArray
    binary: IntArray

    def equals(self, other: Rules) -> bool:
        """Tell whether both tables hold the same rules in the same rows."""
        return all(np.array_equal(getattr(self, kind), getattr(other, kind)) for kind in ("leaf", "unary", "binary"))

    @staticmethod
    def distinct(rows: IntArray) -> tuple[IntArray, IntArray]:
        """Find the distinct rows (R, k) in lexicographic order, and the place (N,) of each given row among them.

        rows: (N, k) rules, of which some may be equal.

        >>> Rules.distinct(np.array([[1, 0], [0, 2], [1, 0]]))
        (array([[0, 2],
               [1, 0]]), array([1, 0, 1]))
        """
        keys = _keys(rows)
        if (keys[1:] > keys[:-1]).all():
            return rows, np.arange(len(rows))
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        return rows[first], inverse

    @staticmethod
    def find(table: IntArray, rows: IntArray) -> IntArray:
        """Find the index (N,) of each row in a table; -1 where it is absent.

        table: (R, k) distinct rows in lexicographic order.
        rows: (N, k) rules, of which some may be equal.

        >>> Rules.find(np.array([[0, 2], [1, 0]]), np.array([[1, 0], [1, 1], [-1, 0]]))
        array([ 1, -1, -1])
        """
        if len(table) == 0 or len(rows) == 0:
            return np.full(len(rows), -1, dtype=np.int64)
        # Only keys that are made together can be compared.  A row with -1 is never found.
        known, wanted = np.split(_keys(np.concatenate([table, rows])), [len(table)])
        row = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        return np.where((known[row] == wanted) & (rows >= 0).all(axis=1), row, -1)
