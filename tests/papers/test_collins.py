"""The averaged perceptron of Collins (2002), against its pseudocode in plain loops."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from benchmarks.papers.dhillon2012 import train_averaged_perceptron


def by_the_book(lists: list[tuple[np.ndarray, np.ndarray]], epochs: int) -> np.ndarray:
    """The mean of w after each visit; lists are candidates' features (n, d) and gains (n,)."""
    w = np.zeros(lists[0][0].shape[1])
    visited = []
    for _ in range(epochs):
        for x, gain in lists:
            best, chosen = x[int(gain.argmax())], x[int((x @ w).argmax())]
            w = w + best - chosen
            visited.append(w)
    return np.mean(visited, axis=0)


@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_weights_are_those_of_the_book(seed: int, epochs: int) -> None:
    """Features are integers, so that equal scores are equal to the last bit."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, 6).tolist()
    lists = [(rng.integers(-2, 3, (n, 3)).astype(float), rng.integers(0, 4, n).astype(float)) for n in sizes]
    x, gains = (np.concatenate(part) for part in zip(*lists, strict=True))
    found = train_averaged_perceptron(sparse.csr_array(x), np.cumsum([0, *sizes]), gains, epochs)
    np.testing.assert_allclose(found, by_the_book(lists, epochs), atol=1e-12)
