"""Learn the projections U^a, V^a: a truncated singular value decomposition per symbol, from two passes over the shards.

| here | long paper | meaning |
| --- | --- | --- |
| φ, ψ | φ(t), ψ(o) | feature vectors of a node: a 1 for each template's value, times the scales of slide 23 |
| Ω̂ = Σ φ ψᵀ / n | Ω̂^a | their cross-covariance: a sparse matrix, an entry for each pair of features that occurs |
| U, σ, V | U^a, V^a (long paper, Figures 7 and 8) | its leading singular vectors and values |
| y = Uᵀ φ | Y | projected inside trees, (n, m) |
| z = Vᵀ ψ / σ | Z (Σ̂^a)⁻¹ | projected outside trees; Σ̂^a = Uᵀ Ω̂ V = diag(σ), so its inverse is a division |

| pass | over all shards | kept |
| --- | --- | --- |
| 1 | which values each template has, and how often | a table per symbol and template |
| 2 | Σ φ ψᵀ | a sparse matrix per symbol |

Inside and outside trees are independent given the state.  Ω^a therefore has the rank of the states (long paper, Lemma
1), and moments of y and z are those of the states in another basis (long paper, equations 17 to 21).

Memory grows only with the numbers of values and pairs that are kept, not with the number of shards.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import sqrt
from typing import Annotated, NamedTuple

import numpy as np

from spectral_latent import _scipy as scipy
from spectral_latent._compiled import check_column
from spectral_latent._options import AtLeast, Below, Options
from spectral_latent.estimation._features import FeatureColumns
from spectral_latent.estimation._parallel import parallel_map
from spectral_latent.estimation._treebank import TreebankShard
from spectral_latent.estimation.progress import Listener, LoweredStates, Progress, silent
from spectral_latent.estimation.svd import truncated_svd
from spectral_latent.trees import FloatArray, IntArray, SkeletalTrees

_log = logging.getLogger(__name__)

_ROUNDING = 1e-10  # the largest rounding error of a singular value, as a share of the first one


@dataclass(frozen=True)
class StateOptions(Options):
    """Settings of states, which most estimators have.

    n_states: m, the largest number of states of a symbol; symbols with few nodes get fewer states.
    smoothing: C of slide 25, or None for no smoothing.
    seed: the seed of the starts of singular value decompositions, and of random states."""

    n_states: Annotated[int, AtLeast(1)] = 16
    smoothing: Annotated[float, AtLeast(0.0)] | None = 15.0
    seed: Annotated[int, AtLeast(0)] = 0


@dataclass(frozen=True)
class ProjectionOptions(StateOptions):
    """Settings of the projections with which most estimators begin.

    scaling: κ of slide 23, or None for raw indicator features.
    cutoff: directions with σ_i ≤ cutoff · σ_1 are dropped; None for 1/√n, where n is the number of the symbol's nodes.
    """

    scaling: Annotated[float, AtLeast(0.0)] | None = 1.0
    cutoff: Annotated[float, AtLeast(0.0), Below(1.0)] | None = None

    def cutoff_for(self, n: float) -> float:
        """Compute the share of σ_1 up to which directions of a symbol with n nodes are dropped: `cutoff`, or else 1/√n.

        Means over n nodes have errors of order 1/√n, and operators divide them by σ_i / σ_1: where this quotient is
        larger than 1/√n, the errors of operators stay bounded.  The share falls to zero as n grows, so that enough
        nodes show every true state; only directions of rounding errors are always dropped.

        n: the number of the symbol's nodes, or the sum of their weights.

        >>> ProjectionOptions().cutoff_for(10_000), ProjectionOptions(cutoff=0.001).cutoff_for(10_000)
        (0.01, 0.001)
        """
        # Weights may sum to less than one; the first direction is always kept.
        return max(1.0 / sqrt(max(n, 2.0)), _ROUNDING) if self.cutoff is None else self.cutoff


def states_for(count: float, states: int) -> int:
    """Compute the number of states that `count` nodes support: 1 up to 10 nodes, all from 100 on, linear in between."""
    return 1 + int((states - 1) * min(max((count - 10) / 90, 0.0), 1.0))


class _Values(NamedTuple):
    """The distinct values of one template, increasing, and the weight of the nodes with each value; both (d,)."""

    values: IntArray
    nodes: FloatArray

    @staticmethod
    def of_templates(columns: IntArray, weight: FloatArray) -> list[_Values]:
        """Count the values of each of k templates; columns: (n, k), weight: (n,)."""
        several = (np.unique(column, return_inverse=True) for column in columns.T)
        return [_Values(values, np.bincount(which, weight).astype(np.float64)) for values, which in several]

    def __add__(self, other: _Values) -> _Values:  # type: ignore[override]
        """Add the counts of two columns."""
        values, place = np.unique(np.concatenate([self.values, other.values]), return_inverse=True)
        nodes = np.bincount(place, np.concatenate([self.nodes, other.nodes]), minlength=len(values))
        return _Values(values, np.asarray(nodes, dtype=np.float64))


def _places(columns: IntArray, tables: list[_Values]) -> IntArray:
    """Find the feature (n, k) of each template at n nodes, numbered through all tables; -1 for an unknown value.

    columns: (n, k) the values of the templates.
    Raises ValueError if there is not one table for each template."""
    check_column("features", columns, (len(columns), len(tables)), np.int64)
    places = np.empty(columns.shape, dtype=np.int64)
    first = 0
    for template, (values, _) in enumerate(tables):
        wanted = columns[:, template]
        place = np.searchsorted(values, wanted)
        is_known = place < len(values)
        is_known[is_known] = values[place[is_known]] == wanted[is_known]
        places[:, template] = np.where(is_known, first + place, -1)
        first += len(values)
    return places


def _indicators(columns: IntArray, tables: list[_Values], weight: FloatArray) -> scipy.sparse.csr_array:
    """Make the indicator vectors (n, d) of n nodes, from columns (n, k): the weight (n,) for each template's value.

    A value that a table lacks has no indicator."""
    places = _places(columns, tables)
    known = places >= 0
    ends = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
    size = sum(len(table.values) for table in tables)
    value = np.repeat(weight, np.diff(ends))
    return scipy.sparse.csr_array((value, places[known], ends), shape=(len(columns), size))


class SymbolEvidence(NamedTuple):
    """The values of the templates of a symbol's nodes, the sum n of the nodes' weights, and their number."""

    inside: list[_Values]
    outside: list[_Values]
    n: float
    n_nodes: int

    @staticmethod
    def of(features: FeatureColumns, nodes: IntArray, weight: FloatArray) -> SymbolEvidence:
        """Count the values that nodes (n,) have.

        nodes: (n,) the nodes of the symbol.
        weight: (n,) the weight of each."""
        inside = _Values.of_templates(features.inside[nodes], weight)
        outside = _Values.of_templates(features.outside[nodes], weight)
        return SymbolEvidence(inside, outside, float(weight.sum()), len(nodes))

    def __add__(self, other: SymbolEvidence) -> SymbolEvidence:  # type: ignore[override]
        """Add the evidence of two shards."""
        inside = [ours + theirs for ours, theirs in zip(self.inside, other.inside, strict=True)]
        outside = [ours + theirs for ours, theirs in zip(self.outside, other.outside, strict=True)]
        return SymbolEvidence(inside, outside, self.n + other.n, self.n_nodes + other.n_nodes)

    @property
    def inside_count(self) -> FloatArray:
        """Sum the weights of the nodes with each inside feature, (d,)."""
        return np.concatenate([table.nodes for table in self.inside])

    def scales(self, scaling: float | None) -> tuple[FloatArray, FloatArray]:
        """Compute the factors √(n / (count + κ)) of inside (d,) and outside (d',) features (slide 23)."""
        inside = self.inside_count
        outside = np.concatenate([table.nodes for table in self.outside])
        if scaling is None:
            return np.ones_like(inside), np.ones_like(outside)
        return np.sqrt(self.n / (inside + scaling)), np.sqrt(self.n / (outside + scaling))


def by_symbol(trees: SkeletalTrees) -> Iterator[tuple[int, IntArray]]:
    """Pair each symbol that occurs in trees with its nodes (n,)."""
    return ((a, nodes) for a, nodes in enumerate(trees.nodes_by_symbol()) if len(nodes))


def _evidence_of(shard: TreebankShard) -> dict[int, SymbolEvidence]:
    """Count the values of the templates for each symbol of a shard."""
    features = shard.features
    trees = shard.trees
    weight = shard.weight[trees.tree]
    return {a: SymbolEvidence.of(features, nodes, weight[nodes]) for a, nodes in by_symbol(trees)}


def _cross_counts(shard: TreebankShard, evidence: list[SymbolEvidence]) -> dict[int, scipy.sparse.csr_array]:
    """Count the pairs of an inside and an outside feature, (d, d'), for each symbol of a shard."""
    features = shard.features
    trees = shard.trees
    weight = shard.weight[trees.tree]
    counts = {}
    for a, nodes in by_symbol(trees):
        inside = _indicators(features.inside[nodes], evidence[a].inside, weight[nodes])
        outside = _indicators(features.outside[nodes], evidence[a].outside, np.ones(len(nodes)))
        counts[a] = (inside.T @ outside).tocsr()
    return counts


def _add_evidence(parts: Iterable[dict[int, SymbolEvidence]]) -> dict[int, SymbolEvidence]:
    """Add the evidence of all shards."""
    total: dict[int, SymbolEvidence] = {}
    for part in parts:
        for a, evidence in part.items():
            total[a] = total[a] + evidence if a in total else evidence
    return total


class _Maps(NamedTuple):
    """The maps of a symbol from indicators to y (d, m) and to z (d', m), and all σ (k,), of which m are used."""

    to_y: FloatArray
    to_z: FloatArray
    all_sigma: FloatArray

    @property
    def sigma(self) -> FloatArray:
        """The singular values that are used, (m,)."""
        return self.all_sigma[: self.to_y.shape[1]]


def _maps(symbol: tuple[SymbolEvidence, scipy.sparse.csr_array], options: ProjectionOptions) -> _Maps:
    """Decompose Ω̂ of a symbol, given its evidence and the counts (d, d') of pairs of features."""
    evidence, pairs = symbol
    if not evidence.n:  # only trees of weight 0 have the symbol
        return _Maps(np.zeros((pairs.shape[0], 1)), np.zeros((pairs.shape[1], 1)), np.zeros(1))
    inside, outside = evidence.scales(options.scaling)
    omega = (scipy.sparse.diags_array(inside) @ pairs @ scipy.sparse.diags_array(outside) / evidence.n).tocsr()
    u, sigma, v = truncated_svd(omega, states_for(evidence.n, options.n_states), options.seed)
    # Keep the large directions; turn each so that its numbers have a positive sum, whatever sign the algorithm gave.
    m = max(1, int(np.count_nonzero(sigma > options.cutoff_for(evidence.n) * sigma[0])))
    sign = np.where(u.sum(axis=0) < 0, -1.0, 1.0)[:m]
    inverse = np.divide(sign, sigma[:m], out=np.zeros(m), where=sigma[:m] > 0)
    to_y = np.ascontiguousarray(inside[:, None] * u[:, :m] * sign)
    to_z = np.ascontiguousarray(outside[:, None] * v[:, :m] * inverse)
    return _Maps(to_y, to_z, sigma)


class ProjectedTrees(NamedTuple):
    """Trees, and the projected inside and outside trees of their N nodes, padded with zeros to M states."""

    trees: SkeletalTrees
    y: FloatArray  # (N, M)
    z: FloatArray  # (N, M)


class Projection(NamedTuple):
    """The maps from the features of nodes to their projections."""

    evidence: list[SymbolEvidence]
    maps: list[_Maps]
    states: IntArray  # (S,) the dimensions of each symbol's projections
    supported: IntArray  # (S,) the number of states that each symbol's nodes support; see `states_for`
    options: ProjectionOptions

    @property
    def lowered(self) -> tuple[LoweredStates, ...]:
        """The symbols with fewer states than their nodes would support, because the rank of Ω̂ is too low."""
        found = []
        for a in np.flatnonzero(self.states < self.supported).tolist():
            sigma, kept = self.maps[a].all_sigma, int(self.states[a])
            # The default cutoff falls as the root of the number of nodes grows.
            falls = self.options.cutoff is None and len(sigma) > kept and sigma[kept] > _ROUNDING * sigma[0]
            times = float(sigma[0] / sigma[kept]) ** 2 / self.evidence[a].n if falls else np.inf
            found.append(LoweredStates(a, int(self.supported[a]), kept, times))
        return tuple(found)

    @property
    def singular_values(self) -> FloatArray:
        """The singular values of every symbol, (S, K), also those below `cutoff`; rounding errors are 0."""
        sigma = np.zeros((len(self.maps), max(len(maps.all_sigma) for maps in self.maps)))
        for row, maps in zip(sigma, self.maps, strict=True):
            row[: len(maps.all_sigma)] = maps.all_sigma
        return np.where(sigma > _ROUNDING * sigma[:, :1], sigma, 0.0)

    @staticmethod
    def learn(
        shards: Iterable[TreebankShard], options: ProjectionOptions, jobs: int | None = 1, listener: Listener = silent
    ) -> Projection:
        """Read the shards twice, and decompose Ω̂ of every symbol.

        The listener and, at level INFO, the log are told which symbols get fewer states than their nodes support.

        shards: the treebank, in which every symbol 0, 1, ... occurs.
        options: `n_states`, `scaling`, `cutoff` and `seed` are those of the projection."""
        evidence_of_symbol = _add_evidence(parallel_map(_evidence_of, shards, jobs))
        evidence = [evidence_of_symbol[a] for a in range(len(evidence_of_symbol))]
        listener(Progress("features", 1, 3))
        pairs: dict[int, scipy.sparse.csr_array] = {}
        for part in parallel_map(_cross_counts, shards, jobs, evidence):
            for a, counts in part.items():
                pairs[a] = pairs[a] + counts if a in pairs else counts
        listener(Progress("features", 2, 3))
        symbols = [(of_symbol, pairs.pop(a)) for a, of_symbol in enumerate(evidence)]
        maps = list(parallel_map(_maps, symbols, jobs, options))
        listener(Progress("features", 3, 3))
        states = np.array([len(of_symbol.sigma) for of_symbol in maps], dtype=np.int64)
        supported = np.array([states_for(of_symbol.n, options.n_states) for of_symbol in evidence], dtype=np.int64)
        projection = Projection(evidence, maps, states, supported, options)
        listener(Progress("projections", 1, 1, lowered=projection.lowered))
        if projection.lowered:
            told = ", ".join(f"{a} ({most} to {kept})" for a, most, kept, _ in projection.lowered)
            _log.info("singular values below the cutoff: states lowered of symbols %s", told)
        return projection

    def project(self, shard: TreebankShard) -> ProjectedTrees:
        """Project the nodes of a shard.  A feature that was not seen in training counts as absent.

        Raises ValueError if the shard has other templates than the training data."""
        trees = shard.trees
        features = shard.features
        y, z = np.zeros((2, trees.n_nodes, int(self.states.max())))
        for a, nodes in by_symbol(trees):
            evidence = self.evidence[a]
            maps = self.maps[a]
            m = self.states[a]
            y[nodes, :m] = _indicators(features.inside[nodes], evidence.inside, np.ones(len(nodes))) @ maps.to_y
            z[nodes, :m] = _indicators(features.outside[nodes], evidence.outside, np.ones(len(nodes))) @ maps.to_z
        return ProjectedTrees(trees, y, z)
