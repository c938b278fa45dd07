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

from dataclasses import dataclass

import numpy as np

from spectral_latent.estimation import EstimatorOptions, Listener, climb, silent
from spectral_latent.operators import ObservableOperators, Tensor
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.trees import FloatArray, IntArray, Rules

__all__ = ["HiddenMarkov", "baum_welch"]


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
        leaf = np.stack([np.zeros(n, dtype=np.int64), np.arange(n)], axis=1)
        rules = Rules(leaf, np.array([[1, 0]]), np.array([[1, 0, 1]]))
        same = np.eye(m)
        return ObservableOperators(
            rules,
            states=np.array([m, m]),
            root=np.stack([np.zeros(m), self.initial]),
            leaf=np.ascontiguousarray(self.emission.T),
            unary=np.diag(self.stop)[None],
            binary=[Tensor((1.0 - self.stop)[:, None] * same, same, self.transition)],
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
        one = np.ones((1, 1))
        return ObservableOperators(
            rules,
            states=np.ones(2 * m, dtype=np.int64),
            root=np.concatenate([np.zeros(m), self.initial])[:, None],
            leaf=self.emission.reshape(-1, 1),
            unary=self.stop[:, None, None],
            binary=[Tensor(p * one, one, one) for p in ((1.0 - self.stop)[:, None] * self.transition).ravel()],
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
    def of_states(sequences: Sequences, state: IntArray, n_symbols: int, pseudo: float = 0.0) -> HiddenMarkov:
        """Relative frequencies where the state (N,) of every position is known.

        pseudo: added to every count, so that where EM starts nothing is impossible.
        """
        m = int(state.max()) + 1
        following = sequences.shifted(state, 1)
        pairs, last = ~sequences.is_last, sequences.is_last

        def table(rows: IntArray, columns: IntArray, shape: tuple[int, int]) -> FloatArray:
            counts = np.full(shape, pseudo)
            np.add.at(counts, (rows, columns), 1.0)
            total = counts.sum(axis=1, keepdims=True)
            shares: FloatArray = np.divide(counts, total, out=np.full(shape, 1.0 / shape[1]), where=total > 0)
            return shares

        first = state[sequences.start[:-1]]
        return HiddenMarkov(
            initial=table(np.zeros_like(first), first, (1, m))[0],
            transition=table(state[pairs], following[pairs], (m, m)),
            stop=table(state, last.astype(np.int64), (m, 2))[:, 1],
            emission=table(state, sequences.terminal, (m, n_symbols)),
        )

    @staticmethod
    def random(sequences: Sequences, n_states: int, n_symbols: int, seed: int) -> HiddenMarkov:
        """Where Baum-Welch starts: uniform, but for noise of one half; emissions and stops like those of the data."""
        rng = np.random.default_rng(seed)

        def rows(mean: FloatArray) -> FloatArray:
            noisy = mean * rng.uniform(0.5, 1.5, (n_states, len(mean)))
            return np.asarray(noisy / noisy.sum(axis=1, keepdims=True))

        uniform = np.full(n_states, 1.0 / n_states)
        ends = sequences.n_sequences / len(sequences.terminal)
        return HiddenMarkov(
            initial=rows(uniform)[0],
            transition=rows(uniform),
            stop=rows(np.array([ends, 1.0 - ends]))[:, 0],
            emission=rows(np.bincount(sequences.terminal, minlength=n_symbols) / len(sequences.terminal)),
        )


def baum_welch(
    sequences: Sequences, start: HiddenMarkov, options: EstimatorOptions, listener: Listener = silent
) -> tuple[HiddenMarkov, float]:
    """The hidden Markov model where EM ends, and the log-likelihood of the sequences; see `climb`.

    Emissions of symbols that do not occur become zero.
    """
    trees = sequences.trees(n_tags=1)
    found = climb(trees, start.operators(), options, listener)
    return HiddenMarkov.of_operators(found.operators), found.counts.log_likelihood
