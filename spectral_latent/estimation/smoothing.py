"""From moments to operators, with the back-off of slide 25.

For a rule a → b c with n nodes and λ = √n / (C + √n), bars for means over the rule's nodes:

    λ E[z⊗x⊗y] + (1-λ) ( λ (E[z⊗x]⊗ȳ + E[z⊗y]⊗x̄ + E[x⊗y]⊗z̄) / 3 + (1-λ) ( λ z̄⊗x̄⊗ȳ + (1-λ) z̄^a⊗x̄^b⊗ȳ^c ) )

where z̄^a, x̄^b, ȳ^c are means over all nodes of the symbols.  With s = (1-λ)/3,

    E[(z + s z̄) ⊗ (x + s x̄) ⊗ (y + s ȳ)] = E[zxy] + s (E[zx] ȳ + E[zy] x̄ + E[xy] z̄) + (3s² + s³) z̄ x̄ ȳ,

so the smoothed sum of n rank-one terms is a sum of n + 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import NamedTuple, TypeVar

import numpy as np

from spectral_latent.estimation.moments import LeafMoments, Moments, state_sums
from spectral_latent.operators import ObservableOperators, Tensor
from spectral_latent.trees import FloatArray, IntArray, Rules

__all__ = ["LeafSmoothing", "RuleCounts", "Unseen", "confidence", "normalised", "solve"]

LeafSmoothing = Callable[[LeafMoments], tuple[IntArray, FloatArray]]
_Term = TypeVar("_Term", FloatArray, Tensor)


class RuleCounts(NamedTuple):
    """Rules of arity 1 and 2, and a number for each.

    unary: (R1, 2).  unary_count: (R1,).  binary: (R2, 3).  binary_count: (R2,).
    """

    unary: IntArray = np.zeros((0, 2), dtype=np.int64)
    unary_count: FloatArray = np.zeros(0)
    binary: IntArray = np.zeros((0, 3), dtype=np.int64)
    binary_count: FloatArray = np.zeros(0)

    def of_symbols(self, n_symbols: int) -> FloatArray:
        """The sum over the rules of each symbol, (S,)."""
        parents = np.concatenate([self.unary[:, 0], self.binary[:, 0]])
        counts = np.concatenate([self.unary_count, self.binary_count])
        return np.bincount(parents, counts, minlength=n_symbols).astype(float)


class Unseen(NamedTuple):
    """What a formalism adds to the moments for the sake of what no training tree has.

    leaves: maps the leaf moments to the leaf rules (R0, 2) and sums (R0, M) to use, which may be more rules than were
    seen; None for the moments as they are.
    fragments: a number of trees to add, rooted in every symbol in proportion to its nodes, so that a part of a tree
    may stand alone.
    rules: how often every rule is to be seen besides, each time with the mean vectors of its symbols.
    """

    leaves: LeafSmoothing | None = None
    fragments: float = 0.0
    rules: RuleCounts = RuleCounts()


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


def _union(
    rows: IntArray, terms: Iterable[_Term], more_rows: IntArray, more: Iterable[_Term]
) -> tuple[IntArray, list[_Term]]:
    """The distinct rules among both tables, and the sum of what belongs to each."""
    table, which = Rules.distinct(np.concatenate([rows, more_rows]))
    total: dict[int, _Term] = {}
    for r, term in zip(which.tolist(), chain(terms, more), strict=True):
        total[r] = total[r] + term if r in total else term
    return table, [total[r] for r in range(len(table))]


def solve(moments: Moments, smoothing: float | None = None, unseen: Unseen | None = None) -> ObservableOperators:
    """Operators from moments (long paper, equations 14-16 and Figure 7, step 3).

    z already carries (Σ̂^a)⁻¹, so that solving is a division by counts: C^{a→b c} = Σ z⊗x⊗y / count(a),
    c∞ = Σ z / count(a), c¹ = Σ_roots y / T.
    """
    unseen = unseen or Unseen()
    more, rules, size = unseen.rules, moments.rules, moments.states
    seen = np.where(moments.count > 0, moments.count, 1.0)[:, None]
    outer, inner = moments.outer / seen, moments.inner / seen

    def means(rule: IntArray) -> list[FloatArray]:
        """z̄ of the parent, ȳ of each child."""
        return [outer[rule[0], : size[rule[0]]], *(inner[b, : size[b]] for b in rule[1:])]

    unary_rules, unary = _union(
        rules.unary,
        (
            _smoothed_matrix(matrix, [outer[a], inner[b]], smoothing)
            for matrix, (a, b) in zip(moments.unary, rules.unary, strict=True)
        ),
        more.unary,
        (n * np.outer(outer[a], inner[b]) for n, (a, b) in zip(more.unary_count, more.unary, strict=True)),
    )
    binary_rules, binary = _union(
        rules.binary,
        (
            _smoothed_tensor(tensor, means(rule), smoothing)
            for tensor, rule in zip(moments.binary, rules.binary, strict=True)
        ),
        more.binary,
        (_rank_one(n, means(rule)) for n, rule in zip(more.binary_count, more.binary, strict=True)),
    )
    leaf_rules, leaf = (rules.leaf, moments.leaf) if unseen.leaves is None else unseen.leaves(moments.leaves())
    scale = 1.0 / (seen[:, 0] + more.of_symbols(len(seen)))
    return ObservableOperators(
        Rules(leaf_rules, unary_rules, binary_rules),
        size,
        (moments.root + unseen.fragments * moments.inner / moments.count.sum()) / (moments.n_trees + unseen.fragments),
        leaf * scale[leaf_rules[:, 0], None],
        np.array(unary).reshape(-1, *moments.root.shape[1:] * 2) * scale[unary_rules[:, 0], None, None],
        [tensor.scale(scale[a]).compact() for tensor, a in zip(binary, binary_rules[:, 0], strict=True)],
    )


def normalised(operators: ObservableOperators) -> ObservableOperators:
    """Non-negative operators scaled to probabilities: rules of every symbol and state, and roots, sum to one."""
    rules, states = operators.rules, operators.states
    total = state_sums(rules, operators.leaf, operators.unary, operators.binary, operators.root.shape)
    scale = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
    return ObservableOperators(
        rules,
        states,
        operators.root / operators.root.sum(),
        operators.leaf * scale[rules.leaf[:, 0]],
        operators.unary * scale[rules.unary[:, 0], :, None],
        [
            tensor.weighted(scale[a, : states[a]])
            for a, tensor in zip(rules.binary[:, 0], operators.binary, strict=True)
        ],
        probabilities=True,
    )
