"""Apply the tensor of a binary rule, t(h, j, k | a → b c), which is a part of one flat array.

A tensor is a matrix (m_a, Q) that maps the rule's pair space to the states of its parent.  If the tensor is factored,
two more matrices, (Q, m_b) and (Q, m_c), map the states of its children to the Q terms (`operators.Tensors`).

Vectors are given as an array and the number of a row, because compiled code would make a new array for a part of one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spectral_latent._compiled import pass_part, place
from spectral_latent.inference._matrices import multiply, multiply_transposed
from spectral_latent.operators import PackedOperators
from spectral_latent.trees import FloatArray

__all__ = [
    "RuleBlock",
    "RuleRoom",
    "add_pair",
    "block_of",
    "pair_to_children",
    "pair_to_parent",
    "parent_to_pair",
]


class RuleBlock(NamedTuple):
    """The matrices of a binary rule a → b c, as places in a flat array.

    data: the numbers of all tensors, flat, (offset[-1],).
    first: the first place of the matrix (m_a, Q).
    second: the first place of the factor (Q, m_b), if the tensor is factored.
    third: the first place of the factor (Q, m_c), if the tensor is factored.
    terms: the number of terms; 0 if the tensor is multiplied out.
    width: Q, the number of terms, or m_b m_c.
    m_a: the number of states of the parent.
    m_b: the number of states of the left child.
    m_c: the number of states of the right child.
    """

    data: FloatArray
    first: int
    second: int
    third: int
    terms: int
    width: int
    m_a: int
    m_b: int
    m_c: int


class RuleRoom(NamedTuple):
    """Room for the vectors of one rule.

    pair: (3, Q) a vector in the pair space of a rule, and the images of both children in its terms.
    of_items: (2, M) the vectors of two items.
    """

    pair: FloatArray
    of_items: FloatArray

    @staticmethod
    def allocate(operators: PackedOperators) -> RuleRoom:
        """Make room for the rules of operators."""
        m_max = operators.leaf.shape[1]
        width = max(m_max * m_max, operators.terms.max(initial=0))
        return RuleRoom(np.empty((3, width)), np.empty((2, m_max)))


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
def add_pair(
    block: RuleBlock, left: FloatArray, b: int, right: FloatArray, c: int, scale: float, pair: FloatArray
) -> None:
    """Add to pair[0] `scale` times the image of two children, y = left[b] and z = right[c], in pair space.

    left: (n, M) the vectors of left children.
    right: (n', M) the vectors of right children.
    pair: (3, Q) vectors in pair space, as in `RuleRoom`.
    """
    if block.terms:
        # Factored: coordinate q is (second[q] · y) (third[q] · z).
        multiply(block.data, block.second, block.terms, block.m_b, left, b, pair, 1)
        multiply(block.data, block.third, block.terms, block.m_c, right, c, pair, 2)
        for q in range(block.terms):
            pair[0, q] += scale * pair[1, q] * pair[2, q]
    else:
        # Multiplied out: the outer product of y and z, row by row.
        for j in range(block.m_b):
            weight = scale * left[b, j]
            for k in range(block.m_c):
                pair[0, place(j * block.m_c + k)] += weight * right[c, k]


@pass_part
def pair_to_parent(block: RuleBlock, pair: FloatArray, out: FloatArray) -> None:
    """Set out[0], (m_a,), to the image of pair[0] in the states of the parent.

    pair: (3, Q) vectors in pair space, as in `RuleRoom`.
    out: (n, M) gets the vector in row 0.
    """
    multiply(block.data, block.first, block.m_a, block.width, pair, 0, out, 0)


@pass_part
def parent_to_pair(block: RuleBlock, vectors: FloatArray, a: int, pair: FloatArray) -> None:
    """Set pair[0] to the image of the parent's outside vector in pair space.

    vectors: (n, M) the outside vectors.
    pair: (3, Q) vectors in pair space, as in `RuleRoom`.
    """
    multiply_transposed(block.data, block.first, block.m_a, block.width, vectors, a, pair, 0)


@pass_part
def pair_to_children(
    block: RuleBlock, pair: FloatArray, left: FloatArray, b: int, right: FloatArray, c: int, to_children: FloatArray
) -> None:
    """Set to_children (2, M) to the derivatives of pair[0] · pair(y, z) by y = left[b] and by z = right[c].

    pair: (3, Q) vectors in pair space, as in `RuleRoom`; pair[1] and pair[2] are overwritten.
    left: (n, M) the vectors of left children.
    right: (n', M) the vectors of right children.
    to_children: (2, M) gets the derivatives.
    """
    if block.terms:
        # The derivative of pair[0, q] (second[q] · y) (third[q] · z) by y is pair[0, q] (third[q] · z) second[q].
        multiply(block.data, block.second, block.terms, block.m_b, left, b, pair, 1)
        multiply(block.data, block.third, block.terms, block.m_c, right, c, pair, 2)
        for q in range(block.terms):
            in_left, in_right = pair[1, q], pair[2, q]
            pair[1, q] = pair[0, q] * in_right
            pair[2, q] = pair[0, q] * in_left
        multiply_transposed(block.data, block.second, block.terms, block.m_b, pair, 1, to_children, 0)
        multiply_transposed(block.data, block.third, block.terms, block.m_c, pair, 2, to_children, 1)
    else:
        # pair[0] is a matrix (m_b, m_c): apply it to z, and its transpose to y.
        for k in range(block.m_c):
            to_children[1, k] = 0.0
        for j in range(block.m_b):
            total = 0.0
            for k in range(block.m_c):
                weight = pair[0, place(j * block.m_c + k)]
                total += weight * right[c, k]
                to_children[1, k] += weight * left[b, j]
            to_children[0, j] = total
