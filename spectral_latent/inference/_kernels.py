"""Compiled passes over a forest: inside, outside, and the products of both at every edge.

The vector of an item is a normalised vector times a power of two, so that nothing under- or overflows for trees of any
size.  The absolute values of a normalised vector add up to a number in [1/2, 1).

The tensor of a binary rule, t(h, j, k | a → b c), is a part of one flat array: a matrix (m_a, Q) that maps the rule's
pair space to the states of its parent.  If the tensor is factored, two more matrices, (Q, m_b) and (Q, m_c), map the
states of its children to the Q terms (`operators.Tensors`).  Edges of one item with the same rule (the split points of
a span) are summed in pair space, so that the rule's matrix is applied once for all of them.

Vectors are given as an array and the number of a row, because compiled code would make a new array for a part of one.
No index is checked here: callers check operators and forest first (`_checks`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from spectral_latent._compiled import EMPTY, compiled_pass, loops_of, pass_part, unsigned
from spectral_latent.operators import ObservableOperators, PackedOperators
from spectral_latent.trees import FloatArray, Forest, IntArray

_SMALL = 1e-100  # a vector is added without normalising it if its absolute values sum to a number between these two
_LARGE = 1e100


def multiply(
    data: FloatArray, at: int, n: int, m: int, vectors: FloatArray, row: int, out: FloatArray, out_row: int
) -> None:
    """Set out[out_row, :n] to A vectors[row, :m], where A is the matrix (n, m) that begins at data[at]."""
    np.dot(data[at : at + n * m].reshape(n, m), vectors[row, :m], out[out_row, :n])


@loops_of(multiply)
def _multiply_by_rows(
    data: FloatArray, at: int, n: int, m: int, vectors: FloatArray, row: int, out: FloatArray, out_row: int
) -> None:
    """Do what `multiply` does with a matrix (n, m)."""
    i = 0
    # Four rows of A at a time, because the processor waits between two additions to the same sum.
    while i + 4 <= n:
        first = at + i * m
        second = first + m
        third = first + 2 * m
        fourth = first + 3 * m
        sum_1 = sum_2 = sum_3 = sum_4 = 0.0
        for j in range(m):
            number = vectors[row, j]
            sum_1 += data[unsigned(first + j)] * number
            sum_2 += data[unsigned(second + j)] * number
            sum_3 += data[unsigned(third + j)] * number
            sum_4 += data[unsigned(fourth + j)] * number
        out[out_row, unsigned(i)] = sum_1
        out[out_row, unsigned(i + 1)] = sum_2
        out[out_row, unsigned(i + 2)] = sum_3
        out[out_row, unsigned(i + 3)] = sum_4
        i += 4
    while i < n:
        first = at + i * m
        total = 0.0
        for j in range(m):
            total += data[unsigned(first + j)] * vectors[row, j]
        out[out_row, unsigned(i)] = total
        i += 1


def multiply_transposed(
    data: FloatArray, at: int, n: int, m: int, vectors: FloatArray, row: int, out: FloatArray, out_row: int
) -> None:
    """Set out[out_row, :m] to Aᵀ vectors[row, :n], where A is the matrix (n, m) that begins at data[at]."""
    np.dot(vectors[row, :n], data[at : at + n * m].reshape(n, m), out[out_row, :m])


@loops_of(multiply_transposed)
def _multiply_transposed_by_rows(
    data: FloatArray, at: int, n: int, m: int, vectors: FloatArray, row: int, out: FloatArray, out_row: int
) -> None:
    """Do what `multiply_transposed` does with a matrix (n, m)."""
    for j in range(m):
        out[out_row, j] = 0.0
    i = 0
    # Four rows of A at a time, so that each sum is read and written a quarter as often.
    while i + 4 <= n:
        first = at + i * m
        second = first + m
        third = first + 2 * m
        fourth = first + 3 * m
        number_1, number_2 = vectors[row, unsigned(i)], vectors[row, unsigned(i + 1)]
        number_3, number_4 = vectors[row, unsigned(i + 2)], vectors[row, unsigned(i + 3)]
        for j in range(m):
            out[out_row, j] += (
                number_1 * data[unsigned(first + j)]
                + number_2 * data[unsigned(second + j)]
                + number_3 * data[unsigned(third + j)]
                + number_4 * data[unsigned(fourth + j)]
            )
        i += 4
    while i < n:
        first = at + i * m
        number = vectors[row, unsigned(i)]
        for j in range(m):
            out[out_row, j] += number * data[unsigned(first + j)]
        i += 1


class RuleBlock(NamedTuple):
    """The matrices of a binary rule a → b c, as places in a flat array.

    data: the numbers of all tensors, flat, (offset[-1],).
    first: the first place of the matrix (m_a, Q).
    second: the first place of the factor (Q, m_b), if the tensor is factored.
    third: the first place of the factor (Q, m_c), if the tensor is factored.
    terms: the number of terms; 0 if the tensor is multiplied out.
    width: Q, the number of terms, or m_b m_c."""

    data: FloatArray
    first: int
    second: int
    third: int
    terms: int
    width: int
    m_a: int
    m_b: int
    m_c: int


class Workspace(NamedTuple):
    """Room for the vectors of one rule.

    pair: (3, Q) a vector in the pair space of a rule, and two more in its terms.
    of_items: (2, M) the vectors of two items."""

    pair: FloatArray
    of_items: FloatArray

    @staticmethod
    def allocate(operators: PackedOperators) -> Workspace:
        """Make room for the rules of operators."""
        m_max = operators.leaf.shape[1]
        return Workspace(np.empty((3, max(m_max * m_max, operators.most_terms))), np.empty((2, m_max)))


class ScaledVectors(NamedTuple):
    """Vectors of I items: item i has the vector vectors[i] · 2^exponents[i].

    vectors: (I, M) the normalised vectors, padded with zeros beyond the states of the item's symbol.
    exponents: (I,) the exponents of the vectors; very low (`EMPTY`) for a vector of zeros.
    images: (2 E, T) of inside vectors, the images of both children of each edge in the up to T terms of its rule."""

    vectors: FloatArray
    exponents: IntArray
    images: FloatArray = np.empty((0, 0))

    @staticmethod
    def zeros(operators: ObservableOperators, forest: Forest, n_images: int = 0) -> ScaledVectors:
        """Make a vector of zeros for each item, and room for images."""
        n_items = len(forest.symbol)
        images = np.empty((n_images, operators.packed.most_terms))
        return ScaledVectors(np.zeros((n_items, operators.root.shape[1])), np.full(n_items, EMPTY), images)


@pass_part
def block_of(operators: PackedOperators, r: int) -> RuleBlock:
    """Find the matrices of a binary rule."""
    states, rules = operators.states, operators.binary_rules
    m_a = states[rules[r, 0]]
    m_b = states[rules[r, 1]]
    m_c = states[rules[r, 2]]
    first, terms = operators.offset[r], operators.terms[r]
    width = terms if terms else m_b * m_c
    second = first + m_a * width
    return RuleBlock(operators.data, first, second, second + terms * m_b, terms, width, m_a, m_b, m_c)


@pass_part
def add_pair(block: RuleBlock, inside: ScaledVectors, b: int, c: int, row: int, scale: float, pair: FloatArray) -> None:
    """Add to pair[0], (Q,), `scale` times the image of the vectors y and z of two items; keep their images in terms."""
    vectors, _, images = inside
    if block.terms:
        # Factored: coordinate q is (second[q] · y) (third[q] · z).
        for side in range(2):
            at, m, child = (block.third, block.m_c, c) if side else (block.second, block.m_b, b)
            multiply(block.data, at, block.terms, m, vectors, child, images, row + side)
        for q in range(block.terms):
            pair[0, q] += scale * images[row, q] * images[row + 1, q]
    else:
        # Multiplied out: the outer product of y and z, row by row.
        for j in range(block.m_b):
            weight = scale * vectors[b, j]
            for k in range(block.m_c):
                pair[0, unsigned(j * block.m_c + k)] += weight * vectors[c, k]


@pass_part
def pair_to_parent(block: RuleBlock, pair: FloatArray, out: FloatArray) -> None:
    """Set out[0], (m_a,), to the image of pair[0], (Q,), in the states of the parent."""
    multiply(block.data, block.first, block.m_a, block.width, pair, 0, out, 0)


@pass_part
def parent_to_pair(block: RuleBlock, vectors: FloatArray, a: int, pair: FloatArray) -> None:
    """Set pair[0], (Q,), to the image of the parent's outside vector, vectors[a] (m_a,), in pair space."""
    multiply_transposed(block.data, block.first, block.m_a, block.width, vectors, a, pair, 0)


@pass_part
def pair_to_child(
    block: RuleBlock, pair: FloatArray, inside: ScaledVectors, other: int, row: int, side: int, to_child: FloatArray
) -> None:
    """Set to_child[0], (M,), to the derivative of pair[0] · pair(y, z) by y, or by z if `side` is 1.

    images[row] and images[row + 1] are those of `add_pair`, and `other` is the item of the other vector.  The numbers
    of pair[1] are overwritten."""
    vectors, _, images = inside
    if block.terms:
        # The derivative of pair[0, q] (second[q] · y) (third[q] · z) by y is pair[0, q] (third[q] · z) second[q].
        for q in range(block.terms):
            pair[1, q] = pair[0, q] * images[row + 1 - side, q]
        at, m = (block.third, block.m_c) if side else (block.second, block.m_b)
        multiply_transposed(block.data, at, block.terms, m, pair, 1, to_child, 0)
    elif side:
        # pair[0] is a matrix (m_b, m_c): apply its transpose to y.
        for k in range(block.m_c):
            to_child[0, k] = 0.0
        for j in range(block.m_b):
            for k in range(block.m_c):
                to_child[0, k] += pair[0, unsigned(j * block.m_c + k)] * vectors[other, j]
    else:
        for j in range(block.m_b):
            total = 0.0
            for k in range(block.m_c):
                total += pair[0, unsigned(j * block.m_c + k)] * vectors[other, k]
            to_child[0, j] = total


@pass_part
def _power(exponent: int) -> float:
    """Raise 2 to an exponent <= 0; the result is zero if it underflows."""
    if exponent == 0:
        return 1.0
    # Convert the exponent, because without compilation, Python's ldexp takes no integers of NumPy.
    return math.ldexp(1.0, int(exponent)) if exponent > -1070 else 0.0


@pass_part
def _normalise(vectors: FloatArray, item: int, m: int, exponent: int) -> int:
    """Normalise vectors[item, :m] of (n, M), whose exponent is `exponent`; return the new exponent."""
    size = 0.0
    for i in range(m):
        size += abs(vectors[item, i])
    scaled = EMPTY
    if size > 0.0:
        # Multiply by a power of two, which rounds nothing.
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
def _multiply(vectors: FloatArray, item: int, m: int, factor: float) -> None:
    """Multiply vectors[item, :m] of (n, M) by a factor, which is 1 for most items."""
    if factor != 1.0:
        for i in range(m):
            vectors[item, i] *= factor


@pass_part
def _add(total: ScaledVectors, item: int, parts: FloatArray, row: int, m: int, exponent: int) -> None:
    """Add parts[row, :m] 2^exponent to the vector of an item; the row of parts (n, M) may be normalised in place."""
    vectors, exponents, _ = total
    size = 0.0
    for i in range(m):
        size += abs(parts[row, i])
    if size > 0.0:
        # Exponents only show which vector is larger if neither vector is tiny or huge.
        if not _SMALL < size < _LARGE:
            exponent = _normalise(parts, row, m, exponent)
        # The sum is kept at the larger exponent of the two.
        if exponent > exponents[item]:
            scale = _power(exponents[item] - exponent)
            for i in range(m):
                vectors[item, i] = vectors[item, i] * scale + parts[row, i]
            exponents[item] = exponent
        else:
            scale = _power(exponent - exponents[item])
            for i in range(m):
                vectors[item, i] += parts[row, i] * scale


@pass_part
def _run_end(forest: Forest, edge: int, stop: int) -> int:
    """Find the end of the run of edges with the same binary rule as `edge`; an edge of another kind is a run alone."""
    end = edge + 1
    if forest.right[edge] >= 0:
        while end < stop and forest.rule[end] == forest.rule[edge] and forest.right[end] >= 0:
            end += 1
    return end


@pass_part
def _apply(
    operators: PackedOperators, forest: Forest, inside: ScaledVectors, edge: int, end: int, m_a: int, room: Workspace
) -> int:
    """Set room.of_items[0, :m_a] to the inside vector of a run of edges with one rule; return its exponent."""
    vectors, exponents, _ = inside
    pair, out = room
    r = forest.rule[edge]
    b = forest.left[edge]
    c = forest.right[edge]
    top = EMPTY
    if r < 0:
        for i in range(m_a):
            out[0, i] = 0.0
    elif b < 0:
        top = 0
        for i in range(m_a):
            out[0, i] = operators.leaf[r, i]
    elif c < 0:
        top = exponents[b]
        for i in range(m_a):
            total = 0.0
            for j in range(operators.states[forest.symbol[b]]):
                total += operators.unary[r, i, j] * vectors[b, j]
            out[0, i] = total
    else:
        block = block_of(operators, r)
        if end == edge + 1 and block.width == 1 and m_a == 1 and block.terms == 0:
            # A tensor of one number takes one product.
            out[0, 0] = block.data[block.first] * vectors[b, 0] * vectors[c, 0]
            return int(exponents[b] + exponents[c])
        for q in range(block.width):
            pair[0, q] = 0.0
        # Sum the pairs of children in pair space, at the largest of their exponents.
        for e in range(edge, end):
            exponent = exponents[forest.left[e]] + exponents[forest.right[e]]
            if exponent > top:
                top = exponent
        for e in range(edge, end):
            b, c = forest.left[e], forest.right[e]
            scale = _power(exponents[b] + exponents[c] - top)
            add_pair(block, inside, b, c, 2 * e, scale, pair)
        # Apply the matrix from pair space to the parent once.
        pair_to_parent(block, pair, out)
    return top


@compiled_pass
def inside_pass(
    operators: PackedOperators, forest: Forest, factors: FloatArray, inside: ScaledVectors, room: Workspace
) -> None:
    """Compute inside vectors, each times the factor (I,) of its item."""
    vectors, exponents, _ = inside
    # Children come before parents, so that the vectors of children are finished before they are used.
    for item in range(len(forest.symbol)):
        # An unknown symbol has no states.
        if forest.symbol[item] < 0:
            continue
        m = operators.states[forest.symbol[item]]
        edge, stop = forest.start[item], forest.start[item + 1]
        while edge < stop:
            end = _run_end(forest, edge, stop)
            exponent = _apply(operators, forest, inside, edge, end, m, room)
            _add(inside, item, room.of_items, 0, m, exponent)
            edge = end
        _multiply(vectors, item, m, factors[item])
        exponents[item] = _normalise(vectors, item, m, exponents[item])


@compiled_pass
def outside_pass(
    operators: PackedOperators,
    forest: Forest,
    factors: FloatArray,
    inside: ScaledVectors,
    outside: ScaledVectors,
    room: Workspace,
    to_left: bool,
) -> None:
    """Compute outside vectors from the result of `inside_pass` on the same forest, with the same factors (I,).

    to_left: whether left children get vectors, too; in a chain, they are leaves whose vectors nobody reads."""
    states, symbol = operators.states, forest.symbol
    vectors, exponents, _ = outside
    pair, to_child = room
    # A root begins with the root weights of its symbol.
    for item in forest.root:
        if symbol[item] >= 0:
            for i in range(states[symbol[item]]):
                vectors[item, i] += operators.root[symbol[item], i]
                if vectors[item, i] != 0.0:
                    exponents[item] = 0
    # Backwards, parents come before children, so that the vector of a parent is finished before it is used.
    for item in range(len(symbol) - 1, -1, -1):
        if symbol[item] < 0:
            continue
        m_a = states[symbol[item]]
        _multiply(vectors, item, m_a, factors[item])
        above = _normalise(vectors, item, m_a, exponents[item])
        exponents[item] = above
        # Skip items that no derivation reaches.
        if above <= EMPTY // 2:
            continue
        edge, stop = forest.start[item], forest.start[item + 1]
        while edge < stop:
            r = forest.rule[edge]
            end = _run_end(forest, edge, stop)
            is_binary = forest.right[edge] >= 0
            is_number = False
            if r >= 0 and is_binary:
                # Apply the transpose of the rule's matrix, to pair space, once for all edges of the run.
                block = block_of(operators, r)
                is_number = block.width == 1 and block.terms == 0 and m_a == 1
                if is_number:
                    pair[0, 0] = block.data[block.first] * vectors[item, 0]
                else:
                    parent_to_pair(block, vectors, item, pair)
            n_sides = 0 if r < 0 or forest.left[edge] < 0 else 2 if is_binary else 1
            # For each edge, map pair space to one child, with the other child's inside vector filled in.
            for e in range(edge, end):
                for side in range(0 if to_left else 1, n_sides):
                    child, other = (forest.right[e], forest.left[e]) if side else (forest.left[e], forest.right[e])
                    m = states[symbol[child]]
                    exponent = above
                    if is_binary:
                        exponent += inside.exponents[other]
                    if is_number:
                        to_child[0, 0] = pair[0, 0] * inside.vectors[other, 0]
                    elif is_binary:
                        pair_to_child(block, pair, inside, other, 2 * e, side, to_child)
                    else:
                        # A unary rule: apply the transpose of its matrix.
                        for j in range(m):
                            to_child[0, j] = 0.0
                            for i in range(m_a):
                                to_child[0, j] += vectors[item, i] * operators.unary[r, i, j]
                    _add(outside, child, to_child, 0, m, exponent)
            edge = end


@compiled_pass
def edge_pass(
    operators: PackedOperators,
    forest: Forest,
    inside: ScaledVectors,
    outside: ScaledVectors,
    products: FloatArray,
    exponents: IntArray,
    room: Workspace,
) -> None:
    """Multiply the outside vector of each edge's item with the inside vector that the edge adds to the item.

    products: (E,) zeros; gets the products, divided by 2^exponents[e].
    exponents: (E,) exponents of zero; gets the exponents of the products."""
    for item in range(len(forest.symbol)):
        if outside.exponents[item] <= EMPTY // 2:
            continue
        m = operators.states[forest.symbol[item]]
        # Apply each edge alone, not in runs.
        for e in range(forest.start[item], forest.start[item + 1]):
            exponent = _apply(operators, forest, inside, e, e + 1, m, room)
            if exponent > EMPTY // 2:
                total = 0.0
                for i in range(m):
                    total += outside.vectors[item, i] * room.of_items[0, i]
                products[e] = total
                exponents[e] = outside.exponents[item] + exponent
