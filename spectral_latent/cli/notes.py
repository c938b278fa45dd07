"""What a command tells on the way, on standard error, so that its results can be piped."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

if TYPE_CHECKING:
    from spectral_latent.estimation import Progress

__all__ = ["Notes", "quiet_option"]

_T = TypeVar("_T")
_Command = TypeVar("_Command", bound=Callable[..., Any])


class Notes(NamedTuple):
    """Notes and progress bars, unless quiet."""

    quiet: bool

    def say(self, text: str) -> None:
        """Print a line."""
        if not self.quiet:
            click.echo(text, err=True)

    def tell(self, progress: Progress) -> None:
        """Print where an estimator is."""
        if progress.lowered:
            self.say(f"{len(progress.lowered)} symbols keep fewer states than their nodes would support")
        if progress.score is not None:
            self.say(f"{progress.stage} {progress.done}/{progress.total}: {progress.score:.2f}")

    def progress(self, items: Iterable[_T], label: str, length: int | None = None) -> Iterator[_T]:
        """The items, with a bar where standard error is a terminal.

        >>> list(Notes(quiet=True).progress("abc", "Reading"))
        ['a', 'b', 'c']
        """
        if self.quiet or not sys.stderr.isatty():
            yield from items
        else:
            with click.progressbar(items, length, label, file=sys.stderr) as bar:
                yield from bar


def quiet_option(command: _Command) -> _Command:
    """The option `--quiet`."""
    return click.option("--quiet", "-q", is_flag=True, help="No notes and progress bars on standard error.")(command)
