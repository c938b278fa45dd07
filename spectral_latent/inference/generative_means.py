"""Compute exact means over the trees of a model: counts of nodes, and the one-state grammar with the same rule counts.

| here | long paper | meaning |
| --- | --- | --- |
| `counts[a, h]` | - | the mean number of nodes with symbol a in state h in a tree |
| B[(a, h), (b, i)] | - | the mean number of children (b, i) of a node (a, h) |
| `counts` = π + `counts` · B | - | the nodes are the roots and the children of nodes |
"""

from __future__ import annotations

import numpy as np
import scipy

from spectral_latent.operators import ObservableOperators, Tensors
from spectral_latent.trees import FloatArray

__all__ = ["collapse", "factorise", "mean_children", "mean_node_counts"]

_INFINITE = "the grammar's trees are infinite on average"
_ROUNDING = 1e-12  # the largest rounding error of a count of zero, as a share of the largest count


def mean_children(
    operators: ObservableOperators, total: FloatArray
) -> tuple[scipy.sparse.csc_array, scipy.sparse.csc_array]:
    """Compute the mean numbers of left and of right children by binary rules, (S·M, S·M) each.

    Only children whose sibling has a finite tree are counted.

    total: (S, M) the probability that the tree below a state is finite; ones to count all children.
    """
    n_symbols, m = total.shape
    states = operators.states
    blocks = []
    # One parent at a time, so that only the rows of this parent are dense.
    for a in range(n_symbols):
        children = np.zeros((2, m, n_symbols, m))
        for r in np.flatnonzero(operators.rules.binary[:, 0] == a).tolist():
            _, b, c = operators.rules.binary[r]
            tensor = operators.binary[r]
            children[0, : states[a], b, : states[b]] += tensor.applied_right(total[c, : states[c]])
            children[1, : states[a], c, : states[c]] += tensor.applied_left(total[b, : states[b]])
        blocks.append([scipy.sparse.csc_array(rows.reshape(m, -1)) for rows in children])
    to_left, to_right = (scipy.sparse.csc_array(scipy.sparse.vstack(rows)) for rows in zip(*blocks, strict=True))
    return to_left, to_right


def factorise(equations: scipy.sparse.csc_array) -> scipy.sparse.linalg.SuperLU:
    """Factorise linear equations (n, n) about a grammar, for its `solve`.

    Raises ValueError if the equations are singular.
    """
    try:
        return scipy.sparse.linalg.splu(equations)
    except RuntimeError:
        raise ValueError(_INFINITE) from None


def _only_children(operators: ObservableOperators) -> scipy.sparse.coo_array:
    """Compute the mean numbers of children by unary rules, (S·M, S·M)."""
    n = operators.root.size
    m = operators.root.shape[1]
    first = operators.rules.unary[:, :, None, None] * m
    row, column = np.broadcast_arrays(first[:, 0] + np.arange(m)[:, None], first[:, 1] + np.arange(m))
    return scipy.sparse.coo_array((operators.unary.ravel(), (row.ravel(), column.ravel())), shape=(n, n))


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
    to_left, to_right = mean_children(operators, np.ones(operators.root.shape))
    to_child = (to_left + to_right + _only_children(operators)).T.tocsr()
    root = operators.root.ravel()
    # Find the symbols and states that trees reach; all others would make the equations singular.
    seen = root > 0
    while not np.array_equal(grown := seen | (to_child @ seen > 0), seen):
        seen = grown
    # Solve counts = π + counts · B.  If trees are infinite on average, there is no solution without negative numbers.
    counts = np.zeros(len(root))
    equations = scipy.sparse.csc_array(scipy.sparse.eye_array(seen.sum()) - to_child[seen][:, seen])
    counts[seen] = factorise(equations).solve(root[seen])
    if not counts.min() >= -_ROUNDING * counts.max():
        raise ValueError(_INFINITE)
    return np.maximum(counts, 0.0).reshape(operators.root.shape)


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
