"""Time a correction at the workbench: one tree is added, and the next sentence gets a suggestion.

    python -m benchmarks.relearning
    python -m benchmarks.relearning --treebank sample --trees 500

A workbench of the preset `fast` begins with trees of several texts of IcePaHC, or of another treebank of the benchmark
`annotation`.  CPU seconds are means over ten corrections, after two that compile what is measured; *start* is training.
"""

from __future__ import annotations

import argparse
import time
from itertools import islice

from benchmarks._measure import print_head, print_row
from benchmarks.annotation import TREEBANKS
from spectral_latent.constituency import Phrase, clean
from spectral_latent.corpora import constituency_trees
from spectral_latent_annotate import Workbench

COLUMNS = ("start s", "add s", "next suggestion s", "both s")
TIMES = 10
MOST = 200  # trees of one text


def measure(trees: list[Phrase], n_trees: int) -> dict[str, float | str]:
    """Add trees after the first ones, and suggest a tree for the sentence after each."""
    begun = time.process_time()
    bench = Workbench({str(number): tree for number, tree in enumerate(trees[:n_trees])})
    assert bench.model is not None
    start = time.process_time() - begun
    added = suggested = 0.0
    for at in range(n_trees, n_trees + TIMES + 2):
        before = time.process_time()
        bench.add(str(at), trees[at])
        between = time.process_time()
        bench.suggest([list(trees[at + 1].words())])
        if at >= n_trees + 2:
            added += (between - before) / TIMES
            suggested += (time.process_time() - between) / TIMES
    return {
        "start s": start,
        "add s": f"{added:.2f}",
        "next suggestion s": f"{suggested:.2f}",
        "both s": f"{added + suggested:.2f}",
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--treebank", choices=TREEBANKS, default="IcePaHC")
    parser.add_argument("--trees", type=int, nargs="+", default=[500, 5000])
    arguments = parser.parse_args()
    sources = TREEBANKS[arguments.treebank]
    most = MOST if len(sources) > 1 else None
    trees = (clean(tree) for source in sources for tree in islice(constituency_trees(source), most))
    plain = list(islice((tree for tree in trees if tree is not None), max(arguments.trees) + TIMES + 3))
    print_head(["trees"], COLUMNS)
    for n_trees in arguments.trees:
        print_row([f"{n_trees:,}"], measure(plain, n_trees), COLUMNS, ())


if __name__ == "__main__":
    main()
