"""Learn from sequences whose distribution is known, and compare what was learnt with the truth or with other starts.

    python -m benchmarks.sequences random                               # 2,000 strings of 20 hidden Markov models
    python -m benchmarks.sequences random --kinds five --strings 20000
    python -m benchmarks.sequences starts
    python -m benchmarks.sequences pautomac --problems 1 2 3

Seconds are CPU seconds after compilation.

*random*: KL is the mean over 2,000 further strings of log p(string) - log p̂(string), in nats; cells are the median and
the quartiles over the models, or, for single starts, over all starts of all models.  All learners except the first two
know the true number of states.  EM, from random starts and after clusters, runs until two iterations in a row raise the
log-likelihood by less than 1e-5 a string each; hmmlearn runs for as many iterations, from the first start.

*starts*: *lost* is what the default fit of `SpectralHMM` loses in nats of the whole data, its own objective, against
the best of ten other random starts of Baum-Welch, each climbed to its end without larger steps; *near* is the number of
its own starts that came within 1 nat of its best.  Data are cycles with noise, Penn's tags of 500 sentences, letters of
English words, and random models of six states (asked for three) and of five.

*pautomac*: perplexity is that of the competition (Verwer, Eyraud and de la Higuera 2014), 2^(-Σ p(x) log2 q(x)) over
the strings of the test part, with p and q divided by their sums; its excess over the truth is shown in percent.
*Chosen* is what `WeightedAutomaton.train` has chosen by held-out strings of the training part alone, and *start* the
random start of EM that won, of all that climbed with the chosen settings.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks._measure import DATA, command_line, print_head, print_row, timed
from spectral_latent import WeightedAutomaton
from spectral_latent.corpora import tagged_sentences
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.estimation.starts import Ascent
from spectral_latent.inference import sample_trees, tree_weights
from spectral_latent.sequence import HiddenMarkov, HMMOptions, LatentHMM, Sequences, baum_welch, hmm_preset
from spectral_latent.sequence.baum_welch import ChainLearner
from spectral_latent.trees import FloatArray, Forest
from spectral_latent_sklearn import SpectralHMM

Strings = list[list[int]]


N_TEST = 2_000
LENGTH = 6.2  # the mean length of strings
N_STARTS = 5
EM = EstimatorOptions("em", tolerance=1e-5)


class Kind(NamedTuple):
    """The distribution that models are drawn from.

    ring: the probability of going to the next state in a ring of all states; the rest is for other transitions.
    """

    n_states: int
    n_symbols: int
    ring: float = 0.0


KINDS = {"three": Kind(3, 10), "five": Kind(5, 20), "ring": Kind(6, 12, ring=0.9), "ten": Kind(10, 50)}


def draw(kind: Kind, rng: np.random.Generator) -> HiddenMarkov:
    """Draw a hidden Markov model, whose rows have sparse Dirichlet distributions."""
    m, n = kind.n_states, kind.n_symbols

    def rows(shape: tuple[int, int]) -> FloatArray:
        """Draw rows of probabilities."""
        return rng.dirichlet(np.full(shape[1], 0.3), size=shape[0])

    emission = rows((m, n))
    transition = (1.0 - kind.ring) * rows((m, m)) + kind.ring * np.roll(np.eye(m), 1, axis=1)
    return HiddenMarkov(rows((1, m))[0], transition, np.full(m, 1.0 / LENGTH), emission)


def log_probabilities(model: HiddenMarkov, strings: Sequences) -> FloatArray:
    """Compute the exact log-probabilities of strings, (T,)."""
    operators = model.operators()
    return tree_weights(operators, Forest.of_trees(strings.trees(1), operators.rules)).log


def bigrams(train: Sequences, test: Sequences, n_symbols: int) -> FloatArray:
    """Compute log-probabilities (T,) under bigrams of symbols and ends, with 0.1 added to every count."""
    end = n_symbols
    counts = np.full((end + 1, end + 1), 0.1)
    for row in train.rows:
        np.add.at(counts, (np.append(end, row), np.append(row, end)), 1.0)
    log = np.log(counts / counts.sum(axis=1, keepdims=True))
    return np.array([log[np.append(end, row), np.append(row, end)].sum() for row in test.rows])


class Climb(NamedTuple):
    """A model that EM reached, the log-likelihood of the strings, and the number of iterations."""

    model: HiddenMarkov
    log_likelihood: float
    iterations: int


def climb(start: HiddenMarkov, train: Sequences) -> Climb:
    """Run EM from a start by this library."""
    done: list[int] = []
    model, log = baum_welch([train], start, EM, listener=lambda progress: done.append(progress.done))
    return Climb(model, log[-1], done[-1])


def fit_hmmlearn(start: HiddenMarkov, train: Sequences, iterations: int) -> HiddenMarkov:
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
    return HiddenMarkov(model.transmat_[m, :m], transition, stop, model.emissionprob_[:m, :n])


def measure(kind: Kind, n: int, seed: int, with_hmmlearn: bool) -> Iterator[tuple[str, float, float]]:
    """Draw a model, n strings of it and others to test on, and yield each learner's name, KL and seconds."""
    rng = np.random.default_rng(seed)
    truth = draw(kind, rng)
    train, test = (Sequences.of_trees(sample_trees(truth.operators(), size, rng).trees) for size in (n, N_TEST))
    strings, tested = ([row.tolist() for row in each.rows] for each in (train, test))
    exact, m = log_probabilities(truth, test), kind.n_states

    def kl(log: FloatArray) -> float:
        return float((exact - log).mean())

    log, seconds = timed(lambda: bigrams(train, test, kind.n_symbols))
    yield "bigrams, λ = 0.1", kl(log), seconds
    climbing = EstimatorOptions("clusters-em", m, iterations=EM.iterations, tolerance=EM.tolerance)
    learners = {
        "spectral, states chosen": HMMOptions(),
        "spectral": HMMOptions(EstimatorOptions(n_states=m), choose_states=False),
        "spectral, then EM, 100 iterations": hmm_preset("fast"),
        "spectral, then EM, to the end": hmm_preset("accurate"),
        "clusters, then EM": HMMOptions(climbing, choose_states=False),
    }
    for name, options in learners.items():
        if "then" in name:
            options = replace(options, estimator=options.estimator.with_settings(n_states=m), choose_states=False)
        model, seconds = timed(partial(LatentHMM.train, strings, options))
        yield name, kl(model.log_probabilities(tested)), seconds
    observed = np.bincount(train.terminal, minlength=kind.n_symbols).astype(float)
    starts = [HiddenMarkov.random(observed, train.n_sequences, m, number) for number in range(N_STARTS)]
    climbs = [timed(partial(climb, start, train)) for start in starts]
    for reached, seconds in climbs:
        yield "Baum-Welch, one start", kl(log_probabilities(reached.model, test)), seconds
    best = max((reached for reached, _ in climbs), key=lambda reached: reached.log_likelihood)
    seconds = sum(spent for _, spent in climbs)
    yield f"Baum-Welch, best of {N_STARTS}", kl(log_probabilities(best.model, test)), seconds
    if with_hmmlearn:
        model, seconds = timed(partial(fit_hmmlearn, starts[0], train, climbs[0][0].iterations))
        yield "hmmlearn, first start", kl(log_probabilities(model, test)), seconds


def spread(values: Sequence[float], digits: int) -> str:
    """Write the median and the quartiles.

    >>> spread([1.0, 2.0, 3.0, 4.0, 5.0], 1)
    '3.0 (2.0 to 4.0)'
    """
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def compare_learners(kinds: Sequence[str], n_models: int, n: int, with_hmmlearn: bool) -> None:
    """Print a row for each learner, over all models of some kinds."""
    list(measure(Kind(2, 3), 50, 0, with_hmmlearn))  # compiles what is measured
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for kind, seed in product(kinds, range(n_models)):
        for learner, kl, seconds in measure(KINDS[kind], n, seed, with_hmmlearn):
            found[learner].append((kl, seconds))
    print_head(["model", "strings", "learner"], ["KL", "CPU s"])
    for learner, pairs in found.items():
        kls, several = zip(*pairs, strict=True)
        row = {"KL": spread(kls, 4), "CPU s": spread(several, 2)}
        print_row([kinds[0] if len(kinds) == 1 else "all", f"{n:,}", learner], row, ["KL", "CPU s"], ())


TOLERANCE = 2e-5  # nats a position
OTHER_SEEDS = range(1_000, 1_010)  # of random starts that the default does not have
STARTS_COLUMNS = ("lost", "near", "CPU s", "CPU s of ten starts")


def numbered(rows: list[Any]) -> Strings:
    """Number the symbols of sequences in their order."""
    number = {symbol: k for k, symbol in enumerate(sorted({symbol for row in rows for symbol in row}))}
    return [[number[symbol] for symbol in row] for row in rows]


def cycles(names: str, noise: float, n: int, length: int, switching: float = 0.0) -> Strings:
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


def random_rows(m: int, seed: int) -> Strings:
    """Draw 60 sequences of 30 positions of a random hidden Markov model of m states and ten categories."""
    rng = np.random.default_rng([m, seed])
    truth = SpectralHMM(m)
    truth.startprob_ = np.full(m, 1.0 / m)
    truth.transmat_, truth.emissionprob_ = rng.dirichlet(np.full(m, 0.5), m), rng.dirichlet(np.full(10, 0.5), m)
    truth.categories_ = np.arange(10)
    return [truth.sample(30, random_state=100 * seed + k)[0].ravel().tolist() for k in range(60)]


def data_sets() -> Iterator[tuple[str, Strings, int]]:
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


def best_of_starts(rows: Strings, m: int) -> float:
    """Climb from ten random starts to their ends, and return the largest log-likelihood, in which ends do not count."""
    sequences = Sequences.of(rows)
    observed = np.bincount(sequences.terminal).astype(np.float64)
    n = len(sequences.terminal)
    reached = []
    for seed in OTHER_SEEDS:
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
        learner = SpectralHMM(m, tol=TOLERANCE, random_state=0)
        model, seconds = timed(partial(learner.fit, X, lengths=lengths))
        best, of_starts = timed(partial(best_of_starts, rows, m))
        lost = best - model.score(X, lengths=lengths)
        if name:
            found.append((lost, seconds, of_starts))
            row = {"lost": f"{lost:.1f}", "near": f"{model.n_near_} of {len(model.model_.reached)}"}
            print_row([name, m], row | {"CPU s": seconds, "CPU s of ten starts": of_starts}, STARTS_COLUMNS, ())
    lost, *sums = np.transpose(found)
    row = {"lost": f"above 1: {(lost > 1.0).sum()} of {len(lost)}"}
    print_row(["all", ""], row | dict(zip(STARTS_COLUMNS[2:], map(np.sum, sums), strict=True)), STARTS_COLUMNS, ())


PAUTOMAC_COLUMNS = ("chosen", "start", "truth", "perplexity", "excess %", "CPU s")


def read_numbers(path: Path) -> list[list[float]]:
    """Read the lines of numbers of a file of PAutomaC, after the one that says how many follow."""
    _, *lines = path.read_text(encoding="utf-8").rstrip().split("\n")
    return [[float(number) for number in line.split()] for line in lines]


def read_strings(path: Path) -> Strings:
    """Read strings; each has its length before it, and may be empty."""
    return [[int(symbol) for symbol in string] for _, *string in read_numbers(path)]


def perplexity(p: FloatArray, log_q: FloatArray) -> float:
    """Compute the perplexity of T test strings from true probabilities (T,) and logarithms of a model's (T,)."""
    log_q = log_q - np.logaddexp.reduce(log_q)
    return float(np.exp(-(p / p.sum() @ log_q)))


def compete(problems: Sequence[int], folder: Path) -> None:
    """Print a row for each problem of PAutomaC that is there, and the mean, the median and the largest excess."""
    WeightedAutomaton.train(["ab", "a", ""] * 20)  # compiles what is measured
    excesses, several = [], []
    print_head(["problem"], PAUTOMAC_COLUMNS)
    for file in (folder / f"{number}.pautomac" for number in problems):
        if not file.with_suffix(".pautomac.train").is_file():
            continue
        exact = np.array(read_numbers(Path(f"{file}_solution.txt")))[:, 0]
        model, seconds = timed(partial(WeightedAutomaton.train, read_strings(Path(f"{file}.train"))))
        truth = perplexity(exact, np.log(np.maximum(exact, 1e-300)))
        found = perplexity(exact, model.log_probabilities(read_strings(Path(f"{file}.test"))))
        excesses.append(100.0 * (found / truth - 1.0))
        several.append(seconds)
        row = {
            "chosen": f"{model.options.estimator}, {model.n_states}",
            "start": f"{np.argmax(model.reached) + 1} of {len(model.reached)}" if model.reached else "",
            "truth": f"{truth:.3f}",
            "perplexity": f"{found:.3f}",
            "excess %": f"{excesses[-1]:.2f}",
        }
        print_row([file.stem], {**row, "CPU s": seconds}, PAUTOMAC_COLUMNS, ())
    for name, value in (("mean", np.mean(excesses)), ("median", np.median(excesses)), ("largest", np.max(excesses))):
        print_row([name], {"excess %": f"{value:.2f}"}, PAUTOMAC_COLUMNS, ())
    print_row(["together"], {"CPU s": float(np.sum(several))}, PAUTOMAC_COLUMNS, ())


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table."""
    parser = command_line(__doc__)
    parser.add_argument("table", choices=("random", "starts", "pautomac"))
    parser.add_argument("--kinds", choices=KINDS, nargs="+", default=list(KINDS))
    parser.add_argument("--models", type=int, default=5, help="the number of random models of each kind")
    parser.add_argument("--strings", type=int, default=2_000, help="the strings of each random model")
    parser.add_argument("--hmmlearn", action="store_true", help="compare random models with hmmlearn, too")
    parser.add_argument("--folder", type=Path, default=DATA / "pautomac")
    parser.add_argument("--problems", type=int, nargs="+", default=range(1, 49))
    given = parser.parse_args(arguments)
    if given.table == "random":
        compare_learners(given.kinds, given.models, given.strings, given.hmmlearn)
    elif given.table == "starts":
        compare_starts()
    else:
        compete(given.problems, given.folder)


if __name__ == "__main__":
    main()
