"""Programs that are run in processes of their own."""

import subprocess
import sys

__all__ = ["outputs"]


def outputs(script: str) -> list[str]:
    """Run a program in two processes, where the hashes of strings differ, and list what each prints."""
    return [
        subprocess.run(
            [sys.executable, "-c", script], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    ]
