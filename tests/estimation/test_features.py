"""Feature templates against recursion over nested trees."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.estimation import hash_columns, inside_templates, outside_templates, rule_names
from spectral_latent.estimation._features import parent_rule
from tests.oracles import children, columns, kind_and_rule, leaves, partition, tree_strategy

treebanks = st.lists(tree_strategy(n_symbols=3, n_terminals=2, max_leaves=10), min_size=1, max_size=6)
matrices = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.tuples(*[st.integers(-3, 4)] * width), min_size=1, max_size=30)
)


@given(matrices)
def test_hashing_tells_apart_what_its_columns_tell_apart_together(rows: list[tuple[int, ...]]) -> None:
    merged = hash_columns(*np.array(rows).T)
    assert merged.dtype == np.int64
    assert partition(merged.tolist()) == partition(rows)


@given(treebanks)
def test_templates_of_trees_are_the_same_in_every_treebank(trees: list[tuple]) -> None:
    together, alone = columns(trees), [columns([tree]) for tree in trees]
    for templates in (inside_templates, outside_templates):
        for name, column in templates(together).items():
            np.testing.assert_array_equal(column, np.concatenate([templates(tree)[name] for tree in alone]))


class Node:
    """A node that knows what is above it."""

    def __init__(self, tree: tuple, parent: Node | None = None, side: int = 0, before: int = 0) -> None:
        self.tree, self.parent, self.side, self.before = tree, parent, side, before
        self.rule = kind_and_rule(tree)
        self.children: list[Node] = []
        for number, child in enumerate(children(tree)):
            self.children.append(Node(child, self, number, before))
            before += len(leaves(child))

    def post_order(self) -> list[Node]:
        return [node for child in self.children for node in child.post_order()] + [self]

    def up(self, steps: int) -> tuple:
        """The rules up to `steps` above, each with the side that the path comes from."""
        if not steps or self.parent is None:
            return ()
        return (self.parent.rule, self.side, *self.parent.up(steps - 1))


def inside_by_recursion(node: Node) -> dict[str, Hashable]:
    left = node.children[0] if node.children else None
    right = node.children[1] if len(node.children) == 2 else None
    return {
        "rule": node.rule,
        "left": left and left.tree[0],
        "right": right and right.tree[0],
        "left-opened": (node.rule, left and left.rule),
        "right-opened": (node.rule, right and right.rule),
        "width": len(leaves(node.tree)).bit_length(),
    }


def outside_by_recursion(node: Node, whole: tuple) -> dict[str, Hashable]:
    grandparent = node.parent and node.parent.parent
    after = len(leaves(whole)) - node.before - len(leaves(node.tree))
    return {
        "above": node.up(1),
        "above-2": node.up(2),
        "above-3": node.up(3),
        "parent": node.parent and node.parent.tree[0],
        "grandparent": (node.parent and node.parent.tree[0], grandparent and grandparent.tree[0]),
        "leaves-before": node.before.bit_length(),
        "leaves-after": after.bit_length(),
    }


@given(treebanks)
def test_templates_tell_apart_what_recursion_tells_apart(trees: list[tuple]) -> None:
    skeletal = columns(trees)
    nodes = [(node, tree) for tree in trees for node in Node(tree).post_order()]
    inner, outer = inside_templates(skeletal), outside_templates(skeletal)
    expected_inner = [inside_by_recursion(node) for node, _ in nodes]
    expected_outer = [outside_by_recursion(node, tree) for node, tree in nodes]
    assert inner.keys() == expected_inner[0].keys()
    assert outer.keys() == expected_outer[0].keys()
    for found, expected in ((inner, expected_inner), (outer, expected_outer)):
        for name, column in found.items():
            assert column.shape == (skeletal.n_nodes,)
            assert partition(column.tolist()) == partition([row[name] for row in expected]), name
    assert inner["width"].tolist() == [row["width"] for row in expected_inner]
    for name in ("leaves-before", "leaves-after"):
        assert outer[name].tolist() == [row[name] for row in expected_outer]
    assert partition(rule_names(skeletal).tolist()) == partition([row["rule"] for row in expected_inner])
    assert partition(parent_rule(skeletal).tolist()) == partition([row["above"] for row in expected_outer])
