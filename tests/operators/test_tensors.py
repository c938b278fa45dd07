"""Tensor algebra against einsum over all indices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.operators import Tensor

seeds = st.integers(0, 2**32 - 1)
shapes = st.tuples(*[st.integers(1, 6)] * 3)
terms = st.integers(0, 40)


def random_tensor(rng: np.random.Generator, shape: tuple[int, ...], n: int, dense: bool) -> tuple[Tensor, np.ndarray]:
    """A tensor and its dense form."""
    factors = [rng.normal(size=(n, m)) for m in shape]
    rest = rng.normal(size=shape) if dense else None
    full = np.einsum("na,nb,nc->abc", *factors) + (0.0 if rest is None else rest)
    return Tensor(factors[0], factors[1], factors[2], rest), full


@given(seeds, shapes, terms, st.booleans())
def test_multiplied_out_is_the_sum_of_the_rank_one_terms_and_the_rest(
    seed: int, shape: tuple[int, int, int], n: int, dense: bool
) -> None:
    tensor, full = random_tensor(np.random.default_rng(seed), shape, n, dense)
    assert tensor.shape == shape
    assert tensor.n_terms == n
    assert tensor.multiplied_out() == pytest.approx(full)


@given(seeds, shapes, terms, st.booleans())
def test_compact_is_the_same_tensor_in_one_of_its_two_forms(
    seed: int, shape: tuple[int, int, int], n: int, dense: bool
) -> None:
    tensor, full = random_tensor(np.random.default_rng(seed), shape, n, dense)
    compact = tensor.compact()
    assert compact.multiplied_out() == pytest.approx(full)
    assert (compact.dense is None) != (compact.n_terms == 0)
    cheaper_as_factors = 0 < n * sum(shape) <= shape[0] * shape[1] * shape[2]
    assert (compact.dense is None) == (cheaper_as_factors and not dense)
    assert compact.compact().n_terms == compact.n_terms


@given(seeds, shapes, shapes, terms, st.booleans())
def test_transform_maps_each_leg(
    seed: int, shape: tuple[int, int, int], onto: tuple[int, int, int], n: int, dense: bool
) -> None:
    rng = np.random.default_rng(seed)
    tensor, full = random_tensor(rng, shape, n, dense)
    a, b, c = (rng.normal(size=(to, m)) for to, m in zip(onto, shape, strict=True))
    expected = np.einsum("pa,qb,rc,abc->pqr", a, b, c, full)
    seen = tensor.transform((a, b, c))
    assert seen.shape == onto
    assert seen.multiplied_out() == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert seen.n_terms == n  # what was kept as factors still is


@given(seeds, shapes, terms, terms, st.booleans(), st.booleans(), st.floats(-4, 4))
def test_tensors_are_a_vector_space(
    seed: int, shape: tuple[int, int, int], n: int, k: int, dense: bool, other_dense: bool, factor: float
) -> None:
    rng = np.random.default_rng(seed)
    one, full = random_tensor(rng, shape, n, dense)
    two, other_full = random_tensor(rng, shape, k, other_dense)
    before = one.multiplied_out(), two.multiplied_out()
    total = one.scale(factor) + two
    assert total.multiplied_out() == pytest.approx(factor * full + other_full, rel=1e-9, abs=1e-9)
    assert (one.multiplied_out() == before[0]).all()  # the operands are as they were
    assert (two.multiplied_out() == before[1]).all()


def test_a_tensor_of_many_terms_is_multiplied_out_in_blocks() -> None:
    rng = np.random.default_rng(0)
    tensor, full = random_tensor(rng, (3, 2, 4), 4096 * 2 + 17, False)
    assert tensor.multiplied_out() == pytest.approx(full, rel=1e-9)


def test_the_dense_form_is_not_shared_with_its_source() -> None:
    tensor = Tensor.of_dense(np.ones((2, 2, 2)))
    tensor.multiplied_out()[:] = 0.0
    assert (tensor.multiplied_out() == 1.0).all()


def test_no_terms_are_zero() -> None:
    empty = Tensor(np.empty((0, 2)), np.empty((0, 3)), np.empty((0, 1)))
    assert (empty.multiplied_out() == np.zeros((2, 3, 1))).all()
    compact = empty.compact()
    assert compact.dense is not None
    assert (compact.dense == 0).all()


# ---------------------------------------------------------------------------------------------------------------------
# One leg filled in, and expected counts


@given(seeds, shapes, terms, st.booleans())
def test_filling_in_a_child_leaves_a_matrix(seed: int, shape: tuple[int, int, int], n: int, dense: bool) -> None:
    rng = np.random.default_rng(seed)
    tensor, full = random_tensor(rng, shape, n, dense)
    left, right, weights = (rng.normal(size=m) for m in (shape[1], shape[2], shape[0]))
    close = {"rel": 1e-9, "abs": 1e-9}
    assert tensor.applied_left(left) == pytest.approx(np.einsum("abc,b->ac", full, left), **close)
    assert tensor.applied_right(right) == pytest.approx(np.einsum("abc,c->ab", full, right), **close)
    assert tensor.sums() == pytest.approx(full.sum(axis=(1, 2)), **close)
    weighted = tensor.weighted(weights)
    assert weighted.multiplied_out() == pytest.approx(full * weights[:, None, None], **close)
    assert weighted.n_terms == n


@given(seeds, shapes, st.integers(1, 6), st.integers(0, 12))
def test_expected_counts_of_a_dense_tensor_are_entry_by_entry(
    seed: int, shape: tuple[int, int, int], n: int, rows: int
) -> None:
    rng = np.random.default_rng(seed)
    tensor, full = random_tensor(rng, shape, n, True)
    outer, left, right = (rng.normal(size=(rows, m)) for m in shape)
    found = tensor.expected_counts(outer, left, right).multiplied_out()
    assert found == pytest.approx(full * np.einsum("na,nb,nc->abc", outer, left, right), rel=1e-9, abs=1e-9)


@given(seeds, shapes, st.integers(1, 6), st.integers(1, 12))
def test_expected_counts_in_factors_count_every_component(
    seed: int, shape: tuple[int, int, int], n: int, rows: int
) -> None:
    """With q the component: first holds the counts of (i, q), and second and third the shares of j and k given q.

    The totals of each leg, and of every component, are those of the dense counts Σ_n outer left right p(j, k, q | i).
    """
    rng = np.random.default_rng(seed)
    first, second, third = (rng.exponential(size=(n, m)) for m in shape)
    second, third = (part / part.sum(axis=1, keepdims=True) for part in (second, third))
    outer, left, right = (rng.exponential(size=(rows, m)) for m in shape)
    counts = np.einsum("qi,qj,qk,ni,nj,nk->qijk", first, second, third, outer, left, right)
    found = Tensor(first, second, third).expected_counts(outer, left, right)
    assert found.n_terms == n and found.dense is None
    assert found.first == pytest.approx(counts.sum(axis=(2, 3)), rel=1e-9)
    assert found.second == pytest.approx(counts.sum(axis=(1, 3)) / counts.sum(axis=(1, 2, 3))[:, None], rel=1e-9)
    assert found.third == pytest.approx(counts.sum(axis=(1, 2)) / counts.sum(axis=(1, 2, 3))[:, None], rel=1e-9)
    assert found.sums() == pytest.approx(counts.sum(axis=(0, 2, 3)), rel=1e-9)


def test_expected_counts_of_what_never_happens_are_zero() -> None:
    tensor = Tensor(np.eye(2), np.eye(2), np.eye(2))
    nothing = np.array([[1.0, 0.0]])
    found = tensor.expected_counts(nothing, np.ones((1, 2)), np.ones((1, 2)))
    assert found.sums().tolist() == [1.0, 0.0]
    assert np.isfinite(found.multiplied_out()).all()
