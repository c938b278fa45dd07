"""Make grammars whose probabilities are known, with all their trees, and the charts of sentences.

Theorems 2 and 3 of Cohen et al. (2012) are measured on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, product
from typing import Any

import numpy as np

from spectral_latent.estimation import FeatureColumns, inside_templates, outside_templates
from spectral_latent.operators import ObservableOperators, Tensor, Tensors
from spectral_latent.trees import FloatArray, Forest, Rules, SkeletalTrees

__all__ = ["all_trees", "change_basis", "charts_of", "features_of", "finite_model", "recursive_model"]

_INSIDE = ("rule", "left-opened", "right-opened")
_OUTSIDE = ("above", "above-2")

Nested = tuple[Any, ...]  # an s-tree: (symbol, terminal), or (symbol, left subtree, right subtree)


def recursive_model() -> ObservableOperators:
    """Make the grammar of Theorem 3: phrases (symbol 0) of phrases and words (symbol 1).

    Both symbols have two states, which children mostly inherit.

    >>> recursive_model().rules.binary.tolist()
    [[0, 0, 1], [0, 1, 0], [0, 1, 1]]
    """
    rules = Rules(
        leaf=np.array([[1, x] for x in range(6)]),
        unary=np.empty((0, 2), dtype=np.int64),
        binary=np.array([[0, 0, 1], [0, 1, 0], [0, 1, 1]]),
    )
    choice = np.array([[0.35, 0.05, 0.60], [0.05, 0.35, 0.60]])  # of a rule, given the state
    inherit = np.array([[0.9, 0.1], [0.2, 0.8]])  # of a child's state, given the parent's
    emit = np.array([[0.45, 0.30, 0.15, 0.05, 0.03, 0.02], [0.01, 0.02, 0.07, 0.15, 0.25, 0.50]])
    both = inherit[:, :, None] * inherit[:, None, :]
    return ObservableOperators(
        rules,
        states=np.array([2, 2]),
        root=np.array([[0.6, 0.4], [0.0, 0.0]]),
        leaf=emit.T,
        unary=np.empty((0, 2, 2)),
        binary=Tensors.of([Tensor.of_dense(choice[:, r, None, None] * both) for r in range(3)]),
        probabilities=True,
    )


def finite_model(seed: int) -> ObservableOperators:
    """Draw a grammar of Theorem 2, which has finitely many trees: S → A A | A B, A → B B | x, B → x.

    S, A and B are symbols 0, 1 and 2, with two states each.
    """
    rng = np.random.default_rng(seed)
    words = 3
    rules = Rules(
        leaf=np.array([[a, x] for a in (1, 2) for x in range(words)]),
        unary=np.empty((0, 2), dtype=np.int64),
        binary=np.array([[0, 1, 1], [0, 1, 2], [1, 2, 2]]),
    )
    of_sentence = rng.dirichlet(np.ones(2), 2)  # p(rule | state of S)
    of_phrase = rng.dirichlet(np.ones(1 + words), 2)  # p(A → B B or A → x | state of A)
    of_word = rng.dirichlet(np.ones(words), 2)  # p(B → x | state of B)
    choice = np.column_stack([of_sentence, of_phrase[:, 0]])
    children = rng.dirichlet(np.ones(4), (3, 2)).reshape(3, 2, 2, 2)  # p(states of children | rule, state)
    return ObservableOperators(
        rules,
        states=np.array([2, 2, 2]),
        root=np.stack([rng.dirichlet(np.ones(2)), np.zeros(2), np.zeros(2)]),
        leaf=np.concatenate([of_phrase[:, 1:].T, of_word.T]),
        unary=np.empty((0, 2, 2)),
        binary=Tensors.of([Tensor.of_dense(choice[:, r, None, None] * children[r]) for r in range(3)]),
        probabilities=True,
    )


def all_trees(rules: Rules) -> SkeletalTrees:
    """List all trees with symbol 0 at the root.

    >>> len(all_trees(finite_model(0).rules).root)
    180
    """
    symbol: list[int] = []
    left: list[int] = []
    right: list[int] = []
    terminal: list[int] = []
    root: list[int] = []

    def below(symbol: int) -> list[Nested]:
        """List the trees of a symbol."""
        trees: list[Nested] = [(symbol, x) for a, x in rules.leaf.tolist() if a == symbol]
        for a, b, c in rules.binary.tolist():
            if a == symbol:
                trees += [(symbol, left, right) for left, right in product(below(b), below(c))]
        return trees

    def add(tree: Nested) -> int:
        """Append the nodes of a tree, and return its root."""
        is_leaf = len(tree) == 2
        children = (-1, -1) if is_leaf else (add(tree[1]), add(tree[2]))
        symbol.append(tree[0])
        left.append(children[0])
        right.append(children[1])
        terminal.append(tree[1] if is_leaf else -1)
        return len(symbol) - 1

    for tree in below(0):
        root.append(add(tree))
    return SkeletalTrees.of(symbol, left=left, right=right, terminal=terminal, root=root)


def features_of(trees: SkeletalTrees) -> FeatureColumns:
    """Choose the features of nodes: the rules at a node and below it, and one and two rules above it.

    >>> features = features_of(all_trees(finite_model(0).rules))
    >>> features.inside.shape[1], features.outside.shape[1]
    (3, 2)
    """
    inside = inside_templates(trees)
    outside = outside_templates(trees)
    return FeatureColumns.of({name: inside[name] for name in _INSIDE}, {name: outside[name] for name in _OUTSIDE})


def charts_of(trees: SkeletalTrees, rules: Rules, longest: int) -> Forest:
    """Build the unpruned charts of the sentences of trees, a component each.

    >>> model = recursive_model()
    >>> tree = SkeletalTrees.of([1, 1, 0], left=[-1, -1, 0], right=[-1, -1, 1], terminal=[0, 5, -1], root=[2])
    >>> charts_of(tree, model.rules, longest=2).n_items
    3
    """
    words_of: dict[int, list[int]] = {}
    for tree, x in zip(trees.tree.tolist(), trees.terminal.tolist(), strict=True):
        if x >= 0:
            words_of.setdefault(tree, []).append(x)
    symbol: list[int] = []
    edges: list[list[tuple[int, int, int]]] = []  # rule, left and right child of each edge of each item
    root: list[int] = []
    for words in words_of.values():
        n = len(words)
        if n > longest:
            continue
        item: dict[tuple[int, int, int], int] = {}
        for width in range(1, n + 1):
            for first in range(n - width + 1):
                end = first + width
                found: dict[int, list[tuple[int, int, int]]] = {}
                if width == 1:
                    for r, (a, x) in enumerate(rules.leaf.tolist()):
                        if x == words[first]:
                            found.setdefault(a, []).append((r, -1, -1))
                for (r, (a, b, c)), middle in product(enumerate(rules.binary.tolist()), range(first + 1, end)):
                    if (first, middle, b) in item and (middle, end, c) in item:
                        found.setdefault(a, []).append((r, item[first, middle, b], item[middle, end, c]))
                if width == n:
                    found = {0: found[0]}
                for a, derivations in found.items():
                    item[first, end, a] = len(symbol)
                    symbol.append(a)
                    edges.append(derivations)
        root.append(item[0, n, 0])
    rule, left, right = np.array(list(chain.from_iterable(edges)), dtype=np.int64).T.copy()
    start = np.cumsum([0, *map(len, edges)])
    return Forest(np.array(symbol), start, rule, left, right, np.array(root), np.arange(len(root)))


def change_basis(operators: ObservableOperators, bases: Sequence[FloatArray]) -> ObservableOperators:
    """Express a model in the basis G^a, an invertible (m_a, m_a) matrix per symbol (long paper, Theorem 1).

    c¹ → G c¹, c∞ → c∞ G⁻¹, C^{a→b c}(y, z) → C(y G^b, z G^c) (G^a)⁻¹.

    Raises numpy.linalg.LinAlgError if a matrix is singular.

    >>> model = recursive_model()
    >>> other = change_basis(model, [4.0 * np.eye(2)] * 2)
    >>> np.allclose(other.root, 4.0 * model.root), np.allclose(other.leaf, model.leaf / 4.0)
    (True, True)
    """
    inverses = [np.linalg.inv(basis) for basis in bases]
    root, leaf, unary = operators.root.copy(), operators.leaf.copy(), operators.unary.copy()
    for a, m in enumerate(operators.states):
        root[a, :m] = bases[a] @ root[a, :m]
    for r, (a, _) in enumerate(operators.rules.leaf):
        m = operators.states[a]
        leaf[r, :m] = leaf[r, :m] @ inverses[a]
    for r, (a, b) in enumerate(operators.rules.unary):
        m, k = operators.states[[a, b]]
        unary[r, :m, :k] = inverses[a].T @ unary[r, :m, :k] @ bases[b].T
    binary = Tensors.of(
        tensor.transform((inverses[a].T, bases[b], bases[c]))
        for tensor, (a, b, c) in zip(operators.binary, operators.rules.binary, strict=True)
    )
    return ObservableOperators(operators.rules, operators.states, root, leaf, unary, binary)
