"""Compute probabilities of sequences of observations, and predict the next observation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from spectral_latent.inference import SignedLog
from spectral_latent.model import Surprisal, Unit, entropies
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.sequence.grammar import SequenceGrammar
from spectral_latent.sequence.prediction import Predictor
from spectral_latent.trees import FloatArray, IntArray

__all__ = ["END", "SequenceModel"]

END = None  # the event after the last observation of a sequence


class SequenceModel(ABC):
    """Base of models that give sequences of observations a probability.

    It has a `grammar`: the operators and the numbers of observations.
    """

    @property
    @abstractmethod
    def grammar(self) -> SequenceGrammar[Any, Any]:
        """The operators, and the numbers of observations."""

    @property
    @abstractmethod
    def _floor(self) -> float:
        """ε of `prediction`, for operators that are not probabilities."""

    def _terminals(self, sequence: Sequence[Any]) -> IntArray:
        """Look up the terminals of a sequence."""
        terminals: IntArray = self.grammar.observations.terminals_of(sequence)
        return terminals

    def _sequences(self, sequences: Iterable[Sequence[Any]]) -> Sequences:
        """Number the observations of sequences.  Raises ValueError if a sequence is empty."""
        return Sequences.of(map(self._terminals, sequences))

    @cached_property
    def _predictor(self) -> Predictor:
        coarse, latent = self.grammar.proper
        floor = 0.0 if latent.probabilities else self._floor
        return Predictor.of(latent, coarse, self.grammar.observations.n_terminals, floor)

    def weights(self, sequences: Iterable[Sequence[Any]]) -> SignedLog:
        """Estimate the probabilities p̂ of sequences, as sign and log; estimates may be negative.

        A tagger sums over all sequences of tags.  A word that was never seen is replaced by its signature.

        sequences: the observations of each of T sequences.

        Raises ValueError if a sequence is empty.
        """
        return self.grammar.trellises(self._sequences(sequences)).weight()

    def log_probabilities(self, sequences: Iterable[Sequence[Any]]) -> FloatArray:
        """Compute the natural logarithms (T,) of proper probabilities of sequences.

        If `weights` gives probabilities, the result is the same.  Otherwise, estimates are turned into probabilities as
        described in `prediction`.

        sequences: the observations of each of T sequences.

        Raises ValueError if a sequence is empty.
        """
        sequences = list(sequences)
        if self.grammar.latent.probabilities:
            return self.weights(sequences).log
        return self._predictor.log_probabilities(self._sequences(sequences).rows)

    def surprisal(self, sequence: Sequence[Any], unit: Unit = "bits") -> Surprisal:
        """Compute the surprisal of each observation after those before it, and its lexical and syntactic parts.

        Without tags, the syntactic part is the surprisal of any further observation.  Estimates that may be negative
        are turned into probabilities as described in `prediction`; this is not possible with tags.

        sequence: the observations, one or more.
        unit: the unit of surprisal, "bits" or "nats".

        Raises ValueError if the sequence is empty, for another unit, and for a tagger whose estimates may be negative.
        """
        (row,) = self._sequences([sequence]).rows
        if not self.grammar.latent.probabilities and self.grammar.n_tags > 1:
            raise ValueError(
                "the tagger's estimates may be negative, so that prefixes have no probabilities; train with the preset "
                "'fast' or 'accurate', or with another estimator than 'spectral'"
            )
        return self._predictor.prefixes(row).surprisal(unit, row < len(self.grammar.observations.known))

    def entropy(self, sequence: Sequence[Any], unit: Unit = "bits") -> FloatArray:
        """Compute the entropy (n + 1,) of the next event after each prefix of n observations: an observation or the
        end.

        All unseen observations count as one observation; unseen words count as one word for each signature.

        sequence: the observations; there may be none.
        unit: the unit of entropy, "bits" or "nats".

        Raises ValueError for another unit.
        """
        return entropies(np.stack(list(self._predictor.next_observations(self._terminals(sequence)))), unit)

    def following(self, prefix: Sequence[Any]) -> dict[Hashable, float]:
        """Predict the event after a prefix: the probability of each observation and of `END`, likeliest first.

        The observations are those seen in training.  The probabilities and that of all unseen observations sum to 1.

        prefix: the observations so far; there may be none.
        """
        terminal = self._terminals(prefix)
        last = deque(self._predictor.next_observations(terminal), maxlen=1).pop()
        names: list[Hashable] = list(self.grammar.observations.known)
        probability = dict(zip(names, last.tolist(), strict=False))
        if len(terminal):
            probability[END] = float(last[-1])
        return dict(sorted(probability.items(), key=lambda pair: -pair[1]))

    def sample(
        self, n: int, rng: np.random.Generator, *, length: int | None = None, max_length: int = 10_000
    ) -> list[list[Any]]:
        """Draw sequences of observations seen in training: each observation from the distribution of `following`.

        n: the number of sequences.
        rng: the source of random numbers.
        length: the length of every sequence; None for any length.
        max_length: the largest length of a sequence.

        Raises ValueError if a sequence grows longer than max_length.
        """
        known = self.grammar.observations.known
        drawn = self._predictor.sample(n, len(known), rng, length, max_length)
        return [[known[x] for x in row] for row in drawn]
