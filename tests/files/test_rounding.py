"""Operators come back from arrays of files, rounded or not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.files import read, round_operators, write
from spectral_latent.operators import ObservableOperators, Tensor
from tests.oracles import Lpcfg, random_numbers, rules_of, tree_strategy

seeds = st.integers(0, 2**32 - 1)
treebanks = st.lists(tree_strategy(max_leaves=8), min_size=1, max_size=5)
STATES = [4, 1, 5]


def random_model(trees: list[tuple], seed: int) -> Lpcfg:
    return random_numbers(np.random.default_rng(seed), STATES, rules_of(trees))


@given(treebanks, seeds, st.booleans())
def test_arrays_of_files_lose_nothing(trees: list[tuple], seed: int, is_rounded: bool) -> None:
    """Rounded factors of 11 binary digits change a number by a share of the sum of the absolute products in it."""
    model = random_model(trees, seed)
    exact = model.operators()
    operators = round_operators(exact) if is_rounded else exact
    packed = operators.packed
    again = read(ObservableOperators, *write(operators))
    assert again.n_symbols == len(STATES)
    assert again.rules.equals(operators.rules)
    for name in ("states", "root", "leaf", "unary"):
        assert (getattr(again, name) == getattr(operators, name)).all()
    for tensor, unrounded, rule in zip(again.binary, exact.binary, sorted(model.t), strict=True):
        parts = (unrounded.first, unrounded.second, unrounded.third)
        dense = None if unrounded.dense is None else np.abs(unrounded.dense)
        products = Tensor(*map(np.abs, parts), dense).to_dense()
        bound = (2**-9 if is_rounded else 1e-12) * (products + 1e-3 * products.max(initial=0))
        assert (np.abs(tensor.to_dense() - model.t[rule]) <= bound).all()
    for name, array in again.packed._asdict().items():
        assert np.asarray(array).tobytes() == np.asarray(getattr(packed, name)).tobytes(), name


@pytest.mark.parametrize(("compact", "rtol", "atol"), [(False, 2**-11, 1e-7), (True, 2**-5, 2**-10)])
@given(treebanks, seeds)
def test_rounding_keeps_some_digits_and_is_done_once(
    compact: bool, rtol: float, atol: float, trees: list[tuple], seed: int
) -> None:
    operators = random_model(trees, seed).operators()
    rounded = round_operators(operators, compact)
    largest = np.abs(operators.leaf).max(initial=0)
    np.testing.assert_allclose(rounded.leaf, operators.leaf, rtol=rtol, atol=1e-7 * largest)
    largest = np.abs(operators.binary.data).max(initial=0)
    np.testing.assert_allclose(rounded.binary.data, operators.binary.data, rtol=rtol, atol=atol * largest)
    again = round_operators(rounded, compact)
    assert again.leaf.tobytes() == rounded.leaf.tobytes()
    assert again.binary.data.tobytes() == rounded.binary.data.tobytes()
    for name in ("root", "unary"):
        single = getattr(operators, name).astype(np.float32)
        np.testing.assert_array_equal(getattr(rounded, name), single)
        np.testing.assert_array_equal(getattr(again, name), single)
    for array, kind in (
        (write(rounded)[0]["leaf_share"], np.float16),
        (write(rounded)[0]["data_factor"], np.float32),
    ):
        assert (array.astype(kind) == array).all()


@pytest.mark.parametrize("shape", [(2, 7), (3,)])
def test_singular_values_that_do_not_fit_the_symbols_are_refused(shape: tuple[int, ...]) -> None:
    operators = random_model([(0, (1, 0), (2, 0))], 0).operators()
    arrays, settings = write(operators)
    with pytest.raises(ValueError, match="singular"):
        read(ObservableOperators, arrays | {"singular_values": np.ones(shape)}, settings)
