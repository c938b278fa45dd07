"""Print messages and progress bars on standard error, so that results on standard output can be piped."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from textwrap import indent
from typing import TypeVar

import click

from spectral_latent._texts import printable
from spectral_latent.tasks.watch import Watch

__all__ = ["Console"]

_T = TypeVar("_T")


class Console(Watch):
    """Messages and progress bars; a quiet console prints neither."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet

    def message(self, text: str) -> None:
        """Print one or several lines; names of files, models and corpora may stand in them as they are."""
        if not self.quiet:
            click.echo("\n".join(map(printable, text.split("\n"))), err=True)

    def table(self, title: str, table: str) -> None:
        """Print a table below its title, if it has a line."""
        if table:
            self.message(f"{title}\n{indent(table, '  ')}")

    def bar(self, items: Iterable[_T], label: str, length: int | None = None) -> Iterator[_T]:
        """Return the items, with a progress bar if standard error is a terminal that can move its cursor."""
        if not self.shows_progress:
            yield from items
        else:
            with click.progressbar(items, length, label, file=sys.stderr) as shown:
                yield from shown

    def awaits(self, file: str, what: str) -> None:
        """Say what to type if an input is a terminal."""
        if file == "-" and sys.stdin.isatty():
            self.message(f"Reading {what}")

    @property
    def shows_progress(self) -> bool:
        """Whether standard error is a terminal that can move its cursor, as progress bars need it."""
        return not self.quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    @property
    def beside_output(self) -> Console:
        """The console for bars; quiet if results are printed to a terminal, where a bar would disturb them."""
        return Console(self.quiet or sys.stdout.isatty())
