"""Operators come back from arrays of files, rounded or not, and those whose leaf rules share vectors."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.files import CompactOperators, read, round_operators, write
from spectral_latent.operators import ObservableOperators, Tensor
from spectral_latent.trees import Rules
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

    def shares(factor: float) -> list[float]:
        return [float(np.float16(number / factor)) if factor else 0.0 for number in numbers]

    largest = max(map(abs, numbers))
    factor = rounded(largest, digits)
    # What is left out is the share of a factor of 24 digits, before the factor itself loses digits.
    pairs = zip(shares(rounded(largest, 24)), shares(factor), strict=True)
    return [0.0 if abs(whole) < least else rounded(share, of_share) * factor for whole, share in pairs]


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


# Leaf rules that share vectors

SHARED = [2, 1, 3]
factors = st.lists(st.sampled_from([0.0, 0.1, 0.25, 1.0, 3.0]), min_size=1, max_size=30)


def with_factors(given_factors: list[float], seed: int) -> ObservableOperators:
    """Operators with three vectors a symbol, which its leaf rules have with the given factors."""
    rng = np.random.default_rng(seed)
    n = len(given_factors)
    symbol = np.sort(rng.integers(len(SHARED), size=n))
    rules = Rules(np.stack([symbol, np.arange(n)], axis=1), np.empty((0, 2), int), np.empty((0, 3), int))
    is_state = np.arange(3) < np.array(SHARED)[:, None]
    vectors = rng.normal(size=(len(SHARED), 3, 3)) * is_state[:, None]
    leaf = vectors[symbol, rng.integers(3, size=n)] * np.array(given_factors)[:, None]
    return ObservableOperators(rules, np.array(SHARED), is_state / 6.0, leaf, np.empty((0, 3, 3)), [])


@given(factors, seeds, st.booleans())
def test_operators_come_back_bit_for_bit(given_factors: list[float], seed: int, is_rounded: bool) -> None:
    operators = with_factors(given_factors, seed)
    operators = round_operators(operators) if is_rounded else operators
    compact = CompactOperators.of(operators)
    again = compact.operators
    assert compact.rules.equals(operators.rules) and again.rules.equals(operators.rules)
    for name in ("states", "root", "leaf", "unary"):
        np.testing.assert_array_equal(getattr(again, name), getattr(operators, name))


@given(seeds)
def test_compact_operators_share_vectors_that_are_alike(seed: int) -> None:
    """Small noise goes, but for frequent words; the sums of states and of rules stay, but for the digits that go."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(3, size=100)
    directions = np.array([[0.7, 0.2, 0.1], [0.1, 0.7, 0.2], [0.2, 0.1, 0.7]])
    leaf = directions[kind] * rng.uniform(0.99, 1.01, (100, 3)) * rng.uniform(0.5, 2.0, (100, 1)) / 200
    leaf[:2] = [[0.3, 0.2, 0.1], [0.3, 0.2, 0.09]]
    rules = Rules(np.stack([np.zeros_like(kind), np.arange(100)], axis=1), np.empty((0, 2), int), np.empty((0, 3), int))
    states = np.array([3])
    operators = ObservableOperators(rules, states, np.full((1, 3), 1 / 3), leaf, np.empty((0, 3, 3)), [], True)
    found = CompactOperators.of(round_operators(operators, compact=True))
    assert found.vector[0] != found.vector[1]
    assert len(found.shares) == 2 + len(set(kind[2:]))
    for number in set(kind[2:]):
        assert len(set(found.vector[2:][kind[2:] == number])) == 1
    for axis, digits in ((0, 5), (1, 7)):
        np.testing.assert_allclose(found.operators.leaf.sum(axis=axis), leaf.sum(axis=axis), rtol=2.0**-digits)


@given(factors, seeds, st.data())
def test_leaves_are_multiples_of_the_same_rules(given_factors: list[float], seed: int, data: st.DataObject) -> None:
    operators = round_operators(with_factors(given_factors, seed))
    source = np.array(data.draw(st.lists(st.integers(0, len(given_factors) - 1), max_size=9)), dtype=np.int64)
    factor = np.linspace(0.3, 2.0, len(source))
    rules = np.stack([operators.rules.leaf[source, 0], np.arange(len(source))], axis=1)
    found = CompactOperators.of(operators).with_leaves(rules, source, factor)
    np.testing.assert_array_equal(found.leaf, operators.leaf[source] * factor[:, None])
    np.testing.assert_array_equal(found.leaf, operators.with_leaves(rules, source, factor).leaf)
    np.testing.assert_array_equal(found.rules.leaf, rules)
