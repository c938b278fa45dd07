"""Hidden Markov models as operators over right-branching trees, and Baum-Welch as the EM of the core.

| here | shape | meaning |
| --- | --- | --- |
| `initial` π | (m,) | p(h_1) |
| `transition` T | (m, m) | p(h_{i+1} = k \\| h_i = h, the sequence goes on) |
| `stop` | (m,) | p(the sequence ends \\| h_i) |
| `emission` O | (m, n) | p(x \\| h) |
| C = Σ_h (1 - stop_h) e_h ⊗ e_h ⊗ T_h | (m, m, m) | the spine's rule, kept in m factors |

In every term of C the state of the emission is that of the spine.  With x the vector of a leaf,
C(x, ·) = diag((1 - stop) ∘ O_x) T is the observable operator of Hsu, Kakade and Zhang (2012).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from spectral_latent.estimation import (
    EstimatorOptions,
    Listener,
    SkeletalShard,
    TreebankCounts,
    run_em,
    silent,
    state_counts,
)
from spectral_latent.operators import ObservableOperators, RuleTable, Tensor, Tensors
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.trees import FloatArray, IntArray, Rules, SkeletalTrees

__all__ = ["HiddenMarkov", "UntaggedShard", "baum_welch", "position_counts"]


def untagged_rules(n_symbols: int) -> Rules:
    """List the rules of untagged sequences of n symbols: symbol 0 emits, symbol 1 is the spine."""
    leaf = np.stack([np.zeros(n_symbols, dtype=np.int64), np.arange(n_symbols)], axis=1)
    return Rules(leaf, np.array([[1, 0]]), np.array([[1, 0, 1]]))


def position_counts(sequences: Sequences, state: IntArray, n_symbols: int, n_states: int) -> RuleTable:
    """Count the rules of untagged sequences where each position has a state, which is that of its emission too.

    state: (N,) one of 0 ... n_states - 1 for each position.
    """
    node_state = np.empty(2 * len(state), dtype=np.int64)
    node_state[sequences.emission] = state
    node_state[sequences.spine] = state
    states = np.array([n_states, n_states])
    return state_counts(sequences.trees(n_tags=1), untagged_rules(n_symbols), states, node_state)


@dataclass(frozen=True, eq=False)
class HiddenMarkov:
    """π, T, the probability of stopping, and O, in the notation of this module.

    >>> coin = HiddenMarkov(np.array([1.0]), np.array([[1.0]]), np.array([0.5]), np.array([[0.25, 0.75]]))
    >>> coin.operators().binary[0].multiplied_out()
    array([[[0.5]]])
    """

    initial: FloatArray
    transition: FloatArray
    stop: FloatArray
    emission: FloatArray

    @property
    def n_states(self) -> int:
        """m."""
        return len(self.initial)

    def operators(self) -> ObservableOperators:
        """Probabilities over the s-trees of untagged sequences: symbol 0 emits, symbol 1 is the spine."""
        m, n = self.emission.shape
        rules = untagged_rules(n)
        same = np.eye(m)
        return ObservableOperators(
            rules,
            states=np.array([m, m]),
            root=np.stack([np.zeros(m), self.initial]),
            leaf=np.ascontiguousarray(self.emission.T),
            unary=np.diag(self.stop)[None],
            binary=Tensors.of([Tensor((1.0 - self.stop)[:, None] * same, same, self.transition)]),
            probabilities=True,
        )

    def with_states_as_tags(self) -> ObservableOperators:
        """The same model over tagged sequences, the tags of which are the states: every symbol then has one state."""
        m, n = self.emission.shape
        states, before, after = np.arange(m), *np.divmod(np.arange(m * m), m)
        leaf_state, terminal = np.divmod(np.arange(m * n), n)
        rules = Rules(
            np.stack([leaf_state, terminal], axis=1),
            np.stack([m + states, states], axis=1),
            np.stack([m + before, before, m + after], axis=1),
        )
        return ObservableOperators(
            rules,
            states=np.ones(2 * m, dtype=np.int64),
            root=np.concatenate([np.zeros(m), self.initial])[:, None],
            leaf=self.emission.reshape(-1, 1),
            unary=self.stop[:, None, None],
            binary=Tensors.scalars(((1.0 - self.stop)[:, None] * self.transition).ravel()),
            probabilities=True,
        )

    @staticmethod
    def of_operators(operators: ObservableOperators) -> HiddenMarkov:
        """The inverse of `operators`."""
        (spine,), (stop,) = operators.binary, operators.unary
        ends = np.diagonal(stop).copy()
        going_on = np.einsum("hhk->hk", spine.multiplied_out())
        total = going_on.sum(axis=1, keepdims=True)
        uniform = np.full_like(going_on, 1.0 / len(ends))
        return HiddenMarkov(
            operators.root[1], np.divide(going_on, total, out=uniform, where=total > 0), ends, operators.leaf.T
        )

    @staticmethod
    def of_counts(counts: RuleTable, pseudo: float = 0.0) -> HiddenMarkov:
        """Compute relative frequencies from counts of rules with states.

        counts: of the s-trees of untagged sequences, where an emission has the state of its position.
        pseudo: added to every count, so that where EM starts nothing is impossible.
        """

        def shares(table: FloatArray) -> FloatArray:
            """Divide each row (n, k) by its sum; a row of zeros becomes uniform."""
            total = table.sum(axis=1, keepdims=True) + pseudo * table.shape[1]
            uniform = np.full_like(table, 1.0 / table.shape[1])
            return np.asarray(np.divide(table + pseudo, total, out=uniform, where=total > 0))

        (spine,) = counts.binary
        (last,) = counts.unary
        pairs = spine.multiplied_out().sum(axis=1)
        ends = np.stack([pairs.sum(axis=1), last.sum(axis=1)], axis=1)
        return HiddenMarkov(
            initial=shares(counts.root[1:])[0],
            transition=shares(pairs),
            stop=shares(ends)[:, 1],
            emission=shares(counts.leaf.T),
        )

    @staticmethod
    def of_states(sequences: Sequences, state: IntArray, n_symbols: int, pseudo: float = 0.0) -> HiddenMarkov:
        """Compute relative frequencies where the state (N,) of every position is known; see `of_counts`."""
        return HiddenMarkov.of_counts(position_counts(sequences, state, n_symbols, int(state.max()) + 1), pseudo)

    @staticmethod
    def random(observed: TreebankCounts, n_states: int, n_symbols: int, seed: int) -> HiddenMarkov:
        """Draw where Baum-Welch starts: uniform, but for noise of one half; emissions and stops like those of the data.

        observed: how often the rules of the s-trees of untagged sequences occur.
        """
        rng = np.random.default_rng(seed)

        def rows(mean: FloatArray) -> FloatArray:
            noisy = mean * rng.uniform(0.5, 1.5, (n_states, len(mean)))
            return np.asarray(noisy / noisy.sum(axis=1, keepdims=True))

        uniform = np.full(n_states, 1.0 / n_states)
        emitted = np.zeros(n_symbols)
        emitted[observed.rules.leaf[:, 1]] = observed.leaf[:, 0]
        ends = observed.n_trees / emitted.sum()
        return HiddenMarkov(
            initial=rows(uniform)[0],
            transition=rows(uniform),
            stop=rows(np.array([ends, 1.0 - ends]))[:, 0],
            emission=rows(emitted / emitted.sum()),
        )


class UntaggedShard(NamedTuple):
    """Untagged sequences as the shard of a treebank, without features."""

    sequences: Sequences

    @property
    def trees(self) -> SkeletalTrees:
        """The s-trees."""
        return self.sequences.trees(n_tags=1)


def baum_welch(
    shards: Iterable[SkeletalShard],
    start: HiddenMarkov,
    options: EstimatorOptions,
    *,
    jobs: int | None = 1,
    listener: Listener = silent,
) -> tuple[HiddenMarkov, float]:
    """Climb by EM to a hidden Markov model, and give the log-likelihood of the sequences under it; see `run_em`.

    Emissions of symbols that do not occur become zero.

    shards: the s-trees of untagged sequences.
    """
    found = run_em(shards, start.operators(), options, jobs=jobs, listener=listener)
    return HiddenMarkov.of_operators(found.operators), found.log_likelihood[-1]
