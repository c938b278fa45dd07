"""Train weighted automata by their settings, and choose the estimator and the number of states by held-out strings."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np

from spectral_latent._options import Above, AtLeast, AtMost, Below, Options
from spectral_latent.automata.hankel import Counted, Factorisation, Hankel, counts_of, frequent_strings
from spectral_latent.automata.probabilistic import Strings, climb, draw_automaton, log_likelihood, smooth
from spectral_latent.trees import FloatArray

_log = logging.getLogger(__name__)

_FOLDS = 10  # a tenth of the strings is held out
_LEAST = 20  # the least number of strings of which some are held out
_N_STATES = 8  # the number of states if there are fewer strings
_SPECTRAL = (1, 2, 4, 8, 16, 32, 64)  # numbers of states
_CLIMBING = (4, 16, 32, 64)
_NUMBERS = 4  # an automaton has at most as many numbers for each prefix of the strings
_FIRST = 30  # iterations of EM, after which automata are compared
_ITERATIONS = 120  # the largest number of further iterations of EM, and of iterations without a choice
_SYMBOLS = 200_000  # symbols that are counted to compare spectral automata
_LAST = 10  # iterations on all strings, after the choice
_FAR = 0.5  # nats a string: an estimator is given up if it is so far behind another one with as many states
_GAIN = 1e-3  # nats a string that justify more states
_SHARES = (1e-2, 1e-3, 1e-4, 1e-5)  # choices of the share of smoothing
_NATS = attrgetter("nats")
_Row = tuple[int, ...]

AutomatonEstimator = Literal["spectral", "em", "hmm"]


@dataclass(frozen=True)
class AutomatonOptions(Options):
    """Settings of learning a weighted automaton from strings.

    n_states: the number of states, or fewer if the Hankel matrix has a smaller rank; None to choose it by held-out
        strings, and with it what follows.
    counted: the kind of strings that the Hankel matrix counts: whole strings, or their prefixes, suffixes or factors.
    length: the length of the longest prefixes and suffixes of the basis.
    size: the largest number of prefixes of the basis, and of suffixes; the most frequent ones are taken.
    pseudo: a number that is added to the counts of rows and columns, which are divided by the roots of these sums.
    floor: ε of `sequence.prediction`: the smallest probability of an event, as a share of its probability if all
        symbols and the end are equally likely.
    estimator: `spectral`, or EM from a random start: `em` for a probabilistic automaton, `hmm` for one whose symbols
        depend on the state before alone, which is a hidden Markov model.
    seed: the seed of the random starts, and of the strings that are held out.
    random_starts: the number of random starts of EM for a given number of states, and for the chosen one; one start
        serves for each choice."""

    later: ClassVar[frozenset[str]] = frozenset({"estimator", "seed", "random_starts"})
    earlier: ClassVar[frozenset[str]] = frozenset({"seconds"})
    n_states: Annotated[int, AtLeast(1), AtMost(10**9)] | None = None
    counted: Counted = "factors"
    length: Annotated[int, AtLeast(1), AtMost(10**9)] = 3
    size: Annotated[int, AtLeast(1), AtMost(10**9)] = 500
    pseudo: Annotated[float, Above(0.0), AtMost(1e9)] = 5.0
    floor: Annotated[float, Above(0.0), Below(1.0)] = 0.01
    estimator: AutomatonEstimator = "spectral"
    seed: Annotated[int, AtLeast(0)] = 0
    random_starts: Annotated[int, AtLeast(1)] = 10


class Trial(NamedTuple):
    """An automaton that was tried.

    nats: the log-likelihood of the held-out strings.
    reached: that of each start of EM; empty for spectral automata."""

    automaton: Factorisation
    estimator: AutomatonEstimator
    n_states: int
    nats: float
    reached: tuple[float, ...] = ()


def _hankel(rows: Sequence[_Row], n_symbols: int, options: AutomatonOptions) -> Hankel:
    """Count strings, and fill the blocks of the Hankel matrix."""
    values = counts_of(rows, options.counted, longest=2 * options.length + 1)
    return Hankel.of(values, frequent_strings(values, options.length, options.size), n_symbols)


def train_automaton(
    rows: Sequence[_Row], n_symbols: int, options: AutomatonOptions
) -> tuple[Factorisation, tuple[float, ...]]:
    """Train an automaton with a given number of states; also return what each start of EM reached."""
    assert options.n_states is not None
    if options.estimator == "spectral":
        hankel = _hankel(rows, n_symbols, options)
        numbers = hankel.factorise(options.n_states, hankel.weights(options.pseudo / len(rows)))
        return numbers.of_strings(options.counted), ()
    kept, held_out = _hold_out(rows, options.seed)
    is_markov = options.estimator == "hmm"
    strings = Strings.of(kept)
    others = Strings.of(held_out) if held_out else None
    found, reached = climb(strings, _starts(strings, n_symbols, options), _ITERATIONS, others, is_markov=is_markov)
    return _finished(found, rows, held_out, is_markov), reached


def _starts(strings: Strings, n_symbols: int, options: AutomatonOptions) -> Iterator[Factorisation]:
    """Draw random starts of EM; the first has the seed of the options."""
    assert options.n_states is not None
    others = np.random.SeedSequence(options.seed).generate_state(options.random_starts - 1)
    for seed in (options.seed, *others.tolist()):
        yield draw_automaton(strings, n_symbols, options.n_states, seed, is_markov=options.estimator == "hmm")


def _hold_out(rows: Sequence[_Row], seed: int) -> tuple[list[_Row], list[_Row]]:
    """Hold out a tenth of the strings, if there are enough."""
    if len(rows) < _LEAST:
        return list(rows), []
    is_held_out = np.random.default_rng(seed).permutation(np.arange(len(rows)) % _FOLDS) == 0
    kept, held_out = ([row for row, is_out in zip(rows, is_held_out, strict=True) if is_out == out] for out in (0, 1))
    return kept, held_out


def _finished(
    automaton: Factorisation, rows: Sequence[_Row], held_out: Sequence[_Row], is_markov: bool
) -> Factorisation:
    """Choose the share of smoothing by held-out strings, and train on all strings for some more iterations."""
    share = 1e-3
    automaton = automaton.of_precision(np.float64)
    if held_out:
        strings = Strings.of(held_out)
        likely = [log_likelihood(strings, smooth(automaton, share)) for share in _SHARES]
        share = _SHARES[int(np.argmax(likely))]
    return smooth(climb(Strings.of(rows), [automaton], _LAST, is_markov=is_markov)[0], share)


def choose_automaton(
    rows: Sequence[_Row],
    n_symbols: int,
    options: AutomatonOptions,
    likelihoods: Callable[[Factorisation, Sequence[_Row]], FloatArray],
) -> tuple[Factorisation, AutomatonOptions, tuple[float, ...]]:
    """Train the automaton under which held-out strings are likeliest.

    Returns the automaton, the settings that were chosen, and what each start of EM with these settings reached."""
    kept, held_out = _hold_out(rows, options.seed)
    if not held_out:
        _log.warning("too few strings (%d) to choose the number of states, which is %d", len(rows), _N_STATES)
        options = replace(options, n_states=_N_STATES, estimator="spectral")
        return train_automaton(rows, n_symbols, options)[0], options, ()
    tried = []
    for trial in _tried(kept, held_out, n_symbols, options, likelihoods):
        tried.append(trial)
        nats = trial.nats / len(held_out)
        _log.info("%s, %d states: %.4f nats a held-out string", trial.estimator, trial.n_states, nats)
    chosen = max(reversed(tried), key=_NATS)  # the last trial of an automaton knows what all starts reached
    options = replace(options, n_states=chosen.n_states, estimator=chosen.estimator)
    if chosen.estimator == "spectral":
        return train_automaton(rows, n_symbols, options)[0], options, ()
    return _finished(chosen.automaton, rows, held_out, chosen.estimator == "hmm"), options, chosen.reached


def _tried(
    kept: list[_Row],
    held_out: list[_Row],
    n_symbols: int,
    options: AutomatonOptions,
    likelihoods: Callable[[Factorisation, Sequence[_Row]], FloatArray],
) -> Iterator[Trial]:
    """Train automata of both estimators, with more and more states."""
    some = kept[: int(np.searchsorted(np.cumsum([len(row) for row in kept]), _SYMBOLS)) + 1]
    hankel = _hankel(some, n_symbols, options)
    weights = hankel.weights(options.pseudo / len(some))
    largest = hankel.factorise(min(max(_SPECTRAL), *hankel.matrix.shape), weights)
    counts = Counter(held_out)
    for m in (m for m in _SPECTRAL if m <= len(largest.initial)):
        # The first states of a decomposition are those of a smaller one.
        part = Factorisation(largest.initial[:m], largest.step[:, :m, :m], largest.final[:m])
        automaton = part.of_strings(options.counted)
        nats = float(likelihoods(automaton, list(counts)) @ list(counts.values()))
        yield Trial(automaton, "spectral", m, nats)
    strings, others = Strings.of(kept), Strings.of(held_out)

    def climbed(starts: Iterable[Factorisation], own: AutomatonOptions, iterations: int) -> Trial:
        """Train by EM."""
        single = (start.of_precision(np.float32) for start in starts)
        automaton, reached = climb(strings, single, iterations, others, is_markov=own.estimator == "hmm")
        return Trial(automaton, own.estimator, len(automaton.initial), max(reached), reached)

    best: dict[AutomatonEstimator, Trial] = {}
    going: list[AutomatonEstimator] = ["hmm", "em"]
    far, gain = _FAR * len(held_out), _GAIN * len(held_out)
    for m in _CLIMBING:
        reached: dict[AutomatonEstimator, float] = {}
        for estimator in list(going):
            n_numbers = m * (m + n_symbols) if estimator == "hmm" else m * m * n_symbols
            if best and n_numbers > _NUMBERS * strings.n_places:
                going.remove(estimator)
                continue
            own = replace(options, n_states=m, estimator=estimator)
            trial = climbed([next(_starts(strings, n_symbols, own))], own, _FIRST)
            yield trial
            reached[estimator] = trial.nats
            if estimator not in best or trial.nats > best[estimator].nats + gain:
                best[estimator] = trial
            else:
                going.remove(estimator)
        going = [each for each in going if reached[each] > max(reached.values()) - far]
    # The best automata climb on, but for those of an estimator that is far behind; other starts join the best one.
    most = max(trial.nats for trial in best.values())
    finalists = []
    for trial in best.values():
        if trial.nats > most - far:
            own = replace(options, n_states=trial.n_states, estimator=trial.estimator)
            finalists.append(climbed([trial.automaton], own, _ITERATIONS))
            yield finalists[-1]
    first = max(finalists, key=_NATS)
    own = replace(options, n_states=first.n_states, estimator=first.estimator)
    if starts := list(_starts(strings, n_symbols, own))[1:]:
        last = climbed(starts, own, _FIRST + _ITERATIONS)
        yield max([first, last], key=_NATS)._replace(reached=first.reached + last.reached)
