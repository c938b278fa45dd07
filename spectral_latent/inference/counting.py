"""Compute the expected counts of roots and rules with states in the derivations of a forest: the E-step of EM.

| here | meaning |
| --- | --- |
| Z | the weight of a component: the sum over its derivations |
| ∂ log Z / ∂ θ | the derivative by one number of the operators, such as θ = t(h, j, k \\| a → b c) |
| θ · ∂ log Z / ∂ θ | the expected count of θ: the mean number of times that a derivation uses θ |

A factored tensor is a mixture, p(j, k | h) = Σ_q p(q | h) p(j | q) p(k | q), whose terms q are one more latent state.
Its numbers are three tables, and each table has its expected counts.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from spectral_latent._compiled import check_column, compiled_pass, pass_part, place
from spectral_latent.inference._blocks import RuleBlock, RuleRoom, block_of
from spectral_latent.inference._matrices import multiply, multiply_transposed
from spectral_latent.inference.inside_outside import ScaledVectors, inside, item_component, outside, root_sums
from spectral_latent.operators import ExpectedCounts, ObservableOperators, PackedOperators
from spectral_latent.trees import FloatArray, Forest, IntArray

__all__ = ["expected_counts"]


class _ComponentTotals(NamedTuple):
    """The sum Z of each item's component, mantissa · 2^exponent, and the weight of the component."""

    mantissa: FloatArray  # (I,)
    exponent: IntArray  # (I,)
    times: FloatArray  # (I,) the weight of the component


class _Derivatives(NamedTuple):
    """The derivatives ∂ log Z / ∂ θ for all numbers θ of rules, in the layout of the operators."""

    leaf: FloatArray  # (R0, M) of leaf rules
    unary: FloatArray  # (R1, M, M) of unary rules
    data: FloatArray  # (offset[-1],) of the tensors of binary rules, flat


@pass_part
def _scale(
    forest: Forest, item: int, edge: int, inside: ScaledVectors, outside: ScaledVectors, totals: _ComponentTotals
) -> float:
    """Compute the factor of the derivatives at an edge: the powers of two of the vectors, times the weight, over Z.

    The factor is 0 if it underflows.
    """
    # Add the exponents of the vectors at the edge, and subtract the exponent of Z.
    exponent = outside.exponents[item] - totals.exponent[item]
    if forest.left[edge] >= 0:
        exponent += inside.exponents[forest.left[edge]]
    if forest.right[edge] >= 0:
        exponent += inside.exponents[forest.right[edge]]
    if totals.mantissa[item] == 0.0 or exponent < -1070:
        return 0.0
    scale: float = math.ldexp(1.0, int(min(exponent, 1000))) / totals.mantissa[item] * totals.times[item]
    return scale


@pass_part
def _add_outer(
    total: FloatArray, block: RuleBlock, scale: float, outside: FloatArray, a: int, inside: FloatArray, b: int, c: int
) -> None:
    """Add `scale` times the outer product of three vectors to the numbers of a tensor that is multiplied out.

    The vectors are outside[a] of the parent, and inside[b] and inside[c] of the children.

    total: (n,) the numbers of all tensors.
    """
    # The numbers of a tensor are in the order of h, j and k; `row` is the place of the numbers of h and j.
    row = block.first
    for h in range(block.m_a):
        for j in range(block.m_b):
            weight = scale * outside[a, h] * inside[b, j]
            for k in range(block.m_c):
                total[place(row + k)] += weight * inside[c, k]
            row += block.m_c


@pass_part
def _add_to_factors(
    total: FloatArray,
    block: RuleBlock,
    scale: float,
    outside: FloatArray,
    a: int,
    inside: FloatArray,
    b: int,
    c: int,
    pair: FloatArray,
) -> None:
    """Add `scale` times the derivatives of a factored tensor to its numbers; see `_add_outer`.

    pair: (3, Q) room for three vectors in pair space.
    """
    data, first, second, third, terms, _, m_a, m_b, m_c = block
    # Map each of the three vectors to the terms.
    multiply_transposed(data, first, m_a, terms, outside, a, pair, 0)
    multiply(data, second, terms, m_b, inside, b, pair, 1)
    multiply(data, third, terms, m_c, inside, c, pair, 2)
    # The first factor (m_a, Q): the parent's outside vector times the images of both children in the term.
    for h in range(m_a):
        weight = scale * outside[a, h]
        for q in range(terms):
            total[place(first + h * terms + q)] += weight * pair[1, q] * pair[2, q]
    # The second and third factors, (Q, m_b) and (Q, m_c): a child's inside vector times the two other images.
    for q in range(terms):
        weight = scale * pair[0, q] * pair[2, q]
        for j in range(m_b):
            total[place(second + q * m_b + j)] += weight * inside[b, j]
        weight = scale * pair[0, q] * pair[1, q]
        for k in range(m_c):
            total[place(third + q * m_c + k)] += weight * inside[c, k]


@compiled_pass
def _add_derivatives(
    operators: PackedOperators,
    forest: Forest,
    inside: ScaledVectors,
    outside: ScaledVectors,
    totals: _ComponentTotals,
    derivatives: _Derivatives,
    pair: FloatArray,
) -> None:
    """Add the derivatives at every edge of a forest.

    inside, outside: the vectors (I, M) of the items, with exponents.
    pair: (3, Q) room for three vectors in pair space.
    """
    above = outside.vectors
    below = inside.vectors
    total = derivatives.data
    for item in range(len(forest.symbol)):
        m_a = operators.states[forest.symbol[item]]
        for edge in range(forest.start[item], forest.start[item + 1]):
            r = forest.rule[edge]
            b = forest.left[edge]
            c = forest.right[edge]
            scale = _scale(forest, item, edge, inside, outside, totals)
            if r < 0 or scale == 0.0:
                continue
            # The derivative is the outer product of the parent's outside vector and the children's inside vectors.
            if b < 0:
                for h in range(m_a):
                    derivatives.leaf[r, h] += scale * above[item, h]
            elif c < 0:
                for h in range(m_a):
                    for j in range(operators.states[forest.symbol[b]]):
                        derivatives.unary[r, h, j] += scale * above[item, h] * below[b, j]
            else:
                block = block_of(operators, r)
                if block.terms:
                    _add_to_factors(total, block, scale, above, item, below, b, c, pair)
                else:
                    _add_outer(total, block, scale, above, item, below, b, c)


def expected_counts(operators: ObservableOperators, forest: Forest, times: FloatArray | None = None) -> ExpectedCounts:
    """Compute the expected counts of all roots and rules in the derivations of a forest.

    operators: the operators, whose numbers must be probabilities.
    forest: a forest whose C components all have a derivation, such as s-trees.
    times: (C,) the weight of each component; 1 if not given.
    Raises ValueError if the sum over the derivations of a component is not above zero (the message names the first such
    component, from 1), if the forest has items but no root, and the errors of `inside`.

    >>> from spectral_latent.trees import SkeletalTrees
    >>> tree = SkeletalTrees.of([0], left=[-1], right=[-1], terminal=[0], root=[0])
    >>> operators = ObservableOperators(
    ...     tree.rules, np.array([2]), np.array([[0.5, 0.5]]), np.array([[0.2, 0.6]]), np.empty((0, 2, 2)), [])
    >>> expected_counts(operators, Forest.of_trees(tree, tree.rules)).leaf
    array([[0.25, 0.75]])
    """
    if forest.n_items and not len(forest.root):
        raise ValueError("a forest without roots has no derivations to count in")
    inside_vectors = inside(operators, forest)
    outside_vectors = outside(operators, forest, inside_vectors)
    total, exponent = root_sums(operators, forest, inside_vectors)
    if (total <= 0.0).any():
        raise ValueError(f"component {int(np.argmax(total <= 0.0)) + 1} has no derivation of positive probability")
    times = np.ones(len(total)) if times is None else times
    check_column("the weights of components", times, total.shape, np.float64)
    component = item_component(forest)
    numbers = (operators.leaf, operators.unary, operators.binary.data)
    derivatives = _Derivatives(*(np.zeros_like(array) for array in numbers))
    totals = _ComponentTotals(total[component], exponent[component], times[component])
    pair, _ = RuleRoom.allocate(operators.packed)
    _add_derivatives(operators.packed, forest, inside_vectors, outside_vectors, totals, derivatives, pair)
    # The derivative by a number of a root is the inside vector of the item at the root, over Z.
    root = np.zeros_like(operators.root)
    shift = np.clip(inside_vectors.exponents[forest.root] - exponent[forest.component], -1100, 1000).astype(np.intc)
    scale = np.ldexp(1.0, shift) / total[forest.component] * times[forest.component]
    np.add.at(root, forest.symbol[forest.root], inside_vectors.vectors[forest.root] * scale[:, None])
    log_likelihood = (np.log(total) + exponent * np.log(2.0)) * times
    return ExpectedCounts(
        operators.rules,
        operators.states,
        operators.root * root,
        operators.leaf * derivatives.leaf,
        operators.unary * derivatives.unary,
        operators.binary.with_data(operators.binary.data * derivatives.data),
        float(log_likelihood.sum()),
    )
