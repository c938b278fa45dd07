"""Compiled passes over a forest: inside, outside, and the products of both at every edge.

Every item's vector is kept as a vector whose largest entry lies in [1/2, 1) times a power of two, so that nothing
under- or overflows however large the tree.  Edges of one item with the same rule (the split points of a span) are
summed in the rule's pair space (see `PackedOperators`) before the rule's matrix is touched.

No index is checked here: callers check operators and forest first (`_checks`).

| here | shape | meaning |
| --- | --- | --- |
| `inside`, `inside_exponents` | (I, M), (I,) | inside vectors inside[i] · 2^inside_exponents[i] |
| `outside`, `outside_exponents` | (I, M), (I,) | outside vectors, likewise |
| `matrix`, `second`, `third` | (m_a, Q), (Q, m_b), (Q, m_c) | the parts of a binary rule's tensor |
| `pair` | (Q,) | two children in the rule's pair space |
"""

from __future__ import annotations

import math

import numpy as np

from spectral_latent._compiled import EMPTY, ZERO, compiler
from spectral_latent.operators import PackedOperators
from spectral_latent.trees import FloatArray, Forest, IntArray

__all__ = ["block", "compiled_pass", "dot", "edge_pass", "inside_pass", "outside_pass"]

# Sums may be taken in any order, so that the processor adds several numbers at once.
compiled_pass = compiler(fastmath={"contract", "reassoc"})


@compiled_pass
def _power(exponent: int) -> float:
    """Raise 2 to an exponent <= 0; zero where it underflows."""
    # Python's own ldexp, which runs where nothing is compiled, takes no integers of NumPy.
    return math.ldexp(1.0, int(exponent)) if exponent > -1070 else 0.0


@compiled_pass
def _normalise(vector: FloatArray, exponent: int) -> int:
    """Scale a vector (m,) in place to a largest entry in [1/2, 1); return the exponent that makes up for it."""
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


@compiled_pass
def _add(total: FloatArray, exponents: IntArray, item: int, vector: FloatArray, exponent: int) -> None:
    """Add: total[item] 2^exponents[item] += vector 2^exponent.  The vector (m,) is normalised in place.

    total: (I, M).
    exponents: (I,).
    """
    exponent = _normalise(vector, exponent)
    # The sum is kept at the larger exponent of the two.
    if exponent > exponents[item]:
        scale = _power(exponents[item] - exponent)
        for i in range(len(vector)):
            total[item, i] = total[item, i] * scale + vector[i]
        exponents[item] = exponent
    else:
        scale = _power(exponent - exponents[item])
        for i in range(len(vector)):
            total[item, i] += vector[i] * scale


@compiled_pass
def _run_end(forest: Forest, edge: int, stop: int) -> int:
    """Find the end of the run of edges that apply the same binary rule as `edge`; other edges stand alone."""
    end = edge + 1
    if forest.right[edge] >= 0:
        while end < stop and forest.rule[end] == forest.rule[edge] and forest.right[end] >= 0:
            end += 1
    return end


@compiled_pass
def block(
    operators: PackedOperators, r: int, m_a: int, m_b: int, m_c: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Find the (m_a, Q) matrix of a binary rule and its two (Q, m) factors, which are empty if multiplied out.

    operators: the operators as flat arrays.
    r: the number of the binary rule.
    m_a: the number of states of the parent.
    m_b: the number of states of the left child.
    m_c: the number of states of the right child.
    """
    # The three parts lie one after the other; see `PackedOperators`.
    terms = operators.terms[r]
    size = terms if terms else m_b * m_c
    at = operators.offset[r]
    matrix = operators.data[at : at + m_a * size].reshape(m_a, size)
    at += m_a * size
    second = operators.data[at : at + terms * m_b].reshape(terms, m_b)
    at += terms * m_b
    third = operators.data[at : at + terms * m_c].reshape(terms, m_c)
    return matrix, second, third


@compiled_pass
def dot(row: FloatArray, vector: FloatArray) -> float:
    """Multiply row (n,) and vector (n,) and add up.

    row: (n,).
    vector: (n,).
    """
    total = 0.0
    for i in range(len(row)):
        total += row[i] * vector[i]
    return total


@compiled_pass
def _pair(second: FloatArray, third: FloatArray, y: FloatArray, z: FloatArray, scale: float, pair: FloatArray) -> None:
    """Add to pair (Q,) `scale` times the image of children y (m_b,), z (m_c,) in the rule's pair space."""
    if len(second):
        # In factors: coordinate n is (second[n] · y) (third[n] · z).
        for n in range(len(second)):
            pair[n] += scale * dot(second[n], y) * dot(third[n], z)
    else:
        # Multiplied out: the outer product of y and z, row by row.
        at = 0
        for j in range(len(y)):
            weight = scale * y[j]
            for k in range(len(z)):
                pair[at + k] += weight * z[k]
            at += len(z)


@compiled_pass
def _unpair(
    second: FloatArray,
    third: FloatArray,
    weights: FloatArray,
    y: FloatArray,
    z: FloatArray,
    to_y: FloatArray,
    to_z: FloatArray,
) -> None:
    """Set to_y (m_b,) and to_z (m_c,) to the derivatives of weights (Q,) · pair(y, z) by y and by z."""
    to_y[:] = 0.0
    to_z[:] = 0.0
    if len(second):
        # In factors: the derivative of weights[n] (second[n] · y) (third[n] · z) by y is along second[n].
        for n in range(len(second)):
            by_y = weights[n] * dot(third[n], z)
            by_z = weights[n] * dot(second[n], y)
            for j in range(len(y)):
                to_y[j] += by_y * second[n, j]
            for k in range(len(z)):
                to_z[k] += by_z * third[n, k]
    else:
        # Multiplied out: weights are a matrix (m_b, m_c), applied to z, and its transpose to y.
        at = 0
        for j in range(len(y)):
            row = weights[at : at + len(z)]
            to_y[j] = dot(row, z)
            for k in range(len(z)):
                to_z[k] += row[k] * y[j]
            at += len(z)


@compiled_pass
def _sizes(operators: PackedOperators) -> tuple[int, int]:
    """Count the most numbers that a state vector and a pair need."""
    m_max = operators.leaf.shape[1]
    size = m_max * m_max
    for terms in operators.terms:
        size = max(size, terms)
    return m_max, size


@compiled_pass
def _run(
    operators: PackedOperators,
    forest: Forest,
    inside: FloatArray,
    inside_exponents: IntArray,
    edge: int,
    end: int,
    out: FloatArray,
    scratch: FloatArray,
) -> int:
    """Set out (m_a,) to what a run of edges with one rule adds to their item; return its exponent."""
    r = forest.rule[edge]
    left, right = forest.left[edge], forest.right[edge]
    out[:] = 0.0
    # No rule, a leaf rule, a unary rule.
    if r < 0:
        return EMPTY
    if left < 0:
        for i in range(len(out)):
            out[i] = operators.leaf[r, i]
        return 0
    if right < 0:
        child = inside[left, : operators.states[forest.symbol[left]]]
        for i in range(len(out)):
            out[i] = dot(operators.unary[r, i, : len(child)], child)
        return int(inside_exponents[left])
    m_b, m_c = operators.states[forest.symbol[left]], operators.states[forest.symbol[right]]
    matrix, second, third = block(operators, r, len(out), m_b, m_c)
    pair = scratch[: matrix.shape[1]]
    pair[:] = 0.0
    # A binary rule: sum its pairs of children in pair space, at the largest of their exponents.
    top = EMPTY
    for e in range(edge, end):
        top = max(top, inside_exponents[forest.left[e]] + inside_exponents[forest.right[e]])
    for e in range(edge, end):
        b, c = forest.left[e], forest.right[e]
        scale = _power(inside_exponents[b] + inside_exponents[c] - top)
        if scale > 0.0:
            _pair(second, third, inside[b, :m_b], inside[c, :m_c], scale, pair)
    # Then one matrix from there to the parent.
    for i in range(len(out)):
        out[i] = dot(matrix[i], pair)
    return top


@compiled_pass
def inside_pass(operators: PackedOperators, forest: Forest) -> tuple[FloatArray, IntArray]:
    """Compute inside vectors (I, M) and their exponents (I,).

    operators: the operators as flat arrays.
    forest: a forest of I items, whose rules are those of the operators.
    """
    n_items = len(forest.symbol)
    m_max, size = _sizes(operators)
    inside = np.zeros((n_items, m_max))
    exponents = np.full(n_items, EMPTY, dtype=np.int64)
    scratch = np.empty(size)
    part = np.empty(m_max)
    # Children come before parents, so that their vectors are finished when they are needed.
    for item in range(n_items):
        # An unknown symbol has no states.
        if forest.symbol[item] < 0:
            continue
        out = part[: operators.states[forest.symbol[item]]]
        edge, stop = forest.start[item], forest.start[item + 1]
        while edge < stop:
            end = _run_end(forest, edge, stop)
            exponent = _run(operators, forest, inside, exponents, edge, end, out, scratch)
            _add(inside, exponents, item, out, exponent)
            edge = end
        exponents[item] = _normalise(inside[item], exponents[item])
    return inside, exponents


@compiled_pass
def _outside_item(
    operators: PackedOperators,
    forest: Forest,
    inside: FloatArray,
    inside_exponents: IntArray,
    outside: FloatArray,
    outside_exponents: IntArray,
    item: int,
    scratch: FloatArray,
) -> None:
    """Push an item's outside vector down through its edges, and add it to its children's.

    scratch: (3, n) room for the vectors of two children and for weights in pair space.
    """
    exponents = outside_exponents
    above = outside[item, : operators.states[forest.symbol[item]]]
    to_left, to_right = scratch[0], scratch[1]
    edge, stop = forest.start[item], forest.start[item + 1]
    while edge < stop:
        r = forest.rule[edge]
        left, right = forest.left[edge], forest.right[edge]
        end = _run_end(forest, edge, stop)
        if r >= 0 and left >= 0 and right < 0:
            # A unary rule: the transpose of its matrix.
            m_b = operators.states[forest.symbol[left]]
            to_left[:m_b] = 0.0
            for i in range(len(above)):
                for j in range(m_b):
                    to_left[j] += above[i] * operators.unary[r, i, j]
            _add(outside, exponents, left, to_left[:m_b], exponents[item])
        elif r >= 0 and left >= 0:
            # A binary rule: the transpose of its matrix leads into pair space, once for all edges of the run.
            m_b, m_c = operators.states[forest.symbol[left]], operators.states[forest.symbol[right]]
            matrix, second, third = block(operators, r, len(above), m_b, m_c)
            weights = scratch[2, : matrix.shape[1]]
            weights[:] = 0.0
            for i in range(len(above)):
                for q in range(len(weights)):
                    weights[q] += above[i] * matrix[i, q]
            # From there to each child, where the other child's inside vector is filled in.
            for e in range(edge, end):
                b, c = forest.left[e], forest.right[e]
                _unpair(second, third, weights, inside[b, :m_b], inside[c, :m_c], to_left[:m_b], to_right[:m_c])
                _add(outside, exponents, b, to_left[:m_b], exponents[item] + inside_exponents[c])
                _add(outside, exponents, c, to_right[:m_c], exponents[item] + inside_exponents[b])
        edge = end


@compiled_pass
def outside_pass(
    operators: PackedOperators, forest: Forest, inside: FloatArray, inside_exponents: IntArray
) -> tuple[FloatArray, IntArray]:
    """Compute outside vectors (I, M) and their exponents (I,) from the result of `inside_pass` on the same forest.

    operators: the operators as flat arrays.
    forest: a forest of I items, whose rules are those of the operators.
    inside: (I, M) inside vectors.
    inside_exponents: (I,) their exponents.
    """
    n_items = len(forest.symbol)
    m_max, size = _sizes(operators)
    outside = np.zeros((n_items, m_max))
    exponents = np.full(n_items, EMPTY, dtype=np.int64)
    scratch = np.empty((3, size))
    for item in forest.root:
        if forest.symbol[item] >= 0:
            _add(outside, exponents, item, operators.root[forest.symbol[item]].copy(), ZERO)
    # Parents come after children, so that backwards every vector is finished when its turn comes.
    for item in range(n_items - 1, -1, -1):
        exponents[item] = _normalise(outside[item], exponents[item])
        # Items that no derivation reaches have nothing to push down.
        if exponents[item] > EMPTY // 2:
            _outside_item(operators, forest, inside, inside_exponents, outside, exponents, item, scratch)
    return outside, exponents


@compiled_pass
def edge_pass(
    operators: PackedOperators,
    forest: Forest,
    inside: FloatArray,
    inside_exponents: IntArray,
    outside: FloatArray,
    outside_exponents: IntArray,
) -> tuple[FloatArray, IntArray]:
    """Multiply the outside vector of each edge's item with what the edge adds to the item's inside vector.

    operators: the operators as flat arrays.
    forest: a forest of I items and E edges, whose rules are those of the operators.
    inside: (I, M) inside vectors.
    inside_exponents: (I,) their exponents.
    outside: (I, M) outside vectors.
    outside_exponents: (I,) their exponents.

    Returns products (E,) and exponents (E,), for products[e] · 2^exponents[e].
    """
    n_edges = len(forest.rule)
    m_max, size = _sizes(operators)
    products = np.zeros(n_edges)
    exponents = np.full(n_edges, EMPTY, dtype=np.int64)
    scratch = np.empty(size)
    part = np.empty(m_max)
    for item in range(len(forest.symbol)):
        if outside_exponents[item] <= EMPTY // 2:
            continue
        out = part[: operators.states[forest.symbol[item]]]
        # Each edge is a run of its own here.
        for e in range(forest.start[item], forest.start[item + 1]):
            exponent = _run(operators, forest, inside, inside_exponents, e, e + 1, out, scratch)
            if exponent > EMPTY // 2:
                products[e] = dot(outside[item, : len(out)], out)
                exponents[e] = outside_exponents[item] + exponent
    return products, exponents
