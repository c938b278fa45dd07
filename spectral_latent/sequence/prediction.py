"""What comes next, and proper probabilities of whole sequences, from operators that may give negative estimates.

| here | meaning |
| --- | --- |
| f_i, (K·M,) | what comes before position i: the outside vectors of its spine items |
| a, (K·M,) | all that may come: a = A a + b, over every continuation (A) and every last position (b) |
| A_x, (K·M, K·M) | f_{i+1} = f_i A_x after the observation x, if the sequence goes on; A = Σ_x A_x |
| event e = (x, last) | what one position tells: its observation, and whether it is the last |
| W, (K·M, 2n) | f_i · W_e / f_i · a = p̂(e \\| what comes before); the columns of W add up to a |
| f̄ | the sum of f over all positions of an average sequence: f̄ = f_1 + Aᵀ f̄ |

An estimate p̂ may be negative or far too small.  Probabilities are therefore taken of events in turn: each is raised to
at least ε q(e), with q its probability in the coarse model, and all are divided by their sum.  Where an event that
happens had to be raised, the state behind it is worthless, and the model goes on as from f̄ before that event: it
forgets what came earlier.  So every sequence has a positive probability, and all of them add up to one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from spectral_latent._compiled import TINY
from spectral_latent.inference import inside, outside
from spectral_latent.operators import ObservableOperators
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.sequence.forests import OPEN, TrellisBuilder
from spectral_latent.trees import BoolArray, FloatArray, IntArray

__all__ = ["Predictor"]

_BLOCK = 1 << 22  # numbers in a block of event probabilities
_STRETCH = 32  # positions


class _Sums(NamedTuple):
    """a, W and f̄ of this module."""

    after: FloatArray
    events: FloatArray
    average: FloatArray

    @staticmethod
    def of(operators: ObservableOperators, n_terminals: int) -> _Sums:
        """Raises ValueError if sequences are infinitely long on average."""
        n_tags, m = operators.n_symbols // 2, operators.root.shape[1]
        leaf = np.zeros((n_tags, n_terminals, m))
        leaf[tuple(operators.rules.leaf.T)] = operators.leaf
        last = np.zeros((n_tags, m, m))
        last[operators.rules.unary[:, 1]] = operators.unary
        emitted = leaf.sum(axis=1)
        step = np.zeros((n_tags, m, n_tags, m))
        for (_, t, spine), tensor in zip(operators.rules.binary, operators.binary, strict=True):
            m_a, m_b, m_c = tensor.shape
            step[t, :m_a, spine - n_tags, :m_c] = tensor.applied_left(emitted[t, :m_b])
        matrix = step.reshape(n_tags * m, n_tags * m)
        if not np.abs(np.linalg.eigvals(matrix)).max(initial=0.0) < 1.0:
            raise ValueError("the model's sequences are infinitely long on average")
        system = np.eye(n_tags * m) - matrix
        after = np.linalg.solve(system, np.einsum("tij,tj->ti", last, emitted).ravel())
        average = np.asarray(np.linalg.solve(system.T, operators.root[n_tags:].ravel()), dtype=np.float64)
        going_on = np.zeros((n_tags, m, m))
        for (_, t, spine), tensor in zip(operators.rules.binary, operators.binary, strict=True):
            m_a, m_b, m_c = tensor.shape
            going_on[t, :m_a, :m_b] += tensor.applied_right(after.reshape(n_tags, m)[spine - n_tags, :m_c])
        events = [np.einsum("tij,txj->tix", part, leaf, optimize=True) for part in (going_on, last)]
        return _Sums(after, np.concatenate(events, axis=2).reshape(n_tags * m, -1), average)


class _Walk(NamedTuple):
    """What a pass over sequences finds."""

    log: FloatArray  # (T,) of the probability of each
    state: FloatArray  # (T, K·M) f of the last position, up to a factor


class _Stretches(NamedTuple):
    """Parts of sequences, and the position (n,) there of each of theirs."""

    sequences: Sequences
    position: IntArray
    is_last: BoolArray  # (n,) of the whole sequence

    @staticmethod
    def of(whole: Sequences, first: IntArray, end: IntArray) -> _Stretches:
        """One stretch for each pair of positions."""
        start = np.concatenate([[0], np.cumsum(end - first)])
        position = np.arange(start[-1]) + np.repeat(first - start[:-1], end - first)
        part = Sequences(whole.terminal[position], whole.tag[position], start)
        return _Stretches(part, position, whole.is_last[position])

    @property
    def is_event(self) -> BoolArray:
        """(n,) whether there is an observation."""
        return np.asarray(self.sequences.terminal != OPEN)

    def event(self, n_terminals: int) -> IntArray:
        """(n,) what each position tells."""
        return np.asarray(self.sequences.terminal + n_terminals * self.is_last)

    def first(self, marked: BoolArray) -> IntArray:
        """The first marked position of each stretch, counted from the first of all; -1 where there is none."""
        places = np.where(marked, np.arange(len(marked)), len(marked))
        found = np.minimum.reduceat(places, self.sequences.start[:-1])
        return np.where(found < len(marked), found, -1)


@dataclass(frozen=True, eq=False)
class Predictor:
    """Probabilities of events, never below ε times those of a coarse model; in the notation of this module.

    least: (2n,) ε q, first of events that are not the last, then of those that are.
    """

    operators: ObservableOperators
    builder: TrellisBuilder
    sums: _Sums
    least: FloatArray

    @staticmethod
    def of(operators: ObservableOperators, coarse: ObservableOperators, n_terminals: int, floor: float) -> Predictor:
        """A predictor with ε = floor.  Raises ValueError if sequences are infinitely long on average."""
        _, events, average = _Sums.of(coarse, n_terminals)
        q = average @ events
        builder = TrellisBuilder(operators.rules, operators.n_symbols // 2)
        return Predictor(operators, builder, _Sums.of(operators, n_terminals), floor * q / q.sum())

    def _forward(self, sequences: Sequences, *, from_average: bool) -> FloatArray:
        """f (N, K·M) of every position, up to a factor each; sequences begin at f_1, or at f̄."""
        operators, n_tags = self.operators, self.builder.n_tags
        m = operators.root.shape[1]
        if from_average:
            nothing = np.zeros((n_tags, m))
            operators = replace(operators, root=np.concatenate([nothing, self.sums.average.reshape(n_tags, m)]))
        candidates = self.builder.candidates(sequences.terminal).with_all_tags(n_tags)
        trellis = self.builder.build(sequences.start, candidates)
        outer = outside(operators, trellis.forest, inside(operators, trellis.forest))
        position = trellis.candidates.position
        exponent = outer.exponents[trellis.spine]
        largest = np.full(len(sequences.terminal), np.iinfo(np.int64).min)
        np.maximum.at(largest, position, exponent)
        rows = np.zeros((len(sequences.terminal), n_tags, m))
        scale = np.exp2(np.maximum(exponent - largest[position], -2000).astype(float))
        rows[position, trellis.candidates.tag] = outer.vectors[trellis.spine] * scale[:, None]
        return rows.reshape(len(rows), -1)

    def _estimates(self, state: FloatArray) -> FloatArray:
        """p̂ of all events (n, 2n) after each state (n, K·M); zero where what may come has no positive total."""
        total = state @ self.sums.after
        scale = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
        return np.asarray((state @ self.sums.events) * scale[:, None])

    def _happened(self, state: FloatArray, event: IntArray) -> tuple[FloatArray, BoolArray]:
        """Of each state's event: log p, and whether it had to be raised."""
        log, was_raised = np.zeros(len(event)), np.zeros(len(event), dtype=bool)
        block = max(_BLOCK // len(self.least), 1)
        for at in range(0, len(event), block):
            rows = slice(at, at + block)
            estimates = self._estimates(state[rows])
            own = np.arange(len(estimates)), event[rows]
            was_raised[rows] = estimates[own] <= self.least[event[rows]]
            raised = np.maximum(estimates, self.least)
            with np.errstate(divide="ignore"):
                log[rows] = np.log(raised[own] / raised.sum(axis=1))
        return log, was_raised

    def _walk(self, sequences: Sequences) -> _Walk:
        """Over sequences, the last positions of which may be `OPEN`: those tell of no event.

        Where the model forgets, it goes on with a short stretch; with a longer one if nothing had to be raised there.
        """
        log = np.zeros(sequences.n_sequences)
        state = np.zeros((sequences.n_sequences, len(self.sums.after)))
        whose, at, again = np.arange(sequences.n_sequences), sequences.start[:-1], False
        reach = np.diff(sequences.start)
        while len(whose):
            end = sequences.start[whose + 1]
            stretch = _Stretches.of(sequences, at, np.minimum(at + reach, end))
            f = self._forward(stretch.sequences, from_average=again)
            own, was_raised = self._happened(f, np.where(stretch.is_event, stretch.event(len(self.least) // 2), 0))
            begins = np.zeros(len(own), dtype=bool)
            begins[stretch.sequences.start[:-1]] = again  # the event at which the model forgot has been counted
            new = stretch.is_event & ~begins
            raised = stretch.first(was_raised & new)
            is_done = (at + reach >= end) | (raised >= 0)
            last = np.where(raised >= 0, raised, stretch.sequences.start[1:] - 1)
            of = stretch.sequences.sequence
            counted = new & is_done[of] & (np.arange(len(own)) <= last[of])
            log += np.bincount(whose[of[counted]], own[counted], minlength=len(log))
            state[whose] = f[stretch.sequences.start[1:] - 1]
            forgets = raised >= 0
            at = np.where(forgets, stretch.position[last], at)
            reach = np.where(forgets, _STRETCH, 4 * reach)
            left = np.where(forgets, at + 1 < end, ~is_done)
            whose, at, reach, again = whose[left], at[left], reach[left], True
        return _Walk(log, state)

    def log_probabilities(self, sequences: Sequences) -> FloatArray:
        """(T,) natural logarithms, all finite."""
        return self._walk(sequences).log

    @cached_property
    def _steps(self) -> FloatArray:
        """(K, M², K·M) the rules K+t → t K+u by t: from its spine and its emission to the spines of all u."""
        operators, n_tags = self.operators, self.builder.n_tags
        m = operators.root.shape[1]
        steps = np.zeros((n_tags, m, m, n_tags, m))
        for (_, t, spine), tensor in zip(operators.rules.binary, operators.binary, strict=True):
            m_a, m_b, m_c = tensor.shape
            steps[t, :m_a, :m_b, spine - n_tags, :m_c] = tensor.multiplied_out()
        return steps.reshape(n_tags, m * m, n_tags * m)

    def _next(self, state: FloatArray, terminal: IntArray) -> FloatArray:
        """f A_x (n, K·M), up to a factor each, of states and the observations (n,) that come there."""
        candidates = self.builder.candidates(terminal)
        before = state.reshape(len(state), self.builder.n_tags, self.operators.root.shape[1])
        after = np.zeros_like(state)
        for t in np.unique(candidates.tag):
            rows, rule = (column[candidates.tag == t] for column in (candidates.position, candidates.rule))
            pairs = before[rows, t, :, None] * self.operators.leaf[rule, None, :]  # (n, M, M)
            after[rows] += pairs.reshape(len(rows), -1) @ self._steps[t]
        return np.asarray(after / np.maximum(np.abs(after).max(axis=1, keepdims=True), TINY))

    def sample(
        self, n: int, n_known: int, rng: np.random.Generator, length: int | None, max_length: int
    ) -> list[list[int]]:
        """n sequences of terminals 0 ... n_known - 1; of the given length, or of any.

        Raises ValueError if one grows longer than max_length, or nothing that may follow has a positive probability.
        """
        if length is not None and length < 1:
            raise ValueError(f"the length of a sequence must be at least 1, not {length}")
        n_terminals = len(self.least) // 2
        known = np.tile(np.arange(n_terminals) < n_known, 2)
        is_last = np.arange(2 * n_terminals) >= n_terminals
        drawn: list[list[int]] = [[] for _ in range(n)]
        growing = drawn
        state = np.tile(self.operators.root[self.builder.n_tags :].ravel(), (n, 1))
        while growing:
            if len(growing[0]) == max_length:
                raise ValueError(f"a sampled sequence has more than {max_length} observations")
            estimates = self._estimates(state)
            p = np.maximum(estimates, self.least) * known
            if length is not None:
                p *= is_last == (len(growing[0]) + 1 == length)
            ends = np.cumsum(p, axis=1)
            if not (ends[:, -1] > 0).all():
                raise ValueError("no such sequence of observations that were seen has a positive probability")
            event = np.minimum((ends <= rng.random((len(p), 1)) * ends[:, -1:]).sum(axis=1), 2 * n_terminals - 1)
            for prefix, e in zip(growing, event.tolist(), strict=True):
                prefix.append(e % n_terminals)
            forgets = estimates[np.arange(len(event)), event] <= self.least[event]
            goes_on = ~is_last[event]
            growing = [prefix for prefix, going in zip(growing, goes_on.tolist(), strict=True) if going]
            state = np.where(forgets[:, None], self.sums.average, state)[goes_on]
            state = self._next(state, event[goes_on] % n_terminals)
        return drawn

    def following(self, prefixes: Sequences) -> FloatArray:
        """Of all events (T, 2n) that may follow prefixes, each of which ends in an `OPEN` position."""
        raised = np.maximum(self._estimates(self._walk(prefixes).state), self.least)
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))
