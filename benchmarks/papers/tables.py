"""Tables that a paper's command prints, with the numbers of the paper beside its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import click
from threadpoolctl import threadpool_limits

__all__ = ["MarkdownTable", "timed"]

_T = TypeVar("_T")
_P = ParamSpec("_P")


class MarkdownTable:
    """Print a table in Markdown, row by row as they are found.

    >>> table = MarkdownTable("step", "F1")
    | step | F1 |
    | --- | ---: |
    >>> table.row("plain", "70.1")
    | plain | 70.1 |
    """

    def __init__(self, *columns: str) -> None:
        self._n_columns = len(columns)
        self.row(*columns)
        click.echo("| --- |" + " ---: |" * (len(columns) - 1))

    def row(self, *cells: str) -> None:
        """Print a row."""
        if len(cells) != self._n_columns:
            raise ValueError(f"a row of {len(cells)} cells in a table of {self._n_columns} columns")
        click.echo(f"| {' | '.join(cells)} |")


def timed(work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> tuple[_T, float]:
    """Call a function on one thread, and give its result and the CPU seconds that it took.

    >>> timed(max, 3, 4)[0]
    4
    """
    with threadpool_limits(1):
        start = time.process_time()
        result = work(*args, **kwargs)
        return result, time.process_time() - start
