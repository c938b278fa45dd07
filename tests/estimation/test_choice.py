"""Fewer states out of the same moments."""

import numpy as np
import pytest

from spectral_latent.estimation import Moments
from tests.oracles import columns, same_moments

TREES = columns([(0, (1, 0), (0, (1, 1), (2, (0, 2)))), (0, (1, 0), (1, 1)), (0, 2), (1, (0, 2), (1, 0))] * 20)


def moments(states: list[int], seed: int = 0) -> Moments:
    """Moments of random projections: the first columns are the same for any number of states."""
    y, z = np.random.default_rng(seed).normal(size=(2, TREES.n_nodes, 6))
    mask = np.arange(6) < np.array(states)[TREES.symbol][:, None]
    largest = max(states)
    return Moments.of_trees(TREES, TREES.rules, np.array(states), (y * mask)[:, :largest], (z * mask)[:, :largest])


@pytest.mark.parametrize("states", [[1, 4, 2], [1, 1, 1]])
def test_truncated_moments_are_those_of_fewer_states(states: list[int]) -> None:
    found, wanted = moments([6, 4, 5]).truncate(np.array(states)), moments(states)
    same_moments(found, wanted, atol=1e-10)
