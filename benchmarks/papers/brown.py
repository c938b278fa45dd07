"""Brown clusters of types: hard classes that tell as much as possible about the next class.

| here | Brown et al. 1992, section 3 | meaning |
| --- | --- | --- |
| `counts[c, d]` | C(c d) | how often a word of cluster d follows one of cluster c |
| `before[c]`, `after[c]` | Σ_d C(c d), Σ_d C(d c) | over the whole corpus, also what is not yet clustered |
| w(c, d) | N q_k(c, d) | C(c d) log(C(c d) N / (before_c after_d)): N times its share of mutual information |
| `loss[i, j]` | N L_k(i, j) | mutual information lost by making clusters i and j one |

The m most frequent types are the first clusters.  Every further type becomes a cluster, and the two clusters whose
merging loses least are made one (Brown et al., end of section 3; Liang 2005).  The loss of a pair is a sum over
clusters, so that a merge and a new cluster change it in a constant number of terms: O(m²) per type.

The boundary of sentences is a cluster of its own, slot 0, which is never merged: it precedes first words and follows
last words.  Then N times the mutual information, less the entropy of types, is the log-likelihood of the hidden Markov
model of relative frequencies whose states are the clusters, with its beginnings and ends.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import sparse

from spectral_latent._compiled import check_range, compiled, compiled_part
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.trees import FloatArray, IntArray

__all__ = ["find_brown_clusters"]

_TIE = 1e-7  # losses, in nats over the whole corpus, that differ by less are equal


def find_brown_clusters(sequences: Sequences, n_types: int, n_clusters: int) -> IntArray:
    """Find the cluster (n,) of each of n types.

    NodeClusters are numbered by their first types.  Of pairs that lose equally little, the one with the lowest place in
    the table is merged.  If there are no more types than clusters, each type is a cluster.

    Raises ValueError if a type of the sequences is not below n, or m is less than 1.

    >>> chase = Sequences.of([[0, 2, 3, 4, 2], [1, 2, 3, 5, 2], [0, 4, 3, 1, 4], [1, 4, 3, 5, 4]])
    >>> find_brown_clusters(chase, n_types=6, n_clusters=3)
    array([0, 0, 1, 2, 1, 0])
    """
    if n_clusters < 1:
        raise ValueError(f"n_clusters must be at least 1, not {n_clusters}")
    if n_types <= n_clusters:
        return np.arange(n_types)
    x = sequences.terminal
    check_range("types of sequences", x, 0, n_types)
    # Type x is x + 1 in the table of bigrams, and the boundary 0.
    first = x[sequences.start[:-1]] + 1
    before = np.concatenate([x + 1, np.zeros_like(first)])
    after = np.concatenate([sequences.shift(x, 1) + 1, first])
    shape = (n_types + 1, n_types + 1)
    by_row = sparse.csr_array(sparse.coo_array((np.ones(len(before)), (before, after)), shape=shape))
    places = _Places.allocate(n_types + 1, n_clusters + 1)
    clusters = _Clusters.allocate(n_clusters + 1, len(before))
    _cluster(_lists(by_row), _lists(sparse.csr_array(by_row.T)), places, clusters)
    _, earliest, number = np.unique(places.slot[1:], return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(earliest))[number], dtype=np.int64)


class _SparseRows(NamedTuple):
    """The rows of a sparse table: row x has counts[e] in column[e] for start[x] <= e < start[x + 1]."""

    start: IntArray
    column: IntArray
    counts: FloatArray
    total: FloatArray  # the sum of each row


def _lists(table: sparse.csr_array) -> _SparseRows:
    """Give the rows of a sparse table to compiled code."""
    total = np.asarray(table.sum(axis=1), dtype=np.float64)
    return _SparseRows(table.indptr.astype(np.int64), table.indices.astype(np.int64), table.data, total)


class _Places(NamedTuple):
    """The slot of the cluster of each of n types, which compiled code fills in."""

    parent: IntArray  # (n,) of a type: itself, or a type of the cluster that its own was merged into
    slot: IntArray  # (n,) of a type that stands for its cluster: the cluster's slot; of every type in the end
    owner: IntArray  # (m + 1,) the type that stands for the cluster in each slot

    @classmethod
    def allocate(cls, n: int, m: int) -> _Places:
        """Make the places of n types that are no clusters yet."""
        return cls(np.arange(n), np.zeros(n, dtype=np.int64), np.zeros(m + 1, dtype=np.int64))


class _Clusters(NamedTuple):
    """Counts and losses of up to m + 1 clusters, in the notation of this module; slots that are free hold zeros."""

    counts: FloatArray  # (m + 1, m + 1)
    before: FloatArray  # (m + 1,)
    after: FloatArray  # (m + 1,)
    loss: FloatArray  # (m + 1, m + 1), symmetric
    total: float

    @classmethod
    def allocate(cls, m: int, total: int) -> _Clusters:
        """Make m + 1 free slots for a corpus of so many bigrams."""
        square = (m + 1, m + 1)
        return cls(np.zeros(square), np.zeros(m + 1), np.zeros(m + 1), np.zeros(square), float(total))


@compiled_part
def _weight(clusters: _Clusters, count: float, before: float, after: float) -> float:
    """Compute w, N times the share of the mutual information that a pair of clusters has."""
    return count * math.log(count * clusters.total / (before * after)) if count > 0.0 else 0.0


@compiled_part
def _term(clusters: _Clusters, i: int, j: int, d: int) -> float:
    """Compute the term of cluster d, neither i nor j, in loss[i, j]: w(i, d) + w(j, d) - w(i ∪ j, d) and its mirror."""
    count = clusters.counts
    before = clusters.before
    after = clusters.after
    return (
        _weight(clusters, count[i, d], before[i], after[d])
        + _weight(clusters, count[j, d], before[j], after[d])
        - _weight(clusters, count[i, d] + count[j, d], before[i] + before[j], after[d])
        + _weight(clusters, count[d, i], before[d], after[i])
        + _weight(clusters, count[d, j], before[d], after[j])
        - _weight(clusters, count[d, i] + count[d, j], before[d], after[i] + after[j])
    )


@compiled_part
def _set_losses(clusters: _Clusters, used: int, i: int) -> None:
    """Compute loss[i, j] and loss[j, i] anew for all clusters 0 < j < used."""
    count = clusters.counts
    before = clusters.before
    after = clusters.after
    for j in range(1, used):
        if j == i:
            continue
        # Bigrams inside the pair: four weights become one.
        loss = 0.0
        for a in (i, j):
            for b in (i, j):
                loss += _weight(clusters, count[a, b], before[a], after[b])
        within = count[i, i] + count[i, j] + count[j, i] + count[j, j]
        loss -= _weight(clusters, within, before[i] + before[j], after[i] + after[j])
        # Bigrams of the pair with every other cluster, the boundary included.
        for d in range(used):
            if d not in (i, j):
                loss += _term(clusters, i, j, d)
        clusters.loss[i, j] = loss
        clusters.loss[j, i] = loss


@compiled_part
def _add_terms(clusters: _Clusters, d: int, other: int, used: int, sign: float) -> None:
    """Add ± the term of cluster d to the losses of all pairs of clusters 0 < i < j < used but d and `other`.

    The counts of d have changed or are about to change.  Losses of d itself are computed anew afterwards, and `other`
    is the slot that d is merged with, or d itself.
    """
    for i in range(1, used):
        if i in (d, other):
            continue
        for j in range(i + 1, used):
            if j not in (d, other):
                clusters.loss[i, j] += sign * _term(clusters, i, j, d)
                clusters.loss[j, i] = clusters.loss[i, j]


@compiled_part
def _root(parent: IntArray, x: int) -> int:
    """Find the type that stands for the cluster of type x; paths are halved on the way."""
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = parent[x]
    return x


@compiled_part
def _add_cluster(
    rows: _SparseRows, columns: _SparseRows, places: _Places, clusters: _Clusters, x: int, free: int
) -> None:
    """Make type x a cluster in the free slot, with its bigrams of types up to x."""
    places.slot[x] = free
    places.owner[free] = x
    clusters.before[free] = rows.total[x]
    clusters.after[free] = columns.total[x]
    for e in range(rows.start[x], rows.start[x + 1]):
        if rows.column[e] <= x:
            clusters.counts[free, places.slot[_root(places.parent, rows.column[e])]] += rows.counts[e]
    for e in range(columns.start[x], columns.start[x + 1]):
        if columns.column[e] < x:
            clusters.counts[places.slot[_root(places.parent, columns.column[e])], free] += columns.counts[e]


@compiled_part
def _cheapest_pair(loss: FloatArray) -> tuple[int, int]:
    """Find the pair of clusters 0 < a < b whose merging loses least."""
    a, b = 1, 2
    for i in range(1, len(loss)):
        for j in range(i + 1, len(loss)):
            if loss[i, j] < loss[a, b] - _TIE:
                a, b = i, j
    return a, b


@compiled_part
def _merge(clusters: _Clusters, a: int, b: int) -> None:
    """Merge cluster b into a; slot b is free afterwards."""
    used = len(clusters.before)
    # The terms of a and of b leave all other losses.
    _add_terms(clusters, a, b, used, -1.0)
    _add_terms(clusters, b, a, used, -1.0)
    counts = clusters.counts
    for d in range(used):
        counts[a, d] += counts[b, d]
        counts[b, d] = 0.0
    for d in range(used):
        counts[d, a] += counts[d, b]
        counts[d, b] = 0.0
    clusters.before[a] += clusters.before[b]
    clusters.after[a] += clusters.after[b]
    clusters.before[b] = 0.0
    clusters.after[b] = 0.0
    # The terms of the merged cluster enter, and its own losses are computed anew.
    _add_terms(clusters, a, b, used, 1.0)
    _set_losses(clusters, used, a)


@compiled
def _cluster(rows: _SparseRows, columns: _SparseRows, places: _Places, clusters: _Clusters) -> None:
    """Find the slot 0 ... m of each type's cluster; m counts the boundary, which is type 0 and cluster 0."""
    m = len(clusters.before) - 1
    free = 0
    for x in range(len(places.parent)):
        _add_cluster(rows, columns, places, clusters, x, free)
        # Fewer than m clusters: wait.  Exactly m: all losses at once.
        if x < m - 1:
            free += 1
            continue
        if x == m - 1:
            for i in range(1, m):
                _set_losses(clusters, m, i)
            free = m
            continue
        # One cluster too many: bring in its terms and losses, and merge the pair that loses least.
        _add_terms(clusters, free, free, m + 1, 1.0)
        _set_losses(clusters, m + 1, free)
        a, b = _cheapest_pair(clusters.loss)
        _merge(clusters, a, b)
        places.parent[places.owner[b]] = places.owner[a]
        free = b
    for x in range(len(places.parent)):
        places.slot[x] = places.slot[_root(places.parent, x)]
