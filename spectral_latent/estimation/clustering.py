"""States as clusters of nodes (Narayan and Cohen 2015): k-means on projected inside and outside trees, then counting.

| here | meaning |
| --- | --- |
| point of node i | [y_i; σ ∘ z_i] = [Uᵀφ; Vᵀψ], each half scaled to unit mean square |
| state h(i) | the centre nearest to the point, among those of the node's symbol |
| `Counts` | of rules with their states; relative frequencies are those of expected counts, none of which is in doubt |

Centres are found on the points of all nodes in memory; of shards, on those of every k-th node, with k = 1 up to a
number of nodes that keeps the points small.
"""

from __future__ import annotations

import warnings
from functools import reduce
from typing import NamedTuple

import numpy as np
from scipy.cluster.vq import kmeans2, vq

from spectral_latent.estimation.em import Counts, moments_of
from spectral_latent.estimation.mapping import mapped
from spectral_latent.estimation.moments import grouped
from spectral_latent.estimation.options import EstimatorOptions, TrainingData
from spectral_latent.estimation.passes import Projection
from spectral_latent.estimation.projections import ProjectedTrees
from spectral_latent.estimation.shards import ShardedData, SomeTrees
from spectral_latent.estimation.smoothing import Unseen, normalised, solve
from spectral_latent.estimation.tally import Tally
from spectral_latent.operators import ObservableOperators, Tensor
from spectral_latent.trees import FloatArray, IntArray, Rules, SkeletalTrees

__all__ = ["cluster_counts", "cluster_states", "clustering", "from_counts", "from_states"]

_ITERATIONS = 9  # of k-means; a last look at which centre is nearest makes ten
_POINTS = 1 << 15  # of a symbol in all shards, about


class _Centres(NamedTuple):
    """What divides the two halves of a symbol's points, and the centres (k, 2m) that some points are nearest to."""

    scale: FloatArray  # (2,)
    points: FloatArray  # (k, 2m)

    @staticmethod
    def of(halves: FloatArray, mean_square: FloatArray, seed: int) -> _Centres:
        """At most m centres for the points whose halves (2, n, m) are given, and mean squares (2,) of all."""
        scale = np.maximum(np.sqrt(mean_square), 1e-300)
        points = _points(halves, scale)
        k = min(halves.shape[2], len(np.unique(points, axis=0)))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "One of the clusters is empty")
            centres, _ = kmeans2(points, k, iter=_ITERATIONS, minit="++", rng=np.random.default_rng(seed))
        return _Centres(scale, centres[np.unique(vq(points, centres)[0])])

    def nearest(self, halves: FloatArray) -> IntArray:
        """The centre (n,) nearest to each point."""
        return vq(_points(halves, self.scale), self.points)[0].astype(np.int64)


def _points(halves: FloatArray, scale: FloatArray) -> FloatArray:
    return np.concatenate([half / size for half, size in zip(halves, scale, strict=True)], axis=1)


def _halves(projected: ProjectedTrees, a: int, nodes: IntArray) -> FloatArray:
    """[y; σ ∘ z] of nodes of symbol a, (2, n, m)."""
    m = int(projected.states[a])
    return np.stack([projected.y[nodes, :m], projected.z[nodes, :m] * projected.sigma[a, :m]])


def cluster_states(trees: SkeletalTrees, projected: ProjectedTrees, seed: int = 0) -> IntArray:
    """The state (N,) of every node."""
    states = np.zeros(trees.n_nodes, dtype=np.int64)
    for a, nodes in enumerate(trees.nodes_by_symbol()):
        if projected.states[a] > 1:
            halves = _halves(projected, a, nodes)
            states[nodes] = _Centres.of(halves, (halves**2).mean(axis=(1, 2)), seed).nearest(halves)
    return states


def _hard_counts(trees: SkeletalTrees, rules: Rules, states: IntArray, state: IntArray) -> Counts:
    """How often each rule occurs with each choice of states, where the nodes' states (N,) are known."""
    largest, rule, left, right = int(states.max()), trees.rule_in(rules), trees.left, trees.right
    leaves, unaries, binaries = (np.flatnonzero(kind) for kind in (trees.is_leaf, trees.is_unary, trees.is_binary))

    def table(size: tuple[int, ...], *indices: IntArray) -> FloatArray:
        flat = np.ravel_multi_index(indices, size)
        return np.bincount(flat, minlength=int(np.prod(size))).reshape(size).astype(float)

    return Counts(
        root=table((len(states), largest), trees.symbol[trees.root], state[trees.root]),
        leaf=table((len(rules.leaf), largest), rule[leaves], state[leaves]),
        unary=table((len(rules.unary), largest, largest), rule[unaries], state[unaries], state[left[unaries]]),
        binary=[
            Tensor.of_dense(table(tuple(states[row]), state[nodes], state[left[nodes]], state[right[nodes]]))
            for row, nodes in zip(rules.binary, grouped(rule, binaries, len(rules.binary)), strict=True)
        ],
        log_likelihood=0.0,
    )


def from_counts(
    counts: Counts, states: IntArray, tally: Tally, smoothing: float | None = None, unseen: Unseen | None = None
) -> ObservableOperators:
    """Relative frequencies, from counts of rules with states; see `solve`."""
    return normalised(solve(moments_of(counts, states, tally), smoothing, unseen)).multiplied_out()


def from_states(
    trees: SkeletalTrees,
    state: IntArray,
    smoothing: float | None = None,
    unseen: Unseen | None = None,
) -> ObservableOperators:
    """Relative frequencies of trees whose nodes' states (N,) are known; see `solve`.

    >>> trees = SkeletalTrees.of([0, 0, 0], left=[-1, -1, 0], right=[-1, -1, 1], terminal=[5, 6, -1], root=[2])
    >>> operators = from_states(trees, np.array([0, 1, 1]))
    >>> operators.leaf
    array([[1. , 0. ],
           [0. , 0.5]])
    """
    states = np.zeros(int(trees.symbol.max()) + 1, dtype=np.int64)
    np.maximum.at(states, trees.symbol, state + 1)
    return from_counts(_hard_counts(trees, trees.rules, states, state), states, Tally.of(trees), smoothing, unseen)


def clustering(data: TrainingData, projected: ProjectedTrees, options: EstimatorOptions) -> ObservableOperators:
    """Probabilities from clustered nodes."""
    state = cluster_states(data.trees, projected, options.seed)
    return from_states(data.trees, state, options.smoothing, data.unseen)


class _Sample(NamedTuple):
    """Of a symbol, halves (2, n, m) of some points, and the sums (2,) of the squares of all."""

    halves: list[FloatArray]
    square: FloatArray


def _sampled(shard: SomeTrees, projection: Projection, steps: IntArray) -> dict[int, _Sample]:
    """Of every symbol a of more than one state, every steps[a]-th node."""
    trees, projected = projection.project(shard)
    found = {}
    for a, nodes in enumerate(trees.nodes_by_symbol()):
        if projected.states[a] > 1 and len(nodes):
            halves = _halves(projected, a, nodes)
            found[a] = _Sample([halves[:, :: steps[a]].copy()], (halves**2).sum(axis=(1, 2)))
    return found


def _samples(data: ShardedData, projection: Projection, jobs: int | None) -> dict[int, _Sample]:
    """Those of all shards."""
    steps = np.ceil(data.tally.symbol / _POINTS).astype(np.int64)
    samples: dict[int, _Sample] = {}
    for found in mapped(_sampled, data.shards, jobs, projection, steps):
        for a, sample in found.items():
            halves, square = samples.get(a, _Sample([], np.zeros(2)))
            samples[a] = _Sample([*halves, *sample.halves], square + sample.square)
    return samples


def _centres_of(of_symbol: tuple[_Sample, float], seed: int) -> _Centres:
    (halves, square), count = of_symbol
    joined = np.concatenate(halves, axis=1)
    return _Centres.of(joined, square / (count * joined.shape[2]), seed)


def _shard_counts(shard: SomeTrees, projection: Projection, centres: dict[int, _Centres], states: IntArray) -> Counts:
    """How often each rule occurs in a shard with each choice of states."""
    trees, projected = projection.project(shard)
    state = np.zeros(trees.n_nodes, dtype=np.int64)
    for a, nodes in enumerate(trees.nodes_by_symbol()):
        if a in centres and len(nodes):
            state[nodes] = centres[a].nearest(_halves(projected, a, nodes))
    return _hard_counts(trees, projection.tally.rules, states, state)


def cluster_counts(
    data: ShardedData, projection: Projection, options: EstimatorOptions, jobs: int | None = 1
) -> tuple[Counts, IntArray]:
    """How often each rule occurs with each choice of states, and how many states (S,) there are, of shards."""
    samples = _samples(data, projection, jobs)
    of_symbols = [(sample, float(data.tally.symbol[a])) for a, sample in samples.items()]
    centres = dict(zip(samples, mapped(_centres_of, of_symbols, jobs, options.seed), strict=True))
    states = np.ones(len(data.tally.symbol), dtype=np.int64)
    for a, found in centres.items():
        states[a] = len(found.points)
    return reduce(Counts.__add__, mapped(_shard_counts, data.shards, jobs, projection, centres, states)), states
