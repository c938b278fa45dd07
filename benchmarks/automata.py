"""Learn weighted automata from strings of random probabilistic automata, like those of the PAutomaC competition.

    python -m benchmarks.automata
    python -m benchmarks.automata --splearn PYTHON   # also scikit-splearn, of an environment with NumPy 1

The data of PAutomaC are drawn from automata whose transitions are sparse, and so are these: a state has half of the
symbols, each with one or two next states.  Perplexity is that of PAutomaC, exp(-Σ p(x) log q(x)) over the distinct
strings of a test sample, with p and q divided by their sums; its excess over that of the truth is shown in percent.
Values below a hundredth of a bigram model's are raised to it, for all learners; *raised* is the share of such strings.
All learners but bigrams know the number of states.  Cells are medians over the problems, which have 3 states and 4
symbols, 4 states and 5 symbols, and so on.  Seconds are CPU seconds after compilation.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from spectral_latent import EstimatorOptions, LatentHMM, WeightedAutomaton
from spectral_latent.automata import AutomatonOptions, Counted
from spectral_latent.sequence import Alphabet, HMMOptions
from spectral_latent.trees import FloatArray

COUNTED: tuple[Counted, ...] = ("strings", "prefixes", "suffixes", "factors")
VERSIONS = {"strings": "classic", "prefixes": "prefix", "suffixes": "suffix", "factors": "factor"}
LENGTH = 3  # the length of the longest prefixes and suffixes
N_TEST = 1_000
_String = list[int]


class Problem(NamedTuple):
    """A random automaton, and strings of it.

    truth: the automaton.
    train: the strings to learn from.
    test: the distinct strings of the test sample.
    exact: the probabilities of the test strings.
    least: the smallest values of the test strings; smaller ones are raised to them.
    """

    truth: WeightedAutomaton
    train: list[_String]
    test: list[_String]
    exact: FloatArray
    least: FloatArray

    @staticmethod
    def drawn(m: int, n: int, size: int, seed: int) -> Problem:
        """Draw an automaton of m states and n symbols, and strings."""
        rng = np.random.default_rng([m, n, seed])
        truth = sparse_automaton(m, n, rng)
        train = draw(truth, size, rng)
        test = [list(x) for x in sorted({tuple(x) for x in draw(truth, N_TEST, rng)})]
        exact = np.array([truth(x) for x in test])
        return Problem(truth, train, test, exact, 0.01 * bigrams(train, test, n))

    def row(self, values: FloatArray, seconds: float) -> Row:
        """Make the row of a learner from its values of the test strings."""
        raised = np.maximum(values, self.least)
        p = self.exact / self.exact.sum()
        excess = np.exp(p @ np.log(p / (raised / raised.sum()))) - 1.0
        return Row(100.0 * float(excess), 100.0 * float((values < self.least).mean()), seconds)


class Row(NamedTuple):
    """The excess of perplexity in percent, the share of strings that were raised in percent, and CPU seconds."""

    excess: float
    raised: float
    seconds: float


def sparse_automaton(m: int, n: int, rng: np.random.Generator) -> WeightedAutomaton:
    """Draw a probabilistic automaton over the symbols 0 ... n - 1, in which every state has few transitions."""
    step = np.zeros((n, m, m))
    stop = rng.uniform(0.05, 0.3, m)
    for h in range(m):
        for x in rng.choice(n, size=max(n // 2, 1), replace=False):
            following = rng.choice(m, size=int(rng.integers(1, 3)), replace=False)
            step[x, h, following] = rng.exponential(size=len(following))
        step[:, h] *= (1.0 - stop[h]) / step[:, h].sum()
    return WeightedAutomaton(Alphabet(range(n)), rng.dirichlet(np.ones(m)), step, stop)


def draw(automaton: WeightedAutomaton, size: int, rng: np.random.Generator) -> list[_String]:
    """Draw strings of a probabilistic automaton."""
    n, m = automaton.step.shape[:2]
    # The events of a state are the pairs of a symbol and a next state, and the end.
    events = np.concatenate([automaton.step.transpose(1, 0, 2).reshape(m, n * m), automaton.final[:, None]], axis=1)
    ends = np.cumsum(events, axis=1)
    strings = []
    for _ in range(size):
        state = int(rng.choice(m, p=automaton.initial))
        string: _String = []
        while (event := int(np.searchsorted(ends[state], rng.random() * ends[state, -1], "right"))) < n * m:
            x, state = divmod(event, m)
            string.append(x)
        strings.append(string)
    return strings


def bigrams(train: list[_String], test: list[_String], n: int) -> FloatArray:
    """Compute the probabilities under bigrams of symbols and ends, with 0.1 added to every count."""
    counts = np.full((n + 1, n + 1), 0.1)
    for row in train:
        np.add.at(counts, ([n, *row], [*row, n]), 1.0)
    log = np.log(counts / counts.sum(axis=1, keepdims=True))
    return np.array([np.exp(log[[n, *row], [*row, n]].sum()) for row in test])


def rows(problem: Problem, splearn: str | None) -> Iterator[tuple[str, Row]]:
    """Make the rows of all learners, each with its name."""
    begun = time.process_time()
    values = bigrams(problem.train, problem.test, len(problem.truth.step))
    yield "bigrams", problem.row(values, time.process_time() - begun)
    m = problem.truth.n_states
    begun = time.process_time()
    options = HMMOptions(EstimatorOptions(n_states=m), choose_states=False)
    model = WeightedAutomaton.of_hmm(LatentHMM.train([row for row in problem.train if row], options))
    seconds = time.process_time() - begun
    empty = np.mean([not row for row in problem.train])
    values = [empty if not row else (1.0 - empty) * model(row) for row in problem.test]
    yield "LatentHMM, spectral", problem.row(np.array(values), seconds)
    for counted in COUNTED:
        begun = time.process_time()
        automaton = WeightedAutomaton.train(problem.train, AutomatonOptions(m, counted, LENGTH))
        seconds = time.process_time() - begun
        yield counted, problem.row(np.array([automaton(row) for row in problem.test]), seconds)
    for counted in COUNTED if splearn else ():
        answer = ask(splearn or "", problem, counted)
        yield f"scikit-splearn, {counted}", problem.row(np.array(answer["values"]), answer["seconds"])


def ask(python: str, problem: Problem, counted: Counted) -> Any:
    """Learn by scikit-splearn, which another Python has; return the values and the seconds."""
    task = {
        "train": problem.train,
        "test": problem.test,
        "n_symbols": len(problem.truth.step),
        "rank": problem.truth.n_states,
        "version": VERSIONS[counted],
        "length": LENGTH,
    }
    program = __file__.replace("automata.py", "_splearn.py")
    done = subprocess.run([python, program], input=json.dumps(task), capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=10)
    parser.add_argument("--strings", type=int, default=20_000)
    parser.add_argument("--splearn", metavar="PYTHON", help="a Python that has scikit-splearn")
    arguments = parser.parse_args()
    list(rows(Problem.drawn(2, 2, 50, 0), None))  # compiles what is measured
    rows_of: dict[str, list[Row]] = defaultdict(list)
    for seed in range(arguments.problems):
        problem = Problem.drawn(3 + seed, 4 + seed, arguments.strings, seed)
        for learner, row in rows(problem, arguments.splearn):
            rows_of[learner].append(row)
    print("| learner | perplexity above the truth, % | raised, % | CPU s |")
    print("| --- | ---: | ---: | ---: |")
    for learner, several in rows_of.items():
        excess, raised, seconds = np.median(several, axis=0)
        print(f"| {learner} | {excess:.2f} | {raised:.1f} | {seconds:.2f} |", flush=True)


if __name__ == "__main__":
    main()
