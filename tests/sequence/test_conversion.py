"""Sequences as right-branching trees, and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.sequence import Sequences
from tests.oracles import Tree, nested

N_TAGS = 3
rows = st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(0, N_TAGS - 1)), min_size=1, max_size=6), max_size=5)
Rows = list[list[tuple[int, int]]]


def columns(pairs: Rows) -> Sequences:
    return Sequences.of(([x for x, _ in row] for row in pairs), ([t for _, t in row] for row in pairs))


def right_branching(row: list[tuple[int, int]]) -> Tree:
    """The s-tree by its definition, from the last position to the first."""
    tree: Tree = ()
    for x, t in reversed(row):
        tree = (N_TAGS + t, (t, x), tree) if tree else (N_TAGS + t, (t, x))
    return tree


@given(rows)
def test_trees_branch_to_the_right(pairs: Rows) -> None:
    trees = columns(pairs).trees(N_TAGS)
    assert nested(trees) == [right_branching(row) for row in pairs]
    assert trees.n_nodes == 2 * sum(map(len, pairs))


@given(rows)
def test_there_and_back(pairs: Rows) -> None:
    sequences = columns(pairs)
    again = Sequences.of_trees(sequences.trees(N_TAGS))
    for name in ("terminal", "tag", "start"):
        np.testing.assert_array_equal(getattr(again, name), getattr(sequences, name))
    assert again.n_sequences == len(pairs)


@given(rows)
def test_nodes_of_positions(pairs: Rows) -> None:
    sequences = columns(pairs)
    trees = sequences.trees(N_TAGS)
    np.testing.assert_array_equal(trees.terminal[sequences.emission], sequences.terminal)
    np.testing.assert_array_equal(trees.symbol[sequences.spine], N_TAGS + sequences.tag)
    np.testing.assert_array_equal(trees.left[sequences.spine], sequences.emission)
    np.testing.assert_array_equal(trees.right[sequences.spine] < 0, sequences.is_last)
    np.testing.assert_array_equal(trees.root, sequences.spine[sequences.start[:-1]])


@given(rows, st.integers(-7, 7))
def test_shifting_stays_within_a_sequence(pairs: Rows, offset: int) -> None:
    sequences = columns(pairs)
    expected = [row[i + offset][0] if 0 <= i + offset < len(row) else -1 for row in pairs for i in range(len(row))]
    assert sequences.shift(sequences.terminal, offset).tolist() == expected


@given(rows, st.integers(0, 2**5 - 1))
def test_a_part_is_the_sequences_that_are_marked(pairs: Rows, marks: int) -> None:
    which = np.array([marks >> i & 1 == 1 for i in range(len(pairs))], dtype=bool)
    part, expected = columns(pairs).part(which), columns([row for row, keep in zip(pairs, which, strict=True) if keep])
    for name in ("terminal", "tag", "start"):
        np.testing.assert_array_equal(getattr(part, name), getattr(expected, name))


def test_the_first_empty_sequence_is_named() -> None:
    with pytest.raises(ValueError, match="sequence 2 is empty"):
        Sequences.of([[1], [], [2], []])


@given(rows, st.integers(1, 20))
def test_parts_are_cut_between_sequences(pairs: Rows, size: int) -> None:
    """Each part ends with the sequence with which it has `size` positions."""
    expected: list[Rows] = []
    for row in pairs:
        if not expected or sum(map(len, expected[-1])) >= size:
            expected.append([])
        expected[-1].append(row)
    found = list(columns(pairs).parts(size))
    assert len(found) == len(expected)
    for part, of_part in zip(found, expected, strict=True):
        for name in ("terminal", "tag", "start"):
            np.testing.assert_array_equal(getattr(part, name), getattr(columns(of_part), name))
