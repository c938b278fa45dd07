"""Compute exact means over the trees that a model generates: counts of nodes, and the one-state grammar of its rules.

| here | long paper | meaning |
| --- | --- | --- |
| `counts[a, h]` | - | mean number of nodes of symbol a in state h in a tree |
| `counts` = π + `counts` · B | - | a node is a root, or a child: B[(a, h), (b, i)] is the mean number of children |
"""

from __future__ import annotations

import numpy as np

from spectral_latent.operators import ObservableOperators, Tensors
from spectral_latent.trees import FloatArray

__all__ = ["collapse", "mean_node_counts"]


def _mean_children(operators: ObservableOperators) -> FloatArray:
    """Compute B (S, M, S, M), the mean numbers of children; see the table of this module."""
    shape = operators.root.shape
    children = np.zeros((*shape, *shape))
    size = operators.states
    for (a, b), matrix in zip(operators.rules.unary, operators.unary, strict=True):
        children[a, :, b, :] += matrix
    for (a, b, c), tensor in zip(operators.rules.binary, operators.binary, strict=True):
        full = tensor.multiplied_out()
        children[a, : size[a], b, : size[b]] += full.sum(axis=2)
        children[a, : size[a], c, : size[c]] += full.sum(axis=1)
    return children


def mean_node_counts(operators: ObservableOperators) -> FloatArray:
    """Compute the mean number of nodes of each symbol in each state in one tree, (S, M).

    operators: probabilities of S symbols with up to M states.

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
    n = operators.root.size
    children = _mean_children(operators).reshape(n, n)
    root = operators.root.ravel()
    # Symbols and states that trees reach; others would make the equations below singular.
    seen = root > 0
    while not np.array_equal(grown := seen | (children[seen] > 0).any(axis=0), seen):
        seen = grown
    inner = children[np.ix_(seen, seen)]
    if np.abs(np.linalg.eigvals(inner)).max() >= 1.0:
        raise ValueError("the grammar's trees are infinite on average")
    # counts = π + counts · B, solved for the counts.
    counts = np.zeros(n)
    counts[seen] = np.linalg.solve(np.eye(len(inner)) - inner.T, root[seen])
    return counts.reshape(operators.root.shape)


def collapse(operators: ObservableOperators) -> ObservableOperators:
    """Compute the one-state grammar with the same mean counts of rules.

    Its weights are the limits of relative frequencies of rules in trees that the model generates.  Rules of symbols
    that no tree contains have weight zero.

    operators: probabilities of any numbers of states.

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
        share[a, : operators.states[a]] @ tensor.multiplied_out().sum(axis=(1, 2))
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
