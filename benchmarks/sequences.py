"""Strings drawn from known hidden Markov models: spectral learning beside Baum-Welch, bigrams and the truth.

    python benchmarks/sequences.py                     # 20 models, five of each kind; 20,000 strings of each
    python benchmarks/sequences.py --strings 2000
    python benchmarks/sequences.py --kinds hard dependent --models 1
    python benchmarks/sequences.py --kinds five --models 1 --hmmlearn   # hmmlearn from the same starts, if installed

KL is the mean over 2,000 further strings of log p(string) - log p̂(string), in nats.  All learners but the first two
know the true number of states.  EM, from random starts and after clusters, runs until an iteration raises the
log-likelihood by less than 1e-5 a string (and the one before did); hmmlearn runs for as many iterations.  A row is the
median over the models of a kind; of single starts it is the median over all starts of all models.  Starts are *at
the top* if they end within 0.001 nats a string of the likeliest model that any start found: the others are in a local
optimum.  Seconds are CPU seconds after compilation.
"""

from __future__ import annotations

import argparse
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from spectral_latent.estimation import EstimatorOptions
from spectral_latent.inference import sample_trees, tree_weights
from spectral_latent.sequence import HiddenMarkov, HMMOptions, LatentHMM, Sequences, baum_welch
from spectral_latent.trees import FloatArray, Forest

N_TEST = 2_000
LENGTH = 6.2  # the mean
STARTS = 5
EM = EstimatorOptions("em", tolerance=1e-5)
NEAR = 1e-3  # nats a string


class Kind(NamedTuple):
    """States and symbols of models, and how concentrated their probabilities are.

    independent: what an emission has of its own; the rest is a mixture of those of all states.
    ring: the probability of going on to the next state in a ring of all, before other transitions.
    """

    n_states: int
    n_symbols: int
    concentration: float = 0.3
    independent: float = 1.0
    ring: float = 0.0


KINDS = {
    "three": Kind(3, 10),
    "five": Kind(5, 20),
    "ten": Kind(10, 50),
    "ring": Kind(6, 12, ring=0.9),
    "hard": Kind(20, 200),
    "dependent": Kind(20, 200, independent=0.3),
}
DEFAULT_KINDS = ["three", "five", "ten", "ring"]


class Row(NamedTuple):
    """A learner's result on the strings of one model."""

    learner: str
    states: int | None
    kl: float
    seconds: float
    at_top: bool | None = None


class Climb(NamedTuple):
    """A model that EM reached, the log-likelihood of the strings, and the number of iterations."""

    model: HiddenMarkov
    log_likelihood: float
    iterations: int


def draw(kind: Kind, rng: np.random.Generator) -> HiddenMarkov:
    """A hidden Markov model with rows from Dirichlet distributions."""
    m, n = kind.n_states, kind.n_symbols

    def rows(shape: tuple[int, int]) -> FloatArray:
        return rng.dirichlet(np.full(shape[1], kind.concentration), size=shape[0])

    emission = kind.independent * rows((m, n))
    if kind.independent < 1.0:
        emission += (1.0 - kind.independent) * rows((m, m)) @ rows((m, n))
    transition = (1.0 - kind.ring) * rows((m, m)) + kind.ring * np.roll(np.eye(m), 1, axis=1)
    return HiddenMarkov(rows((1, m))[0], transition, np.full(m, 1.0 / LENGTH), emission)


def sampled(model: HiddenMarkov, n: int, rng: np.random.Generator) -> Sequences:
    """n strings of the model."""
    return Sequences.of_trees(sample_trees(model.operators(), n, rng).trees)


def log_probabilities(model: HiddenMarkov, strings: Sequences) -> FloatArray:
    """Exact ones, (T,)."""
    operators = model.operators()
    return tree_weights(operators, Forest.of_trees(strings.trees(1), operators.rules)).log


def bigrams(train: Sequences, test: Sequences, n_symbols: int, added: float = 0.1) -> FloatArray:
    """Log-probabilities (T,) under bigrams of symbols and ends, with `added` added to every count."""
    end = n_symbols

    def pairs(strings: Sequences) -> Iterator[tuple[list[int], list[int]]]:
        for row in strings.rows:
            yield [end, *row.tolist()], [*row.tolist(), end]

    counts = np.full((n_symbols + 1, n_symbols + 1), added)
    for before, after in pairs(train):
        np.add.at(counts, (before, after), 1.0)
    log = np.log(counts / counts.sum(axis=1, keepdims=True))
    return np.array([log[before, after].sum() for before, after in pairs(test)])


def fit(start: HiddenMarkov, train: Sequences) -> Climb:
    """Climb by this library."""
    done: list[int] = []
    model, log = baum_welch([train], start, EM, listener=lambda progress: done.append(progress.done))
    return Climb(model, log[-1], done[-1])


def fit_hmmlearn(start: HiddenMarkov, train: Sequences, iterations: int) -> Climb:
    """Climb by hmmlearn's CategoricalHMM, to which the end of a string is one more state with a symbol of its own."""
    from hmmlearn.hmm import CategoricalHMM  # type: ignore[import-not-found, unused-ignore]

    logging.getLogger("hmmlearn").setLevel(logging.ERROR)  # the state of the end goes nowhere, which it warns of
    m, n = start.emission.shape
    model: Any = CategoricalHMM(m + 1, init_params="", n_iter=iterations, tol=-np.inf)
    model.n_features = n + 1
    model.startprob_ = np.append(start.initial, 0.0)
    model.transmat_ = np.eye(m + 1)
    model.transmat_[:m, :m] = (1.0 - start.stop)[:, None] * start.transition
    model.transmat_[:m, m] = start.stop
    model.emissionprob_ = np.zeros((m + 1, n + 1))
    model.emissionprob_[:m, :n] = start.emission
    model.emissionprob_[m, n] = 1.0
    ended = [np.append(row, n) for row in train.rows]
    model.fit(np.concatenate(ended)[:, None], [len(row) for row in ended])
    stop = model.transmat_[:m, m]
    transition = model.transmat_[:m, :m] / (1.0 - stop)[:, None]
    found = HiddenMarkov(model.startprob_[:m], transition, stop, model.emissionprob_[:m, :n])
    return Climb(found, float(model.monitor_.history[-1]), iterations)


def timed(learn: Callable[[], Any]) -> tuple[Any, float]:
    """The result, and CPU seconds."""
    start = time.process_time()
    found = learn()
    return found, time.process_time() - start


def climbs(name: str, found: list[tuple[Climb, float]], train: Sequences) -> Iterator[tuple[Row, HiddenMarkov]]:
    """Rows of the models reached from all starts, then of the likeliest, for the seconds of all; KL is left open."""
    top = max((climb for climb, _ in found), key=lambda climb: climb.log_likelihood)
    for climb, seconds in found:
        at_top = climb.log_likelihood > top.log_likelihood - NEAR * train.n_sequences
        yield Row(f"{name}, one start", climb.model.n_states, np.nan, seconds, at_top), climb.model
    seconds = sum(seconds for _, seconds in found)
    yield Row(f"{name}, best of {STARTS}", top.model.n_states, np.nan, seconds), top.model


def rows(kind: Kind, n: int, seed: int, with_hmmlearn: bool) -> Iterator[Row]:
    """All learners on n strings of one model."""
    rng = np.random.default_rng(seed)
    truth = draw(kind, rng)
    train, test = sampled(truth, n, rng), sampled(truth, N_TEST, rng)
    exact = log_probabilities(truth, test)
    log, seconds = timed(lambda: bigrams(train, test, kind.n_symbols))
    yield Row("bigrams, λ = 0.1", None, float((exact - log).mean()), seconds)
    true_number = EstimatorOptions(n_states=kind.n_states)
    clusters = EstimatorOptions(
        "clusters-em", n_states=kind.n_states, iterations=EM.most_iterations, tolerance=EM.tolerance
    )
    strings = [row.tolist() for row in train.rows]
    for name, options in (
        ("spectral, states chosen", HMMOptions()),
        ("spectral", HMMOptions(true_number, choose_states=False)),
        ("clusters, then EM", HMMOptions(clusters, choose_states=False)),
    ):
        model, seconds = timed(partial(LatentHMM.train, strings, options))
        kl = float((exact - model.log_probabilities([row.tolist() for row in test.rows])).mean())
        yield Row(name, model.parameters.n_states, kl, seconds)
    observed = np.bincount(train.terminal, minlength=kind.n_symbols).astype(float)
    starts = [HiddenMarkov.random(observed, n, kind.n_states, number) for number in range(STARTS)]
    found = {"Baum-Welch": [timed(partial(fit, start, train)) for start in starts]}
    if with_hmmlearn:
        numbers = [climb.iterations for climb, _ in found["Baum-Welch"]]
        found["hmmlearn"] = [
            timed(partial(fit_hmmlearn, start, train, number)) for start, number in zip(starts, numbers, strict=True)
        ]
    for name, several in found.items():
        for row, reached in climbs(name, several, train):
            yield row._replace(kl=float((exact - log_probabilities(reached, test)).mean()))


def print_kind(name: str, n: int, models: int, with_hmmlearn: bool) -> None:
    """Print the rows of a kind, and on how many models spectral learning comes nearer to the truth."""
    by_learner: dict[str, list[list[Row]]] = defaultdict(list)  # the rows of each model
    for seed in range(models):
        of_model: dict[str, list[Row]] = defaultdict(list)
        for row in rows(KINDS[name], n, seed, with_hmmlearn):
            of_model[row.learner].append(row)
        for learner, several in of_model.items():
            by_learner[learner].append(several)
    for learner, of_models in by_learner.items():
        flat = [row for several in of_models for row in several]
        numbers = [row.states for row in flat if row.states is not None]
        states = f"{np.median(numbers):.0f}" if numbers else ""
        kls = [row.kl for row in flat]
        tops = [row.at_top for row in flat if row.at_top is not None]
        cells = f"{np.median(kls):.4f} | {max(kls):.4f} | {np.median([row.seconds for row in flat]):.2f}"
        at_top = f"{sum(tops)} of {len(tops)}" if tops else ""
        print(f"| {name} | {n:,} | {learner} | {states} | {cells} | {at_top} |", flush=True)
    best = [several[0].kl for several in by_learner[f"Baum-Welch, best of {STARTS}"]]
    single = [float(np.median([row.kl for row in several])) for several in by_learner["Baum-Welch, one start"]]
    for learner in ("spectral, states chosen", "clusters, then EM"):
        kls = [several[0].kl for several in by_learner[learner]]
        wins = [sum(kl < other for kl, other in zip(kls, others, strict=True)) for others in (single, best)]
        print(f"<!-- {name}: {learner} nearer than the median start {wins[0]}, than the best of all {wins[1]} -->")


def main() -> None:
    """Print the table that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", choices=KINDS, nargs="+", default=DEFAULT_KINDS)
    parser.add_argument("--models", type=int, default=5, help="of each kind")
    parser.add_argument("--strings", type=int, nargs="+", default=[20_000])
    parser.add_argument("--hmmlearn", action="store_true", help="also hmmlearn, from the same starts")
    arguments = parser.parse_args()
    list(rows(Kind(2, 3), 50, 0, arguments.hmmlearn))  # compiles what is measured
    print("| model | strings | learner | states | KL | largest KL | CPU s | starts at the top |")
    print("| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |", flush=True)
    for n in arguments.strings:
        for name in arguments.kinds:
            print_kind(name, n, arguments.models, arguments.hmmlearn)


if __name__ == "__main__":
    main()
