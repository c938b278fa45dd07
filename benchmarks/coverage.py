"""Measure how often the intervals of `Jackknife` cover the truth, on models that are known.

    python -m benchmarks.coverage
    python -m benchmarks.coverage --samples 100 --trees 10000 --settings "no smoothing"

Three latent PCFGs and two hidden Markov models were drawn at random (`recovery`), and samples of trees from each.  The
spectral estimator with the right numbers of states estimates the probabilities of 21 trees, which were drawn once, with
standard errors by twenty groups.  *Coverage* is the share of all intervals of a nominal 95 % that contain the true
probability, *rarer half* that of the trees whose probability is below the median, and *worst tree* the lowest share of
a single tree; *ratio* is the mean standard error over the standard deviation of the estimates, a median over the trees.
The settings "no smoothing" also fix the cutoff and the scaling; smoothing, which the default settings have, adds a bias
of the same order as the standard error.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from benchmarks._measure import print_head, print_row
from benchmarks.recovery import PROBLEMS, Problem, features_of
from spectral_latent.estimation import Shard, Spectral, Treebank, estimate
from spectral_latent.inference import sample_trees, tree_weights
from spectral_latent.model import Jackknife
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import FloatArray, Forest, SkeletalTrees

COLUMNS = ("coverage %", "rarer half", "worst tree", "ratio", "CPU s a sample")
SETTINGS: dict[str, dict[str, float | None]] = {
    "no smoothing": {"scaling": 1.0, "smoothing": None, "cutoff": 1e-6},
    "default": {},
}
CHOSEN = (0, 1, 6, 10, 11)
N_ESTIMATES = 21


def asked(problem: Problem) -> SkeletalTrees:
    """Draw trees of at most five words, all different."""
    drawn = sample_trees(problem.model, 2000, np.random.default_rng(99)).trees
    found: dict[bytes, SkeletalTrees] = {}
    for tree in drawn.separate():
        if tree.is_leaf.sum() <= 5:
            found.setdefault(b"".join(column.tobytes() for column in (tree.symbol, tree.left, tree.terminal)), tree)
    return joined(list(found.values())[:N_ESTIMATES])


def joined(trees: list[SkeletalTrees]) -> SkeletalTrees:
    """Join trees."""
    before = np.cumsum([0, *(tree.n_nodes for tree in trees)])
    columns = [
        np.concatenate(
            [
                np.where(getattr(tree, name) < 0, -1, getattr(tree, name) + (n if moves else 0))
                for tree, n in zip(trees, before, strict=False)
            ]
        )
        for name, moves in (("symbol", 0), ("left", 1), ("right", 1), ("terminal", 0), ("root", 1))
    ]
    return SkeletalTrees(*columns)


def probabilities(operators: ObservableOperators, trees: SkeletalTrees) -> FloatArray:
    """Compute p̂ of trees."""
    weights = tree_weights(operators, Forest.of_trees(trees, operators.rules))
    return np.asarray(weights.sign * np.exp(weights.log))


def measure(
    problem: Problem, settings: str, n_trees: int, n_samples: int, n_groups: int = 20
) -> dict[str, float | str]:
    """Draw samples, and compare intervals with the truth."""
    trees_asked = asked(problem)
    truth = probabilities(problem.model, trees_asked)
    options = Spectral(n_states=problem.n_states).with_settings(**SETTINGS[settings])
    covered, values, errors = [], [], []
    begun = time.process_time()
    for seed in range(n_samples):
        trees = sample_trees(problem.model, n_trees, np.random.default_rng([7, seed])).trees
        features = features_of(trees)

        def train(numbers: list[int], trees: SkeletalTrees = trees, features: object = features) -> ObservableOperators:
            """Estimate the operators of some of the trees; the others have weight 0."""
            weight = np.bincount(numbers, minlength=n_trees).astype(float)
            treebank = Treebank.of([Shard.of(trees, features, weight)])  # type: ignore[arg-type]
            return estimate(treebank, options).operators

        jackknife = Jackknife(train, range(n_trees), n_groups, seed=seed)
        found = jackknife.estimate(lambda operators: probabilities(operators, trees_asked))
        low, high = found.interval()
        covered.append((low <= truth) & (truth <= high))
        values.append(found.value)
        errors.append(found.error)
    ratio = np.median(np.mean(errors, axis=0) / np.std(values, axis=0, ddof=1))
    seconds = (time.process_time() - begun) / n_samples
    of_each = 100.0 * np.mean(covered, axis=0)
    return {
        "coverage %": float(of_each.mean()),
        "rarer half": float(of_each[truth < np.median(truth)].mean()),
        "worst tree": float(of_each.min()),
        "ratio": f"{ratio:.2f}",
        "CPU s a sample": seconds,
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--trees", type=int, default=2000)
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    arguments = parser.parse_args()
    print_head(["model", "settings"], COLUMNS)
    for name in arguments.settings:
        for problem in (PROBLEMS[number] for number in CHOSEN):
            row = measure(problem, name, arguments.trees, arguments.samples)
            print_row([problem.name, name], row, COLUMNS, ("worst tree",))


if __name__ == "__main__":
    main()
