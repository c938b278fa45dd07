"""Columns of trees against the same trees as nested tuples, tables of rules and names against dictionaries."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.trees import Rules, SkeletalTrees, Vocabulary
from tests.oracles import children, columns, kind_and_rule, leaves, post_order, rules_of, spans, tree_strategy

treebanks = st.lists(tree_strategy(n_symbols=4, n_terminals=4, max_leaves=9), min_size=1, max_size=5)
Columns = dict[str, list[int]]
NAMES = ("symbol", "left", "right", "terminal", "root")


def nodes(trees: list[tuple]) -> Iterator[tuple[int, int, int, tuple]]:
    """Number of the tree, number of its first node, number of the node, node; in post-order."""
    at = 0
    for number, tree in enumerate(trees):
        first = at
        for node in post_order(tree):
            yield number, first, at, node
            at += 1


def paths(tree: tuple, first: int = 0, parent: int = -1, right: bool = False) -> list[tuple[int, bool]]:
    """The parent of each node and whether the node is a right child, in post-order; nodes numbered from `first`."""
    own = first + len(list(post_order(tree))) - 1
    below: list[tuple[int, bool]] = []
    for number, child in enumerate(children(tree)):
        below += paths(child, first + len(below), own, number == 1)
    return [*below, (parent, right)]


def is_treebank(given: Columns) -> bool:
    """Whether consuming the columns as a post-order listing gives one complete tree per root, by recursion."""
    symbol, left, right, terminal = (given[name] for name in NAMES[:4])
    if not len(symbol) == len(left) == len(right) == len(terminal):
        return False

    def first_node(node: int) -> int | None:
        """The first node of the subtree that ends at `node`; None if it is no subtree."""
        if node < 0:
            return None
        if left[node] < 0:
            return node if right[node] < 0 and terminal[node] >= 0 else None
        if terminal[node] >= 0:
            return None
        if right[node] < 0:
            return first_node(node - 1) if left[node] == node - 1 else None
        middle = first_node(node - 1) if right[node] == node - 1 else None
        return first_node(middle - 1) if middle is not None and left[node] == middle - 1 else None

    end = -1
    for root in given["root"]:
        if not end < root < len(symbol) or first_node(root) != end + 1:
            return False
        end = root
    return end == len(symbol) - 1


def as_lists(trees: SkeletalTrees) -> Columns:
    return {name: getattr(trees, name).tolist() for name in NAMES}


def build(given: Columns) -> SkeletalTrees:
    return SkeletalTrees.of(given["symbol"], **{name: given[name] for name in NAMES[1:]})


@given(treebanks, st.data())
def test_columns_are_refused_exactly_when_they_are_no_treebank(trees: list[tuple], data: st.DataObject) -> None:
    given = as_lists(columns(trees))
    assert is_treebank(given)
    for _ in range(data.draw(st.integers(1, 3))):
        name = data.draw(st.sampled_from(["left", "right", "terminal", "root"]))
        at = data.draw(st.integers(0, len(given[name]) - 1))
        given[name][at] = data.draw(st.integers(-1, len(given["symbol"])))
    if is_treebank(given):
        assert as_lists(build(given)) == given
    else:
        with pytest.raises(ValueError, match=r".+"):
            build(given)


def test_a_node_that_is_its_own_child_is_refused() -> None:
    with pytest.raises(ValueError, match="before parents"):
        SkeletalTrees.of([0], left=[0], right=[-1], terminal=[-1], root=[])


@pytest.mark.parametrize("name", ["left", "right", "terminal"])
def test_columns_of_unlike_lengths_are_refused(name: str) -> None:
    given = as_lists(SkeletalTrees.of([0, 0], left=[-1, 0], right=[-1, -1], terminal=[0, -1], root=[1]))
    given[name] = given[name][:-1]
    with pytest.raises(ValueError, match="length"):
        build(given)


@given(treebanks)
def test_derived_columns_are_those_of_recursion(trees: list[tuple]) -> None:
    skeletal = columns(trees)
    every = list(nodes(trees))
    above = [step for tree in trees for step in paths(tree)]
    assert skeletal.n_nodes == len(every)
    assert skeletal.tree.tolist() == [number for number, *_ in every]
    assert skeletal.parent.tolist() == [
        -1 if parent < 0 else first + parent for (_, first, _, _), (parent, _) in zip(every, above, strict=True)
    ]
    assert skeletal.is_right_child.tolist() == [right for _, right in above]
    assert skeletal.first_leaf.tolist() == [i for tree in trees for _, i, _ in spans(tree)]
    assert skeletal.n_leaves.tolist() == [len(leaves(node)) for *_, node in every]
    kinds = [kind_and_rule(node)[0] for *_, node in every]
    for kind in ("leaf", "unary", "binary"):
        assert getattr(skeletal, f"is_{kind}").tolist() == [kind == mine for mine in kinds]


@given(treebanks, treebanks)
def test_rules_are_the_distinct_ones_in_order(trees: list[tuple], others: list[tuple]) -> None:
    """Rules of another treebank are found, or -1."""
    skeletal, expected, table = columns(trees), rules_of(trees), rules_of(others)
    for kind in ("leaf", "unary", "binary"):
        assert list(map(tuple, getattr(skeletal.rules, kind).tolist())) == expected[kind]
    for rule, (*_, node) in zip(skeletal.rule.tolist(), nodes(trees), strict=True):
        kind, mine = kind_and_rule(node)
        assert expected[kind][rule] == mine
    assert skeletal.rule_in(skeletal.rules).tolist() == skeletal.rule.tolist()
    for kind, rows in zip(("leaf", "unary", "binary"), skeletal.rows(), strict=True):
        in_order = [rule for *_, node in nodes(trees) for mine, rule in [kind_and_rule(node)] if mine == kind]
        assert list(map(tuple, rows.tolist())) == in_order
    every = [kind_and_rule(node) for *_, node in nodes(trees)]
    found = [table[kind].index(rule) if rule in table[kind] else -1 for kind, rule in every]
    assert skeletal.rule_in(columns(others).rules).tolist() == found


@given(treebanks, st.randoms(use_true_random=False))
def test_follow_ends_where_steps_end(trees: list[tuple], random: Any) -> None:
    skeletal = columns(trees)
    n = skeletal.n_nodes
    for step in (
        skeletal.left.tolist(),
        skeletal.parent.tolist(),
        [random.choice([-1, *range(node)]) for node in range(n)],
    ):
        ends = []
        for node in range(n):
            while step[node] >= 0:
                node = step[node]
            ends.append(node)
        assert skeletal.follow(np.array(step)).tolist() == ends


tables = st.integers(1, 3).flatmap(
    lambda width: st.tuples(
        st.lists(st.tuples(*[st.integers(0, 6)] * width), max_size=25),
        st.lists(st.tuples(*[st.integers(-1, 8)] * width), max_size=25),
        st.just(width),
    )
)


@given(tables)
def test_distinct_rows_are_sorted_and_numbered_as_a_dictionary_would(given: tuple) -> None:
    rows, _, width = given
    table, which = Rules.distinct(np.array(rows, dtype=np.int64).reshape(-1, width))
    expected = {row: number for number, row in enumerate(sorted(set(rows)))}
    assert list(map(tuple, table.tolist())) == list(expected)
    assert which.tolist() == [expected[row] for row in rows]


@given(tables)
def test_rows_are_found_as_a_dictionary_would(given: tuple) -> None:
    rows, wanted, width = given
    table = sorted(set(rows))
    number = {row: at for at, row in enumerate(table)}
    found = Rules.find(np.array(table).reshape(-1, width), np.array(wanted).reshape(-1, width))
    assert found.tolist() == [number.get(row, -1) for row in wanted]


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
