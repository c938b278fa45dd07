"""Run programs in this process and in another, and compare the time of works of two sizes."""

import io
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout

__all__ = ["is_linear", "outputs"]


def outputs(script: str) -> list[str]:
    """Run a program here and in another process, where the hashes of strings differ, and list what each prints."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(script, {"__name__": "__main__"})
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    other = [sys.executable, "-c", script]
    found = subprocess.run(other, env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True)
    return [printed.getvalue(), found.stdout]


def is_linear(work: Callable[[int], object], size: int) -> bool:
    """Tell whether eight times the size takes far less than 64 times the CPU time, the least of three runs each."""

    def least(size: int) -> float:
        times = []
        for _ in range(3):
            begin = time.process_time()
            work(size)
            times.append(time.process_time() - begin)
        return min(times)

    return least(8 * size) < 24 * least(size)
