"""Map a function over shards or symbols on the engine of joblib: threads, processes, or a Dask cluster.

Results come in the order of the items, for any number of workers, so that a sum over them has the same bits on every
engine.  Estimation spends its time in compiled code and in linear algebra, which run without the interpreter's lock.
Threads are therefore as fast as processes, and need no copies of the data.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Literal, TypeVar, TypeVarTuple, Unpack

from spectral_latent._options import Count, checked
from spectral_latent._threads import limit_threads_of_process, on_one_thread
from spectral_latent.estimation.progress import EstimationError

_ATTEMPTS = 3

Item = TypeVar("Item")
Result = TypeVar("Result")
Rest = TypeVarTuple("Rest")
Workers = Literal["threads", "processes"]


def _call(function: Callable[[Unpack[Rest]], Result], parent: int, *args: *Rest) -> Result:
    """Call the function in a worker; a process that is not the parent gets its own limit of threads."""
    if os.getpid() != parent:
        limit_threads_of_process()
    return function(*args)


def _n_workers(jobs: int | None, prefer: Workers) -> int:
    """Ask the engine for its number of workers for some jobs; a cluster always uses all of its workers."""
    if checked("jobs", jobs, Count | None) == 1 and "joblib" not in sys.modules:
        return 1  # nobody has named an engine of joblib, which takes long to import
    from joblib.parallel import get_active_backend

    engine, configured = get_active_backend(prefer=prefer)
    return int(engine.effective_n_jobs(configured if jobs is None else jobs))


def parallel_map(
    function: Callable[[Item, Unpack[Rest]], Result],
    items: Iterable[Item],
    jobs: int | None,
    *args: *Rest,
    prefer: Workers = "threads",
) -> Iterator[Result]:
    """Compute function(item, ...) for each item, in order, with only a few items and results in memory.

    function: a function of a module, so that other processes find it.
    items: the items; they are iterated again if a worker is killed, and items without a result are computed again.
    jobs: the number of workers; None for all workers of the engine that `joblib.parallel_config` names.  If this engine
    is a cluster, such as Dask, the cluster is used for any number of jobs.
    args: the other arguments of the function, the same for every item.
    prefer: the kind of workers if `joblib.parallel_config` names no engine.  Functions that spend their time in the
    interpreter need processes.

    Linear algebra runs on one thread in each worker, so that workers do not compete for cores, and results do not
    depend on the number of threads.

    Raises EstimationError if worker processes are killed three times in a row before a result comes back.  A Dask
    scheduler repeats a killed task by itself; after `allowed-failures` it gives up without telling joblib, which then
    waits for ever.

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

    Otherwise joblib asks them to end, and waits for them.  If a worker is killed meanwhile, it may hold a lock for
    which another worker waits, so that this process never ends.

    >>> dismiss_workers()
    """
    # Look up the pool where joblib keeps it, because asking joblib for it would make a pool if there is none.
    pools = sys.modules.get("joblib.externals.loky.reusable_executor")
    pool = getattr(pools, "_executor", None)
    if pool is not None:
        pool.shutdown(kill_workers=True)
