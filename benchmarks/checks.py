"""Measure the time that checks take: of forests before compiled code reads them, and of model files.

    python -m benchmarks.checks nltk:treebank:train nltk:treebank:dev

Prints CPU milliseconds of parsing the first 100 sentences of the second treebank, and of loading the model, which the
preset `fast` learns from the first treebank.  Also prints which share of this time the functions `check_...` and those
of `CHECKS` take, without the time that reading the clock takes.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks._measure import print_head, print_row
from spectral_latent.constituency import ConstituencyModel, Phrase, clean
from spectral_latent.corpora import constituency_trees

COLUMNS = ["CPU ms", "checks ms", "% checks"]
CHECKS = {"_seal", "_fault"}  # the digest of a file, and the comparison of an array with its declaration
_REPEATS = 5
_READINGS = 10_000  # readings of the clock, to measure one of them


class _Clock:
    """Add up the CPU seconds and the calls of functions, without calls inside another of these functions."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.calls = 0
        self._is_running = False

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Add the time of each call of a function."""

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if self._is_running:
                return function(*args, **kwargs)
            self._is_running = True
            start = time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                self.seconds += time.process_time() - start
                self.calls += 1
                self._is_running = False

        return call


def clock_seconds() -> float:
    """Find the seconds that a clock shows for a call of a function that does nothing."""
    clock = _Clock()
    nothing = clock.timed(lambda: None)
    for _ in range(_READINGS):
        nothing()
    return clock.seconds / _READINGS


@contextmanager
def timed_checks() -> Iterator[_Clock]:
    """Time the checks of the library, in all modules that call them."""
    clock = _Clock()
    modules = [module for name, module in sys.modules.items() if name.startswith("spectral_latent")]
    checks = [
        (module, name, value)
        for module in modules
        for name, value in vars(module).items()
        if name in CHECKS or name.startswith(("check_", "_check_"))
    ]
    for module, name, value in checks:
        setattr(module, name, clock.timed(value))
    try:
        yield clock
    finally:
        for module, name, value in checks:
            setattr(module, name, value)


def measure(work: Callable[[], object]) -> dict[str, float]:
    """Measure a task several times, without and with a clock for the checks, and take the least time of each.

    work: the task.
    """
    work()
    of_clock = clock_seconds()
    whole = []
    checked = []
    for _ in range(_REPEATS):
        start = time.process_time()
        work()
        whole.append(time.process_time() - start)
        with timed_checks() as clock:
            work()
        checked.append(clock.seconds - clock.calls * of_clock)
    share = 100 * min(checked) / min(whole)
    return dict(zip(COLUMNS, (1000 * min(whole), 1000 * min(checked), share), strict=True))


def rows(train: Iterable[Phrase], dev: Iterable[Phrase]) -> Iterator[tuple[str, dict[str, float]]]:
    """Measure parsing and loading.

    train: the trees to learn from.
    dev: the trees whose words are parsed.
    """
    model = ConstituencyModel.train(train)
    cleaned = (tree for tree in map(clean, dev) if tree)
    sentences = [list(tree.words()) for tree in itertools.islice(cleaned, 100)]
    yield f"parse {len(sentences)} sentences", measure(lambda: list(model.parse_all(sentences)))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "model")
        model.save(file)
        yield "load the model", measure(lambda: ConstituencyModel.load(file))


def main() -> None:
    """Print a row for parsing, and one for loading."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train")
    parser.add_argument("dev")
    given = parser.parse_args()
    print_head(["work"], COLUMNS)
    for label, row in rows(constituency_trees(given.train), constituency_trees(given.dev)):
        print_row([label], row, COLUMNS, [])


if __name__ == "__main__":
    main()
