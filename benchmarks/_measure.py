"""Helpers of the benchmarks: a process for each row of a table, its peak memory, and the table in Markdown."""

from __future__ import annotations

import multiprocessing
import resource
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")


def in_new_process(function: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
    """Call a function in a process of its own, so that its peak memory is its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *args, **kwargs).result()


def peak_megabytes() -> float:
    """Return the largest memory of this process so far, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def print_head(names: Sequence[str], columns: Sequence[str]) -> None:
    """Print the head of a table: columns of names, then columns of numbers."""
    print(f"| {' | '.join([*names, *columns])} |")
    print(f"| {' | '.join(['---'] * len(names) + ['---:'] * len(columns))} |", flush=True)


def print_row(
    names: Sequence[object], row: Mapping[str, float], columns: Sequence[str], whole: Collection[str]
) -> None:
    """Print a row of a table; numbers of the columns in `whole` have no decimal places, others have one."""
    cells = (f"{row[column]:,.0f}" if column in whole else f"{row[column]:.1f}" for column in columns)
    print(f"| {' | '.join([*map(str, names), *cells])} |", flush=True)
