"""Sampled trees against exact probabilities, and the checks on what may be sampled from."""

from dataclasses import replace

import numpy as np
import pytest

from spectral_latent.inference import mean_node_counts, sample_trees
from spectral_latent.operators import ObservableOperators, Tensor, Tensors
from spectral_latent.trees import Rules
from tests.oracles import change_basis

RULES = Rules(
    leaf=np.array([[0, 0], [1, 1], [2, 0]]), unary=np.array([[0, 1], [2, 2]]), binary=np.array([[0, 0, 1], [1, 1, 1]])
)


def growing_grammar() -> ObservableOperators:
    """Two states for symbols 0 and 1; symbol 2 is never reached and would grow for ever."""
    growing = np.array([[[0.1, 0.2], [0.0, 0.1]], [[0.0, 0.0], [0.3, 0.0]]])
    pairing = np.array([[[0.1, 0.0], [0.0, 0.0]], [[0.0, 0.2], [0.0, 0.1]]])
    binary = [Tensor.of_dense(full) for full in (growing, pairing)]
    return ObservableOperators(
        RULES,
        states=np.array([2, 2, 1]),
        root=np.array([[0.6, 0.4], [0.0, 0.0], [0.0, 0.0]]),
        leaf=np.array([[0.3, 0.5], [0.9, 0.7], [0.0, 0.0]]),
        unary=np.array([[[0.1, 0.2], [0.2, 0.0]], [[1.0, 0.0], [0.0, 0.0]]]),
        binary=binary,
        probabilities=True,
    )


def test_states_and_rules_are_as_frequent_as_they_are_probable() -> None:
    operators = growing_grammar()
    trees, states = sample_trees(operators, 20_000, np.random.default_rng(5))
    roots = np.zeros_like(operators.root)
    np.add.at(roots, (trees.symbol[trees.root], states[trees.root]), 1)
    assert roots / roots.sum() == pytest.approx(operators.root, abs=0.015)
    rule = trees.rule_in(operators.rules)
    for r, (a, _, _) in enumerate(operators.rules.binary):
        nodes = np.flatnonzero(trees.is_binary & (rule == r))
        counts = np.zeros(operators.binary[r].shape)
        np.add.at(counts, (states[nodes], states[trees.left[nodes]], states[trees.right[nodes]]), 1)
        visits = np.bincount(states[trees.symbol == a], minlength=operators.states[a])[:, None, None]
        exact = operators.binary[r].to_dense()
        error = np.sqrt(exact * (1 - exact) / visits)
        assert (np.abs(counts / visits - exact) <= 5 * error + 1e-12).all()


def test_only_probabilities_are_sampled_from() -> None:
    grammar, rng = growing_grammar(), np.random.default_rng(0)
    for changed in (
        change_basis(grammar, [np.eye(m) for m in grammar.states]),
        replace(grammar, leaf=grammar.leaf * [[1], [1.1], [1]]),
        replace(grammar, binary=[grammar.binary[0].scale(-1.0), *grammar.binary[1:]]),
        replace(grammar, leaf=np.where(RULES.leaf[:, :1] == 1, np.nan, grammar.leaf)),
        replace(grammar, root=grammar.root * 0.5),
    ):
        with pytest.raises(ValueError):
            sample_trees(changed, 1, rng)
    rounded = replace(grammar, root=grammar.root * (1.0 - 9e-7))  # a sum with rounding errors
    assert sample_trees(rounded, 5, rng).trees.root.size == 5


def test_mean_node_counts_are_the_means_of_a_sample() -> None:
    n = 20_000
    trees, states = sample_trees(growing_grammar(), n, np.random.default_rng(0))
    counts = np.zeros((n, 3, 2))
    np.add.at(counts, (trees.tree, trees.symbol, states), 1)
    error = counts.std(axis=0) / np.sqrt(n)
    assert (np.abs(counts.mean(axis=0) - mean_node_counts(growing_grammar())) <= 4.5 * error).all()


def test_what_has_no_mean_node_counts() -> None:
    with pytest.raises(ValueError, match="infinite"):
        mean_node_counts(replace(growing_grammar(), root=np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]])))
    with pytest.raises(ValueError, match="basis"):
        mean_node_counts(replace(growing_grammar(), probabilities=False))


@pytest.mark.parametrize("share", [1.0, 1e-3, 1e-14])
@pytest.mark.parametrize("branching", [0.5, 0.7, 1.0])
def test_trees_that_are_infinite_on_average_are_refused_however_rare(share: float, branching: float) -> None:
    """S → a or, with a small share, X; X → X X with a probability of at least 1/2, or else X → a."""
    rules = Rules(np.array([[0, 0], [1, 0]]), np.array([[0, 1]]), np.array([[1, 1, 1]]))

    def rare(branching: float) -> ObservableOperators:
        return ObservableOperators(
            rules,
            states=np.array([1, 1]),
            root=np.array([[1.0], [0.0]]),
            leaf=np.array([[1.0 - share], [1.0 - branching]]),
            unary=np.array([[[share]]]),
            binary=Tensors.scalars(np.array([branching])),
            probabilities=True,
        )

    with pytest.raises(ValueError, match="infinite"):
        mean_node_counts(rare(branching))
    # below the limit, X has 1 / (1 - 2 q) nodes
    assert mean_node_counts(rare(0.4)) == pytest.approx(np.array([[1.0], [share * 5.0]]))
