"""Compare `SpectralGaussianHMM` and hmmlearn on random hidden Markov models of numbers: held-out likelihood and time.

    python -m benchmarks.gaussian_markov                    # 10 problems
    python -m benchmarks.gaussian_markov --problems 3 --hmmlearn 5   # the best of five starts of hmmlearn, if installed

A problem has 5 to 10 states with two numbers at each position, whose distributions overlap.  One sequence of 10,000
positions is for training, another for the test.  *Lost* is the true log-likelihood less that of the model, in nats a
position; *seconds* are CPU seconds, after compilation.  Both learners stop when the log-likelihood of a position rises
by less than 2e-5 in an iteration, and know the number of states.
"""

from __future__ import annotations

import argparse
import logging
import time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._measure import print_head
from spectral_latent_sklearn import SpectralGaussianHMM

POSITIONS = 10_000
TOLERANCE = 2e-5  # nats a position
NEAR = 0.02  # nats a position that a model near the truth loses at most


def draw_problem(seed: int) -> SpectralGaussianHMM:
    """Draw a hidden Markov model."""
    rng = np.random.default_rng(seed)
    m = 5 + seed % 6
    truth = SpectralGaussianHMM(m)
    truth.startprob_ = np.full(m, 1.0 / m)
    truth.transmat_ = 0.9 * rng.dirichlet(np.full(m, 0.3), m) + 0.1 / m
    truth.means_ = 1.5 * rng.normal(size=(m, 2))
    truth.covars_ = rng.uniform(0.1, 0.6, size=(m, 2))[:, :, None] * np.eye(2)
    truth.n_features_in_ = 2
    return truth


def learn_hmmlearn(m: int, X: Any, n_init: int) -> Any:
    """Learn by hmmlearn from several starts, and keep the likeliest model."""
    from hmmlearn.hmm import GaussianHMM

    starts = [GaussianHMM(m, n_iter=1000, tol=TOLERANCE * len(X), random_state=start) for start in range(n_init)]
    return max((hmm.fit(X) for hmm in starts), key=lambda hmm: hmm.score(X))


def main() -> None:
    """Print a row for each problem, and how many models of each learner are near the truth."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=10)
    parser.add_argument("--hmmlearn", type=int, default=0, help="the number of starts of hmmlearn; 0 to leave it out")
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    SpectralGaussianHMM(2, n_iter=2, n_init=1).fit(np.random.default_rng(0).normal(size=(500, 2)))
    learnt: dict[str, list[tuple[float, float]]] = {}
    print_head(["problem", "states", "learner"], ["lost", "CPU s"])
    for seed in range(arguments.problems):
        truth = draw_problem(seed)
        m = truth.n_components
        training, test = (truth.sample(POSITIONS, random_state=2 * seed + part)[0] for part in (0, 1))
        learners = {"hybrid": lambda X, m=m: SpectralGaussianHMM(m, tol=TOLERANCE, random_state=0).fit(X)}
        if arguments.hmmlearn:
            learners["hmmlearn"] = lambda X, m=m: learn_hmmlearn(m, X, arguments.hmmlearn)
        for name, learn in learners.items():
            begun = time.process_time()
            model = learn(training)
            seconds = time.process_time() - begun
            lost = (truth.score(test) - model.score(test)) / POSITIONS
            learnt.setdefault(name, []).append((lost, seconds))
            print(f"| {seed} | {m} | {name} | {lost:.4f} | {seconds:.1f} |", flush=True)
    for name, rows in learnt.items():
        near = sum(lost < NEAR for lost, _ in rows)
        seconds = sum(seconds for _, seconds in rows)
        print(f"| all | | {name} | {near} of {len(rows)} within {NEAR} | {seconds:.1f} |")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
