"""Train weighted automata, and choose the estimator and the number of states by held-out strings."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from spectral_latent.automata.hankel import Factorisation, Hankel, counts_of, frequent_strings
from spectral_latent.automata.options import AutomatonEstimator, AutomatonOptions
from spectral_latent.automata.probabilistic import (
    Strings,
    climb,
    climb_from_starts,
    draw_automaton,
    log_likelihood,
    n_iterations_from,
    smooth,
)
from spectral_latent.trees import FloatArray

__all__ = ["Trial", "choose_automaton", "train_automaton"]

_log = logging.getLogger(__name__)

_FOLDS = 10  # a tenth of the strings is held out
_LEAST = 20  # the least number of strings of which some are held out
_N_STATES = 8  # the number of states if there are fewer strings
_SPECTRAL = (1, 2, 4, 8, 16, 32, 64)  # numbers of states
_CLIMBING = (4, 16, 32, 64, 128)
_FIRST = 30  # iterations of EM, after which automata are compared
_ITERATIONS = 120  # the largest number of further iterations of EM, and of iterations without a choice
_MORE = 40  # iterations that the budget must leave for the best automaton of each estimator
_SYMBOLS = 200_000  # symbols that are counted to compare spectral automata
_LAST = 10  # iterations on all strings, after the choice
_PLACE, _PAIR = 5e-7, 2.7e-10  # seconds of an iteration for each prefix of a string, and for each pair of states there
_CLEAR = 0.02  # nats a string: larger automata are not tried once they are clearly worse
_FAR = 0.5  # nats a string: an estimator is given up if it is so far behind another one with as many states
_GAIN = 1e-3  # nats a string that justify twice the states
_SHARES = (1e-2, 1e-3, 1e-4, 1e-5)  # choices of the share of smoothing
_Row = tuple[int, ...]


class Trial(NamedTuple):
    """An automaton that was tried.

    nats: the mean log-likelihood of a held-out string.
    seconds: the computed seconds of an iteration of EM; 0 for spectral automata."""

    estimator: AutomatonEstimator
    n_states: int
    nats: float
    seconds: float


def _hankel(rows: Sequence[_Row], n_symbols: int, options: AutomatonOptions) -> Hankel:
    """Count strings, and fill the blocks of the Hankel matrix."""
    values = counts_of(rows, options.counted, longest=2 * options.length + 1)
    return Hankel.of(values, frequent_strings(values, options.length, options.size), n_symbols)


def train_automaton(rows: Sequence[_Row], n_symbols: int, options: AutomatonOptions) -> Factorisation:
    """Train an automaton with a given number of states."""
    assert options.n_states is not None
    if options.estimator == "spectral":
        hankel = _hankel(rows, n_symbols, options)
        return hankel.factorise(options.n_states, hankel.weights(options.pseudo / len(rows))).of_strings(
            options.counted
        )
    kept, held_out = _hold_out(rows, options.seed)
    is_markov = options.estimator == "hmm"
    strings = Strings.of(kept)
    others = Strings.of(held_out) if held_out else None
    found, _ = climb_from_starts(
        strings, n_symbols, options.n_states, _seeds(options), _ITERATIONS, others, is_markov=is_markov
    )
    return _finished(found, rows, held_out, is_markov)


def _seeds(options: AutomatonOptions) -> list[int]:
    """List the seeds of random starts; the first is that of the options."""
    others = np.random.SeedSequence(options.seed).generate_state(options.random_starts - 1)
    return [options.seed, *others.tolist()]


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
    return smooth(climb(Strings.of(rows), automaton, _LAST, is_markov=is_markov)[0], share)


def choose_automaton(
    rows: Sequence[_Row],
    n_symbols: int,
    options: AutomatonOptions,
    likelihoods: Callable[[Factorisation, Sequence[_Row]], FloatArray],
) -> tuple[Factorisation, AutomatonOptions, list[Trial]]:
    """Train the automaton under which held-out strings are likeliest, of those that the budget allows.

    Returns the automaton, the settings that were chosen, and what was tried."""
    kept, held_out = _hold_out(rows, options.seed)
    if not held_out:
        _log.warning("too few strings (%d) to choose the number of states, which is %d", len(rows), _N_STATES)
        options = replace(options, n_states=_N_STATES, estimator="spectral")
        return train_automaton(rows, n_symbols, options), options, []
    trials: list[Trial] = []
    best: Factorisation | None = None
    for automaton, trial in _tried(kept, held_out, n_symbols, options, likelihoods):
        if not trials or trial.nats > max(each.nats for each in trials):
            best = automaton
        trials.append(trial)
        _log.info("%s, %d states: %.4f nats a held-out string", trial.estimator, trial.n_states, trial.nats)
    assert best is not None
    chosen = max(trials, key=lambda trial: trial.nats)
    options = replace(options, n_states=chosen.n_states, estimator=chosen.estimator)
    if chosen.estimator != "spectral":
        return _finished(best, rows, held_out, chosen.estimator == "hmm"), options, trials
    return train_automaton(rows, n_symbols, options), options, trials


def _tried(
    kept: list[_Row],
    held_out: list[_Row],
    n_symbols: int,
    options: AutomatonOptions,
    likelihoods: Callable[[Factorisation, Sequence[_Row]], FloatArray],
) -> Iterator[tuple[Factorisation, Trial]]:
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
        nats = float(np.average(likelihoods(automaton, list(counts)), weights=list(counts.values())))
        yield automaton, Trial("spectral", m, nats, 0.0)
    strings, others = Strings.of(kept), Strings.of(held_out)
    spent = 0.0
    best: dict[AutomatonEstimator, tuple[Factorisation, Trial]] = {}
    going: list[AutomatonEstimator] = ["hmm", "em"]
    for m in _CLIMBING:
        seconds = strings.n_places * (_PLACE + m * m * _PAIR)  # of an iteration
        reached: dict[AutomatonEstimator, float] = {}
        for estimator in list(going):
            n_numbers = m * (m + n_symbols) if estimator == "hmm" else m * m * n_symbols
            is_dear = spent + (_FIRST + _MORE) * seconds > options.seconds or n_numbers > 4 * strings.n_places
            if best and is_dear:
                going.remove(estimator)
                continue
            start = draw_automaton(strings, n_symbols, m, options.seed, is_markov=estimator == "hmm")
            automaton, value = climb(
                strings, start.of_precision(np.float32), _FIRST, others, is_markov=estimator == "hmm"
            )
            spent += _FIRST * seconds
            reached[estimator] = value / len(held_out)
            found = automaton, Trial(estimator, m, reached[estimator], seconds)
            yield found
            before = best[estimator][1].nats if estimator in best else -np.inf
            if reached[estimator] > before + _GAIN:
                best[estimator] = found
            elif reached[estimator] < before - _CLEAR:
                going.remove(estimator)
        going = [each for each in going if reached.get(each, -np.inf) > max(reached.values()) - _FAR]
    # The best automata climb on, but for those of an estimator that is far behind.
    most = max(trial.nats for _, trial in best.values())
    finalists = [found for found in best.values() if found[1].nats > most - _FAR]
    for automaton, first in finalists:
        n = int(np.clip((options.seconds - spent) / first.seconds / len(finalists), _MORE, _ITERATIONS))
        automaton, value = climb(strings, automaton, n, others, is_markov=first.estimator == "hmm")
        yield automaton, first._replace(nats=value / len(held_out))
        spent += n * first.seconds
    # Other random starts join the best one, if the budget allows.
    chosen = max(finalists, key=lambda found: found[1].nats)[1]
    seeds = _seeds(options)[1:]
    if seeds and spent + n_iterations_from(len(seeds), _ITERATIONS) * chosen.seconds <= options.seconds:
        automaton, value = climb_from_starts(
            strings,
            n_symbols,
            chosen.n_states,
            seeds,
            _ITERATIONS,
            others,
            is_markov=chosen.estimator == "hmm",
            precision=np.float32,
        )
        yield automaton, chosen._replace(nats=value / len(held_out))
