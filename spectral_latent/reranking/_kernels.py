"""Train the perceptron in one compiled pass over the lists, in the notation of `perceptron`; no index is checked."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spectral_latent._compiled import compiled, compiled_part
from spectral_latent.trees import FloatArray, IntArray

__all__ = ["Rows", "visit"]


class Rows(NamedTuple):
    """A sparse matrix (n, d) by rows, with the columns of `scipy.sparse.csr_array`.

    indptr: (n + 1,) the first entry of each row.
    indices, data: (e,) the columns and the values of the entries.
    """

    indptr: IntArray
    indices: IntArray
    data: FloatArray


@compiled
def visit(
    rows: Rows,
    start: IntArray,
    gain: FloatArray,
    order: IntArray,
    weights: FloatArray,
    gain_weight: float,
    max_step: float,
    early: FloatArray,
    delta: FloatArray,
    averages: FloatArray,
) -> None:
    """Compute w̄ after each epoch of updates.

    rows: (n, d) the features of all candidates.
    start: (L + 1,) the first row of each list.
    gain: (n,) the gain of each row.
    order: (epochs, L) the lists in the order of their visits.
    weights: (d,) w before the first epoch; gets w after the last epoch.
    early: (d,) zeros; gets Σ_t t τ_t Δ_t, where t is the number of visits before: the mean of T visits is w - early /
    T.
    delta: (d,) zeros; gets Δ of each visit.
    averages: (epochs, d) gets w̄ after each epoch.
    """
    visits = 0
    for epoch in range(len(order)):
        for at in range(order.shape[1]):
            i = order[epoch, at]
            hope, fear = _pair(rows, start[i], start[i + 1], gain, weights, gain_weight)
            # Move towards i⁺ and away from i⁻, by a step that just removes the loss, or by C if that is smaller.
            if gain[hope] > gain[fear]:
                _add(rows, hope, 1.0, delta)
                _add(rows, fear, -1.0, delta)
                loss = gain[hope] - gain[fear] - (_dot(rows, hope, weights) - _dot(rows, fear, weights))
                length = _dot(rows, hope, delta) - _dot(rows, fear, delta)  # Δ·Δ
                _clear(rows, hope, delta)
                _clear(rows, fear, delta)
                if loss > 0.0:
                    step = max_step if loss >= max_step * length else loss / length
                    _add(rows, hope, step, weights)
                    _add(rows, fear, -step, weights)
                    _add(rows, hope, step * visits, early)
                    _add(rows, fear, -step * visits, early)
            visits += 1
        for f in range(len(weights)):
            averages[epoch, f] = weights[f] - early[f] / visits


@compiled_part
def _pair(rows: Rows, begin: int, end: int, gain: FloatArray, w: FloatArray, gain_weight: float) -> tuple[int, int]:
    """Find i⁺ and i⁻ among the rows of a list; of equally good rows the first."""
    hope, fear = begin, begin
    most, least = -np.inf, -np.inf
    for i in range(begin, end):
        score = _dot(rows, i, w)
        if score + gain_weight * gain[i] > most:
            hope, most = i, score + gain_weight * gain[i]
        if score - gain_weight * gain[i] > least:
            fear, least = i, score - gain_weight * gain[i]
    return hope, fear


@compiled_part
def _dot(rows: Rows, i: int, vector: FloatArray) -> float:
    """Compute the inner product of x_i and a vector (d,)."""
    total = 0.0
    for k in range(rows.indptr[i], rows.indptr[i + 1]):
        total += rows.data[k] * vector[rows.indices[k]]
    return total


@compiled_part
def _add(rows: Rows, i: int, size: float, vector: FloatArray) -> None:
    """Add size · x_i to vector (d,)."""
    for k in range(rows.indptr[i], rows.indptr[i + 1]):
        vector[rows.indices[k]] += size * rows.data[k]


@compiled_part
def _clear(rows: Rows, i: int, vector: FloatArray) -> None:
    """Set a vector (d,) to zero at the columns where x_i is not zero."""
    for k in range(rows.indptr[i], rows.indptr[i + 1]):
        vector[rows.indices[k]] = 0.0
