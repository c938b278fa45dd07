"""The tensor form of the inside-outside algorithm, over any forest.

| here | long paper | meaning |
| --- | --- | --- |
| `inside` | Figure 4, f; Figure 5, α | α^{item} = Σ_edges C(α^left, α^right), c∞ at a leaf |
| `outside` | Figure 5, β | β^{root} = c¹; pushed down through each edge to both children |
| `marginals` | Figure 5, μ | μ(item) = α^{item} · β^{item} |
| `edge_marginals` | - | β^{item} · C(α^left, α^right): μ by edge |
| `Weight` | p(r_1 ... r_N) | a number as sign and log |·|: estimates may be negative (slides 21-22) |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spectral_latent.inference.kernels import EMPTY, edge_pass, inside_pass, outside_pass
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import FloatArray, Forest, IntArray

__all__ = [
    "ScaledVectors",
    "Weight",
    "edge_marginals",
    "inside",
    "marginals",
    "outside",
    "total_weight",
    "tree_weights",
]


class ScaledVectors(NamedTuple):
    """One vector per item: vectors[i] · 2^exponents[i]."""

    vectors: FloatArray  # (I, M), padded with zeros beyond the symbol's states
    exponents: IntArray  # (I,); `EMPTY` for a zero vector


class Weight(NamedTuple):
    """Real numbers of any magnitude: sign · exp(log); a zero has sign 0 and log -inf."""

    sign: IntArray  # (C,) -1, 0 or 1
    log: FloatArray  # (C,) natural logarithm of the absolute value

    @staticmethod
    def of(mantissa: FloatArray, exponent: IntArray) -> Weight:
        """mantissa · 2^exponent.

        >>> Weight.of(np.array([-0.5, 0.0]), np.array([-4000, 3]))
        Weight(sign=array([-1,  0]), log=array([-2773.28186943,           -inf]))
        """
        with np.errstate(divide="ignore"):
            log = np.log(np.abs(mantissa)) + exponent * np.log(2.0)
        return Weight(np.sign(mantissa).astype(np.int64), log)

    @staticmethod
    def mean(weights: Sequence[Weight]) -> Weight:
        """The arithmetic means of numbers in the same places.

        >>> Weight.mean([Weight.of(np.array([0.5, 0.25]), np.array([9, 0])), Weight.of(-np.ones(2), np.zeros(2, int))])
        Weight(sign=array([ 1, -1]), log=array([ 4.84811636, -0.98082925]))
        """
        logs = np.stack([weight.log for weight in weights])
        top = np.maximum(logs.max(axis=0), -1e300)
        total = np.mean([weight.sign * np.exp(weight.log - top) for weight in weights], axis=0)
        with np.errstate(divide="ignore"):
            return Weight(np.sign(total).astype(np.int64), top + np.log(np.abs(total)))


def inside(operators: ObservableOperators, forest: Forest) -> ScaledVectors:
    """Inside vectors of all items (long paper, Figures 4 and 5)."""
    return ScaledVectors(*inside_pass(operators.packed, forest))


def outside(operators: ObservableOperators, forest: Forest, inner: ScaledVectors) -> ScaledVectors:
    """Outside vectors of all items, given their inside vectors (long paper, Figure 5)."""
    return ScaledVectors(*outside_pass(operators.packed, forest, inner.vectors, inner.exponents))


def _root_sums(operators: ObservableOperators, forest: Forest, inner: ScaledVectors) -> tuple[FloatArray, IntArray]:
    """Σ_roots c¹ · α of each component as mantissa (C,) and exponent (C,)."""
    product = np.einsum("km,km->k", operators.root[forest.symbol[forest.root]], inner.vectors[forest.root])
    mantissa, own = np.frexp(product)
    own = np.where(mantissa == 0.0, EMPTY, inner.exponents[forest.root] + own)
    exponent = np.full(forest.n_components, EMPTY)
    np.maximum.at(exponent, forest.component, own)
    shift = np.maximum(own - exponent[forest.component], -2000)
    total = np.zeros(forest.n_components)
    np.add.at(total, forest.component, np.ldexp(mantissa, shift))
    return total, exponent


def total_weight(operators: ObservableOperators, forest: Forest, inner: ScaledVectors) -> Weight:
    """The weight of each component: the sum of its derivations' estimated probabilities."""
    return Weight.of(*_root_sums(operators, forest, inner))


def tree_weights(operators: ObservableOperators, forest: Forest) -> Weight:
    """`total_weight` after an inside pass: of s-trees, their estimated probabilities p̂ (Figure 4).

    >>> from spectral_latent.trees import Rules, SkeletalTrees
    >>> tree = SkeletalTrees.of([0], left=[-1], right=[-1], terminal=[0], root=[0])
    >>> operators = ObservableOperators(
    ...     tree.rules, np.array([2]), np.array([[0.5, 0.5]]), np.array([[0.2, 0.6]]), np.empty((0, 2, 2)), [])
    >>> np.exp(tree_weights(operators, Forest.of_trees(tree, tree.rules)).log).round(3)
    array([0.4])
    """
    return total_weight(operators, forest, inside(operators, forest))


def _component(forest: Forest) -> IntArray:
    """The component of each item (I,)."""
    last_item = np.zeros(forest.n_components, dtype=np.int64)
    np.maximum.at(last_item, forest.component, forest.root)
    return np.searchsorted(np.maximum.accumulate(last_item), np.arange(forest.n_items))


def _shares(
    operators: ObservableOperators,
    forest: Forest,
    inner: ScaledVectors,
    component: IntArray,
    product: FloatArray,
    exponent: IntArray,
) -> FloatArray:
    """product · 2^exponent over the weight of the component; zero where that is zero."""
    total, total_exponent = _root_sums(operators, forest, inner)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(total[component] == 0.0, 0.0, product / total[component])
    scaled: FloatArray = np.ldexp(ratio, np.clip(exponent - total_exponent[component], -2000, 900))
    return scaled


def marginals(operators: ObservableOperators, forest: Forest, inner: ScaledVectors, outer: ScaledVectors) -> FloatArray:
    """μ(item) / (weight of the item's component), (I,): with true probabilities, the item's posterior.

    The sign is kept; items of a component of weight zero have marginal zero.
    """
    product = np.einsum("im,im->i", inner.vectors, outer.vectors)
    return _shares(operators, forest, inner, _component(forest), product, inner.exponents + outer.exponents)


def edge_marginals(
    operators: ObservableOperators, forest: Forest, inner: ScaledVectors, outer: ScaledVectors
) -> FloatArray:
    """The same of every edge, (E,): those of an item's edges add up to its own.

    >>> from spectral_latent.trees import Rules
    >>> rules = Rules(np.array([[0, 0], [0, 1]]), np.empty((0, 2), int), np.empty((0, 3), int))
    >>> operators = ObservableOperators(
    ...     rules, np.array([1]), np.array([[1.0]]), np.array([[0.2], [0.6]]), np.empty((0, 1, 1)), [])
    >>> either = Forest(
    ...     np.array([0]), np.array([0, 2]), *np.array([[0, 1], [-1, -1], [-1, -1]]), *np.zeros((2, 1), int))
    >>> inner = inside(operators, either)
    >>> edge_marginals(operators, either, inner, outside(operators, either, inner))
    array([0.25, 0.75])
    """
    product, exponent = edge_pass(operators.packed, forest, *inner, *outer)
    return _shares(operators, forest, inner, _component(forest)[forest.item], product, exponent)
