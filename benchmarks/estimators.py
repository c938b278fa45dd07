"""Compare the estimators on one treebank: accuracy, held-out likelihood, time and memory.

    python -m benchmarks.estimators                  # NLTK's treebank sample, train → dev
    python -m benchmarks.estimators --split test
    python -m benchmarks.estimators --curves         # F1 against EM iterations, from clusters and from random states

The slides (29) claim the accuracy of EM in a fraction of its time, where EM "requires about 20 iterations to converge".
Here EM also runs until its objective hardly rises, as by default.  Every row is a process of its own; seconds are CPU
seconds of training, from trees in memory to a model in memory, after compilation.  log p̂ is the mean over the held-out
trees whose rules were all seen and whose estimate is positive.  `≤ 0` is the share of trees with other estimates among
the trees whose rules were all seen.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np

from benchmarks._measure import in_new_process, peak_megabytes, print_head, print_row
from spectral_latent.constituency import ConstituencyModel, ConstituencyOptions, Phrase, clean, prepare
from spectral_latent.corpora import constituency_trees
from spectral_latent.estimation import EstimatorOptions, Progress, estimate
from spectral_latent.evaluation import HeldOut, score_brackets

COLUMNS = ("F1", "F1 ≤ 40", "log p̂", "≤ 0", "iterations", "training s", "peak MB")
WHOLE = ("iterations", "peak MB")
ROWS = {
    "plain PCFG": EstimatorOptions(n_states=1),
    "spectral": EstimatorOptions(),
    "clustering": EstimatorOptions(estimator="clustering"),
    "pivots": EstimatorOptions(estimator="anchors"),
    "clusters-em, 5 iterations": EstimatorOptions(estimator="clusters-em"),
    "clusters-em, 100 iterations": EstimatorOptions(estimator="clusters-em", iterations=100, tolerance=0.0),
    "EM, 20 iterations": EstimatorOptions(estimator="em", iterations=20, tolerance=0.0),
    "EM, 100 iterations": EstimatorOptions(estimator="em", iterations=100, tolerance=0.0),
    "EM, converged": EstimatorOptions(estimator="em"),
}


def measure(name: str, train: str, held_out: str) -> dict[str, float]:
    """Train and evaluate the model of a row, and return the row's numbers."""
    warm = [Phrase("S", (Phrase("A", (a,)), Phrase("B", ("b",)))) for a in "ab"]
    ConstituencyModel.train(warm, ConstituencyOptions(estimator=ROWS[name].with_settings(n_states=2))).parse(["a", "b"])
    trees = list(constituency_trees(train))
    gold = [tree for tree in constituency_trees(held_out) if clean(tree) is not None]
    iterations = 0

    def listen(progress: Progress) -> None:
        """Count the iterations of EM."""
        nonlocal iterations
        iterations = progress.done if progress.stage == "EM" else 0

    start = time.process_time()
    model = ConstituencyModel.train(trees, ConstituencyOptions(estimator=ROWS[name]), listener=listen)
    seconds = time.process_time() - start
    if name == "plain PCFG":
        grammar = model.members[0]
        model = ConstituencyModel((grammar.with_operators(grammar.coarse),))
    cleaned = [tree for tree in map(clean, gold) if tree is not None]
    pairs = [(tree, model.parse(list(words.words())).tree) for tree, words in zip(gold, cleaned, strict=True)]
    weight = model.score(gold)
    return {
        "F1": score_brackets(pairs).f1,
        "F1 ≤ 40": score_brackets(pairs, max_length=40).f1,
        "log p̂": float(weight.log[weight.sign > 0].mean()),
        "≤ 0": 100 * float(np.mean(weight.sign[weight.sign != 0] < 0)),
        "iterations": float(iterations),
        "training s": seconds,
        "peak MB": peak_megabytes(),
    }


def curves(train: str, evaluate: str, numbers: Sequence[int]) -> None:
    """Print F1 after several numbers of iterations of EM, from clusters and from random states."""
    (training,) = prepare(constituency_trees(train), [ConstituencyOptions()])
    options = training.coarse.options.estimator
    held_out = HeldOut(training.coarse, constituency_trees(evaluate))
    print_head([f"F1 on {evaluate} after"], list(map(str, numbers)))
    for start, name in {"clusters": "clusters-em", "random": "em"}.items():
        print(f"| from {start} |", end="", flush=True)
        for iterations in numbers:
            climbing = EstimatorOptions(name, options.n_states, iterations=iterations, tolerance=0.0)
            f1 = held_out.f1(estimate(training.treebank, climbing).operators)
            print(f" {f1:.1f} |", end="", flush=True)
        print()


def main() -> None:
    """Print the table and the headline, or the curves."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--split", choices=("dev", "test"), default="dev", help="the part of NLTK's treebank sample")
    parser.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS))
    parser.add_argument("--curves", action="store_true", help="print learning curves instead")
    parser.add_argument(
        "--iterations", type=int, nargs="+", default=[1, 2, 3, 5, 10, 20, 40, 80], help="points of curves"
    )
    arguments = parser.parse_args()
    evaluate = f"nltk:treebank:{arguments.split}"
    if arguments.curves:
        return curves("nltk:treebank:train", evaluate, arguments.iterations)
    print(f"\nnltk:treebank:train → {evaluate}, m = 16\n")
    print_head(["estimator"], COLUMNS)
    rows = {}
    for name in arguments.rows:
        rows[name] = in_new_process(measure, name, "nltk:treebank:train", evaluate)
        print_row([name], rows[name], COLUMNS, WHOLE)
    spectral = rows.get("spectral")
    for name, row in rows.items():
        if name.startswith("EM") and spectral is not None:
            share = row["training s"] / spectral["training s"]
            print(f"\nSpectral: 1/{share:.0f} of the CPU time of {name}, {spectral['F1'] - row['F1']:+.1f} F1.")


if __name__ == "__main__":
    main()
