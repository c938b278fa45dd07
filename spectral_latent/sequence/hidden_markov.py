"""Write hidden Markov models as operators over right-branching trees.

| here | shape | meaning |
| --- | --- | --- |
| `initial` π | (m,) | p(h_1) |
| `transition` T | (m, m) | p(h_{i+1} = k \\| h_i = h, the sequence goes on) |
| `stop` | (m,) | p(the sequence ends \\| h_i) |
| `emission` O | (m, n) | p(x \\| h) |
| C = Σ_h (1 - stop_h) e_h ⊗ e_h ⊗ T_h | (m, m, m) | the rule of the spine, kept as m terms |

Each term of C gives the emission the state of its spine.  With x the vector of a leaf,
C(x, ·) = diag((1 - stop) ∘ O_x) T is the observable operator of Hsu, Kakade and Zhang (2012).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from spectral_latent._compiled import check_column
from spectral_latent._options import AtLeast, AtMost
from spectral_latent.estimation.starts import beyond
from spectral_latent.files import Axes, sum_to_one
from spectral_latent.inference import n_best_derivations
from spectral_latent.operators import ObservableOperators, Tensor, Tensors
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.sequence.forests import TrellisBuilder
from spectral_latent.trees import BoolArray, FloatArray, Forest, IntArray, Rules

_IMPOSSIBLE = -1e300  # the logarithm of zero, which leaves sums of logarithms finite
_EDGES = 1 << 20  # the number of edges, about, of trellises that are in memory together


def untagged_rules(n_symbols: int) -> Rules:
    """List the rules of untagged sequences of n symbols: symbol 0 emits, symbol 1 is the spine.

    n_symbols: n, the number of different observations."""
    leaf = np.stack([np.zeros(n_symbols, dtype=np.int64), np.arange(n_symbols)], axis=1)
    return Rules(leaf, np.array([[1, 0]]), np.array([[1, 0, 1]]))


def shares_with(table: FloatArray, pseudo: float) -> FloatArray:
    """Add a pseudo-count to a table (n, k), and divide each row by its sum; a row with sum zero becomes uniform."""
    total = table.sum(axis=1, keepdims=True) + pseudo * table.shape[1]
    uniform = np.full_like(table, 1.0 / table.shape[1])
    return np.asarray(np.divide(table + pseudo, total, out=uniform, where=total > 0))


def draw_states(initial: FloatArray, transition: FloatArray, n: int, rng: np.random.Generator) -> IntArray:
    """Draw the states (n,) of a sequence of a given length; initial: (m,), transition: (m, m)."""
    state = np.empty(n, dtype=np.int64)
    state[0] = rng.choice(len(initial), p=initial)
    for i in range(1, n):
        state[i] = rng.choice(len(initial), p=transition[state[i - 1]])
    return state


def _log_weights(operators: ObservableOperators, forest: Forest) -> FloatArray:
    """List the logarithm (E,) of each edge's weight, times that of its root, under operators of one state a symbol."""
    has_left, has_right = forest.left >= 0, forest.right >= 0
    weight = np.empty(forest.n_edges)
    for which, numbers in (
        (~has_left, operators.leaf[:, 0]),
        (has_left & ~has_right, operators.unary[:, 0, 0]),
        (has_right, operators.binary.data),
    ):
        weight[which] = numbers[forest.rule[which]]
    at_root = np.ones(forest.n_items)
    at_root[forest.root] = operators.root[forest.symbol[forest.root], 0]
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(weight), _IMPOSSIBLE) + np.maximum(np.log(at_root), _IMPOSSIBLE)[forest.item]


@dataclass(frozen=True, eq=False)
class HiddenMarkov:
    """A hidden Markov model over observations 0 ... n - 1; see the table of this module.

    initial: (m,) the probability that a sequence begins in each state.
    transition: (m, m) the probability of each next state, if the sequence goes on.
    stop: (m,) the probability that the sequence ends after a state.
    emission: (m, n) the probability that each state emits each observation.

    >>> coin = HiddenMarkov(np.array([1.0]), np.array([[1.0]]), np.array([0.5]), np.array([[0.25, 0.75]]))
    >>> coin.operators().binary[0].to_dense()
    array([[[0.5]]])
    """

    initial: Annotated[FloatArray, Axes("m"), sum_to_one]
    transition: Annotated[FloatArray, Axes("m", "m"), sum_to_one]
    stop: Annotated[FloatArray, Axes("m"), AtLeast(0.0), AtMost(1.0)]
    emission: Annotated[FloatArray, Axes("m", "n"), sum_to_one]

    def __post_init__(self) -> None:
        m = np.size(self.initial)
        n = np.size(self.emission) // max(m, 1)
        shapes = {"initial": (m,), "transition": (m, m), "stop": (m,), "emission": (m, n)}
        for name, shape in shapes.items():
            check_column(f"the probabilities `{name}`", getattr(self, name), shape, np.float64)

    @property
    def n_states(self) -> int:
        """The number of states, m."""
        return len(self.initial)

    def operators(self) -> ObservableOperators:
        """Make operators over the s-trees of untagged sequences: symbol 0 emits, symbol 1 is the spine."""
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
        """Make operators over tagged sequences whose tags are the states of the model; every symbol has one state."""
        m, n = self.emission.shape
        states = np.arange(m)
        before, after = np.divmod(np.arange(m * m), m)
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

    def with_missing(self) -> HiddenMarkov:
        """Add a last observation for those that are missing, which any state emits with weight 1."""
        return replace(self, emission=np.append(self.emission, np.ones((self.n_states, 1)), axis=1))

    def among(self, allowed: BoolArray | None) -> HiddenMarkov:
        """Let the positions of a model with an observation for each have some states alone; not a distribution then.

        allowed: (N, m) whether each of N positions may have each state; None if nothing is known."""
        return self if allowed is None else replace(self, emission=self.emission * allowed.T)

    def beyond(self, after: HiddenMarkov, stride: float) -> HiddenMarkov:
        """Take the step from this model to another `stride` times as far; see `estimation.starts`."""

        def moved(name: str) -> FloatArray:
            """Move the rows of one of the tables, and divide them by their sums."""
            rows = beyond(getattr(self, name), getattr(after, name), stride)
            return np.asarray(rows / rows.sum(axis=-1, keepdims=True))

        before, found = (np.stack([model.stop, 1.0 - model.stop], axis=1) for model in (self, after))
        ends = beyond(before, found, stride)
        stop = ends[:, 0] / ends.sum(axis=1)
        return HiddenMarkov(moved("initial"), moved("transition"), stop, moved("emission"))

    def without(self, state: int) -> HiddenMarkov:
        """Leave out a state; what is left of each distribution does not sum to one."""
        transition = np.delete(np.delete(self.transition, state, axis=0), state, axis=1)
        vectors = (np.delete(each, state, axis=0) for each in (self.initial, self.stop, self.emission))
        initial, stop, emission = vectors
        return HiddenMarkov(initial, transition, stop, emission)

    def likeliest_states(self, sequences: Sequences) -> tuple[IntArray, float]:
        """Find the likeliest states (N,) of sequences (Viterbi), and log p(states, sequences).

        Of an impossible sequence, these are states with the fewest steps that are impossible.

        >>> chain = HiddenMarkov(np.array([0.5, 0.5]), np.array([[0.1, 0.9], [0.9, 0.1]]), np.ones(2) / 2, np.eye(2))
        >>> states, log = chain.likeliest_states(Sequences.of([[0, 1, 0], [1]]))
        >>> states, round(log, 3)
        (array([0, 1, 0, 1]), -4.37)
        """
        operators = self.with_states_as_tags()
        builder = TrellisBuilder(operators.rules, self.n_states)
        states = [np.zeros(0, dtype=np.int64)]
        total = 0.0
        for part in sequences.parts(_EDGES // self.n_states**2 + 1):
            forest, _ = builder.build(part.start, builder.candidates(part.terminal))
            best = n_best_derivations(forest, _log_weights(operators, forest), 1)
            edges, _ = best.edges  # in post-order, the emission of a position comes before those of the positions after
            states.append(operators.rules.leaf[forest.rule[edges[forest.left[edges] < 0]], 0])
            total += float(best.score.sum())
        return np.concatenate(states), total if total > 0.5 * _IMPOSSIBLE else -np.inf

    @staticmethod
    def of_operators(operators: ObservableOperators) -> HiddenMarkov:
        """Make the model with these operators; the inverse of `operators`."""
        (spine,) = operators.binary
        (stop,) = operators.unary
        ends = np.diagonal(stop).copy()
        going_on = np.einsum("hhk->hk", spine.to_dense())
        total = going_on.sum(axis=1, keepdims=True)
        uniform = np.full_like(going_on, 1.0 / len(ends))
        return HiddenMarkov(
            operators.root[1], np.divide(going_on, total, out=uniform, where=total > 0), ends, operators.leaf.T
        )

    @staticmethod
    def of_tree_model(operators: ObservableOperators, n_symbols: int, pseudo: float) -> HiddenMarkov:
        """Make a model from operators whose emissions have states of their own, which are summed out.

        operators: probabilities of the rules of untagged sequences.
        n_symbols: n, the number of different observations.
        pseudo: a number that is added to every probability, so that no probability is zero at the start of EM.

        >>> coin = HiddenMarkov(np.array([1.0]), np.array([[1.0]]), np.array([0.5]), np.array([[0.25, 0.75]]))
        >>> HiddenMarkov.of_tree_model(coin.operators(), n_symbols=2, pseudo=0.0).emission
        array([[0.25, 0.75]])
        """
        (spine,) = operators.binary
        (last,) = operators.unary
        emitting, m = operators.states.tolist()
        going_on = spine.to_dense()  # (m, E, m)
        ending = last[:m, :emitting]
        leaf = np.zeros((n_symbols, emitting))
        leaf[operators.rules.leaf[:, 1]] = operators.leaf[:, :emitting]
        ends = np.stack([going_on.sum(axis=(1, 2)), ending.sum(axis=1)], axis=1)
        return HiddenMarkov(
            initial=shares_with(operators.root[1:, :m], pseudo)[0],
            transition=shares_with(going_on.sum(axis=1), pseudo),
            stop=shares_with(ends, pseudo)[:, 1],
            emission=shares_with((going_on.sum(axis=2) + ending) @ leaf.T, pseudo),
        )

    @staticmethod
    def random(observed: FloatArray, n_sequences: float, n_states: int, seed: int) -> HiddenMarkov:
        """Draw a start for Baum-Welch: rows of exponential numbers, for emissions times the frequency of observations.

        observed: (n,) the number of times that each observation occurs.

        >>> HiddenMarkov.random(np.array([3.0, 0.0]), n_sequences=1, n_states=2, seed=0).emission
        array([[1., 0.],
               [1., 0.]])
        """
        rng = np.random.default_rng(seed)
        emission = observed * rng.exponential(size=(n_states, len(observed)))
        return HiddenMarkov(
            initial=rng.dirichlet(np.ones(n_states)),
            transition=rng.dirichlet(np.ones(n_states), n_states),
            stop=np.full(n_states, n_sequences / observed.sum()),
            emission=emission / emission.sum(axis=1, keepdims=True),
        )

    def smooth(self, share: FloatArray, n_positions: float, n_sequences: float, pseudo: float = 1.0) -> HiddenMarkov:
        """Add pseudo-counts, so that every state may begin, follow any state, and end a sequence.

        Each state gets `pseudo` more positions.  They are followed by the end as often as an average position, and
        otherwise by any state.  There are also `pseudo` more sequences, which begin in any state.

        share: (m,) the share of each state among all positions.
        n_positions: N, the number of positions of the training data.
        n_sequences: T, the number of sequences of the training data.
        pseudo: the number of positions and sequences that are added.

        >>> chain = HiddenMarkov(np.array([1.0, 0.0]), np.array([[0.0, 1.0], [1.0, 0.0]]), np.zeros(2), np.ones((2, 1)))
        >>> chain.smooth(np.array([0.5, 0.5]), n_positions=8, n_sequences=1).initial
        array([0.75, 0.25])
        """
        count = (n_positions * share)[:, None]
        ends = n_sequences / (n_positions + 1)
        going_on = count * (1.0 - self.stop)[:, None] * self.transition + pseudo * (1.0 - ends) * share
        return HiddenMarkov(
            initial=(n_sequences * self.initial + pseudo * share) / (n_sequences + pseudo),
            transition=going_on / going_on.sum(axis=1, keepdims=True),
            stop=(count[:, 0] * self.stop + pseudo * ends) / (count[:, 0] + pseudo),
            emission=self.emission,
        )
