"""Log-linear classifiers: the loss, its gradient, and the optimum."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import check_grad

from spectral_latent.lexicon.log_linear import log_linear_weights, penalised_loss


@pytest.mark.parametrize("seed", range(5))
def test_the_gradient_is_that_of_the_loss(seed: int) -> None:
    rng = np.random.default_rng(seed)
    features = sparse.random_array((7, 5), density=0.5, rng=rng, format="csr")
    target, penalty = rng.random((7, 3)), rng.random()

    def loss(flat: np.ndarray) -> float:
        return penalised_loss(flat.reshape(5, 3), features, target, penalty)[0]

    def gradient(flat: np.ndarray) -> np.ndarray:
        return penalised_loss(flat.reshape(5, 3), features, target, penalty)[1].ravel()

    assert check_grad(loss, gradient, rng.normal(size=15)) < 1e-5


def test_the_loss_is_the_formula() -> None:
    rng = np.random.default_rng(0)
    features, weights, target = rng.random((6, 3)), rng.normal(size=(3, 4)), rng.random((6, 4))
    total = 0.0
    for phi, q in zip(features, target, strict=True):
        score = np.exp(phi @ weights)
        total -= sum(q[a] * np.log(score[a] / score.sum()) for a in range(4))
    total += 0.7 / 2 * (weights**2).sum()
    assert penalised_loss(weights, sparse.csr_array(features), target, 0.7)[0] == pytest.approx(total)


def test_scores_may_be_of_any_size() -> None:
    scores = np.array([[1e30, 0.0, -1e30], [-1e4, -1e4, -1e4]])
    for row, log_p in zip(scores, ([0.0, -1e30, -2e30], np.log([1 / 3] * 3)), strict=True):
        for a in range(3):
            loss, _ = penalised_loss(row[None], sparse.csr_array([[1.0]]), np.eye(3)[[a]], 0.0)
            assert loss == pytest.approx(-log_p[a])


def test_weights_are_where_the_gradient_is_zero() -> None:
    rng = np.random.default_rng(0)
    features, target = sparse.csr_array(rng.random((20, 4))), rng.integers(0, 3, (20, 3)).astype(float)
    loss, gradient = penalised_loss(weights := log_linear_weights(features, target, 0.5, 200), features, target, 0.5)
    assert np.abs(gradient).max() < 0.01
    nearby = [penalised_loss(weights + rng.normal(0, 0.1, weights.shape), features, target, 0.5)[0] for _ in range(20)]
    assert loss < min(nearby)


def test_more_iterations_lower_the_loss() -> None:
    rng = np.random.default_rng(1)
    features, target = sparse.csr_array(rng.random((30, 5))), np.eye(3)[rng.integers(0, 3, 30)]
    losses = [penalised_loss(log_linear_weights(features, target, 0.1, n), features, target, 0.1)[0] for n in (1, 3, 9)]
    assert losses == sorted(losses, reverse=True) and losses[0] > losses[2]


def test_supported_weights_alone_are_where_their_gradient_is_zero() -> None:
    rng = np.random.default_rng(2)
    features = sparse.csr_array(rng.random((25, 6)) * (rng.random((25, 6)) < 0.15))
    target = np.eye(4)[rng.integers(0, 4, 25)]
    supported = (features.T @ target) > 0
    assert 0.3 < supported.mean() < 0.8
    weights = log_linear_weights(features, target, 0.1, 300, frequent=np.inf)
    np.testing.assert_array_equal(weights != 0, supported)
    gradient = penalised_loss(weights, features, target, 0.1)[1]
    assert np.abs(gradient[supported]).max() < 0.01 < np.abs(gradient[~supported]).max()


def test_where_everything_is_supported_it_makes_no_difference() -> None:
    rng = np.random.default_rng(3)
    features, target = sparse.csr_array(rng.random((20, 4))), rng.random((20, 3))
    free, supported = (log_linear_weights(features, target, 0.5, 20, frequent=least) for least in (0.0, np.inf))
    np.testing.assert_array_equal(free, supported)
