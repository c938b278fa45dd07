"""Hidden Markov models the plain way: enumeration of paths, textbook recursions, Baum-Welch by the book.

A model is the record `HiddenMarkov`, of which only the four arrays are used here: after each observation the sequence
ends with probability stop_h, or goes on with T_h.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from spectral_latent.operators import ObservableOperators, Tensor
from spectral_latent.sequence import HiddenMarkov
from spectral_latent.trees import Rules

String = Sequence[int]


def random_hmm(
    rng: np.random.Generator, m: int, n: int, *, stop: tuple[float, float] = (0.1, 0.6), concentration: float = 1.0
) -> HiddenMarkov:
    """Rows from Dirichlet distributions, and probabilities of stopping between two bounds."""
    initial, transition, emission = (
        rng.dirichlet(np.full(size, concentration), rows) for rows, size in ((1, m), (m, m), (m, n))
    )
    return HiddenMarkov(initial[0], transition, rng.uniform(*stop, m), emission)


def draw_strings(model: HiddenMarkov, n: int, rng: np.random.Generator) -> list[list[int]]:
    """n strings, all grown at once."""

    def drawn(rows: np.ndarray) -> np.ndarray:
        ends = np.cumsum(rows, axis=1)
        return np.minimum((rng.random((len(rows), 1)) * ends[:, -1:] >= ends).sum(axis=1), rows.shape[1] - 1)

    strings: list[list[int]] = [[] for _ in range(n)]
    which, h = np.arange(n), drawn(np.tile(model.initial, (n, 1)))
    while len(which):
        for s, x in zip(which.tolist(), drawn(model.emission[h]).tolist(), strict=True):
            strings[s].append(x)
        goes_on = rng.random(len(which)) >= model.stop[h]
        which, h = which[goes_on], h[goes_on]
        h = drawn(model.transition[h]) if len(h) else h
    return strings


def all_strings(n_symbols: int, longest: int) -> Iterator[tuple[int, ...]]:
    """Every string of 1 ... longest observations."""
    for length in range(1, longest + 1):
        yield from itertools.product(range(n_symbols), repeat=length)


def paths(model: HiddenMarkov, x: String) -> dict[tuple[int, ...], float]:
    """p(x, h_1 ... h_n) of every path, factor by factor."""
    found = {}
    for h in itertools.product(range(model.n_states), repeat=len(x)):
        p = model.initial[h[0]] * model.stop[h[-1]]
        for state, symbol in zip(h, x, strict=True):
            p *= model.emission[state, symbol]
        for before, after in itertools.pairwise(h):
            p *= (1.0 - model.stop[before]) * model.transition[before, after]
        found[h] = float(p)
    return found


class Posterior(NamedTuple):
    """log p(x); gamma: (n, m) p(h_i | x)."""

    log: float
    gamma: np.ndarray


def forward_backward(model: HiddenMarkov, x: String) -> Posterior:
    """Rabiner's (1989) recursions, scaled."""
    n, m = len(x), model.n_states
    step = (1.0 - model.stop)[:, None] * model.transition
    alpha, beta, scale = np.zeros((n, m)), np.zeros((n, m)), np.zeros(n)
    for i in range(n):
        alpha[i] = (model.initial if i == 0 else alpha[i - 1] @ step) * model.emission[:, x[i]]
        scale[i] = alpha[i].sum()
        alpha[i] /= scale[i]
    beta[-1] = model.stop
    for i in reversed(range(n - 1)):
        beta[i] = step @ (model.emission[:, x[i + 1]] * beta[i + 1]) / scale[i + 1]
    end = alpha[-1] @ beta[-1]
    return Posterior(float(np.log(scale).sum() + np.log(end)), alpha * beta / end)


def begins(model: HiddenMarkov, x: String) -> float:
    """The probability that a string begins with x."""
    row = model.initial
    for number, symbol in enumerate(x):
        row = row if number == 0 else (row * (1.0 - model.stop)) @ model.transition
        row = row * model.emission[:, symbol]
    return float(row.sum())


# Tags that have states


class TaggedModel(NamedTuple):
    """K tags of m states each; numbers need not be probabilities.

    initial: (K, m).  step[t, u]: (m, m, m) of spine, emission and next spine, or None.  last: (K, m, m) of spine and
    emission.  emission: (K, n, m); known: (K, n) whether there is such a rule.
    """

    initial: np.ndarray
    step: dict[tuple[int, int], np.ndarray]
    last: np.ndarray
    emission: np.ndarray
    known: np.ndarray

    def operators(self, *, probabilities: bool = False) -> ObservableOperators:
        """As the library keeps it."""
        k, m = self.initial.shape
        leaf = np.argwhere(self.known)
        pairs = sorted(self.step)
        rules = Rules(
            leaf,
            np.stack([k + np.arange(k), np.arange(k)], axis=1),
            np.array([(k + t, t, k + u) for t, u in pairs], dtype=np.int64).reshape(-1, 3),
        )
        return ObservableOperators(
            rules,
            np.full(2 * k, m),
            np.concatenate([np.zeros((k, m)), self.initial]),
            self.emission[leaf[:, 0], leaf[:, 1]],
            self.last,
            [Tensor.of_dense(self.step[pair]) for pair in pairs],
            probabilities=probabilities,
        )

    def weight(self, x: String, tags: String) -> float:
        """p(x, tags), from the last position to the first."""
        n = len(x)
        if not all(self.known[t, symbol] for t, symbol in zip(tags, x, strict=True)):
            return 0.0
        f = self.last[tags[-1]] @ self.emission[tags[-1], x[-1]]
        for i in reversed(range(n - 1)):
            tensor = self.step.get((tags[i], tags[i + 1]))
            if tensor is None:
                return 0.0
            f = np.einsum("abc,b,c->a", tensor, self.emission[tags[i], x[i]], f)
        return float(self.initial[tags[0]] @ f)

    def paths(self, x: String) -> dict[tuple[int, ...], float]:
        """p(x, tags) of every sequence of tags."""
        return {tags: self.weight(x, tags) for tags in itertools.product(range(len(self.initial)), repeat=len(x))}


def random_tagged(
    rng: np.random.Generator, k: int, m: int, n: int, *, proper: bool = True, missing: float = 0.0
) -> TaggedModel:
    """A random model; proper ones are probabilities, others numbers of either sign.

    missing: the share of pairs of tags, and of emissions, that have no rule; each tag keeps some.
    """
    numbers = rng.exponential if proper else rng.normal
    initial, last, emission = numbers(size=(k, m)), numbers(size=(k, m, m)), numbers(size=(k, n, m))
    step = {pair: numbers(size=(m, m, m)) for pair in itertools.product(range(k), repeat=2)}
    step = {(t, u): array for (t, u), array in step.items() if t == u or rng.random() >= missing}
    known = rng.random((k, n)) >= missing
    known[np.arange(n) % k, np.arange(n)] = known[np.arange(k), np.arange(k) % n] = True
    emission = emission * known[:, :, None]
    if proper:
        initial = initial / initial.sum()
        emission = emission / emission.sum(axis=1, keepdims=True)
        total = last.sum(axis=2) * 2.0  # sequences are short
        last = last * 2.0
        for (t, _), array in step.items():
            total[t] += array.sum(axis=(1, 2))
        last = last / total[:, :, None]
        step = {(t, u): array / total[t][:, None, None] for (t, u), array in step.items()}
    return TaggedModel(initial, step, last, emission, known)


def tag_marginals(weights: dict[tuple[int, ...], float], k: int) -> np.ndarray:
    """(n, K) from the weights of all paths; of total one."""
    n = len(next(iter(weights)))
    found = np.zeros((n, k))
    for tags, p in weights.items():
        found[range(n), tags] += p
    return found / sum(weights.values())


def pair_marginals(weights: dict[tuple[int, ...], float]) -> dict[tuple[int, int, int], float]:
    """Of (i, tag at i, tag at i + 1), of total one at each i."""
    found: dict[tuple[int, int, int], float] = defaultdict(float)
    total = sum(weights.values())
    for tags, p in weights.items():
        for i, pair in enumerate(itertools.pairwise(tags)):
            found[i, *pair] += p / total
    return found
