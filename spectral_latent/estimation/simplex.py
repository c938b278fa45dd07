"""Find the corners of the convex hull of rows, and write every row as a mixture of the corners.

| here | Stratos et al. 2016, Figure 1 | meaning |
| --- | --- | --- |
| `anchors` | a_1 ... a_m | rows found greedily, each the farthest from the span of those before |
| `corners` | C = [A_a1 ... A_am] | the rows at the corners of the hull, (k, d) |
| `weights` | B_x (equation 1) | arg min over u ≥ 0, Σ u = 1 of ‖A_x - Σ_h u_h C_h‖², (n, k) |

The arg min is found exactly, by the active-set method of Lawson and Hanson (1974).  With d_h in proportion to
C_h - A_x, the minimum of ‖Σ_h v_h d_h‖² + (1 - Σ_h v_h)² over v ≥ 0 is s u with s = 1 / (1 + ‖Σ_h u_h d_h‖²): given the
shares of v, the best sum makes it the smaller, the smaller ‖Σ_h u_h d_h‖ is.  Axes of unlike sizes take many steps.
"""

import numpy as np

from spectral_latent import _scipy as scipy
from spectral_latent._compiled import TINY
from spectral_latent.trees import FloatArray, IntArray

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


def convex_weights(points: FloatArray, corners: FloatArray) -> FloatArray:
    """Find the mixtures of corners that are nearest to points: weights (n, k), not negative, whose rows sum to one.

    points: (n, d) the points.
    corners: (k, d) the corners.
    Raises ValueError if there is no corner, if the shapes do not fit, or if a number is not finite."""
    if np.ndim(points) != 2 or np.ndim(corners) != 2 or np.shape(points)[1:] != np.shape(corners)[1:]:
        raise ValueError(f"points of shape {np.shape(points)} and corners of {np.shape(corners)}: give (n, d), (k, d)")
    if not len(corners):
        raise ValueError("mixtures need at least one corner")
    if not (np.isfinite(corners).all() and np.isfinite(points).all()):
        raise ValueError("points and corners must be finite")
    weights = np.empty((len(points), len(corners)))
    right = np.append(np.zeros(corners.shape[1]), 1.0)
    for row, point in enumerate(points):
        d = (corners - point).T
        d /= max(float(np.abs(d).max(initial=0.0)), TINY)
        weights[row], _ = scipy.optimize.nnls(np.vstack([d, np.ones(len(corners))]), right, maxiter=100 * len(corners))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
