"""Run the tensor form of the inside-outside algorithm over any forest.

| here | long paper | meaning |
| --- | --- | --- |
| `inside` | Figure 4, f; Figure 5, α | α^{item} = f(item) Σ_edges C(α^left, α^right), c∞ at a leaf |
| `outside` | Figure 5, β | β^{root} = f(root) c¹; β of a child is f(child) times a sum over the edges above it |
| `marginals` | Figure 5, μ | μ(item) = α^{item} · β^{item} / f(item) |
| `factors` | - | f(item): the weight of a derivation is multiplied by f of each of its items; 1 in the papers |
| `edge_marginals` | - | β^{item} · C(α^left, α^right): μ by edge |
| `SignedLog` | p(r_1 ... r_N) | a number as sign and log |·|: estimates may be negative (slides 21-22) |

Every exported function checks the columns of the forest that it reads against the operators.  The functions that read
edges raise a ValueError that names item and edge.

The expected counts of roots and rules with states in the derivations of a forest are the E-step of EM:

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
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spectral_latent._compiled import EMPTY, TINY, check_column, compiled_pass, loops_of, pass_part, unsigned
from spectral_latent.inference._checks import check_roots, check_rules
from spectral_latent.inference._kernels import (
    RuleBlock,
    ScaledVectors,
    Workspace,
    block_of,
    edge_pass,
    inside_pass,
    multiply_transposed,
    outside_pass,
)
from spectral_latent.operators import ExpectedCounts, ObservableOperators, PackedOperators
from spectral_latent.trees import FloatArray, Forest, IntArray

_LOWEST = -2000  # 2^-2000 is zero in double precision
_HIGHEST = 900  # all marginals are smaller than 2^900
_LEAST_FACTOR = 1e-100  # between these two factors, no vector under- or overflows
_LARGEST_FACTOR = 1e100
_LOG_2 = math.log(2.0)


class SignedLog(NamedTuple):
    """C real numbers of any magnitude, sign · exp(log).

    sign: (C,) the sign of each number: -1, 0 or 1.
    log: (C,) the natural logarithms of the absolute values, -inf for zero."""

    sign: IntArray
    log: FloatArray

    @property
    def log_if_positive(self) -> FloatArray:
        """The natural logarithms (C,) of the numbers above zero; -inf for all others.

        >>> SignedLog(np.array([1, -1, 0]), np.array([-2.0, -2.0, -np.inf])).log_if_positive
        array([ -2., -inf, -inf])
        """
        return np.where(self.sign > 0, self.log, -np.inf)

    @staticmethod
    def unknown(size: int) -> SignedLog:
        """Make C numbers that are not computed: all signs are 0, and all logarithms NaN.

        >>> SignedLog.unknown(1)
        SignedLog(sign=array([0]), log=array([nan]))
        """
        return SignedLog(np.zeros(size, dtype=np.int64), np.full(size, np.nan))

    @staticmethod
    def from_scaled(mantissa: FloatArray, exponent: IntArray) -> SignedLog:
        """Convert numbers of the form mantissa · 2^exponent.

        mantissa: (C,) the mantissas.
        exponent: (C,) the exponents.

        >>> SignedLog.from_scaled(np.array([-0.5, 0.0]), np.array([-4000, 3]))
        SignedLog(sign=array([-1,  0]), log=array([-2773.28186943,           -inf]))
        """
        log = np.full(len(mantissa), -np.inf)
        np.log(np.abs(mantissa), out=log, where=mantissa != 0.0)
        return SignedLog(np.sign(mantissa).astype(np.int64), log + exponent * _LOG_2)

    @staticmethod
    def mean(weights: Sequence[SignedLog]) -> SignedLog:
        """Average several columns of C numbers, element by element.

        weights: one or more columns (C,).

        >>> ones = SignedLog(sign=np.array([1, -1]), log=np.log([1.0, 1.0]))
        >>> threes = SignedLog(sign=np.array([1, 1]), log=np.log([3.0, 3.0]))
        >>> np.exp(SignedLog.mean([ones, threes]).log)
        array([2., 1.])
        """
        if len(weights) == 1:
            return weights[0]
        logs = np.stack([weight.log for weight in weights])
        # Divide by the largest number of each row, so that nothing overflows.
        top = np.maximum(logs.max(axis=0), -1e300)
        total = np.mean([weight.sign * np.exp(weight.log - top) for weight in weights], axis=0)
        with np.errstate(divide="ignore"):
            return SignedLog(np.sign(total).astype(np.int64), top + np.log(np.abs(total)))


def _check_vectors(operators: ObservableOperators, forest: Forest, *parts: ScaledVectors, images: bool = False) -> None:
    """Raise ValueError unless there is a vector for each item, and if asked, images of the first part at each edge."""
    for vectors, exponents, _ in parts:
        check_column("vectors of the forest's items", vectors, (forest.n_items, operators.root.shape[1]), np.float64)
        check_column("exponents of the forest's items", exponents, (forest.n_items,), np.int64)
    if images:
        shape = (2 * forest.n_edges, operators.packed.most_terms)
        check_column("images of the forest's edges", parts[0].images, shape, np.float64)


def _check_factors(forest: Forest, factors: FloatArray | None) -> FloatArray:
    """Raise ValueError unless factors (I,) are numbers from 1e-100 to 1e100; None becomes ones."""
    if factors is None:
        return np.ones(forest.n_items)
    check_column("factors of the forest's items", factors, (forest.n_items,), np.float64)
    for item in np.flatnonzero(~((factors >= _LEAST_FACTOR) & (factors <= _LARGEST_FACTOR)))[:1]:
        raise ValueError(f"the factor of item {item} is {factors[item]}; give one from 1e-100 to 1e100")
    return factors


def inside(operators: ObservableOperators, forest: Forest, factors: FloatArray | None = None) -> ScaledVectors:
    """Compute the inside vectors α of all items (long paper, Figures 4 and 5).

    factors: (I,) f, numbers from 1e-100 to 1e100; None if all are 1.
    Raises ValueError for other factors.

    >>> from spectral_latent.trees import Rules
    >>> rules = Rules(np.array([[0, 0]]), np.empty((0, 2), int), np.empty((0, 3), int))
    >>> operators = ObservableOperators(
    ...     rules, np.array([1]), np.array([[1.0]]), np.array([[0.2]]), np.empty((0, 1, 1)), [])
    >>> leaf = Forest(*(np.array(column) for column in ([0], [0, 1], [0], [-1], [-1], [0], [0])))
    >>> for factors in (None, np.array([4.0])):
    ...     print(np.exp(total_weight(operators, leaf, inside(operators, leaf, factors)).log).round(3))
    [0.2]
    [0.8]
    """
    check_rules(operators, forest)
    return _inside(operators, forest, _check_factors(forest, factors), Workspace.allocate(operators.packed))


def _inside(operators: ObservableOperators, forest: Forest, factors: FloatArray, room: Workspace) -> ScaledVectors:
    """Run the inside pass with the factor (I,) of each item."""
    vectors = ScaledVectors.zeros(operators, forest, 2 * len(forest.rule))
    inside_pass(operators.packed, forest, factors, vectors, room)
    return vectors


def trusted_posteriors(
    operators: ObservableOperators, forest: Forest, factors: FloatArray | None = None, *, to_left: bool = True
) -> tuple[FloatArray, IntArray]:
    """Compute the marginals of items (I,), and the signs of the sums of components (C,), of a forest built as above.

    factors: (I,) the factor of each item; 1 if not given.
    to_left: whether left children have marginals, too."""
    factors = np.ones(forest.n_items) if factors is None else factors
    room = Workspace.allocate(operators.packed)
    inner = _inside(operators, forest, factors, room)
    outer = ScaledVectors.zeros(operators, forest)
    outside_pass(operators.packed, forest, factors, inner, outer, room, to_left)
    sums = root_sums(operators, forest, inner)
    return _item_marginals(forest, factors, inner, outer, sums), np.sign(sums[0]).astype(np.int64)


def outside(
    operators: ObservableOperators,
    forest: Forest,
    inside_vectors: ScaledVectors,
    factors: FloatArray | None = None,
) -> ScaledVectors:
    """Compute the outside vectors β of all items (long paper, Figure 5).

    inside_vectors: (I, M) the inside vectors of this forest, with the same factors.
    factors: (I,) the factor of each item, as in `inside`; 1 if not given."""
    check_rules(operators, forest)
    factors = _check_factors(forest, factors)
    _check_vectors(operators, forest, inside_vectors, images=True)
    vectors = ScaledVectors.zeros(operators, forest)
    outside_pass(operators.packed, forest, factors, inside_vectors, vectors, Workspace.allocate(operators.packed), True)
    return vectors


def root_sums(
    operators: ObservableOperators, forest: Forest, inside_vectors: ScaledVectors
) -> tuple[FloatArray, IntArray]:
    """Compute Σ_roots c¹ · α of each component, as mantissa (C,) and exponent (C,)."""
    symbol = forest.symbol[forest.root]
    of_root = np.einsum("ki,ki->k", operators.root[symbol], inside_vectors.vectors[forest.root])
    of_root[symbol < 0] = 0.0  # an unknown symbol has no states
    mantissa, shift = np.frexp(of_root)
    exponent = np.where(of_root == 0.0, EMPTY, inside_vectors.exponents[forest.root] + shift)
    # Sum at the largest exponent of each component.
    largest = np.full(forest.n_components, EMPTY)
    np.maximum.at(largest, forest.component, exponent)
    scaled = _power_of_two(mantissa, exponent - largest[forest.component])
    return np.bincount(forest.component, scaled, minlength=forest.n_components).astype(np.float64), largest


def _power_of_two(numbers: FloatArray, exponents: IntArray) -> FloatArray:
    """Multiply numbers (n,) by powers of two; exponents (n,) far out of range are brought near."""
    # NumPy's ldexp takes a C int, or a C long, which has 64 bits on some systems only.
    return np.asarray(np.ldexp(numbers, np.clip(exponents, _LOWEST, _HIGHEST).astype(np.intc)))


def _shares(
    product: FloatArray, exponent: IntArray, component: IntArray, sums: tuple[FloatArray, IntArray]
) -> FloatArray:
    """Divide products (n,) · 2^exponents by the sums of their components (n,); zero where a sum is zero."""
    # A further component has sum zero, for the items of a forest without roots.
    total = np.append(sums[0], 0.0)[component]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(total == 0.0, 0.0, product / total)
    return _power_of_two(ratio, exponent - np.append(sums[1], EMPTY)[component])


def _item_marginals(
    forest: Forest, factors: FloatArray, inner: ScaledVectors, outer: ScaledVectors, sums: tuple[FloatArray, IntArray]
) -> FloatArray:
    """Divide α · β of each item by its factor (I,) and by the sum of its component, (I,)."""
    product = np.einsum("ij,ij->i", inner.vectors, outer.vectors) / factors
    return _shares(product, inner.exponents + outer.exponents, item_component(forest), sums)


def total_weight(operators: ObservableOperators, forest: Forest, inside_vectors: ScaledVectors) -> SignedLog:
    """Sum the estimated probabilities of all derivations of each component, (C,).

    inside_vectors: (I, M) the inside vectors of this forest."""
    check_roots(operators, forest)
    _check_vectors(operators, forest, inside_vectors)
    return SignedLog.from_scaled(*root_sums(operators, forest, inside_vectors))


def tree_weights(operators: ObservableOperators, forest: Forest, factors: FloatArray | None = None) -> SignedLog:
    """Sum over derivations like `total_weight`, (C,): for s-trees, the sums are the estimates p̂ of Figure 4.

    forest: a forest of C components, such as T s-trees.
    factors: (I,) the factor of each item, as in `inside`.

    >>> from spectral_latent.trees import Rules, SkeletalTrees
    >>> tree = SkeletalTrees.of([0], left=[-1], right=[-1], terminal=[0], root=[0])
    >>> operators = ObservableOperators(
    ...     tree.rules, np.array([2]), np.array([[0.5, 0.5]]), np.array([[0.2, 0.6]]), np.empty((0, 2, 2)), [])
    >>> np.exp(tree_weights(operators, Forest.of_trees(tree, tree.rules)).log).round(3)
    array([0.4])
    """
    check_rules(operators, forest)
    return trusted_weights(operators, forest, factors)


def trusted_weights(operators: ObservableOperators, forest: Forest, factors: FloatArray | None = None) -> SignedLog:
    """Compute what `tree_weights` does, (C,), over a forest that this library has built with rules of the operators."""
    inner = _inside(operators, forest, _check_factors(forest, factors), Workspace.allocate(operators.packed))
    return SignedLog.from_scaled(*root_sums(operators, forest, inner))


def item_component(forest: Forest) -> IntArray:
    """Find the component of each item (I,); it is C for the items of a forest without roots."""
    last_item = np.full(forest.n_components, -1)
    np.maximum.at(last_item, forest.component, forest.root)
    # A component without roots ends where the component before it ends.
    return np.searchsorted(np.maximum.accumulate(last_item), np.arange(forest.n_items))


def marginals(
    operators: ObservableOperators,
    forest: Forest,
    inside_vectors: ScaledVectors,
    outside_vectors: ScaledVectors,
    factors: FloatArray | None = None,
) -> FloatArray:
    """Compute μ(item) / (sum of the item's component), (I,): with true probabilities, the posteriors of items.

    The sign is kept.  If the sum of a component is zero, its items have marginal zero.

    inside_vectors: (I, M) the inside vectors of this forest.
    outside_vectors: (I, M) the outside vectors of this forest.
    factors: (I,) the factors of these vectors, as in `inside`."""
    check_roots(operators, forest)
    factors = _check_factors(forest, factors)
    _check_vectors(operators, forest, inside_vectors, outside_vectors)
    sums = root_sums(operators, forest, inside_vectors)
    return _item_marginals(forest, factors, inside_vectors, outside_vectors, sums)


def state_posteriors(inside_vectors: ScaledVectors, outside_vectors: ScaledVectors) -> FloatArray:
    """Compute p(h | item) of the states of each item, (I, M); zeros for an item of no derivation.

    Estimates below zero, which operators that are not probabilities may give, count as zero.

    inside_vectors: (I, M) the inside vectors of a forest.
    outside_vectors: (I, M) the outside vectors of the same forest."""
    product = np.maximum(inside_vectors.vectors * outside_vectors.vectors, 0.0)
    return np.asarray(product / np.maximum(product.sum(axis=1, keepdims=True), TINY))


def edge_marginals(
    operators: ObservableOperators, forest: Forest, inside_vectors: ScaledVectors, outside_vectors: ScaledVectors
) -> FloatArray:
    """Compute the marginals of edges, (E,); the marginals of all edges of an item sum to the marginal of the item.

    inside_vectors: (I, M) the inside vectors of this forest.
    outside_vectors: (I, M) the outside vectors of this forest.

    >>> from spectral_latent.trees import Rules
    >>> rules = Rules(np.array([[0, 0], [0, 1]]), np.empty((0, 2), int), np.empty((0, 3), int))
    >>> operators = ObservableOperators(
    ...     rules, np.array([1]), np.array([[1.0]]), np.array([[0.2], [0.6]]), np.empty((0, 1, 1)), [])
    >>> either = Forest(
    ...     np.array([0]), np.array([0, 2]), *np.array([[0, 1], [-1, -1], [-1, -1]]), *np.zeros((2, 1), int))
    >>> inside_vectors = inside(operators, either)
    >>> edge_marginals(operators, either, inside_vectors, outside(operators, either, inside_vectors))
    array([0.25, 0.75])
    """
    check_rules(operators, forest)
    _check_vectors(operators, forest, inside_vectors, outside_vectors, images=True)
    product = np.zeros(forest.n_edges)
    exponent = np.full(forest.n_edges, EMPTY)
    packed = operators.packed
    edge_pass(packed, forest, inside_vectors, outside_vectors, product, exponent, Workspace.allocate(packed))
    sums = root_sums(operators, forest, inside_vectors)
    return _shares(product, exponent, item_component(forest)[forest.item], sums)


def _add_outer(
    total: FloatArray, at: int, n: int, m: int, scale: float, left: FloatArray, row: int, right: FloatArray, column: int
) -> None:
    """Add `scale` times left[row, :n] right[column, :m]ᵀ to the matrix (n, m) that begins at total[at]."""
    total[at : at + n * m] += (scale * left[row, :n, None] * right[column, :m]).ravel()


@loops_of(_add_outer)
def _add_outer_by_rows(
    total: FloatArray, at: int, n: int, m: int, scale: float, left: FloatArray, row: int, right: FloatArray, column: int
) -> None:
    """Do what `_add_outer` does with a matrix (n, m)."""
    for i in range(n):
        weight = scale * left[row, i]
        for j in range(m):
            total[unsigned(at + j)] += weight * right[column, j]
        at += m


@pass_part
def _add_to_factors(
    total: FloatArray,
    block: RuleBlock,
    scale: float,
    outside: FloatArray,
    a: int,
    inside: ScaledVectors,
    b: int,
    c: int,
    row: int,
    pair: FloatArray,
) -> None:
    """Add `scale` times the derivatives of a factored tensor to its numbers, as `add_pair` has its arguments."""
    vectors, _, images = inside
    multiply_transposed(block.data, block.first, block.m_a, block.terms, outside, a, pair, 0)
    # The first factor (m_a, Q): the parent's outside vector times the images of both children in the term.
    for q in range(block.terms):
        pair[1, q] = images[row, q] * images[row + 1, q]
    _add_outer(total, block.first, block.m_a, block.terms, scale, outside, a, pair, 1)
    # The second and third factors, (Q, m_b) and (Q, m_c): a child's inside vector times the two other images.
    for side in range(2):
        at, m, child = (block.third, block.m_c, c) if side else (block.second, block.m_b, b)
        for q in range(block.terms):
            pair[1, q] = pair[0, q] * images[row + 1 - side, q]
        _add_outer(total, at, block.terms, m, scale, pair, 1, vectors, child)


@compiled_pass
def _add_derivatives(
    operators: PackedOperators,
    forest: Forest,
    scales: FloatArray,
    inside: ScaledVectors,
    above: FloatArray,
    leaf: FloatArray,
    unary: FloatArray,
    total: FloatArray,
    pair: FloatArray,
) -> None:
    """Add the derivatives at every edge of a forest, each times a scale.

    scales: (E,) the scales of the vectors at the edges.
    above: (I, M) the outside vectors.
    leaf, unary, total: the sums ∂ log Z / ∂ θ for all numbers θ of rules, in the layout of the operators.
    pair: room for vectors (3, Q)."""
    below = inside.vectors
    for item in range(len(forest.symbol)):
        m_a = operators.states[forest.symbol[item]]
        for edge in range(forest.start[item], forest.start[item + 1]):
            r = forest.rule[edge]
            b = forest.left[edge]
            c = forest.right[edge]
            scale = scales[edge]
            if r < 0 or scale == 0.0:
                continue
            # The derivative is the outer product of the parent's outside vector and the children's inside vectors.
            if b < 0:
                for h in range(m_a):
                    leaf[r, h] += scale * above[item, h]
            elif c < 0:
                for h in range(m_a):
                    for j in range(operators.states[forest.symbol[b]]):
                        unary[r, h, j] += scale * above[item, h] * below[b, j]
            elif operators.terms[r]:
                _add_to_factors(total, block_of(operators, r), scale, above, item, inside, b, c, 2 * edge, pair)
            else:  # the numbers of a tensor are in the order of the states of the parent and of both children
                block = block_of(operators, r)
                for h in range(m_a):
                    at = block.first + h * block.width
                    _add_outer(total, at, block.m_b, block.m_c, scale * above[item, h], below, b, below, c)


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
    # A derivative at an edge is a product of the vectors there, times the weight of the component, over Z.
    item = forest.item
    of_edge = outside_vectors.exponents[item]
    for child in (forest.left, forest.right):
        of_edge += np.where(child >= 0, inside_vectors.exponents[child], 0)
    component = item_component(forest)[item]
    scales = _shares(times[component], of_edge, component, (total, exponent))
    leaf, unary, binary = map(np.zeros_like, (operators.leaf, operators.unary, operators.binary.data))
    packed, above = operators.packed, outside_vectors.vectors
    pair = Workspace.allocate(packed).pair
    _add_derivatives(packed, forest, scales, inside_vectors, above, leaf, unary, binary, pair)
    # The derivative by a number of a root is the inside vector of the item at the root, over Z.
    root = np.zeros_like(operators.root)
    # Below 2^-1100 a factor is zero; the upper limit keeps it finite.
    shift = np.clip(inside_vectors.exponents[forest.root] - exponent[forest.component], -1100, 1000).astype(np.intc)
    scale = np.ldexp(1.0, shift) / total[forest.component] * times[forest.component]
    np.add.at(root, forest.symbol[forest.root], inside_vectors.vectors[forest.root] * scale[:, None])
    log_likelihood = (np.log(total) + exponent * np.log(2.0)) * times
    return ExpectedCounts(
        operators.rules,
        operators.states,
        operators.root * root,
        operators.leaf * leaf,
        operators.unary * unary,
        operators.binary.with_data(operators.binary.data * binary),
        float(log_likelihood.sum()),
    )
