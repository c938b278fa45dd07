"""Low-rank tensors against closed forms, exact mixtures, and a plain mixture fitted by itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.estimation._estimators import low_rank_operators
from spectral_latent.operators import ObservableOperators, Tensor, low_rank_tensor
from tests.oracles import all_rules, random_lpcfg

seeds = st.integers(0, 2**32 - 1)
shapes = st.tuples(*[st.integers(3, 7)] * 3)  # a term is smaller than the tensor


def divergence(full: np.ndarray, near: np.ndarray) -> float:
    """D: what the terms are to make small."""
    some = full > 0
    return float((full[some] * np.log(full[some] / near[some])).sum() - full.sum() + near.sum())


def mixture(rng: np.random.Generator, shape: tuple[int, ...], n: int, peaked: float = 0.3) -> Tensor:
    """A sum of n terms of any mass, with peaked distributions."""
    first, second, third = (rng.dirichlet(np.full(m, peaked), size=n) for m in shape)
    return Tensor(first * rng.uniform(0.1, 1.0, size=(n, 1)), second, third)


def low_rank(full: np.ndarray, rank: int) -> np.ndarray:
    return low_rank_tensor(Tensor.of_dense(full), rank).to_dense()


# ---------------------------------------------------------------------------------------------------------------------
# What is exact


@given(seeds, shapes, st.integers(1, 5))
def test_rank_one_is_the_product_of_the_marginals(seed: int, shape: tuple[int, int, int], n: int) -> None:
    full = mixture(np.random.default_rng(seed), shape, n, peaked=1.0).to_dense()
    sums = [full.sum(axis=axes) for axes in ((1, 2), (0, 2), (0, 1))]
    assert low_rank(full, 1) == pytest.approx(np.einsum("i,j,k->ijk", *sums) / full.sum() ** 2)


@pytest.mark.parametrize("n", [1, 4])
def test_terms_with_no_index_in_common_are_found(n: int) -> None:
    rng = np.random.default_rng(n)
    first, second, third = (np.kron(np.eye(n), rng.uniform(0.2, 1.0, size=(1, m))) for m in (3, 4, 5))
    exact = Tensor(first, second, third).to_dense()
    near = low_rank_tensor(Tensor.of_dense(exact), n + 1)
    assert near.n_terms == n  # not one more than there are
    assert near.to_dense() == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("n", [2, 3])
def test_mixtures_of_peaked_distributions_are_all_but_found(n: int) -> None:
    exact = mixture(np.random.default_rng(n), (12, 12, 12), n).to_dense()
    assert divergence(exact, low_rank(exact, n)) < 0.01 * divergence(exact, low_rank(exact, 1))


@given(seeds, shapes, st.integers(1, 8), st.integers(1, 4))
def test_sums_of_the_parents_states_stay(seed: int, shape: tuple[int, int, int], n: int, rank: int) -> None:
    full = mixture(np.random.default_rng(seed), shape, n, peaked=1.0).to_dense()
    near = low_rank_tensor(Tensor.of_dense(full), rank)
    assert near.sums() == pytest.approx(full.sum(axis=(1, 2)), rel=1e-9)
    assert near.n_terms <= rank or near.dense is not None
    assert min(factor.min(initial=0.0) for factor in (near.first, near.second, near.third)) >= 0.0


# ---------------------------------------------------------------------------------------------------------------------
# How close it is


# ---------------------------------------------------------------------------------------------------------------------
# What stays as it is, and what is refused


def test_what_would_not_be_smaller_stays() -> None:
    tensor = Tensor.of_dense(np.ones((4, 4, 4)))
    assert low_rank_tensor(tensor, 6) is tensor  # 6 · 12 numbers instead of 64
    assert low_rank_tensor(tensor, 5).n_terms == 1


def test_negative_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="negative numbers"):
        low_rank_tensor(Tensor.of_dense(-np.ones((4, 4, 4))), 1)


# ---------------------------------------------------------------------------------------------------------------------
# Operators


def grammar(seed: int) -> ObservableOperators:
    return random_lpcfg(np.random.default_rng(seed), [6, 5, 1], all_rules(3, 2, unary=[(0, 1)])).operators()


@given(seeds, st.integers(1, 3))
def test_rules_of_every_state_still_sum_to_one(seed: int, rank: int) -> None:
    near = low_rank_operators(grammar(seed), rank)
    assert near.sums() == pytest.approx((np.arange(6) < near.states[:, None]).astype(float))
