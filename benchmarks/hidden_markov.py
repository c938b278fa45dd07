"""Compare `SpectralHMM` and hmmlearn on random hidden Markov models: held-out likelihood and time.

    python -m benchmarks.hidden_markov                    # 20 problems
    python -m benchmarks.hidden_markov --problems 3 --hmmlearn 5   # the best of five starts of hmmlearn, if installed

A problem has 5 to 10 states, twice to four times as many symbols, and sparse emissions.  Half of each transition
follows a permutation, so that single starts of Baum-Welch end in local optima.  800 sequences of 50 symbols are for
training, 200 for the test.  *Lost* is the true log-likelihood less that of the model, in nats a symbol; *seconds* are
CPU seconds, after compilation.  Both learners stop when the log-likelihood of a symbol rises by less than 2e-5 in an
iteration, and know the number of states.
"""

from __future__ import annotations

import argparse
import logging
import time
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._measure import print_head
from spectral_latent.trees import FloatArray, IntArray
from spectral_latent_sklearn import SpectralHMM

LENGTH = 50
TRAINING = 800
TEST = 200
TOLERANCE = 2e-5  # nats a symbol
NEAR = 0.01  # nats a symbol that a model near the truth loses at most


class Problem(NamedTuple):
    """A hidden Markov model, and two samples of it.

    truth: the probabilities of the start (m,), of transitions (m, m) and of emissions (m, n).
    training, test: (N, 1) the symbols of each sample, sequence after sequence.
    """

    truth: tuple[FloatArray, FloatArray, FloatArray]
    training: IntArray
    test: IntArray


def draw_problem(seed: int) -> Problem:
    """Draw a model, and sequences of it."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(5, 11))
    n = int(rng.integers(2 * m, 4 * m))
    initial = rng.dirichlet(np.ones(m))
    transition = 0.5 * rng.dirichlet(np.full(m, 0.2), m) + 0.5 * np.eye(m)[rng.permutation(m)]
    emission = rng.dirichlet(np.full(n, 0.1), m)
    truth = (initial, transition, emission)
    return Problem(truth, _draw(truth, TRAINING, rng), _draw(truth, TEST, rng))


def _draw(truth: tuple[FloatArray, FloatArray, FloatArray], n: int, rng: np.random.Generator) -> IntArray:
    """Draw n sequences as one column."""

    def chosen(rows: FloatArray) -> IntArray:
        """Draw a column of each row of probabilities."""
        ends = np.cumsum(rows, axis=1)
        return np.minimum((rng.random((len(rows), 1)) >= ends).sum(axis=1), rows.shape[1] - 1)

    initial, transition, emission = truth
    state = chosen(np.tile(initial, (n, 1)))
    columns = []
    for _ in range(LENGTH):
        columns.append(chosen(emission[state]))
        state = chosen(transition[state])
    return np.stack(columns, axis=1).reshape(-1, 1)


def lengths_of(X: IntArray) -> list[int]:
    """List the lengths of the sequences in a sample."""
    return [LENGTH] * (len(X) // LENGTH)


def true_likelihood(problem: Problem) -> float:
    """Compute the log-likelihood of the test sequences under the truth."""
    hmm = SpectralHMM()
    hmm.startprob_, hmm.transmat_, hmm.emissionprob_ = problem.truth
    hmm.categories_ = np.arange(problem.truth[2].shape[1])
    hmm.n_features_in_ = 1
    return hmm.score(problem.test, lengths=lengths_of(problem.test))


def learn_hmmlearn(m: int, n: int, training: IntArray, n_init: int) -> Any:
    """Learn by hmmlearn from several starts, and keep the likeliest model."""
    from hmmlearn.hmm import CategoricalHMM

    lengths = lengths_of(training)
    starts = [
        CategoricalHMM(m, n_iter=1000, tol=TOLERANCE * len(training), random_state=start, n_features=n)
        for start in range(n_init)
    ]
    return max(
        (hmm.fit(training, lengths=lengths) for hmm in starts), key=lambda hmm: hmm.score(training, lengths=lengths)
    )


def measure(problem: Problem, learn: Any) -> tuple[float, float]:
    """Measure the log-likelihood that a learner loses, in nats a symbol, and its CPU seconds."""
    begun = time.process_time()
    model = learn(problem.training)
    seconds = time.process_time() - begun
    likelihood = model.score(problem.test, lengths=lengths_of(problem.test))
    return (true_likelihood(problem) - likelihood) / len(problem.test), seconds


def main() -> None:
    """Print a row for each problem, and how many models of each learner are near the truth."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=20)
    parser.add_argument("--hmmlearn", type=int, default=0, help="the number of starts of hmmlearn; 0 to leave it out")
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    learnt: dict[str, list[tuple[float, float]]] = {}
    print_head(["problem", "states", "learner"], ["lost", "CPU s"])
    warm_up = draw_problem(0)
    SpectralHMM(2, n_iter=2).fit(warm_up.training).score(warm_up.test)
    for seed in range(arguments.problems):
        problem = draw_problem(seed)
        m, n = problem.truth[2].shape
        learners = {
            name: lambda X, name=name, m=m: SpectralHMM(m, name, random_state=0).fit(X, lengths=lengths_of(X))
            for name in ("hybrid", "em")
        }
        if arguments.hmmlearn:
            learners["hmmlearn"] = lambda X, m=m, n=n: learn_hmmlearn(m, n, X, arguments.hmmlearn)
        for name, learn in learners.items():
            lost, seconds = measure(problem, learn)
            learnt.setdefault(name, []).append((lost, seconds))
            print(f"| {seed} | {m} | {name} | {lost:.4f} | {seconds:.1f} |", flush=True)
    for name, rows in learnt.items():
        near = sum(lost < NEAR for lost, _ in rows)
        seconds = sum(seconds for _, seconds in rows)
        print(f"| all | | {name} | {near} of {len(rows)} within {NEAR} | {seconds:.1f} |")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
