"""Find the corners of the convex hull of rows, and write every row as a mixture of the corners.

| here | Stratos et al. 2016, Figure 1 | meaning |
| --- | --- | --- |
| `anchors` | a_1 ... a_m | rows found greedily, each the farthest from the span of those before |
| `corners` | C = [A_a1 ... A_am] | the rows at the corners of the hull, (k, d) |
| `weights` | B_x (equation 1) | arg min over u ≥ 0, Σ u = 1 of ‖A_x - Σ_h u_h C_h‖², (n, k) |

The arg min is found by the active-set method of Wolfe 1976 ("Finding the nearest point in a polytope"), which ends at
the exact solution.  The minimum over a face of the simplex solves a linear system.  While the face is not the right
one, the search adds the corner with the lowest gradient.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spectral_latent._compiled import TINY, compiled, compiled_part
from spectral_latent.trees import FloatArray, IntArray

_ROUNDING = 1e-13  # the relative size of rounding errors
_TIE = 1e-9  # squared distances count as equal if they differ by less than this share


def anchors(
    rows: FloatArray, frequency: FloatArray, count: int, *, least: float = 0.0, cutoff: float = 1e-6
) -> IntArray:
    """Find up to `count` rows one by one; each is the row farthest from the span of the rows before.

    Of rows at the same distance the most frequent is taken, and of equally frequent rows the first.  The search ends
    when the distance is at most `cutoff` times the first distance.

    rows: (n, d) the rows.
    frequency: (n,) the number of observations of each row; rows below `least` are not candidates, unless all are below.
    Raises ValueError if there are no rows, or if the shapes differ."""
    if np.ndim(rows) != 2 or not len(rows) or np.shape(frequency) != (len(rows),):
        raise ValueError(f"rows of shape {np.shape(rows)} and frequencies of {np.shape(frequency)}: give (n, d), (n,)")
    candidates = np.flatnonzero(frequency >= min(least, frequency.max()))
    candidates = candidates[np.argsort(-frequency[candidates], kind="stable")]
    rest = rows[candidates] / max(float(np.abs(rows).max(initial=0.0)), TINY)
    chosen: list[int] = []
    lowest = -1.0
    while len(chosen) < count:
        squares = np.einsum("id,id->i", rest, rest)
        farthest = int(np.argmax(squares >= (1.0 - _TIE) * squares.max()))
        if squares[farthest] <= lowest:
            break
        if not chosen:
            lowest = cutoff**2 * squares[farthest]
        chosen.append(farthest)
        direction = rest[farthest] / np.sqrt(max(squares[farthest], TINY))
        rest = rest - np.outer(rest @ direction, direction)
    return candidates[chosen]


class _FaceWorkspace(NamedTuple):
    """Room that is made once for all points.

    face: (k,) the corners of a face.
    target: (k,) the weights of the minimum over the face.
    factor: (k, k) the Cholesky factor of the equations of this minimum.
    solution: (k,) the solution of the equations."""

    face: IntArray
    target: FloatArray
    factor: FloatArray
    solution: FloatArray

    @staticmethod
    def allocate(k: int) -> _FaceWorkspace:
        """Make room for k corners."""
        return _FaceWorkspace(np.empty(k, dtype=np.int64), np.empty(k), np.empty((k, k)), np.empty(k))


@compiled_part
def _face_minimum(gram: FloatArray, product: FloatArray, size: int, room: _FaceWorkspace) -> bool:
    """Set target[face] to arg min of ‖Σ w_i c_i - p‖² over Σ w_i = 1; False if the corners of the face are dependent.

    With d_i = c_i - c_0 the minimum solves Σ_j (d_i · d_j) w_j = d_i · (p - c_0), i > 0, by Cholesky factors.

    gram: (k, k) the inner products of the corners.
    product: (k,) the inner products of the corners with the point."""
    face, target, factor, solution = room
    n = size - 1
    o = face[0]
    # Compute the factor row by row, and solve the first triangular system with each row.
    for i in range(n):
        a = face[i + 1]
        right = product[a] - product[o] - gram[a, o] + gram[o, o]
        for j in range(i + 1):
            b = face[j + 1]
            entry = gram[a, b] - gram[a, o] - gram[b, o] + gram[o, o]
            for k in range(j):
                entry -= factor[i, k] * factor[j, k]
            if j < i:
                factor[i, j] = entry / factor[j, j]
                right -= factor[i, j] * solution[j]
            elif entry <= _ROUNDING * (gram[a, a] + gram[o, o]):
                return False
            else:
                factor[i, i] = np.sqrt(entry)
        solution[i] = right / factor[i, i]
    # Solve the second triangular system, with the transposed factor, backwards.
    target[o] = 1.0
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            solution[i] -= factor[k, i] * solution[k]
        solution[i] /= factor[i, i]
        target[face[i + 1]] = solution[i]
        target[o] -= solution[i]
    return True


@compiled_part
def _positive(weights: FloatArray, face: IntArray, size: int) -> int:
    """Keep those of the first corners of a face (k,) whose weights (k,) are positive, and return their number."""
    kept = 0
    for at in range(size):
        if weights[face[at]] > 0.0:
            face[kept] = face[at]
            kept += 1
    return kept


@compiled_part
def _start(gram: FloatArray, product: FloatArray, weights: FloatArray, room: _FaceWorkspace) -> None:
    """Find the minimum over a face by dropping negative weights (k,); the nearest corner if corners are dependent."""
    face, target = room.face, room.target
    # Begin with the face of all corners, and drop corners until no weight is negative.
    size = len(weights)
    for a in range(size):
        face[a] = a
    while size > 0 and _face_minimum(gram, product, size, room):
        kept = _positive(target, face, size)
        if kept == size:
            for at in range(size):
                weights[face[at]] = target[face[at]]
            return
        size = kept
    # The corners of the face are dependent: take the nearest corner, by squared distances up to a common constant.
    nearest = 0
    for a in range(len(weights)):
        if gram[a, a] - 2.0 * product[a] < gram[nearest, nearest] - 2.0 * product[nearest]:
            nearest = a
    weights[nearest] = 1.0


@compiled_part
def _descend(gram: FloatArray, product: FloatArray, weights: FloatArray, size: int, room: _FaceWorkspace) -> None:
    """Move weights (k,) straight to the minimum over the face; if one reaches zero, continue without its corner."""
    face, target = room.face, room.target
    while size > 0 and _face_minimum(gram, product, size, room):
        # Find the longest step that makes no weight negative, and the corner whose weight then is zero.
        step = 1.0
        leaving = -1
        for at in range(size):
            i = face[at]
            if target[i] < 0.0 and weights[i] <= step * (weights[i] - target[i]):
                step = weights[i] / (weights[i] - target[i])
                leaving = i
        for at in range(size):
            i = face[at]
            weights[i] += step * (target[i] - weights[i])
            if weights[i] < 0.0:
                weights[i] = 0.0
        if leaving < 0:
            break
        weights[leaving] = 0.0
        size = _positive(weights, face, size)


@compiled
def _find_weights(
    gram: FloatArray, products: FloatArray, magnitude: FloatArray, weights: FloatArray, room: _FaceWorkspace
) -> None:
    """Find arg min of wᵀ gram w - 2 product · w over the simplex for every product.

    gram: (k, k) the inner products of the corners.
    products: (n, k) the inner products of the corners with each point.
    magnitude: (n,) the magnitude of the numbers of a gradient; rounding errors are relative to it.
    weights: (n, k) zeros; get the weights."""
    n_corners = len(gram)
    for point in range(len(weights)):
        product = products[point]
        w = weights[point]
        _start(gram, product, w, room)
        # Add the corner with the lowest gradient, until no gradient is lower than that of the present weights.
        for _ in range(10 * n_corners):
            best = 0
            lowest = mean = 0.0
            for a in range(n_corners):
                gradient = -product[a]
                for b in range(n_corners):
                    gradient += gram[a, b] * w[b]
                mean += w[a] * gradient
                if a == 0 or gradient < lowest:
                    lowest = gradient
                    best = a
            if w[best] > 0.0 or mean - lowest <= _ROUNDING * magnitude[point]:
                break
            size = 0
            for a in range(n_corners):
                if w[a] != 0.0 or a == best:
                    room.face[size] = a
                    size += 1
            _descend(gram, product, w, size, room)
            if w[best] == 0.0:
                break
        total = 0.0
        for a in range(n_corners):
            total += w[a]
        for a in range(n_corners):
            w[a] /= total


def convex_weights(points: FloatArray, corners: FloatArray) -> FloatArray:
    """Find the mixtures of corners that are nearest to points: weights (n, k), not negative, whose rows sum to one.

    points: (n, d) the points.
    corners: (k, d) the corners.
    Raises ValueError if there is no corner, if the shapes do not fit, or if a number is not finite."""
    if np.ndim(points) != 2 or np.ndim(corners) != 2 or np.shape(points)[1:] != np.shape(corners)[1:]:
        raise ValueError(f"points of shape {np.shape(points)} and corners of {np.shape(corners)}: give (n, d), (k, d)")
    if not len(corners):
        raise ValueError("mixtures need at least one corner")
    centre = corners.mean(axis=0)  # Σ w = 1: a common shift changes no distance
    scale = max(float(np.abs(corners - centre).max(initial=0.0)), TINY)
    corners = (corners - centre) / scale
    gram = corners @ corners.T
    products = (points - centre) / scale @ corners.T
    if not (np.isfinite(gram).all() and np.isfinite(products).all()):
        raise ValueError("points and corners must be finite")
    weights: FloatArray = np.zeros_like(products)
    magnitude = gram.diagonal().max() + np.abs(products).max(axis=1)
    _find_weights(gram, products, magnitude, weights, _FaceWorkspace.allocate(len(corners)))
    return weights
