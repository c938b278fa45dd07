"""Draw s-trees with their latent states by ancestral sampling, from operators that are probabilities.

All trees grow together: each round draws the children of all nodes at one depth.  One table has the choices of every
symbol in every state, so that a round draws for all its nodes at once.

| here | long paper | meaning |
| --- | --- | --- |
| key a · M + h | (a, h) | symbol a in state h |
| `weight` | t, q | probability of one choice of a key: a rule with the states of its children, or a terminal |
| `operators.root` | π | probability of each key at the root |
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, NamedTuple

import numpy as np

from spectral_latent._options import Count, Countable, checked
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import FloatArray, IntArray, SkeletalTrees

__all__ = ["SampledTrees", "sample_trees"]

_TOLERANCE = 1e-6  # the largest difference between one and the sum of the probabilities of a symbol's choices


class SampledTrees(NamedTuple):
    """s-trees of N nodes with their latent states.

    trees: the s-trees.
    states: (N,) the latent state of each node.
    """

    trees: SkeletalTrees
    states: IntArray


class _Expansions(NamedTuple):
    """The C choices: ways to expand keys, sorted by key.

    key: (C,) the key that the choice expands.
    weight: (C,) the probability of the choice.
    children: (C, 2) the keys of the children, or -1.
    terminal: (C,) the observation, or -1.
    ends: (C + 1,) the sum of the weights before each choice, and the sum of all weights.
    """

    key: IntArray
    weight: FloatArray
    children: IntArray
    terminal: IntArray
    ends: FloatArray

    @staticmethod
    def from_operators(operators: ObservableOperators) -> _Expansions:
        """List all choices whose probability is not zero."""
        columns = [np.concatenate(parts) for parts in zip(*_choices_by_rule(operators), strict=True)]
        order = np.argsort(columns[0], kind="stable")
        key, weight, children, terminal = (column[order] for column in columns)
        return _Expansions(key, weight, children, terminal, np.concatenate([[0.0], np.cumsum(weight)]))

    def draw(self, keys: IntArray, rng: np.random.Generator) -> IntArray:
        """Draw a choice (n,) for each key (n,), by inversion of the distribution function."""
        ends = self.ends
        first = np.searchsorted(self.key, keys, "left")
        end = np.searchsorted(self.key, keys, "right")
        # Draw a point of the interval of the key's choices, and find the choice whose part has the point.
        point = ends[first] + rng.random(len(keys)) * (ends[end] - ends[first])
        choice: IntArray = np.searchsorted(ends, point, "right") - 1
        return np.clip(choice, first, end - 1)  # a point may be rounded to the end of the interval


class _Generation(NamedTuple):
    """The n nodes of all trees at one depth.

    key: (n,) the key of each node: its symbol and state.
    terminal: (n,) the observation, or -1.
    child: (n, 2) the numbers of the children in the next generation, or -1.
    """

    key: IntArray
    terminal: IntArray
    child: IntArray


def _choices_by_rule(operators: ObservableOperators) -> Iterator[tuple[IntArray, FloatArray, IntArray, IntArray]]:
    """List columns of `_Expansions`: for the leaf rules together, then for every unary and every binary rule."""
    rules = operators.rules
    m_max = operators.root.shape[1]
    r, h = np.nonzero(operators.leaf)
    symbol, terminal = rules.leaf[r].T
    yield symbol * m_max + h, operators.leaf[r, h], np.full((len(r), 2), -1), terminal
    tensors = [matrix[:, :, None] for matrix in operators.unary] + [t.to_dense() for t in operators.binary]
    children = [(b, -1) for _, b in rules.unary] + [(b, c) for _, b, c in rules.binary]
    parents = [*rules.unary[:, 0], *rules.binary[:, 0]]
    # Treat a unary rule as a binary rule whose right child is absent and has one state.
    for tensor, a, (b, c) in zip(tensors, parents, children, strict=True):
        h, i, j = np.nonzero(tensor)
        right = np.full(len(j), -1) if c < 0 else c * m_max + j
        below = np.stack([b * m_max + i, right], axis=1)
        yield a * m_max + h, tensor[h, i, j], below, np.full(len(h), -1)


def _check(operators: ObservableOperators, choices: _Expansions) -> None:
    """Raise ValueError unless root and choices are probability distributions."""
    if not operators.probabilities:
        raise ValueError("only operators that are probabilities can be sampled from, not those of another basis")
    if (operators.root < 0).any() or abs(operators.root.sum() - 1.0) > _TOLERANCE:
        raise ValueError(f"the root weights are no distribution: they sum to {operators.root.sum():g}")
    shape = operators.root.shape
    total = np.bincount(choices.key, choices.weight, minlength=operators.root.size).reshape(shape)
    negative = np.bincount(choices.key, choices.weight < 0, minlength=operators.root.size).reshape(shape) > 0
    exists = np.arange(shape[1]) < operators.states[:, None]
    bad = exists & (negative | ~(np.abs(total - 1.0) <= _TOLERANCE))
    for a, h in np.argwhere(bad)[:1]:
        raise ValueError(f"the weights of symbol {a} in state {h} are no distribution: they sum to {total[a, h]:g}")


def _grow(choices: _Expansions, keys: IntArray, max_nodes: int, rng: np.random.Generator) -> list[_Generation]:
    """Draw all generations of trees whose roots have the given keys (T,)."""
    generations: list[_Generation] = []
    tree = np.arange(len(keys))  # the tree of each node of the generation
    size = np.zeros(len(keys), dtype=np.int64)
    while len(keys) or not generations:
        np.add.at(size, tree, 1)
        if (size > max_nodes).any():
            raise ValueError(f"a sampled tree has more than {max_nodes} nodes; the grammar's trees may be infinite")
        choice = choices.draw(keys, rng)
        below = choices.children[choice]
        alive = below >= 0
        # The next generation has the children in the order of their parents, left children before right children.
        child = np.where(alive, np.cumsum(alive).reshape(-1, 2) - 1, -1)
        generations.append(_Generation(keys, choices.terminal[choice], child))
        keys = below[alive]
        tree = np.repeat(tree, alive.sum(axis=1))
    return generations


def _in_post_order(generations: list[_Generation], m_max: int) -> SampledTrees:
    """Number the nodes of all generations in post-order: a subtree of s nodes with root n has nodes n-s+1 ... n."""
    # Count the nodes below each node, from the deepest generation up; index -1 is an absent child with size 0.
    sizes: list[IntArray] = []
    below = np.zeros(1, dtype=np.int64)
    for generation in reversed(generations):
        sizes.append(1 + below[generation.child].sum(axis=1))
        below = np.append(sizes[-1], 0)
    # Each tree ends with its root.
    root = np.cumsum(sizes[-1]) - 1
    n = int(sizes[-1].sum())
    key, left, right, terminal = np.full((4, n), -1, dtype=np.int64)
    node = root
    # From the roots down: a right child is directly before its parent, a left child directly before the right subtree.
    for generation, size_below in zip(generations, [*sizes[-2::-1], np.zeros(0, dtype=np.int64)], strict=True):
        has_left, has_right = (generation.child >= 0).T
        right_size = np.append(size_below, 0)[generation.child[:, 1]]
        key[node] = generation.key
        terminal[node] = generation.terminal
        left[node] = np.where(has_left, node - 1 - right_size, -1)
        right[node] = np.where(has_right, node - 1, -1)
        pairs = np.stack([left[node], right[node]], axis=1)
        node = pairs[pairs >= 0]
    return SampledTrees(SkeletalTrees(key // m_max, left, right, terminal, root), key % m_max)


def sample_trees(
    operators: ObservableOperators, n_trees: int, rng: np.random.Generator, max_nodes: int = 10_000
) -> SampledTrees:
    """Draw independent trees from a latent tree model, nodes in post-order.

    operators: the model, whose numbers must be probabilities.
    n_trees: the number of trees.
    max_nodes: the largest number of nodes of a tree.

    Raises ValueError if the operators are not probabilities, or if a tree grows beyond `max_nodes` nodes.

    >>> tree = SkeletalTrees.of([0, 1, 2], left=[-1, -1, 0], right=[-1, -1, 1], terminal=[5, 6, -1], root=[2])
    >>> from spectral_latent.operators import Tensor
    >>> operators = ObservableOperators(
    ...     tree.rules, states=np.array([1, 1, 1]), root=np.array([[0.0], [0.0], [1.0]]), leaf=np.ones((2, 1)),
    ...     unary=np.empty((0, 1, 1)), binary=[Tensor(*np.ones((3, 1, 1)))], probabilities=True)
    >>> sampled = sample_trees(operators, 2, np.random.default_rng(0))
    >>> sampled.trees.symbol, sampled.trees.root, sampled.states
    (array([0, 1, 2, 0, 1, 2]), array([2, 5]), array([0, 0, 0, 0, 0, 0]))
    """
    checked("the number of trees", n_trees, Annotated[int, Countable(0)])
    checked("max_nodes", max_nodes, Count)
    checked("rng", rng, np.random.Generator)
    choices = _Expansions.from_operators(operators)
    _check(operators, choices)
    roots = rng.choice(operators.root.size, size=n_trees, p=operators.root.ravel() / operators.root.sum())
    return _in_post_order(_grow(choices, roots, max_nodes, rng), operators.root.shape[1])
