"""Expected counts of roots and rules with their states in the derivations of a forest: the E-step of EM.

| here | meaning |
| --- | --- |
| Z | the weight of a component: the sum over its derivations |
| ∂ log Z / ∂ θ | derivative by one number of the operators, such as θ = t(h, j, k \\| a → b c) |
| θ · ∂ log Z / ∂ θ | how often θ is used in a derivation, on average: its expected count |

A tensor in factors is a mixture, p(j, k | h) = Σ_q p(q | h) p(j | q) p(k | q), whose terms q are one more latent
state.  Its numbers are those of three tables, and each of them has its expected counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from spectral_latent.inference._kernels import block, compiled_pass, dot
from spectral_latent.inference.inside_outside import inside, item_component, outside, root_sums
from spectral_latent.operators import ObservableOperators, PackedOperators, RuleTable
from spectral_latent.trees import FloatArray, Forest, IntArray

__all__ = ["ExpectedCounts", "expected_counts"]


@dataclass(frozen=True, eq=False)
class ExpectedCounts:
    """Hold expected counts, and the log-likelihood of the forest under the operators that they were taken with.

    table: a count for each number of the operators, in the same layout.  In a tensor that is kept in factors each
    factor has counts of its own; those of a term sum to the same in all three.
    log_likelihood: Σ log Z over the components.
    """

    table: RuleTable
    log_likelihood: float

    def __add__(self, other: ExpectedCounts) -> ExpectedCounts:
        """Add the counts of two forests under the same operators."""
        table = self.table.add_numbers(other.table)
        return ExpectedCounts(table, self.log_likelihood + other.log_likelihood)


@compiled_pass
def _derivatives(
    operators: PackedOperators,
    forest: Forest,
    alpha: FloatArray,
    inside_exponents: IntArray,
    beta: FloatArray,
    outside_exponents: IntArray,
    total: FloatArray,
    total_exponents: IntArray,
    leaf: FloatArray,
    unary: FloatArray,
    data: FloatArray,
) -> None:
    """Add ∂ log Z / ∂ θ of all numbers θ to leaf (R0, M), unary (R1, M, M) and data, laid out as in the operators.

    total, total_exponents: (I,) the weight Z of each item's component is total · 2^total_exponents.
    """
    largest = 1
    for terms in operators.terms:
        largest = max(largest, terms)
    in_above = np.empty(largest)
    in_left = np.empty(largest)
    in_right = np.empty(largest)
    for item in range(len(forest.symbol)):
        above = beta[item, : operators.states[forest.symbol[item]]]
        for edge in range(forest.start[item], forest.start[item + 1]):
            r = forest.rule[edge]
            left = forest.left[edge]
            right = forest.right[edge]
            # what the three vectors' scales, and the division by Z, leave to multiply with
            exponent = outside_exponents[item] - total_exponents[item]
            if left >= 0:
                exponent += inside_exponents[left]
            if right >= 0:
                exponent += inside_exponents[right]
            if r < 0 or total[item] == 0.0 or exponent < -1070:
                continue
            scale = math.ldexp(1.0, min(exponent, 1000)) / total[item]
            if left < 0:
                for h in range(len(above)):
                    leaf[r, h] += scale * above[h]
                continue
            y = alpha[left, : operators.states[forest.symbol[left]]]
            if right < 0:
                for h in range(len(above)):
                    for j in range(len(y)):
                        unary[r, h, j] += scale * above[h] * y[j]
                continue
            z = alpha[right, : operators.states[forest.symbol[right]]]
            matrix, second, third = block(operators, r, len(above), len(y), len(z))
            at = operators.offset[r]
            width = matrix.shape[1]
            if len(second) == 0:
                # multiplied out: the derivative is the outer product of the three vectors
                for h in range(len(above)):
                    for j in range(len(y)):
                        weight = scale * above[h] * y[j]
                        for k in range(len(z)):
                            data[at + k] += weight * z[k]
                        at += len(z)
                continue
            for q in range(width):
                in_left[q] = dot(second[q], y)
                in_right[q] = dot(third[q], z)
                in_above[q] = 0.0
            # first factor (m_a, Q): the parent's outside vector times what both children have in the term
            for h in range(len(above)):
                weight = scale * above[h]
                for q in range(width):
                    data[at + q] += weight * in_left[q] * in_right[q]
                    in_above[q] += weight * matrix[h, q]
                at += width
            # second factor (Q, m_b): the left child's inside vector times what the others have in the term
            for q in range(width):
                weight = in_above[q] * in_right[q]
                for j in range(len(y)):
                    data[at + j] += weight * y[j]
                at += len(y)
            # third factor (Q, m_c): likewise the right child's
            for q in range(width):
                weight = in_above[q] * in_left[q]
                for k in range(len(z)):
                    data[at + k] += weight * z[k]
                at += len(z)


def expected_counts(operators: ObservableOperators, forest: Forest) -> ExpectedCounts:
    """Compute the expected counts of all roots and rules in the derivations of a forest.

    operators: probabilities.
    Raises ValueError naming the first component, counted from 1, of which the weight is not above zero; also if the
    forest has items and no root, or as `inside` does.

    >>> from spectral_latent.trees import SkeletalTrees
    >>> tree = SkeletalTrees.of([0], left=[-1], right=[-1], terminal=[0], root=[0])
    >>> operators = ObservableOperators(
    ...     tree.rules, np.array([2]), np.array([[0.5, 0.5]]), np.array([[0.2, 0.6]]), np.empty((0, 2, 2)), [])
    >>> expected_counts(operators, Forest.of_trees(tree, tree.rules)).table.leaf
    array([[0.25, 0.75]])
    """
    if forest.n_items and not len(forest.root):
        raise ValueError("a forest without roots has no derivations to count in")
    below = inside(operators, forest)
    above = outside(operators, forest, below)
    total, exponent = root_sums(operators, forest, below)
    if (total <= 0.0).any():
        raise ValueError(f"component {int(np.argmax(total <= 0.0)) + 1} has no derivation of positive probability")
    component = item_component(forest)
    leaf = np.zeros_like(operators.leaf)
    unary = np.zeros_like(operators.unary)
    data = np.zeros_like(operators.binary.data)
    totals = (total[component], exponent[component])
    _derivatives(operators.packed, forest, *below, *above, *totals, leaf, unary, data)
    root = np.zeros_like(operators.root)
    shift = np.clip(below.exponents[forest.root] - exponent[forest.component], -1100, 1000).astype(np.intc)
    scale = np.ldexp(1.0, shift) / total[forest.component]
    np.add.at(root, forest.symbol[forest.root], below.vectors[forest.root] * scale[:, None])
    table = RuleTable(
        operators.rules,
        operators.states,
        operators.root * root,
        operators.leaf * leaf,
        operators.unary * unary,
        operators.binary.with_data(operators.binary.data * data),
    )
    return ExpectedCounts(table, float((np.log(total) + exponent * np.log(2.0)).sum()))
