"""Choose the number of states, and ε of proper probabilities, by the likelihood of held-out sequences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import TypeVar

import numpy as np

from spectral_latent.estimation import (
    SHARD_NODES,
    Listener,
    Moments,
    Priors,
    Progress,
    Projection,
    ProjectionOptions,
    Treebank,
    operators_from_moments,
    relative_frequencies,
    silent,
    spectral_moments,
)
from spectral_latent.operators import ObservableOperators
from spectral_latent.sequence.alphabet import Alphabet
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.sequence.options import HMMOptions
from spectral_latent.sequence.prediction import Predictor
from spectral_latent.sequence.treebanks import columns_of, untagged_shard, with_back_off
from spectral_latent.trees import FloatArray, IntArray

__all__ = ["choose_states_and_floor", "folds_of"]

_NUMBERS_OF_STATES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32)  # choices, besides the largest number allowed
_FLOORS = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)  # choices of ε
_FLOOR = 0.01  # ε if there are too few sequences to choose it
_FOLDS = 10  # a tenth of the sequences is held out in a fold
_HELD_OUT = 6_000  # the least number of sequences held out in all folds together, if the data have so many
_ROUND = 100  # the least number of held-out sequences before a choice is given up
_CLEAR = 4.0  # the number of standard errors by which a choice is clearly worse
_LEAST = 20.0  # and the least difference in nats, because rare sequences that have not come yet may make up for less
_CHOICE_POSITIONS = 1 << 19  # the number of positions, about, on which the choices are made

_Choice = TypeVar("_Choice", int, float)


@dataclass(frozen=True)
class _Fold:
    """A tenth of the sequences, which is held out, and the spectral moments of all others.

    moments: the moments of the other sequences, with the largest number of states.
    priors: the priors of the operators.
    coarse: operators of one state.
    rows: the terminals of each held-out sequence.
    weight: the weights of these sequences.
    n_terminals: the number of terminals, including the one for unseen observations.
    """

    moments: Moments
    priors: Priors
    coarse: ObservableOperators
    rows: list[IntArray]
    weight: FloatArray
    n_terminals: int

    @staticmethod
    def hold_out(sequences: Sequences, fold: int, alphabet: Alphabet, options: HMMOptions, jobs: int | None) -> _Fold:
        """Hold out the sequences of a fold, and take the moments of the others.

        Observations that only held-out sequences have become the terminal of unseen observations.
        """
        is_held_out = folds_of(sequences.n_sequences) == fold
        kept = sequences.part(~is_held_out)
        held_out = sequences.part(is_held_out)
        is_seen = np.bincount(kept.terminal, minlength=alphabet.n_terminals) > 0
        terminal = np.where(is_seen[held_out.terminal], held_out.terminal, alphabet.n_terminals - 1)
        columns = map(columns_of, kept.parts(SHARD_NODES // 2))
        shards = [untagged_shard(part, len(alphabet.known), len(kept.terminal)) for part in columns]
        treebank = with_back_off(Treebank.of(shards, jobs=jobs), 1, Priors(alphabet.smooth), options.back_off)
        projection = Projection.learn(treebank.shards, _projections(options), jobs)
        moments = spectral_moments(treebank, projection, jobs)
        coarse = relative_frequencies(treebank.counts, treebank.priors)
        rows = replace(held_out, terminal=terminal).rows
        return _Fold(moments, treebank.priors, coarse, rows, held_out.weight, alphabet.n_terminals)

    def log_likelihoods(self, part: slice, n_states: int, floor: float) -> FloatArray:
        """Compute the log-likelihoods of held-out sequences; -inf if sequences of the model may never end."""
        moments = self.moments.truncated(np.minimum(self.moments.states, n_states))
        try:
            latent = operators_from_moments(moments, priors=self.priors)
            predictor = Predictor.of(latent, self.coarse, self.n_terminals, floor)
        except ValueError:
            return np.full(len(self.rows[part]), -np.inf)
        return self.weight[part] * predictor.log_probabilities(self.rows[part])


def _projections(options: HMMOptions) -> ProjectionOptions:
    """Take the settings of projections from those of the states; what these lack has its default."""
    names = (field.name for field in fields(ProjectionOptions))
    states = options.estimator.states
    return ProjectionOptions(**{name: getattr(states, name) for name in names if hasattr(states, name)})


def folds_of(n: int) -> IntArray:
    """Draw the fold (n,) of each of n sequences, always in the same way; the sequences may have an order that repeats.

    >>> np.bincount(folds_of(23)).tolist()
    [3, 3, 3, 2, 2, 2, 2, 2, 2, 2]
    """
    return np.random.default_rng(0).permutation(np.arange(n) % _FOLDS)


def _best(
    choices: Iterable[_Choice],
    rounds: Sequence[tuple[int, slice]],
    log_likelihoods: Callable[[int, slice, _Choice], FloatArray],
    listener: Listener = silent,
) -> _Choice:
    """Find the choice with the largest likelihood of held-out sequences; the first one of equals.

    After each round of sequences, choices that are clearly worse than the best one are given up.
    """
    found = {choice: np.zeros(0) for choice in choices}
    n_done = 0
    for n_before, (fold, part) in enumerate(rounds):
        n_steps = n_done + len(found) * (len(rounds) - n_before)
        for choice in found:
            found[choice] = np.append(found[choice], log_likelihoods(fold, part, choice))
            n_done += 1
            listener(Progress("states", n_done, n_steps))
        best = max(found, key=lambda choice: float(found[choice].sum()))
        found = {choice: log for choice, log in found.items() if not _is_clearly_less(log, found[best])}
        if len(found) == 1:
            break
    return best


def _is_clearly_less(log: FloatArray, best: FloatArray) -> bool:
    """Tell whether log-likelihoods (n,) of sequences are clearly less on average than the best ones, of largest sum."""
    n = len(log)
    if n < _ROUND or log is best:
        return False
    if not np.isfinite(log).all():
        return True
    difference = best - log
    return bool(difference.sum() > max(_LEAST, _CLEAR * difference.std() * np.sqrt(n)))


def _rounds(n: int) -> list[tuple[int, slice]]:
    """List the fold and the held-out sequences of each round; each round is about as large as all rounds before it."""
    rounds = []
    size = _ROUND
    for fold in range(min(-(-_HELD_OUT * _FOLDS // n), _FOLDS)):
        first = 0
        while first < len(range(fold, n, _FOLDS)):
            rounds.append((fold, slice(first, first + size)))
            first += size
            size *= 2
    return rounds


def _first_positions(shards: Iterable[Sequences]) -> Sequences:
    """Join the first shards, until they have enough positions to choose on."""
    parts: list[Sequences] = []
    n_positions = 0
    for sequences in shards:
        if n_positions >= _CHOICE_POSITIONS:
            break
        parts.append(sequences)
        n_positions += len(sequences.terminal)
    return Sequences.joined(parts)


def choose_states_and_floor(
    shards: Iterable[Sequences], alphabet: Alphabet, options: HMMOptions, jobs: int | None, listener: Listener
) -> tuple[int, float]:
    """Choose the number of states and then ε, if the options leave them open, by the likelihood of held-out sequences.

    The folds hold out 6,000 sequences together, or as many as ten folds can.  A choice that is clearly worse than the
    best one is given up before all folds are used.  Of equally good choices, the fewest states and the largest ε are
    taken.  Sequences beyond the first half million positions are not used.
    """
    sequences = _first_positions(shards)
    n = sequences.n_sequences
    largest = _projections(options).n_states
    chooses_floor = options.floor is None and not options.estimator.probabilities
    floor = _FLOOR if options.floor is None else options.floor
    if n < 2 * _FOLDS or not (options.choose_states or chooses_floor):
        return 1 if options.choose_states else largest, floor
    rounds = _rounds(n)
    held_out = cache(lambda fold: _Fold.hold_out(sequences, fold, alphabet, options, jobs))
    chosen = largest
    if options.choose_states:
        supported = min(largest, int(held_out(0).moments.states.max()))
        numbers = [m for m in sorted({*_NUMBERS_OF_STATES, largest}) if m <= supported]
        chosen = _best(numbers, rounds, lambda fold, part, m: held_out(fold).log_likelihoods(part, m, floor), listener)
    if chooses_floor:
        floor = _best(_FLOORS, rounds, lambda fold, part, each: held_out(fold).log_likelihoods(part, chosen, each))
    return chosen, floor
