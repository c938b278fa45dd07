"""Apply a function of a model to many sentences, one by one or in batches, in this process or in several.

Models are large, and their first call is slow.  Therefore they are not sent together with the sentences: a model is
saved once, and every process reads this file once and keeps the model.  The file exists as long as the model.
"""

import os
import shutil
import weakref
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar, TypeVarTuple, Unpack

import numpy as np

from spectral_latent._compiled import by_python
from spectral_latent._options import Count, Options, checked
from spectral_latent.estimation import Estimator, parallel_map
from spectral_latent.files import StoredModel, temporary_folder

BATCH_SIZE = 32
"""The number of items in a batch.  A batch takes tenths of a second, so that processes end at nearly the same time."""

_AHEAD = 512  # the number of items for each process that are read before the first answer is returned


Model = TypeVar("Model", bound=StoredModel)
Item = TypeVar("Item")
Answer = TypeVar("Answer")
Rest = TypeVarTuple("Rest")


def map_sentences(
    function: Callable[[Model, Item, Unpack[Rest]], Answer],
    model: Model,
    items: Iterable[Item],
    jobs: int | None,
    *args: *Rest,
) -> Iterator[Answer]:
    """Apply a function to each item, in order: function(model, item, ...).

    With one process, an item is read when its answer is asked for; for several processes, see `map_batches`."""
    size = 1 if _n_processes(jobs) == 1 else BATCH_SIZE
    return map_batches(_each, model, items, jobs, function, args, size=size)


def map_batches(
    function: Callable[[Model, list[Item], Unpack[Rest]], list[Answer]],
    model: Model,
    items: Iterable[Item],
    jobs: int | None,
    *args: *Rest,
    size: int = BATCH_SIZE,
) -> Iterator[Answer]:
    """Apply a function to batches of items, in order: function(model, batch, ...) lists the answer to each item.

    With one process, a batch is read when its first answer is asked for.  With several processes, some hundreds of
    items are read and answered before the first answer is returned.  Items that are answered together have no answers
    if the function raises an error for one of them.  If reading an item raises an error, one process first returns the
    answers to all items before it; several processes lose the last hundreds of these answers.  No work goes on between
    two answers, so that the processes are free for other work.

    jobs: the number of processes; None for those of the engine that `joblib.parallel_config` names, such as a Dask
    cluster.
    Raises EstimationError if processes are killed again and again; see `parallel_map`."""
    n_jobs = _n_processes(jobs)
    batches = batches_of(items, size)
    if n_jobs == 1:
        for batch in batches:
            yield from function(model, batch, *args)
        return
    # A process imports the modules of classes that it is sent, and then knows estimators from outside of the library.
    own = [each for each in (Estimator.kinds or {}).values() if not each.__module__.startswith("spectral_latent.")]
    task = (function, type(model), _save(model), args, own)
    # All answers to some batches are there before the first is given out, so that no process works between two answers.
    while some := list(islice(batches, max(_AHEAD // size, 1) * n_jobs)):
        answers = list(parallel_map(_map_batch, some, jobs, *task, prefer="processes"))
        yield from chain.from_iterable(answers)


# The file of each model, and the process that has saved it.
_FILES: weakref.WeakKeyDictionary[StoredModel, tuple[str, int]] = weakref.WeakKeyDictionary()


def _save(model: StoredModel) -> str:
    """Save a model to a temporary file, unless this process has already saved it.  The file is removed with the model.

    The model is saved again if its file is gone: some systems remove old temporary files."""
    file, process = _FILES.get(model, ("", 0))
    if process != os.getpid() or not os.path.exists(file):
        folder = temporary_folder()
        weakref.finalize(model, _remove, folder, os.getpid())
        file = str(folder / "model")
        model.save(file)
        _FILES[model] = file, os.getpid()
    return file


def _remove(folder: Path, process: int) -> None:
    """Remove a folder, but only in the process that made it: a forked copy of this process must not remove it."""
    if process == os.getpid():
        shutil.rmtree(folder, ignore_errors=True)


def _n_processes(jobs: int | None) -> int:
    """Ask the engine of joblib how many processes it has for a number of jobs; one job is one process on any engine."""
    if checked("jobs", jobs, Count | None) == 1:
        return 1
    from joblib import effective_n_jobs  # here, because one process does without it, and it takes long to import

    return int(effective_n_jobs(jobs))


def batches_of(
    items: Iterable[Item], size: int = BATCH_SIZE, waits: Callable[[], bool] = lambda: False
) -> Iterator[list[Item]]:
    """Divide items into batches, which end where the next item would be waited for, or where reading it fails."""
    batch: list[Item] = []
    try:
        for item in items:
            batch.append(item)
            if len(batch) == size or waits():
                yield batch
                batch = []
    except Exception:
        if batch:
            yield batch
        raise
    if batch:
        yield batch


def _each(model: Model, batch: list[Item], function: Callable[..., Answer], args: tuple[Any, ...]) -> list[Answer]:
    """Apply a function to each item of a batch."""
    return [function(model, item, *args) for item in batch]


def _map_batch(
    batch: list[Item],
    function: Callable[..., list[Answer]],
    kind: type[StoredModel],
    file: str,
    args: tuple[Any, ...],
    _estimators: list[type[Options]],
) -> list[Answer]:
    """Apply a function to a batch, in a process of its own, by compiled code as in other processes."""
    with by_python(np.inf):
        return function(_load(kind, file), batch, *args)


@lru_cache(maxsize=1)
def _load(kind: type[StoredModel], file: str) -> Any:
    """Read the model of a file, and keep it until another model is read."""
    return kind.load(file)
