"""Mean counts of nodes and collapsed grammars against large samples and by hand."""

from dataclasses import replace

import numpy as np
import pytest

from spectral_latent.estimation import relative_frequencies
from spectral_latent.inference import collapse, mean_node_counts, sample_trees
from spectral_latent.operators import Counts, ObservableOperators, Tensor, Tensors
from spectral_latent.trees import Rules

RULES = Rules(
    leaf=np.array([[0, 0], [1, 1], [2, 0]]), unary=np.array([[0, 1], [2, 2]]), binary=np.array([[0, 0, 1], [1, 1, 1]])
)


def grammar() -> ObservableOperators:
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


def test_mean_node_counts_are_the_means_of_a_sample() -> None:
    n = 20_000
    trees, states = sample_trees(grammar(), n, np.random.default_rng(0))
    counts = np.zeros((n, 3, 2))
    np.add.at(counts, (trees.tree, trees.symbol, states), 1)
    error = counts.std(axis=0) / np.sqrt(n)
    assert (np.abs(counts.mean(axis=0) - mean_node_counts(grammar())) <= 4.5 * error).all()


def test_the_collapsed_grammar_has_the_relative_frequencies_of_a_sample() -> None:
    trees = sample_trees(grammar(), 20_000, np.random.default_rng(1)).trees
    counted, exact = relative_frequencies(Counts.of_trees(trees)), collapse(grammar())
    reached = RULES.leaf[:, 0] < 2
    assert counted.leaf == pytest.approx(exact.leaf[reached], abs=0.01)
    assert counted.unary == pytest.approx(exact.unary[:1], abs=0.01)
    for ours, theirs in zip(counted.binary, exact.binary, strict=True):
        assert ours.to_dense() == pytest.approx(theirs.to_dense(), abs=0.01)


def test_what_has_no_mean_node_counts() -> None:
    with pytest.raises(ValueError, match="infinite"):
        mean_node_counts(replace(grammar(), root=np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]])))
    with pytest.raises(ValueError, match="basis"):
        mean_node_counts(replace(grammar(), probabilities=False))


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
