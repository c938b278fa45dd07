"""The speed of parsing in batches, one by one, and in several processes, measured in turn in one run.

    python benchmarks/batches.py MODEL SOURCE [--sentences 300] [--n-best 50] [--jobs 2]

Prints sentences per CPU second of `parse`, of `parse_all`, and of `parse_all` with `--n-best` trees of each sentence;
and sentences per second of `parse_all` with one process and with several, which need as many free processors.  The
model is a parser of phrases or of dependencies.  Each figure is the best of three.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Callable
from typing import Any

from _measure import print_head, print_row

from spectral_latent import load
from spectral_latent.constituency import ConstituencyModel, clean
from spectral_latent.corpora import constituency_trees, dependency_trees

COLUMNS = ["sentences/s", "ratio"]
_REPEATS = 3


def fastest(answer: Callable[[], Any], clock: Callable[[], float]) -> float:
    """Return the seconds of the fastest of several calls."""
    seconds = []
    for _ in range(_REPEATS):
        start = clock()
        answer()
        seconds.append(clock() - start)
    return min(seconds)


def sentences_of(model: Any, source: str, most: int) -> list[Any]:
    """Read the first sentences of a treebank, without their trees."""
    if isinstance(model, ConstituencyModel):
        trees = (tree for tree in map(clean, constituency_trees(source)) if tree is not None)
        return [list(tree.words()) for tree in itertools.islice(trees, most)]
    return [tree.without_tree() for tree in itertools.islice(dependency_trees(source), most)]


def main() -> int:
    """Load a model, and measure each way to parse."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("source")
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--n-best", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    model: Any = load(given.model)
    sentences = sentences_of(model, given.source, given.sentences)

    def together(n_best: int = 1, jobs: int = 1) -> None:
        """Parse all sentences in batches."""
        for _ in model.parse_all(sentences, n_best, jobs=jobs):
            pass

    def alone() -> None:
        """Parse the sentences one by one."""
        for sentence in sentences:
            model.parse(sentence)

    together(2)
    together(jobs=given.jobs)
    cpu = time.process_time
    wall = time.perf_counter
    groups = [
        {
            "`parse`": fastest(alone, cpu),
            "`parse_all`": fastest(together, cpu),
            f"`parse_all`, {given.n_best} trees": fastest(lambda: together(given.n_best), cpu),
        },
        {
            "`parse_all`, one process, wall time": fastest(together, wall),
            f"`parse_all`, {given.jobs} processes, wall time": fastest(lambda: together(jobs=given.jobs), wall),
        },
    ]
    print_head(["parsing"], COLUMNS)
    for rows in groups:  # the ratio is to the first row of the group
        first, *_ = rows.values()
        for name, seconds in rows.items():
            print_row([name], {"sentences/s": len(sentences) / seconds, "ratio": first / seconds}, COLUMNS, ())
    return 0


if __name__ == "__main__":
    sys.exit(main())
