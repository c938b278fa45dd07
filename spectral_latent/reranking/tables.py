"""Hold the features of candidates as one sparse matrix: a row for each candidate, list after list.

| here | meaning |
| --- | --- |
| n, L, d | candidates, lists, features |
| `values` (n, d) | the features |
| `start` (L + 1,) | list i has the rows start[i] ... start[i+1] - 1 |
| group | the features whose names have the same beginning, up to the first colon |
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import ArrayLike

from spectral_latent.trees import BoolArray, IntArray

__all__ = ["FeatureTable", "group_of"]


def group_of(name: str) -> str:
    """Return the group of a feature.

    >>> group_of("base:score")
    'base'
    """
    return name.partition(":")[0]


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """The features of the candidates of lists, in the notation of this module.

    names: (d,) the names of the features.
    values: (n, d) the value of each feature of each candidate.
    start: (L + 1,) the first row of each list, and n.
    ids: (L,) the names of the sentences.
    measured: (d,) True for a quantity on a scale of its own, such as a log-probability; False for a count of events.

    Raises ValueError if the parts do not fit together, if two features have one name, or if a value is not finite.

    >>> table = FeatureTable.measures({"base:score": [-1.0, -2.0, -5.0]}, sizes=[2, 1], ids=["a", "b"])
    >>> table.n_lists, table.list_of, table.values.toarray().ravel()
    (2, array([0, 0, 1]), array([-1., -2., -5.]))
    """

    names: tuple[str, ...]
    values: scipy.sparse.csr_array
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
        """Make a table of quantities.

        columns: (n,) the values of each feature, by its name.
        sizes: (L,) the number of candidates of each list.
        ids: (L,) the names of the sentences.
        """
        start = np.concatenate([[0], np.cumsum(list(sizes), dtype=np.int64)])
        dense = np.array([np.asarray(column, dtype=float) for column in columns.values()])
        values = scipy.sparse.csr_array(dense.reshape(len(columns), start[-1]).T)
        return FeatureTable(tuple(columns), values, start, tuple(ids), np.ones(len(columns), dtype=bool))

    @property
    def n_lists(self) -> int:
        """The number of lists, L."""
        return len(self.ids)

    @cached_property
    def list_of(self) -> IntArray:
        """The place (n,) of each candidate's list."""
        return np.repeat(np.arange(self.n_lists), np.diff(self.start))

    def joined(self, *others: FeatureTable) -> FeatureTable:
        """Join the features of several tables of the same candidates.

        others: tables of other features of the same candidates.

        Raises ValueError for tables of other lists, and for a feature that is in two tables.
        """
        tables = (self, *others)
        if any(table.ids != self.ids or not np.array_equal(table.start, self.start) for table in others):
            raise ValueError("tables of different lists cannot be joined; make both from one file")
        return replace(
            self,
            names=tuple(name for table in tables for name in table.names),
            values=scipy.sparse.csr_array(scipy.sparse.hstack([table.values for table in tables], format="csr")),
            measured=np.concatenate([table.measured for table in tables]),
        )

    def aligned(self, names: Sequence[str]) -> FeatureTable:
        """Return the features of these names, in this order; a feature that the table does not have is 0.

        names: the names of the features to return.

        Raises ValueError if the table has no feature of a group of these names, because the group was not computed.

        >>> table = FeatureTable.measures({"rule:S NP VP": [1], "rule:S VP": [2]}, [1], ["a"])
        >>> table.aligned(["rule:S VP", "rule:S NP"]).values.toarray()
        array([[2., 0.]])
        """
        if tuple(names) == self.names:
            return self
        place = {name: column for column, name in enumerate(self.names)}
        computed = {group_of(name) for name in self.names}
        if missing := sorted({group_of(name) for name in names} - computed):
            raise ValueError(f"no features of the groups {', '.join(missing)}; compute them as for training")
        kept = [(place[name], column) for column, name in enumerate(names) if name in place]
        rows, columns = np.array(kept, dtype=np.int64).reshape(-1, 2).T
        chosen = scipy.sparse.csr_array((np.ones(len(kept)), (rows, columns)), shape=(len(self.names), len(names)))
        measured = np.zeros(len(names), dtype=bool)
        measured[columns] = self.measured[rows]
        return replace(self, names=tuple(names), values=scipy.sparse.csr_array(self.values @ chosen), measured=measured)

    def of_lists(self, lists: ArrayLike) -> FeatureTable:
        """Return the table of some lists.

        lists: the places of the lists, in the order of the new table.

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
        """Return the places of the rows of some lists, one list after the other.

        lists: (n,) the places of lists.
        """
        return np.concatenate([np.zeros(0, np.int64), *(np.arange(self.start[i], self.start[i + 1]) for i in lists)])

    def varying(self) -> IntArray:
        """Count for each feature (d,) the lists whose candidates differ in it; in others it cannot change the order.

        >>> columns = {"rule:a": [1, 1, 1], "rule:b": [1, 0, 2]}
        >>> FeatureTable.measures(columns, [2, 1], ["a", "b"]).varying()
        array([0, 1])
        """
        cells = self.values.tocoo()
        d = max(len(self.names), 1)
        # The least and the largest value of each pair of list and feature that has a value other than zero.
        keys, which = np.unique(self.list_of[cells.row] * d + cells.col, return_inverse=True)
        low = np.full(len(keys), np.inf)
        high = np.full(len(keys), -np.inf)
        np.minimum.at(low, which, cells.data)
        np.maximum.at(high, which, cells.data)
        has_zero = np.bincount(which, minlength=len(keys)) < np.diff(self.start)[keys // d]
        differs = (low < high) | (has_zero & (high != 0.0))
        return np.bincount(keys[differs] % d, minlength=len(self.names))
