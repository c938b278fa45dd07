"""Settings of the process during long work: one thread of linear algebra, and rare searches for garbage.

More threads would compete with workers for cores, and change the last digits of sums.  What finds the libraries of
linear algebra is imported when a model is trained, because loading and parsing do without it."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

__all__ = ["in_blocks", "limit_threads_of_process", "made_to_stay", "on_one_thread", "without_collection"]

_BLOCK = 256
_Item = TypeVar("_Item")


@cache
def limit_threads_of_process() -> None:
    """Keep the linear algebra of this process to one thread from now on."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)


@cache
def _linear_algebra() -> ThreadpoolController:
    """Find the libraries of linear algebra in this process, once, because a search takes long."""
    import scipy
    from threadpoolctl import ThreadpoolController

    _ = scipy.linalg  # its library is another than that of NumPy, and is loaded when it is first named
    return ThreadpoolController()


@contextmanager
def on_one_thread() -> Iterator[None]:
    """Run a block, or a function that this decorates, with linear algebra on one thread of this process.

    `files.StoredModel` does so for the training of every model."""
    with _linear_algebra().limit(limits=1):
        yield


@contextmanager
def without_collection() -> Iterator[None]:
    """Run a block without searches for garbage, which take as long as making many small objects."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


@contextmanager
def made_to_stay() -> Iterator[None]:
    """Run a block that imports modules and makes a model, without searching these for garbage now or soon.

    What this process has made until then counts as old, as after three searches, unless the caller has frozen objects.
    """
    is_outer = gc.isenabled()
    with without_collection():
        yield
        if is_outer and not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()


def in_blocks(items: Iterable[_Item]) -> Iterator[_Item]:
    """Make items in blocks, each `without_collection`, and yield them one by one; an error comes in its place."""
    rest = iter(items)
    error: Exception | None = None
    while error is None:
        block: list[_Item] = []
        try:
            with without_collection():
                block.extend(islice(rest, _BLOCK))
        except Exception as raised:
            error = raised
        yield from block
        if error is None and not block:
            return
    raise error
