"""Compute the posteriors of the states of chains, and train hidden Markov models by Baum-Welch, an EM algorithm.

The papers are Baum et al. (1970) and Rabiner (1989, III.C).

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
from dataclasses import dataclass, fields, replace
from functools import reduce
from itertools import combinations
from typing import NamedTuple

import numpy as np

from spectral_latent import _scipy as scipy
from spectral_latent._compiled import TINY, check_range, compiled_pass, pass_part
from spectral_latent.estimation import EM, EstimationError, Listener, parallel_map, silent
from spectral_latent.estimation.starts import Ascent
from spectral_latent.sequence.conversion import Sequences, SequenceShard
from spectral_latent.sequence.hidden_markov import HiddenMarkov, shares_with
from spectral_latent.trees import BoolArray, FloatArray, IntArray

_PAIRS = 45  # pairs of states that are tried as one: all pairs of ten states
_POSITIONS = 1 << 13  # the number of positions, about, whose vectors are computed at a time


class OpenPositions(NamedTuple):
    """Terminals n ... n + V - 1, besides the n observations: kinds of positions of which more or less is known.

    observation: (V,) the observation; -1 if it is missing.
    allowed: (V, m) whether the position may have each state."""

    observation: IntArray
    allowed: BoolArray

    def extend(self, model: HiddenMarkov) -> HiddenMarkov:
        """Let a model of n observations emit all terminals; not a distribution then."""
        kinds = self.allowed.T * model.with_missing().emission[:, self.observation]
        return replace(model, emission=np.append(model.emission, kinds, axis=1))

    def fold(self, emitted: FloatArray) -> FloatArray:
        """Add the expected counts (n + V, m) of open positions to those of their observations, (n, m)."""
        n = len(emitted) - len(self.observation)
        folded = emitted[:n].copy()
        seen = self.observation >= 0
        np.add.at(folded, self.observation[seen], emitted[n:][seen])
        return folded


@dataclass(frozen=True, eq=False)
class ChainCounts:
    """Hold the expected counts of states in sequences, and the log-likelihood of the sequences.

    begins: (m,) the expected count of each state at first positions, Σ γ.
    ends: (m,) the expected count of each state at last positions, Σ γ.
    pairs: (m, m) the expected count of each pair of neighbouring states, Σ ξ.
    emitted: (n, m) the expected count of each observation with each state, Σ γ.
    log_likelihood: the sum of the log-likelihoods of all sequences, each times its weight."""

    begins: FloatArray
    ends: FloatArray
    pairs: FloatArray
    emitted: FloatArray
    log_likelihood: float

    @staticmethod
    def of_states(sequences: Sequences, state: IntArray, n_symbols: int, n_states: int) -> ChainCounts:
        """Count known states (N,) and the observations of n symbols in them, by the weights of sequences."""

        def table(rows: IntArray, columns: IntArray, times: FloatArray, shape: tuple[int, int]) -> FloatArray:
            """Add up the times of pairs of a row and a column."""
            counts = np.zeros(shape)
            np.add.at(counts, (rows, columns), times)
            return counts

        weight = sequences.weight[sequences.sequence]
        before = np.flatnonzero(~sequences.is_last)
        begins, ends = state[sequences.start[:-1]], state[sequences.start[1:] - 1]
        return ChainCounts(
            np.bincount(begins, sequences.weight, n_states).astype(np.float64),
            np.bincount(ends, sequences.weight, n_states).astype(np.float64),
            table(state[before], state[before + 1], weight[before], (n_states, n_states)),
            table(sequences.terminal, state, weight, (n_symbols, n_states)),
            log_likelihood=0.0,
        )

    def model(self, pseudo: float = 0.0) -> HiddenMarkov:
        """Estimate a model by relative frequencies, with a pseudo-count for every parameter."""
        ends = np.stack([self.pairs.sum(axis=1), self.ends], axis=1)
        return HiddenMarkov(
            initial=shares_with(self.begins[None], pseudo)[0],
            transition=shares_with(self.pairs, pseudo),
            stop=shares_with(ends, pseudo)[:, 1],
            emission=shares_with(self.emitted.T, pseudo),
        )

    def __add__(self, other: ChainCounts) -> ChainCounts:
        """Add the counts of other sequences under the same model."""
        return ChainCounts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    @property
    def weight(self) -> float:
        """The sum of the weights of the sequences."""
        return float(self.begins.sum())

    def chain(self, initial: FloatArray, transition: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Compute the likeliest probabilities of first states (m,) and of next states (m, m)."""
        pairs = self.pairs.sum(axis=1, keepdims=True)
        return _shares(self.begins, self.begins.sum(), initial), _shares(self.pairs, pairs, transition)

    def merge(self, one: int, other: int) -> ChainCounts:
        """Count two states as one."""
        keep = np.delete(np.eye(self.begins.size), other, axis=1)  # (m, m - 1)
        keep[other] = keep[one]
        return replace(
            self,
            begins=self.begins @ keep,
            ends=self.ends @ keep,
            pairs=keep.T @ self.pairs @ keep,
            emitted=self.emitted @ keep,
        )

    def maximise(self, model: HiddenMarkov, prior: FloatArray | float = 0.0) -> HiddenMarkov:
        """Make the model under which these counts are likeliest: the M-step.

        prior: (n,) pseudo-counts of observations, which every state gets."""
        visits = self.emitted.sum(axis=0)
        emitted = self.emitted.T + prior
        initial, transition = self.chain(model.initial, model.transition)
        return HiddenMarkov(
            initial,
            transition,
            stop=_shares(self.ends, visits, model.stop),
            emission=_shares(emitted, emitted.sum(axis=1, keepdims=True), model.emission),
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
    emission: (n, m) the probability p(x | h), with a row for each observation x."""

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


@pass_part
def _multiply_row(rows: FloatArray, i: int, matrix: FloatArray, out: FloatArray, j: int) -> None:
    """Fill row j of `out` (n, m) with row i of `rows` (n, m) times a matrix (m, m)."""
    m = len(matrix)
    for k in range(m):
        out[j, k] = 0.0
    # Four rows of the matrix at a time, so that a sum is loaded and stored a quarter as often.
    whole = m - m % 4
    for h in range(0, whole, 4):
        for k in range(m):
            out[j, k] += (
                rows[i, h] * matrix[h, k]
                + rows[i, h + 1] * matrix[h + 1, k]
                + rows[i, h + 2] * matrix[h + 2, k]
                + rows[i, h + 3] * matrix[h + 3, k]
            )
    for h in range(whole, m):
        for k in range(m):
            out[j, k] += rows[i, h] * matrix[h, k]


@compiled_pass
def _pass_through(
    model: _Parameters,
    terminal: IntArray,
    start: IntArray,
    forward: FloatArray,
    ahead: FloatArray,
    behind: FloatArray,
    log: FloatArray,
) -> None:
    """Compute the vectors α, `ahead` and β (N, m) of all N positions, and the log-probabilities (T,) of sequences.

    The log-probability of an impossible sequence is -inf; its vectors mean nothing."""
    m = len(model.initial)
    for t in range(len(start) - 1):
        first, end = start[t], start[t + 1]
        log[t] = 0.0
        for i in range(first, end):
            # Predict the state: p(h_i | x_1 ... x_{i-1}).
            if i == first:
                for k in range(m):
                    forward[i, k] = model.initial[k]
            else:
                _multiply_row(forward, i - 1, model.step, forward, i)
            # Multiply by p(x_i | h_i), and divide by the sum, p(x_i | x_1 ... x_{i-1}).
            total = 0.0
            for k in range(m):
                forward[i, k] *= model.emission[terminal[i], k]
                total += forward[i, k]
            log[t] += math.log(total) if total >= TINY else -np.inf
            for k in range(m):
                forward[i, k] /= max(total, TINY)
        total = 0.0
        for k in range(m):
            total += forward[end - 1, k] * model.stop[k]
        log[t] += math.log(total) if total >= TINY else -np.inf
        for i in range(end - 1, first - 1, -1):
            if i == end - 1:
                for h in range(m):
                    behind[i, h] = model.stop[h]
            else:
                _multiply_row(ahead, i + 1, model.step_back, behind, i)
            # Compute the probability of this position and all after it, scaled so that the largest entry is one.
            largest = TINY
            for h in range(m):
                ahead[i, h] = model.emission[terminal[i], h] * behind[i, h]
                largest = max(largest, ahead[i, h])
            for h in range(m):
                ahead[i, h] /= largest


def _vectors_of(
    sequences: Sequences, model: _Parameters
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Compute α, `ahead` and β (N, m) and α·β (N,) of sequences in memory, and the logarithms (T,) of probabilities."""
    check_range("observations", sequences.terminal, 0, len(model.emission))
    forward, ahead, behind = np.empty((3, len(sequences.terminal), len(model.initial)))
    log = np.empty(sequences.n_sequences)
    _pass_through(model, sequences.terminal, sequences.start, forward, ahead, behind, log)
    total = np.einsum("nh,nh->n", forward, behind)
    is_possible = np.isfinite(log) & (np.minimum.reduceat(total, sequences.start[:-1]) >= TINY)
    return forward, ahead, behind, np.maximum(total, TINY), np.where(is_possible, log, -np.inf)


def _expected_of_shard(shard: Sequences | SequenceShard, model: HiddenMarkov) -> ChainCounts:
    """Compute the expected counts of a shard; they mean nothing if its log-likelihood is -inf."""
    parameters = _Parameters.of(model)
    parts = shard.sequences.parts(_POSITIONS)
    return reduce(ChainCounts.__add__, (_expected_of_part(part, parameters) for part in parts))


def _expected_of_part(sequences: Sequences, model: _Parameters) -> ChainCounts:
    """Compute the expected counts of sequences of N positions together."""
    n = len(sequences.terminal)
    forward, ahead, behind, total, log = _vectors_of(sequences, model)
    forward *= (sequences.weight[sequences.sequence] / total)[:, None]
    # All terms of a pair of states have a factor of `step`.
    before = np.flatnonzero(~sequences.is_last)
    pairs = (forward[before].T @ ahead[before + 1]) * model.step
    posterior = np.multiply(forward, behind, out=forward)
    ones = np.ones(n), sequences.terminal, np.arange(n + 1)  # a column for each position
    of_terminal = scipy.sparse.csc_array(ones, shape=(len(model.emission), n))
    first, last = sequences.start[:-1], sequences.start[1:] - 1
    begins, ends = posterior[first].sum(axis=0), posterior[last].sum(axis=0)
    log_likelihood = -np.inf if np.isneginf(log).any() else float(sequences.weight @ log)
    return ChainCounts(begins, ends, pairs, of_terminal @ posterior, log_likelihood)


def state_posteriors(
    sequences: Sequences, model: HiddenMarkov, allowed: BoolArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Compute p(h | sequence) (N, m) at every position, and the log-probabilities (T,) of the sequences.

    The posteriors of a sequence with probability zero are uniform, and its logarithm is -inf.

    allowed: (N, m) whether each position may have each state; None if nothing is known."""
    posteriors = np.full((len(sequences.terminal), model.n_states), 1.0 / model.n_states)
    logs = [np.empty(0)]
    first = 0
    for part in sequences.parts(_POSITIONS):
        here = slice(first, first + len(part.terminal))
        own = model
        if allowed is not None:
            # Every position emits its own number.
            own = replace(model, emission=model.emission[:, part.terminal]).among(allowed[here])
            part = replace(part, terminal=np.arange(len(part.terminal)))
        forward, _, behind, total, log = _vectors_of(part, _Parameters.of(own))
        is_possible = np.isfinite(log)[part.sequence]
        np.divide(forward * behind, total[:, None], out=posteriors[here], where=is_possible[:, None])
        logs.append(log)
        first = here.stop
    return posteriors, np.concatenate(logs)


def chain_sums(
    factors: FloatArray, start: IntArray, initial: BoolArray, step: FloatArray, stop: BoolArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Compute γ (N, m), Σ ξ (m, m) and the logarithms of the sums over all paths (T,) of chains of factors.

    factors: (N, m) the factor of each state at each position, in place of p(x | h); at least 0.
    start: (T + 1,) the first position of each chain, and N.
    initial, stop: (m,) whether a chain may begin or end with each state.
    step: (m, m) the factor of each pair of neighbouring states."""
    ends = initial.astype(np.float64), np.ascontiguousarray(step), np.ascontiguousarray(step.T), stop.astype(np.float64)
    terminal = np.arange(len(factors))
    sequences = Sequences(terminal, np.zeros_like(terminal), start, np.ones(len(start) - 1))
    forward, ahead, behind, total, log = _vectors_of(sequences, _Parameters(*ends, factors))
    forward /= total[:, None]
    before = np.flatnonzero(~sequences.is_last)
    return forward * behind, (forward[before].T @ ahead[before + 1]) * step, log


def expectation(shards: Iterable[Sequences | SequenceShard], model: HiddenMarkov, jobs: int | None = 1) -> ChainCounts:
    """Compute the expected counts of all shards: the E-step."""
    counts = reduce(ChainCounts.__add__, parallel_map(_expected_of_shard, shards, jobs, model))
    if np.isneginf(counts.log_likelihood):
        log = np.concatenate([state_posteriors(shard.sequences, model)[1] for shard in shards])
        number = int(np.argmin(log)) + 1
        raise EstimationError(f"sequence {number} has probability zero under the model that Baum-Welch starts from")
    return counts


@dataclass(frozen=True)
class ChainLearner:
    """The steps of EM on sequences without tags (`estimation.Learner`).

    shards: the sequences, in one part or several; iterated several times.
    prior: (n,) pseudo-counts of observations in every state, so that rare ones are not learnt by heart; EM then finds
    the likeliest model under a Dirichlet prior.  None for none.
    positions: what is known of positions whose terminals are no observations; None if there are none.
    ends: whether to learn where sequences end; if not, the probabilities of ends stay those of the start."""

    shards: Iterable[Sequences | SequenceShard]
    prior: FloatArray | None = None
    positions: OpenPositions | None = None
    ends: bool = True
    jobs: int | None = 1

    def expect(self, model: HiddenMarkov) -> tuple[ChainCounts, float]:
        """Compute the expected counts, and the log-likelihood plus the logarithm of the prior."""
        if self.positions is None:
            counts = expectation(self.shards, model, self.jobs)
        else:
            counts = expectation(self.shards, self.positions.extend(model), self.jobs)
            counts = replace(counts, emitted=self.positions.fold(counts.emitted))
        return counts, counts.log_likelihood + _log_prior(model, self.prior)

    def maximise(self, counts: ChainCounts, model: HiddenMarkov) -> HiddenMarkov:
        """Make the model under which expected counts are likeliest."""
        found = counts.maximise(model, 0.0 if self.prior is None else self.prior)
        return found if self.ends else replace(found, stop=model.stop)

    def beyond(self, before: HiddenMarkov, after: HiddenMarkov, stride: float) -> HiddenMarkov:
        """Take the step of EM from one model to the next `stride` times as far."""
        return before.beyond(after, stride)


def baum_welch(
    shards: Iterable[Sequences | SequenceShard],
    start: HiddenMarkov,
    options: EM,
    *,
    prior: FloatArray | None = None,
    jobs: int | None = 1,
    listener: Listener = silent,
) -> tuple[HiddenMarkov, tuple[float, ...]]:
    """Train a hidden Markov model by EM from one given start, in the steps of EM itself.

    Returns the final model, and the objective at the start and after each iteration: the log-likelihood of the
    sequences, plus the logarithm of the prior.

    Probabilities that are zero at the start stay zero, and emissions of observations that do not occur become zero.

    shards: sequences without tags, in one part or several; iterated several times.
    options: the settings; `iterations` and `tolerance` decide when EM stops.
    prior: (n,) pseudo-counts of observations in every state; see `ChainLearner`.

    Raises EstimationError if a sequence has probability zero, and ValueError for an observation that the model lacks.

    >>> from spectral_latent.estimation import EM
    >>> start = HiddenMarkov(np.ones(1), np.ones((1, 1)), np.array([0.5]), np.array([[0.5, 0.5]]))
    >>> found, log_likelihood = baum_welch([Sequences.of([[0, 0, 1]])], start, EM(iterations=9))
    >>> found.emission.round(3), found.stop.round(3), round(log_likelihood[-1], 3)
    (array([[0.667, 0.333]]), array([0.333]), -3.819)
    """
    ascent = Ascent(ChainLearner(shards, prior, jobs=jobs), start)
    ascent.climb_to_end(options.iterations, options.tolerance * ascent.statistics.weight, listener)
    return ascent.model, tuple(ascent.objective)


def supported_states(sequences: Sequences, model: HiddenMarkov, least: float) -> int:
    """Count the states of a model, less those without which sequences are as likely, but for `least` nats.

    Pairs of states are counted as one state as long as that loses nothing; the most similar pairs are tried."""
    while model.n_states > 1:
        counts = expectation([sequences], model)
        pairs = combinations(range(model.n_states), 2)
        emission = model.emission
        for one, other in sorted(pairs, key=lambda pair: np.abs(emission[pair[0]] - emission[pair[1]]).sum())[:_PAIRS]:
            merged = counts.merge(one, other).maximise(model.without(other))
            merged = replace(merged, stop=np.delete(model.stop, other))
            if expectation([sequences], merged).log_likelihood >= counts.log_likelihood - least:
                model = merged
                break
        else:
            break
    return model.n_states


def _log_prior(model: HiddenMarkov, prior: FloatArray | None) -> float:
    """Compute the logarithm of a Dirichlet prior of emissions, up to a constant."""
    if prior is None:
        return 0.0
    is_possible = prior > 0.0
    return float((np.log(np.maximum(model.emission[:, is_possible], TINY)) @ prior[is_possible]).sum())
