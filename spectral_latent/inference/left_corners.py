"""Predict the nodes that may begin at each terminal, given the terminals before: forward vectors of a grammar.

| here | meaning |
| --- | --- |
| Z, (S, M) | the probability that the tree below a symbol in a state is finite; 1 for most grammars |
| P, (S·M, S·M) | from a node to its left child: P[(a, h), (b, h')] = Σ_c,h'' t(a → b c, h', h'' \\| a, h) Z(c, h'') |
| R = (I - P)⁻¹ | from a node to all nodes that begin with it: I + P + P² + ... (Jelinek and Lafferty 1991) |
| α_ij, (S, M) | the inside vectors of terminals i ... j-1 |
| f_j, (S, M) | the probability of terminals 0 ... j-1 and a node (a, h) after them, summed over such nodes |

A node begins at terminal 0 if it is the root or a left descendant of the root.  It begins at terminal j > 0 if it is
the right child of a node whose left child ends there, or a left descendant of that child (Stolcke 1995):

f_0 = root R and f_j = (Σ_i Σ_{a → b c} f_i[a] · t(a → b c) · α_ij[b]) R.

Exactly one of the nodes that begin at a terminal is a leaf.  Therefore f_j times the leaf rules of terminal j is the
probability of all trees whose leaves begin with the terminals 0 ... j.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from spectral_latent._compiled import ZERO, check_column, check_range, compiled_pass, place
from spectral_latent.inference._blocks import RuleRoom, block_of, parent_to_pair
from spectral_latent.inference._matrices import multiply, multiply_transposed
from spectral_latent.inference.generative_means import factorise, mean_children
from spectral_latent.operators import ObservableOperators, PackedOperators, row_sums
from spectral_latent.trees import FloatArray, IntArray

__all__ = ["LeftCorners"]

_STEPS = 100  # the largest number of steps of Newton's method, which needs about ten
_PRECISE = 1e-14  # the largest change in the last step


@dataclass(frozen=True, eq=False)
class LeftCorners:
    """The nodes that may begin where a node begins, under a grammar.

    operators: the grammar, whose numbers are probabilities.
    leaf_total: (S, M) the sum of the leaf rules of each state.
    total: (S, M) the sums Z over all trees of each state.
    first: (S, M) the forward vector f_0, before the first terminal.
    factors: the factors of the transpose of I - P.
    by_left: (R2,) the binary rules, sorted by left child.
    of_left: (S + 1,) the rules with left child b are by_left[of_left[b]] ... by_left[of_left[b+1] - 1].
    """

    operators: ObservableOperators
    leaf_total: FloatArray
    total: FloatArray
    first: FloatArray
    factors: scipy.sparse.linalg.SuperLU
    by_left: IntArray
    of_left: IntArray

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the operators alone, because the factors of SciPy cannot be pickled; a copy computes them again."""
        return LeftCorners.compute, (self.operators,)

    @staticmethod
    def compute(operators: ObservableOperators) -> LeftCorners:
        """Compute the left corners of a grammar.

        operators: the grammar; the rules of each state must sum to one, as in `normalised` operators.

        Raises ValueError if the numbers are not probabilities, or if there are unary rules.

        >>> from spectral_latent.operators import Counts
        >>> from spectral_latent.trees import Rules
        >>> rules = Rules(np.array([[0, 0]]), np.empty((0, 2), int), np.array([[0, 0, 0]]))
        >>> counts = Counts.of_rules(rules, np.ones(1), np.array([1.0]), np.zeros(0), np.array([4.0]))
        >>> corners = LeftCorners.compute(ObservableOperators.probabilities_of(counts))
        >>> corners.total.round(12), corners.first.round(12)
        (array([[0.25]]), array([[1.25]]))
        """
        if not operators.probabilities:
            raise ValueError("left corners are those of probabilities, and the operators are none")
        if len(operators.rules.unary):
            raise ValueError("left corners are those of binary rules, and there are unary rules")
        leaf_total = row_sums(operators.rules.leaf[:, 0], operators.leaf, operators.n_symbols)
        total = _finite(operators, leaf_total)
        to_left, _ = mean_children(operators, total)
        factors = factorise(scipy.sparse.csc_array((scipy.sparse.eye_array(total.size) - to_left).T))
        first = factors.solve(operators.root.ravel()).reshape(total.shape)
        left = operators.rules.binary[:, 1]
        by_left = np.argsort(left, kind="stable")
        of_left = np.searchsorted(left[by_left], np.arange(operators.n_symbols + 1))
        return LeftCorners(operators, leaf_total, total, first, factors, by_left, of_left)

    def after(self, forward: FloatArray, first: IntArray, symbol: IntArray, inside: FloatArray) -> FloatArray:
        """Compute f_j, (S, M), from all K items that end before terminal j.

        forward: (n, S, M) f_0 ... f_j-1; further rows are not read.
        first: (K,) the first terminal i of each item.
        symbol: (K,) the symbol b of each item.
        inside: (K, M) the inside vector α_ij[b] of each item.
        """
        k = len(symbol)
        check_column("forward vectors", forward, (len(forward), *self.first.shape), np.float64)
        check_column("first terminals of items", first, (k,), np.int64)
        check_range("first terminals of items", first, 0, len(forward))
        check_column("symbols of items", symbol, (k,), np.int64)
        check_range("symbols of items", symbol, 0, self.operators.n_symbols)
        check_column("inside vectors of items", inside, (k, self.first.shape[1]), np.float64)
        by_symbol = np.argsort(symbol, kind="stable")
        items = (first[by_symbol], symbol[by_symbol], inside[by_symbol])
        packed = self.operators.packed
        pair, _ = RuleRoom.allocate(packed)
        right = np.zeros_like(self.first)
        rows = np.ascontiguousarray(forward).reshape(-1, self.first.shape[1])
        total = np.empty((2, pair.shape[1]))
        _add_right_children(packed, self.by_left, self.of_left, rows, *items, pair, total, right)
        predicted: FloatArray = self.factors.solve(right.ravel()).reshape(self.first.shape)
        return predicted


def _finite(operators: ObservableOperators, leaf_total: FloatArray) -> FloatArray:
    """Find Z, the least solution of Z(a, h) = leaf_total(a, h) + Σ t(a → b c) Z(b) Z(c), by Newton's method."""
    total = np.zeros(leaf_total.size)
    unit = scipy.sparse.eye_array(total.size, format="csc")
    # From zero, every step increases Z, and no step goes beyond the solution (Etessami and Yannakakis 2009).
    for _ in range(_STEPS):
        to_left, to_right = mean_children(operators, total.reshape(leaf_total.shape))
        missing = leaf_total.ravel() + to_left @ total - total
        step = factorise(unit - to_left - to_right).solve(missing)
        total += step
        if np.abs(step).max() < _PRECISE:
            break
    return total.reshape(leaf_total.shape)


@compiled_pass
def _add_right_children(
    operators: PackedOperators,
    by_left: IntArray,
    of_left: IntArray,
    forward: FloatArray,
    first: IntArray,
    symbol: IntArray,
    inside: FloatArray,
    pair: FloatArray,
    total: FloatArray,
    out: FloatArray,
) -> None:
    """Add f_i[a] · t(a → b c) · α_ij[b] to out[c], summed over items and rules; items are sorted by symbol.

    forward: (n S, M) f_i[a] is row i S + a.
    pair: (3, Q) room for vectors in pair space.
    total: (2, Q) room for a sum over the items of a symbol, and for a vector of states.
    out: (S, M) gets the sums.
    """
    n_symbols = len(operators.states)
    end = ZERO
    while end < len(symbol):
        # The items of one symbol b are left children of the same rules.
        begin = end
        b = symbol[begin]
        while end < len(symbol) and symbol[end] == b:
            end += 1
        for at in range(of_left[b], of_left[b + 1]):
            r = by_left[at]
            a, c = operators.binary_rules[r, 0], operators.binary_rules[r, 2]
            block = block_of(operators, r)
            terms, m_c = block.terms, block.m_c
            for q in range(max(terms, m_c)):
                total[0, q] = 0.0
            for item in range(begin, end):
                # Map f_i[a], over the parent's states, to the rule's pair space.
                parent_to_pair(block, forward, first[item] * n_symbols + a, pair)
                # Apply α_ij[b]: a factored tensor leaves a number for each term, another one for each state of c.
                if terms:
                    multiply(block.data, block.second, terms, block.m_b, inside, item, pair, 1)
                    for q in range(terms):
                        total[0, q] += pair[0, q] * pair[1, q]
                else:
                    for j in range(block.m_b):
                        for k in range(m_c):
                            total[0, k] += inside[item, j] * pair[0, place(j * m_c + k)]
            # Apply the third factor once for all items.
            if terms:
                multiply_transposed(block.data, block.third, terms, m_c, total, 0, total, 1)
            for k in range(m_c):
                out[c, k] += total[1 if terms else 0, k]
