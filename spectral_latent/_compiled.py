"""Compile functions, check the arrays that are handed to them, and hold the constants that they share.

Compiled code does not check whether an index lies inside an array.  The caller checks arrays that come from outside.
Python runs the first short inputs of a process by itself, which takes less time than to load compiled code; numba is
imported when something is compiled.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property, update_wrapper
from threading import Lock
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "EMPTY",
    "TINY",
    "ZERO",
    "by_python",
    "check_column",
    "check_range",
    "check_starts",
    "compiled",
    "compiled_exact_pass",
    "compiled_part",
    "compiled_pass",
    "compiler",
    "exact_pass_part",
    "loops_of",
    "part_compiler",
    "pass_part",
    "read_only",
    "unsigned",
    "with_room",
]

_Number = TypeVar("_Number", bound=np.generic)
_Function = TypeVar("_Function", bound=Callable[..., Any])

# Code to call a function from C, and to raise ZeroDivisionError, takes a sixth of the time of compiling.
_COMMON: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}

_parts: list[tuple[Callable[..., Any], Callable[..., Any], dict[str, Any]]] = []  # parts that numba does not know yet
_lock = Lock()
_is_short: ContextVar[bool | None] = ContextVar("_is_short", default=None)  # None outside of all blocks
_left = 20_000.0  # how much more work is short in this process


@contextmanager
def by_python(work: float) -> Iterator[None]:
    """Run a block in which Python itself runs the functions that `compiler` decorates, if the block is short.

    The first blocks of a process are short, until their work adds up to 20,000, which takes Python as long as to load
    compiled code; what they compute has other last digits.  After a longer block, or any use of compiled code, none is.
    A block within another one is a part of it.

    work: the cubes of the sizes of the block's inputs, added up; in training, the nodes that each pass visits."""
    global _left
    is_short = _is_short.get()
    if is_short is None:
        is_short = work <= _left
        _left = _left - work if is_short else 0.0
    token = _is_short.set(is_short)
    try:
        yield
    finally:
        _is_short.reset(token)


class _Whole:
    """A function that is compiled when it is first called outside of a short block."""

    def __init__(self, function: Callable[..., Any], of: Callable[..., Any], settings: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self._function = function
        self._of = of
        self._settings = settings

    def __call__(self, *args: Any) -> Any:
        if _is_short.get():
            with np.errstate(all="ignore"):  # compiled code does not warn
                return self._of(*args)
        return self.code(*args)

    def __reduce__(self) -> str:
        return self._function.__qualname__

    @cached_property
    def code(self) -> Any:
        """numba's dispatcher, which holds compiled code for arguments of several types."""
        from spectral_latent import _numba  # here, because a short input does without it, and it takes long to import

        global _left
        with _lock:
            _left = 0.0
            while _parts:
                _numba.register_part(*_parts.pop())
            return _numba.compile_whole(self._function, self._settings)


def compiler(of: Callable[..., Any] | None = None, /, **settings: Any) -> Callable[[_Function], _Function]:
    """Make a decorator that compiles a function when it is first called, to run without the interpreter's lock.

    The compiled code is kept in a file.  If there is no folder that belongs to the user, and that nobody else may write
    to, every process compiles the function again.  A division by zero gives an infinity or NaN, as in NumPy.  In a
    block that is short (`by_python`), nothing is compiled: Python runs `of`, or else the decorated function."""

    def decorate(function: _Function) -> _Function:
        return cast(_Function, _Whole(function, of or function, _COMMON | settings))

    return decorate


def part_compiler(of: Callable[..., Any] | None = None, /, **settings: Any) -> Callable[[_Function], _Function]:
    """Make a decorator that compiles a function as a part of each compiled function that calls it.

    Python calls the function as it is, without compilation: code for calls from Python would take an eighth of the time
    of compiling.

    of: the function that Python calls in its place, because it is faster without compilation; compiled functions that
    name it get the decorated one.  By default, it is the decorated function itself."""

    def decorate(function: _Function) -> _Function:
        _parts.append((of or function, function, _COMMON | settings))
        return function

    return decorate


compiled = compiler()
"""Compile a function as `compiler` says, with exact arithmetic."""

compiled_part = part_compiler()
"""Compile a function as `part_compiler` says, with exact arithmetic."""

# Passes make no arrays, so that references to arrays need not be counted, which would take as long as the arithmetic.
_PASS: dict[str, Any] = {"_nrt": False}

# Parts are inlined, because a call hands over a record as some twenty numbers, which takes as long as the arithmetic.
_PART: dict[str, Any] = {"forceinline": True}

# Sums may be taken in any order, so that the processor adds several numbers at once.
_ANY_ORDER: dict[str, Any] = {"fastmath": {"contract", "reassoc"}}

compiled_pass = compiler(**_PASS, **_ANY_ORDER)
"""Compile a function that makes no arrays as `compiler` says, with sums in any order."""

pass_part = part_compiler(**_PASS, **_PART, **_ANY_ORDER)
"""Compile a function that makes no arrays as `part_compiler` says, with sums in any order."""

compiled_exact_pass = compiler(**_PASS)
"""Compile a function that makes no arrays as `compiler` says, with exact arithmetic."""

exact_pass_part = part_compiler(**_PASS, **_PART)
"""Compile a function that makes no arrays as `part_compiler` says, with exact arithmetic."""


def loops_of(function: Callable[..., Any]) -> Callable[[_Function], _Function]:
    """Make a decorator of the loops that passes run in the place of a function of NumPy, as `part_compiler` says."""
    return part_compiler(function, **_PASS, **_PART, **_ANY_ORDER)


TINY = 1e-300
"""A positive number that is safe to divide by, and smaller than all numbers of importance."""

EMPTY = -(1 << 40)
"""The exponent of a zero in numbers of the form x · 2^exponent: far below the exponent of any other number."""

ZERO: int = np.zeros(1, dtype=np.int64)[0]
"""Zero, the first value of a count that is an argument of a compiled function, which is compiled once more for 0."""


def unsigned(index: int) -> int:
    """Mark an index that is computed as one that is never negative; Python needs no mark.

    Compiled code tests whether any other index is negative, and counts from the end of the array.  Because of this
    test, a loop reads numbers one by one, where the processor could read several at once."""
    return index


@part_compiler(unsigned)
def _marked(index: int) -> np.uint64:
    """Convert an index in compiled code."""
    return np.uint64(index)


@compiled_part
def with_room(rows: NDArray[_Number], size: int) -> NDArray[_Number]:
    """Return rows (n, k) with room for row `size`; full rows are copied to an array of twice the length.

    New rows hold -1.

    rows: (n, k) the rows, of which the first `size` ≥ 1 are in use."""
    if size < len(rows):
        return rows
    larger = np.empty((2 * len(rows), rows.shape[1]), dtype=rows.dtype)
    # Copy number by number: a slice, or `np.full`, needs code for messages and calls, which takes numba longer.
    for row in range(len(larger)):
        for column in range(rows.shape[1]):
            larger[row, column] = rows[row, column] if row < size else -1
    return larger


def check_column(name: str, column: object, shape: tuple[int, ...], dtype: type[np.generic]) -> None:
    """Raise ValueError unless a column is an array of that shape and of numbers of that type."""
    if not isinstance(column, np.ndarray):
        raise ValueError(f"{name} must be a NumPy array of {dtype.__name__}, not {type(column).__name__}")
    if column.dtype != dtype:
        raise ValueError(f"{name} are numbers of {column.dtype}, and must be of {dtype.__name__}")
    if column.shape != shape:
        raise ValueError(f"{name} have shape {column.shape}, and must have {shape}")


def read_only(column: NDArray[_Number]) -> NDArray[_Number]:
    """Make a read-only copy of a column, so that it stays as it was checked; a read-only column is returned itself.

    column: an array of any shape."""
    if not column.flags.writeable:
        return column
    copy = column.copy()
    copy.setflags(write=False)
    return copy


def check_range(name: str, column: NDArray[np.int64], first: int, end: int) -> None:
    """Raise ValueError unless all numbers of a column (n,) lie in first ... end - 1.

    column: (n,) the integers to check."""
    if len(column) and (column.min() < first or column.max() >= end):
        place = np.flatnonzero((column < first) | (column >= end))[0]
        raise ValueError(f"{name} must lie in {first} ... {end - 1}, and number {place} is {column[place]}")


def check_starts(name: str, start: NDArray[np.int64], size: int) -> None:
    """Raise ValueError unless a column (n + 1,) holds the first row of each of n parts, and the number of all rows.

    start: (n + 1,) the first row of each part, and the number of all rows."""
    check_column(name, start, (max(np.size(start), 1),), np.int64)
    if start[0] != 0 or start[-1] != size or (start[1:] < start[:-1]).any():
        raise ValueError(f"{name} must begin with 0, never fall, and end with {size}")
