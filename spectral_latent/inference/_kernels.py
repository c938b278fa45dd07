"""Compiled passes over a forest: inside, outside, and the products of both at every edge.

Every item's vector is kept as a vector whose absolute values add up to a number in [1/2, 1), times a power of two, so
that nothing under- or overflows however large the tree.  Edges of one item with the same rule (the split points of a
span) are summed in the rule's pair space (see `PackedOperators`) before the rule's matrix is touched.

No index is checked here: callers check operators and forest first (`_checks`).

| here | shape | meaning |
| --- | --- | --- |
| `inside`, `inside_exponents` | (I, M), (I,) | inside vectors inside[i] · 2^inside_exponents[i] |
| `outside`, `outside_exponents` | (I, M), (I,) | outside vectors, likewise |
| `matrix`, `second`, `third` | (m_a, Q), (Q, m_b), (Q, m_c) | the parts of a binary rule's tensor |
| `pair` | (3, Q) | vectors in the rule's pair space: a sum, and what each child has in each term |
"""

from __future__ import annotations

import math

import numpy as np

from spectral_latent._compiled import EMPTY, ZERO, compiled_pass, pass_part, place
from spectral_latent.inference._matrices import multiply, multiply_transposed
from spectral_latent.operators import PackedOperators
from spectral_latent.trees import FloatArray, Forest, IntArray

__all__ = ["edge_pass", "inside_pass", "outside_pass", "room"]

_SMALL = 1e-100  # vectors with entries between these two are added without normalising them
_LARGE = 1e100


@pass_part
def _power(exponent: int) -> float:
    """Raise 2 to an exponent <= 0; zero where it underflows."""
    if exponent == 0:
        return 1.0
    # Python's own ldexp, which runs where nothing is compiled, takes no integers of NumPy.
    return math.ldexp(1.0, int(exponent)) if exponent > -1070 else 0.0


@pass_part
def _normalise(vectors: FloatArray, item: int, m: int, exponent: int) -> int:
    """Scale vectors[item, :m] to absolute values whose sum is in [1/2, 1); return the exponent that makes up for it.

    vectors: (n, M).
    """
    size = 0.0
    for i in range(m):
        size += abs(vectors[item, i])
    scaled = EMPTY
    if size > 0.0:
        # A power of two changes exponents only, so that nothing is rounded.
        shift = math.frexp(size)[1]
        scaled = exponent + shift
        if shift < -1000:  # 2^-shift may overflow
            for i in range(m):
                vectors[item, i] = math.ldexp(vectors[item, i], -shift)
        else:
            scale = math.ldexp(1.0, -shift)
            for i in range(m):
                vectors[item, i] *= scale
    return scaled


@pass_part
def _add(total: FloatArray, exponents: IntArray, item: int, parts: FloatArray, row: int, m: int, exponent: int) -> None:
    """Add: total[item] 2^exponents[item] += parts[row, :m] 2^exponent.

    total: (I, M).
    exponents: (I,).
    parts: (n, M) with the vector that is added, which may be normalised in place.
    """
    size = 0.0
    for i in range(m):
        size += abs(parts[row, i])
    if size > 0.0:
        # Exponents show which vector is larger only if both are neither tiny nor huge.
        if not _SMALL < size < _LARGE:
            exponent = _normalise(parts, row, m, exponent)
        # The sum is kept at the larger exponent of the two.
        if exponent > exponents[item]:
            scale = _power(exponents[item] - exponent)
            for i in range(m):
                total[item, i] = total[item, i] * scale + parts[row, i]
            exponents[item] = exponent
        else:
            scale = _power(exponent - exponents[item])
            for i in range(m):
                total[item, i] += parts[row, i] * scale


@pass_part
def _run_end(rule: IntArray, right: IntArray, edge: int, stop: int) -> int:
    """Find the end of the run of edges that apply the same binary rule as `edge`; other edges stand alone.

    rule, right: (E,) columns of the forest.
    """
    end = edge + 1
    if right[edge] >= 0:
        while end < stop and rule[end] == rule[edge] and right[end] >= 0:
            end += 1
    return end


def room(operators: PackedOperators) -> tuple[FloatArray, FloatArray]:
    """Make room for three vectors in the pair space of any rule (3, Q), and for the state vectors of two items (2, M).

    operators: the operators as flat arrays.
    """
    m_max = operators.leaf.shape[1]
    return np.empty((3, max(m_max * m_max, operators.terms.max(initial=0)))), np.empty((2, m_max))


@pass_part
def _to_pair(
    data: FloatArray,
    at: int,
    terms: int,
    inside: FloatArray,
    b: int,
    m_b: int,
    c: int,
    m_c: int,
    scale: float,
    pair: FloatArray,
) -> None:
    """Add to pair[0] `scale` times the image of the children b and c in the pair space of a rule.

    data: the numbers of all tensors, flat, (offset[-1],).
    at: where the second factor of the rule begins in `data`, if its tensor is in factors.
    terms: the number of factors; 0 if the tensor is multiplied out.
    inside: (I, M).
    pair: (3, Q) as `room` makes it.
    """
    if terms:
        # Coordinate q is (second[q] · y) (third[q] · z).
        multiply(data, at, terms, m_b, inside, b, pair, 1)
        multiply(data, at + terms * m_b, terms, m_c, inside, c, pair, 2)
        for q in range(terms):
            pair[0, q] += scale * pair[1, q] * pair[2, q]
    else:
        # The outer product of y and z, row by row.
        for j in range(m_b):
            weight = scale * inside[b, j]
            for k in range(m_c):
                pair[0, place(j * m_c + k)] += weight * inside[c, k]


@pass_part
def _apply(
    states: IntArray,
    leaf: FloatArray,
    unary: FloatArray,
    offset: IntArray,
    terms: IntArray,
    data: FloatArray,
    symbol: IntArray,
    rule: IntArray,
    left: IntArray,
    right: IntArray,
    inside: FloatArray,
    exponents: IntArray,
    edge: int,
    end: int,
    m_a: int,
    out: FloatArray,
    pair: FloatArray,
) -> int:
    """Set out[0, :m_a] to what a run of edges with one rule adds to their item; return its exponent.

    pair: (3, Q) room for vectors in pair space.
    """
    r, b, c = rule[edge], left[edge], right[edge]
    top = EMPTY
    if r < 0:
        for i in range(m_a):
            out[0, i] = 0.0
    elif b < 0:
        top = 0
        for i in range(m_a):
            out[0, i] = leaf[r, i]
    elif c < 0:
        top = exponents[b]
        for i in range(m_a):
            total = 0.0
            for j in range(states[symbol[b]]):
                total += unary[r, i, j] * inside[b, j]
            out[0, i] = total
    else:
        m_b, m_c = states[symbol[b]], states[symbol[c]]
        width = terms[r] if terms[r] else m_b * m_c
        for q in range(width):
            pair[0, q] = 0.0
        # Sum the pairs of children in pair space, at the largest of their exponents.
        for e in range(edge, end):
            if exponents[left[e]] + exponents[right[e]] > top:
                top = exponents[left[e]] + exponents[right[e]]
        for e in range(edge, end):
            scale = _power(exponents[left[e]] + exponents[right[e]] - top)
            if scale > 0.0:
                second = offset[r] + m_a * width
                _to_pair(data, second, terms[r], inside, left[e], m_b, right[e], m_c, scale, pair)
        # Then one matrix from there to the parent.
        multiply(data, offset[r], m_a, width, pair, 0, out, 0)
    return top


@compiled_pass
def inside_pass(
    operators: PackedOperators,
    forest: Forest,
    inside: FloatArray,
    exponents: IntArray,
    pair: FloatArray,
    out: FloatArray,
) -> None:
    """Compute inside vectors.

    operators: the operators as flat arrays.
    forest: a forest of I items, whose rules are those of the operators.
    inside: (I, M) zeros, which the inside vectors are added to.
    exponents: (I,) the exponents of zero, which their exponents are written to.
    pair: (3, Q) as `room` makes it.
    out: (2, M) as `room` makes it.
    """
    states, leaf, unary, data = operators.states, operators.leaf, operators.unary, operators.data
    offset, terms = operators.offset, operators.terms
    symbol, start, rule, left, right = forest.symbol, forest.start, forest.rule, forest.left, forest.right
    # Children come before parents, so that their vectors are finished when they are needed.
    for item in range(len(symbol)):
        # An unknown symbol has no states.
        if symbol[item] < 0:
            continue
        m = states[symbol[item]]
        edge, stop = start[item], start[item + 1]
        while edge < stop:
            end = _run_end(rule, right, edge, stop)
            exponent = _apply(
                states, leaf, unary, offset, terms, data,
                symbol, rule, left, right,
                inside, exponents, edge, end, m, out, pair,
            )  # fmt: skip
            _add(inside, exponents, item, out, 0, m, exponent)
            edge = end
        exponents[item] = _normalise(inside, item, m, exponents[item])


@pass_part
def _from_pair(
    data: FloatArray,
    at: int,
    terms: int,
    pair: FloatArray,
    inside: FloatArray,
    b: int,
    m_b: int,
    c: int,
    m_c: int,
    to_children: FloatArray,
) -> None:
    """Set to_children (2, M) to the derivatives of pair[0] · pair(y, z) by the vectors y of b and z of c.

    at, terms: as in `_to_pair`.
    """
    if terms:
        # The derivative of weights[q] (second[q] · y) (third[q] · z) by y is along second[q].
        third = at + terms * m_b
        multiply(data, at, terms, m_b, inside, b, pair, 1)
        multiply(data, third, terms, m_c, inside, c, pair, 2)
        for q in range(terms):
            in_left, in_right = pair[1, q], pair[2, q]
            pair[1, q] = pair[0, q] * in_right
            pair[2, q] = pair[0, q] * in_left
        multiply_transposed(data, at, terms, m_b, pair, 1, to_children, 0)
        multiply_transposed(data, third, terms, m_c, pair, 2, to_children, 1)
    else:
        # Weights are a matrix (m_b, m_c), applied to z, and its transpose to y.
        for k in range(m_c):
            to_children[1, k] = 0.0
        for j in range(m_b):
            total = 0.0
            for k in range(m_c):
                total += pair[0, place(j * m_c + k)] * inside[c, k]
                to_children[1, k] += pair[0, place(j * m_c + k)] * inside[b, j]
            to_children[0, j] = total


@compiled_pass
def outside_pass(
    operators: PackedOperators,
    forest: Forest,
    inside: FloatArray,
    inside_exponents: IntArray,
    outside: FloatArray,
    exponents: IntArray,
    pair: FloatArray,
    to_children: FloatArray,
) -> None:
    """Compute outside vectors from the result of `inside_pass` on the same forest.

    operators: the operators as flat arrays.
    forest: a forest of I items, whose rules are those of the operators.
    inside: (I, M) inside vectors.
    inside_exponents: (I,) their exponents.
    outside: (I, M) zeros, which the outside vectors are added to.
    exponents: (I,) the exponents of zero, which their exponents are written to.
    pair: (3, Q) as `room` makes it.
    to_children: (2, M) as `room` makes it.
    """
    states, unary, data = operators.states, operators.unary, operators.data
    offset, terms = operators.offset, operators.terms
    symbol, start, rule, left, right = forest.symbol, forest.start, forest.rule, forest.left, forest.right
    n_items = len(symbol)
    for item in forest.root:
        if symbol[item] >= 0:
            m = states[symbol[item]]
            for i in range(m):
                to_children[0, i] = operators.root[symbol[item], i]
            _add(outside, exponents, item, to_children, 0, m, ZERO)
    # Parents come after children, so that backwards every vector is finished when its turn comes.
    for item in range(n_items - 1, -1, -1):
        if symbol[item] < 0:
            continue
        m_a = states[symbol[item]]
        above = _normalise(outside, item, m_a, exponents[item])
        exponents[item] = above
        # Items that no derivation reaches have nothing to push down.
        if above <= EMPTY // 2:
            continue
        edge, stop = start[item], start[item + 1]
        while edge < stop:
            r, b, c = rule[edge], left[edge], right[edge]
            end = _run_end(rule, right, edge, stop)
            if r >= 0 and b >= 0 and c < 0:
                # A unary rule: the transpose of its matrix.
                m_b = states[symbol[b]]
                for j in range(m_b):
                    to_children[0, j] = 0.0
                    for i in range(m_a):
                        to_children[0, j] += outside[item, i] * unary[r, i, j]
                _add(outside, exponents, b, to_children, 0, m_b, above)
            elif r >= 0 and b >= 0:
                # A binary rule: the transpose of its matrix leads into pair space, once for all edges of the run.
                m_b, m_c = states[symbol[b]], states[symbol[c]]
                width = terms[r] if terms[r] else m_b * m_c
                multiply_transposed(data, offset[r], m_a, width, outside, item, pair, 0)
                # From there to each child, where the other child's inside vector is filled in.
                second = offset[r] + m_a * width
                for e in range(edge, end):
                    b, c = left[e], right[e]
                    _from_pair(data, second, terms[r], pair, inside, b, m_b, c, m_c, to_children)
                    _add(outside, exponents, b, to_children, 0, m_b, above + inside_exponents[c])
                    _add(outside, exponents, c, to_children, 1, m_c, above + inside_exponents[b])
            edge = end


@compiled_pass
def edge_pass(
    operators: PackedOperators,
    forest: Forest,
    inside: FloatArray,
    inside_exponents: IntArray,
    outside: FloatArray,
    outside_exponents: IntArray,
    products: FloatArray,
    exponents: IntArray,
    pair: FloatArray,
    out: FloatArray,
) -> None:
    """Multiply the outside vector of each edge's item with what the edge adds to the item's inside vector.

    operators: the operators as flat arrays.
    forest: a forest of I items and E edges, whose rules are those of the operators.
    inside: (I, M) inside vectors.
    inside_exponents: (I,) their exponents.
    outside: (I, M) outside vectors.
    outside_exponents: (I,) their exponents.
    products: (E,) zeros, which the products are written to.
    exponents: (E,) the exponents of zero, which theirs are written to: a product is products[e] · 2^exponents[e].
    pair: (3, Q) as `room` makes it.
    out: (2, M) as `room` makes it.
    """
    states, leaf, unary, data = operators.states, operators.leaf, operators.unary, operators.data
    offset, terms = operators.offset, operators.terms
    symbol, start, rule, left, right = forest.symbol, forest.start, forest.rule, forest.left, forest.right
    for item in range(len(symbol)):
        if outside_exponents[item] <= EMPTY // 2:
            continue
        m = states[symbol[item]]
        # Each edge is a run of its own here.
        for e in range(start[item], start[item + 1]):
            exponent = _apply(
                states, leaf, unary, offset, terms, data,
                symbol, rule, left, right,
                inside, inside_exponents, e, e + 1, m, out, pair,
            )  # fmt: skip
            if exponent > EMPTY // 2:
                total = 0.0
                for i in range(m):
                    total += outside[item, i] * out[0, i]
                products[e] = total
                exponents[e] = outside_exponents[item] + exponent
