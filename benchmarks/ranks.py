"""Count how often `find_ranks` finds the numbers of states of known models.

    python -m benchmarks.ranks
    python -m benchmarks.ranks --trees 2500 --seeds 2

Samples of trees are drawn from each of twenty random models (`recovery`).  A model counts as *right* if all its
symbols have the right number of states; *too few* and *too many* are shares of symbols.
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks._measure import print_head, print_row
from benchmarks.recovery import PROBLEMS
from spectral_latent.estimation import ProjectionOptions, find_ranks

COLUMNS = ("models", "right %", "too few %", "too many %")


def measure(n_trees: int, seeds: list[int]) -> dict[str, float]:
    """Test the ranks of all models on samples of a size."""
    differences = [
        find_ranks(problem.treebank(n_trees, seed), ProjectionOptions(n_states=problem.n_states + 2)) - problem.n_states
        for problem in PROBLEMS
        for seed in seeds
    ]
    of_symbols = np.concatenate(differences)
    return {
        "models": len(differences),
        "right %": 100.0 * float(np.mean([not each.any() for each in differences])),
        "too few %": 100.0 * float(np.mean(of_symbols < 0)),
        "too many %": 100.0 * float(np.mean(of_symbols > 0)),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trees", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--seeds", type=int, nargs="+", default=[10, 11])
    arguments = parser.parse_args()
    print_head(["trees"], COLUMNS)
    for n_trees in arguments.trees:
        print_row([f"{n_trees:,}"], measure(n_trees, arguments.seeds), COLUMNS, COLUMNS[:1])


if __name__ == "__main__":
    main()
