"""Messages and progress bars on standard error, so that results on standard output can be piped."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import click

if TYPE_CHECKING:
    from spectral_latent.estimation import Progress

__all__ = ["Console"]

_T = TypeVar("_T")


class Console(NamedTuple):
    """Messages and progress bars.

    quiet: whether to print none of them.
    """

    quiet: bool

    def message(self, text: str) -> None:
        """Print a line.

        text: the line without its end.
        """
        if not self.quiet:
            click.echo(text, err=True)

    def on_progress(self, progress: Progress) -> None:
        """Print how far an estimator is.

        progress: the step that it reports, with its score if it has one.
        """
        if progress.lowered:
            n_lowered = len(progress.lowered)
            self.message(f"{n_lowered} symbols get fewer states: their further singular values are too small")
        if progress.score is not None:
            self.message(f"{progress.stage} {progress.done}/{progress.total}: {progress.score:.2f}")

    def bar(self, items: Iterable[_T], label: str, length: int | None = None) -> Iterator[_T]:
        """Give items on, with a progress bar if standard error is a terminal that can move its cursor.

        items: the items to work on.
        label: the name of the work.
        length: the number of items; None if it is not known, and `items` has no length.

        >>> list(Console(quiet=True).bar("abc", "Reading"))
        ['a', 'b', 'c']
        """
        if self.quiet or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
            yield from items
        else:
            with click.progressbar(items, length, label, file=sys.stderr) as shown:
                yield from shown

    @property
    def beside_output(self) -> Console:
        """Return a console that is quiet where results are printed to a terminal, in between which a bar disturbs."""
        return Console(self.quiet or sys.stdout.isatty())
