"""Truncated decompositions against numpy's full one, and the identities of the projected views."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence

from spectral_latent.estimation import FeatureColumns, project, projections, states_for, truncated_svd

seeds = st.integers(0, 2**32 - 1)


def latent_views(
    seed: int, n: int, sizes: tuple[int, int], states: int = 6, templates: int = 2
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """One-hot views of n nodes that depend on each other through hidden states."""
    rng = np.random.default_rng(seed)
    hidden = rng.integers(states, size=n)
    columns = []
    for size in sizes:
        weights = rng.dirichlet(np.full(size, 0.1), size=(templates, states)).cumsum(axis=2)
        draws = rng.random((n, templates, 1))
        columns.append((draws > weights[:, hidden].transpose(1, 0, 2)[:, :, :-1]).sum(axis=2))
    return FeatureColumns.one_hot(columns[0], 1.0), FeatureColumns.one_hot(columns[1], 1.0)


def covariance(inner: sparse.csr_array, outer: sparse.csr_array) -> np.ndarray:
    return inner.toarray().T @ outer.toarray() / inner.shape[0]


def check_triplets(omega: np.ndarray, u: np.ndarray, sigma: np.ndarray, v: np.ndarray, tolerance: float) -> None:
    """Orthonormal columns, Ω V = U σ, Ωᵀ U = V σ, and σ those of numpy."""
    k = len(sigma)
    expected = np.linalg.svd(omega, compute_uv=False)
    scale = expected[0]
    assert sigma == pytest.approx(expected[:k], rel=tolerance, abs=tolerance * scale)
    assert (np.diff(sigma) <= 0).all()
    for found, wanted, size in (
        (u.T @ u, np.eye(k), 1.0),
        (v.T @ v, np.eye(k), 1.0),
        (omega @ v, u * sigma, scale),
        (omega.T @ u, v * sigma, scale),
    ):
        assert np.abs(found - wanted).max() <= tolerance * size


@given(seeds, st.integers(5, 60), st.integers(1, 12))
def test_small_decompositions_are_those_of_numpy(seed: int, n: int, rank: int) -> None:
    inner, outer = latent_views(seed, n, (7, 9))
    u, sigma, v = truncated_svd(inner, outer, rank)
    assert len(sigma) == min(rank, inner.shape[1], outer.shape[1])
    check_triplets(covariance(inner, outer), u, sigma, v, 1e-10)


@pytest.fixture(scope="module")
def large() -> tuple[sparse.csr_array, sparse.csr_array]:
    inner, outer = latent_views(1, 2500, (250, 250))
    assert min(inner.shape[1], outer.shape[1]) > 400  # above it ARPACK is used
    return inner, outer


@pytest.fixture(scope="module")
def decomposed(large: tuple[sparse.csr_array, sparse.csr_array]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return tuple(np.linalg.svd(covariance(*large), full_matrices=False))


@pytest.mark.parametrize("rank", [1, 6, 16])
def test_large_decompositions_are_those_of_numpy(
    rank: int,
    large: tuple[sparse.csr_array, sparse.csr_array],
    decomposed: tuple[np.ndarray, np.ndarray, np.ndarray],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(np.linalg, "svd", _never)  # it is not the dense way that is tested
    u, sigma, v = truncated_svd(*large, rank)
    monkeypatch.undo()
    omega = covariance(*large)
    check_triplets(omega, u, sigma, v, 1e-9)
    full_u, full_sigma, full_vt = decomposed
    gap = full_sigma[rank - 1] - full_sigma[rank]
    assert gap > 1e-3 * full_sigma[0]
    for found, expected in ((u, full_u), (v, full_vt.T)):  # the same subspaces: equal projectors
        assert np.abs(found @ found.T - expected[:, :rank] @ expected[:, :rank].T).max() <= 1e-8


def _never(*_: Any, **__: Any) -> Any:
    raise AssertionError("not called")


@pytest.mark.parametrize("error", [ArpackError(3), ArpackNoConvergence("no convergence", np.empty(0), np.empty(0))])
def test_where_arpack_fails_the_decomposition_is_dense(
    error: Exception, large: tuple[sparse.csr_array, sparse.csr_array], monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr(projections, "svds", failing)
    u, sigma, v = truncated_svd(*large, 6)
    check_triplets(covariance(*large), u, sigma, v, 1e-10)


def test_equal_input_gives_equal_bits_whatever_came_before(large: tuple[sparse.csr_array, sparse.csr_array]) -> None:
    np.random.seed(1)  # noqa: NPY002 - a result must not depend on the global state
    first = project(*large, 16, 0.01)
    project(*latent_views(2, 1000, (450, 450)), 5, 0.01)
    np.random.seed(2)  # noqa: NPY002
    again = project(*large, 16, 0.01)
    for one, two in zip(first, again, strict=True):
        assert one.tobytes() == two.tobytes()


def test_the_seed_changes_bits_and_nothing_else(large: tuple[sparse.csr_array, sparse.csr_array]) -> None:
    first, second = (project(*large, 6, 0.01, seed) for seed in (0, 1))
    assert second.sigma == pytest.approx(first.sigma, rel=1e-10)
    assert second.y == pytest.approx(first.y, abs=1e-7)
    assert second.z == pytest.approx(first.z, abs=1e-6)


@pytest.mark.parametrize("n", [300, 450])
def test_equal_singular_values_do_no_harm(n: int) -> None:
    """Ω = identity / n: every vector is a singular vector, and ARPACK's first Krylov space is exhausted at once."""
    eye = sparse.csr_array(sparse.eye_array(n))
    u, sigma, v = truncated_svd(eye, eye, 8)
    check_triplets(np.eye(n) / n, u, sigma, v, 1e-10)


@given(seeds, st.integers(20, 300), st.integers(1, 8))
def test_projected_views_have_the_identity_for_their_covariance(seed: int, n: int, states: int) -> None:
    inner, outer = latent_views(seed, n, (6, 8))
    y, z, sigma = project(inner, outer, states, 0.01)
    m = len(sigma)
    assert 1 <= m <= states
    assert y.shape == z.shape == (n, m)
    assert z.T @ y / n == pytest.approx(np.eye(m), abs=1e-9)
    assert (sigma > 0.01 * sigma[0]).sum() == m or m == 1


@pytest.mark.parametrize("true_states", [1, 3, 5])
@pytest.mark.parametrize("width", [40, 600])
def test_directions_that_the_data_lack_are_dropped(true_states: int, width: int) -> None:
    """Views that are exact functions of `true_states` states: Ω has that rank, whatever is asked for."""
    rng = np.random.default_rng(0)
    hidden = np.arange(2000) % true_states
    inner, outer = (sparse.csr_array(rng.random((true_states, width))[hidden]) for _ in range(2))
    y, z, sigma = project(inner, outer, 16, 1e-6)
    assert len(sigma) == true_states
    assert z.T @ y / 2000 == pytest.approx(np.eye(true_states), abs=1e-8)
    assert max(np.abs(y).max(), np.abs(z).max()) < 1e4


def test_views_of_one_value_have_one_state() -> None:
    same = FeatureColumns.one_hot(np.zeros((50, 3), dtype=int), 1.0)
    y, z, sigma = project(same, same, 16, 0.01)
    assert len(sigma) == 1
    assert y * z == pytest.approx(np.ones((50, 1)))


def test_the_sign_of_a_projection_is_settled(large: tuple[sparse.csr_array, sparse.csr_array]) -> None:
    inner, _ = large
    y, _, sigma = project(*large, 8, 0.01)
    u = np.linalg.lstsq(inner.toarray(), y, rcond=None)[0]  # y = φ U
    assert len(sigma) == 8
    assert (u.sum(axis=0) >= -1e-9).all()


@given(st.integers(0, 10**6), st.integers(1, 64))
def test_states_never_outgrow_their_evidence(count: int, states: int) -> None:
    m = states_for(count, states)
    assert 1 <= m <= states
    assert m == 1 or count > 10
    assert m == states or count < 100
    assert states_for(count + 1, states) >= m
