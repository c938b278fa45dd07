"""Map a function over shards or symbols on the engine of joblib: threads, processes, or a Dask cluster.

Results come in the order of the items, for any number of workers, so that a sum over them has the same bits on every
engine.  Estimation spends its time in compiled code and in linear algebra, which run without the interpreter's lock.
Threads are therefore as fast as processes, and need no copies of the data.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from functools import cache
from itertools import islice
from typing import Literal, TypeVar, TypeVarTuple, Unpack

import scipy
from threadpoolctl import ThreadpoolController, threadpool_limits

from spectral_latent._options import checked
from spectral_latent.estimation._options import EstimationError

__all__ = ["dismiss_workers", "on_one_thread", "parallel_map"]

_ATTEMPTS = 3

Item = TypeVar("Item")
Result = TypeVar("Result")
Rest = TypeVarTuple("Rest")


Workers = Literal["threads", "processes"]


@cache
def _limit_threads_of_process() -> None:
    """Keep the linear algebra of this process to one thread from now on."""
    threadpool_limits(1)


@cache
def _linear_algebra() -> ThreadpoolController:
    """Find the libraries of linear algebra in this process, once: a search takes as long as a pass over small data."""
    _ = scipy.linalg  # its library is another than that of NumPy, and is loaded when it is first named
    return ThreadpoolController()


def on_one_thread() -> AbstractContextManager[object]:
    """Make a context in which linear algebra runs on one thread of this process.

    >>> import numpy as np
    >>> with on_one_thread():
    ...     np.ones((2, 2)) @ np.ones(2)
    array([2., 2.])
    """
    limits: AbstractContextManager[object] = _linear_algebra().limit(limits=1)
    return limits


def _call(function: Callable[[Unpack[Rest]], Result], parent: int, *args: *Rest) -> Result:
    """Call the function in a worker; its process has limits of its own unless it is the parent."""
    if os.getpid() != parent:
        _limit_threads_of_process()
    return function(*args)


def _n_workers(jobs: int | None, prefer: Workers) -> int:
    """Ask the engine how many workers it has for a number of jobs; a cluster has all of its own for one job, too."""
    from joblib.parallel import get_active_backend  # here, because parsing does without it, and it takes long to import

    checked("jobs", jobs, int | None)
    engine, configured = get_active_backend(prefer=prefer)
    return int(engine.effective_n_jobs(configured if jobs is None else jobs))


def parallel_map(
    function: Callable[[Item, Unpack[Rest]], Result],
    items: Iterable[Item],
    jobs: int | None,
    *args: *Rest,
    prefer: Workers = "threads",
) -> Iterator[Result]:
    """Compute function(item, ...) of each item, in order, without holding more than a few items or results.

    function: a function of a module, so that other processes find it.
    items: the items; they are iterated again if a worker is killed, and items without a result are computed again.
    jobs: the number of workers; None for all workers of the engine that `joblib.parallel_config` names.  If it names a
    cluster, such as Dask, the cluster takes part for any number of jobs.
    args: the other arguments of the function, the same for every item.
    prefer: the workers where `joblib.parallel_config` names no engine.  Functions that spend their time in the
    interpreter need processes.

    Linear algebra runs on one thread in each worker, so that workers do not compete for cores, and results do not
    depend on the number of threads.

    Raises EstimationError if worker processes are killed three times in a row before a result comes back.  A Dask
    scheduler repeats a killed task by itself; after `allowed-failures` it gives up, and joblib is not told, but waits.

    >>> list(parallel_map(pow, [2, 3], 1, 3))
    [8, 27]
    """
    done = 0
    failures = 0
    with on_one_thread():
        if _n_workers(jobs, prefer) == 1:
            yield from (function(item, *args) for item in items)
            return
        from concurrent.futures import CancelledError
        from concurrent.futures.process import BrokenProcessPool

        from joblib import Parallel, delayed

        # A worker was killed, and its task is lost, or the data that it kept for the task.
        lost = (BrokenProcessPool, CancelledError)
        while failures < _ATTEMPTS:
            tasks = (delayed(_call)(function, os.getpid(), item, *args) for item in islice(items, done, None))
            try:
                for result in Parallel(n_jobs=jobs, prefer=prefer, return_as="generator")(tasks):
                    yield result
                    done += 1
                    failures = 0
                return
            except lost:
                failures += 1
    raise EstimationError(
        f"worker processes were killed {_ATTEMPTS} times in a row, at part {done + 1}, as happens where "
        "memory is short; give fewer jobs or smaller shards"
    )


def dismiss_workers() -> None:
    """Kill the worker processes that wait for further work, before this process ends.

    Otherwise they are asked to end, and are awaited.  If one of them is killed meanwhile, it may hold a lock that
    another waits for, so that the process never ends.

    >>> dismiss_workers()
    """
    # The pool is looked up where joblib keeps it: to ask joblib for it would make one where there is none.
    pools = sys.modules.get("joblib.externals.loky.reusable_executor")
    pool = getattr(pools, "_executor", None)
    if pool is not None:
        pool.shutdown(kill_workers=True)
