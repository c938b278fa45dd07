"""Simulate the making of a treebank: which sentences to correct first, and what a parser that relearns saves.

    python -m benchmarks.annotation
    python -m benchmarks.annotation --treebanks sample --trees 400

An annotator corrects the suggestions for fifty sentences at a time; the first hundred trees are given.  *Corrected* is
the number of gold brackets and tags that the suggestions for all sentences lacked.  F1 is that of a parser that has
learnt from all corrected trees, on every tenth sentence of the treebank, at most 300.  In *fixed, in file order*, which
is the base, suggestions come from the parser of the first hundred trees; in all other orders, the parser that suggests
learns from each tree (`Workbench`), has a new start when the trees have doubled, and goes on until there are three
quarters as many corrections as in the base.  *Share* is the number of
corrections after which an order has reached the last F1 of the base, as a share of those of the base: by linear
interpolation between means over three batches.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks._measure import in_new_process, print_head, print_row
from spectral_latent.constituency import ConstituencyModel, Phrase, clean
from spectral_latent.constituency.tree import list_constituents
from spectral_latent.corpora import constituency_trees
from spectral_latent_annotate import Suggestion, Workbench

COLUMNS = ("trees", "corrected", "F1", "share", "CPU s")
FIRST = 100  # trees that are given
BATCH = 50  # sentences that are corrected together
ASKED = 150  # sentences of which the next batch is chosen
HELD_OUT = 300
MOST = 800  # trees of one text, if a treebank has several
DATA = Path(os.environ.get("SPECTRAL_LATENT_DATA", "."), "treebanks")
TREEBANKS = {
    "sample": ["nltk:treebank"],
    "alpino": [str(DATA / "alpino" / "train.mrg")],  # as `benchmarks.alpino` writes it
    "IcePaHC": sorted(map(str, DATA.glob("icepahc/*.psd"))),
}
ORDERS: dict[str, Callable[[Sequence[Suggestion], np.random.Generator], Iterable[float]]] = {
    "file order": lambda found, rng: range(len(found)),
    "random": lambda found, rng: rng.random(len(found)),
    "longest first": lambda found, rng: [-float(len(list(each.tree.words()))) for each in found],
    "most expected errors": lambda found, rng: [-each.expected_errors for each in found],
    "fewest expected errors a word": lambda found, rng: [_errors_a_word(each) for each in found],
    "most words for an error": lambda found, rng: [
        -len(list(each.tree.words())) / (1.0 + each.expected_errors) for each in found
    ],
}


def _errors_a_word(suggestion: Suggestion) -> float:
    """Divide the expected errors of a tree by its words."""
    return suggestion.expected_errors / len(list(suggestion.tree.words()))


def read(treebank: str) -> tuple[list[Phrase], list[Phrase]]:
    """Read the pool of a treebank, and its held-out trees."""
    most = MOST if len(TREEBANKS[treebank]) > 1 else None
    trees = (tree for source in TREEBANKS[treebank] for tree in islice(constituency_trees(source), most))
    plain = [tree for tree in map(clean, islice(trees, 8000)) if tree is not None]
    return [tree for at, tree in enumerate(plain) if at % 10], plain[::10][:HELD_OUT]


def n_lacking(gold: Phrase, found: Phrase) -> int:
    """Count the brackets and tags of a tree that another one lacks."""
    return (Counter(list_constituents(gold)) - Counter(list_constituents(found))).total()


def f1(model: ConstituencyModel, trees: Sequence[Phrase]) -> float:
    """Compute the F1 of labelled brackets, in percent."""
    n_right = n_all = 0
    for gold, (parse,) in zip(trees, model.parse_all([list(t.words()) for t in trees], scored=False), strict=True):
        ours, theirs = (Counter(c for c in list_constituents(t) if not c.is_tag) for t in (gold, parse.tree))
        n_right += (ours & theirs).total()
        n_all += ours.total() + theirs.total()
    return 200.0 * n_right / n_all


def simulate(
    treebank: str, order: str | None, n_trees: int, most: float = np.inf
) -> tuple[list[tuple[int, float]], int, float]:
    """Correct trees in an order, None for the base; return corrections with F1 after each batch, trees and CPU seconds.

    most: the number of corrections after which no more trees are taken; without it, `n_trees` are.
    """
    pool, held_out = read(treebank)
    rng = np.random.default_rng(0)
    bench = Workbench({str(at): tree for at, tree in enumerate(pool[:FIRST])})
    fixed = bench.model
    waiting = list(range(FIRST, len(pool)))
    corrected = 0
    points = []
    begun = time.process_time()
    while (len(bench.trees) < n_trees if most == np.inf else corrected < most) and waiting:
        asked = waiting[:BATCH]
        if order not in (None, "file order"):
            asked = sorted(rng.choice(waiting, min(ASKED, len(waiting)), replace=False).tolist())
        sentences = [list(pool[at].words()) for at in asked]
        if order is None:
            assert fixed is not None
            found = [parses[0].tree for parses in fixed.parse_all(sentences, scored=False)]
        else:
            suggestions = bench.suggest(sentences)
            chosen = np.argsort(list(ORDERS[order](suggestions, rng)), kind="stable")[:BATCH].tolist()
            asked, found = [asked[at] for at in chosen], [suggestions[at].tree for at in chosen]
        for at, tree in zip(asked, found, strict=True):
            corrected += n_lacking(pool[at], tree)
            bench.add(str(at), pool[at])
        waiting = sorted({*waiting} - {*asked})
        if bench.is_old:
            bench.renew()
        assert bench.model is not None
        points.append((corrected, f1(bench.model, held_out)))
    return points, len(bench.trees), time.process_time() - begun


def smoothed(points: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """Average each F1 with those of the batches before and after it."""
    return [(n, float(np.mean([f for _, f in points[max(at - 1, 0) : at + 2]]))) for at, (n, _) in enumerate(points)]


def corrections_for(points: Sequence[tuple[int, float]], wanted: float) -> float | None:
    """Interpolate the number of corrections at which F1 is first as large as wanted; None if it never is."""
    before = (0.0, 0.0)
    for n, reached in points:
        if reached >= wanted:
            return before[0] + (n - before[0]) * (wanted - before[1]) / (reached - before[1])
        before = (n, reached)
    return None


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--treebanks", nargs="+", choices=TREEBANKS, default=list(TREEBANKS))
    parser.add_argument("--orders", nargs="+", choices=ORDERS, default=list(ORDERS))
    parser.add_argument("--trees", type=int, default=600)
    arguments = parser.parse_args()
    print_head(["treebank", "order"], COLUMNS)
    for treebank in arguments.treebanks:
        base: list[tuple[int, float]] = []
        for order in (None, *arguments.orders):
            most = 0.75 * base[-1][0] if base else np.inf
            points, n_trees, seconds = in_new_process(simulate, treebank, order, arguments.trees, most)
            points = smoothed(points)
            base = base or points
            n = corrections_for(points, base[-1][1]) if order else float(points[-1][0])
            row = {"trees": n_trees, "corrected": points[-1][0], "F1": f"{points[-1][1]:.1f}", "CPU s": seconds}
            row["share"] = "never" if n is None else f"{n / base[-1][0]:.2f}"
            print_row([treebank, order or "fixed, in file order"], row, COLUMNS, ("trees", "corrected", "CPU s"))


if __name__ == "__main__":
    main()
