"""Helpers of the benchmarks: command lines, costs, processes for rows of tables, intervals, and tables in Markdown."""

import argparse
import multiprocessing
import os
import resource
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ParamSpec, TypeVar

from benchmarks._results import ROOT
from spectral_latent.evaluation.reranking import paired_bootstrap

DATA = Path(os.environ.get("SPECTRAL_LATENT_DATA", "../shared"))
_P = ParamSpec("_P")
_R = TypeVar("_R")


def command_line(about: str | None) -> argparse.ArgumentParser:
    """Make the parser of a command line whose help begins with a module's docstring."""
    return argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)


def timed(answer: Callable[[], _R]) -> tuple[_R, float]:
    """Call a function, and return the result and the CPU seconds."""
    begun = time.process_time()
    return answer(), time.process_time() - begun


def in_new_process(function: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
    """Call a function in a process of its own, so that its peak memory is its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *args, **kwargs).result()


def peak_megabytes() -> float:
    """Return the largest memory of this process so far, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@contextmanager
def checkout_of(version: str) -> Iterator[Path]:
    """Check an earlier version out into a folder that exists in the block."""
    with TemporaryDirectory() as folder:
        checkout = Path(folder, "before")
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", checkout, version], cwd=ROOT, check=True)
        try:
            yield checkout
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", checkout], cwd=ROOT, check=True)


def print_head(names: Sequence[str], columns: Sequence[str]) -> None:
    """Print the head of a table: columns of names, then columns of numbers."""
    print(f"| {' | '.join([*names, *columns])} |")
    print(f"| {' | '.join(['---'] * len(names) + ['---:'] * len(columns))} |", flush=True)


def print_row(
    names: Sequence[object], row: Mapping[str, float | str], columns: Sequence[str], whole: Collection[str]
) -> None:
    """Print a row of a table; numbers of the columns in `whole` have no decimal places, others have one."""

    def cell(column: str) -> str:
        """Write a number; texts stay, and what a row does not have is empty."""
        value = row.get(column, "")
        return value if isinstance(value, str) else f"{value:,.0f}" if column in whole else f"{value:.1f}"

    print(f"| {' | '.join([*map(str, names), *map(cell, columns)])} |", flush=True)


def half_interval(of_sentences: Sequence[Any], measure: Callable[[Any], float]) -> float:
    """Compute half of the interval of a percentage, which is its difference from that of a system without counts."""
    _, _, low, high = paired_bootstrap([type(of_sentences[0])()] * len(of_sentences), of_sentences, measure)
    return (high - low) / 2


def written_difference(base: Sequence[Any], other: Sequence[Any], measure: Callable[[Any], float]) -> str:
    """Write a difference of percentages with its interval, such as `+1.82 (+0.7 to +2.9)`."""
    _, _, low, high = found = paired_bootstrap(base, other, measure)
    return f"{found.other - found.base:+.2f} ({low:+.1f} to {high:+.1f})"
