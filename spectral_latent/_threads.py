"""Keep linear algebra to one thread: more compete with workers for cores, and change the last digits of sums."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import scipy
from threadpoolctl import ThreadpoolController, threadpool_limits

__all__ = ["limit_threads_of_process", "on_one_thread"]


@cache
def limit_threads_of_process() -> None:
    """Keep the linear algebra of this process to one thread from now on."""
    threadpool_limits(1)


@cache
def _linear_algebra() -> ThreadpoolController:
    """Find the libraries of linear algebra in this process, once, because a search takes long."""
    _ = scipy.linalg  # its library is another than that of NumPy, and is loaded when it is first named
    return ThreadpoolController()


@contextmanager
def on_one_thread() -> Iterator[None]:
    """Run a block, or a function that this decorates, with linear algebra on one thread of this process.

    `files.StoredModel` does so for the training of every model."""
    with _linear_algebra().limit(limits=1):
        yield
