"""Vocabularies against dictionaries, forests of trees against their nodes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.trees import Forest, Rules, Vocabulary
from spectral_latent.trees.forest import ForestBuilder
from tests.oracles import columns, tree_strategy

names = st.lists(st.one_of(st.text(max_size=2), st.integers(0, 3), st.tuples(st.text(max_size=1))))


@given(names, names)
def test_a_vocabulary_numbers_names_in_the_order_of_their_coming(first: list, later: list) -> None:
    vocabulary: Vocabulary = Vocabulary(first)
    assert [vocabulary.add(name) for name in later] == [vocabulary[name] for name in later]
    order = list(dict.fromkeys([*first, *later]))
    assert vocabulary.names == list(vocabulary) == order
    assert len(vocabulary) == len(order)
    for number, name in enumerate(order):
        assert vocabulary[name] == vocabulary.get(name) == number
        assert name in vocabulary


def test_a_name_never_entered_is_minus_one_or_an_error() -> None:
    vocabulary = Vocabulary(["a"])
    assert vocabulary.get("b") == -1
    assert "b" not in vocabulary
    with pytest.raises(KeyError):
        vocabulary["b"]
    assert len(vocabulary) == 1


def test_rows_are_told_apart_where_even_ranks_are_too_many_for_64_bits() -> None:
    n = 70_000  # n⁴ > 2⁶³
    rng = np.random.default_rng(0)
    rows = np.stack([rng.permutation(n) for _ in range(4)], axis=1) * 10**9
    distinct, which = Rules.distinct(rows)
    assert distinct.tolist() == sorted(rows.tolist())
    np.testing.assert_array_equal(distinct[which], rows)
    np.testing.assert_array_equal(Rules.find(distinct, rows[:10]), which[:10])


treebanks = st.lists(tree_strategy(max_leaves=6), min_size=1, max_size=4)


@given(treebanks, treebanks)
def test_a_tree_is_a_forest_with_one_edge_per_node(trees: list[tuple], others: list[tuple]) -> None:
    skeletal = columns(trees)
    for rules in (skeletal.rules, columns(others).rules):
        forest = Forest.of_trees(skeletal, rules)
        assert forest.n_items == forest.n_edges == skeletal.n_nodes
        assert forest.n_components == len(trees)
        assert forest.start.tolist() == list(range(skeletal.n_nodes + 1))
        assert forest.symbol.tolist() == skeletal.symbol.tolist()
        assert forest.rule.tolist() == skeletal.rule_in(rules).tolist()
        assert forest.left.tolist() == skeletal.left.tolist()
        assert forest.right.tolist() == skeletal.right.tolist()
        assert forest.root.tolist() == skeletal.root.tolist()
        assert forest.component.tolist() == list(range(len(trees)))


def test_tables_of_rules_are_equal_if_all_their_rows_are() -> None:
    rules = Rules(np.array([[0, 0]]), np.array([[1, 0]]), np.array([[1, 0, 0]]))
    assert rules.equals(Rules(rules.leaf.copy(), rules.unary.copy(), rules.binary.copy()))
    for kind in ("leaf", "unary", "binary"):
        assert not rules.equals(replace(rules, **{kind: getattr(rules, kind)[:0]}))


def test_a_leaf_without_a_rule_has_none() -> None:
    rules = Rules(np.array([[0, 5], [0, 7]]), np.empty((0, 2), int), np.empty((0, 3), int))
    builder = ForestBuilder(rules)
    for terminal in (5, 6, 7):
        builder.leaf(0, terminal)
    builder.end(2)
    assert builder.forest().rule.tolist() == [0, -1, 1]
