"""Operators come back from arrays of files, rounded or not."""

from __future__ import annotations

import math
from dataclasses import replace

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


def by_hand(numbers: list[float], digits: int, of_share: int, least: float) -> list[float]:
    """Round the numbers of one group to the products of a factor and of shares of two bytes."""

    def rounded(number: float, digits: int) -> float:
        mantissa, exponent = math.frexp(number)
        return math.ldexp(round(math.ldexp(mantissa, digits)), exponent - digits)

    factor = rounded(max(map(abs, numbers)), digits)
    shares = [float(np.float16(number / factor)) if factor else 0.0 for number in numbers]
    return [0.0 if abs(share) < least else rounded(share, of_share) * factor for share in shares]


@pytest.mark.parametrize(("compact", "digits", "of_share", "least"), [(False, 24, 11, 0.0), (True, 7, 6, 2**-10)])
@given(treebanks, seeds)
def test_numbers_are_rounded_group_by_group(
    compact: bool, digits: int, of_share: int, least: float, trees: list[tuple], seed: int
) -> None:
    operators = random_model(trees, seed).operators()
    operators = replace(operators, binary=operators.binary.with_data(operators.binary.data**5))  # of many sizes
    found = round_operators(operators, compact)
    for (symbol, _), row, other in zip(operators.rules.leaf, operators.leaf, found.leaf, strict=True):
        m = operators.states[symbol]
        assert other[:m].tolist() == by_hand(row[:m].tolist(), digits, of_share, 0.0)
    at = 0
    for size in operators.binary.parts.tolist():
        expected = by_hand(operators.binary.data[at : at + size].tolist(), digits, of_share, least)
        assert found.binary.data[at : at + size].tolist() == expected
        at += size
    again = round_operators(found, compact)
    assert again.leaf.tobytes() == found.leaf.tobytes() and again.binary.data.tobytes() == found.binary.data.tobytes()
    for name in ("root", "unary"):
        np.testing.assert_array_equal(getattr(found, name), getattr(operators, name).astype(np.float32))
    shares, factors = (write(found)[0][name] for name in ("leaf_share", "data_factor"))
    assert (shares.astype(np.float16) == shares).all() and (factors.astype(np.float32) == factors).all()
