"""Processes that are killed while they save, and what they leave."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

from spectral_latent.operators import load_model, save_model

__all__ = ["check"]

SAVE = """
import sys, numpy as np
from spectral_latent.operators import save_model
print(flush=True)
for number in range(10**9):
    save_model(sys.argv[1], {"x": np.full(250_000, float(number))}, {"kind": "toy", "number": number})
"""


def check(case: int, seed: int, folder: Path) -> str:
    """Kill a process that saves models of 2 MB one after another: "killed", or "left a file", which the next removes.

    Raises AssertionError or ModelFileError if the file is not a whole model.
    """
    path = folder / "model"
    save_model(path, {}, {"kind": "toy"})
    with subprocess.Popen([sys.executable, "-c", SAVE, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(random.Random(f"{seed}:{case}").uniform(0.0, 0.1))
        process.kill()
    arrays, settings = load_model(path, "toy")
    assert not arrays or (arrays["x"] == settings["number"]).all()
    left = len(list(folder.iterdir())) - 1
    save_model(path, {}, {"kind": "toy"})
    assert [file.name for file in folder.iterdir()] == ["model"]
    return "left a file" if left else "killed"
