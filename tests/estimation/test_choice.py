"""Fewer states out of the same moments, and the search for how many."""

import numpy as np
import pytest

from benchmarks.papers.narayan2016 import search_states
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


def test_the_search_finds_the_best_of_a_separable_score() -> None:
    best = np.array([2, 4, 1])

    def score(trial: Moments) -> float:
        return -float(np.abs(trial.states - best).sum())

    assert search_states(moments([6, 4, 5]), score, [1, 2, 3, 4]).tolist() == [2, 4, 1]


def test_the_search_visits_the_most_frequent_symbols_and_never_loses() -> None:
    seen = []

    def score(trial: Moments) -> float:
        seen.append(trial.states.tolist())
        return float(trial.states.sum())

    assert search_states(moments([6, 4, 5]), score, [1, 9], symbols=1).tolist() == [6, 4, 5]
    assert seen == [[6, 4, 5], [1, 4, 5]]
