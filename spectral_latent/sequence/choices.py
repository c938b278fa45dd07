"""Choose the number of states, and ε of proper probabilities, by the likelihood of held-out sequences."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from spectral_latent._names import ESTIMATORS
from spectral_latent.estimation import (
    SHARD_NODES,
    Listener,
    Moments,
    Priors,
    Progress,
    Projection,
    Treebank,
    operators_from_moments,
    relative_frequencies,
    spectral_moments,
)
from spectral_latent.operators import ObservableOperators
from spectral_latent.sequence.alphabet import Alphabet
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.sequence.options import HMMOptions
from spectral_latent.sequence.prediction import Predictor
from spectral_latent.sequence.treebanks import columns_of, untagged_shard, with_back_off

__all__ = ["choose_states_and_floor"]

_NUMBERS_OF_STATES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32)  # choices, besides the largest number allowed
_FLOORS = (0.1, 0.03, 0.01, 0.003, 0.001)  # choices of ε
_FLOOR = 0.01  # ε if there are too few sequences to choose it
_FOLDS = 10  # every tenth sequence is held out in a fold
_HELD_OUT = 6_000  # the least number of sequences held out in all folds together, if the data have so many
_CHOICE_POSITIONS = 1 << 19  # the number of positions, about, on which the choices are made


@dataclass(frozen=True)
class _Fold:
    """A tenth of the sequences, which is held out, and the spectral moments of all others.

    moments: the moments of the other sequences, with the largest number of states.
    priors: the priors of the operators.
    coarse: operators of one state.
    held_out: the held-out sequences.
    n_terminals: the number of terminals, including the one for unseen observations.
    """

    moments: Moments
    priors: Priors
    coarse: ObservableOperators
    held_out: Sequences
    n_terminals: int

    @staticmethod
    def hold_out(sequences: Sequences, fold: int, alphabet: Alphabet, options: HMMOptions, jobs: int | None) -> _Fold:
        """Hold out every tenth sequence, from number `fold` on, and take the moments of the others."""
        held_out = np.arange(sequences.n_sequences) % _FOLDS == fold
        kept = sequences.part(~held_out)
        columns = map(columns_of, kept.parts(SHARD_NODES // 2))
        shards = [untagged_shard(part, len(alphabet.known), len(kept.terminal)) for part in columns]
        treebank = with_back_off(Treebank.of(shards, jobs=jobs), 1, Priors(alphabet.smooth), options.back_off)
        projection = Projection.learn(treebank.shards, options.estimator, jobs)
        moments = spectral_moments(treebank, projection, jobs)
        coarse = relative_frequencies(treebank.counts, treebank.priors)
        return _Fold(moments, treebank.priors, coarse, sequences.part(held_out), alphabet.n_terminals)

    def score(self, n_states: int, floor: float) -> float:
        """Compute the log-likelihood of the held-out sequences; -inf if sequences of the model may never end."""
        moments = self.moments.truncated(np.minimum(self.moments.states, n_states))
        try:
            latent = operators_from_moments(moments, priors=self.priors)
            predictor = Predictor.of(latent, self.coarse, self.n_terminals, floor)
        except ValueError:
            return -np.inf
        return float(self.held_out.weight @ predictor.log_probabilities(self.held_out.rows))


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

    The folds hold out 6,000 sequences together, or as many as ten folds can.  Of equally good choices, the fewest
    states and the largest ε are taken.  Sequences beyond the first half million positions are not used.

    shards: the sequences in shards.
    alphabet: the observations by their numbers.
    options: the settings, which may leave the choices open.
    jobs: the number of threads; the result does not depend on it.
    listener: is told the score of each number of states.
    """
    sequences = _first_positions(shards)
    n = sequences.n_sequences
    largest = options.estimator.n_states
    chooses_floor = options.floor is None and not ESTIMATORS[options.estimator.estimator].probabilities
    floor = _FLOOR if options.floor is None else options.floor
    if n < 2 * _FOLDS or not (options.choose_states or chooses_floor):
        return 1 if options.choose_states else largest, floor
    folds = [
        _Fold.hold_out(sequences, fold, alphabet, options, jobs)
        for fold in range(min(-(-_HELD_OUT * _FOLDS // n), _FOLDS))
    ]
    numbers = [largest]
    if options.choose_states:
        supported = min(int(fold.moments.states.max()) for fold in folds)
        numbers = [m for m in sorted({*_NUMBERS_OF_STATES, largest}) if m <= min(largest, supported)]
    scores = []
    for m in numbers:
        scores.append(sum(fold.score(m, floor) for fold in folds))
        listener(Progress("states", len(scores), len(numbers), score=scores[-1]))
    best = int(np.argmax(scores))
    chosen = numbers[best]
    if not chooses_floor:
        return chosen, floor
    # The best number of states already has a score with one of the floors.
    of_floors = [scores[best] if each == floor else sum(fold.score(chosen, each) for fold in folds) for each in _FLOORS]
    return chosen, _FLOORS[int(np.argmax(of_floors))]
