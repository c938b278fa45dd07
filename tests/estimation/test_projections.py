"""Truncated decompositions against numpy's full one, and projections against the formulas on dense matrices."""

import logging
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence
from threadpoolctl import threadpool_limits

from spectral_latent.estimation import EstimatorOptions, FeatureColumns, Projection, Shard, svd
from spectral_latent.estimation._projections import SymbolEvidence
from spectral_latent.estimation.svd import truncated_svd
from spectral_latent.trees import SkeletalTrees
from tests.oracles import columns

seeds = st.integers(0, 2**32 - 1)
Triplets = tuple[np.ndarray, np.ndarray, np.ndarray]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """As estimators compute; threads that wait for each other take most of the time of these small matrices."""
    with threadpool_limits(1):
        yield


def check_triplets(omega: np.ndarray, triplets: Triplets, tolerance: float) -> None:
    """Orthonormal columns, Ω V = U σ, Ωᵀ U = V σ, and σ those of numpy."""
    u, sigma, v = triplets
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


def latent_columns(seed: int, n: int, size: int, templates: int = 2, states: int = 6) -> FeatureColumns:
    """Templates of n nodes whose inside and outside values depend on each other through hidden states."""
    rng = np.random.default_rng(seed)
    hidden = rng.integers(states, size=n)
    sides = []
    for _ in range(2):
        weights = rng.dirichlet(np.full(size, 0.1), size=(templates, states)).cumsum(axis=2)
        draws = rng.random((n, templates, 1))
        sides.append((draws > weights[:, hidden].transpose(1, 0, 2)[:, :, :-1]).sum(axis=2))
    return FeatureColumns(*sides)


def covariance(features: FeatureColumns, scaling: float | None) -> np.ndarray:
    """Ω̂ of nodes of one symbol."""
    inside, outside = (by_definition(side, scaling) for side in (features.inside, features.outside))
    return inside.T @ outside / len(inside)


def by_definition(rows: np.ndarray, scaling: float | None) -> np.ndarray:
    """The scaled indicators of slide 23, (n, d): √(n / (count + κ)) where a feature fires."""
    n = len(rows)
    tables = []
    for column in rows.T:
        values, count = np.unique(column, return_counts=True)
        scale = np.ones(len(values)) if scaling is None else np.sqrt(n / (count + scaling))
        tables.append((column[:, None] == values) * scale)
    return np.concatenate(tables, axis=1)


@given(seeds, st.integers(5, 60), st.integers(1, 12))
def test_small_decompositions_are_those_of_numpy(seed: int, n: int, rank: int) -> None:
    omega = covariance(latent_columns(seed, n, 7), 1.0)
    triplets = truncated_svd(sparse.csr_array(omega), rank)
    assert len(triplets[1]) == min(rank, *omega.shape)
    check_triplets(omega, triplets, 1e-10)


@cache
def large() -> sparse.csr_array:
    """A matrix that ARPACK decomposes."""
    omega = covariance(latent_columns(1, 2500, 250), 1.0)
    assert min(omega.shape) > 400
    return sparse.csr_array(omega)


@pytest.fixture(scope="module")
def decomposed() -> Triplets:
    u, sigma, vt = np.linalg.svd(large().toarray(), full_matrices=False)
    return u, sigma, vt.T


def same_space(found: Triplets, full: Triplets) -> None:
    """The projectors on the leading singular vectors are equal, as they must be where there is a gap."""
    rank = len(found[1])
    sigma = full[1]
    assert sigma[rank - 1] - sigma[rank] > 1e-3 * sigma[0]
    for ours, theirs in ((found[0], full[0]), (found[2], full[2])):
        assert np.abs(ours @ ours.T - theirs[:, :rank] @ theirs[:, :rank].T).max() <= 1e-8


def test_large_decompositions_are_those_of_numpy(decomposed: Triplets, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(svd, "_dense_svd", pytest.fail)
    found = truncated_svd(large(), 6)
    check_triplets(large().toarray(), found, 1e-9)
    same_space(found, decomposed)


@pytest.mark.parametrize("error", [ArpackError(3), ArpackNoConvergence("no convergence", np.empty(0), np.empty(0))])
def test_where_arpack_gives_up_propack_goes_on(
    error: Exception, decomposed: Triplets, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    svds = scipy.sparse.linalg.svds

    def failing(*arguments: Any, solver: str, **options: Any) -> Any:
        if solver == "arpack":
            raise error
        return svds(*arguments, solver=solver, **options)

    monkeypatch.setattr(scipy.sparse.linalg, "svds", failing)
    matrix = large().T.tocsr()
    first, second = (truncated_svd(matrix, 6) for _ in range(2))
    check_triplets(matrix.toarray(), first, 1e-8)
    same_space(first, decomposed[::-1])
    for ours, theirs in zip(first, second, strict=True):
        assert ours.tobytes() == theirs.tobytes()
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2


names = st.integers(-3, 3) | st.integers(-(2**13), 2**13 - 1).map(lambda n: n << 50) | st.integers(-(2**63), 2**63 - 1)


@given(st.lists(st.tuples(names, names, st.integers(1, 9)), min_size=1, max_size=60))
def test_evidence_has_the_weight_of_each_value(rows: list[tuple[int, int, int]]) -> None:
    """Of hashes, of small numbers and of names that differ in their first digits alone."""
    *table, weight = np.array(rows, dtype=np.int64).T
    features = FeatureColumns.of({"both": table[0], "again": table[0]}, {"other": table[1]})
    evidence = SymbolEvidence.of(features, np.arange(len(rows)), weight / 8.0)
    for place, found in [(0, evidence.inside[0]), (0, evidence.inside[1]), (1, evidence.outside[0])]:
        count = Counter[int]()
        for row in rows:
            count[row[place]] += row[2]
        assert found.values.tolist() == sorted(count)
        assert found.nodes.tolist() == [count[value] / 8.0 for value in sorted(count)]


def leaves(n: int) -> SkeletalTrees:
    """Trees of one leaf each, all of symbol 0."""
    return columns([(0, 0)] * n)


def projected(features: FeatureColumns, options: EstimatorOptions, shards: int = 1) -> tuple[np.ndarray, ...]:
    """y, z and σ of nodes of one symbol."""
    several = [
        Shard.of(leaves(len(nodes)), FeatureColumns(features.inside[nodes], features.outside[nodes]))
        for nodes in np.array_split(np.arange(len(features.inside)), shards)
    ]
    projection = Projection.learn(several, options)
    rows = [projection.project(shard) for shard in several]
    y, z = (np.concatenate([getattr(part, name) for part in rows]) for name in "yz")
    return y, z, projection.maps[0].sigma


@pytest.mark.parametrize(("scaling", "shards"), [(None, 1), (1.0, 7), (5.0, 2)])
def test_projections_are_those_of_the_dense_formulas(scaling: float | None, shards: int) -> None:
    """y zᵀ = φ U σ⁻¹ Vᵀ ψᵀ, whatever the signs of singular vectors."""
    features = latent_columns(3, 600, 12)
    y, z, sigma = projected(features, EstimatorOptions(n_states=5, scaling=scaling), shards)
    u, expected, vt = np.linalg.svd(covariance(features, scaling))
    inside, outside = (by_definition(side, scaling) for side in (features.inside, features.outside))
    assert len(sigma) == 5
    assert expected[4] - expected[5] > 1e-3 * expected[0]
    assert sigma == pytest.approx(expected[:5])
    wanted = inside @ u[:, :5] / expected[:5] @ vt[:5] @ outside.T
    np.testing.assert_allclose(y @ z.T, wanted, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(("copies", "kept"), [(1, 1), (40, 4)])
def test_the_cutoff_is_a_share_of_the_first_singular_value(copies: int, kept: int) -> None:
    """So copies of all templates, which multiply all singular values, change nothing."""
    one = latent_columns(3, 600, 12)
    features = FeatureColumns(np.tile(one.inside, copies), np.tile(one.outside, copies))
    sigma = np.linalg.svd(covariance(features, 1.0), compute_uv=False)
    share = sigma / sigma[0]
    options = EstimatorOptions(n_states=5, scaling=1.0, cutoff=float((share[kept - 1] + share[kept]) / 2))
    _, _, found = projected(features, options)
    assert found == pytest.approx(sigma[:kept])


@given(seeds)
def test_features_that_were_not_seen_in_training_are_absent(seed: int) -> None:
    rng = np.random.default_rng(seed)
    features = latent_columns(seed, 200, 6)
    projection = Projection.learn([Shard.of(leaves(200), features)], EstimatorOptions(n_states=3))
    unseen = rng.random((2, 200, 2)) < 0.3
    new = FeatureColumns(
        np.where(unseen[0], rng.choice([-9, 77]), features.inside),
        np.where(unseen[1], rng.choice([-9, 77]), features.outside),
    )
    found = projection.project(Shard.of(leaves(200), new))
    maps = projection.maps[0]
    for rows, side, gone, matrix in (
        (found.y, features.inside, unseen[0], maps.to_y),
        (found.z, features.outside, unseen[1], maps.to_z),
    ):
        sizes = [len(np.unique(column)) for column in side.T]
        present = np.repeat(~gone, sizes, axis=1)
        np.testing.assert_allclose(rows, by_definition(side, None) * present @ matrix, atol=1e-9)
    nothing = projection.project(Shard.of(leaves(1), FeatureColumns(np.full((1, 2), 99), np.full((1, 2), 99))))
    assert not nothing.y.any() and not nothing.z.any()
