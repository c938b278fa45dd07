"""Compute exact sums over the trees of a model: mean counts of nodes, and the probabilities of beginnings of trees.

| here | long paper | meaning |
| --- | --- | --- |
| `counts[a, h]` | - | the mean number of nodes with symbol a in state h in a tree |
| B[(a, h), (b, i)] | - | the mean number of children (b, i) of a node (a, h) |
| `counts` = π + `counts` · B | - | the nodes are the roots and the children of nodes |

Forward vectors predict the nodes that may begin at each terminal, given the terminals before:

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

The sum of the inside vectors of all trees below a symbol is 1 in every state, in the basis of the states:

| here | meaning |
| --- | --- |
| ζ_a = Σ_x c∞_{a→x} + Σ C^{a→b c}(ζ_b, ζ_c) | the sum of a symbol's inside vectors; scaled to c¹_a · ζ_a = p(a) |
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from spectral_latent import _scipy as scipy
from spectral_latent._compiled import ZERO, check_column, check_range, compiled_pass, unsigned
from spectral_latent.inference._kernels import Workspace, block_of, multiply, multiply_transposed, parent_to_pair
from spectral_latent.operators import ObservableOperators, PackedOperators, Tensors, row_sums
from spectral_latent.trees import FloatArray, IntArray

_INFINITE = "the grammar's trees are infinite on average"
_ROUNDING = 1e-12  # the largest rounding error of a count of zero, as a share of the largest count
_STEPS = 100  # the largest number of steps of Newton's method, which needs about ten
_PRECISE = 1e-14  # the largest change in the last step
_ROUNDS = 40  # the largest number of rounds, after which errors of spectral estimates may still move the sums
_STILL = 1e-12  # the largest change in the last round


def mean_children(operators: ObservableOperators, total: FloatArray, side: int) -> scipy.sparse.csc_array:
    """Compute the mean numbers of children of one side by binary rules, (S·M, S·M).

    Only children whose sibling has a finite tree are counted.

    total: (S, M) the probability that the tree below a state is finite; ones to count all children.
    side: 1 for left children, 2 for right ones."""
    n_symbols, m = total.shape
    numbers = [np.zeros(0)]
    places = [np.zeros((2, 0), dtype=np.int64)]
    for rows, first, second, third in operators.binary.by_shape():
        rules = operators.rules.binary[rows]
        # Fill in the sums of the siblings, (R, m_c): a matrix (m_a, m_b) remains of each tensor.
        siblings = total[rules[:, 3 - side]]
        if second is None or third is None:
            legs = "rabc,rc->rab" if side == 1 else "racb,rc->rab"
            filled = np.einsum(legs, first, siblings[:, : first.shape[4 - side]])
        else:
            own, other = (second, third) if side == 1 else (third, second)
            weight = other @ siblings[:, : other.shape[2], None]
            filled = (first * weight[:, None, :, 0]) @ own
        # State h of symbol a has the number a · m + h.
        row = rules[:, 0, None, None] * m + np.arange(filled.shape[1])[:, None]
        column = rules[:, side, None, None] * m + np.arange(filled.shape[2])
        numbers.append(filled.ravel())
        places.append(np.stack([each.ravel() for each in np.broadcast_arrays(row, column)]))
    shape = (n_symbols * m, n_symbols * m)
    return scipy.sparse.csc_array((np.concatenate(numbers), tuple(np.concatenate(places, axis=1))), shape=shape)


def factorise(equations: scipy.sparse.csc_array) -> scipy.sparse.linalg.SuperLU:
    """Factorise linear equations (n, n) about a grammar, for its `solve`."""
    try:
        return scipy.sparse.linalg.splu(equations)
    except RuntimeError:
        raise ValueError(_INFINITE) from None


def _are_finite(equations: scipy.sparse.linalg.SuperLU) -> bool:
    """Tell whether trees are finite on average, given the factors of I - B or of its transpose.

    A matrix B without negative numbers has a spectral radius below 1 exactly if (I - B) x = 1 has a solution x >= 1.
    """
    return bool(equations.solve(np.ones(equations.shape[0])).min(initial=1.0) >= 1.0 - _ROUNDING)


def _only_children(operators: ObservableOperators) -> scipy.sparse.coo_array:
    """Compute the mean numbers of children by unary rules, (S·M, S·M)."""
    n = operators.root.size
    m = operators.root.shape[1]
    # State h of symbol a has the number a · m + h: the numbers of each rule fill a block of m rows and m columns.
    first = operators.rules.unary[:, :, None, None] * m
    row, column = np.broadcast_arrays(first[:, 0] + np.arange(m)[:, None], first[:, 1] + np.arange(m))
    return scipy.sparse.coo_array((operators.unary.ravel(), (row.ravel(), column.ravel())), shape=(n, n))


def mean_node_counts(operators: ObservableOperators) -> FloatArray:
    """Compute the mean number of nodes of each symbol in each state in one tree, (S, M).

    Raises ValueError if the operators are not probabilities, or if trees are infinite on average.

    >>> from spectral_latent.trees import Rules
    >>> rules = Rules(np.array([[0, 0]]), np.empty((0, 2), int), np.array([[0, 0, 0]]))
    >>> branching = ObservableOperators(
    ...     rules, states=np.array([1]), root=np.array([[1.0]]), leaf=np.array([[0.6]]), unary=np.empty((0, 1, 1)),
    ...     binary=Tensors.scalars(np.array([0.4])), probabilities=True)
    >>> mean_node_counts(branching)
    array([[5.]])
    """
    if not operators.probabilities:
        raise ValueError("only operators that are probabilities generate trees, not those of another basis")
    to_left, to_right = (mean_children(operators, np.ones(operators.root.shape), side) for side in (1, 2))
    to_child = (to_left + to_right + _only_children(operators)).T.tocsr()
    root = operators.root.ravel()
    # Find the symbols and states that trees reach; all others would make the equations singular.
    seen = root > 0
    while not np.array_equal(grown := seen | (to_child @ seen > 0), seen):
        seen = grown
    # Solve counts = π + counts · B.
    counts = np.zeros(len(root))
    equations = factorise(scipy.sparse.csc_array(scipy.sparse.eye_array(seen.sum()) - to_child[seen][:, seen]))
    if not _are_finite(equations):
        raise ValueError(_INFINITE)
    counts[seen] = equations.solve(root[seen])
    return np.maximum(counts, 0.0).reshape(operators.root.shape)


def collapse(operators: ObservableOperators) -> ObservableOperators:
    """Compute the one-state grammar with the same mean counts of rules.

    Its weights are the limits of relative frequencies of rules in trees that the model generates.  Rules of symbols
    that no tree contains have weight zero.

    >>> from spectral_latent.trees import Rules
    >>> rules = Rules(np.array([[0, 0], [0, 1]]), np.empty((0, 2), int), np.empty((0, 3), int))
    >>> hidden = ObservableOperators(
    ...     rules, states=np.array([2]), root=np.array([[0.5, 0.5]]), leaf=np.array([[1.0, 0.2], [0.0, 0.8]]),
    ...     unary=np.empty((0, 2, 2)), binary=[], probabilities=True)
    >>> collapse(hidden).leaf.ravel()
    array([0.6, 0.4])
    """
    counts = mean_node_counts(operators)
    total = counts.sum(axis=1, keepdims=True)
    share = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)  # p(h | a)
    rules = operators.rules
    weights = [
        share[a, : operators.states[a]] @ tensor.to_dense().sum(axis=(1, 2))
        for a, tensor in zip(rules.binary[:, 0], operators.binary, strict=True)
    ]
    return ObservableOperators(
        rules,
        states=np.ones_like(operators.states),
        root=operators.root.sum(axis=1, keepdims=True),
        leaf=(share[rules.leaf[:, 0]] * operators.leaf).sum(axis=1, keepdims=True),
        unary=np.einsum("rh,rhi->r", share[rules.unary[:, 0]], operators.unary)[:, None, None],
        binary=Tensors.scalars(np.array(weights, dtype=np.float64)),
        probabilities=True,
    )


@dataclass(frozen=True, eq=False)
class LeftCorners:
    """The nodes that may begin where a node begins, under a grammar.

    operators: the grammar, whose numbers are probabilities.
    leaf_total: (S, M) the sum of the leaf rules of each state.
    total: (S, M) the sums Z over all trees of each state.
    first: (S, M) the forward vector f_0, before the first terminal.
    factors: the factors of the transpose of I - P.
    of_node: (S,) a factor of the rules of each symbol with children, for each node that begins before a terminal.
    of_root: (S,) a factor of each symbol at the root.
    by_left: (R2,) the binary rules, sorted by left child.
    left_ptr: (S + 1,) the rules with left child b are by_left[left_ptr[b]] ... by_left[left_ptr[b+1] - 1]."""

    operators: ObservableOperators
    leaf_total: FloatArray
    total: FloatArray
    first: FloatArray
    factors: scipy.sparse.linalg.SuperLU
    of_node: FloatArray
    of_root: FloatArray
    by_left: IntArray
    left_ptr: IntArray

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the operators alone, because the factors of SciPy cannot be pickled; a copy computes them again."""
        return LeftCorners.compute, (self.operators, self.of_node, self.of_root)

    @staticmethod
    def compute(
        operators: ObservableOperators, of_node: FloatArray | None = None, of_root: FloatArray | None = None
    ) -> LeftCorners:
        """Compute the left corners of a grammar.

        operators: the grammar; the rules of each state must sum to one, as in `normalised` operators.
        of_node: (S,) the factors of rules, from 0 to 1: the probability that a node has children by the rules, and not
        by others that are unknown here; nodes that are still to come have the sum Z.  Ones if not given.
        of_root: (S,) the factors of roots, from 0 to 1; ones if not given.

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
        of_node = np.ones(operators.n_symbols) if of_node is None else of_node
        of_root = np.ones(operators.n_symbols) if of_root is None else of_root
        to_left = mean_children(operators, total, 1)
        to_left = scipy.sparse.csc_array(scipy.sparse.diags_array(np.repeat(of_node, total.shape[1])) @ to_left)
        factors = factorise(scipy.sparse.csc_array((scipy.sparse.eye_array(total.size) - to_left).T))
        first = factors.solve((operators.root * of_root[:, None]).ravel()).reshape(total.shape)
        left = operators.rules.binary[:, 1]
        by_left = np.argsort(left, kind="stable")
        left_ptr = np.searchsorted(left[by_left], np.arange(operators.n_symbols + 1))
        return LeftCorners(operators, leaf_total, total, first, factors, of_node, of_root, by_left, left_ptr)

    def after(self, forward: FloatArray, first: IntArray, symbol: IntArray, inside: FloatArray) -> FloatArray:
        """Compute f_j, (S, M), from all K items that end before terminal j.

        forward: (n, S, M) f_0 ... f_j-1; further rows are not read.
        first: (K,) the first terminal i of each item.
        symbol: (K,) the symbol b of each item.
        inside: (K, M) the inside vector α_ij[b] of each item."""
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
        pair = Workspace.allocate(packed).pair
        right = np.zeros_like(self.first)
        rows = np.ascontiguousarray(forward).reshape(-1, self.first.shape[1])
        total = np.empty((2, pair.shape[1]))
        _add_right_children(packed, self.of_node, self.by_left, self.left_ptr, rows, *items, pair, total, right)
        predicted: FloatArray = self.factors.solve(right.ravel()).reshape(self.first.shape)
        return predicted


def _finite(operators: ObservableOperators, leaf_total: FloatArray) -> FloatArray:
    """Find Z, the least solution of Z(a, h) = leaf_total(a, h) + Σ t(a → b c) Z(b) Z(c), by Newton's method."""
    unit = scipy.sparse.eye_array(leaf_total.size, format="csc")
    # Most grammars have Z = 1, or 0 without rules.  A solution is the least one if its trees are finite on average.
    to_left, to_right = (mean_children(operators, np.ones_like(leaf_total), side) for side in (1, 2))
    total = ((leaf_total.ravel() > 0.0) | (to_left.sum(axis=1) > 0.0)).astype(np.float64)
    is_solution = np.abs(leaf_total.ravel() + to_left @ total - total).max(initial=0.0) < _ROUNDING
    with suppress(ValueError):
        if is_solution and _are_finite(factorise(unit - to_left - to_right)):
            return total.reshape(leaf_total.shape)

    total = np.zeros(leaf_total.size)
    # From zero, every step increases Z, and no step goes beyond the solution (Etessami and Yannakakis 2009).
    for _ in range(_STEPS):
        to_left, to_right = (mean_children(operators, total.reshape(leaf_total.shape), side) for side in (1, 2))
        missing = leaf_total.ravel() + to_left @ total - total
        step = factorise(unit - to_left - to_right).solve(missing)
        total += step
        if np.abs(step).max() < _PRECISE:
            break
    return total.reshape(leaf_total.shape)


@compiled_pass
def _add_right_children(
    operators: PackedOperators,
    of_node: FloatArray,
    by_left: IntArray,
    left_ptr: IntArray,
    forward: FloatArray,
    first: IntArray,
    symbol: IntArray,
    inside: FloatArray,
    pair: FloatArray,
    total: FloatArray,
    out: FloatArray,
) -> None:
    """Add f_i[a] · t(a → b c) · α_ij[b] to out[c], summed over items and rules; items are sorted by symbol.

    of_node: (S,) the factor of the rules of each symbol a.
    forward: (n S, M) f_i[a] is row i S + a.
    pair: (3, Q) room for vectors in pair space.
    total: (2, Q) room for a sum over the items of a symbol, and for a vector of states.
    out: (S, M) gets the sums."""
    n_symbols = len(operators.states)
    end = ZERO
    while end < len(symbol):
        # The items of one symbol b are left children of the same rules.
        begin = end
        b = symbol[begin]
        while end < len(symbol) and symbol[end] == b:
            end += 1
        for at in range(left_ptr[b], left_ptr[b + 1]):
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
                            total[0, k] += inside[item, j] * pair[0, unsigned(j * m_c + k)]
            # Apply the third factor once for all items.
            if terms:
                multiply_transposed(block.data, block.third, terms, m_c, total, 0, total, 1)
            for k in range(m_c):
                out[c, k] += of_node[a] * total[1 if terms else 0, k]


def sums_of_rules(operators: ObservableOperators, below: FloatArray) -> FloatArray:
    """Sum the rules with children of every symbol over all trees below them, (S, M).

    below: (S, M) the sum of the inside vectors of all trees below each symbol."""
    m = operators.states.tolist()
    sums = np.zeros_like(operators.root)
    for tensor, (a, b, c) in zip(operators.binary, operators.rules.binary.tolist(), strict=True):
        sums[a, : m[a]] += tensor.apply_left(below[b, : m[b]]) @ below[c, : m[c]]
    for matrix, (a, b) in zip(operators.unary, operators.rules.unary.tolist(), strict=True):
        sums[a] += matrix @ below[b]
    return sums


def mean_inside_vectors(operators: ObservableOperators, coarse: ObservableOperators) -> FloatArray:
    """Compute ζ (S, M) of a latent grammar; zero for a symbol with c¹ · ζ ≤ 0.

    The equation is iterated from the sums of the leaves' vectors, until none changes by more than 1e-12, for at most
    40 rounds: errors of spectral estimates may keep sums moving, and these are taken as the last round leaves them.

    coarse: operators over the same rules with one state a symbol; their root weights are p(a).

    >>> from spectral_latent.operators import Tensor
    >>> from spectral_latent.trees import Rules
    >>> rules = Rules(np.array([[0, 0], [0, 1]]), np.empty((0, 2), int), np.empty((0, 3), int))
    >>> operators = ObservableOperators(
    ...     rules, np.array([1]), np.array([[0.5]]), np.array([[0.2], [0.3]]), np.empty((0, 1, 1)), [])
    >>> mean_inside_vectors(operators, operators)
    array([[1.]])
    """
    leaves = row_sums(operators.rules.leaf[:, 0], operators.leaf, operators.n_symbols)

    def scale(vectors: FloatArray) -> FloatArray:
        """Scale the vectors (S, M) of symbols a to c¹_a · ζ_a = the coarse root weight of a."""
        weight = (operators.root * vectors).sum(axis=1)
        scale = np.divide(coarse.root[:, 0], weight, out=np.zeros(len(weight)), where=weight > 0)
        rows: FloatArray = vectors * scale[:, None]
        return rows

    means = scale(leaves)
    for _ in range(_ROUNDS):
        before = means
        means = scale(leaves + sums_of_rules(operators, before))
        if np.abs(means - before).max(initial=0.0) < _STILL:
            break
    return means
