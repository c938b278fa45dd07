"""Features of candidates as one sparse matrix: a row for each candidate, list after list.

| here | meaning |
| --- | --- |
| n, L, d | candidates, lists, features |
| `values` (n, d) | the features |
| `start` (L + 1,) | list i has the rows from start[i] to start[i + 1] |
| group | the part of a feature's name before its first colon, or before any later one |
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from spectral_latent.trees import BoolArray, IntArray

__all__ = ["FeatureTable", "group_of", "is_in_group"]


def group_of(name: str) -> str:
    """The first part of a feature's name.

    >>> group_of("base:score")
    'base'
    """
    return name.partition(":")[0]


def is_in_group(name: str, group: str) -> bool:
    """Whether a feature's name is the group's, or goes on from it after a colon.

    >>> [is_in_group("latent:m8:log-p", group) for group in ("latent", "latent:m8", "lat", "latent:m8:log-p")]
    [True, True, False, True]
    """
    return name == group or name.startswith(f"{group}:")


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """See the head of this module.

    names: (d,).  values: (n, d).  start: (L + 1,).  ids: (L,) the sentences.  measured: (d,) whether a feature is a
    quantity on a scale of its own, such as a log-probability; the others count events.

    >>> table = FeatureTable.measures({"base:score": [-1.0, -2.0, -5.0]}, sizes=[2, 1], ids=["a", "b"])
    >>> table.n_lists, table.list_of, table.values.toarray().ravel()
    (2, array([0, 0, 1]), array([-1., -2., -5.]))
    """

    names: tuple[str, ...]
    values: sparse.csr_array
    start: IntArray
    ids: tuple[str, ...]
    measured: BoolArray

    def __post_init__(self) -> None:
        n, d = self.values.shape
        sizes = np.diff(self.start)
        if (len(self.names), len(self.measured), len(self.start)) != (d, d, len(self.ids) + 1):
            raise ValueError("the names, columns, lists and sentences of a table of features do not fit together")
        if len(set(self.names)) < d:
            raise ValueError("two features have one name; give each its own")
        if self.start[0] != 0 or self.start[-1] != n or (sizes < 0).any():
            raise ValueError(f"the lists of a table of features have {self.start[-1]} candidates, its matrix {n} rows")
        self.values.check_format(full_check=True)
        if not np.isfinite(self.values.data).all():
            raise ValueError("a feature is not a finite number; give one for every candidate")

    @staticmethod
    def measures(columns: dict[str, ArrayLike], sizes: Iterable[int], ids: Sequence[str]) -> FeatureTable:
        """The table of dense columns (n,), given the sizes of the lists."""
        start = np.concatenate([[0], np.cumsum(list(sizes), dtype=np.int64)])
        rows = (
            np.array([np.asarray(column, dtype=float) for column in columns.values()])
            .reshape(len(columns), start[-1])
            .T
        )
        return FeatureTable(tuple(columns), sparse.csr_array(rows), start, tuple(ids), np.ones(len(columns), bool))

    @property
    def n_lists(self) -> int:
        """L."""
        return len(self.ids)

    @cached_property
    def list_of(self) -> IntArray:
        """The list (n,) of each candidate."""
        return np.repeat(np.arange(self.n_lists), np.diff(self.start))

    def joined(self, *others: FeatureTable) -> FeatureTable:
        """The features of several tables of the same candidates, side by side.

        Raises ValueError for other lists, and for a name in two tables.
        """
        tables = (self, *others)
        if any(table.ids != self.ids or not np.array_equal(table.start, self.start) for table in others):
            raise ValueError("tables of features of other lists cannot stand side by side; make both from one file")
        return replace(
            self,
            names=tuple(name for table in tables for name in table.names),
            values=sparse.csr_array(sparse.hstack([table.values for table in tables], format="csr")),
            measured=np.concatenate([table.measured for table in tables]),
        )

    def select(self, *groups: str) -> FeatureTable:
        """The features of the groups, in their present order.  Raises ValueError for a group that there is not.

        >>> table = FeatureTable.measures({"base:rank": [0], "latent:log-p": [-3], "latent:sign": [1]}, [1], ["a"])
        >>> table.select("latent").names, table.select("latent:sign", "base").names
        (('latent:log-p', 'latent:sign'), ('base:rank', 'latent:sign'))
        """
        return self._columns(self._in(groups))

    def drop(self, *groups: str) -> FeatureTable:
        """The other features.  Raises ValueError for a group that there is not.

        >>> table = FeatureTable.measures({"base:rank": [0], "latent:log-p": [-3]}, [1], ["a"])
        >>> table.drop("base").names
        ('latent:log-p',)
        """
        return self._columns(~self._in(groups))

    def aligned(self, names: Sequence[str]) -> FeatureTable:
        """The features of these names, in this order; one that no candidate has is 0.

        Raises ValueError if there is none of a group at all: then it was not computed.

        >>> table = FeatureTable.measures({"rule:S NP VP": [1], "rule:S VP": [2]}, [1], ["a"])
        >>> table.aligned(["rule:S VP", "rule:S NP"]).values.toarray()
        array([[2., 0.]])
        """
        if tuple(names) == self.names:
            return self
        at = {name: column for column, name in enumerate(self.names)}
        here = {group_of(name) for name in self.names}
        if missing := sorted({group_of(name) for name in names} - here):
            raise ValueError(f"no features of the groups {', '.join(missing)}; compute them as for training")
        kept = [(at[name], column) for column, name in enumerate(names) if name in at]
        rows, columns = np.array(kept, dtype=np.int64).reshape(-1, 2).T
        chosen = sparse.csr_array((np.ones(len(kept)), (rows, columns)), shape=(len(self.names), len(names)))
        measured = np.zeros(len(names), dtype=bool)
        measured[columns] = self.measured[rows]
        return replace(self, names=tuple(names), values=sparse.csr_array(self.values @ chosen), measured=measured)

    def of_lists(self, lists: ArrayLike) -> FeatureTable:
        """The rows of some lists, in their order.

        >>> table = FeatureTable.measures({"base:rank": [0, 1, 0]}, [2, 1], ["a", "b"])
        >>> table.of_lists([1, 0]).values.toarray().ravel(), table.of_lists([1]).ids
        (array([0., 0., 1.]), ('b',))
        """
        chosen = np.asarray(lists, dtype=np.int64)
        return replace(
            self,
            values=self.values[self.rows_of(chosen)],
            start=np.concatenate([[0], np.cumsum(np.diff(self.start)[chosen])]),
            ids=tuple(self.ids[i] for i in chosen.tolist()),
        )

    def rows_of(self, lists: IntArray) -> IntArray:
        """The rows of some lists, one list after the other."""
        return np.concatenate([np.zeros(0, np.int64), *(np.arange(self.start[i], self.start[i + 1]) for i in lists)])

    def varying(self) -> IntArray:
        """In how many lists (d,) the candidates differ in each feature; the others cannot change an order.

        >>> columns = {"rule:a": [1, 1, 1], "rule:b": [1, 0, 2]}
        >>> FeatureTable.measures(columns, [2, 1], ["a", "b"]).varying()
        array([0, 1])
        """
        cells = self.values.tocoo()
        d = max(len(self.names), 1)
        keys, which = np.unique(self.list_of[cells.row] * d + cells.col, return_inverse=True)  # (list, feature)
        low, high = np.full(len(keys), np.inf), np.full(len(keys), -np.inf)
        np.minimum.at(low, which, cells.data)
        np.maximum.at(high, which, cells.data)
        has_zero = np.bincount(which, minlength=len(keys)) < np.diff(self.start)[keys // d]
        differs = (low < high) | (has_zero & (high != 0.0))
        return np.bincount(keys[differs] % d, minlength=len(self.names))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything as plain arrays, the matrix by its `data`, `indices` and `indptr`, for `numpy.savez`.

        >>> table = FeatureTable.measures({"base:rank": [0, 1]}, [2], ["a"])
        >>> sorted(table.arrays())
        ['data', 'ids', 'indices', 'indptr', 'measured', 'names', 'start']
        """
        return {
            "data": self.values.data,
            "indices": self.values.indices,
            "indptr": self.values.indptr,
            "start": self.start,
            "names": np.array(self.names, dtype=str),
            "ids": np.array(self.ids, dtype=str),
            "measured": self.measured,
        }

    def _in(self, groups: Sequence[str]) -> BoolArray:
        for group in groups:
            if not any(is_in_group(name, group) for name in self.names):
                there = ", ".join(sorted({group_of(name) for name in self.names}))
                raise ValueError(f"no features of the group {group!r}; there are {there or 'none'}")
        return np.array([any(is_in_group(name, group) for group in groups) for name in self.names], dtype=bool)

    def _columns(self, chosen: BoolArray) -> FeatureTable:
        at = np.flatnonzero(chosen)
        names = tuple(self.names[column] for column in at.tolist())
        return replace(self, names=names, values=self.values[:, at], measured=self.measured[at])
