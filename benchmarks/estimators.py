"""Every estimator on the same treebank: accuracy, held-out likelihood, time and memory.

    python benchmarks/estimators.py                  # NLTK's treebank sample, train → dev
    python benchmarks/estimators.py --split test
    python benchmarks/estimators.py --curves         # F1 against EM iterations, from clusters and from random states

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
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np

from spectral_latent.constituency import ConstituencyModel, ConstituencyOptions, Phrase, Treebank, clean
from spectral_latent.corpora import constituency_trees
from spectral_latent.estimation import (
    EstimatorOptions,
    cluster_states,
    expectation,
    from_states,
    maximisation,
    moments_of,
    normalised,
    project_trees,
    random_start,
    solve,
)
from spectral_latent.evaluation import HeldOut, score_brackets
from spectral_latent.operators import ObservableOperators

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
        grammar = model.members[0]
        model = ConstituencyModel((grammar.with_operators(grammar.grammar.coarse),))
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


def curve(start: ObservableOperators, treebank: Treebank, held_out: HeldOut, at: Sequence[int]) -> Iterator[float]:
    """Dev F1 after each of the numbers of iterations `at`, smoothed as `expectation_maximisation` ends."""
    options, data = treebank.options.estimator, treebank.data
    operators = start
    for iteration in range(1, max(at) + 1):
        counts = expectation(operators, data.trees)
        operators = maximisation(counts, operators.rules, operators.states, options.state_smoothing)
        if iteration in at:
            counts = expectation(operators, data.trees)
            moments = moments_of(counts, operators.states, data.tally)
            yield held_out.f1(normalised(solve(moments, options.smoothing, data.unseen)))


def curves(split: str, at: Sequence[int] = (1, 2, 3, 5, 10, 20, 40, 80)) -> None:
    """Print the learning curves of EM from both starts."""
    treebank = Treebank.of(constituency_trees("nltk:treebank:train"), ConstituencyOptions())
    data, options = treebank.grammar.data, treebank.options.estimator
    projected = project_trees(data.trees, data.features, options)
    held_out = HeldOut(treebank.with_operators(treebank.grammar.coarse), constituency_trees(f"nltk:treebank:{split}"))
    starts = {
        "clusters": from_states(data.trees, cluster_states(data.trees, projected, options.seed), options.smoothing),
        "random": random_start(data.tally, projected.supported, options.seed),
    }
    print(f"\n| F1 on {split} after | {' | '.join(map(str, at))} |\n| --- | " + "---: | " * len(at))
    for name, start in starts.items():
        print(f"| from {name} | {' | '.join(f'{f1:.1f}' for f1 in curve(start, treebank, held_out, at))} |", flush=True)


def main() -> None:
    """Print the table and the headline, or the curves."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--split", choices=("dev", "test"), default="dev", help="of NLTK's treebank sample")
    parser.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS))
    parser.add_argument("--curves", action="store_true", help="print learning curves instead")
    arguments = parser.parse_args()
    if arguments.curves:
        return curves(arguments.split)
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
