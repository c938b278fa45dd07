"""Convex hulls: which rows are corners, and which mixture of the corners every row is.

| here | Stratos et al. 2016, Figure 1 | meaning |
| --- | --- | --- |
| `anchors` | a_h | rows found greedily, each the farthest from the span of those before |
| `vertices` | C = [A_a1 ... A_am] | the rows of the corners, (k, d) |
| `convex_weights` | B_x (equation 1) | arg min over u ≥ 0, Σ u = 1 of ‖A_x - Σ_h u_h A_ah‖² |

The arg min is found exactly, by an active-set method (Wolfe 1976, "Finding the nearest point in a polytope"): on a
face of the simplex the minimum is the solution of a linear system, and the next face is the one towards the vertex of
lowest gradient.  The duality gap, which bounds the excess over the minimum, is returned with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from spectral_latent.trees import FloatArray, IntArray

__all__ = ["ConvexWeights", "anchors", "convex_weights"]

_TOLERANCE = 1e-14  # duality gap at which a point is done, relative to its squared distance from the vertices
_TIE = 1e-9  # squared distances this close, relatively, are equal

_compiled = njit(cache=True, nogil=True)


class ConvexWeights(NamedTuple):
    """Mixtures of k vertices for n points."""

    weights: FloatArray  # (n, k): non-negative, rows sum to one
    gap: FloatArray  # (n,): the squared distance is at most this much above the least possible


@_compiled
def _affine_minimum(gram: FloatArray, towards: FloatArray, face: IntArray, out: FloatArray) -> bool:
    """out = arg min of ‖Σ out_i v_i - p‖² over Σ out = 1, i in the face; False if its vertices are dependent.

    With differences d_i = v_i - v_0 that is the linear system (d_i · d_j) out_j = d_i · (p - v_0), i > 0.
    """
    n, first = len(face) - 1, face[0]
    factor, solution = np.empty((n, n)), np.empty(n)
    for i in range(n):
        a = face[i + 1]
        value = towards[a] - towards[first] - gram[a, first] + gram[first, first]
        for j in range(i + 1):
            b = face[j + 1]
            entry = gram[a, b] - gram[a, first] - gram[b, first] + gram[first, first]
            size = entry
            for k in range(j):
                entry -= factor[i, k] * factor[j, k]
            if j < i:
                factor[i, j] = entry / factor[j, j]
                value -= factor[i, j] * solution[j]
            elif entry <= 1e-13 * max(size, gram[first, first]):
                return False
            else:
                factor[i, i] = np.sqrt(entry)
        solution[i] = value / factor[i, i]
    out[first] = 1.0
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            solution[i] -= factor[k, i] * solution[k]
        solution[i] /= factor[i, i]
        out[face[i + 1]] = solution[i]
        out[first] -= solution[i]
    return True


@_compiled
def _descend(gram: FloatArray, towards: FloatArray, weights: FloatArray, face: IntArray) -> None:
    """Move the weights to the minimum on their face, or on the part of it that a straight line reaches first."""
    target = np.zeros(len(weights))
    while _affine_minimum(gram, towards, face, target):
        step, leaving = 1.0, -1
        for i in face:
            if target[i] < 0.0 and weights[i] <= step * (weights[i] - target[i]):
                step, leaving = weights[i] / (weights[i] - target[i]), i
        for i in face:
            weights[i] += step * (target[i] - weights[i])
        if leaving < 0:
            break
        weights[leaving] = 0.0
        face = face[weights[face] > 0.0]
    weights[:] = np.maximum(weights, 0.0)
    weights /= weights.sum()


@_compiled
def _nearest(gram: FloatArray, towards: FloatArray, weights: FloatArray) -> None:
    """weights = arg min over the simplex of wᵀ gram w - 2 towards · w."""
    k = len(weights)
    limit = _TOLERANCE * (np.diag(gram).max() + np.abs(towards).max())
    start = np.argmin(np.diag(gram) - 2.0 * towards)
    weights[:] = 0.0
    weights[start] = 1.0
    for _ in range(10 * k):
        gradient = gram @ weights - towards
        best = np.argmin(gradient)
        if weights @ gradient - gradient[best] <= limit or weights[best] > 0.0:
            break
        face = np.append(np.flatnonzero(weights > 0.0), best)
        _descend(gram, towards, weights, face)


@_compiled
def _nearest_all(gram: FloatArray, towards: FloatArray) -> FloatArray:
    """`_nearest` for every row of `towards` (n, k)."""
    weights = np.empty_like(towards)
    for i in range(len(towards)):
        _nearest(gram, towards[i], weights[i])
    return weights


def anchors(rows: FloatArray, frequency: FloatArray, count: int, cutoff: float = 1e-6) -> IntArray:
    """stub"""
    order = np.argsort(-frequency, kind="stable")
    rest = rows[order]
    found: list[int] = []
    largest = 0.0
    while len(found) < count:
        distance = np.einsum("id,id->i", rest, rest)
        furthest = int(np.argmax(distance >= (1 - _TIE) * distance.max()))
        largest = max(largest, distance[furthest])
        if found and distance[furthest] <= cutoff**2 * largest:
            break
        found.append(order[furthest])
        if distance[furthest] == 0.0:
            break
        direction = rest[furthest] / np.sqrt(distance[furthest])
        rest = rest - np.outer(rest @ direction, direction)
    return np.array(found)


def convex_weights(points: FloatArray, vertices: FloatArray) -> ConvexWeights:
    """The mixtures of `vertices` (k, d) that come nearest to `points` (n, d).

    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> convex_weights(np.array([[0.25, 0.5], [2.0, 0.0], [1.0, 1.0]]), square).weights
    array([[0.25, 0.25, 0.5 ],
           [0.  , 1.  , 0.  ],
           [0.  , 0.5 , 0.5 ]])
    """
    centre = vertices.mean(axis=0)  # Σ w = 1, so that all may be moved
    corners, points = vertices - centre, points - centre
    scale = max(float(np.abs(corners).max(initial=0.0)), 1e-300)
    corners, points = corners / scale, points / scale
    gram, towards = corners @ corners.T, points @ corners.T
    weights = _nearest_all(gram, towards)
    gradient = 2.0 * (weights @ gram - towards)
    gap = (weights * gradient).sum(axis=1) - gradient.min(axis=1)
    return ConvexWeights(weights, np.maximum(gap, 0.0) * scale**2)
