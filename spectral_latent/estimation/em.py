"""Estimate latent states by expectation maximisation (Matsuzaki et al. 2005), with the inside-outside engine.

| here | meaning |
| --- | --- |
| θ | the probabilities of roots and rules with their states |
| n(θ) | the expected count of each, given the trees and current probabilities: the E-step, `expected_counts` |
| A | `prior`: pseudo-counts, which make the states of a symbol more alike |
| log L(θ) + Σ A log θ | the objective: the log-likelihood of the trees plus the logarithm of a Dirichlet prior |
| θ ← (n + A) / Σ (n + A) | the M-step, which maximises the expected objective |

No iteration lowers the objective.  The objective is reported, and decides when EM stops.  Without a prior it is the
log-likelihood.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from spectral_latent.estimation._parallel import parallel_map
from spectral_latent.estimation._treebank import TreebankShard
from spectral_latent.estimation.progress import EstimationError, Listener, silent
from spectral_latent.estimation.starts import Ascent, Learner
from spectral_latent.inference import expected_counts, tree_weights
from spectral_latent.operators import Counts, ExpectedCounts, ObservableOperators, Tensor, Tensors, low_rank_tensor
from spectral_latent.trees import FloatArray, Forest, IntArray


def towards_mean(operators: ObservableOperators, share: float) -> ObservableOperators:
    """Mix the probabilities of every state with their mean over the states of its symbol: θ ← (1 - s) θ + s θ̄."""

    def mix(rows: FloatArray, symbols: IntArray) -> FloatArray:
        """Mix the rows (R, M, ...) of the states of each rule's parent (R,) with their mean."""
        states = operators.states[symbols]
        rest = (1,) * (rows.ndim - 2)
        has_state = (np.arange(rows.shape[1]) < states[:, None]).reshape(*rows.shape[:2], *rest)
        mean = rows.sum(axis=1, keepdims=True) / states.reshape(-1, 1, *rest)
        return np.asarray((1.0 - share) * rows + share * (has_state * mean))

    rules = operators.rules
    binary = operators.binary.with_data(operators.binary.data.copy())
    for matrix in binary.matrices():  # of all numbers of a tensor, only these know the state of the parent
        matrix[:] = (1.0 - share) * matrix + share * matrix.mean(axis=0)
    leaf = mix(operators.leaf, rules.leaf[:, 0])
    return replace(operators, leaf=leaf, unary=mix(operators.unary, rules.unary[:, 0]), binary=binary)


def state_prior(start: ObservableOperators, observed: Counts, share: float) -> ExpectedCounts:
    """Make pseudo-counts that move the states of a symbol towards their mean at the start.

    The probabilities of a state of average frequency are a mixture in which the mean has the given share; for a rarer
    state, the share is larger."""
    of_state = share / (1.0 - share) * observed.symbol / start.states  # the pseudo-count of each state of a symbol
    prior = towards_mean(start, 1.0).scale(np.broadcast_to(of_state[:, None], start.root.shape))
    binary = Tensors.of(map(_with_equal_sums, prior.binary))
    return ExpectedCounts(prior.rules, prior.states, np.zeros_like(prior.root), prior.leaf, prior.unary, binary)


def _with_equal_sums(tensor: Tensor) -> Tensor:
    """Scale the factors of each term, so that each of the three sums to the sum of all numbers of the term."""
    if tensor.dense is not None:
        return tensor
    first, second, third = (factor.sum(axis=1, keepdims=True) for factor in (tensor.first, tensor.second, tensor.third))
    return Tensor(tensor.first * second * third, tensor.second * first * third, tensor.third * first * second)


def random_counts(observed: Counts, states: IntArray, rank: int | None = None, seed: int = 0) -> Counts:
    """Split counts evenly among the states (S,) of each symbol, and multiply each number by 0.5 to 1.5 at random."""
    rng = np.random.default_rng(seed)
    rules = observed.rules
    largest = int(states.max())
    share = (np.arange(largest) < states[:, None]) / states[:, None]  # (S, M): 1/m for each of m states, 0 for padding

    def noise(*shape: int) -> FloatArray:
        """Draw numbers between 0.5 and 1.5."""
        return rng.uniform(0.5, 1.5, shape)

    def tensors() -> Iterator[Tensor]:
        """Split the count of each binary rule."""
        for count, rule in zip(observed.binary.data.tolist(), rules.binary, strict=True):
            drawn = Tensor.of_dense(count / states[rule].prod() * noise(*states[rule]))
            yield drawn if rank is None else low_rank_tensor(drawn, rank)

    a, b = rules.unary.T
    return Counts(
        rules,
        states,
        observed.root * share * noise(*share.shape),
        observed.leaf * share[rules.leaf[:, 0]] * noise(len(rules.leaf), largest),
        observed.unary * share[a][:, :, None] * share[b][:, None, :] * noise(len(rules.unary), largest, largest),
        Tensors.of(tensors()),
    )


def _expected_of_shard(shard: TreebankShard, operators: ObservableOperators) -> ExpectedCounts:
    """Compute the expected counts of a shard."""
    return expected_counts(operators, Forest.of_trees(shard.trees, operators.rules), shard.weight)


def _impossible_tree(shards: Iterable[TreebankShard], operators: ObservableOperators) -> int | None:
    """Find the number, from 1, of the first tree with probability zero; None if there is no such tree."""
    before = 0
    for shard in shards:
        weights = tree_weights(operators, Forest.of_trees(shard.trees, operators.rules))
        impossible = np.flatnonzero(weights.sign <= 0)
        if len(impossible):
            return before + int(impossible[0]) + 1
        before += len(weights.sign)
    return None


def expectation(shards: Iterable[TreebankShard], operators: ObservableOperators, jobs: int | None) -> ExpectedCounts:
    """Compute the expected counts of all shards: the E-step."""
    try:
        return reduce(ExpectedCounts.__add__, parallel_map(_expected_of_shard, shards, jobs, operators))
    except ValueError:
        impossible = _impossible_tree(shards, operators)
        if impossible is None:
            raise
        raise EstimationError(
            f"tree {impossible} has probability zero; start from probabilities above zero for all rules"
        ) from None


def _log_prior(prior: ExpectedCounts, operators: ObservableOperators) -> float:
    """Compute Σ A log θ."""
    pairs = (
        (prior.leaf, operators.leaf),
        (prior.unary, operators.unary),
        (prior.binary.data, operators.binary.data),
    )
    return float(sum((weights[weights > 0] * np.log(theta[weights > 0])).sum() for weights, theta in pairs))


@dataclass(frozen=True)
class _TreeLearner(Learner[ObservableOperators, ExpectedCounts]):
    """The steps of EM on trees (`starts.Learner`)."""

    shards: Iterable[TreebankShard]
    prior: ExpectedCounts | None
    jobs: int | None

    def expect(self, operators: ObservableOperators) -> tuple[ExpectedCounts, float]:
        """Compute the expected counts and the objective."""
        counts = expectation(self.shards, operators, self.jobs)
        return counts, counts.log_likelihood + (0.0 if self.prior is None else _log_prior(self.prior, operators))

    def maximise(self, counts: ExpectedCounts, _: ObservableOperators) -> ObservableOperators:
        """Make the probabilities that are proportional to the counts."""
        summed = counts if self.prior is None else counts + self.prior
        return ObservableOperators.probabilities_of(summed.counts())


def run_em(
    shards: Iterable[TreebankShard],
    start: ObservableOperators,
    iterations: int,
    tolerance: float,
    prior: ExpectedCounts | None = None,
    *,
    jobs: int | None = 1,
    listener: Listener = silent,
) -> Ascent[ObservableOperators, ExpectedCounts]:
    """Run EM from given probabilities to a local maximum of the objective, for at most `iterations`.

    A number that is zero at the start and in the prior stays zero, and factored tensors stay factored."""
    ascent = Ascent(_TreeLearner(shards, prior, jobs), start)
    n_trees = float(ascent.statistics.root.sum())  # every tree has one root; with weights, the sum of the weights
    ascent.climb_to_end(iterations, tolerance * n_trees, listener)
    return ascent
