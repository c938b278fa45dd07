"""Operators whose leaf rules share vectors, compared with the operators that they were made of."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.files import CompactOperators, round_operators
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import Rules

STATES = [2, 1, 3]
factors = st.lists(st.sampled_from([0.0, 0.1, 0.25, 1.0, 3.0]), min_size=1, max_size=30)
seeds = st.integers(0, 2**32 - 1)


def with_factors(given_factors: list[float], seed: int) -> ObservableOperators:
    """Operators with three vectors a symbol, which its leaf rules have with the given factors."""
    rng = np.random.default_rng(seed)
    n = len(given_factors)
    symbol = np.sort(rng.integers(len(STATES), size=n))
    rules = Rules(np.stack([symbol, np.arange(n)], axis=1), np.empty((0, 2), int), np.empty((0, 3), int))
    is_state = np.arange(3) < np.array(STATES)[:, None]
    vectors = rng.normal(size=(len(STATES), 3, 3)) * is_state[:, None]
    leaf = vectors[symbol, rng.integers(3, size=n)] * np.array(given_factors)[:, None]
    return ObservableOperators(rules, np.array(STATES), is_state / 6.0, leaf, np.empty((0, 3, 3)), [])


@given(factors, seeds, st.booleans())
def test_operators_come_back_bit_for_bit(given_factors: list[float], seed: int, is_rounded: bool) -> None:
    operators = with_factors(given_factors, seed)
    operators = round_operators(operators) if is_rounded else operators
    compact = CompactOperators.of(operators)
    again = compact.operators
    assert compact.rules.equals(operators.rules) and again.rules.equals(operators.rules)
    for name in ("states", "root", "leaf", "unary"):
        np.testing.assert_array_equal(getattr(again, name), getattr(operators, name))


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
