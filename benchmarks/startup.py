"""Measure whole processes that start: CPU seconds and peak memory, beside an earlier version.

    python -m benchmarks.startup
    python -m benchmarks.startup --base HEAD~50 --runs 10

Each command runs in processes of its own, the versions by turns; the least of several runs is printed, and the ratio to
the earlier version.  A cold run begins with no compiled code, and a warm one with what a run before it has compiled.
Python's bytecode is there from the beginning, as in installed packages.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks._measure import ROOT, checkout_of, command_line, print_head, print_row
from spectral_latent import load

COMMAND = ["-m", "spectral_latent"]
NLTK = "from spectral_latent_nltk import SpectralParser; SpectralParser.load('en').parse_one('She saw it .'.split())"
ROADS = {
    "`import spectral_latent`": ["-c", "import spectral_latent"],
    "`--help`": [*COMMAND, "--help"],
    "loading `en`": ["-c", "from spectral_latent import load; load('en')"],
    "`parse en`": [*COMMAND, "parse", "en"],
    "`parse en-ud --text`": [*COMMAND, "parse", "en-ud", "--text"],
    "`surprisal en`": [*COMMAND, "surprisal", "en"],
    "`train constituency`, 100 trees": [*COMMAND, "train", "constituency", "TREES", "-o", "MODEL", "-q"],
    "`SpectralParser.load('en').parse_one`": ["-c", NLTK],
}
COLD = list(ROADS)[3:7]  # these are measured without compiled code, too
COLUMNS = ["CPU s", "peak MB"]


def measure(checkout: Path, arguments: Sequence[str], folder: str, cache: str) -> tuple[float, float]:
    """Run Python with the code of a checkout; return its CPU seconds and the megabytes of its peak memory."""
    kept = {"PYTHONPYCACHEPREFIX": os.path.join(folder, "bytecode"), "NUMBA_CACHE_DIR": os.path.join(folder, cache)}
    found = {"PYTHONPATH": f"{checkout}:{checkout / 'adapters'}", "OPENBLAS_NUM_THREADS": "1"}
    with tempfile.TemporaryFile("w+") as words:
        words.write("She saw it .\n")
        words.seek(0)
        process = subprocess.Popen(
            [
                sys.executable,
                *(os.path.join(folder, each) if each in ("TREES", "MODEL") else each for each in arguments),
            ],
            stdin=words,
            stdout=subprocess.DEVNULL,
            cwd=checkout,
            env=os.environ | kept | found | {"PYTHONDONTWRITEBYTECODE": ""},
        )
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(arguments)} ended with status {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    """Measure the processes of this version, and of an earlier one by turns."""
    parser = command_line(__doc__)
    parser.add_argument("--base", help="the earlier version; none if not given")
    parser.add_argument("--runs", type=int, default=5, help="the warm runs of each version; there is one cold run")
    parser.add_argument(
        "--roads", nargs="+", choices=ROADS, default=list(ROADS), help="the processes; all if not given"
    )
    arguments = parser.parse_args()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        before = [stack.enter_context(checkout_of(arguments.base))] if arguments.base else []
        trees = [tree.bracketed() for tree in load("toy").sample(100, np.random.default_rng(0))]
        Path(folder, "TREES").write_text("\n".join(trees), encoding="utf-8")
        ratios = [f"{column}, ratio" for column in COLUMNS if before]
        print_head(["process"], COLUMNS + ratios)
        for name in arguments.roads:
            # The first run of a version writes bytecode and compiled code, and does not count.
            measure_both(name, folder, [ROOT, *before], "warm")
            if name in COLD:
                print_ratios(f"{name}, cold", measure_both(name, folder, [ROOT, *before], "cold"), ratios)
            runs = [measure_both(name, folder, [ROOT, *before], "warm") for _ in range(arguments.runs)]
            print_ratios(name, np.min(runs, axis=0), ratios)
    print()
    print_head(["installed"], ["MB"])
    sizes = sorted(installed().items(), key=lambda pair: -pair[1])
    for package, size in [("all", sum(size for _, size in sizes)), *sizes]:
        if size >= 1.0:
            print_row([package], {"MB": size}, ["MB"], ["MB"])


def measure_both(name: str, folder: str, checkouts: Sequence[Path], cache: str) -> NDArray[np.float64]:
    """Measure a process with the code of each checkout, (checkouts, 2)."""
    if cache == "cold":
        cache = f"cold {len(os.listdir(folder))}"  # a new folder
    return np.array([measure(checkout, ROADS[name], folder, cache) for checkout in checkouts])


def print_ratios(name: str, found: NDArray[np.float64], ratios: Sequence[str]) -> None:
    """Print the row of a process, with ratios if there is an earlier version."""
    row: dict[str, float | str] = dict(zip(COLUMNS, found[0].tolist(), strict=True))
    row |= {column: f"{ratio:.2f}" for column, ratio in zip(ratios, found[0] / found[-1], strict=False)}
    print_row([name], row, [*COLUMNS, *ratios], COLUMNS[1:])


def installed() -> dict[str, float]:
    """Weigh the library and what it requires: the megabytes of the files of each package."""
    sizes: dict[str, float] = {}
    waiting = ["spectral-latent"]
    while waiting:
        name = waiting.pop()
        try:
            package = distribution(name)
        except PackageNotFoundError:  # it is for other systems or versions of Python
            continue
        paths = [Path(str(package.locate_file(file))) for file in package.files or ()]
        sizes[name] = sum(path.stat().st_size for path in paths if path.is_file()) / 1e6
        required = [need for need in package.requires or () if ";" not in need]
        names = [re.split(r"[^A-Za-z0-9._-]", need)[0].lower() for need in required]
        waiting += [each for each in names if each not in sizes]
    return sizes


if __name__ == "__main__":
    main()
