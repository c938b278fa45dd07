"""Watch a task: messages and progress, which a task gives and a command prints; and errors of requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from spectral_latent.estimation import Progress

__all__ = ["RequestError", "Watch", "users_errors"]

_T = TypeVar("_T")


class RequestError(ValueError):
    """A request that makes no sense, such as one for what a model cannot do; the message says what to change."""


@contextmanager
def users_errors() -> Iterator[None]:
    """Turn a ValueError about the user's data into a CorpusError, which has its message; others pass unchanged."""
    try:
        yield
    except RequestError:
        raise
    except ValueError as error:
        from spectral_latent.corpora import CorpusError

        if isinstance(error, CorpusError):
            raise
        raise CorpusError(str(error)) from error


class Watch:
    """A watch that stays silent."""

    def message(self, text: str) -> None:
        """Take a message of one or several lines, in which names of files may stand as they are."""

    def table(self, title: str, table: str) -> None:
        """Take a table and its title; it has no line if there is nothing to tell."""

    def bar(self, items: Iterable[_T], label: str, length: int | None = None) -> Iterator[_T]:
        """Return the items, and show that they are worked on."""
        del label, length
        yield from items

    def has_read(self) -> None:
        """Note that the last example was read, so that training begins."""

    def on_progress(self, progress: Progress) -> None:
        """Take a step of training."""
