"""Compile functions, check the arrays that are handed to them, and hold the constants that they share.

Compiled code does not check whether an index lies inside an array.  The caller checks arrays that come from outside.
"""

from __future__ import annotations

import gc
import hashlib
import logging
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from multiprocessing import parent_process
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from spectral_latent._numba import (
    CodeFolder,
    Dispatcher,
    FunctionCache,
    IndexDataCacheFile,
    event,
    is_private,
    njit,
    register_jitable,
    why_unkept,
)

__all__ = [
    "EMPTY",
    "TINY",
    "ZERO",
    "check_column",
    "check_range",
    "check_starts",
    "compiled",
    "compiled_exact_pass",
    "compiled_part",
    "compiled_pass",
    "compiler",
    "exact_pass_part",
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


class _CompiledFiles(FunctionCache):
    """Files with the compiled code of a function; their names have a digest of the sources of the code.

    numba compiles a function again if its source has changed.  It does not compare the sources of the parts that the
    function calls, nor the sources of the records that it reads; and it cannot read its own files if the class of a
    record has moved.  With the digest of all these sources, changed code has another file, and is compiled again.

    Raises RuntimeError if there is no folder for the files that belongs to the user alone."""

    _impl_class = CodeFolder

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        digest = _digest(function.__module__)
        file: Any = IndexDataCacheFile
        self._cache_file = file(self._cache_path, f"{self._impl.filename_base}.{digest}", digest)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Read the code for arguments of some types; None without a file, or where it is damaged and replaced."""
        try:
            if not is_private(self._cache_path):  # others may have got the right to write since it was chosen
                return None
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception:  # whatever pickle makes of the bytes that a full disk or a power failure has left
            with suppress(OSError):
                self._cache_file.flush()  # type: ignore[no-untyped-call]
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the code for arguments of some types, unless it cannot be written, as on a full disk."""
        with suppress(OSError):
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]


def _digest(module: str) -> str:
    """Digest the source of a module and all sources of its package that it depends on.

    The times of the files do not count, so that an installation over an equal one finds the code again."""
    digest = hashlib.sha256()
    for name in sorted(_dependencies(module)):
        source = getattr(sys.modules[name], "__file__", None)
        if source is not None and os.path.exists(source):
            status = os.stat(source)
            digest.update(name.encode() + _content(source, status.st_size, status.st_mtime_ns))
    return digest.hexdigest()[:12]


@cache
def _content(source: str, size: int, time: int) -> bytes:
    """Digest the text of a file, which is read again in this process only after it has changed."""
    return hashlib.sha256(Path(source).read_bytes()).digest()


def _dependencies(module: str) -> set[str]:
    """Find the modules on which a module depends: itself, and all modules of its package from which it gets names."""
    package = module.partition(".")[0]
    found = {module}
    waiting = [module]
    while waiting:
        for value in list(vars(sys.modules[waiting.pop()]).values()):
            name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
            if (
                isinstance(name, str)
                and name.partition(".")[0] == package
                and name in sys.modules
                and name not in found
            ):
                found.add(name)
                waiting.append(name)
    return found


def compiler(**settings: Any) -> Callable[[_Function], _Function]:
    """Make a decorator that compiles a function when it is first called, to run without the interpreter's lock.

    The compiled code is kept in a file.  If there is no folder that belongs to the user, and that nobody else may write
    to, every process compiles the function again.  A division by zero gives an infinity or NaN, as in NumPy."""

    def decorate(function: _Function) -> _Function:
        dispatcher = njit(**_COMMON, **settings)(function)
        if isinstance(dispatcher, Dispatcher):  # if compilation is switched off, it is the function itself
            # Keep no code if neither the folder of the source nor the folder of the user's caches is the user's own.
            with suppress(RuntimeError):
                dispatcher._cache = _CompiledFiles(function)  # type: ignore[attr-defined]
        return cast(_Function, dispatcher)

    return decorate


def part_compiler(**settings: Any) -> Callable[[_Function], _Function]:
    """Make a decorator that compiles a function as a part of each compiled function that calls it.

    Python calls the function as it is, without compilation: code for calls from Python would take an eighth of the time
    of compiling."""
    return cast(Callable[[_Function], _Function], register_jitable(**_COMMON, **settings))


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

_log = logging.getLogger(__name__)


class _Compilation(event.Listener):
    """Announce the first compilation, and stop the collection of garbage during each compilation.

    Functions of this library whose code is read from a file are not compiled.  Processes that another one has started
    are silent.  Almost all objects that numba makes are in use until a compilation ends, and looking through them for
    garbage would take a sixth of the time."""

    def __init__(self) -> None:
        self._is_announced = False
        self._depth = 0  # the number of functions that are being compiled, each as a part of the one before
        self._collects = False  # whether garbage was collected before

    def on_start(self, event: event.Event) -> None:
        """Print the message unless it was printed before, and stop the collection of garbage."""
        if not _is_own(event):
            return
        if not self._is_announced and parent_process() is None:
            _log.warning(
                "Compiling functions that are used for the first time, which takes up to a minute%s", _unkept(event)
            )
        self._is_announced = True
        if self._depth == 0:
            self._collects = gc.isenabled()
            gc.disable()
        self._depth += 1

    def on_end(self, event: event.Event) -> None:
        """Collect garbage again when the compilation of a function and its parts has ended."""
        if not _is_own(event):
            return
        self._depth -= 1
        if self._depth == 0 and self._collects:
            gc.enable()


def _unkept(event: event.Event) -> str:
    """Say that the code of a function is not kept, and why; empty if it is kept."""
    because = why_unkept(event.data["dispatcher"].py_func.__code__.co_filename)
    return f", and again in each process: {because}" if because else ""


def _is_own(event: event.Event) -> bool:
    """Tell whether the compiled function belongs to this library."""
    return bool(event.data["dispatcher"].py_func.__module__.startswith("spectral_latent."))


event.register("numba:compile", _Compilation())  # type: ignore[no-untyped-call]

TINY = 1e-300
"""A positive number that is safe to divide by, and smaller than all numbers of importance."""

EMPTY = -(1 << 40)
"""The exponent of a zero in numbers of the form x · 2^exponent: far below the exponent of any other number."""

ZERO: int = np.zeros(1, dtype=np.int64)[0]
"""Zero, the first value of a count that is an argument of a compiled function, which is compiled once more for 0."""


@compiled_part
def unsigned(index: int) -> np.uint64:
    """Mark an index that is computed as one that is never negative.

    Compiled code tests whether any other index is negative, and counts from the end of the array.  Because of this
    test, a loop reads numbers one by one, where the processor could read several at once."""
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
