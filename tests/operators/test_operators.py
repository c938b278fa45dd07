"""Packed operators, changes of basis and choices of rules against dense arrays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.inference import tree_weights
from spectral_latent.operators import ExpectedCounts, ObservableOperators, Tensor
from spectral_latent.trees import Forest, Rules, SkeletalTrees
from tests.oracles import Lpcfg, change_basis, columns, random_numbers, rules_of, tree_strategy

seeds = st.integers(0, 2**32 - 1)
treebanks = st.lists(tree_strategy(max_leaves=8), min_size=1, max_size=5)
STATES = [4, 1, 5]


def random_model(trees: list[tuple], seed: int) -> Lpcfg:
    return random_numbers(np.random.default_rng(seed), STATES, rules_of(trees))


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


def test_a_singular_basis_is_an_error() -> None:
    operators = random_model([(0, (1, 0), (2, 0))], 0).operators()
    with pytest.raises(np.linalg.LinAlgError):
        change_basis(operators, [np.zeros((m, m)) for m in STATES])


def test_a_model_without_rules_packs() -> None:
    rules = Rules(np.empty((0, 2), int), np.empty((0, 2), int), np.empty((0, 3), int))
    operators = ObservableOperators(rules, np.array([1]), np.ones((1, 1)), np.empty((0, 1)), np.empty((0, 1, 1)), [])
    assert (operators.packed.offset.tolist(), len(operators.packed.data)) == ([0], 0)


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


@pytest.mark.parametrize(
    ("rules", "leaf"),
    [
        ([[1, 0]], np.ones((1, 1))),
        ([[0, 0, 0]], np.ones((1, 1))),
        ([[0.0, 0.0]], np.ones((1, 1))),
        ([[0, 0]], np.ones((2, 1))),
        ([[0, 0]], np.ones((1, 1), dtype=np.float32)),
    ],
)
def test_other_leaf_rules_that_do_not_fit_are_refused(rules: list[list[int]], leaf: np.ndarray) -> None:
    own = Rules(np.array([[0, 0]]), np.empty((0, 2), int), np.empty((0, 3), int))
    operators = ObservableOperators(own, np.array([1]), np.ones((1, 1)), np.ones((1, 1)), np.empty((0, 1, 1)), [])
    with pytest.raises(ValueError, match="leaf rules"):
        operators.with_leaf_rules(np.array(rules), leaf)


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


@given(treebanks, seeds, st.sampled_from([(2, 5), (3, 4), (3,), ()]))
def test_singular_values_of_another_shape_are_refused(trees: list[tuple], seed: int, shape: tuple[int, ...]) -> None:
    operators = random_model(trees, seed).operators()
    assert replace(operators, singular_values=np.ones((3, 5))).singular_values is not None
    with pytest.raises(ValueError, match=r"singular values have shape .*, and must have \(3, 5 or more\)"):
        replace(operators, singular_values=np.ones(shape))


@given(treebanks, seeds, st.floats(0.5, 3.0))
def test_expected_counts_add_up_and_terms_that_no_tree_uses_count_nothing(
    trees: list[tuple], seed: int, factor: float
) -> None:
    operators = random_model(trees, seed).operators()
    parts = (operators.root, operators.leaf, operators.unary)
    one = ExpectedCounts(
        operators.rules,
        operators.states,
        *map(np.abs, parts),
        operators.binary.with_data(np.abs(operators.binary.data)),
        2.0,
    )
    other = replace(
        one,
        root=factor * one.root,
        leaf=factor * one.leaf,
        unary=factor * one.unary,
        binary=one.binary.with_data(factor * one.binary.data),
        log_likelihood=3.0,
    )
    both = one + other
    assert both.log_likelihood == 5.0
    for found, part in (
        (both.root, one.root),
        (both.leaf, one.leaf),
        (both.unary, one.unary),
        (both.binary.data, one.binary.data),
    ):
        np.testing.assert_allclose(found, (1.0 + factor) * part)
    nothing = replace(one, binary=one.binary.with_data(0.0 * one.binary.data)).counts()
    for tensor, counted, zero in zip(one.binary, one.counts().binary, nothing.binary, strict=True):
        assert not zero.to_dense().any()
        if tensor.n_terms:
            np.testing.assert_allclose(counted.second.sum(axis=1), 1.0)
            np.testing.assert_allclose(counted.to_dense().sum(axis=(1, 2)), tensor.first.sum(axis=0))
