"""Print messages and progress bars on standard error, so that results on standard output can be piped."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from textwrap import indent
from typing import TypeVar

import click

from spectral_latent._texts import printable

_T = TypeVar("_T")
_QUIET = "spectral_latent.quiet"  # tells in the context of a command whether it prints no messages


def be_quiet(context: click.Context, _option: click.Parameter, quiet: bool) -> None:
    """Print no messages, and only errors of the library, until the command ends."""
    if quiet:
        context.meta[_QUIET] = True
        logging.getLogger("spectral_latent").setLevel(logging.ERROR)
        warnings.simplefilter("ignore", UserWarning)


def _is_quiet() -> bool:
    """Tell whether the command that runs prints no messages."""
    context = click.get_current_context(silent=True)
    return context is None or _QUIET in context.meta


def message(text: str) -> None:
    """Print one or several lines; names of files, models and corpora may stand in them as they are."""
    if not _is_quiet():
        click.echo("\n".join(map(printable, text.split("\n"))), err=True)


def table(title: str, rows: str) -> None:
    """Print a table below its title, if it has a line."""
    if rows:
        message(f"{title}\n{indent(rows, '  ')}")


def shows_progress() -> bool:
    """Tell whether standard error is a terminal that can move its cursor, as progress bars need it."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and not _is_quiet()


def bar(items: Iterable[_T], label: str, length: int | None = None, *, beside_output: bool = False) -> Iterator[_T]:
    """Return the items, with a progress bar on a terminal; with no bar if output to this terminal is between them."""
    if not shows_progress() or (beside_output and sys.stdout.isatty()):
        yield from items
        return
    with click.progressbar(items, length, label, file=sys.stderr) as shown:
        yield from shown
