"""Expectation maximisation over latent states (Matsuzaki et al. 2005), on the one inside-outside engine.

| here | meaning |
| --- | --- |
| `Counts` | expected numbers of rules with their states, given the trees and current probabilities |
| G_r = Σ_i w_i β_i ⊗ α_b ⊗ α_c | over the nodes of rule r; w_i = 1 / p(tree), with the powers of two of the three |
| t_r ∘ G_r | the rule's expected counts |

The E-step is an inside and an outside pass and one matrix product per rule: the same sums that make spectral moments.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from spectral_latent.estimation.mapping import mapped
from spectral_latent.estimation.moments import Moments, grouped, row_sums, state_sums
from spectral_latent.estimation.options import EstimationError, EstimatorOptions, Listener, Progress, TrainingData
from spectral_latent.estimation.shards import ShardedData, SomeTrees
from spectral_latent.estimation.smoothing import normalised, solve
from spectral_latent.estimation.tally import Tally
from spectral_latent.inference import inside, outside, total_weight
from spectral_latent.operators import ObservableOperators, Tensor
from spectral_latent.trees import FloatArray, Forest, IntArray, Rules, SkeletalTrees

__all__ = [
    "Climb",
    "Counts",
    "climb",
    "expectation",
    "expectation_maximisation",
    "maximisation",
    "moments_of",
    "random_start",
]


class Counts(NamedTuple):
    """Expected counts, and the log-likelihood of the trees under the operators that they were taken with."""

    root: FloatArray  # (S, M)
    leaf: FloatArray  # (R0, M)
    unary: FloatArray  # (R1, M, M)
    binary: list[Tensor]  # R2 tensors (m_a, m_b, m_c), in factors where the operators are
    log_likelihood: float

    def of_states(self, rules: Rules) -> FloatArray:
        """Expected number of nodes of each symbol in each state, (S, M)."""
        return state_sums(rules, self.leaf, self.unary, self.binary, self.root.shape)

    def __add__(self, other: Counts) -> Counts:  # type: ignore[override]
        """The counts of two shards under the same operators."""
        return Counts(
            self.root + other.root,
            self.leaf + other.leaf,
            self.unary + other.unary,
            [_both(ours, theirs) for ours, theirs in zip(self.binary, other.binary, strict=True)],
            self.log_likelihood + other.log_likelihood,
        )


def _both(ours: Tensor, theirs: Tensor) -> Tensor:
    """The sum of a rule's counts; where they are in factors, component by component (see `expected_counts`)."""
    if ours.dense is not None:
        return ours + theirs
    first = ours.first + theirs.first
    weights = [np.maximum(own.first.sum(axis=1, keepdims=True), np.finfo(float).tiny) for own in (ours, theirs)]
    second, third = (
        sum(weight * own for weight, own in zip(weights, pair, strict=True)) / sum(weights)
        for pair in ((ours.second, theirs.second), (ours.third, theirs.third))
    )
    return Tensor(first, second, third)


def expectation(operators: ObservableOperators, trees: SkeletalTrees) -> Counts:
    """The E-step.  Raises EstimationError if a tree has probability zero."""
    rules, rule = operators.rules, trees.rule_in(operators.rules)
    forest = Forest.of_trees(trees, rules)
    inner = inside(operators, forest)
    outer = outside(operators, forest, inner)
    weight = total_weight(operators, forest, inner)
    if (weight.sign <= 0).any():
        number = int(np.argmax(weight.sign <= 0)) + 1
        raise EstimationError(
            f"tree {number} has probability zero (counted within its shard, if there are shards); "
            "start from probabilities above zero for all rules"
        )

    def scaled(vectors: FloatArray, exponents: IntArray, nodes: IntArray) -> FloatArray:
        """Vectors of nodes (n, M) times a power of two, over p(tree)."""
        log_scale = exponents * np.log(2.0) - weight.log[trees.tree[nodes]]
        rows: FloatArray = vectors[nodes] * np.exp(log_scale)[:, None]
        return rows

    leaves, unaries, binaries = (np.flatnonzero(kind) for kind in (trees.is_leaf, trees.is_unary, trees.is_binary))
    left, right = trees.left, trees.right
    roots = scaled(inner.vectors, inner.exponents[trees.root], trees.root)
    emitted = scaled(outer.vectors, outer.exponents[leaves], leaves)
    exponents = outer.exponents + inner.exponents[left] + np.where(right >= 0, inner.exponents[right], 0)
    above = np.zeros_like(outer.vectors)
    for nodes in (unaries, binaries):
        above[nodes] = scaled(outer.vectors, exponents[nodes], nodes)
    unary = [above[nodes].T @ inner.vectors[left[nodes]] for nodes in grouped(rule, unaries, len(rules.unary))]
    binary = []
    for (a, b, c), tensor, nodes in zip(
        rules.binary, operators.binary, grouped(rule, binaries, len(rules.binary)), strict=True
    ):
        m_a, m_b, m_c = operators.states[[a, b, c]]
        binary.append(
            tensor.expected_counts(
                above[nodes, :m_a], inner.vectors[left[nodes], :m_b], inner.vectors[right[nodes], :m_c]
            )
        )
    return Counts(
        root=operators.root * row_sums(trees.symbol[trees.root], roots, len(operators.root)),
        leaf=operators.leaf * row_sums(rule[leaves], emitted, len(rules.leaf)),
        unary=operators.unary * np.array(unary).reshape(operators.unary.shape),
        binary=binary,
        log_likelihood=float(weight.log.sum()),
    )


def maximisation(counts: Counts, rules: Rules, states: IntArray, state_smoothing: float = 0.0) -> ObservableOperators:
    """The M-step: relative frequencies; each state's rules then mixed with the mean over its symbol's states."""
    best = normalised(ObservableOperators(rules, states, counts.root, counts.leaf, counts.unary, counts.binary))
    if state_smoothing == 0.0:
        return best
    mask = (np.arange(counts.root.shape[1]) < states[:, None]) / states[:, None]  # (S, M): 1 / m_a where a has a state

    def mixed(array: FloatArray, weights: FloatArray) -> FloatArray:
        """(1 - s) array + s its mean over the first axis."""
        return (1 - state_smoothing) * array + state_smoothing * np.tensordot(weights, array, axes=1)

    leaf_mask, unary_mask = mask[rules.leaf[:, 0]], mask[rules.unary[:, 0]]
    leaf_mean = (best.leaf * leaf_mask).sum(axis=1, keepdims=True) * (leaf_mask > 0)
    unary_mean = np.einsum("rh,rhi->ri", unary_mask, best.unary)[:, None, :] * (unary_mask > 0)[:, :, None]
    return ObservableOperators(
        rules,
        states,
        best.root,
        (1 - state_smoothing) * best.leaf + state_smoothing * leaf_mean,
        (1 - state_smoothing) * best.unary + state_smoothing * unary_mean,
        [
            Tensor.of_dense(mixed(tensor.multiplied_out(), mask[a, : states[a]]))
            for (a, _, _), tensor in zip(rules.binary, best.binary, strict=True)
        ],
        probabilities=True,
    )


def random_start(tally: Tally, states: IntArray, seed: int = 0) -> ObservableOperators:
    """Relative frequencies spread evenly over states (S,), each number then multiplied by 0.5 to 1.5 at random."""
    rng = np.random.default_rng(seed)
    rules, largest = tally.rules, int(states.max())
    valid = (np.arange(largest) < states[:, None]).astype(float)

    def noise(*shape: int) -> FloatArray:
        return rng.uniform(0.5, 1.5, shape)

    leaf, unary, roots = tally.leaf, tally.unary, tally.root / states
    a, b = rules.unary.T
    operators = ObservableOperators(
        rules,
        states,
        roots[:, None] * valid * noise(*valid.shape),
        leaf[:, None] * valid[rules.leaf[:, 0]] * noise(len(leaf), largest),
        (unary / states[b])[:, None, None]
        * (valid[a, :, None] * valid[b, None, :])
        * noise(len(unary), largest, largest),
        [
            Tensor.of_dense(count / states[rule[1:]].prod() * noise(*states[rule]))
            for count, rule in zip(tally.binary, rules.binary, strict=True)
        ],
    )
    return normalised(operators)


def _with_sums(counts: FloatArray) -> FloatArray:
    """Counts with their sums over every set of legs: the moments of augmented vectors."""
    for axis in range(counts.ndim):
        counts = np.concatenate([counts, counts.sum(axis=axis, keepdims=True)], axis=axis)
    return counts


def moments_of(counts: Counts, states: IntArray, tally: Tally) -> Moments:
    """Expected counts as moments: y is the posterior of the states, z the posterior times n(a) / n(a, h).

    `solve` makes relative frequencies of them, and smooths them as it does those of spectral projections.
    """
    rules, count = tally.rules, tally.symbol  # exact, where sums over states are rounded
    of_states = counts.of_states(rules)
    scale = np.divide(count[:, None], of_states, out=np.zeros_like(of_states), where=of_states > 0)

    def scaled(array: FloatArray, a: int) -> FloatArray:
        array = _with_sums(array)
        array[:-1] *= scale[a, : len(array) - 1].reshape(-1, *([1] * (array.ndim - 1)))
        return array

    size = of_states.shape[1] + 1
    unary = [scaled(array, a) for array, a in zip(counts.unary, rules.unary[:, 0], strict=True)]
    return Moments(
        rules=rules,
        states=states,
        n_trees=tally.n_trees,
        count=count,
        root=counts.root,
        outer=of_states * scale,
        inner=of_states,
        leaf=counts.leaf * scale[rules.leaf[:, 0]],
        leaf_count=tally.leaf,
        unary=np.array(unary).reshape(-1, size, size),
        binary=[
            Tensor.of_dense(scaled(tensor.multiplied_out(), a))
            for tensor, a in zip(counts.binary, rules.binary[:, 0], strict=True)
        ],
    )


class Climb(NamedTuple):
    """Where expectation maximisation ended, and the last expected counts."""

    operators: ObservableOperators
    counts: Counts


def climb(trees: SkeletalTrees, start: ObservableOperators, options: EstimatorOptions, listener: Listener) -> Climb:
    """Probabilities of locally maximal likelihood, from `start` over the trees' own rules.

    Without smoothing of states no iteration lowers the likelihood.  What is zero at the start stays zero, and tensors
    in factors stay in factors.
    """
    return _climb(lambda operators: expectation(operators, trees), len(trees.root), start, options, listener)


def _climb(
    expected: Callable[[ObservableOperators], Counts],
    n_trees: int,
    start: ObservableOperators,
    options: EstimatorOptions,
    listener: Listener,
) -> Climb:
    """`climb`, by whatever makes the expected counts of all trees."""
    operators, previous = start, -np.inf
    with threadpool_limits(1):
        for iteration in range(1, options.iterations + 1):
            counts = expected(operators)
            listener(Progress("EM", iteration, options.iterations, counts.log_likelihood))
            operators = maximisation(counts, operators.rules, operators.states, options.state_smoothing)
            if counts.log_likelihood - previous < options.tolerance * n_trees:
                return Climb(operators, counts)
            previous = counts.log_likelihood
        return Climb(operators, expected(operators))


def _expected(shard: SomeTrees, operators: ObservableOperators) -> Counts:
    return expectation(operators, shard.trees)


def expectation_maximisation(
    data: TrainingData | ShardedData,
    start: ObservableOperators,
    options: EstimatorOptions,
    listener: Listener,
    jobs: int | None = 1,
) -> ObservableOperators:
    """Where `climb` ends, smoothed (slide 25) as options and data say; `jobs` are for shards."""

    def expected(operators: ObservableOperators) -> Counts:
        if isinstance(data, TrainingData):
            return expectation(operators, data.trees)
        return reduce(Counts.__add__, mapped(_expected, data.shards, jobs, operators))

    operators, counts = _climb(expected, data.tally.n_trees, start, options, listener)
    with threadpool_limits(1):
        return normalised(solve(moments_of(counts, operators.states, data.tally), options.smoothing, data.unseen))
