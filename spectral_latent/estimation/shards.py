"""The spectral estimator over shards: treebanks too large to be in memory at once, read three times.

| pass | over all shards | kept |
| --- | --- | --- |
| 1 | which values each template has, and how often | a table per symbol and template |
| 2 | Ω̂ = Σ φ ψᵀ / n | a sparse matrix per symbol, whose entries are the pairs of features that occur |
| 3 | moments of the projected nodes | their sum |

Feature values must mean the same in every shard.  Memory does not grow with the number of shards but for new values
and new pairs; the result is that of all shards as one treebank, up to rounding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from spectral_latent.estimation.features import FeatureColumns
from spectral_latent.estimation.moments import Moments
from spectral_latent.estimation.options import EstimationError, EstimatorOptions, Listener, Progress, silent
from spectral_latent.estimation.projections import maps_of, states_for, svd_of
from spectral_latent.trees import FloatArray, IntArray, Rules, SkeletalTrees

__all__ = ["Shard", "ShardedMoments", "moments_of_shards"]


class Shard(NamedTuple):
    """Trees and their features."""

    trees: SkeletalTrees
    features: FeatureColumns


class ShardedMoments(NamedTuple):
    """Moments of all shards: under the projections, and with y = z = 1, those of the plain model."""

    latent: Moments
    plain: Moments

    def plus(self, other: ShardedMoments) -> ShardedMoments:
        """The moments of both."""
        return ShardedMoments(self.latent + other.latent, self.plain + other.plain)


@dataclass(frozen=True)
class _Table:
    """The distinct values of one template, increasing, and how many nodes have each."""

    values: IntArray
    count: IntArray

    @staticmethod
    def of(column: IntArray) -> _Table:
        return _Table(*np.unique(column, return_counts=True))

    def __add__(self, other: _Table) -> _Table:
        values, which = np.unique(np.concatenate([self.values, other.values]), return_inverse=True)
        count = np.zeros(len(values), dtype=np.int64)
        np.add.at(count, which, np.concatenate([self.count, other.count]))
        return _Table(values, count)


def _one_hot(columns: IntArray, tables: list[_Table]) -> sparse.csr_array:
    """Unscaled feature vectors (n, d) of n nodes; see `FeatureColumns.one_hot`."""
    starts = np.cumsum([0, *(len(table.values) for table in tables)])
    indices = [
        start + np.searchsorted(table.values, column)
        for start, table, column in zip(starts, tables, columns.T, strict=False)
    ]
    n, k = columns.shape
    ends = np.arange(0, n * k + 1, k)
    return sparse.csr_array((np.ones(n * k), np.stack(indices, axis=1).ravel(), ends), shape=(n, int(starts[-1])))


def _scales(tables: list[_Table], n: int, scaling: float | None) -> FloatArray:
    """What multiplies each feature (d,) (slide 23)."""
    count = np.concatenate([table.count for table in tables])
    return np.ones(len(count)) if scaling is None else np.sqrt(n / (count + scaling))


class _Evidence(NamedTuple):
    """The templates of a symbol's n nodes."""

    inside: list[_Table]
    outside: list[_Table]
    n: int

    @staticmethod
    def of(features: FeatureColumns, nodes: IntArray) -> _Evidence:
        inside, outside = (
            [_Table.of(column) for column in part[nodes].T] for part in (features.inside, features.outside)
        )
        return _Evidence(inside, outside, len(nodes))

    def plus(self, other: _Evidence) -> _Evidence:
        """The evidence of both."""
        inside = [ours + theirs for ours, theirs in zip(self.inside, other.inside, strict=True)]
        outside = [ours + theirs for ours, theirs in zip(self.outside, other.outside, strict=True)]
        return _Evidence(inside, outside, self.n + other.n)


class _Maps(NamedTuple):
    """From unscaled features to y (d, m) and to z (d', m)."""

    to_y: FloatArray
    to_z: FloatArray


def _by_symbol(shard: Shard) -> Iterator[tuple[int, IntArray]]:
    return ((a, nodes) for a, nodes in enumerate(shard.trees.nodes_by_symbol()) if len(nodes))


def _union(tables: list[Rules]) -> Rules:
    kinds = ("leaf", "unary", "binary")
    return Rules(*(Rules.distinct(np.concatenate([getattr(table, kind) for table in tables]))[0] for kind in kinds))


def _first_pass(shards: Iterable[Shard]) -> tuple[list[_Evidence], Rules]:
    """What is to be known of each symbol, and all rules."""
    evidence: dict[int, _Evidence] = {}
    rules: list[Rules] = []
    for shard in shards:
        for a, nodes in _by_symbol(shard):
            new = _Evidence.of(shard.features, nodes)
            evidence[a] = evidence[a].plus(new) if a in evidence else new
        rules = [_union([*rules, shard.trees.rules])]
    if not evidence or sorted(evidence) != list(range(len(evidence))):
        raise EstimationError("no trees to learn from, or symbols that occur at no node")
    return [evidence[a] for a in range(len(evidence))], rules[0]


def _second_pass(shards: Iterable[Shard], evidence: list[_Evidence]) -> list[sparse.csr_array]:
    """Σ φ ψᵀ over the nodes of each symbol, unscaled."""
    omega: dict[int, sparse.csr_array] = {}
    for shard in shards:
        for a, nodes in _by_symbol(shard):
            inner = _one_hot(shard.features.inside[nodes], evidence[a].inside)
            more = (inner.T @ _one_hot(shard.features.outside[nodes], evidence[a].outside)).tocsr()
            omega[a] = omega[a] + more if a in omega else more
    return [omega[a] for a in range(len(evidence))]


def _maps(evidence: _Evidence, omega: sparse.csr_array, options: EstimatorOptions) -> _Maps:
    """The projections of a symbol."""
    inner, outer = (_scales(tables, evidence.n, options.scaling) for tables in (evidence.inside, evidence.outside))
    scaled = (sparse.diags_array(inner) @ omega @ sparse.diags_array(outer) / evidence.n).tocsr()
    triplets = svd_of(scaled, scaled.toarray, states_for(evidence.n, options.states), options.seed)
    to_y, to_z, _ = maps_of(*triplets, options.cutoff)
    return _Maps(inner[:, None] * to_y, outer[:, None] * to_z)


def _third_pass(
    shards: Iterable[Shard], evidence: list[_Evidence], maps: list[_Maps], rules: Rules
) -> Iterator[ShardedMoments]:
    """The moments of each shard."""
    states = np.array([to_y.shape[1] for to_y, _ in maps])
    for shard in shards:
        y, z = np.zeros((2, shard.trees.n_nodes, int(states.max())))
        for a, nodes in _by_symbol(shard):
            y[nodes, : states[a]] = _one_hot(shard.features.inside[nodes], evidence[a].inside) @ maps[a].to_y
            z[nodes, : states[a]] = _one_hot(shard.features.outside[nodes], evidence[a].outside) @ maps[a].to_z
        ones = np.ones((shard.trees.n_nodes, 1))
        yield ShardedMoments(
            Moments.of(shard.trees, rules, states, y, z),
            Moments.of(shard.trees, rules, np.ones_like(states), ones, ones),
        )


def moments_of_shards(
    shards: Iterable[Shard], options: EstimatorOptions, listener: Listener = silent
) -> ShardedMoments:
    """What `spectral_moments` finds, of shards that are read three times; an iterator will not do.

    Raises EstimationError if there are no trees, or a symbol below the largest occurs at no node.
    """
    with threadpool_limits(1):
        evidence, rules = _first_pass(shards)
        listener(Progress("shards", 1, 3))
        omegas = _second_pass(shards, evidence)
        listener(Progress("shards", 2, 3))
        maps = [_maps(*pair, options) for pair in zip(evidence, omegas, strict=True)]
        moments = reduce(ShardedMoments.plus, _third_pass(shards, evidence, maps, rules))
        listener(Progress("shards", 3, 3))
        return moments
