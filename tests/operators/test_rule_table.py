"""Tables of rules against dictionaries from rules to dense arrays."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.operators import Counts, ExpectedCounts, ObservableOperators
from tests.oracles import Numbers, numbers_of, random_numbers, rules_of, same_numbers, tree_strategy

seeds = st.integers(0, 2**32 - 1)
treebanks = st.lists(tree_strategy(max_leaves=8), min_size=1, max_size=5)
STATES = [4, 1, 5]
Table = TypeVar("Table", Counts, ExpectedCounts)


def random_table(trees: list[tuple], seed: int, kind: type[Table] = Counts, *, positive: bool = False) -> Table:
    """A table over the rules of trees; every second tensor is in factors where that is cheaper."""
    operators = random_numbers(np.random.default_rng(seed), STATES, rules_of(trees)).operators()
    table = kind(operators.rules, operators.states, operators.root, operators.leaf, operators.unary, operators.binary)
    if not positive:
        return table
    binary = table.binary.with_data(np.abs(table.binary.data))
    return replace(table, root=np.abs(table.root), leaf=np.abs(table.leaf), unary=np.abs(table.unary), binary=binary)


def sums_of(numbers: Numbers) -> np.ndarray:
    """What the rules of each symbol and state sum to, (S, M), rule by rule."""
    total = np.zeros((3, 5))
    for (kind, rule), array in numbers.items():
        if kind != "root":
            total[rule[0], : len(array)] += array.reshape(len(array), -1).sum(axis=1)
    return total


@given(treebanks, seeds)
def test_sums_are_over_rules_and_states_of_children(trees: list[tuple], seed: int) -> None:
    table = random_table(trees, seed)
    np.testing.assert_allclose(table.sums(), sums_of(numbers_of(table)), atol=1e-12)


@given(treebanks, seeds)
def test_scaling_multiplies_every_rule_by_the_factor_of_its_parents_state(trees: list[tuple], seed: int) -> None:
    table = random_table(trees, seed)
    before = numbers_of(table)
    factors = np.random.default_rng(seed).normal(size=(3, 5))
    expected = {
        (kind, rule): array
        if kind == "root"
        else array * factors[rule[0], : len(array)].reshape(-1, *([1] * (array.ndim - 1)))
        for (kind, rule), array in before.items()
    }
    scaled = table.scale(factors)
    same_numbers(numbers_of(scaled), expected, atol=1e-12)
    assert scaled.binary.terms.tolist() == table.binary.terms.tolist()
    same_numbers(numbers_of(table), before)


@given(treebanks, seeds)
def test_normalised_numbers_are_probabilities_in_the_same_proportions(trees: list[tuple], seed: int) -> None:
    table = random_table(trees, seed, positive=True)
    before = numbers_of(table)
    total = sums_of(before)
    found = numbers_of(ObservableOperators.probabilities_of(table))
    for (kind, rule), array in before.items():
        whole = table.root.sum() if kind == "root" else total[rule[0], : len(array)]
        shape = np.shape(whole) + (1,) * (array.ndim - np.ndim(whole))
        expected = np.divide(array, np.reshape(whole, shape), out=np.zeros_like(array), where=array > 0)
        np.testing.assert_allclose(found[kind, rule], expected, atol=1e-12)
    sums = sums_of(found)
    assert sums == pytest.approx((total > 0).astype(float))  # a symbol without rules has no probabilities
    assert sum(array.sum() for (kind, _), array in found.items() if kind == "root") == pytest.approx(1.0)


# ---------------------------------------------------------------------------------------------------------------------
# Sums of tables


@given(treebanks, treebanks, seeds)
def test_sums_of_tables_have_the_rules_of_both(some: list[tuple], others: list[tuple], seed: int) -> None:
    ours, theirs = random_table(some, seed), random_table(others, seed + 1)
    first, second = numbers_of(ours), numbers_of(theirs)
    expected = {
        key: np.sum([table[key] for table in (first, second) if key in table], axis=0) for key in first | second
    }
    total = ours + theirs
    same_numbers(numbers_of(total), expected, atol=1e-12)
    for kind in ("leaf", "unary", "binary"):
        rows = getattr(total.rules, kind).tolist()
        assert rows == sorted(rows)
    for tensor in total.binary:
        assert tensor.n_terms == tensor.compact().n_terms
    same_numbers(numbers_of(ours), first)
    same_numbers(numbers_of(theirs), second)


@pytest.mark.parametrize("states", [[4, 2, 5], [4, 1, 3], [4, 1, 6]])
def test_tables_of_other_states_cannot_be_added(states: list[int]) -> None:
    trees = [(0, (1, 0), (2, 0))]
    table = random_table(trees, 0)
    numbers = random_numbers(np.random.default_rng(0), states, rules_of(trees)).operators()
    other = Counts(numbers.rules, numbers.states, numbers.root, numbers.leaf, numbers.unary, numbers.binary)
    for one, two in ((table, other), (other, table)):
        with pytest.raises(ValueError, match=r"states cannot be added"):
            one + two


def test_sums_with_a_table_of_fewer_symbols() -> None:
    """States of the symbols of both tables must agree; those of further symbols are free."""
    one, both = random_table([(0, 0)], 0), random_table([(0, (1, 0), (2, 0))], 1)
    first = replace(one, states=one.states[:1], root=one.root[:1])
    root = np.where(np.arange(len(one.root))[:, None] < 1, one.root, 0.0)
    expected = numbers_of(replace(one, root=root) + both)
    for total in (first + both, both + first):
        same_numbers(numbers_of(total), expected, atol=1e-12)


@given(treebanks, seeds)
def test_expected_counts_keep_their_numbers_when_factors_are_normalised(trees: list[tuple], seed: int) -> None:
    expected = random_table(trees, seed, ExpectedCounts, positive=True)
    terms = [tensor for tensor in expected.binary if tensor.dense is None]
    for before, after in zip(expected.binary, expected.counts().binary, strict=True):
        if before.dense is None:
            np.testing.assert_allclose(after.second.sum(axis=1), 1.0)
            np.testing.assert_allclose(after.third.sum(axis=1), 1.0)
            shares = before.second / before.second.sum(axis=1, keepdims=True)
            np.testing.assert_allclose(after.second, shares)
            np.testing.assert_allclose(after.first, before.first)
    assert len(terms) == sum(tensor.dense is None for tensor in expected.counts().binary)
