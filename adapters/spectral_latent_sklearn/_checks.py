"""Check the data and the parameters that scikit-learn's users give."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state, check_scalar

from spectral_latent.trees import BoolArray, IntArray

_EXACT = 2.0**53  # all whole numbers up to this one are floats


def check_count(name: str, value: Any) -> None:
    """Raise TypeError for a parameter that is not an integer, and ValueError for one below 1."""
    check_scalar(value, name, Integral, min_val=1)


def seed_of(random_state: Any) -> int:
    """Draw the seed of a model."""
    return int(check_random_state(random_state).randint(2**31 - 1))


def lengths_of(lengths: ArrayLike | None, n_rows: int, y: Any = None, groups: ArrayLike | None = None) -> IntArray:
    """Return the lengths (T,) of sequences that lie one after another.  Raises ValueError if they do not fit the rows.

    lengths: (T,) a positive integer for each sequence; None for one sequence of all rows.
    groups: (N,) the sequence of each row, in the place of lengths."""
    if y is not None and len(y) != n_rows:
        raise ValueError(f"y has {len(y)} entries for the {n_rows} rows of X; give lengths by name: lengths=...")
    if groups is not None:
        rows = np.asarray(groups)
        if lengths is not None or rows.shape != (n_rows,):
            raise ValueError(f"groups must have the sequence of each of the {n_rows} rows of X, and stand for lengths")
        cuts = np.flatnonzero(rows[1:] != rows[:-1]) + 1
        if len(cuts) + 1 > len(set(rows.tolist())):
            raise ValueError("the rows of a group must lie one after another; sort the rows of X by groups")
        return np.diff(cuts, prepend=0, append=n_rows)
    if lengths is None:
        return np.array([n_rows])
    given = np.asarray(lengths)
    if given.ndim != 1 or given.dtype.kind not in "iu" or (given < 1).any():
        raise ValueError(f"lengths must be positive integers, one for each sequence, not {lengths!r:.60}")
    if given.sum() != n_rows:
        raise ValueError(f"lengths must sum to the {n_rows} rows of X, not to {given.sum()}")
    return given.astype(np.int64)


def categories_in(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column (N,) of integers or of strings.  Raises ValueError for other objects.

    column: (N,) integers, numbers that are whole, or strings."""
    values = column
    if column.dtype.kind == "O":
        for kind in (str, Real):
            if all(isinstance(value, kind) for value in column):
                values = np.array(column.tolist())
    if values.dtype.kind == "f" and (np.abs(values) <= _EXACT).all() and (values == np.rint(values)).all():
        values = values.astype(np.int64)
    if values.dtype.kind not in "iuU":
        raise ValueError(
            f"X must hold categories, integers or strings, not {values.dtype}; sklearn.preprocessing.KBinsDiscretizer "
            f"makes categories of numbers"
        )
    return values


def named_categories(categories: ArrayLike) -> NDArray[Any]:
    """Return the categories (n,) that a user names.  Raises ValueError if one is named twice."""
    given = np.asarray(categories)
    if given.ndim != 1 or not len(given) or len(set(given.tolist())) < len(given):
        raise ValueError(f"categories must be a list of different integers or strings, not {categories!r:.60}")
    return categories_in(given)


def missing_in(column: NDArray[Any]) -> BoolArray:
    """Tell which rows of a column (N,) are missing, None."""
    return np.array([each is None for each in column.tolist()], dtype=bool)


def allowed_states(states: ArrayLike | None, n_rows: int, n_states: int) -> BoolArray | None:
    """Tell which states (N, m) each row may have; None if nothing is known.  Raises ValueError for other shapes.

    states: (N,) the number of the state of each row, -1 if it is unknown; or (N, m) whether it may have each state."""
    if states is None:
        return None
    given = np.asarray(states)
    if given.shape == (n_rows,) and given.dtype.kind in "iu":
        if given.min(initial=0) < -1 or given.max(initial=0) >= n_states:
            raise ValueError(f"states must be numbers from 0 to {n_states - 1}, or -1 for an unknown one")
        return np.asarray((given[:, None] < 0) | (given[:, None] == np.arange(n_states)))
    if given.shape == (n_rows, n_states) and given.dtype == np.bool_:
        if not given.any(axis=1).all():
            raise ValueError(f"row {int(np.argmin(given.any(axis=1)))} may have none of the states")
        return given
    raise ValueError(
        f"states must be {n_rows} integers, or {n_rows} × {n_states} booleans, not {given.dtype} of shape {given.shape}"
    )
