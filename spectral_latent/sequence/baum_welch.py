"""Train hidden Markov models without tags by Baum-Welch, an EM algorithm (Baum et al. 1970; Rabiner 1989, III.C).

| here | shape | meaning |
| --- | --- | --- |
| `step` | (m, m) | p(h_{i+1} = k, the sequence goes on \\| h_i = h) |
| `forward` α | (n, m) | p(h_i \\| x_1 ... x_i) |
| `ahead` | (m,) | p(x_{i+1} ... x_n and the end \\| h_{i+1}), up to a factor |
| `behind` β | (m,) | p(x_{i+1} ... x_n and the end \\| h_i), up to a factor: `step` times `ahead` |
| γ_i = α ∘ β / α·β | (m,) | p(h_i \\| x) |
| ξ_i = α_h `step`_hk `ahead`_k / α·β | (m, m) | p(h_i = h, h_{i+1} = k \\| x) |

The EM of the core computes the same on s-trees for any tensors (`estimation.em`), and the tests compare both.  The
loops of this module are for chains alone, and are about twenty times as fast.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import reduce
from typing import NamedTuple

import numpy as np

from spectral_latent._compiled import TINY, check_range, compiled_exact_pass, exact_pass_part
from spectral_latent.estimation import (
    EstimationError,
    Listener,
    Progress,
    parallel_map,
    silent,
)
from spectral_latent.estimation.em import Climb, has_converged
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.sequence.hidden_markov import HiddenMarkov
from spectral_latent.trees import FloatArray, IntArray

__all__ = ["ChainCounts", "baum_welch", "expectation"]


@dataclass(frozen=True, eq=False)
class ChainCounts:
    """Hold the expected counts of states in sequences, and the log-likelihood of the sequences.

    begins: (m,) the expected count of each state at first positions, Σ γ.
    ends: (m,) the expected count of each state at last positions, Σ γ.
    pairs: (m, m) the expected count of each pair of neighbouring states, Σ ξ.
    emitted: (n, m) the expected count of each observation with each state, Σ γ.
    log_likelihood: the sum of the log-likelihoods of all sequences, each times its weight.
    n_sequences: the number of sequences.
    """

    begins: FloatArray
    ends: FloatArray
    pairs: FloatArray
    emitted: FloatArray
    log_likelihood: float
    n_sequences: int

    def __add__(self, other: ChainCounts) -> ChainCounts:
        """Add the counts of other sequences under the same model."""
        return ChainCounts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    @property
    def weight(self) -> float:
        """The sum of the weights of the sequences."""
        return float(self.begins.sum())

    def maximise(self, model: HiddenMarkov) -> HiddenMarkov:
        """Make the model under which these counts are likeliest: the M-step."""
        visits = self.emitted.sum(axis=0)
        return HiddenMarkov(
            initial=_shares(self.begins, self.begins.sum(), model.initial),
            transition=_shares(self.pairs, self.pairs.sum(axis=1, keepdims=True), model.transition),
            stop=_shares(self.ends, visits, model.stop),
            emission=_shares(self.emitted.T, visits[:, None], model.emission),
        )


def _shares(counts: FloatArray, total: FloatArray, otherwise: FloatArray) -> FloatArray:
    """Divide counts by their totals; where a total is zero, the result is `otherwise`."""
    return np.asarray(np.divide(counts, total, out=otherwise.copy(), where=total > 0))


class _Parameters(NamedTuple):
    """The probabilities of a hidden Markov model, in the order in which the loops read them.

    initial: (m,) the probability p(h_1) of each first state.
    step: (m, m) the probability that state h (row) is followed by state k (column), and not by the end.
    step_back: (m, m) the transpose of `step`.
    stop: (m,) the probability that the sequence ends after each state.
    emission: (n, m) the probability p(x | h), with a row for each observation x.
    """

    initial: FloatArray
    step: FloatArray
    step_back: FloatArray
    stop: FloatArray
    emission: FloatArray

    @staticmethod
    def of(model: HiddenMarkov) -> _Parameters:
        """Copy the probabilities of a model."""
        step = np.ascontiguousarray((1.0 - model.stop)[:, None] * model.transition)
        step_back = np.ascontiguousarray(step.T)
        emission = np.ascontiguousarray(model.emission.T)
        return _Parameters(model.initial.copy(), step, step_back, model.stop.copy(), emission)


class _ChainRoom(NamedTuple):
    """Room for the vectors of one sequence of at most n observations.

    forward: (n, m) the vectors α of all positions.
    ahead: (m,) the vector `ahead` of one position.
    behind: (m,) the vector β of one position.
    """

    forward: FloatArray
    ahead: FloatArray
    behind: FloatArray


class _ChainTotals(NamedTuple):
    """Running sums of expected counts; see `ChainCounts`.

    begins: (m,) counts of states at first positions.
    ends: (m,) counts of states at last positions.
    pairs: (m, m) counts of pairs of states, divided by `step`, which is a factor of all terms of a pair.
    emitted: (n, m) counts of observations with states.
    """

    begins: FloatArray
    ends: FloatArray
    pairs: FloatArray
    emitted: FloatArray


@exact_pass_part
def _forward(model: _Parameters, terminal: IntArray, first: int, end: int, forward: FloatArray) -> float:
    """Fill the rows of `forward` (n, m) for the sequence terminal[first:end], and return its log-probability.

    The log-probability of an impossible sequence is -inf.
    """
    m = len(model.initial)
    log_probability = 0.0
    for i in range(end - first):
        # Predict the state: p(h_i | x_1 ... x_{i-1}).
        for k in range(m):
            forward[i, k] = model.initial[k] if i == 0 else 0.0
        if i > 0:
            for h in range(m):
                for k in range(m):
                    forward[i, k] += forward[i - 1, h] * model.step[h, k]
        # Multiply by p(x_i | h_i), and divide by the sum, p(x_i | x_1 ... x_{i-1}).
        total = 0.0
        for k in range(m):
            forward[i, k] *= model.emission[terminal[first + i], k]
            total += forward[i, k]
        if total < TINY:
            return -np.inf
        log_probability += math.log(total)
        for k in range(m):
            forward[i, k] /= total
    total = 0.0
    for h in range(m):
        total += forward[end - first - 1, h] * model.stop[h]
    return log_probability + math.log(total) if total >= TINY else -np.inf


@exact_pass_part
def _backward(
    model: _Parameters, terminal: IntArray, first: int, end: int, times: float, room: _ChainRoom, totals: _ChainTotals
) -> bool:
    """Go back through the sequence terminal[first:end], add its expected counts, and tell whether it is possible."""
    forward, ahead, behind = room
    m = len(model.initial)
    for h in range(m):
        behind[h] = model.stop[h]
    for i in range(end - first - 1, -1, -1):
        x = terminal[first + i]
        is_last = i == end - first - 1
        if not is_last:
            for h in range(m):
                behind[h] = 0.0
            for k in range(m):
                for h in range(m):
                    behind[h] += model.step_back[k, h] * ahead[k]
        total = 0.0
        for h in range(m):
            total += forward[i, h] * behind[h]
        if total < TINY:
            return False
        # Add ξ_i, the posteriors of the states of this position and the next.
        if not is_last:
            for h in range(m):
                weight = times * forward[i, h] / total
                for k in range(m):
                    totals.pairs[h, k] += weight * ahead[k]
        # Add γ_i, the posteriors of the states of this position.
        for h in range(m):
            posterior = times * forward[i, h] * behind[h] / total
            totals.emitted[x, h] += posterior
            if is_last:
                totals.ends[h] += posterior
            if i == 0:
                totals.begins[h] += posterior
        # Compute the probability of this position and all after it, scaled so that the largest entry is one.
        largest = 0.0
        for h in range(m):
            ahead[h] = model.emission[x, h] * behind[h]
            if ahead[h] > largest:
                largest = ahead[h]
        if largest > 0.0:
            for h in range(m):
                ahead[h] /= largest
    return True


@compiled_exact_pass
def _expectation(
    model: _Parameters, terminal: IntArray, start: IntArray, weight: FloatArray, room: _ChainRoom, totals: _ChainTotals
) -> tuple[float, int]:
    """Add the expected counts of sequences; return their log-likelihood, and the number of the first impossible one.

    If all sequences are possible, the number is T.
    """
    log_likelihood = 0.0
    for t in range(len(start) - 1):
        log_probability = _forward(model, terminal, start[t], start[t + 1], room.forward)
        # Stop at an impossible sequence, and return its number.
        if log_probability == -np.inf or not _backward(
            model, terminal, start[t], start[t + 1], weight[t], room, totals
        ):
            return log_likelihood, t
        log_likelihood += weight[t] * log_probability
    return log_likelihood, len(start) - 1


def _expected_of_shard(sequences: Sequences, model: HiddenMarkov) -> ChainCounts | int:
    """Compute the expected counts of a shard; if a sequence is impossible, return its number in the shard instead."""
    check_range("observations", sequences.terminal, 0, model.emission.shape[1])
    parameters = _Parameters.of(model)
    m = len(parameters.initial)
    longest = int(np.diff(sequences.start).max(initial=0))
    room = _ChainRoom(np.empty((longest, m)), np.empty(m), np.empty(m))
    totals = _ChainTotals(np.zeros(m), np.zeros(m), np.zeros((m, m)), np.zeros_like(parameters.emission))
    log_likelihood, n_possible = _expectation(
        parameters, sequences.terminal, sequences.start, sequences.weight, room, totals
    )
    if n_possible < sequences.n_sequences:
        return n_possible
    begins, ends, pairs, emitted = totals
    return ChainCounts(begins, ends, pairs * parameters.step, emitted, log_likelihood, n_possible)


def expectation(shards: Iterable[Sequences], model: HiddenMarkov, jobs: int | None = 1) -> ChainCounts:
    """Compute the expected counts of all shards: the E-step.

    Raises EstimationError if a sequence is impossible.

    >>> coin = HiddenMarkov(np.ones(1), np.ones((1, 1)), np.array([0.5]), np.array([[0.5, 0.5]]))
    >>> expectation([Sequences.of([[0, 0, 1]])], coin).emitted
    array([[2.],
           [1.]])
    """
    parts: list[ChainCounts] = []
    for counts in parallel_map(_expected_of_shard, shards, jobs, model):
        if isinstance(counts, int):
            number = sum(part.n_sequences for part in parts) + counts + 1
            raise EstimationError(f"sequence {number} has probability zero under the model that Baum-Welch starts from")
        parts.append(counts)
    return reduce(ChainCounts.__add__, parts)


def baum_welch(
    shards: Iterable[Sequences],
    start: HiddenMarkov,
    options: Climb,
    *,
    jobs: int | None = 1,
    listener: Listener = silent,
) -> tuple[HiddenMarkov, tuple[float, ...]]:
    """Train a hidden Markov model by EM from a given start.

    Returns the final model, and the log-likelihood of the sequences at the start and after each iteration.

    Probabilities that are zero at the start stay zero, and emissions of observations that do not occur become zero.

    shards: sequences without tags, in one part or several; iterated several times.
    start: the model at the start.
    options: the settings; `iterations` and `tolerance` decide when EM stops.
    listener: is told the log-likelihood at the start and after each iteration.

    Raises EstimationError if a sequence has probability zero, and ValueError for an observation that the model lacks.

    >>> from spectral_latent.estimation import EM
    >>> start = HiddenMarkov(np.ones(1), np.ones((1, 1)), np.array([0.5]), np.array([[0.5, 0.5]]))
    >>> found, log_likelihood = baum_welch([Sequences.of([[0, 0, 1]])], start, EM(iterations=9))
    >>> found.emission.round(3), found.stop.round(3), round(log_likelihood[-1], 3)
    (array([[0.667, 0.333]]), array([0.333]), -3.819)
    """
    model = start
    counts = expectation(shards, model, jobs)
    log_likelihood = [counts.log_likelihood]
    listener(Progress("EM", 0, options.iterations, log_likelihood[-1]))
    for iteration in range(1, options.iterations + 1):
        model = counts.maximise(model)
        counts = expectation(shards, model, jobs)
        log_likelihood.append(counts.log_likelihood)
        listener(Progress("EM", iteration, options.iterations, log_likelihood[-1]))
        if has_converged(log_likelihood, options.tolerance * counts.weight):
            break
    return model, tuple(log_likelihood)
