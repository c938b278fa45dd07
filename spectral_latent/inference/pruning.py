"""Forests made smaller: what a cheap grammar finds unlikely, a dear one need not weigh."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from spectral_latent.trees import BoolArray, FloatArray, Forest, IntArray

__all__ = ["Pruned", "pruned"]


class Pruned(NamedTuple):
    """A part of a forest, and the items (I',) and edges (E',) of the whole that are its own, in their order."""

    forest: Forest
    items: IntArray
    edges: IntArray


@njit(cache=True, nogil=True)
def _mark(forest: Forest, weights: FloatArray, threshold: float) -> tuple[BoolArray, BoolArray]:
    """Items and edges to keep: from the roots down, edges above the threshold, or the best of an item."""
    items = np.zeros(len(forest.symbol), dtype=np.bool_)
    edges = np.zeros(len(weights), dtype=np.bool_)
    best_root, most = -1, -1.0
    for root in forest.root:
        total = 0.0
        for e in range(forest.start[root], forest.start[root + 1]):
            total += weights[e]
        items[root] = total > threshold
        if total > most:
            best_root, most = root, total
    if best_root >= 0:
        items[best_root] = True
    for item in range(len(forest.symbol) - 1, -1, -1):
        if not items[item]:
            continue
        best, most, is_kept = -1, -1.0, False
        for e in range(forest.start[item], forest.start[item + 1]):
            edges[e] = weights[e] > threshold
            is_kept |= edges[e]
            if weights[e] > most:
                best, most = e, weights[e]
        if not is_kept and best >= 0:
            edges[best] = True
        for e in range(forest.start[item], forest.start[item + 1]):
            if edges[e] and forest.left[e] >= 0:
                items[forest.left[e]] = True
            if edges[e] and forest.right[e] >= 0:
                items[forest.right[e]] = True
    return items, edges


def pruned(forest: Forest, weights: FloatArray, threshold: float) -> Pruned:
    """A one-component forest without the edges whose weight (E,) is not above the threshold.

    An item that is reached keeps its best edge at least; the best root is always kept.

    >>> forest = Forest(
    ...     symbol=np.array([0, 1, 2]), start=np.array([0, 2, 3, 4]), rule=np.array([0, 1, 2, 0]),
    ...     left=np.array([-1, -1, -1, 0]), right=np.array([-1, -1, -1, 1]),
    ...     root=np.array([2]), component=np.array([0]))
    >>> pruned(forest, np.array([0.1, 0.9, 1.0, 1.0]), 0.5).forest.rule
    array([1, 2, 0])
    """
    has_item, has_edge = _mark(forest, weights, threshold)
    items, edges = np.flatnonzero(has_item), np.flatnonzero(has_edge)
    number = np.append(np.cumsum(has_item) - 1, -1)  # its last entry is that of no child
    start = np.searchsorted(edges, forest.start[np.append(items, forest.n_items)])
    root = forest.root[has_item[forest.root]]
    smaller = Forest(
        forest.symbol[items],
        start,
        forest.rule[edges],
        number[forest.left[edges]],
        number[forest.right[edges]],
        number[root],
        np.zeros(len(root), dtype=np.int64),
    )
    return Pruned(smaller, items, edges)
