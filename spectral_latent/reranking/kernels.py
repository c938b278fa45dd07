"""The compiled pass of the perceptron over the lists; its symbols are those of `perceptron`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from spectral_latent.trees import FloatArray, IntArray

__all__ = ["Rows", "visit"]

_compiled = njit(cache=True, nogil=True)


class Rows(NamedTuple):
    """A matrix (n, d) by its rows, as `scipy.sparse.csr_array` has them."""

    indptr: IntArray
    indices: IntArray
    data: FloatArray


@_compiled
def visit(
    rows: Rows, start: IntArray, gain: FloatArray, order: IntArray, weights: FloatArray, greed: float, longest: float
) -> FloatArray:
    """w̄ (epochs, d) after each epoch of updates; order: (epochs, L) the lists, as they are visited."""
    w = weights.copy()
    early = np.zeros(len(w))  # Σ_t t τ_t Δ_t, where t visits came before: the mean of w over T visits is w - early / T
    averages = np.zeros((len(order), len(w)))
    delta = np.zeros(len(w))
    visits = 0
    for epoch in range(len(order)):
        for i in order[epoch]:
            hope, fear = _pair(rows, start[i], start[i + 1], gain, w, greed)
            if gain[hope] > gain[fear]:
                _add(rows, hope, 1.0, delta)
                _add(rows, fear, -1.0, delta)
                loss = gain[hope] - gain[fear] - (_dot(rows, hope, w) - _dot(rows, fear, w))
                length = _dot(rows, hope, delta) - _dot(rows, fear, delta)  # Δ·Δ
                _clear(rows, hope, delta)
                _clear(rows, fear, delta)
                if loss > 0.0:
                    step = longest if loss >= longest * length else loss / length
                    _add(rows, hope, step, w)
                    _add(rows, fear, -step, w)
                    _add(rows, hope, step * visits, early)
                    _add(rows, fear, -step * visits, early)
            visits += 1
        averages[epoch] = w - early / visits
    return averages


@_compiled
def _pair(rows: Rows, begin: int, end: int, gain: FloatArray, w: FloatArray, greed: float) -> tuple[int, int]:
    """i⁺ and i⁻ among the rows of a list; of equals the first."""
    hope, fear = begin, begin
    most, least = -np.inf, -np.inf
    for i in range(begin, end):
        score = _dot(rows, i, w)
        if score + greed * gain[i] > most:
            hope, most = i, score + greed * gain[i]
        if score - greed * gain[i] > least:
            fear, least = i, score - greed * gain[i]
    return hope, fear


@_compiled
def _dot(rows: Rows, i: int, vector: FloatArray) -> float:
    total = 0.0
    for k in range(rows.indptr[i], rows.indptr[i + 1]):
        total += rows.data[k] * vector[rows.indices[k]]
    return total


@_compiled
def _add(rows: Rows, i: int, size: float, vector: FloatArray) -> None:
    """vector += size x_i."""
    for k in range(rows.indptr[i], rows.indptr[i + 1]):
        vector[rows.indices[k]] += size * rows.data[k]


@_compiled
def _clear(rows: Rows, i: int, vector: FloatArray) -> None:
    """Zero where x_i is not."""
    for k in range(rows.indptr[i], rows.indptr[i + 1]):
        vector[rows.indices[k]] = 0.0
