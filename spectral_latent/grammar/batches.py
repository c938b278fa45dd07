"""Apply a function of a model and a sentence to many sentences, in this process or in several.

Models are large, and their first call is slow.  They are therefore not sent with the sentences: a model is saved once,
and every process reads that file once and keeps the model.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar, TypeVarTuple, Unpack

from spectral_latent.estimation import parallel_map
from spectral_latent.operators import StoredModel

__all__ = ["map_sentences"]

_BATCH = 8  # sentences of one task: parsed in tenths of a second, so that processes end together
_AHEAD = 32  # batches for each process that are read before their answers are asked for


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

    With one process, an item is read when its answer is asked for.  With several, some hundreds of items are read and
    answered before the first answer is given; an error of the function or of the items is raised before these answers.
    No work goes on between two answers, so that the processes may be used for other work.

    function: a function that other processes can import.
    model: the model; other processes read it from a temporary file, which all of them must be able to open.
    items: the sentences.
    jobs: the number of processes, which does not change the answers; None for all workers of the engine that
    `joblib.parallel_config` names, such as a Dask cluster.
    args: further arguments of the function.
    Raises EstimationError if processes are killed again and again; see `parallel_map`.

    >>> class Scale:
    ...     def save(self, path): ...
    ...     @staticmethod
    ...     def load(path): return Scale()
    ...     def weigh(self, item, factor): return factor * item
    >>> list(map_sentences(Scale.weigh, Scale(), [1, 2, 3], 1, 10))
    [10, 20, 30]
    """
    n_jobs = _n_processes(jobs)
    if n_jobs == 1:
        for item in items:
            yield function(model, item, *args)
        return
    with tempfile.TemporaryDirectory(prefix="spectral-latent-", ignore_cleanup_errors=True) as folder:
        file = str(Path(folder, "model"))
        model.save(file)
        items = iter(items)
        while batches := list(_batches(items, _AHEAD * n_jobs)):
            task = (function, type(model), file, args)
            answers = list(parallel_map(_map_batch, batches, jobs, *task, prefer="processes"))
            yield from chain.from_iterable(answers)


def _n_processes(jobs: int | None) -> int:
    """Ask the engine of joblib how many processes it has for a number of jobs; one job is one process on any engine."""
    if jobs == 1:
        return 1
    from joblib import effective_n_jobs  # here, because one process does without it, and it takes long to import

    return int(effective_n_jobs(jobs))


def _batches(items: Iterator[Item], most: int) -> Iterator[list[Item]]:
    """Take the next items, in `most` batches at most."""
    for _ in range(most):
        if not (batch := list(islice(items, _BATCH))):
            return
        yield batch


def _map_batch(
    batch: list[Item], function: Callable[..., Answer], kind: type[StoredModel], file: str, args: tuple[Any, ...]
) -> list[Answer]:
    """Apply a function to the items of a batch, in a process of its own."""
    model = _loaded(kind, file)
    return [function(model, item, *args) for item in batch]


@lru_cache(maxsize=1)
def _loaded(kind: type[StoredModel], file: str) -> Any:
    """Read the model of a file, which this process keeps until it is given another."""
    return kind.load(file)
