"""Compare scikit-learn's face and hmmlearn on random hidden Markov models: held-out likelihood and time.

    python -m benchmarks.hidden_markov                                   # 20 problems with categories
    python -m benchmarks.hidden_markov --emissions numbers --problems 10 # two columns of Gaussian numbers
    python -m benchmarks.hidden_markov --problems 3 --hmmlearn 5         # the best of five starts of hmmlearn

A problem has 5 to 10 states.  Categories are two to four times as many and sparse, and half of each transition follows
a permutation, so that single starts of Baum-Welch end in local optima; transitions between numbers are sparse.
Learners see 200 sequences of 50 positions, 50 are for the test.  They know the number of states, and stop when the
log-likelihood of a position rises by less than 2e-5 in an iteration.  *Lost* is the true log-likelihood less that of
the model, in nats a position; *near* is the number of models that lose at most 0.01 of categories, 0.02 of numbers.
Seconds are CPU seconds, after compilation.
"""

from __future__ import annotations

import argparse
import logging
import time
from collections import defaultdict
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._measure import print_head, print_row
from spectral_latent_sklearn import SpectralGaussianHMM, SpectralHMM

LENGTH = 50
N_TRAINING, N_TEST = 200, 50  # sequences
TOLERANCE = 2e-5  # nats a position
NEAR = {"categories": 0.01, "numbers": 0.02}
COLUMNS = ("lost", "CPU s", "near")


def draw_categories(m: int, rng: np.random.Generator) -> SpectralHMM:
    """Draw a hidden Markov model of m states that emits categories."""
    n = int(rng.integers(2 * m, 4 * m))
    truth = SpectralHMM(m)
    truth.startprob_ = rng.dirichlet(np.ones(m))
    truth.transmat_ = 0.5 * rng.dirichlet(np.full(m, 0.2), m) + 0.5 * np.eye(m)[rng.permutation(m)]
    truth.emissionprob_ = rng.dirichlet(np.full(n, 0.1), m)
    truth.categories_ = np.arange(n)
    truth.n_features_in_ = 1
    return truth


def draw_numbers(m: int, rng: np.random.Generator) -> SpectralGaussianHMM:
    """Draw a hidden Markov model of m states that emits two columns of numbers."""
    truth = SpectralGaussianHMM(m)
    truth.startprob_ = np.full(m, 1.0 / m)
    truth.transmat_ = 0.9 * rng.dirichlet(np.full(m, 0.3), m) + 0.1 / m
    truth.means_ = 1.5 * rng.normal(size=(m, 2))
    truth.covars_ = rng.uniform(0.1, 0.6, size=(m, 2))[:, :, None] * np.eye(2)
    truth.n_features_in_ = 2
    return truth


def draw(truth: Any, n: int, seed: int) -> Any:
    """Draw n sequences as rows, one sequence after another."""
    return np.concatenate([truth.sample(LENGTH, random_state=1000 * seed + number)[0] for number in range(n)])


def hmmlearn_of(truth: Any, seed: int) -> Any:
    """Make a model of hmmlearn with one random start."""
    from hmmlearn.hmm import CategoricalHMM, GaussianHMM

    settings = {"n_iter": 1000, "tol": TOLERANCE * N_TRAINING * LENGTH, "random_state": seed}
    if isinstance(truth, SpectralHMM):
        return CategoricalHMM(truth.n_components, n_features=len(truth.categories_), **settings)
    return GaussianHMM(truth.n_components, covariance_type="full", **settings)


def learn(name: str, truth: Any, X: Any, lengths: list[int], n_init: int) -> Any:
    """Train the model of a row; of several starts of hmmlearn, keep the likeliest."""
    m = truth.n_components
    if name == "hmmlearn":
        starts = [hmmlearn_of(truth, seed).fit(X, lengths=lengths) for seed in range(n_init)]
        return max(starts, key=lambda hmm: hmm.score(X, lengths=lengths))
    if isinstance(truth, SpectralHMM):
        return SpectralHMM(m, name, random_state=0).fit(X, lengths=lengths)
    return SpectralGaussianHMM(m, tol=TOLERANCE, random_state=0).fit(X, lengths=lengths)


def main() -> None:
    """Print a row for each problem, and one for all problems of each learner."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--emissions", choices=NEAR, default="categories")
    parser.add_argument("--problems", type=int, default=20)
    parser.add_argument("--hmmlearn", type=int, default=0, help="the number of starts of hmmlearn; 0 to leave it out")
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    is_categories = arguments.emissions == "categories"
    learners = ["moments-em", "em"] if is_categories else ["moments-em"]
    learners += ["hmmlearn"] if arguments.hmmlearn else []
    lengths = [LENGTH] * N_TRAINING
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    print_head(["problem", "states", "learner"], COLUMNS)
    for number in range(-1, arguments.problems):  # the first one compiles what is measured
        rng = np.random.default_rng(max(number, 0))
        m = int(rng.integers(5, 11))
        truth = (draw_categories if is_categories else draw_numbers)(m, rng)
        X, test = draw(truth, N_TRAINING, 2 * number + 2), draw(truth, N_TEST, 2 * number + 3)
        true_score = truth.score(test, lengths=[LENGTH] * N_TEST)
        for name in learners:
            begun = time.process_time()
            model = learn(name, truth, X, lengths, arguments.hmmlearn)
            seconds = time.process_time() - begun
            lost = (true_score - model.score(test, lengths=[LENGTH] * N_TEST)) / len(test)
            if number >= 0:
                found[name].append((lost, seconds))
                print_row([number, m, name], {"lost": f"{lost:.4f}", "CPU s": seconds}, COLUMNS, ())
    for name, rows in found.items():
        lost, seconds = np.sum(rows, axis=0)
        near = f"{sum(each <= NEAR[arguments.emissions] for each, _ in rows)} of {len(rows)}"
        print_row(["all", "", name], {"lost": f"{lost / len(rows):.4f}", "CPU s": seconds, "near": near}, COLUMNS, ())


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
