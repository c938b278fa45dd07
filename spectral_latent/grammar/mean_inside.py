"""Sum the inside vectors of all trees below a symbol.

| here | meaning |
| --- | --- |
| ζ_a = Σ_x c∞_{a→x} + Σ C^{a→b c}(ζ_b, ζ_c) | the sum of a symbol's inside vectors; scaled to c¹_a · ζ_a = p(a) |

In the basis of the states, ζ is 1 in every state.
"""

from __future__ import annotations

import numpy as np

from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import FloatArray

__all__ = ["mean_inside_vectors"]

_ROUNDS = 20  # iterations of the equation


def mean_inside_vectors(operators: ObservableOperators, coarse: ObservableOperators) -> FloatArray:
    """Compute ζ (S, M) of a latent grammar; zero for a symbol with c¹ · ζ ≤ 0.

    The equation is iterated, from the sums of the leaves' vectors.

    operators: latent operators of S symbols with up to M states.
    coarse: operators over the same rules with one state a symbol; their root weights are p(a).

    >>> from spectral_latent.operators import Tensor
    >>> from spectral_latent.trees import Rules
    >>> rules = Rules(np.array([[0, 0], [0, 1]]), np.empty((0, 2), int), np.empty((0, 3), int))
    >>> operators = ObservableOperators(
    ...     rules, np.array([1]), np.array([[0.5]]), np.array([[0.2], [0.3]]), np.empty((0, 1, 1)), [])
    >>> mean_inside_vectors(operators, operators)
    array([[1.]])
    """
    leaves = np.zeros_like(operators.root)
    np.add.at(leaves, operators.rules.leaf[:, 0], operators.leaf)

    def scaled(vectors: FloatArray) -> FloatArray:
        """Scale the vectors (S, M) of symbols a to c¹_a · ζ_a = the coarse root weight of a."""
        weight = (operators.root * vectors).sum(axis=1)
        scale = np.divide(coarse.root[:, 0], weight, out=np.zeros(len(weight)), where=weight > 0)
        rows: FloatArray = vectors * scale[:, None]
        return rows

    m = operators.states.tolist()
    binary = list(zip(operators.binary, operators.rules.binary.tolist(), strict=True))
    means = scaled(leaves)
    for _ in range(_ROUNDS):
        sums = leaves.copy()
        for tensor, (a, b, c) in binary:
            sums[a, : m[a]] += tensor.applied_left(means[b, : m[b]]) @ means[c, : m[c]]
        for matrix, (a, b) in zip(operators.unary, operators.rules.unary, strict=True):
            sums[a] += matrix @ means[b]
        means = scaled(sums)
    return means
