"""Left corners: what may begin at a word, compared with series that are added up one by one, and with sums by hand."""

import numpy as np
import pytest

from spectral_latent.inference import LeftCorners
from spectral_latent.operators import Counts, ObservableOperators
from spectral_latent.trees import Rules
from tests.oracles import Lpcfg, all_rules, random_lpcfg

NONE = np.empty((0, 2), dtype=np.int64)


def branching(binary: float) -> ObservableOperators:
    """S → S S with a probability, or else S → a."""
    rules = Rules(np.array([[0, 0]]), NONE, np.array([[0, 0, 0]]))
    counts = Counts.of_rules(rules, np.ones(1), np.array([1.0 - binary]), np.zeros(0), np.array([binary]))
    return ObservableOperators.probabilities_of(counts)


def series(model: Lpcfg, total: list[np.ndarray]) -> list[np.ndarray]:
    """root + root P + root P² + ..., by symbol."""
    step = model.pi
    found = step
    for _ in range(300):
        following = [np.zeros(m) for m in model.states]
        for (a, b, c), tensor in model.t.items():
            following[b] = following[b] + np.einsum("i,ijk,k->j", step[a], tensor, total[c])
        step = following
        found = [one + other for one, other in zip(found, step, strict=True)]
    return found


@pytest.mark.parametrize("binary", [0.2, 0.45, 0.7])
def test_finite_trees(binary: float) -> None:
    """The generating function of S → S S | a by hand: Z = 1, or (1 - q) / q if q > 1/2; and f_0 = 1 / (1 - q Z)."""
    total = min(1.0, (1.0 - binary) / binary)
    corners = LeftCorners.compute(branching(binary))
    np.testing.assert_allclose(corners.total, [[total]], rtol=1e-10)
    np.testing.assert_allclose(corners.first, [[1.0 / (1.0 - binary * total)]], rtol=1e-10)


def test_left_descendants_of_the_root() -> None:
    """Against the series of powers of P; Z against the iteration from zero, which climbs to it."""
    model = random_lpcfg(np.random.default_rng(0), [2, 3, 1], all_rules(3, 3))
    total = [np.zeros(m) for m in model.states]
    for _ in range(5000):
        leaf = [sum(model.q[a, x] for x in range(3)) for a in range(3)]
        for (a, b, c), tensor in model.t.items():
            leaf[a] = leaf[a] + np.einsum("ijk,j,k->i", tensor, total[b], total[c])
        total = leaf
    corners = LeftCorners.compute(model.operators(probabilities=True))
    first = series(model, total)
    for a, m in enumerate(model.states):
        np.testing.assert_allclose(corners.total[a, :m], total[a], rtol=1e-8)
        np.testing.assert_allclose(corners.first[a, :m], first[a], rtol=1e-8)
