"""Tables of rules against dictionaries from rules to dense arrays."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from spectral_latent.inference import tree_weights
from spectral_latent.operators import Counts, ObservableOperators, Tensor
from spectral_latent.trees import Forest, SkeletalTrees
from tests.files.test_operators import STATES, random_model, seeds, treebanks
from tests.oracles import (
    Numbers,
    change_basis,
    columns,
    numbers_of,
    random_numbers,
    rules_of,
    same_numbers,
)


def random_table(trees: list[tuple], seed: int, *, positive: bool = False) -> Counts:
    """A table over the rules of trees; every second tensor is in factors where that is cheaper."""
    operators = random_numbers(np.random.default_rng(seed), STATES, rules_of(trees)).operators()
    table = Counts(operators.rules, operators.states, operators.root, operators.leaf, operators.unary, operators.binary)
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


@given(treebanks, seeds)
def test_packed_blocks_hold_the_arrays_that_the_table_describes(trees: list[tuple], seed: int) -> None:
    """(m_a, Q) first; of factors, (Q, m_b) and (Q, m_c) follow."""
    model = random_model(trees, seed)
    packed = model.operators().packed
    assert packed.offset[-1] == len(packed.data)
    for r, rule in enumerate(sorted(model.t)):
        m_a, m_b, m_c = (STATES[a] for a in rule)
        block = packed.data[packed.offset[r] : packed.offset[r + 1]]
        q = int(packed.terms[r])
        if q:
            matrix, second, third = np.split(block, [q * m_a, q * (m_a + m_b)])
            found = np.einsum("aq,qb,qc->abc", matrix.reshape(m_a, q), second.reshape(q, m_b), third.reshape(q, m_c))
        else:
            found = block.reshape(m_a, m_b, m_c)
        assert found == pytest.approx(model.t[rule], rel=1e-12, abs=1e-12)


@given(treebanks, seeds)
def test_other_leaf_rules_leave_all_else_as_it_is(trees: list[tuple], seed: int) -> None:
    """The tensors are not packed again."""
    operators = random_model(trees, seed).operators()
    rules, leaf = np.array([[0, 7], [2, 9]]), np.random.default_rng(seed).normal(size=(2, max(STATES)))
    changed = operators.with_leaf_rules(rules, leaf)
    assert changed.binary is operators.binary
    for name, array in changed.packed._asdict().items():
        np.testing.assert_array_equal(array, leaf if name == "leaf" else getattr(operators.packed, name))
    np.testing.assert_array_equal(changed.rules.leaf, rules)
    assert operators.rules.leaf is not changed.rules.leaf and len(operators.leaf) == len(operators.rules.leaf)


def test_what_compiled_code_trusts_cannot_be_written_to() -> None:
    tree = SkeletalTrees.of([0, 0, 0], left=[-1, -1, 0], right=[-1, -1, 1], terminal=[0, 1, -1], root=[2])
    states = np.array([1])
    dense = Tensor.of_dense(np.ones((1, 1, 1)))
    given = ObservableOperators(tree.rules, states, np.ones((1, 1)), np.ones((2, 1)), np.empty((0, 1, 1)), [dense])
    changed = (change_basis(given, [np.eye(1)]), replace(given, leaf=given.leaf))
    for operators in (given, *changed, given.with_leaf_rules(tree.rules.leaf, given.leaf)):
        rules, binary = operators.rules, operators.binary
        columns = (operators.states, rules.leaf, rules.unary, rules.binary, binary.shapes, binary.terms, binary.offset)
        for column in (*columns, *operators.packed[:-1]):  # the last is no column
            with pytest.raises(ValueError, match="read-only"):
                column[...] = 7
    states[0] = 1  # those of the caller stay as they were


@given(treebanks, seeds)
def test_trees_have_the_same_weight_under_their_own_rules(trees: list[tuple], seed: int) -> None:
    """Symbols and terminals are numbered anew, in the opposite order."""
    operators = random_model(trees, seed).operators()
    part = columns(trees[:1])
    symbols = np.unique(part.symbol)[::-1].astype(np.int64)
    terminals = np.unique(part.terminal[part.is_leaf])[::-1].astype(np.int64)
    symbol_of = {number: at for at, number in enumerate(symbols.tolist())}
    terminal_of = {number: at for at, number in enumerate(terminals.tolist())} | {-1: -1}
    renumbered = replace(
        part,
        symbol=np.array([symbol_of[number] for number in part.symbol.tolist()]),
        terminal=np.array([terminal_of[number] for number in part.terminal.tolist()]),
    )
    sigma = np.arange(5.0 * len(operators.states)).reshape(-1, 5)
    few = replace(operators, singular_values=sigma).restrict(renumbered.rules, symbols, terminals)
    np.testing.assert_array_equal(few.singular_values, sigma[symbols])
    found = tree_weights(few, Forest.of_trees(renumbered, few.rules))
    expected = tree_weights(operators, Forest.of_trees(part, operators.rules))
    assert found.log == pytest.approx(expected.log)
    assert found.sign == expected.sign
    with pytest.raises(ValueError, match="lacks"):
        operators.restrict(renumbered.rules, symbols, terminals + 100)
