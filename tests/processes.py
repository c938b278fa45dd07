"""Run programs in this process and in another."""

import io
import os
import subprocess
import sys
from contextlib import redirect_stdout

__all__ = ["outputs"]


def outputs(script: str) -> list[str]:
    """Run a program here and in another process, where the hashes of strings differ, and list what each prints."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(script, {"__name__": "__main__"})
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    other = [sys.executable, "-c", script]
    found = subprocess.run(other, env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True)
    return [printed.getvalue(), found.stdout]
