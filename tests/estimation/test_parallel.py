"""Maps over threads and processes, which may be killed."""

from __future__ import annotations

import os
import signal
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from spectral_latent import (
    ConstituencyModel,
    DependencyModel,
    GraphModel,
    LatentHMM,
    LatentTagger,
    Reranker,
    WeightedAutomaton,
)
from spectral_latent.anchors import AnchorHMM
from spectral_latent.automata import AutomatonOptions, model
from spectral_latent.estimation import EstimationError, dismiss_workers, parallel_map
from tests.toy import toy_treebank


def process(_number: int) -> int:
    return os.getpid()


def shifted(number: int, shift: int, factor: float) -> float:
    return (number + shift) * factor


@pytest.mark.parametrize("jobs", [1, 2, None])
def test_results_come_in_the_order_of_the_items(jobs: int | None) -> None:
    assert list(parallel_map(shifted, range(50), jobs, 3, 0.5)) == [(number + 3) * 0.5 for number in range(50)]
    assert list(parallel_map(shifted, [], jobs, 3, 0.5)) == []


@pytest.mark.parametrize("jobs", [0, -1, 1.5, True, "two"])
def test_a_wrong_number_of_jobs_is_named_with_what_is_allowed(jobs: Any) -> None:
    message = f"jobs must be an integer of at least 1 or None, not {jobs!r}"
    model = ConstituencyModel.train(toy_treebank(30))
    for ask in (
        lambda: list(parallel_map(shifted, [1], jobs, 3, 0.5)),
        lambda: ConstituencyModel.train(toy_treebank(30), jobs=jobs),
        lambda: list(model.parse_all([["the", "dog"]], jobs=jobs)),
    ):
        with pytest.raises(ValueError, match=message):
            ask()


def test_workers_are_threads_of_this_process_unless_processes_are_preferred_or_configured() -> None:
    assert set(parallel_map(process, range(4), 1, prefer="processes")) == {os.getpid()}
    assert set(parallel_map(process, range(4), 2)) == {os.getpid()}
    assert os.getpid() not in parallel_map(process, range(4), 2, prefer="processes")
    with joblib.parallel_config(backend="loky"):
        assert os.getpid() not in parallel_map(process, range(4), 2)


def linear_algebra_threads(_number: int) -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.mark.parametrize("prefer", ["threads", "processes"])
def test_linear_algebra_has_one_thread_in_every_worker(prefer: Literal["threads", "processes"]) -> None:
    before = linear_algebra_threads(0)
    assert all(found <= {1} for found in parallel_map(linear_algebra_threads, range(4), 2, prefer=prefer))
    assert linear_algebra_threads(0) == before


def test_every_model_is_trained_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its kind, and also where no work is shared out: automata solve and decompose alone."""
    seen: list[set[int]] = []

    def watched(function: Callable[..., Any]) -> Callable[..., Any]:
        def watch(*args: Any, **rest: Any) -> Any:
            seen.append(linear_algebra_threads(0))
            return function(*args, **rest)

        return watch

    monkeypatch.setattr(model, "train_automaton", watched(model.train_automaton))
    with threadpool_limits(2):
        WeightedAutomaton.train(["ab", "abab"] * 9, AutomatonOptions(n_states=2))
        assert seen == [{1}]
        assert linear_algebra_threads(0) == {2}  # afterwards as before
        for kind in (ConstituencyModel, DependencyModel, LatentTagger, LatentHMM, AnchorHMM, GraphModel, Reranker):
            trained = [function for name, function in vars(kind).items() if name.startswith("train")]
            assert trained and all(hasattr(function, "__wrapped__") for function in trained)


class Item:
    """Something that can be watched."""


def size(_item: Item) -> int:
    return 1


def test_one_process_holds_one_item_at_a_time() -> None:
    alive: weakref.WeakSet[Item] = weakref.WeakSet()
    most = 0

    def items() -> Iterator[Item]:
        nonlocal most
        for _ in range(20):
            item = Item()
            alive.add(item)
            most = max(most, len(alive))
            yield item

    assert sum(parallel_map(size, items(), 1)) == 20
    assert most <= 2


def test_errors_are_those_of_the_function() -> None:
    for jobs in (1, 2):
        for prefer in ("threads", "processes"):
            with pytest.raises(ZeroDivisionError):
                list(parallel_map(divmod, [1, 2], jobs, 0, prefer=prefer))


def fragile(number: int, marker: Path, parent: int, *tables: np.ndarray) -> float:
    """A sum; the worker that is first to be given the number 3 is killed."""
    if number == 3 and os.getpid() != parent and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number + sum(float(table.sum()) for table in tables)


def test_a_killed_worker_changes_nothing(tmp_path: Path) -> None:
    """A small table is sent with each part, a large one lies in a file."""
    tables = [np.linspace(0.0, 1.0, size) for size in (10, 300_000)]
    marker = tmp_path / "killed"
    found = list(parallel_map(fragile, range(8), 2, marker, os.getpid(), *tables, prefer="processes"))
    assert marker.exists()
    assert found == [number + sum(float(table.sum()) for table in tables) for number in range(8)]


def hopeless(number: int, parent: int) -> int:
    if number == 1 and os.getpid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_workers_that_are_always_killed_are_told_of() -> None:
    with pytest.raises(EstimationError, match="killed 3 times in a row, at part"):
        list(parallel_map(hopeless, range(4), 2, os.getpid(), prefer="processes"))


def test_workers_that_do_not_answer_are_dismissed() -> None:
    """As one does not that waits for a lock that a killed one held."""
    workers = set(parallel_map(process, range(4), 2, prefer="processes"))
    for worker in workers:
        os.kill(worker, signal.SIGSTOP)
    dismissal = threading.Thread(target=dismiss_workers, daemon=True)
    dismissal.start()
    dismissal.join(60)
    for worker in workers:
        with pytest.raises(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)
    assert not dismissal.is_alive()
