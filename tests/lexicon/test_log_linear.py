"""Log-linear classifiers: the loss, its gradient, and the optimum."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import check_grad
from scipy.special import log_softmax

from spectral_latent.lexicon.log_linear import Examples, log_linear_weights, penalised_loss


def all_free(features: np.ndarray, target: np.ndarray) -> Examples:
    return Examples.of(sparse.csr_array(features), sparse.csr_array(target), frequent=0.0)


def dense_loss(weights: np.ndarray, features: np.ndarray, target: np.ndarray, penalty: float) -> float:
    """The formula, with a matrix for each of its terms."""
    loss = -(target * log_softmax(features @ weights, axis=1)).sum() + penalty / 2 * (weights**2).sum()
    return float(loss)


def dense_gradient(weights: np.ndarray, features: np.ndarray, target: np.ndarray, penalty: float) -> np.ndarray:
    """The expectation of each feature under the model, less its sum in the data, plus the penalty."""
    p = np.exp(log_softmax(features @ weights, axis=1))
    gradient: np.ndarray = features.T @ (target.sum(axis=1, keepdims=True) * p - target) + penalty * weights
    return gradient


def few_features(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Examples (25, 6) with few features, and one class of four for each."""
    rng = np.random.default_rng(seed)
    return rng.random((25, 6)) * (rng.random((25, 6)) < 0.15), np.eye(4)[rng.integers(0, 4, 25)]


@pytest.mark.parametrize("frequent", [0.0, 2.0, np.inf])
@pytest.mark.parametrize("seed", range(2))
def test_loss_and_gradient_are_the_formulas(seed: int, frequent: float) -> None:
    features, target = few_features(seed)
    examples = Examples.of(sparse.csr_array(features), sparse.csr_array(target), frequent)
    free = ((features.T @ target) > 0) | (features.sum(axis=0) >= frequent)[:, None]
    rng = np.random.default_rng(seed)
    flat, penalty = rng.normal(0.0, 10.0, size=np.count_nonzero(free)), rng.random()
    weights = np.zeros(free.shape)
    weights[free] = flat
    loss, gradient = penalised_loss(examples, flat, penalty)
    assert loss == pytest.approx(dense_loss(weights, features, target, penalty), rel=1e-12)
    expected = dense_gradient(weights, features, target, penalty)
    np.testing.assert_allclose(gradient, expected[free], rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("seed", range(2))
def test_the_gradient_is_that_of_the_loss(seed: int) -> None:
    rng = np.random.default_rng(seed)
    examples = all_free(rng.random((7, 5)) * (rng.random((7, 5)) < 0.5), rng.random((7, 3)))
    penalty = rng.random()

    def loss(flat: np.ndarray) -> float:
        return penalised_loss(examples, flat, penalty)[0]

    def gradient(flat: np.ndarray) -> np.ndarray:
        return penalised_loss(examples, flat, penalty)[1]

    assert check_grad(loss, gradient, rng.normal(size=15)) < 1e-5


def test_scores_may_be_of_any_size() -> None:
    scores = np.array([[1e30, 0.0, -1e30], [-1e4, -1e4, -1e4], [-690.0, 0.0, -710.0], [-1e-300, 0.0, 1e-17]])
    for row in scores:
        for a in range(3):
            loss, gradient = penalised_loss(all_free(np.ones((1, 1)), np.eye(3)[[a]]), row, 0.0)
            assert loss == pytest.approx(-log_softmax(row)[a], rel=1e-13)
            np.testing.assert_allclose(gradient, np.exp(log_softmax(row)) - np.eye(3)[a], rtol=1e-12, atol=1e-300)


def test_weights_are_where_the_gradient_is_zero() -> None:
    rng = np.random.default_rng(0)
    features, target = rng.random((20, 4)), rng.integers(0, 3, (20, 3)).astype(float)
    weights = log_linear_weights(sparse.csr_array(features), sparse.csr_array(target), 0.5, 200).toarray()
    assert np.abs(dense_gradient(weights, features, target, 0.5)).max() < 0.01
    nearby = [dense_loss(weights + rng.normal(0, 0.1, weights.shape), features, target, 0.5) for _ in range(20)]
    assert dense_loss(weights, features, target, 0.5) < min(nearby)


def test_supported_weights_alone_are_where_their_gradient_is_zero() -> None:
    features, target = few_features(2)
    supported = (features.T @ target) > 0
    assert 0.3 < supported.mean() < 0.8
    found = log_linear_weights(sparse.csr_array(features), sparse.csr_array(target), 0.1, 300, frequent=np.inf)
    weights = found.toarray()
    np.testing.assert_array_equal(weights != 0, supported)
    gradient = dense_gradient(weights, features, target, 0.1)
    assert np.abs(gradient[supported]).max() < 0.01 < np.abs(gradient[~supported]).max()


def test_memory_does_not_grow_with_classes_that_features_do_not_have() -> None:
    size = 100_000  # a matrix of examples and classes would take 80 GB, one of features and classes as much
    diagonal = sparse.dia_array((np.ones((1, size)), [0]), shape=(size, size)).tocsr()
    features, target = diagonal[:50], diagonal[:50]
    found = log_linear_weights(sparse.csr_array(features), sparse.csr_array(target), 0.5, 3, frequent=np.inf)
    assert found.shape == (size, size) and found.nnz == 50
