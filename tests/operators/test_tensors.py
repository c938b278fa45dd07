"""Tensor algebra against einsum over all indices, and tensors packed in one array."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.estimation._estimators import low_rank_operators
from spectral_latent.operators import Tensor, Tensors, low_rank_tensor
from tests.oracles import all_rules, random_lpcfg

seeds = st.integers(0, 2**32 - 1)
shapes = st.tuples(*[st.integers(1, 6)] * 3)
terms = st.integers(0, 40)
CLOSE = {"rel": 1e-9, "abs": 1e-9}


def random_tensor(rng: np.random.Generator, shape: tuple[int, ...], n: int, dense: bool) -> tuple[Tensor, np.ndarray]:
    """A tensor, multiplied out or of n terms, and all its numbers."""
    if dense:
        full = rng.normal(size=shape)
        return Tensor.of_dense(full), full.copy()
    factors = [rng.normal(size=(n, m)) for m in shape]
    return Tensor(*factors), np.einsum("na,nb,nc->abc", *factors)


# One tensor


@given(seeds, shapes, terms, st.booleans())
def test_multiplied_out_is_the_sum_of_the_rank_one_terms(
    seed: int, shape: tuple[int, int, int], n: int, dense: bool
) -> None:
    tensor, full = random_tensor(np.random.default_rng(seed), shape, n, dense)
    assert tensor.shape == shape
    assert tensor.n_terms == (0 if dense else n)
    assert tensor.to_dense() == pytest.approx(full)
    assert tensor.sums() == pytest.approx(full.sum(axis=(1, 2)), **CLOSE)


@given(seeds, shapes, terms, st.booleans())
def test_compact_is_the_same_tensor_in_the_cheaper_form(
    seed: int, shape: tuple[int, int, int], n: int, dense: bool
) -> None:
    tensor, full = random_tensor(np.random.default_rng(seed), shape, n, dense)
    compact = tensor.compact()
    assert compact.to_dense() == pytest.approx(full)
    assert (compact.dense is None) != (compact.n_terms == 0)
    cheaper_as_factors = 0 < n * sum(shape) <= shape[0] * shape[1] * shape[2]
    assert (compact.dense is None) == (cheaper_as_factors and not dense)
    assert compact.compact() is compact


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
    assert seen.to_dense() == pytest.approx(expected, **CLOSE)
    assert seen.n_terms == tensor.n_terms  # what was kept as factors still is


@given(seeds, shapes, terms, terms, st.booleans(), st.booleans(), st.floats(-4, 4))
def test_tensors_are_a_vector_space(
    seed: int, shape: tuple[int, int, int], n: int, k: int, dense: bool, other_dense: bool, factor: float
) -> None:
    rng = np.random.default_rng(seed)
    one, full = random_tensor(rng, shape, n, dense)
    two, other_full = random_tensor(rng, shape, k, other_dense)
    total = one.scale(factor) + two
    assert total.to_dense() == pytest.approx(factor * full + other_full, **CLOSE)
    assert total.n_terms == (0 if dense or other_dense else n + k)
    assert one.to_dense() == pytest.approx(full)  # the operands are as they were
    assert two.to_dense() == pytest.approx(other_full)


@given(seeds, shapes, terms, st.booleans())
def test_filling_in_a_child_leaves_a_matrix(seed: int, shape: tuple[int, int, int], n: int, dense: bool) -> None:
    rng = np.random.default_rng(seed)
    tensor, full = random_tensor(rng, shape, n, dense)
    left = rng.normal(size=shape[1])
    right = rng.normal(size=shape[2])
    assert tensor.apply_left(left) == pytest.approx(np.einsum("abc,b->ac", full, left), **CLOSE)
    assert tensor.apply_right(right) == pytest.approx(np.einsum("abc,c->ab", full, right), **CLOSE)


# Many tensors


def random_tensors(rng: np.random.Generator, size: int) -> tuple[list[Tensor], list[np.ndarray]]:
    """Tensors of random shapes in both forms, and all their numbers."""
    drawn = [
        random_tensor(rng, tuple(rng.integers(1, 7, size=3)), int(rng.integers(6)), bool(rng.integers(2)))
        for _ in range(size)
    ]
    return [tensor for tensor, _ in drawn], [full for _, full in drawn]


@given(seeds, st.integers(0, 8))
def test_packing_loses_nothing(seed: int, size: int) -> None:
    given_tensors, full = random_tensors(np.random.default_rng(seed), size)
    packed = Tensors.of(given_tensors)
    assert len(packed) == len(list(packed)) == size
    for tensor, found, numbers in zip(given_tensors, packed, full, strict=True):
        assert found.shape == tensor.shape
        assert found.n_terms == tensor.compact().n_terms
        assert found.to_dense() == pytest.approx(numbers, abs=1e-12)
    again = Tensors.of(packed)
    for name in ("shapes", "terms", "data", "offset", "widths"):
        np.testing.assert_array_equal(getattr(again, name), getattr(packed, name))


@given(seeds, st.integers(1, 6))
def test_the_matrix_of_a_tensor_maps_its_pair_space_to_the_parent(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    packed = Tensors.of(random_tensors(rng, size)[0])
    for r, tensor in enumerate(packed):
        y, z = rng.normal(size=tensor.shape[1]), rng.normal(size=tensor.shape[2])
        pair = np.outer(y, z).ravel() if tensor.dense is not None else (tensor.second @ y) * (tensor.third @ z)
        assert len(pair) == packed.widths[r]
        expected = np.einsum("abc,b,c->a", tensor.to_dense(), y, z)
        assert list(packed.matrices())[r] @ pair == pytest.approx(expected, **CLOSE)


# Low-rank tensors, against closed forms and exact mixtures

larger_shapes = st.tuples(*[st.integers(3, 7)] * 3)  # a term is smaller than the tensor


def mixture(rng: np.random.Generator, shape: tuple[int, ...], n: int, peaked: float = 0.3) -> Tensor:
    """A sum of n terms of any mass, with peaked distributions."""
    first, second, third = (rng.dirichlet(np.full(m, peaked), size=n) for m in shape)
    return Tensor(first * rng.uniform(0.1, 1.0, size=(n, 1)), second, third)


@given(seeds, larger_shapes, st.integers(1, 5))
def test_rank_one_is_the_product_of_the_marginals(seed: int, shape: tuple[int, int, int], n: int) -> None:
    full = mixture(np.random.default_rng(seed), shape, n, peaked=1.0).to_dense()
    sums = [full.sum(axis=axes) for axes in ((1, 2), (0, 2), (0, 1))]
    near = low_rank_tensor(Tensor.of_dense(full), 1).to_dense()
    assert near == pytest.approx(np.einsum("i,j,k->ijk", *sums) / full.sum() ** 2)


@pytest.mark.parametrize("n", [1, 4])
def test_terms_with_no_index_in_common_are_found(n: int) -> None:
    rng = np.random.default_rng(n)
    first, second, third = (np.kron(np.eye(n), rng.uniform(0.2, 1.0, size=(1, m))) for m in (3, 4, 5))
    exact = Tensor(first, second, third).to_dense()
    near = low_rank_tensor(Tensor.of_dense(exact), n + 1)
    assert near.n_terms == n  # not one more than there are
    assert near.to_dense() == pytest.approx(exact, abs=1e-9)


@given(seeds, larger_shapes, st.integers(1, 8), st.integers(1, 4))
def test_sums_of_the_parents_states_stay(seed: int, shape: tuple[int, int, int], n: int, rank: int) -> None:
    full = mixture(np.random.default_rng(seed), shape, n, peaked=1.0).to_dense()
    near = low_rank_tensor(Tensor.of_dense(full), rank)
    assert near.sums() == pytest.approx(full.sum(axis=(1, 2)), rel=1e-9)
    assert near.n_terms <= rank or near.dense is not None
    assert min(factor.min(initial=0.0) for factor in (near.first, near.second, near.third)) >= 0.0


@given(seeds, st.integers(1, 3))
def test_rules_of_every_state_still_sum_to_one(seed: int, rank: int) -> None:
    model = random_lpcfg(np.random.default_rng(seed), [6, 5, 1], all_rules(3, 2, unary=[(0, 1)]))
    near = low_rank_operators(model.operators(), rank)
    assert near.sums() == pytest.approx((np.arange(6) < near.states[:, None]).astype(float))


def test_a_tensor_whose_terms_would_take_as_many_numbers_is_kept() -> None:
    tensor = Tensor.of_dense(np.random.default_rng(0).random((3, 3, 3)))
    assert low_rank_tensor(tensor, 3) is tensor  # 3 terms of 3 + 3 + 3 numbers
    assert low_rank_tensor(tensor, 2).n_terms == 2
