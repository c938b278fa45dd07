"""Train probabilistic automata by EM: the automata whose numbers are probabilities.

| here | shape | meaning |
| --- | --- | --- |
| `initial` α | (m,) | p(h_0) |
| `step` A | (n, m, m) | p(x, h' \\| h): the next symbol and the next state, and not the end |
| `final` β | (m,) | p(the end \\| h) |
| `forward` | (m,) | p(h_i \\| x_1 ... x_i) |
| `behind` | (m,) | Σ p(x_(i+1) ... x_k and the end \\| h_i) / p(x_1 ... x_k) over strings with this beginning |

Each row of β and the matrices A sums to one.  A hidden Markov model is the special case in which the symbol depends on
one of the states alone.  Strings share the vectors of their common beginnings, and all prefixes of one length with the
same last symbol are computed by one product of matrices.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from spectral_latent.automata.hankel import Factorisation
from spectral_latent.estimation.starts import beyond, climb_together
from spectral_latent.trees import FloatArray, IntArray

_SMALL = 1e-37  # a smaller probability of a string after its beginning counts as this one, which is a float32
_ZERO = 1e-20  # a smaller probability of a step becomes zero: single precision has no inverse of the smallest numbers
_PLACES = 1 << 17  # the number of symbols, about, whose prefixes are in memory together
_TOLERANCE = 1e-6  # EM ends when the mean log-likelihood of a string rises by less
_END_SHARE = 0.1  # of the end, among the probabilities that smoothing adds


class _Trie(NamedTuple):
    """The K different prefixes of some strings; the empty prefix is number 0, and all others follow by length.

    parent: (K,) the prefix without its last symbol.
    groups: the last symbol, the first prefix and the end of each group of prefixes of one length and last symbol; the
        parents of a group are all different.
    node: (T,) the number of each string, which is a prefix of itself.
    weight: (T,) the number of times that each string occurs."""

    parent: IntArray
    groups: list[tuple[int, int, int]]
    node: IntArray
    weight: FloatArray

    @staticmethod
    def of(rows: Sequence[tuple[int, ...]], weight: FloatArray) -> _Trie:
        """Number the prefixes of T different strings; weight: (T,)."""
        length = np.array([len(row) for row in rows])
        width = int(length.max(initial=0))
        node = np.zeros(len(rows), dtype=np.int64)
        parents = [np.zeros(1, dtype=np.int64)]
        groups: list[tuple[int, int, int]] = []
        first = 1
        alive = np.arange(len(rows))
        for depth in range(width):
            alive = alive[length[alive] > depth]
            last = np.array([rows[t][depth] for t in alive.tolist()])
            # Prefixes of a length are sorted by their last symbol, and then by their parents.
            keys, number = np.unique(np.stack([last, node[alive]]), axis=1, return_inverse=True)
            node[alive] = first + number.ravel()
            parents.append(keys[1])
            symbols, begins = np.unique(keys[0], return_index=True)
            ends = np.append(begins[1:], keys.shape[1])
            groups += zip(symbols.tolist(), (first + begins).tolist(), (first + ends).tolist(), strict=True)
            first += keys.shape[1]
        return _Trie(np.concatenate(parents), groups, node, weight)

    def forward(self, automaton: Factorisation) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Compute p(h | prefix) (K, m), the sums divided away (K,), and the log-probability of each string (T,)."""
        initial, step, final = automaton
        forward = np.empty((len(self.parent), len(initial)), dtype=initial.dtype)
        scale = np.ones(len(self.parent), dtype=initial.dtype)
        forward[0] = initial
        for x, a, b in self.groups:
            rows = forward[self.parent[a:b]] @ step[x]
            scale[a:b] = np.maximum(rows.sum(axis=1), _SMALL)
            forward[a:b] = rows / scale[a:b, None]
        log = np.log(scale, dtype=np.float64)
        for _, a, b in self.groups:
            log[a:b] += log[self.parent[a:b]]
        ending = np.maximum(forward[self.node] @ final, _SMALL)
        return forward, scale, log[self.node] + np.log(ending, dtype=np.float64)

    def expect(self, automaton: Factorisation, counts: Factorisation) -> float:
        """Add expected counts, each divided by the number that it counts, and return the log-likelihood."""
        _, step, final = automaton
        forward, scale, log = self.forward(automaton)
        # The vector `behind` of a prefix sums over all strings that begin with it, each divided by its probability.
        behind = np.zeros_like(forward)
        share = (self.weight / np.maximum(forward[self.node] @ final, _SMALL)).astype(forward.dtype)
        behind[self.node] = share[:, None] * final
        counts.final[:] += share @ forward[self.node]
        for x, a, b in reversed(self.groups):
            parent = self.parent[a:b]
            after = behind[a:b] / scale[a:b, None]
            counts.step[x] += forward[parent].T @ after
            behind[parent] += after @ step[x].T
        counts.initial[:] += behind[0]
        return float(self.weight @ log)


class Strings(NamedTuple):
    """T different strings, some of which may be empty.

    parts: the prefixes of the strings, in parts that fit in memory.
    weight: the number of strings, with those that are the same.
    n_places: the number of prefixes of all parts, by which the time of an iteration grows."""

    parts: list[_Trie]
    weight: float
    n_places: int

    @staticmethod
    def of(rows: Sequence[tuple[int, ...]]) -> Strings:
        """Count strings."""
        counts = Counter(rows)
        distinct = sorted(counts)  # strings with the same beginning stand together
        ends = np.cumsum([len(row) + 1 for row in distinct])
        part = ends // _PLACES
        parts = []
        for number in np.unique(part):
            chosen = [distinct[t] for t in np.flatnonzero(part == number).tolist()]
            parts.append(_Trie.of(chosen, np.array([counts[row] for row in chosen], dtype=float)))
        return Strings(parts, float(len(rows)), sum(len(trie.parent) for trie in parts))

    def frequencies(self, n_symbols: int) -> FloatArray:
        """Count each symbol (n,) in all strings."""
        found = np.zeros(n_symbols)
        for trie in self.parts:
            times = np.bincount(trie.node, trie.weight, minlength=len(trie.parent))
            for x, a, b in reversed(trie.groups):
                found[x] += times[a:b].sum()
                times[trie.parent[a:b]] += times[a:b]
        return found


def log_likelihood(strings: Strings, automaton: Factorisation) -> float:
    """Compute the log-likelihood of strings."""
    return float(sum(trie.weight @ trie.forward(automaton)[2] for trie in strings.parts))


def _normalise(counts: Factorisation, otherwise: Factorisation, is_markov: bool = False) -> Factorisation:
    """Divide numbers by their sums; a state without any keeps those of another automaton.

    Of a hidden Markov model, the next symbol and the next state are independent given the state before."""
    if is_markov:
        symbols, states = counts.step.sum(axis=2), counts.step.sum(axis=0)
        steps = symbols[:, :, None] * (states / np.maximum(states.sum(axis=1, keepdims=True), _SMALL))
        counts = counts._replace(step=steps)
    total = counts.step.sum(axis=(0, 2)) + counts.final
    is_used = total > 0.0
    total[~is_used] = 1.0
    step = np.where(is_used[:, None], counts.step / total[:, None], otherwise.step)
    step[step < _ZERO] = 0.0
    return Factorisation(
        counts.initial / counts.initial.sum(), step, np.where(is_used, counts.final / total, otherwise.final)
    )


class AutomatonLearner(NamedTuple):
    """The steps of EM on strings (`estimation.starts.Learner`).

    is_markov: whether the automaton is a hidden Markov model, and remains one."""

    strings: Strings
    is_markov: bool = False

    def expect(self, automaton: Factorisation) -> tuple[Factorisation, float]:
        """Compute expected counts, and the log-likelihood of the strings."""
        counts = Factorisation(*map(np.zeros_like, automaton))
        likelihood = sum(trie.expect(automaton, counts) for trie in self.strings.parts)
        return Factorisation(*(c * number for c, number in zip(counts, automaton, strict=True))), likelihood

    def maximise(self, counts: Factorisation, automaton: Factorisation) -> Factorisation:
        """Make the automaton under which expected counts are likeliest."""
        return _normalise(counts, automaton, self.is_markov)

    def beyond(self, before: Factorisation, after: Factorisation, stride: float) -> Factorisation:
        """Take the step of EM from one automaton to the next `stride` times as far."""
        pairs = zip(before.of_precision(np.float64), after.of_precision(np.float64), strict=True)
        moved = Factorisation(*(beyond(one, other, stride) for one, other in pairs))
        return _normalise(moved, after).of_precision(after.step.dtype.type)


def climb(
    strings: Strings,
    starts: Iterable[Factorisation],
    iterations: int,
    held_out: Strings | None = None,
    *,
    is_markov: bool = False,
) -> tuple[Factorisation, tuple[float, ...]]:
    """Train a probabilistic automaton by EM from several starts together, as `estimation.starts` does.

    Held-out strings judge the automata, smoothed: a start ends when they become less likely.

    Returns the best automaton, and the log-likelihood of the held-out strings that each start reached; of the strings
    themselves if none are held out."""

    def judge(automaton: Factorisation) -> float:
        """Compute the log-likelihood of the held-out strings."""
        return log_likelihood(held_out, smooth(automaton))  # type: ignore[arg-type]

    learner = AutomatonLearner(strings, is_markov)
    least = _TOLERANCE * strings.weight
    best, _, reached = climb_together(learner, starts, iterations, least, judge=None if held_out is None else judge)
    return best, reached


def smooth(automaton: Factorisation, share: float = 1e-3) -> Factorisation:
    """Give a share of the probability of each state to all symbols, next states and the end."""
    n, m, _ = automaton.step.shape
    return Factorisation(
        (1.0 - share) * automaton.initial + share / m,
        (1.0 - share) * automaton.step + share * (1.0 - _END_SHARE) / (n * m),
        (1.0 - share) * automaton.final + share * _END_SHARE,
    )


def draw_automaton(
    strings: Strings, n_symbols: int, n_states: int, seed: int, *, is_markov: bool = False
) -> Factorisation:
    """Draw a probabilistic automaton from which EM starts: near the frequencies of symbols and of ends."""
    rng = np.random.default_rng(seed)
    frequency = strings.frequencies(n_symbols)
    end = strings.weight / (strings.weight + frequency.sum())
    emission = frequency / frequency.sum() * rng.gamma(1.0, size=(n_states, n_symbols))
    emission *= (1.0 - end) / emission.sum(axis=1, keepdims=True)
    following = rng.dirichlet(np.ones(n_states), size=(1 if is_markov else n_symbols, n_states))
    return Factorisation(rng.dirichlet(np.ones(n_states)), emission.T[:, :, None] * following, np.full(n_states, end))
