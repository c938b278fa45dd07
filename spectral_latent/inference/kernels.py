"""Compiled passes over a forest: inside, outside, and the products of both at every edge.

Every item's vector is kept as a vector whose largest entry lies in [1/2, 1) times a power of two, so that nothing
under- or overflows however large the tree.  Edges of one item with the same rule (the split points of a span) are
summed in the rule's pair space (see `PackedOperators`) before the rule's matrix is touched.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from spectral_latent.operators import PackedOperators
from spectral_latent.trees import FloatArray, Forest, IntArray

__all__ = ["EMPTY", "edge_pass", "inside_pass", "outside_pass"]

EMPTY = -(1 << 40)  # the exponent of a vector of zeros: far below that of any other

_compiled = njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})


@_compiled
def _power(exponent: int) -> float:
    """2 ** exponent for exponent <= 0; zero where it underflows."""
    return math.ldexp(1.0, exponent) if exponent > -1070 else 0.0


@_compiled
def _normalise(vector: FloatArray, exponent: int) -> int:
    """Scale in place to a largest entry in [1/2, 1); return the exponent that makes up for it."""
    largest = 0.0
    for i in range(len(vector)):
        largest = max(largest, abs(vector[i]))
    if largest == 0.0:
        return EMPTY
    shift = math.frexp(largest)[1]
    if shift < -1000:  # 2^-shift may overflow
        for i in range(len(vector)):
            vector[i] = math.ldexp(vector[i], -shift)
    else:
        scale = math.ldexp(1.0, -shift)
        for i in range(len(vector)):
            vector[i] *= scale
    return exponent + shift


@_compiled
def _add(total: FloatArray, exponents: IntArray, item: int, vector: FloatArray, exponent: int) -> None:
    """total[item] 2^exponents[item] += vector 2^exponent, kept at the larger of the two; normalises the vector."""
    exponent = _normalise(vector, exponent)
    if exponent > exponents[item]:
        scale = _power(exponents[item] - exponent)
        for i in range(len(vector)):
            total[item, i] = total[item, i] * scale + vector[i]
        exponents[item] = exponent
    else:
        scale = _power(exponent - exponents[item])
        for i in range(len(vector)):
            total[item, i] += vector[i] * scale


@_compiled
def _run_end(forest: Forest, edge: int, stop: int) -> int:
    """The end of the run of edges that apply the same binary rule as `edge`; other edges stand alone."""
    end = edge + 1
    if forest.right[edge] >= 0:
        while end < stop and forest.rule[end] == forest.rule[edge] and forest.right[end] >= 0:
            end += 1
    return end


@_compiled
def _block(
    operators: PackedOperators, r: int, m_a: int, m_b: int, m_c: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The (m_a, Q) matrix of a binary rule and its two (Q, m) factors, which are empty if multiplied out."""
    terms = operators.terms[r]
    size = terms if terms else m_b * m_c
    at = operators.offset[r]
    matrix = operators.data[at : at + m_a * size].reshape(m_a, size)
    at += m_a * size
    second = operators.data[at : at + terms * m_b].reshape(terms, m_b)
    at += terms * m_b
    third = operators.data[at : at + terms * m_c].reshape(terms, m_c)
    return matrix, second, third


@_compiled
def _dot(row: FloatArray, vector: FloatArray) -> float:
    total = 0.0
    for i in range(len(row)):
        total += row[i] * vector[i]
    return total


@_compiled
def _pair(second: FloatArray, third: FloatArray, y: FloatArray, z: FloatArray, scale: float, pair: FloatArray) -> None:
    """pair += scale times the image of children y (m_b,), z (m_c,) in the rule's pair space."""
    if len(second):
        for n in range(len(second)):
            pair[n] += scale * _dot(second[n], y) * _dot(third[n], z)
    else:
        at = 0
        for j in range(len(y)):
            weight = scale * y[j]
            for k in range(len(z)):
                pair[at + k] += weight * z[k]
            at += len(z)


@_compiled
def _unpair(
    second: FloatArray,
    third: FloatArray,
    weights: FloatArray,
    y: FloatArray,
    z: FloatArray,
    to_y: FloatArray,
    to_z: FloatArray,
) -> None:
    """to_y, to_z = the derivatives of weights · pair(y, z) by y and by z."""
    to_y[:] = 0.0
    to_z[:] = 0.0
    if len(second):
        for n in range(len(second)):
            by_y, by_z = weights[n] * _dot(third[n], z), weights[n] * _dot(second[n], y)
            for j in range(len(y)):
                to_y[j] += by_y * second[n, j]
            for k in range(len(z)):
                to_z[k] += by_z * third[n, k]
    else:
        at = 0
        for j in range(len(y)):
            row = weights[at : at + len(z)]
            to_y[j] = _dot(row, z)
            for k in range(len(z)):
                to_z[k] += row[k] * y[j]
            at += len(z)


@_compiled
def _sizes(operators: PackedOperators) -> tuple[int, int]:
    """The most numbers that a state vector and a pair need."""
    m_max = operators.leaf.shape[1]
    size = m_max * m_max
    for terms in operators.terms:
        size = max(size, terms)
    return m_max, size


@_compiled
def _run(
    operators: PackedOperators,
    forest: Forest,
    alpha: FloatArray,
    exponents: IntArray,
    edge: int,
    end: int,
    out: FloatArray,
    scratch: FloatArray,
) -> int:
    """out = what a run of edges with one rule adds to their item; returns its exponent."""
    r, left, right = forest.rule[edge], forest.left[edge], forest.right[edge]
    out[:] = 0.0
    if r < 0:
        return EMPTY
    if left < 0:
        out[:] = operators.leaf[r, : len(out)]
        return 0
    if right < 0:
        child = alpha[left, : operators.states[forest.symbol[left]]]
        for i in range(len(out)):
            out[i] = _dot(operators.unary[r, i, : len(child)], child)
        return int(exponents[left])
    m_b, m_c = operators.states[forest.symbol[left]], operators.states[forest.symbol[right]]
    matrix, second, third = _block(operators, r, len(out), m_b, m_c)
    pair = scratch[: matrix.shape[1]]
    pair[:] = 0.0
    top = EMPTY
    for e in range(edge, end):
        top = max(top, exponents[forest.left[e]] + exponents[forest.right[e]])
    for e in range(edge, end):
        b, c = forest.left[e], forest.right[e]
        scale = _power(exponents[b] + exponents[c] - top)
        if scale > 0.0:
            _pair(second, third, alpha[b, :m_b], alpha[c, :m_c], scale, pair)
    for i in range(len(out)):
        out[i] = _dot(matrix[i], pair)
    return top


@_compiled
def inside_pass(operators: PackedOperators, forest: Forest) -> tuple[FloatArray, IntArray]:
    """α (I, M) and exponents (I,): item i's inside vector is α[i] 2^exponents[i]."""
    n_items = len(forest.symbol)
    m_max, size = _sizes(operators)
    alpha = np.zeros((n_items, m_max))
    exponents = np.full(n_items, EMPTY, dtype=np.int64)
    scratch, part = np.empty(size), np.empty(m_max)
    for item in range(n_items):
        out = part[: operators.states[forest.symbol[item]]]
        edge, stop = forest.start[item], forest.start[item + 1]
        while edge < stop:
            end = _run_end(forest, edge, stop)
            _add(alpha, exponents, item, out, _run(operators, forest, alpha, exponents, edge, end, out, scratch))
            edge = end
        exponents[item] = _normalise(alpha[item], exponents[item])
    return alpha, exponents


@_compiled
def _outside_item(
    operators: PackedOperators,
    forest: Forest,
    alpha: FloatArray,
    inside_exponents: IntArray,
    beta: FloatArray,
    exponents: IntArray,
    item: int,
    scratch: FloatArray,
) -> None:
    """Add the item's outside vector, through its edges, to its children's."""
    above = beta[item, : operators.states[forest.symbol[item]]]
    to_left, to_right = scratch[0], scratch[1]
    edge, stop = forest.start[item], forest.start[item + 1]
    while edge < stop:
        r, left, right = forest.rule[edge], forest.left[edge], forest.right[edge]
        end = _run_end(forest, edge, stop)
        if r >= 0 and left >= 0 and right < 0:
            m_b = operators.states[forest.symbol[left]]
            to_left[:m_b] = 0.0
            for i in range(len(above)):
                for j in range(m_b):
                    to_left[j] += above[i] * operators.unary[r, i, j]
            _add(beta, exponents, left, to_left[:m_b], exponents[item])
        elif r >= 0 and left >= 0:
            m_b, m_c = operators.states[forest.symbol[left]], operators.states[forest.symbol[right]]
            matrix, second, third = _block(operators, r, len(above), m_b, m_c)
            weights = scratch[2, : matrix.shape[1]]
            weights[:] = 0.0
            for i in range(len(above)):
                for q in range(len(weights)):
                    weights[q] += above[i] * matrix[i, q]
            for e in range(edge, end):
                b, c = forest.left[e], forest.right[e]
                _unpair(second, third, weights, alpha[b, :m_b], alpha[c, :m_c], to_left[:m_b], to_right[:m_c])
                _add(beta, exponents, b, to_left[:m_b], exponents[item] + inside_exponents[c])
                _add(beta, exponents, c, to_right[:m_c], exponents[item] + inside_exponents[b])
        edge = end


@_compiled
def outside_pass(
    operators: PackedOperators, forest: Forest, alpha: FloatArray, inside_exponents: IntArray
) -> tuple[FloatArray, IntArray]:
    """β (I, M) and exponents (I,), from the result of `inside_pass` on the same forest."""
    n_items = len(forest.symbol)
    m_max, size = _sizes(operators)
    beta = np.zeros((n_items, m_max))
    exponents = np.full(n_items, EMPTY, dtype=np.int64)
    scratch = np.empty((3, size))
    for item in forest.root:
        _add(beta, exponents, item, operators.root[forest.symbol[item]].copy(), 0)
    for item in range(n_items - 1, -1, -1):
        exponents[item] = _normalise(beta[item], exponents[item])
        if exponents[item] > EMPTY // 2:
            _outside_item(operators, forest, alpha, inside_exponents, beta, exponents, item, scratch)
    return beta, exponents


@_compiled
def edge_pass(
    operators: PackedOperators,
    forest: Forest,
    alpha: FloatArray,
    inside_exponents: IntArray,
    beta: FloatArray,
    outside_exponents: IntArray,
) -> tuple[FloatArray, IntArray]:
    """p (E,) and exponents (E,): β of edge e's item times what the edge adds to α is p[e] 2^exponents[e]."""
    n_edges = len(forest.rule)
    m_max, size = _sizes(operators)
    products = np.zeros(n_edges)
    exponents = np.full(n_edges, EMPTY, dtype=np.int64)
    scratch, part = np.empty(size), np.empty(m_max)
    for item in range(len(forest.symbol)):
        if outside_exponents[item] <= EMPTY // 2:
            continue
        out = part[: operators.states[forest.symbol[item]]]
        for e in range(forest.start[item], forest.start[item + 1]):
            exponent = _run(operators, forest, alpha, inside_exponents, e, e + 1, out, scratch)
            if exponent > EMPTY // 2:
                products[e] = _dot(beta[item, : len(out)], out)
                exponents[e] = outside_exponents[item] + exponent
    return products, exponents
