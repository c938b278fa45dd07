"""Sequences drawn from known hidden Markov models: spectral learning beside Baum-Welch, bigrams and the truth.

    python benchmarks/sequences.py                       # 5 states, 20 symbols; 2,000 to 200,000 strings
    python benchmarks/sequences.py --model hard          # 20 states, 200 symbols
    python benchmarks/sequences.py --model dependent     # the same, the emissions of states nearly dependent

KL is the mean over 2,000 further strings of log p(string) - log p̂(string), in nats; *raw ≤ 0* is the share of them
whose estimate is not positive before estimates are made probabilities.  Baum-Welch knows the true number of states and
runs from five random starts until an iteration raises the log-likelihood by less than 1e-4 a string; spectral learning
chooses its number of states.  Seconds are CPU seconds after compilation.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from spectral_latent.estimation import EstimatorOptions, TreebankCounts
from spectral_latent.inference import sample_trees, tree_weights
from spectral_latent.sequence import HiddenMarkov, HMMOptions, LatentHMM, Sequences, UntaggedShard, baum_welch
from spectral_latent.trees import FloatArray, Forest

Strings = list[list[int]]
N_TEST = 2_000
LENGTH = 6.2  # the mean
STARTS = 5


class Truth(NamedTuple):
    """States, symbols, and how concentrated probabilities are; `independent` is what an emission has of its own."""

    n_states: int
    n_symbols: int
    concentration: float
    independent: float


MODELS = {
    "standard": Truth(5, 20, 0.3, 1.0),
    "hard": Truth(20, 200, 0.3, 1.0),
    "dependent": Truth(20, 200, 0.3, 0.3),
}


class Row(NamedTuple):
    """A learner's result."""

    name: str
    states: str
    kl: float
    raw: float  # share of test strings, in percent
    seconds: float


def draw(truth: Truth, rng: np.random.Generator) -> HiddenMarkov:
    """A hidden Markov model with rows from Dirichlet distributions."""
    m, n, concentration, independent = truth

    def rows(shape: tuple[int, int]) -> FloatArray:
        return rng.dirichlet(np.full(shape[1], concentration), size=shape[0])

    emission = rows((m, n))
    if independent < 1.0:
        emission = independent * emission + (1.0 - independent) * rows((m, m)) @ emission
    return HiddenMarkov(rows((1, m))[0], rows((m, m)), np.full(m, 1.0 / LENGTH), emission)


def strings(model: HiddenMarkov, n: int, rng: np.random.Generator) -> Strings:
    """n strings of the model."""
    drawn = Sequences.of_trees(sample_trees(model.operators(), n, rng).trees)
    return [row.tolist() for row in drawn.rows]


def log_probabilities(model: HiddenMarkov, sample: Strings) -> FloatArray:
    """Exact ones."""
    operators = model.operators()
    return tree_weights(operators, Forest.of_trees(Sequences.of(sample).trees(1), operators.rules)).log


def bigrams(train: Strings, test: Strings, n_symbols: int, added: float) -> FloatArray:
    """Log-probabilities under bigrams of symbols and ends, with λ added to every count."""
    end = n_symbols
    counts = np.full((n_symbols + 1, n_symbols + 1), added)
    for row in train:
        np.add.at(counts, ([end, *row], [*row, end]), 1.0)
    log = np.log(counts / counts.sum(axis=1, keepdims=True))
    return np.array([log[[end, *row], [*row, end]].sum() for row in test])


def timed(learn: Callable[[], LatentHMM]) -> tuple[LatentHMM, float]:
    start = time.process_time()
    model = learn()
    return model, time.process_time() - start


def rows(truth: Truth, n: int, seed: int, with_em: bool) -> Iterator[Row]:
    """All learners on n strings."""
    rng = np.random.default_rng(seed)
    model = draw(truth, rng)
    train, test = strings(model, n, rng), strings(model, N_TEST, rng)
    exact = log_probabilities(model, test)
    for added in (0.01, 0.1, 1.0):
        start = time.process_time()
        kl = float((exact - bigrams(train, test, truth.n_symbols, added)).mean())
        yield Row(f"bigrams, λ = {added}", "", kl, 0.0, time.process_time() - start)
    spectral = EstimatorOptions(n_states=truth.n_states)
    hybrid = EstimatorOptions("hybrid", n_states=truth.n_states, iterations=100, tolerance=1e-4)
    for name, options in (
        ("spectral", HMMOptions()),
        ("spectral, true number", HMMOptions(spectral, choose_states=False)),
        ("hybrid, true number", HMMOptions(hybrid, choose_states=False)),
    ):
        found, seconds = timed(lambda options=options: LatentHMM.train(train, options))
        raw = 100.0 * float((found.score(test).sign <= 0).mean())
        kl = float((exact - found.log_probabilities(test)).mean())
        yield Row(name, str(found.parameters.n_states), kl, raw, seconds)
    if with_em:
        yield from baum_welch_rows(train, test, exact, truth)


def baum_welch_rows(train: Strings, test: Strings, exact: FloatArray, truth: Truth) -> Iterator[Row]:
    """Every start, then the one with the highest likelihood, for the seconds of all."""
    shards = [UntaggedShard(Sequences.of(train))]
    counts = TreebankCounts.of_shards(shards)
    options = EstimatorOptions(iterations=1_000, tolerance=1e-4, state_smoothing=0.0)
    found = []
    for seed in range(STARTS):
        start = time.process_time()
        random = HiddenMarkov.random(counts, truth.n_states, truth.n_symbols, seed)
        learnt, log_likelihood = baum_welch(shards, random, options)
        seconds = time.process_time() - start
        kl = float((exact - log_probabilities(learnt, test)).mean())
        found.append((log_likelihood, kl, seconds))
        yield Row(f"Baum-Welch, start {seed + 1}", str(truth.n_states), kl, 0.0, seconds)
    best = max(found)
    yield Row(f"Baum-Welch, best of {STARTS}", str(truth.n_states), best[1], 0.0, sum(row[2] for row in found))


def main() -> None:
    """Print the table that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=MODELS, default="standard")
    parser.add_argument("--strings", type=int, nargs="+", default=[2_000, 20_000, 200_000])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--em-up-to", type=int, default=20_000, help="no Baum-Welch on more strings than this")
    arguments = parser.parse_args()
    truth = MODELS[arguments.model]
    LatentHMM.train([[0, 1]] * 30)
    print("| strings | learner | states | KL | raw ≤ 0 % | CPU s |\n| ---: | --- | ---: | ---: | ---: | ---: |")
    for n in arguments.strings:
        for row in rows(truth, n, arguments.seed, n <= arguments.em_up_to):
            cells = f"{row.name} | {row.states} | {row.kl:.4f} | {row.raw:.2f} | {row.seconds:.2f}"
            print(f"| {n:,} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
