"""One function for many things, on whatever engine joblib has: this process, several, or a Dask cluster.

Results come in the order of what they are of, whichever worker found them: a sum over them has the same bits on every
engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import TypeVar, TypeVarTuple, Unpack

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from spectral_latent.estimation.options import EstimationError

__all__ = ["mapped"]

_ATTEMPTS = 3
_LOST = (BrokenProcessPool, CancelledError)  # a worker was killed; with it went its task, or data that it kept for it

Item = TypeVar("Item")
Result = TypeVar("Result")
Rest = TypeVarTuple("Rest")


def _alone(function: Callable[[Unpack[Rest]], Result], *args: *Rest) -> Result:
    """The function on one thread, so that workers do not compete for cores."""
    with threadpool_limits(1):
        return function(*args)


def mapped(
    function: Callable[[Item, Unpack[Rest]], Result], items: Iterable[Item], jobs: int | None, *args: *Rest
) -> Iterator[Result]:
    """function(item, ...) of each item, in order, without holding more than a few items or results.

    items: iterated again if a worker is killed; what had not come back then is done once more.
    jobs: processes; None for as many as the engine has that `joblib.parallel_config` names.  A cluster that it names,
    such as Dask, takes part whatever the number.
    Raises EstimationError if worker processes are killed three times in a row before a result comes back.  A Dask
    scheduler repeats a killed task by itself; after `allowed-failures` it gives up, and joblib is not told, but waits.

    >>> list(mapped(pow, [2, 3], 1, 3))
    [8, 27]
    """
    done = failures = 0
    while failures < _ATTEMPTS:
        tasks = (delayed(_alone)(function, item, *args) for item in islice(items, done, None))
        try:
            for result in Parallel(n_jobs=jobs, return_as="generator")(tasks):
                yield result
                done, failures = done + 1, 0
            return
        except _LOST:
            failures += 1
    raise EstimationError(
        f"worker processes were killed {_ATTEMPTS} times in a row, at part {done + 1}, as happens where "
        "memory is short; give fewer jobs or smaller shards"
    )
