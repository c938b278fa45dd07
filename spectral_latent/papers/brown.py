"""Brown clusters of types: hard classes that tell as much as possible about the next class.

| here | Brown et al. 1992, section 3 | meaning |
| --- | --- | --- |
| `count[c, d]` | C(c d) | how often a word of cluster d follows one of cluster c |
| `before[c]`, `after[c]` | Σ_d C(c d), Σ_d C(d c) | over the whole corpus, also what is not yet clustered |
| w(c, d) | N q_k(c, d) | C(c d) log(C(c d) N / (before_c after_d)): N times its share of mutual information |
| `loss[i, j]` | N L_k(i, j) | mutual information lost by making clusters i and j one |

The m most frequent types are clusters; every further one becomes a cluster, and the two whose merging loses least
are made one (the same, end of section 3; Liang 2005).  The loss of a pair is a sum over clusters, so that a merge and
a new cluster change it in a constant number of terms: O(m²) per type.

The boundary of sentences is a cluster of its own, slot 0, which is never merged: it precedes first words and follows
last ones.  Then N times the mutual information, less the entropy of types, is the log-likelihood of the hidden Markov
model of relative frequencies whose states are the clusters, with its beginnings and ends.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse

from spectral_latent._compiled import check_range, compiled
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.trees import FloatArray, IntArray

__all__ = ["brown_clusters"]

_TIE = 1e-7  # losses, in nats over the whole corpus, that differ by less are equal


def brown_clusters(sequences: Sequences, n_types: int, clusters: int) -> IntArray:
    """The cluster (n,) of each of n types, which are numbered by falling frequency: types 0 ... n-1 come in order.

    Raises ValueError if a type of the sequences is none of the n.

    Clusters are numbered by their first types.  Of pairs that lose equally little, the one with the lowest place in
    the table is merged.  With no more types than clusters, each is its own.

    >>> chase = Sequences.of([[0, 2, 3, 4, 2], [1, 2, 3, 5, 2], [0, 4, 3, 1, 4], [1, 4, 3, 5, 4]])
    >>> brown_clusters(chase, n_types=6, clusters=3)
    array([0, 0, 1, 2, 1, 0])
    """
    if clusters < 1:
        raise ValueError(f"clusters must be at least 1, not {clusters}")
    if n_types <= clusters:
        return np.arange(n_types)
    x, first = sequences.terminal, sequences.terminal[sequences.start[:-1]]
    check_range("types of sequences", x, 0, n_types)
    pair = (  # type x is x + 1, and the boundary 0
        np.concatenate([x + 1, np.zeros_like(first)]),
        np.concatenate([sequences.shifted(x, 1) + 1, first + 1]),
    )
    table = sparse.csr_array(sparse.coo_array((np.ones(len(pair[0])), pair), shape=(n_types + 1, n_types + 1)))
    turned = sparse.csr_array(table.T)
    slot = _clustered(
        clusters + 1,
        table.indptr.astype(np.int64),
        table.indices.astype(np.int64),
        table.data,
        turned.indptr.astype(np.int64),
        turned.indices.astype(np.int64),
        turned.data,
    )
    _, earliest, number = np.unique(slot[1:], return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(earliest))[number], dtype=np.int64)


@compiled
def _share(count: float, before: float, after: float, total: float) -> float:
    """w of the head of this module."""
    return count * math.log(count * total / (before * after)) if count > 0.0 else 0.0


@compiled
def _term(count: FloatArray, before: FloatArray, after: FloatArray, total: float, i: int, j: int, d: int) -> float:
    """What cluster d, neither i nor j, adds to loss[i, j]."""
    return (
        _share(count[i, d], before[i], after[d], total)
        + _share(count[j, d], before[j], after[d], total)
        - _share(count[i, d] + count[j, d], before[i] + before[j], after[d], total)
        + _share(count[d, i], before[d], after[i], total)
        + _share(count[d, j], before[d], after[j], total)
        - _share(count[d, i] + count[d, j], before[d], after[i] + after[j], total)
    )


@compiled
def _losses_of(
    count: FloatArray, before: FloatArray, after: FloatArray, total: float, loss: FloatArray, used: int, i: int
) -> None:
    """Fill in loss[i, j] and loss[j, i] of all clusters 0 < j < used."""
    for j in range(1, used):
        if j == i:
            continue
        whole = 0.0
        for a in (i, j):
            for b in (i, j):
                whole += _share(count[a, b], before[a], after[b], total)
        within = count[i, i] + count[i, j] + count[j, i] + count[j, j]
        whole -= _share(within, before[i] + before[j], after[i] + after[j], total)
        for d in range(used):
            if d not in (i, j):
                whole += _term(count, before, after, total, i, j, d)
        loss[i, j] = loss[j, i] = whole


@compiled
def _add_terms(
    count: FloatArray,
    before: FloatArray,
    after: FloatArray,
    total: float,
    loss: FloatArray,
    d: int,
    other: int,
    used: int,
    sign: float,
) -> None:
    """loss[i, j] ± the term of d, for all 0 < i, j < used that are neither d nor `other`."""
    for i in range(1, used):
        if i in (d, other):
            continue
        for j in range(i + 1, used):
            if j not in (d, other):
                loss[i, j] += sign * _term(count, before, after, total, i, j, d)
                loss[j, i] = loss[i, j]


@compiled
def _root(parent: IntArray, x: int) -> int:
    """The type that stands for the cluster of type x; paths are halved on the way."""
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = parent[x]
    return x


@compiled
def _clustered(
    m: int,
    row_start: IntArray,
    row_column: IntArray,
    row_count: FloatArray,
    column_start: IntArray,
    column_row: IntArray,
    column_count: FloatArray,
) -> IntArray:
    """The slot 0 ... m of each type's cluster, from the bigrams by rows and by columns.

    The first of the m clusters is the boundary, type 0; there are n > m types with it.
    """
    n, total = len(row_start) - 1, row_count.sum()
    count, loss = np.zeros((m + 1, m + 1)), np.zeros((m + 1, m + 1))
    before, after = np.zeros(m + 1), np.zeros(m + 1)
    parent, slot, owner = np.arange(n), np.zeros(n, dtype=np.int64), np.zeros(m + 1, dtype=np.int64)
    free = 0
    for x in range(n):
        # Type x becomes a cluster in the free slot, with its bigrams of types up to x.
        slot[x], owner[free] = free, x
        before[free] = row_count[row_start[x] : row_start[x + 1]].sum()
        after[free] = column_count[column_start[x] : column_start[x + 1]].sum()
        for e in range(row_start[x], row_start[x + 1]):
            if row_column[e] <= x:
                count[free, slot[_root(parent, row_column[e])]] += row_count[e]
        for e in range(column_start[x], column_start[x + 1]):
            if column_row[e] < x:
                count[slot[_root(parent, column_row[e])], free] += column_count[e]
        if x < m - 1:
            free += 1
            continue
        # The first m clusters: all losses at once.
        if x == m - 1:
            for i in range(1, m):
                _losses_of(count, before, after, total, loss, m, i)
            free = m
            continue
        # One cluster too many: losses with it, and the pair that loses least.
        _add_terms(count, before, after, total, loss, free, -1, m + 1, 1.0)
        _losses_of(count, before, after, total, loss, m + 1, free)
        a, b = 1, 2
        for i in range(1, m + 1):
            for j in range(i + 1, m + 1):
                if loss[i, j] < loss[a, b] - _TIE:
                    a, b = i, j
        # Merge b into a: their terms leave all other losses, and that of the merged cluster enters.
        _add_terms(count, before, after, total, loss, a, b, m + 1, -1.0)
        _add_terms(count, before, after, total, loss, b, a, m + 1, -1.0)
        count[a] += count[b]
        count[:, a] += count[:, b]
        before[a] += before[b]
        after[a] += after[b]
        count[b], count[:, b], before[b], after[b] = 0.0, 0.0, 0.0, 0.0
        _add_terms(count, before, after, total, loss, a, b, m + 1, 1.0)
        _losses_of(count, before, after, total, loss, m + 1, a)
        parent[owner[b]] = owner[a]
        free = b
    for x in range(n):
        slot[x] = slot[_root(parent, x)]
    return slot
