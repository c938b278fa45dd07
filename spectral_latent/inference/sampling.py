"""Draw s-trees with their latent states by ancestral sampling, from operators that are probabilities.

All trees grow together: each round draws the children of all nodes at one depth.  One table has the rules of every
symbol in every state, so that a round draws the rules of all its nodes at once, and then the states of their children.

| here | long paper | meaning |
| --- | --- | --- |
| key a · M + h | (a, h) | symbol a in state h |
| `weight` | t, q | probability of one choice of a key: a rule, whose children have any states |
| `operators.root` | π | probability of each key at the root |
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from spectral_latent._options import AtLeast, Count, checked
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import FloatArray, IntArray, SkeletalTrees

_TOLERANCE = 1e-6  # the largest difference between one and the sum of the probabilities of a symbol's choices


class SampledTrees(NamedTuple):
    """s-trees of N nodes with their latent states.

    states: (N,) the latent state of each node."""

    trees: SkeletalTrees
    states: IntArray


class _Expansions(NamedTuple):
    """The C choices: the rules that may expand each key, sorted by key.

    key: (C,) the key that the choice expands.
    weight: (C,) the probability of the rule, with any states of its children.
    rule: (C,) the rule: leaf rules come first, then unary and binary ones.
    ends: (C + 1,) the sum of the weights before each choice, and the sum of all weights."""

    operators: ObservableOperators
    key: IntArray
    weight: FloatArray
    rule: IntArray
    ends: FloatArray

    @staticmethod
    def from_operators(operators: ObservableOperators) -> _Expansions:
        """List all choices whose probability is not zero."""
        rules = operators.rules
        m_max = operators.root.shape[1]
        unary = operators.unary.sum(axis=2)
        tensor, state, binary = operators.binary.row_sums()
        of_leaf, of_unary = np.nonzero(operators.leaf), np.nonzero(unary)
        n_leaf, n_unary = len(rules.leaf), len(rules.unary)
        rule = np.concatenate([of_leaf[0], n_leaf + of_unary[0], n_leaf + n_unary + tensor])
        symbol = np.concatenate([rules.leaf[:, 0], rules.unary[:, 0], rules.binary[:, 0]])[rule]
        key = symbol * m_max + np.concatenate([of_leaf[1], of_unary[1], state])
        weight = np.concatenate([operators.leaf[of_leaf], unary[of_unary], binary])
        order = np.argsort(key, kind="stable")
        ends = np.concatenate([[0.0], np.cumsum(weight[order])])
        return _Expansions(operators, key[order], weight[order], rule[order], ends)

    def draw(self, keys: IntArray, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Draw the terminal (n,) and the keys of the children (n, 2) of each key (n,); -1 for what a key lacks."""
        ends = self.ends
        first = np.searchsorted(self.key, keys, "left")
        end = np.searchsorted(self.key, keys, "right")
        # Draw a point of the interval of the key's choices, and find the choice whose part has the point.
        point = ends[first] + rng.random(len(keys)) * (ends[end] - ends[first])
        choice = np.searchsorted(ends, point, "right") - 1
        choice = np.clip(choice, first, end - 1)  # a point may be rounded to the end of the interval
        rule, rest = self.rule[choice], point - ends[choice]
        rules = self.operators.rules
        is_leaf = rule < len(rules.leaf)
        terminal = np.full(len(keys), -1, dtype=np.int64)
        terminal[is_leaf] = rules.leaf[rule[is_leaf], 1]
        below = np.full((len(keys), 2), -1, dtype=np.int64)
        m_max = self.operators.root.shape[1]
        # The point within the rule's part draws the states of the children, of all nodes with one rule together.
        order = np.argsort(rule, kind="stable")
        order = order[np.count_nonzero(is_leaf) :]
        for nodes in np.split(order, np.flatnonzero(np.diff(rule[order])) + 1) if len(order) else []:
            r = int(rule[nodes[0]]) - len(rules.leaf)
            is_unary = r < len(rules.unary)
            children = rules.unary[r, 1:] if is_unary else rules.binary[r - len(rules.unary), 1:]
            state = keys[nodes] % m_max
            dense = self.operators.unary[r] if is_unary else self.operators.binary[r - len(rules.unary)].to_dense()
            pair = _columns_at(dense[state].reshape(len(nodes), -1), rest[nodes])
            for at, (child, states) in enumerate(zip(children, np.unravel_index(pair, dense.shape[1:]), strict=True)):
                below[nodes, at] = child * m_max + states
        return terminal, below


def _columns_at(weight: FloatArray, point: FloatArray) -> IntArray:
    """Find the column (n,) of each row of weights (n, k) that has a point (n,) of the row's cumulative weight."""
    ends = np.cumsum(weight, axis=1)
    last = weight.shape[1] - 1 - np.argmax(weight[:, ::-1] > 0.0, axis=1)  # a point may be rounded to the end
    return np.asarray(np.minimum((ends <= point[:, None]).sum(axis=1), last))


# The n nodes of all trees at one depth: the key (n,) of each, its observation (n,), and the numbers (n, 2) of its
# children in the next generation; -1 for what a node lacks.
_Generation = tuple[IntArray, IntArray, IntArray]


def _check(operators: ObservableOperators, choices: _Expansions) -> None:
    """Raise ValueError unless root and choices are probability distributions."""
    if not operators.probabilities:
        raise ValueError("only operators that are probabilities can be sampled from, not those of another basis")
    if (operators.root < 0).any() or abs(operators.root.sum() - 1.0) > _TOLERANCE:
        raise ValueError(f"the root weights are no distribution: they sum to {operators.root.sum():g}")
    shape = operators.root.shape
    total = np.bincount(choices.key, choices.weight, minlength=operators.root.size).reshape(shape)
    if any((numbers < 0.0).any() for numbers in (operators.leaf, operators.unary, operators.binary.data)):
        raise ValueError("the weights of a symbol are no distribution: some are negative")
    exists = np.arange(shape[1]) < operators.states[:, None]
    bad = exists & ~(np.abs(total - 1.0) <= _TOLERANCE)
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
        terminal, below = choices.draw(keys, rng)
        alive = below >= 0
        # The next generation has the children in the order of their parents, left children before right children.
        child = np.where(alive, np.cumsum(alive).reshape(-1, 2) - 1, -1)
        generations.append((keys, terminal, child))
        keys = below[alive]
        tree = np.repeat(tree, alive.sum(axis=1))
    return generations


def _in_post_order(generations: list[_Generation], m_max: int) -> SampledTrees:
    """Number the nodes of all generations in post-order: a subtree of s nodes with root n has nodes n-s+1 ... n."""
    # Count the nodes below each node, from the deepest generation up; index -1 is an absent child with size 0.
    sizes: list[IntArray] = []
    below = np.zeros(1, dtype=np.int64)
    for _, _, child in reversed(generations):
        sizes.append(1 + below[child].sum(axis=1))
        below = np.append(sizes[-1], 0)
    # Each tree ends with its root.
    root = np.cumsum(sizes[-1]) - 1
    n = int(sizes[-1].sum())
    key, left, right, terminal = np.full((4, n), -1, dtype=np.int64)
    node = root
    # From the roots down: a right child is directly before its parent, a left child directly before the right subtree.
    for generation, size_below in zip(generations, [*sizes[-2::-1], np.zeros(0, dtype=np.int64)], strict=True):
        key[node], terminal[node], child = generation
        has_left, has_right = (child >= 0).T
        right_size = np.append(size_below, 0)[child[:, 1]]
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
    checked("the number of trees", n_trees, Annotated[int, AtLeast(0)])
    checked("max_nodes", max_nodes, Count)
    checked("rng", rng, np.random.Generator)
    choices = _Expansions.from_operators(operators)
    _check(operators, choices)
    roots = rng.choice(operators.root.size, size=n_trees, p=operators.root.ravel() / operators.root.sum())
    return _in_post_order(_grow(choices, roots, max_nodes, rng), operators.root.shape[1])
