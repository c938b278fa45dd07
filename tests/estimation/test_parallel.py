"""Maps over threads and processes, which may be killed."""

import os
import signal
from pathlib import Path
from typing import Literal

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_info

from spectral_latent._threads import in_blocks
from spectral_latent.estimation import parallel_map


def process(_number: int) -> int:
    return os.getpid()


def test_workers_are_threads_of_this_process_unless_processes_are_preferred_or_configured() -> None:
    assert set(parallel_map(process, range(4), 1, prefer="processes")) == {os.getpid()}
    assert set(parallel_map(process, range(4), 2)) == {os.getpid()}
    assert os.getpid() not in parallel_map(process, range(4), 2, prefer="processes")
    with joblib.parallel_config(backend="loky"):
        assert os.getpid() not in parallel_map(process, range(4), 2)


@pytest.mark.parametrize("n", [0, 1, 2500])
def test_items_in_blocks_are_all_items_and_an_error_comes_after_those_before_it(n: int) -> None:
    assert list(in_blocks(iter(range(n)))) == list(range(n))
    found = []
    with pytest.raises(ZeroDivisionError):
        for item in in_blocks(1 / (n - k) for k in range(n + 1)):
            found.append(item)
    assert found == [1 / (n - k) for k in range(n)]


def linear_algebra_threads(_number: int) -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.mark.parametrize("prefer", ["threads", "processes"])
def test_linear_algebra_has_one_thread_in_every_worker(prefer: Literal["threads", "processes"]) -> None:
    before = linear_algebra_threads(0)
    assert all(found <= {1} for found in parallel_map(linear_algebra_threads, range(4), 2, prefer=prefer))
    assert linear_algebra_threads(0) == before


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
