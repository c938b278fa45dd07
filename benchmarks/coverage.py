"""Measure how often the intervals of `Jackknife` cover the truth, on models that are known.

    python -m benchmarks.coverage
    python -m benchmarks.coverage --samples 100 --trees 10000 --settings "no smoothing"

Three latent PCFGs and two hidden Markov models were drawn at random (`recovery`), and samples of trees from each.  The
spectral estimator with the right numbers of states estimates the probabilities of 21 trees, which were drawn once, with
standard errors by twenty groups.  The settings "no smoothing" also fix the cutoff and the scaling.  "Sequences" are
those of a hidden Markov model, from which `LatentHMM` learns with default settings, and their last observations.

*Coverage* is the share of all intervals of a nominal 95 % that contain the true number, *rarer half* that of the trees
whose probability is below the median, and *worst* the lowest share of a single tree.  *Sound* is the share of intervals
that `Estimates.is_sound` trusts, followed by their coverage, and the worst of the trees of which half are trusted.
*Error alone* is the coverage of θ ± t s.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks._measure import print_head, print_row
from benchmarks.recovery import PROBLEMS, Problem, asked, features_of, probabilities
from spectral_latent import LatentHMM
from spectral_latent.estimation import Shard, Spectral, Treebank, estimate
from spectral_latent.inference import sample_trees
from spectral_latent.model import Jackknife
from spectral_latent.operators import ObservableOperators
from spectral_latent.sequence import HiddenMarkov, Sequences, hmm_preset
from spectral_latent.trees import FloatArray, SkeletalTrees

COLUMNS = ("coverage %", "rarer half", "worst", "sound", "of sound %", "worst sound", "error alone", "CPU s a sample")
SETTINGS: dict[str, dict[str, float | None]] = {
    "default": {},
    "no smoothing": {"scaling": 1.0, "smoothing": None, "cutoff": 1e-6},
}
CHOSEN = (0, 1, 6, 10, 11)
SEQUENCES = 10


class Case(NamedTuple):
    """What is estimated from samples of a problem.

    learn: makes from trees a function that learns from those with some numbers.
    ask: computes numbers from what was learnt.
    """

    problem: Problem
    settings: str
    learn: Callable[[SkeletalTrees], Callable[[list[int]], Any]]
    ask: Callable[[Any], FloatArray]
    truth: FloatArray


def of_trees(problem: Problem, settings: str) -> Case:
    """Ask for the probabilities of trees."""
    trees_asked = asked(problem)
    options = Spectral(n_states=problem.n_states).with_settings(**SETTINGS[settings])

    def learn(trees: SkeletalTrees) -> Callable[[list[int]], ObservableOperators]:
        features = features_of(trees)

        def train(numbers: list[int]) -> ObservableOperators:
            """Estimate the operators of some of the trees; the others have weight 0."""
            weight = np.bincount(numbers, minlength=len(trees.root)).astype(float)
            return estimate(Treebank.of([Shard.of(trees, features, weight)]), options).operators

        return train

    ask = partial(probabilities, trees=trees_asked)
    return Case(problem, settings, learn, ask, ask(problem.model))


def of_sequences(problem: Problem) -> list[Case]:
    """Ask for the probabilities of sequences, and for the surprisal of the last observation of each."""
    trees_asked = asked(problem)
    rows = rows_of(trees_asked)
    truth = HiddenMarkov.of_operators(problem.model)

    def learn(trees: SkeletalTrees) -> Callable[[list[int]], LatentHMM]:
        every = rows_of(trees)
        return lambda numbers: LatentHMM.train([every[number] for number in numbers], hmm_preset("spectral"))

    def last(row: list[int]) -> float:
        """Compute the true surprisal of the last observation."""
        state = truth.initial
        for x in row[:-1]:
            state = (state * truth.emission[:, x] * (1.0 - truth.stop)) @ truth.transition
            state = state / state.sum()
        before = 1.0 if len(row) == 1 else _going_on(truth, row[:-1])
        return -float(np.log(before * (state @ truth.emission[:, row[-1]])))

    def ask(model: LatentHMM) -> FloatArray:
        return np.exp(np.asarray(model.log_probabilities(rows)))

    def ask_last(model: LatentHMM) -> FloatArray:
        return np.array([-np.log(model.following(row[:-1])[row[-1]]) for row in rows])

    surprisal = np.array([last(row) for row in rows])
    return [
        Case(problem, "sequences", learn, ask, probabilities(problem.model, trees_asked)),
        Case(problem, "surprisal", learn, ask_last, surprisal),
    ]


def _going_on(truth: HiddenMarkov, row: Sequence[int]) -> float:
    """Compute the probability that a sequence goes on after a beginning, given this beginning."""
    state = truth.initial * truth.emission[:, row[0]]
    for x in row[1:]:
        state = ((state * (1.0 - truth.stop)) @ truth.transition) * truth.emission[:, x]
    return float((state @ (1.0 - truth.stop)) / state.sum())


def rows_of(trees: SkeletalTrees) -> list[list[int]]:
    """List the observations of the sequences that right-branching trees stand for."""
    sequences = Sequences.of_trees(trees)
    return [part.tolist() for part in np.split(sequences.terminal, sequences.start[1:-1])]


def measure(case: Case, n_trees: int, n_samples: int, n_groups: int = 20) -> dict[str, float | str]:
    """Draw samples, and compare intervals with the truth."""
    begun = time.process_time()
    found = []
    for seed in range(n_samples):
        trees = sample_trees(case.problem.model, n_trees, np.random.default_rng([7, seed])).trees
        found.append(Jackknife(case.learn(trees), range(n_trees), n_groups, seed=seed).estimate(case.ask))
    seconds = (time.process_time() - begun) / n_samples
    covered, alone = (
        np.array([(low <= case.truth) & (case.truth <= high) for low, high in intervals])
        for intervals in (
            [each.interval() for each in found],
            [each._replace(bias=np.zeros_like(each.bias)).interval() for each in found],
        )
    )
    sound = np.array([each.is_sound() for each in found])
    of_each = 100.0 * covered.mean(axis=0)
    often = sound.mean(axis=0) >= 0.5
    of_sound = 100.0 * (covered & sound).sum(axis=0)[often] / sound.sum(axis=0)[often]
    return {
        "coverage %": float(of_each.mean()),
        "rarer half": float(of_each[case.truth < np.median(case.truth)].mean()),
        "worst": float(of_each.min()),
        "sound": 100.0 * float(sound.mean()),
        "of sound %": 100.0 * float(covered[sound].mean()),
        "worst sound": float(of_sound.min(initial=100.0)),
        "error alone": 100.0 * float(alone.mean()),
        "CPU s a sample": seconds,
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--trees", type=int, nargs="+", default=[200, 2000])
    parser.add_argument("--settings", nargs="+", choices=[*SETTINGS, "sequences"], default=[*SETTINGS, "sequences"])
    arguments = parser.parse_args()
    cases = [of_trees(PROBLEMS[n], name) for name in SETTINGS if name in arguments.settings for n in CHOSEN]
    if "sequences" in arguments.settings:
        cases += of_sequences(PROBLEMS[SEQUENCES])
    print_head(["model", "settings", "trees"], COLUMNS)
    for n_trees in arguments.trees:
        for case in cases:
            row = measure(case, n_trees, arguments.samples)
            print_row(
                [case.problem.name, case.settings, f"{n_trees:,}"], row, COLUMNS, ("worst", "worst sound", "sound")
            )


if __name__ == "__main__":
    main()
