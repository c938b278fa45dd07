"""Every estimator on the same treebank: accuracy, held-out likelihood, time and memory.

    python benchmarks/estimators.py                  # NLTK's treebank sample, train → dev
    python benchmarks/estimators.py --split test

The headline is the claim of the slides (29): the accuracy of EM at a fraction of its time.  EM runs until its
log-likelihood per tree rises by less than a hundredth of a nat.  Every row is a process of its own; seconds are CPU
seconds of training, from trees in memory to a model in memory, after compilation.  log p̂ is the mean over the
held-out trees whose rules were all seen and whose estimate is positive; `≤ 0` is the share of those with seen rules
that are not.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np

from spectral_latent.constituency import ConstituencyModel, ConstituencyOptions, Phrase, clean
from spectral_latent.corpora import constituency_trees
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.evaluation import score_brackets

COLUMNS = ("F1", "F1 ≤ 40", "log p̂", "≤ 0", "iterations", "training s", "peak MB")
CONVERGED = {"iterations": 300, "tolerance": 0.01}
ROWS = {
    "plain PCFG": EstimatorOptions(states=1),
    "spectral": EstimatorOptions(),
    "clustering": EstimatorOptions(estimator="clustering"),
    "pivots": EstimatorOptions(estimator="pivots"),
    "hybrid, 5 iterations": EstimatorOptions(estimator="hybrid"),
    "hybrid, converged": EstimatorOptions(estimator="hybrid", **CONVERGED),
    "EM, 20 iterations": EstimatorOptions(estimator="em", iterations=20, tolerance=0.0),
    "EM, converged": EstimatorOptions(estimator="em", **CONVERGED),
}


def measure(name: str, train: str, held_out: str) -> dict[str, float]:
    """One row of the table."""
    warm = [Phrase("S", (Phrase("A", (a,)), Phrase("B", ("b",)))) for a in "ab"]
    ConstituencyModel.train(warm, ConstituencyOptions(estimator=replace(ROWS[name], states=2))).parse(["a", "b"])
    trees = list(constituency_trees(train))
    gold = [tree for tree in constituency_trees(held_out) if clean(tree) is not None]
    iterations: list[int] = []
    start = time.process_time()
    model = ConstituencyModel.train(
        trees,
        ConstituencyOptions(estimator=ROWS[name]),
        listener=lambda progress: iterations.append(progress.done) if progress.log_likelihood is not None else None,
    )
    seconds = time.process_time() - start
    if name == "plain PCFG":
        model = replace(model, operators=model.plain)
    cleaned = [tree for tree in map(clean, gold) if tree is not None]
    pairs = [(tree, model.parse(list(words.words())).tree) for tree, words in zip(gold, cleaned, strict=True)]
    weight = model.score(gold)
    return {
        "F1": score_brackets(pairs).f1,
        "F1 ≤ 40": score_brackets(pairs, max_length=40).f1,
        "log p̂": float(weight.log[weight.sign > 0].mean()),
        "≤ 0": 100 * float(np.mean(weight.sign[weight.sign != 0] < 0)),
        "iterations": float(len(iterations)),
        "training s": seconds,
        "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def apart(name: str, train: str, held_out: str) -> dict[str, float]:
    """`measure` in a fresh process."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(measure, name, train, held_out).result()


def main() -> None:
    """Print the table and the headline."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--split", choices=("dev", "test"), default="dev", help="of NLTK's treebank sample")
    parser.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS))
    arguments = parser.parse_args()
    print(f"\nnltk:treebank:train → nltk:treebank:{arguments.split}, m = 16\n\n| estimator | {' | '.join(COLUMNS)} |")
    print("| --- | " + "---: | " * len(COLUMNS))
    found = {}
    for name in arguments.rows:
        found[name] = row = apart(name, "nltk:treebank:train", f"nltk:treebank:{arguments.split}")
        cells = (
            f"{row[column]:.0f}" if column in ("iterations", "peak MB") else f"{row[column]:.1f}" for column in COLUMNS
        )
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    if {"spectral", "EM, converged"} <= found.keys():
        ours, theirs = found["spectral"], found["EM, converged"]
        print(
            f"\nSpectral takes 1/{theirs['training s'] / ours['training s']:.0f} of the CPU time of EM, "
            f"at {ours['F1'] - theirs['F1']:+.1f} F1."
        )


if __name__ == "__main__":
    main()
