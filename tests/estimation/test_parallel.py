"""Maps over threads and processes, which may be killed."""

from __future__ import annotations

import io
import os
import signal
from pathlib import Path
from typing import Any, Literal

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_info

from spectral_latent.estimation import EstimationError, Progress, parallel_map
from spectral_latent.estimation.progress import ProgressLine


def process(_number: int) -> int:
    return os.getpid()


def shifted(number: int, shift: int, factor: float) -> float:
    return (number + shift) * factor


@pytest.mark.parametrize("jobs", [1, 2, None])
def test_results_come_in_the_order_of_the_items(jobs: int | None) -> None:
    assert list(parallel_map(shifted, range(50), jobs, 3, 0.5)) == [(number + 3) * 0.5 for number in range(50)]
    assert list(parallel_map(shifted, [], jobs, 3, 0.5)) == []


@pytest.mark.parametrize("jobs", [0, -1, 1.5, True, "two"])
def test_wrong_numbers_of_jobs_are_refused(jobs: Any) -> None:
    with pytest.raises(ValueError, match="jobs"):
        list(parallel_map(shifted, [1], jobs, 3, 0.5))


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


# ---------------------------------------------------------------------------------------------------------------------
# The line that tells how far training is


def test_the_time_left_is_that_of_steps_like_those_before(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    stream = io.StringIO()
    line = ProgressLine(stream)
    for seconds, progress in (
        (1.0, Progress("features", 3, 3)),
        (6.0, Progress("EM", 0, 3)),  # the stage begins here
        (10.0, Progress("EM", 1, 3)),
        (14.0, Progress("EM", 2, 3)),
        (18.0, Progress("EM", 3, 3)),
        (20.0, Progress("states", 1, 4)),  # its first step began with the report before
    ):
        now[0] = seconds
        line(progress)
    assert [line for line in stream.getvalue().split("\r") if line.strip()] == [
        "Training: EM, step 0 of 3",
        "Training: EM, step 1 of 3, about 8 s left",
        "Training: EM, step 2 of 3, about 4 s left",
        "Training: EM, step 3 of 3",
        "Training: states, step 1 of 4, about 6 s left",
    ]
