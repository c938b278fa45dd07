"""Learn from strings of known hidden Markov models: compare spectral learning, Baum-Welch and bigrams with the truth.

    python -m benchmarks.sequences                     # 20 models, five of each kind; 2,000 and 20,000 strings of each
    python -m benchmarks.sequences --kinds hard dependent --models 1 --strings 20000
    python -m benchmarks.sequences --learners bigrams spectral
    python -m benchmarks.sequences --learners Baum-Welch hmmlearn   # hmmlearn from the first start, if installed

KL is the mean over 2,000 further strings of log p(string) - log p̂(string), in nats.  Cells are the median and the
quartiles over the models of a kind, or, for single starts, over all starts of all models.  All learners except the
first two know the true number of states.  EM, from random starts and after clusters, runs until two iterations in a row
raise the log-likelihood by less than 1e-5 a string each; hmmlearn runs for as many iterations.  A start is *at the top*
if it ends within 0.001 nats a string of the likeliest model that any start found; other starts are in a local optimum.
Seconds are CPU seconds after compilation.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from spectral_latent.estimation import EstimatorOptions
from spectral_latent.inference import sample_trees, tree_weights
from spectral_latent.sequence import HiddenMarkov, HMMOptions, LatentHMM, Sequences, baum_welch, hmm_preset
from spectral_latent.trees import FloatArray, Forest

N_TEST = 2_000
LENGTH = 6.2  # the mean length of strings
STARTS = 5
EM = EstimatorOptions("em", tolerance=1e-5)
NEAR = 1e-3  # nats a string below the likeliest model, at most, of a start at the top


class Kind(NamedTuple):
    """The distribution that models are drawn from.

    n_states: the number of states.
    n_symbols: the number of symbols.
    concentration: the parameter of the Dirichlet distributions; smaller is sparser.
    independent: the weight of an emission of a state's own; the rest is a mixture of emissions that all states share.
    ring: the probability of going to the next state in a ring of all states; the rest is for other transitions.
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
DEFAULT_KINDS = ["three", "five", "ring", "ten"]
LEARNERS = ("bigrams", "spectral", "hybrid", "clusters", "Baum-Welch", "hmmlearn")


class Row(NamedTuple):
    """A learner's KL and seconds on the strings of one model; for a single start of EM, whether it is at the top."""

    learner: str
    kl: float
    seconds: float
    at_top: bool | None = None


class Climb(NamedTuple):
    """A model that EM reached, the log-likelihood of the strings, and the number of iterations."""

    model: HiddenMarkov
    log_likelihood: float
    iterations: int


def draw(kind: Kind, rng: np.random.Generator) -> HiddenMarkov:
    """Draw a hidden Markov model, whose rows have Dirichlet distributions."""
    m, n = kind.n_states, kind.n_symbols

    def rows(shape: tuple[int, int]) -> FloatArray:
        """Draw rows of probabilities."""
        return rng.dirichlet(np.full(shape[1], kind.concentration), size=shape[0])

    emission = kind.independent * rows((m, n))
    if kind.independent < 1.0:
        emission += (1.0 - kind.independent) * rows((m, m)) @ rows((m, n))
    transition = (1.0 - kind.ring) * rows((m, m)) + kind.ring * np.roll(np.eye(m), 1, axis=1)
    return HiddenMarkov(rows((1, m))[0], transition, np.full(m, 1.0 / LENGTH), emission)


def sampled(model: HiddenMarkov, n: int, rng: np.random.Generator) -> Sequences:
    """Draw n strings of the model."""
    return Sequences.of_trees(sample_trees(model.operators(), n, rng).trees)


def log_probabilities(model: HiddenMarkov, strings: Sequences) -> FloatArray:
    """Compute the exact log-probabilities of strings, (T,)."""
    operators = model.operators()
    return tree_weights(operators, Forest.of_trees(strings.trees(1), operators.rules)).log


def bigrams(train: Sequences, test: Sequences, n_symbols: int, added: float = 0.1) -> FloatArray:
    """Compute log-probabilities (T,) under bigrams of symbols and ends, with `added` added to every count."""
    end = n_symbols

    def pairs(strings: Sequences) -> Iterator[tuple[list[int], list[int]]]:
        """List the first and the second symbols of the bigrams of each string."""
        for row in strings.rows:
            yield [end, *row.tolist()], [*row.tolist(), end]

    counts = np.full((n_symbols + 1, n_symbols + 1), added)
    for before, after in pairs(train):
        np.add.at(counts, (before, after), 1.0)
    log = np.log(counts / counts.sum(axis=1, keepdims=True))
    return np.array([log[before, after].sum() for before, after in pairs(test)])


def fit(start: HiddenMarkov, train: Sequences) -> Climb:
    """Run EM from a start by this library."""
    done: list[int] = []
    model, log = baum_welch([train], start, EM, listener=lambda progress: done.append(progress.done))
    return Climb(model, log[-1], done[-1])


def fit_hmmlearn(start: HiddenMarkov, train: Sequences, iterations: int) -> Climb:
    """Run EM from a start by hmmlearn's CategoricalHMM, which has no ends of strings.

    All strings are joined to one, with a further symbol before and after each.  A further state emits this symbol only.
    """
    from hmmlearn.hmm import CategoricalHMM  # type: ignore[import-not-found, unused-ignore]

    m, n = start.emission.shape
    model: Any = CategoricalHMM(m + 1, init_params="", n_iter=iterations, tol=-np.inf, implementation="scaling")
    model.n_features = n + 1
    model.startprob_ = np.append(np.zeros(m), 1.0)
    model.transmat_ = np.zeros((m + 1, m + 1))
    model.transmat_[:m, :m] = (1.0 - start.stop)[:, None] * start.transition
    model.transmat_[:m, m] = start.stop
    model.transmat_[m, :m] = start.initial
    model.emissionprob_ = np.zeros((m + 1, n + 1))
    model.emissionprob_[:m, :n] = start.emission
    model.emissionprob_[m, n] = 1.0
    model.fit(np.concatenate([[n], *(np.append(row, n) for row in train.rows)])[:, None])
    stop = model.transmat_[:m, m]
    transition = model.transmat_[:m, :m] / (1.0 - stop)[:, None]
    learnt = HiddenMarkov(model.transmat_[m, :m], transition, stop, model.emissionprob_[:m, :n])
    return Climb(learnt, float(model.monitor_.history[-1]), iterations)


def timed(learn: Callable[[], Any]) -> tuple[Any, float]:
    """Call a function, and return the result and the CPU seconds."""
    start = time.process_time()
    learnt = learn()
    return learnt, time.process_time() - start


class Problem(NamedTuple):
    """Strings of a model to learn from and to be tested on.

    kind: the kind of the model.
    train: the strings to learn from.
    test: T strings to be tested on.
    exact: (T,) the log-probabilities of the test strings.
    """

    kind: Kind
    train: Sequences
    test: Sequences
    exact: FloatArray

    @staticmethod
    def drawn(kind: Kind, n: int, seed: int) -> Problem:
        """Draw a model, n strings to learn from, and strings to be tested on."""
        rng = np.random.default_rng(seed)
        truth = draw(kind, rng)
        train = sampled(truth, n, rng)
        test = sampled(truth, N_TEST, rng)
        return Problem(kind, train, test, log_probabilities(truth, test))

    def kl(self, log: FloatArray) -> float:
        """Compute KL from estimated log-probabilities (T,) of the test strings."""
        return float((self.exact - log).mean())

    def trained(self, options: HMMOptions) -> tuple[float, float]:
        """Train a model of this library, and return KL and seconds."""
        strings = [row.tolist() for row in self.train.rows]
        model, seconds = timed(partial(LatentHMM.train, strings, options))
        return self.kl(model.log_probabilities([row.tolist() for row in self.test.rows])), seconds

    def starts(self) -> list[HiddenMarkov]:
        """Draw random starts of EM."""
        n, m = self.kind.n_symbols, self.kind.n_states
        observed = np.bincount(self.train.terminal, minlength=n).astype(float)
        return [HiddenMarkov.random(observed, self.train.n_sequences, m, number) for number in range(STARTS)]

    def climbed(self, name: str, climbs: list[tuple[Climb, float]]) -> Iterator[Row]:
        """Make the rows of the models that EM reached from single starts, each with its seconds."""
        top = max(climb.log_likelihood for climb, _ in climbs)
        for climb, seconds in climbs:
            at_top = climb.log_likelihood > top - NEAR * self.train.n_sequences
            yield Row(name, self.kl(log_probabilities(climb.model, self.test)), seconds, at_top)


def rows(problem: Problem, learners: Collection[str]) -> Iterator[Row]:
    """Make the rows of the learners that are asked for."""
    m = problem.kind.n_states
    if "bigrams" in learners:
        log, seconds = timed(lambda: bigrams(problem.train, problem.test, problem.kind.n_symbols))
        yield Row("bigrams, λ = 0.1", problem.kl(log), seconds)
    if "spectral" in learners:
        yield Row("spectral, states chosen", *problem.trained(HMMOptions()))
        known = HMMOptions(EstimatorOptions(n_states=m), choose_states=False)
        yield Row("spectral", *problem.trained(known))
    if "hybrid" in learners:
        for ending, options in (("100 iterations", hmm_preset("fast")), ("to the end", hmm_preset("accurate"))):
            of_true_number = replace(
                options, estimator=options.estimator.with_settings(n_states=m), choose_states=False
            )
            yield Row(f"spectral, then EM, {ending}", *problem.trained(of_true_number))
    if "clusters" in learners:
        climbing = EstimatorOptions("clusters-em", m, iterations=EM.iterations, tolerance=EM.tolerance)
        yield Row("clusters, then EM", *problem.trained(HMMOptions(climbing, choose_states=False)))
    if "Baum-Welch" in learners:
        starts = problem.starts()
        climbs = [timed(partial(fit, start, problem.train)) for start in starts]
        yield from problem.climbed("Baum-Welch, one start", climbs)
        best = max((climb for climb, _ in climbs), key=lambda climb: climb.log_likelihood)
        seconds = sum(seconds for _, seconds in climbs)
        yield Row(f"Baum-Welch, best of {STARTS}", problem.kl(log_probabilities(best.model, problem.test)), seconds)
        if "hmmlearn" in learners:
            again = timed(partial(fit_hmmlearn, starts[0], problem.train, climbs[0][0].iterations))
            (row,) = problem.climbed("hmmlearn, first start", [again])
            yield row._replace(at_top=None)


def spread(values: Sequence[float], digits: int) -> str:
    """Write the median and the quartiles.

    >>> spread([1.0, 2.0, 3.0, 4.0, 5.0], 1)
    '3.0 (2.0 to 4.0)'
    """
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def print_rows(name: str, n: int, rows_of_models: Iterable[list[Row]]) -> None:
    """Print the rows of the table for a kind of models, from the rows of each model."""
    by_learner: dict[str, list[Row]] = defaultdict(list)
    for row in chain.from_iterable(rows_of_models):
        by_learner[row.learner].append(row)
    for learner, of_learner in by_learner.items():
        tops = [row.at_top for row in of_learner if row.at_top is not None]
        kl = spread([row.kl for row in of_learner], 4)
        seconds = spread([row.seconds for row in of_learner], 2)
        at_top = f"{sum(tops)} of {len(tops)}" if tops else ""
        print(f"| {name} | {n:,} | {learner} | {kl} | {seconds} | {at_top} |", flush=True)


def nearer(rows_of_models: Iterable[list[Row]], learner: str) -> str:
    """Tell for how many models a learner is nearer to the truth than the median start of Baum-Welch."""
    wins = []
    for of_model in rows_of_models:
        kls = defaultdict(list)
        for row in of_model:
            kls[row.learner].append(row.kl)
        wins.append(kls[learner][0] < np.median(kls["Baum-Welch, one start"]))
    return f"{learner}: nearer than the median start on {sum(wins)} of {len(wins)}"


def main() -> None:
    """Print the table that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", choices=KINDS, nargs="+", default=DEFAULT_KINDS)
    parser.add_argument("--models", type=int, default=5, help="the number of models of each kind")
    parser.add_argument("--strings", type=int, nargs="+", default=[2_000, 20_000])
    parser.add_argument("--learners", choices=LEARNERS, nargs="+", default=LEARNERS[:-1])
    arguments = parser.parse_args()
    list(rows(Problem.drawn(Kind(2, 3), 50, 0), arguments.learners))  # compiles what is measured
    print("| model | strings | learner | KL | CPU s | starts at the top |")
    print("| --- | ---: | --- | ---: | ---: | ---: |", flush=True)
    for n in arguments.strings:
        of_all: list[list[Row]] = []
        for name in arguments.kinds:
            problems = (Problem.drawn(KINDS[name], n, seed) for seed in range(arguments.models))
            of_kind = [list(rows(problem, arguments.learners)) for problem in problems]
            print_rows(name, n, of_kind)
            of_all += of_kind
        print_rows("all", n, of_all)
        if {"spectral", "clusters", "Baum-Welch"} <= set(arguments.learners):
            for learner in ("spectral, states chosen", "spectral", "clusters, then EM"):
                print(f"<!-- {n:,} strings: {nearer(of_all, learner)} -->")


if __name__ == "__main__":
    main()
