"""Measure the size of model files, and the time and memory of loading them.

    python -m benchmarks.files wsj.model tagger.model

Prints for each model the megabytes of its file, the CPU milliseconds of loading it without imports and with them, and
the peak megabytes of a process that has loaded it.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from benchmarks._measure import in_new_process, peak_megabytes, print_head, print_row, trained_model

COLUMNS = ["file MB", "load ms", "with imports ms", "peak MB"]


def measure(file: str) -> dict[str, float]:
    """Load a model twice, in a process that has not loaded anything else."""
    start = time.process_time()
    from spectral_latent import load

    load(file)
    first = time.process_time() - start
    peak = peak_megabytes()
    start = time.process_time()
    load(file)
    again = time.process_time() - start
    return dict(zip(COLUMNS, (Path(file).stat().st_size / 1e6, 1000 * again, 1000 * first, peak), strict=True))


def main() -> None:
    """Print a row for each file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="MODEL", help="[default: the preset `fast` of NLTK's sample]")
    files = parser.parse_args().files
    print_head(["model"], COLUMNS)
    for given in files or [None]:
        with trained_model(given) as file:
            print_row([Path(file).name], in_new_process(measure, file), COLUMNS, COLUMNS[1:])


if __name__ == "__main__":
    main()
