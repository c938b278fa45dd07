"""Counting with known states, and clusters that find them."""

from collections import Counter

import numpy as np
import pytest

from spectral_latent.estimation import ProjectedTrees, cluster_states, from_states
from tests.oracles import columns

TREES = columns([(0, (1, 0), (1, 1)), (0, (1, 1), (0, (1, 0), (1, 0))), (0, 2)] * 4)


def test_relative_frequencies_of_known_states() -> None:
    state = np.random.default_rng(0).integers(0, 2, TREES.n_nodes)
    operators = from_states(TREES, state)
    nodes = Counter(zip(TREES.symbol.tolist(), state.tolist(), strict=True))
    for r, (a, b, c) in enumerate(TREES.rules.binary.tolist()):
        table = operators.binary[r].multiplied_out()
        uses = Counter(
            (state[i], state[TREES.left[i]], state[TREES.right[i]])
            for i in np.flatnonzero(TREES.is_binary & (TREES.rule == r))
        )
        for states, value in np.ndenumerate(table):
            assert value == pytest.approx(uses[states] / nodes[a, states[0]])
        assert table.shape == tuple(operators.states[[a, b, c]])
    for r, (a, _) in enumerate(TREES.rules.leaf.tolist()):
        uses = Counter(state[np.flatnonzero(TREES.is_leaf & (TREES.rule == r))].tolist())
        assert operators.leaf[r].tolist() == pytest.approx([uses[h] / nodes[a, h] for h in range(2)])
    roots = Counter(zip(TREES.symbol[TREES.root].tolist(), state[TREES.root].tolist(), strict=True))
    assert operators.root[0].tolist() == pytest.approx([roots[0, h] / 12 for h in range(2)])


def test_clusters_find_states_that_lie_apart() -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 3, TREES.n_nodes)
    y = np.eye(3)[truth] + rng.normal(scale=0.02, size=(TREES.n_nodes, 3))
    projected = ProjectedTrees(np.array([3, 3]), y, y.copy(), np.ones((2, 3)), np.array([3, 3]))
    found = cluster_states(TREES, projected, seed=0)
    for a in range(2):
        pairs = set(zip(truth[TREES.symbol == a].tolist(), found[TREES.symbol == a].tolist(), strict=True))
        assert len(pairs) == len({h for h, _ in pairs}) == len({h for _, h in pairs})


def test_empty_clusters_are_no_states() -> None:
    projected = ProjectedTrees(np.array([4, 4]), *np.ones((2, TREES.n_nodes, 4)), np.ones((2, 4)), np.array([4, 4]))
    found = cluster_states(TREES, projected)
    assert from_states(TREES, found).states.tolist() == [found[TREES.symbol == a].max() + 1 for a in range(2)]
