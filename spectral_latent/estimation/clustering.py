"""Find states as clusters of nodes (Narayan and Cohen 2015): projected inside and outside trees are cut in two, again
and again, across the direction in which they vary most.

| here | meaning |
| --- | --- |
| point of node i | [y_i; σ ∘ z_i] = [Uᵀφ; Vᵀψ], each half scaled to unit mean square |
| direction of a cluster | the first principal component of its points |
| cut | the place on this direction at which the sum of squared distances from the two centres is least |
| state h(i) | the number of the nearest centre of the node's symbol |

Of all clusters of a symbol, the one whose cut lowers the sum of squares most is cut next (Boley 1998, Principal
direction divisive partitioning).  Narayan and Cohen find the clusters by k-means, whose result depends on a random
start; here nothing is drawn.

Centres are found on the points of every k-th node of a symbol; k grows with the number of nodes, so that memory is
bounded.
"""

from __future__ import annotations

from collections import defaultdict
from functools import reduce
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from spectral_latent import _scipy as scipy
from spectral_latent._compiled import TINY
from spectral_latent.estimation._parallel import parallel_map
from spectral_latent.estimation._projections import ProjectedTrees, Projection, by_symbol
from spectral_latent.estimation._treebank import Treebank, TreebankShard
from spectral_latent.operators import Counts, Tensor, Tensors, low_rank_tensor
from spectral_latent.trees import BoolArray, FloatArray, IntArray, Rules, SkeletalTrees

RULES_OF_TASK = 64  # the number of tensors of one task, which takes some hundredths of a second
_POINTS = 1 << 15  # the number of points of a symbol, about
_ROUNDING = 1e-12  # the share of the sum of squares that a cut must lower it by


# A sample of the points of a symbol in a shard: the halves (2, n, m) of n points, their weights (n,), and the sums of
# squares (2,) of all first halves and of all second halves, also of points that are not in the sample.
_Sample = tuple[FloatArray, FloatArray, FloatArray]


class _Centres(NamedTuple):
    """The centres of a symbol's clusters."""

    scale: FloatArray  # (2,) divisors of the halves of a point
    points: FloatArray  # (k, 2m)

    def nearest(self, halves: FloatArray) -> IntArray:
        """Find the centre (n,) nearest to each point, given as halves (2, n, m)."""
        return _nearest(_points(halves, self.scale), self.points)


class NodeClusters(NamedTuple):
    """A rule that gives every node of a treebank a state."""

    projection: Projection
    centres: dict[int, _Centres]  # of the symbols with more than one state

    @property
    def states(self) -> IntArray:
        """The number of states of each symbol, (S,)."""
        states = np.ones(len(self.projection.states), dtype=np.int64)
        for a, centres in self.centres.items():
            states[a] = len(centres.points)
        return states

    @staticmethod
    def learn(treebank: Treebank, projection: Projection, jobs: int | None = 1) -> NodeClusters:
        """Find the centres of every symbol."""
        n_nodes = np.array([of_symbol.n_nodes for of_symbol in projection.evidence])
        steps = np.ceil(n_nodes / _POINTS).astype(np.int64)
        samples = defaultdict[int, list[_Sample]](list)
        for samples_of_shard in parallel_map(_sample, treebank.shards, jobs, projection, steps):
            for a, sample in samples_of_shard.items():
                samples[a].append(sample)
        counted = [(several, float(treebank.counts.symbol[a])) for a, several in samples.items()]
        return NodeClusters(projection, dict(zip(samples, parallel_map(_centres, counted, jobs), strict=True)))

    def of_nodes(self, shard: TreebankShard) -> IntArray:
        """Find the state (N,) of every node of a shard."""
        projected = self.projection.project(shard)
        state = np.zeros(projected.trees.n_nodes, dtype=np.int64)
        for a, nodes in by_symbol(projected.trees):
            if a in self.centres:
                state[nodes] = self.centres[a].nearest(_halves(self.projection, projected, a, nodes))
        return state


def _points(halves: FloatArray, scale: FloatArray) -> FloatArray:
    """Join the halves (2, n, m) of points to (n, 2m), each divided by its scale (2,)."""
    return np.concatenate([half / size for half, size in zip(halves, scale, strict=True)], axis=1)


def _halves(projection: Projection, projected: ProjectedTrees, a: int, nodes: IntArray) -> FloatArray:
    """Compute [y; σ ∘ z] of nodes (n,) of symbol a, (2, n, m)."""
    sigma = projection.maps[a].sigma
    m = len(sigma)
    return np.stack([projected.y[nodes, :m], projected.z[nodes, :m] * sigma])


def _sample(shard: TreebankShard, projection: Projection, steps: IntArray) -> dict[int, _Sample]:
    """Take every steps[a]-th node of each symbol a of more than one state; steps: (S,)."""
    projected = projection.project(shard)
    weight = shard.weight[projected.trees.tree]
    samples = {}
    for a, nodes in by_symbol(projected.trees):
        if projection.states[a] > 1:
            halves = _halves(projection, projected, a, nodes)
            square = (halves**2 * weight[nodes, None]).sum(axis=(1, 2))
            samples[a] = (halves[:, :: steps[a]].copy(), weight[nodes[:: steps[a]]], square)
    return samples


def _centres(counted: tuple[list[_Sample], float]) -> _Centres:
    """Find at most m centres for the points of a symbol, given samples and the sum of the weights of all its nodes."""
    samples, count = counted
    parts, weights, squares = zip(*samples, strict=True)
    halves = np.concatenate(parts, axis=1)
    m = halves.shape[2]
    scale = np.maximum(np.sqrt(sum(squares) / (count * m)), TINY)
    points = _points(halves, scale)
    centres = _bisect(points, np.concatenate(weights), m)
    # Leave out centres that are not the nearest centre of any point.
    return _Centres(scale, centres[np.unique(_nearest(points, centres))])


def _nearest(points: FloatArray, centres: FloatArray) -> IntArray:
    """Find the centre (n,) nearest to each point; points: (n, d), centres: (k, d)."""
    distances = np.square(centres).sum(axis=1) - 2.0 * points @ centres.T  # ‖x - c‖² - ‖x‖²
    return np.asarray(distances.argmin(axis=1), dtype=np.int64)


# The best cut of a cluster across its principal direction: by how much it lowers the sum of squared distances from
# centres, 0 if all points are equal; and which points (n,) lie above it.
_Cut = tuple[float, BoolArray]


def _centre(rows: IntArray, points: FloatArray, weight: FloatArray) -> FloatArray:
    """Compute the mean (d,) of some rows of points (N, d) of weights (N,)."""
    of_row = weight[rows]
    return np.asarray(of_row @ points[rows] / of_row.sum())


def _best_cut(rows: IntArray, centre: FloatArray, points: FloatArray, weight: FloatArray) -> _Cut:
    """Find the best cut of some rows of points (N, d) of weights (N,), given their centre (d,)."""
    of_row = weight[rows]
    offset = points[rows]
    offset -= centre
    scaled = offset * np.sqrt(of_row)[:, None]
    last = offset.shape[1] - 1
    direction = scipy.linalg.eigh(scaled.T @ scaled, subset_by_index=(last, last), check_finite=False)[1][:, 0]
    direction = direction * np.sign(direction[np.abs(direction).argmax()])
    place = offset @ direction
    order = np.argsort(place, kind="stable")
    place, of_row = place[order], of_row[order]
    cumulated = of_row.cumsum()
    below, above = np.maximum([cumulated[:-1], cumulated[-1] - cumulated[:-1]], TINY)
    # Weighted places sum to 0: the sum s of those below is that of those above with the other sign, and both means
    # explain s² / below + s² / above.  No cut is between equal places, or after the last one.
    explained = np.cumsum(of_row * place)[:-1] ** 2 * (1.0 / below + 1.0 / above)
    gain = np.append(np.where(place[1:] > place[:-1], explained, 0.0), 0.0)
    at = int(gain.argmax())
    is_above = np.zeros(len(rows), dtype=np.bool_)
    is_above[order[at + 1 :]] = True
    return float(gain[at]), is_above


def _bisect(points: FloatArray, weight: FloatArray, k: int) -> FloatArray:
    """Cut points (n, d) of weights (n,) into up to k clusters, and return their centres (k, d)."""
    rows = [np.arange(len(points))]
    centres = [_centre(rows[0], points, weight)]
    cuts: dict[int, _Cut] = {}  # of the clusters, as far as they are needed
    least = _ROUNDING * float(weight @ np.square(points).sum(axis=1))
    while len(rows) < k:
        for at in range(len(rows)):
            if at not in cuts:
                cuts[at] = _best_cut(rows[at], centres[at], points, weight)
        at = max(range(len(rows)), key=lambda number: cuts[number][0])
        gain, is_above = cuts.pop(at)
        if gain <= least:
            break
        rows.append(rows[at][is_above])
        rows[at] = rows[at][~is_above]
        centres.append(_centre(rows[-1], points, weight))
        centres[at] = _centre(rows[at], points, weight)
    return np.stack(centres)


# Counts of rules with each choice of states, where the states of nodes are known: a table without binary rules; the
# distinct choices at nodes with binary rules (n, 4), in lexicographic order: the rule and the states of the node, of
# its left and of its right child; and the count (n,) of each choice.
_HardCounts = tuple[Counts, IntArray, FloatArray]


def _tensors(part: tuple[IntArray, IntArray, FloatArray], states: IntArray, rank: int | None) -> list[Tensor]:
    """Make a tensor of at most `rank` terms for each of some rules (R, 3), from choices (n, 4) and counts (n,)."""
    rules, rows, times = part
    starts = np.searchsorted(rows[:, 0], np.arange(len(rules) + 1))
    identity = np.eye(int(states.max(initial=1)))
    tensors = []
    for rule, (start, end) in zip(rules.tolist(), pairwise(starts.tolist()), strict=True):
        # The tensor has a term for each choice: its count times three unit vectors.
        legs = [identity[rows[start:end, leg + 1], : states[a]] for leg, a in enumerate(rule)]
        counts = Tensor(legs[0] * times[start:end, None], legs[1], legs[2])
        tensors.append(counts.compact() if rank is None else low_rank_tensor(counts, rank))
    return tensors


def _sum_choices(rows: IntArray, times: FloatArray) -> tuple[IntArray, FloatArray]:
    """Find the distinct rows (n', 4) of choices (n, 4), in lexicographic order, and sum the counts (n,) of each."""
    distinct, which = Rules.distinct(rows)
    return distinct, np.bincount(which, times, minlength=len(distinct)).astype(float)


def _add(one: _HardCounts, other: _HardCounts) -> _HardCounts:
    """Add the counts of two shards."""
    rows = np.concatenate([one[1], other[1]])
    return one[0] + other[0], *_sum_choices(rows, np.concatenate([one[2], other[2]]))


def _with_tensors(counts: _HardCounts, rules: Rules, rank: int | None = None, jobs: int | None = 1) -> Counts:
    """Make one table from the counts, over the rules that were counted."""
    table, rows, times = counts
    # Cut the binary rules into tasks.  Rows are in the order of rules, so that the choices of a task are a slice.
    firsts = range(0, len(rules.binary), RULES_OF_TASK)
    starts = np.searchsorted(rows[:, 0], [*firsts, len(rules.binary)])
    parts = [
        (rules.binary[first : first + RULES_OF_TASK], rows[start:end] - np.array([first, 0, 0, 0]), times[start:end])
        for first, (start, end) in zip(firsts, pairwise(starts.tolist()), strict=True)
    ]
    tensors = Tensors.of(chain.from_iterable(parallel_map(_tensors, parts, jobs, table.states, rank)))
    return Counts(rules, table.states, table.root, table.leaf, table.unary, tensors)


def _hard_counts(
    trees: SkeletalTrees, rules: Rules, states: IntArray, state: IntArray, weight: FloatArray | None
) -> _HardCounts:
    """Count the rules of trees with the states (N,) of their nodes; see `state_counts`."""
    of_node = np.ones(trees.n_nodes) if weight is None else weight[trees.tree]
    largest = int(states.max())
    rule = trees.rule_in(rules)
    left = trees.left
    leaves, unaries, binaries = (np.flatnonzero(kind) for kind in (trees.is_leaf, trees.is_unary, trees.is_binary))

    def table(size: tuple[int, ...], nodes: IntArray, *indices: IntArray) -> FloatArray:
        """Count the tuples of indices of nodes, (n,) each, in an array of the given size."""
        flat = np.ravel_multi_index(indices, size)
        return np.bincount(flat, of_node[nodes], minlength=int(np.prod(size))).reshape(size).astype(float)

    columns = (rule[binaries], state[binaries], state[left[binaries]], state[trees.right[binaries]])
    without_binary = Counts(
        Rules(rules.leaf, rules.unary, rules.binary[:0]),
        states,
        root=table((len(states), largest), trees.root, trees.symbol[trees.root], state[trees.root]),
        leaf=table((len(rules.leaf), largest), leaves, rule[leaves], state[leaves]),
        unary=table((len(rules.unary), largest, largest), unaries, rule[unaries], state[unaries], state[left[unaries]]),
        binary=Tensors.of([]),
    )
    return without_binary, *_sum_choices(np.stack(columns, axis=1), of_node[binaries])


def state_counts(
    trees: SkeletalTrees, rules: Rules, states: IntArray, state: IntArray, weight: FloatArray | None = None
) -> Counts:
    """Count each rule with each choice of states, given the states of all nodes.

    states: (S,) the number of states of each symbol.
    state: (N,) the state of each node.
    weight: (T,) the weight of each tree; 1 if not given."""
    return _with_tensors(_hard_counts(trees, rules, states, state, weight), rules)


def _shard_counts(shard: TreebankShard, clusters: NodeClusters, rules: Rules) -> _HardCounts:
    """Count the rules of a shard with the states of its nodes."""
    return _hard_counts(shard.trees, rules, clusters.states, clusters.of_nodes(shard), shard.weight)


def cluster_counts(treebank: Treebank, clusters: NodeClusters, rank: int | None = None, jobs: int | None = 1) -> Counts:
    """Count each rule of a treebank with each choice of its nodes' clusters."""
    rules = treebank.counts.rules
    counts = reduce(_add, parallel_map(_shard_counts, treebank.shards, jobs, clusters, rules))
    return _with_tensors(counts, rules, rank, jobs)
