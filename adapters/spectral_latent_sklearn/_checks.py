"""Check the data and the parameters that scikit-learn's users give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from spectral_latent.trees import IntArray

__all__ = ["categories_in", "lengths_of", "list_of", "seed_of"]


def seed_of(random_state: Any) -> int:
    """Draw the seed of a model.

    random_state: an integer, a `numpy.random.RandomState`, or None for NumPy's own, as everywhere in scikit-learn.

    >>> seed_of(0) == seed_of(0)
    True
    """
    return int(check_random_state(random_state).randint(2**31 - 1))


def lengths_of(lengths: ArrayLike | None, n_rows: int) -> IntArray:
    """Return the lengths (T,) of sequences that lie one after another.  Raises ValueError if they do not fit the rows.

    lengths: (T,) a positive integer for each sequence; None for one sequence of all rows.
    n_rows: the number of rows of all sequences together.

    >>> lengths_of(None, n_rows=3), lengths_of([1, 2], n_rows=3)
    (array([3]), array([1, 2]))
    >>> lengths_of([1, 1], n_rows=3)
    Traceback (most recent call last):
    ValueError: lengths must sum to the 3 rows of X, not to 2
    """
    if lengths is None:
        return np.array([n_rows])
    given = np.asarray(lengths)
    if given.ndim != 1 or given.dtype.kind not in "iu" or (given < 1).any():
        raise ValueError(f"lengths must be positive integers, one for each sequence, not {lengths!r:.60}")
    if given.sum() != n_rows:
        raise ValueError(f"lengths must sum to the {n_rows} rows of X, not to {given.sum()}")
    return given.astype(np.int64)


def categories_in(x: NDArray[Any]) -> NDArray[Any]:
    """Return the categories (N,) of N rows.  Raises ValueError for more than one column, and for other objects.

    x: (N, 1) the category of each row, an integer or a string.

    >>> categories_in(np.array([[3], [1]]))
    array([3, 1])
    >>> categories_in(np.array([[0.5], [1.0]]))
    Traceback (most recent call last):
    ValueError: X must hold categories, integers or strings, not float64; sklearn.preprocessing.KBinsDiscretizer makes
    categories of numbers
    """
    if x.shape[1] != 1:
        raise ValueError(f"X must have one column, the category of each position, not {x.shape[1]} columns")
    column = x[:, 0]
    if column.dtype.kind == "O" and all(isinstance(value, str) for value in column):
        column = column.astype(str)
    if column.dtype.kind not in "iuU":
        raise ValueError(
            f"X must hold categories, integers or strings, not {column.dtype}; sklearn.preprocessing.KBinsDiscretizer "
            f"makes categories of numbers"
        )
    return column


def list_of(examples: Any, kind: str) -> list[Any]:
    """List the examples of a data set.  Raises ValueError for what is not a sequence, or for an empty one.

    examples: a list, or another sequence, of examples.
    kind: the name of one example, for the message.

    >>> list_of([["It", "rains"]], "sentence")
    [['It', 'rains']]
    """
    if isinstance(examples, str | bytes) or not isinstance(examples, Sequence | np.ndarray):
        raise ValueError(f"expected a list of {kind}s, not {examples!r:.60}")
    if not len(examples):
        raise ValueError(f"expected a list of {kind}s, not an empty one")
    return list(examples)
