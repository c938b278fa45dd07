"""Train on IcePaHC: a learning curve, presets, function labels, and the F1 of each century.

    python -m benchmarks.icepahc
    python -m benchmarks.icepahc --sizes 125 1000 --presets fast --no-functions

The split is that of the treebank's ABOUT.md: every tenth file, the eighth of each ten, is dev, and the ninth is test.
Trees are the first ones in one random order of all training files.  F1 is that of labelled brackets of all dev
sentences, from raw words; tags have their cases.  *With functions* compares labels with their functions, too.  Seconds
are CPU seconds of training from trees in memory.  The last table has the F1 of *fast* by the century of a dev text.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks._measure import in_new_process, peak_megabytes, print_head, print_row
from benchmarks.annotation import ICEPAHC
from spectral_latent.constituency import ConstituencyModel, Phrase, clean, preset
from spectral_latent.corpora import read_brackets
from spectral_latent.evaluation import score_brackets

COLUMNS = ("CPU s", "MB", "F1", "tags", "with functions", "sentences/s")
CENTURY = ("sentences", "F1", "tags")


def files(part: str) -> list[Path]:
    """List the files of a part: train, dev or test."""
    numbered = enumerate(sorted(ICEPAHC.glob("*.psd")), start=1)
    part_of = {8: "dev", 9: "test"}
    return [path for n, path in numbered if part_of.get(n % 10, "train") == part]


def read(paths: Sequence[Path]) -> list[tuple[Path, Phrase]]:
    """Read the trees of files, without empty elements."""
    trees = ((path, clean(tree, function_labels=True)) for path in paths for tree in read_brackets(path))
    return [(path, tree) for path, tree in trees if tree is not None]


def measure(
    name: str, n_trees: int | None, functions: bool
) -> tuple[dict[str, float | str], dict[str, dict[str, float | str]]]:
    """Train a parser and parse the dev part; return the row of the table, and those of the centuries."""
    trees = [tree for _, tree in read(files("train"))]
    random.Random(0).shuffle(trees)
    options = [replace(each, function_labels=functions) for each in preset(name)]  # type: ignore[arg-type]
    ConstituencyModel.train(trees[:50], options)  # compiles what is measured
    begun = time.process_time()
    model = ConstituencyModel.train(trees[:n_trees], options)
    row: dict[str, float | str] = {"CPU s": time.process_time() - begun, "MB": peak_megabytes()}
    gold = read(files("dev"))
    sentences = [list(tree.words()) for _, tree in gold]
    list(model.parse_all(sentences[:5], scored=False))
    begun = time.process_time()
    parsed = [parses[0].tree for parses in model.parse_all(sentences, scored=False)]
    row["sentences/s"] = len(parsed) / (time.process_time() - begun)
    pairs = [(tree, found) for (_, tree), found in zip(gold, parsed, strict=True)]
    scores = score_brackets(pairs)
    row |= {"F1": scores.f1, "tags": scores.tagging_accuracy}
    if functions:
        row["with functions"] = score_brackets(pairs, function_labels=True).f1
    by_century: dict[str, list[tuple[Phrase, Phrase]]] = defaultdict(list)
    for (path, _), pair in zip(gold, pairs, strict=True):
        by_century[f"{path.name[:2]}00s"].append(pair)
    centuries: dict[str, dict[str, float | str]] = {}
    for century, some in sorted(by_century.items()):
        of_these = score_brackets(some)
        centuries[century] = {"sentences": len(some), "F1": of_these.f1, "tags": of_these.tagging_accuracy}
    return row, centuries


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[125, 500, 2000, 8000, 0], help="0 for all trees")
    parser.add_argument("--presets", nargs="+", default=["fast", "accurate"], help="of these, `fast` for all sizes")
    parser.add_argument("--no-functions", action="store_true", help="leave out the row with function labels")
    arguments = parser.parse_args()
    runs = [(name, n or None, False) for name in arguments.presets for n in arguments.sizes if name == "fast" or not n]
    if not arguments.no_functions:
        runs.append(("fast", None, True))
    n_all = len(read(files("train")))
    print_head(["preset", "trees"], COLUMNS)
    of_fast: dict[str, dict[str, float | str]] = {}
    for name, n_trees, functions in runs:
        row, centuries = in_new_process(measure, name, n_trees, functions)
        print_row([name + (", functions" if functions else ""), f"{n_trees or n_all:,}"], row, COLUMNS, COLUMNS[:2])
        if name == "fast":
            of_fast = centuries
    print()
    print_head(["century"], CENTURY)
    for century, row in of_fast.items():
        print_row([century], row, CENTURY, CENTURY[:1])


if __name__ == "__main__":
    main()
