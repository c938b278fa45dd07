"""Corners of convex hulls, and mixtures of them, against enumeration of faces."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.estimation.simplex import anchors, convex_weights

seeds = st.integers(0, 2**32 - 1)


def distances(points: np.ndarray, weights: np.ndarray, corners: np.ndarray) -> np.ndarray:
    return ((points - weights @ corners) ** 2).sum(axis=1)


def by_enumeration(point: np.ndarray, corners: np.ndarray) -> float:
    """The least squared distance from the hull: over every face, that of the nearest point of its affine hull."""
    best = np.inf
    for size in range(1, len(corners) + 1):
        for face in itertools.combinations(range(len(corners)), size):
            first, *others = corners[list(face)]
            edges = np.array(others).reshape(-1, len(point)) - first
            rest = np.linalg.lstsq(edges.T, point - first)[0]
            if (rest >= 0).all() and rest.sum() <= 1:
                best = min(best, float(((first + rest @ edges - point) ** 2).sum()))
    return best


@given(seeds, st.integers(1, 5), st.integers(1, 5), st.sampled_from([0.0, 0.3, 10.0]))
def test_distances_are_those_of_enumeration(seed: int, k: int, d: int, noise: float) -> None:
    rng = np.random.default_rng(seed)
    corners = rng.normal(size=(k, d))
    points = rng.dirichlet(np.ones(k), size=4) @ corners + noise * rng.normal(size=(4, d))
    weights = convex_weights(points, corners)
    wanted = [by_enumeration(point, corners) for point in points]
    assert (weights >= 0).all()
    assert weights.sum(axis=1) == pytest.approx(np.ones(4), abs=1e-14)
    assert distances(points, weights, corners) == pytest.approx(wanted, rel=1e-9, abs=1e-11)


@given(seeds, st.integers(1, 40), st.integers(1, 50), st.sampled_from([0.0, 0.1, 1.0, 100.0]))
def test_kuhn_tucker_conditions_hold(seed: int, k: int, d: int, noise: float) -> None:
    """The gradient is least, and equal, where weights are positive."""
    rng = np.random.default_rng(seed)
    corners = rng.normal(size=(k, d))
    points = rng.dirichlet(np.full(k, 0.3), size=20) @ corners + noise * rng.normal(size=(20, d))
    weights = convex_weights(points, corners)
    gradient = 2 * (weights @ corners - points) @ corners.T
    excess = gradient - gradient.min(axis=1, keepdims=True)
    scale = (corners**2).sum(axis=1).max() + np.abs(points @ corners.T).max()
    assert (weights * excess).max() <= 1e-11 * scale


def test_many_corners_whose_axes_differ_in_size() -> None:
    """The search takes more than three steps for each corner."""
    rng = np.random.default_rng(3)
    scale = 10.0 ** np.linspace(-8, 0, 40)
    corners = rng.normal(size=(40, 40)) * scale
    mixed = rng.dirichlet(np.full(40, 0.1), size=300)
    points = mixed @ corners
    nearest = distances(points, convex_weights(points, corners), corners)
    assert (nearest <= 1e-12).all()


def test_what_cannot_be_mixed() -> None:
    with pytest.raises(ValueError, match="at least one corner"):
        convex_weights(np.zeros((2, 3)), np.zeros((0, 3)))
    for points, corners in ((np.full((1, 2), np.nan), np.eye(2)), (np.zeros((1, 2)), np.full((2, 2), np.inf))):
        with pytest.raises(ValueError, match="finite"), np.errstate(invalid="ignore"):
            convex_weights(points, corners)
    assert convex_weights(np.zeros((0, 3)), np.eye(3)).shape == (0, 3)


@given(seeds, st.integers(1, 12), st.integers(0, 6), st.booleans())
def test_anchors_are_the_corners_of_the_hull(seed: int, k: int, more: int, unit: bool) -> None:
    """Figure 1 of Stratos et al.: rows that mix k independent rows, which are among them; counts do not matter."""
    rng = np.random.default_rng(seed)
    corners = rng.normal(size=(k, k + more))
    if unit:
        corners /= np.linalg.norm(corners, axis=1, keepdims=True)
    mixtures = np.concatenate([np.eye(k), rng.dirichlet(np.full(k, 0.5), size=40)])
    order = rng.permutation(len(mixtures))
    found = anchors((mixtures @ corners)[order], rng.uniform(1, 9, size=len(order)), k + 3, cutoff=1e-9)
    assert mixtures[order][found].max(axis=1) == pytest.approx(np.ones(len(found)), abs=1e-6)
    assert len(found) <= k
    if np.linalg.cond(corners) < 1e6:
        assert sorted(mixtures[order][found].argmax(axis=1)) == list(range(k))


def test_there_are_no_more_anchors_than_dimensions_and_at_least_one() -> None:
    rows = np.array([[1.0, 1.0], [2.0, 2.0], [2.0, 2.0 + 1e-5]])
    assert anchors(rows, np.ones(3), 5).tolist() == [2, 1]
    assert anchors(rows, np.ones(3), 5, cutoff=1e-3).tolist() == [2]
    assert anchors(rows, np.ones(3), 1).tolist() == [2]
    assert anchors(np.zeros((3, 2)), np.array([1.0, 2.0, 1.0]), 5).tolist() == [1]
