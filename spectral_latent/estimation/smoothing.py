"""From moments to operators, with the back-off of slide 25.

For a rule a → b c with n nodes and λ = √n / (C + √n), bars for means over the rule's nodes:

    λ E[z⊗x⊗y] + (1-λ) ( λ (E[z⊗x]⊗ȳ + E[z⊗y]⊗x̄ + E[x⊗y]⊗z̄) / 3 + (1-λ) ( λ z̄⊗x̄⊗ȳ + (1-λ) z̄^a⊗x̄^b⊗ȳ^c ) )

where z̄^a, x̄^b, ȳ^c are means over all nodes of the symbols.  With s = (1-λ)/3,

    E[(z + s z̄) ⊗ (x + s x̄) ⊗ (y + s ȳ)] = E[zxy] + s (E[zx] ȳ + E[zy] x̄ + E[xy] z̄) + (3s² + s³) z̄ x̄ ȳ,

so the smoothed sum of n rank-one terms is a sum of n + 2.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spectral_latent.estimation.moments import LeafMoments, Moments, state_sums
from spectral_latent.operators import ObservableOperators, Tensor
from spectral_latent.trees import FloatArray, IntArray, Rules

__all__ = ["LeafSmoothing", "confidence", "normalised", "solve"]

LeafSmoothing = Callable[[LeafMoments], tuple[IntArray, FloatArray]]


def confidence(count: float, smoothing: float | None) -> float:
    """λ = √count / (C + √count); 1 without smoothing.

    >>> confidence(900, 30.0), confidence(3, None)
    (0.5, 1.0)
    """
    return 1.0 if smoothing is None else float(np.sqrt(count) / (smoothing + np.sqrt(count)))


def _singles(tensor: Tensor) -> tuple[float, list[FloatArray]]:
    """n, and the means z̄, x̄, ȳ held in the moments of augmented vectors."""
    if tensor.dense is None:
        factors = (tensor.first, tensor.second, tensor.third)
        return tensor.n_terms, [factor[:, :-1].mean(axis=0) for factor in factors]
    n = tensor.dense[-1, -1, -1]
    sums = (tensor.dense[:-1, -1, -1], tensor.dense[-1, :-1, -1], tensor.dense[-1, -1, :-1])
    return n, [total / (n or 1.0) for total in sums]


def _rank_one(weight: float, vectors: list[FloatArray]) -> Tensor:
    z, x, y = (vector[None, :] for vector in vectors)
    return Tensor(weight * z, x, y)


def _smoothed_tensor(tensor: Tensor, symbol_means: list[FloatArray], smoothing: float | None) -> Tensor:
    """n times the smoothed mean of z ⊗ x ⊗ y, given n times the mean of z⁺ ⊗ x⁺ ⊗ y⁺."""
    n, means = _singles(tensor)
    own = confidence(n, smoothing)
    shift = (1 - own) / 3
    maps = [np.concatenate([np.eye(len(mean)), shift * mean[:, None]], axis=1) for mean in means]
    shifted = tensor.transform((maps[0], maps[1], maps[2])).scale(own)
    if own == 1.0:
        return shifted.compact()
    rest = own * ((1 - own) ** 2 - 3 * shift**2 - shift**3)
    return (shifted + _rank_one(n * rest, means) + _rank_one(n * (1 - own) ** 3, symbol_means)).compact()


def _smoothed_matrix(matrix: FloatArray, symbol_means: list[FloatArray], smoothing: float | None) -> FloatArray:
    """n times the smoothed mean of z ⊗ y, backing off to single moments: the arity-1 case of slide 25."""
    n = matrix[-1, -1]
    own = confidence(n, smoothing)
    z, y = matrix[:-1, -1] / (n or 1.0), matrix[-1, :-1] / (n or 1.0)
    backed_off = own * np.outer(z, y) + (1 - own) * np.outer(*symbol_means)
    smoothed: FloatArray = own * matrix[:-1, :-1] + n * (1 - own) * backed_off
    return smoothed


def solve(
    moments: Moments,
    smoothing: float | None = None,
    leaf_smoothing: LeafSmoothing | None = None,
    fragments: float = 0.0,
) -> ObservableOperators:
    """Operators from moments (long paper, equations 14-16 and Figure 7, step 3).

    z already carries (Σ̂^a)⁻¹, so that solving is a division by counts: C^{a→b c} = Σ z⊗x⊗y / count(a),
    c∞ = Σ z / count(a), c¹ = Σ_roots y / T.  `leaf_smoothing` maps the leaf moments to the leaf rules (R0, 2) and
    sums (R0, M) to use, which may be more rules than were seen.  `fragments` is a number of trees to add, rooted in
    every symbol in proportion to its nodes, so that a part of a tree may stand alone.
    """
    count = np.where(moments.count > 0, moments.count, 1.0)
    outer, inner = moments.outer / count[:, None], moments.inner / count[:, None]
    size = moments.states
    binary = [
        _smoothed_tensor(tensor, [outer[a, : size[a]], inner[b, : size[b]], inner[c, : size[c]]], smoothing).scale(
            1.0 / count[a]
        )
        for tensor, (a, b, c) in zip(moments.binary, moments.rules.binary, strict=True)
    ]
    unary = np.zeros((len(moments.unary), *np.subtract(moments.unary.shape[1:], 1)))
    for r, (a, b) in enumerate(moments.rules.unary):
        unary[r] = _smoothed_matrix(moments.unary[r], [outer[a], inner[b]], smoothing) / count[a]
    leaf_rules, leaf = moments.rules.leaf, moments.leaf
    if leaf_smoothing is not None:
        leaf_rules, leaf = leaf_smoothing(moments.leaves())
    rules = Rules(leaf_rules, moments.rules.unary, moments.rules.binary)
    leaf = leaf / count[leaf_rules[:, 0], None]
    root = (moments.root + fragments * moments.inner / moments.count.sum()) / (moments.n_trees + fragments)
    return ObservableOperators(rules, size, root, leaf, unary, binary)


def normalised(operators: ObservableOperators) -> ObservableOperators:
    """Non-negative operators scaled to probabilities: rules of every symbol and state, and roots, sum to one."""
    rules, states = operators.rules, operators.states
    binary = [tensor.multiplied_out() for tensor in operators.binary]
    total = state_sums(rules, operators.leaf, operators.unary, binary, operators.root.shape)
    scale = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
    return ObservableOperators(
        rules,
        states,
        operators.root / operators.root.sum(),
        operators.leaf * scale[rules.leaf[:, 0]],
        operators.unary * scale[rules.unary[:, 0], :, None],
        [
            Tensor.of_dense(tensor * scale[a, : states[a], None, None])
            for (a, _, _), tensor in zip(rules.binary, binary, strict=True)
        ],
        probabilities=True,
    )
