"""Sequences as right-branching trees, and back; observations of any kind, and what is kept for those never seen."""

from collections.abc import Hashable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.estimation import LeafMoments
from spectral_latent.sequence import Alphabet, Sequences
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


names: st.SearchStrategy[Hashable] = st.one_of(
    st.none(),
    st.integers(),
    st.text(),
    st.tuples(st.integers(), st.text()),
    st.frozensets(st.integers(0, 3)),
    st.floats(),
)


@given(st.lists(names), st.lists(names))
def test_what_was_seen_has_a_number_and_all_else_has_the_last(seen: list[Hashable], others: list[Hashable]) -> None:
    alphabet = Alphabet(seen)
    number: dict[Hashable, int] = {}
    for name in seen:
        number.setdefault(name, len(number))
    assert alphabet.n_terminals == len(number) + 1
    assert all(one is other or one == other for one, other in zip(alphabet.known, number, strict=True))
    sequence = [*seen, *others]
    found = alphabet.terminals_of(sequence)
    assert found.tolist() == [number.get(name, len(number) + (name is None)) for name in sequence]
    assert found.dtype == np.int64


@given(st.lists(st.integers(1, 4), min_size=1, max_size=6), st.integers(0, 2**32 - 1))
def test_smoothing_moves_a_share_to_what_was_never_seen(count: list[int], seed: int) -> None:
    """With N tokens, s of which were seen once: (s + 1) / (N + s + 1) goes to the last terminal."""
    rng = np.random.default_rng(seed)
    rows = [rng.normal(size=(n, 3)) + 2.0 for n in count]
    total, n, once = np.array([row.sum(axis=0) for row in rows]), sum(count), count.count(1)
    rules = np.stack([np.zeros(len(count), dtype=np.int64), np.arange(len(count))], axis=1)
    moments = LeafMoments(
        rules, np.array(count, dtype=float), total, np.array([n, 7.0]), np.stack([total.sum(axis=0), np.ones(3)])
    )
    alphabet = Alphabet(range(len(count)))
    found_rules, found = alphabet.smooth(moments)
    assert found_rules.tolist() == [*rules.tolist(), [0, len(count)]]
    mean = total.sum(axis=0) / n
    rare = sum((row[0] for row in rows if len(row) == 1), start=mean)
    keep = n / (n + once + 1)
    np.testing.assert_allclose(found[:-1], keep * total, rtol=1e-12)
    np.testing.assert_allclose(found[-1], keep * rare, rtol=1e-12)
    assert Alphabet.unseen_tokens(moments.count) == once + 1
