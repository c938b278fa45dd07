"""Projections and moments of shards: treebanks too large to be in memory at once, read three times.

| pass | over all shards | kept |
| --- | --- | --- |
| 1 | which values each template has, and how often | a table per symbol and template |
| 2 | Ω̂ = Σ φ ψᵀ / n | a sparse matrix per symbol, whose entries are the pairs of features that occur |
| 3 | moments of the projected nodes | their sum |

Memory does not grow with the number of shards but for new values and new pairs; the result is that of all shards as
one treebank, up to rounding, and has the same bits on any engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np
from scipy import sparse

from spectral_latent.estimation.features import FeatureColumns
from spectral_latent.estimation.mapping import mapped
from spectral_latent.estimation.moments import Moments
from spectral_latent.estimation.options import (
    EstimationError,
    EstimatorOptions,
    Listener,
    LoweredStates,
    Progress,
    silent,
)
from spectral_latent.estimation.projections import ProjectedTrees, lowered_states, maps_of, states_for, svd_of
from spectral_latent.estimation.shards import SomeTrees
from spectral_latent.estimation.tally import Tally
from spectral_latent.trees import FloatArray, IntArray, Rules, SkeletalTrees

__all__ = ["Projection", "ShardedMoments", "latent_moments", "moments_of_shards"]


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


class _First(NamedTuple):
    """What a first reading tells: counts, and the evidence of each symbol that occurs."""

    tally: Tally
    evidence: dict[int, _Evidence]

    @staticmethod
    def of(shard: SomeTrees) -> _First:
        trees, features = shard.trees, shard.features
        return _First(Tally.of(trees), {a: _Evidence.of(features, nodes) for a, nodes in _by_symbol(trees)})

    def plus(self, other: _First) -> _First:
        """Of both."""
        merged = dict(self.evidence)
        for a, new in other.evidence.items():
            merged[a] = merged[a].plus(new) if a in merged else new
        return _First(self.tally + other.tally, merged)


def _by_symbol(trees: SkeletalTrees) -> Iterator[tuple[int, IntArray]]:
    return ((a, nodes) for a, nodes in enumerate(trees.nodes_by_symbol()) if len(nodes))


def _first_pass(shards: Iterable[SomeTrees], jobs: int | None) -> tuple[list[_Evidence], Tally]:
    """What is to be known of each symbol, and counts."""
    tally, found = reduce(_First.plus, mapped(_First.of, shards, jobs), _First(Tally.none(), {}))
    if not found or sorted(found) != list(range(len(found))):
        raise EstimationError("no trees to learn from, or symbols that occur at no node")
    return [found[a] for a in range(len(found))], tally


def _cross(shard: SomeTrees, evidence: list[_Evidence]) -> dict[int, sparse.csr_array]:
    """Σ φ ψᵀ over the shard's nodes of each symbol, unscaled."""
    inside, outside = shard.features.inside, shard.features.outside
    return {
        a: (_one_hot(inside[nodes], evidence[a].inside).T @ _one_hot(outside[nodes], evidence[a].outside)).tocsr()
        for a, nodes in _by_symbol(shard.trees)
    }


def _second_pass(shards: Iterable[SomeTrees], evidence: list[_Evidence], jobs: int | None) -> list[sparse.csr_array]:
    """Σ φ ψᵀ over the nodes of each symbol, unscaled."""
    omega: dict[int, sparse.csr_array] = {}
    for found in mapped(_cross, shards, jobs, evidence):
        for a, more in found.items():
            omega[a] = omega[a] + more if a in omega else more
    return [omega[a] for a in range(len(evidence))]


class _Maps(NamedTuple):
    """From unscaled features to y (d, m) and to z (d', m); σ (m,)."""

    to_y: FloatArray
    to_z: FloatArray
    sigma: FloatArray


def _maps(pair: tuple[_Evidence, sparse.csr_array], options: EstimatorOptions) -> _Maps:
    """The projections of a symbol."""
    evidence, omega = pair
    inner, outer = (_scales(tables, evidence.n, options.scaling) for tables in (evidence.inside, evidence.outside))
    scaled = (sparse.diags_array(inner) @ omega @ sparse.diags_array(outer) / evidence.n).tocsr()
    triplets = svd_of(scaled, scaled.toarray, states_for(evidence.n, options.states), options.seed)
    to_y, to_z, sigma = maps_of(*triplets, options.cutoff)
    return _Maps(inner[:, None] * to_y, outer[:, None] * to_z, sigma)


class Projection(NamedTuple):
    """What maps the nodes of any shard to their projections, and what the first reading has counted."""

    tally: Tally
    evidence: list[_Evidence]
    maps: list[_Maps]
    states: IntArray  # (S,)
    sigma: FloatArray  # (S, M)
    supported: IntArray  # (S,)

    @property
    def lowered(self) -> tuple[LoweredStates, ...]:
        """See `ProjectedTrees`."""
        return lowered_states(self.states, self.supported)

    @staticmethod
    def of(
        shards: Iterable[SomeTrees], options: EstimatorOptions, jobs: int | None = 1, listener: Listener = silent
    ) -> Projection:
        """Read the shards twice; `project_trees` says what is found."""
        evidence, tally = _first_pass(shards, jobs)
        listener(Progress("shards", 1, 3))
        omegas = _second_pass(shards, evidence, jobs)
        listener(Progress("shards", 2, 3))
        maps = list(mapped(_maps, list(zip(evidence, omegas, strict=True)), jobs, options))
        states = np.array([len(own.sigma) for own in maps])
        sigma = np.zeros((len(maps), states.max()))
        for a, own in enumerate(maps):
            sigma[a, : states[a]] = own.sigma
        supported = np.array([states_for(own.n, options.states) for own in evidence])
        return Projection(tally, evidence, maps, states, sigma, supported)

    def project(self, shard: SomeTrees) -> tuple[SkeletalTrees, ProjectedTrees]:
        """The trees of a shard, and their projections."""
        trees, features = shard.trees, shard.features
        y, z = np.zeros((2, trees.n_nodes, int(self.states.max())))
        for a, nodes in _by_symbol(trees):
            m, evidence = self.states[a], self.evidence[a]
            y[nodes, :m] = _one_hot(features.inside[nodes], evidence.inside) @ self.maps[a].to_y
            z[nodes, :m] = _one_hot(features.outside[nodes], evidence.outside) @ self.maps[a].to_z
        return trees, ProjectedTrees(self.states, y, z, self.sigma, self.supported)


def _moments(shard: SomeTrees, projection: Projection, rules: Rules) -> Moments:
    trees, projected = projection.project(shard)
    return Moments.of(trees, rules, projected.states, projected.y, projected.z)


def latent_moments(shards: Iterable[SomeTrees], projection: Projection, jobs: int | None = 1) -> Moments:
    """The third pass: the moments of all nodes (long paper, Figure 7, step 2)."""
    return reduce(Moments.__add__, mapped(_moments, shards, jobs, projection, projection.tally.rules))


class ShardedMoments(NamedTuple):
    """Moments of all shards: under the projections, and with y = z = 1, those of the plain model."""

    latent: Moments
    plain: Moments


def moments_of_shards(
    shards: Iterable[SomeTrees], options: EstimatorOptions, listener: Listener = silent, *, jobs: int | None = 1
) -> ShardedMoments:
    """What `spectral_moments` finds, of shards that are read three times; an iterator will not do.

    Raises EstimationError if there are no trees, or a symbol below the largest occurs at no node.
    """
    projection = Projection.of(shards, options, jobs, listener)
    moments = latent_moments(shards, projection, jobs)
    listener(Progress("shards", 3, 3))
    return ShardedMoments(moments, projection.tally.moments())
