"""Measure whole processes that start, or parse a first sentence: CPU seconds and peak memory.

    python -m benchmarks.startup
    python -m benchmarks.startup --model wsj.safetensors --runs 10

Each command runs in processes of its own; the least of several runs is printed.  The first parse begins with no
compiled code, and runs once; later parses read the code that it has compiled.  Python's bytecode is there from the
beginning, as in installed packages, because a parse that is not measured writes it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from benchmarks._measure import print_head, print_row, trained_model

COLUMNS = ["CPU s", "peak MB"]
WORDS = "She saw it .\n"


def measure(arguments: Sequence[str], folder: str, cache: str, runs: int = 1) -> dict[str, float]:
    """Run Python several times, and find the least CPU time and memory.

    arguments: the arguments of Python.
    folder: the folder of bytecode and of compiled code.
    cache: the name of the folder of compiled code in this folder.
    runs: the number of runs.
    """
    kept = {"PYTHONPYCACHEPREFIX": os.path.join(folder, "bytecode"), "NUMBA_CACHE_DIR": os.path.join(folder, cache)}
    environment = os.environ | kept | {"PYTHONDONTWRITEBYTECODE": ""}
    seconds = []
    megabytes = []
    for _ in range(runs):
        with tempfile.TemporaryFile("w+") as words:
            words.write(WORDS)
            words.seek(0)
            process = subprocess.Popen(
                [sys.executable, *arguments], stdin=words, stdout=subprocess.DEVNULL, env=environment
            )
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"{' '.join(arguments)} ended with status {process.returncode}")
        seconds.append(usage.ru_utime + usage.ru_stime)
        megabytes.append(usage.ru_maxrss / 1024)
    return dict(zip(COLUMNS, (min(seconds), min(megabytes)), strict=True))


def main() -> None:
    """Measure the processes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="[default: the preset `fast` of NLTK's treebank sample]")
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    if arguments.model is not None:
        print_processes(arguments.model, arguments.runs)
        return
    # The peak memory of a process begins with that of the process that starts it, which must not have trained a model.
    with trained_model(None) as model:
        subprocess.run(
            [sys.executable, "-m", "benchmarks.startup", "--model", model, "--runs", str(arguments.runs)], check=True
        )


def print_processes(model: str, runs: int) -> None:
    """Print a row for each command."""
    command = ["-m", "spectral_latent"]
    parse = [*command, "parse", model]
    rows = {
        "`import spectral_latent`": (["-c", "import spectral_latent"], runs),
        "`spectral-latent --help`": ([*command, "--help"], runs),
        "first `parse` of a sentence": (parse, 1),
        "`parse` of a sentence": (parse, runs),
        "`parse --json` of a sentence, the first": ([*parse, "--json"], 1),
        "`parse --json` of a sentence": ([*parse, "--json"], runs),
    }
    print_head(["process"], COLUMNS)
    with tempfile.TemporaryDirectory() as folder:
        measure(rows["`parse --json` of a sentence"][0], folder, "unmeasured")
        for name, (given, n) in rows.items():
            print_row([name], measure(given, folder, "measured", n), COLUMNS, COLUMNS[1:])


if __name__ == "__main__":
    main()
