"""Compute operators from moments, with the back-off of slide 25.

For a rule a → b c with n nodes and λ = √n / (C + √n), bars for means over the rule's nodes:

    λ E[z⊗x⊗y] + (1-λ) ( λ (E[z⊗x]⊗ȳ + E[z⊗y]⊗x̄ + E[x⊗y]⊗z̄) / 3 + (1-λ) ( λ z̄⊗x̄⊗ȳ + (1-λ) z̄^a⊗x̄^b⊗ȳ^c ) )

where z̄^a, x̄^b, ȳ^c are means over all nodes of the symbols.  With s = (1-λ)/3,

    E[(z + s z̄) ⊗ (x + s x̄) ⊗ (y + s ȳ)] = E[zxy] + s (E[zx] ȳ + E[zy] x̄ + E[xy] z̄) + (3s² + s³) z̄ x̄ ȳ,

so that the smoothed sum of n rank-one terms is a sum of n + 2 terms.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spectral_latent.estimation._moments import Moments, Priors
from spectral_latent.operators import Counts, ObservableOperators, Tensor, Tensors
from spectral_latent.trees import FloatArray, Rules

__all__ = ["confidence", "operators_from_moments"]


def confidence(count: float, smoothing: float | None) -> float:
    """Compute λ = √count / (C + √count); 1 without smoothing.

    >>> confidence(900, 30.0), confidence(3, None)
    (0.5, 1.0)
    """
    return 1.0 if smoothing is None else float(np.sqrt(count) / (smoothing + np.sqrt(count)))


def _count_and_means(tensor: Tensor) -> tuple[float, list[FloatArray]]:
    """Compute n and the means z̄, x̄, ȳ from the moments of augmented vectors."""
    if tensor.dense is None:
        # The ones of the two other vectors are the weights of each term.
        first = tensor.first
        second = tensor.second
        third = tensor.third
        weights = (second[:, 0] * third[:, 0], first[:, 0] * third[:, 0], first[:, 0] * second[:, 0])
        n = float(first[:, 0] @ weights[0])
        sums = [weight @ factor[:, 1:] for weight, factor in zip(weights, (first, second, third), strict=True)]
    else:
        dense = tensor.dense
        n = float(dense[0, 0, 0])
        sums = [dense[1:, 0, 0], dense[0, 1:, 0], dense[0, 0, 1:]]
    return n, [total / (n or 1.0) for total in sums]


def _rank_one(weight: float, vectors: list[FloatArray]) -> Tensor:
    """Make a rank-one tensor from three vectors (m_k,) and a weight."""
    z, x, y = (vector[None, :] for vector in vectors)
    return Tensor(weight * z, x, y)


def _smoothed_tensor(tensor: Tensor, symbol_means: list[FloatArray], smoothing: float | None) -> Tensor:
    """Compute n times the smoothed mean of z ⊗ x ⊗ y from n times the mean of z⁺ ⊗ x⁺ ⊗ y⁺."""
    n, means = _count_and_means(tensor)
    trust = confidence(n, smoothing)
    shift = (1 - trust) / 3
    maps = [np.concatenate([shift * mean[:, None], np.eye(len(mean))], axis=1) for mean in means]
    shifted = tensor.transform((maps[0], maps[1], maps[2])).scale(trust)
    if trust == 1.0:
        return shifted
    rest = trust * ((1 - trust) ** 2 - 3 * shift**2 - shift**3)
    return shifted + (_rank_one(n * rest, means) + _rank_one(n * (1 - trust) ** 3, symbol_means))


def _smoothed_matrix(matrix: FloatArray, symbol_means: list[FloatArray], smoothing: float | None) -> FloatArray:
    """Compute n times the smoothed mean of z ⊗ y, (M, M): the arity-1 case of slide 25.

    matrix: (M+1, M+1) n times the mean of z⁺ ⊗ y⁺.
    """
    n = matrix[0, 0]
    trust = confidence(n, smoothing)
    z = matrix[1:, 0] / (n or 1.0)
    y = matrix[0, 1:] / (n or 1.0)
    backed_off = trust * np.outer(z, y) + (1 - trust) * np.outer(*symbol_means)
    return np.asarray(trust * matrix[1:, 1:] + n * (1 - trust) * backed_off)


def operators_from_moments(
    moments: Moments, smoothing: float | None = None, priors: Priors | None = None
) -> ObservableOperators:
    """Compute operators from moments (long paper, equations 14-16 and Figure 7, step 3).

    z already includes (Σ̂^a)⁻¹, so that only divisions by counts remain: C^{a→b c} = Σ z⊗x⊗y / count(a),
    c∞ = Σ z / count(a), c¹ = Σ_roots y / T.

    moments: sums over the nodes of a treebank.
    smoothing: C of slide 25; None for no smoothing.
    priors: additions for trees that the treebank lacks; none if not given.

    >>> from spectral_latent.trees import SkeletalTrees
    >>> trees = SkeletalTrees.of([0, 0], left=[-1, -1], right=[-1, -1], terminal=[5, 6], root=[0, 1])
    >>> y = np.array([[2.0], [1.0]])
    >>> operators = operators_from_moments(Moments.of_trees(trees, trees.rules, np.array([1]), y, z=1.0 / y))
    >>> operators.root, operators.leaf
    (array([[1.5]]), array([[0.25],
           [0.5 ]]))
    """
    priors = priors or Priors()
    rules = moments.rules
    seen = np.where(moments.count > 0, moments.count, 1.0)
    outside = moments.outside[:, 1:] / seen[:, None]
    inside = moments.inside[:, 1:] / seen[:, None]
    size = moments.states.tolist()

    def means(a: int, *children: int) -> list[FloatArray]:
        """Take z̄ of the parent and ȳ of each child, each without padding."""
        return [outside[a, : size[a]], *(inside[b, : size[b]] for b in children)]

    leaf_rules, leaf = (rules.leaf, moments.leaf[:, 1:]) if priors.leaves is None else priors.leaves(moments.leaves())
    unary = [
        _smoothed_matrix(matrix, [outside[a], inside[b]], smoothing)
        for matrix, (a, b) in zip(moments.unary, rules.unary.tolist(), strict=True)
    ]
    width = outside.shape[1]
    roots = moments.root[:, 1:] + priors.fragments * moments.inside[:, 1:] / moments.count.sum()
    table = Counts(
        Rules(leaf_rules, rules.unary, rules.binary),
        moments.states,
        roots / (moments.n_trees + priors.fragments),
        leaf,
        np.array(unary).reshape(-1, width, width),
        Tensors.of(
            _smoothed_tensor(tensor, means(*rule), smoothing)
            for tensor, rule in zip(moments.binary, rules.binary.tolist(), strict=True)
        ),
    )
    counted = seen
    if priors.rules is not None:
        # Add every rule with the pseudo-count of the prior, and with the mean vectors of its symbols.
        prior = priors.rules
        table = table + replace(
            table,
            rules=prior.rules,
            root=np.zeros_like(table.root),
            leaf=np.zeros((0, width)),
            unary=prior.unary * outside[prior.rules.unary[:, 0], :, None] * inside[prior.rules.unary[:, 1], None, :],
            binary=Tensors.of(
                _rank_one(n, means(*rule))
                for n, rule in zip(prior.binary.data.tolist(), prior.rules.binary.tolist(), strict=True)
            ),
        )
        counted = seen + prior.sums()[:, 0]
    table = table.scaled(np.broadcast_to(1.0 / counted[:, None], table.root.shape))
    return ObservableOperators(table.rules, table.states, table.root, table.leaf, table.unary, table.binary)
