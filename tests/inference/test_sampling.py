"""Sampled trees against exact probabilities, and the checks on what may be sampled from."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from spectral_latent.inference import SampledTrees, sample_trees, tree_weights
from spectral_latent.operators import ObservableOperators, Tensor
from spectral_latent.trees import FloatArray, Forest, Rules, SkeletalTrees
from tests.oracles import change_basis

STATES = np.array([2, 1, 3])
RULES = Rules(
    leaf=np.array([[0, 0], [1, 0], [1, 1], [2, 1], [2, 2]]),
    unary=np.array([[0, 2], [1, 2]]),
    binary=np.array([[0, 0, 1], [0, 1, 2], [2, 2, 2]]),
)


def random_grammar() -> ObservableOperators:
    """Random probabilities over `RULES`, most of the mass on leaves."""
    rng = np.random.default_rng(0)
    leaf, unary = np.zeros((len(RULES.leaf), 3)), np.zeros((len(RULES.unary), 3, 3))
    binary = [np.zeros(STATES[rule]) for rule in RULES.binary]
    for a, m in enumerate(STATES):
        for h in range(m):
            blocks = [leaf[r, h : h + 1] for r in np.flatnonzero(RULES.leaf[:, 0] == a)]
            blocks += [unary[r, h, : STATES[RULES.unary[r, 1]]] for r in np.flatnonzero(RULES.unary[:, 0] == a)]
            blocks += [binary[r][h] for r in np.flatnonzero(RULES.binary[:, 0] == a)]
            strength = np.concatenate([np.full(block.size, 4.0 if block.size == 1 else 0.4) for block in blocks])
            ends = np.cumsum([block.size for block in blocks])[:-1]
            for block, weights in zip(blocks, np.split(rng.dirichlet(strength), ends), strict=True):
                block[...] = weights.reshape(block.shape)
    root = np.array([[0.5, 0.2, 0.0], [0.3, 0.0, 0.0], [0.0, 0.0, 0.0]])
    tensors = [Tensor.of_dense(full) for full in binary]
    return ObservableOperators(RULES, STATES, root, leaf, unary, tensors, probabilities=True)


def columns(sampled: SampledTrees) -> list[FloatArray]:
    trees = sampled.trees
    return [trees.symbol, trees.left, trees.right, trees.terminal, trees.root, sampled.states]


def shapes(trees: SkeletalTrees) -> list[bytes]:
    """One key per tree: its columns, children counted from its first node."""
    first = np.concatenate([[0], trees.root[:-1] + 1])[trees.tree]
    left, right = (np.maximum(child - first, -1) for child in (trees.left, trees.right))
    table = np.stack([trees.symbol, left, right, trees.terminal], axis=1)
    return [part.tobytes() for part in np.split(table, trees.root[:-1] + 1)]


def test_trees_are_as_frequent_as_they_are_probable() -> None:
    operators, n = random_grammar(), 20_000
    trees = sample_trees(operators, n, np.random.default_rng(0)).trees
    _, first, count = np.unique(np.array(shapes(trees), dtype=object), return_index=True, return_counts=True)
    expected = n * np.exp(tree_weights(operators, Forest.of_trees(trees, operators.rules)).log[first])
    common = expected >= 5
    observed = np.append(count[common], n - count[common].sum())
    assert common.sum() > 50
    assert stats.chisquare(observed, np.append(expected[common], n - expected[common].sum())).pvalue > 1e-3


def test_states_and_rules_are_as_frequent_as_they_are_probable() -> None:
    operators = random_grammar()
    trees, states = sample_trees(operators, 20_000, np.random.default_rng(5))
    roots = np.zeros_like(operators.root)
    np.add.at(roots, (trees.symbol[trees.root], states[trees.root]), 1)
    assert roots / roots.sum() == pytest.approx(operators.root, abs=0.015)
    rule = trees.rule_in(operators.rules)
    for r, (a, _, _) in enumerate(operators.rules.binary):
        nodes = np.flatnonzero(trees.is_binary & (rule == r))
        counts = np.zeros(operators.binary[r].shape)
        np.add.at(counts, (states[nodes], states[trees.left[nodes]], states[trees.right[nodes]]), 1)
        visits = np.bincount(states[trees.symbol == a], minlength=STATES[a])[:, None, None]
        exact = operators.binary[r].to_dense()
        error = np.sqrt(exact * (1 - exact) / visits)
        assert (np.abs(counts / visits - exact) <= 5 * error + 1e-12).all()


def test_the_same_seed_gives_the_same_trees() -> None:
    draws = [columns(sample_trees(random_grammar(), 100, np.random.default_rng(seed))) for seed in (7, 7, 8)]
    assert all(np.array_equal(a, b) for a, b in zip(draws[0], draws[1], strict=True))
    assert not np.array_equal(draws[0][0], draws[2][0])


def test_deep_trees() -> None:
    """A chain of 5,000 nodes on average, to the right."""
    rules = Rules(np.array([[0, 0], [1, 1]]), np.empty((0, 2), dtype=np.int64), np.array([[0, 1, 0]]))
    operators = ObservableOperators(
        rules,
        np.array([1, 1]),
        root=np.array([[1.0], [0.0]]),
        leaf=np.array([[0.0004], [1.0]]),
        unary=np.empty((0, 1, 1)),
        binary=[Tensor(np.array([[0.9996]]), np.ones((1, 1)), np.ones((1, 1)))],
        probabilities=True,
    )
    trees = sample_trees(operators, 3, np.random.default_rng(1), max_nodes=100_000).trees
    assert trees.n_nodes > 3_000
    with pytest.raises(ValueError, match="more than 50 nodes"):
        sample_trees(operators, 3, np.random.default_rng(1), max_nodes=50)


def test_only_probabilities_are_sampled_from() -> None:
    grammar, rng = random_grammar(), np.random.default_rng(0)
    with pytest.raises(ValueError, match="basis"):
        sample_trees(change_basis(grammar, [np.eye(m) for m in STATES]), 1, rng)
    with pytest.raises(ValueError, match="symbol 1 in state 0"):
        sample_trees(replace(grammar, leaf=grammar.leaf * [[1], [1.1], [1.1], [1], [1]]), 1, rng)
    with pytest.raises(ValueError, match="negative"):
        sample_trees(replace(grammar, binary=[grammar.binary[0].scale(-1.0), *grammar.binary[1:]]), 1, rng)
    with pytest.raises(ValueError, match="symbol 2 in state 0"):
        sample_trees(replace(grammar, leaf=np.where(RULES.leaf[:, :1] == 2, np.nan, grammar.leaf)), 1, rng)
    with pytest.raises(ValueError, match="root"):
        sample_trees(replace(grammar, root=grammar.root * 0.5), 1, rng)


def test_root_weights_that_miss_one_by_rounding_are_sampled_from() -> None:
    """NumPy's own tolerance is narrower, so that they are divided by their sum."""
    grammar = random_grammar()
    inexact = sample_trees(replace(grammar, root=grammar.root * (1 + 5e-7)), 20, np.random.default_rng(0))
    exact = sample_trees(grammar, 20, np.random.default_rng(0))
    assert all((one == other).all() for one, other in zip(columns(inexact), columns(exact), strict=True))
