"""Compare scikit-learn's face and hmmlearn on random hidden Markov models: held-out likelihood and time.

    python -m benchmarks.hidden_markov                                   # 20 problems with categories
    python -m benchmarks.hidden_markov --emissions numbers --problems 10 # two columns of Gaussian numbers
    python -m benchmarks.hidden_markov --problems 3 --hmmlearn 5         # the best of five starts of hmmlearn
    python -m benchmarks.hidden_markov --starts                          # the default beside ten starts of Baum-Welch

A problem has 5 to 10 states.  Categories are two to four times as many and sparse, and half of each transition follows
a permutation, so that single starts of Baum-Welch end in local optima; transitions between numbers are sparse.
Learners see 200 sequences of 50 positions, 50 are for the test.  They know the number of states, and stop when the
log-likelihood of a position rises by less than 2e-5 in an iteration.  *Lost* is the true log-likelihood less that of
the model, in nats a position; *near* is the number of models that lose at most 0.01 of categories, 0.02 of numbers.
Seconds are CPU seconds, after compilation.

With `--starts`, *lost* is what the default fit loses in nats of the whole data, its own objective, against the best of
ten other random starts of Baum-Welch, each climbed to its end without larger steps; *near* is the number of its own
starts that came within 1 nat of its best.  Data are cycles with noise, Penn's tags of 500 sentences, letters of English
words, and random models of six states (asked for three) and of five.
"""

from __future__ import annotations

import argparse
import logging
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._measure import print_head, print_row
from spectral_latent.corpora import tagged_sentences
from spectral_latent.estimation.starts import STARTS, Ascent
from spectral_latent.sequence import HiddenMarkov, Sequences
from spectral_latent.sequence.baum_welch import ChainLearner
from spectral_latent_sklearn import SpectralGaussianHMM, SpectralHMM

LENGTH = 50
N_TRAINING, N_TEST = 200, 50  # sequences
TOLERANCE = 2e-5  # nats a position
NEAR = {"categories": 0.01, "numbers": 0.02}
COLUMNS = ("lost", "CPU s", "near")
STARTS_COLUMNS = ("lost", "near", "CPU s", "CPU s of ten starts")
OTHER_SEEDS = 1_000  # the first seed of the random starts that the default does not have


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


def numbered(rows: list[Any]) -> list[list[int]]:
    """Number the symbols of sequences in their order."""
    number = {symbol: k for k, symbol in enumerate(sorted({symbol for row in rows for symbol in row}))}
    return [[number[symbol] for symbol in row] for row in rows]


def cycles(names: str, noise: float, n: int, length: int, switching: float = 0.0) -> list[list[int]]:
    """Draw n sequences, each of which repeats a word of `names`, or another one after a switch; noise is any symbol."""
    rng = np.random.default_rng([len(names), n])
    words = names.split()
    symbols = "".join(words)
    rows = []
    for number in range(n):
        word = number % len(words)
        place = int(rng.integers(length))
        row = []
        for _ in range(length):
            word = (word + int(rng.random() < switching)) % len(words)
            place += 1
            here = words[word][place % len(words[word])]
            row.append(symbols[rng.integers(len(symbols))] if rng.random() < noise else here)
        rows.append(row)
    return numbered(rows)


def random_rows(m: int, seed: int) -> list[list[int]]:
    """Draw 60 sequences of 30 positions of a random hidden Markov model of m states and ten categories."""
    rng = np.random.default_rng([m, seed])
    truth = SpectralHMM(m)
    truth.startprob_ = np.full(m, 1.0 / m)
    truth.transmat_, truth.emissionprob_ = rng.dirichlet(np.full(m, 0.5), m), rng.dirichlet(np.full(10, 0.5), m)
    truth.categories_ = np.arange(10)
    return [truth.sample(30, random_state=100 * seed + k)[0].ravel().tolist() for k in range(60)]


def data_sets() -> Iterator[tuple[str, list[list[int]], int]]:
    """Give the name of each data set, its sequences, and a number of states."""
    for noise in (0.02, 0.05, 0.1, 0.2):
        yield f"abc, xy, noise {noise:.0%}", cycles("abc xy", noise, 50, 10), 2
    for noise in (0.05, 0.1, 0.2):
        yield f"abcde, vwxyz, noise {noise:.0%}", cycles("abcde vwxyz", noise, 100, 20), 2
    for noise in (0.05, 0.2):
        yield f"abc, xyz, switching, noise {noise:.0%}", cycles("abc xyz", noise, 1, 3_000, switching=0.05), 2
    sentences = [list(zip(*sentence, strict=True)) for sentence in tagged_sentences("nltk:treebank")]
    tags = numbered([of_sentence for _, of_sentence in sentences[:500]])
    for m in (2, 4, 8):
        yield "Penn tags", tags, m
    letters = " ".join(word.lower() for words, _ in sentences[:1_000] for word in words if word.isalpha())
    for m in (2, 3, 6):
        yield "letters", numbered([letters[:12_000]]), m
    for seed in range(6):
        yield f"random, six states, {seed}", random_rows(6, seed), 3
    for seed in range(4):
        yield f"random, five states, {seed}", random_rows(5, seed), 5


def best_of_starts(rows: list[list[int]], m: int) -> float:
    """Climb from ten random starts to their ends, and return the largest log-likelihood, in which ends do not count."""
    sequences = Sequences.of(rows)
    observed = np.bincount(sequences.terminal).astype(np.float64)
    n = len(sequences.terminal)
    reached = []
    for seed in range(OTHER_SEEDS, OTHER_SEEDS + STARTS):
        start = replace(HiddenMarkov.random(observed, len(rows), m, seed), stop=np.full(m, 0.5))
        ascent = Ascent(ChainLearner([sequences], ends=False), start)
        ascent.climb_to_end(1000, TOLERANCE * n)
        reached.append(ascent.objective[-1] + n * np.log(2.0))
    return max(reached)


def compare_starts() -> None:
    """Print a row for each data set, and one for all."""
    found = []
    print_head(["data", "states"], STARTS_COLUMNS)
    for name, rows, m in [("", cycles("abc xy", 0.1, 9, 9), 2), *data_sets()]:  # the first one compiles
        X, lengths = np.concatenate(rows)[:, None], list(map(len, rows))
        begun = time.process_time()
        model = SpectralHMM(m, tol=TOLERANCE, random_state=0).fit(X, lengths=lengths)
        seconds = time.process_time() - begun
        best = best_of_starts(rows, m)
        of_starts = time.process_time() - begun - seconds
        lost = best - model.score(X, lengths=lengths)
        if name:
            found.append((lost, seconds, of_starts))
            row = {"lost": f"{lost:.1f}", "near": f"{model.n_near_} of {len(model.model_.reached)}"}
            print_row([name, m], row | {"CPU s": seconds, "CPU s of ten starts": of_starts}, STARTS_COLUMNS, ())
    lost, *sums = np.transpose(found)
    row = {"lost": f"above 1: {(lost > 1.0).sum()} of {len(lost)}"}
    print_row(["all", ""], row | dict(zip(STARTS_COLUMNS[2:], map(np.sum, sums), strict=True)), STARTS_COLUMNS, ())


def main() -> None:
    """Print a row for each problem, and one for all problems of each learner."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--emissions", choices=NEAR, default="categories")
    parser.add_argument("--problems", type=int, default=20)
    parser.add_argument("--hmmlearn", type=int, default=0, help="the number of starts of hmmlearn; 0 to leave it out")
    parser.add_argument("--starts", action="store_true", help="compare the default with ten starts of Baum-Welch")
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    if arguments.starts:
        compare_starts()
        return
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
