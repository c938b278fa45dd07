"""What the templates tell apart, and what they must not see."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.sequence import Sequences
from spectral_latent.sequence.conversion import longest_grams, untagged_features
from tests.oracles import partition

N = 3
strings = st.lists(st.lists(st.integers(0, N - 1), min_size=1, max_size=9), min_size=1, max_size=8)
Column = list[tuple]


def tells_apart(columns: np.ndarray) -> set[tuple[int, ...]]:
    return {partition(column.tolist()) for column in columns.T}


def windows(rows: list[list[int]], first: int, end: int) -> Column:
    """What stands at offsets first ... end - 1 of each position."""
    return [
        tuple(row[j] if 0 <= j < len(row) else None for j in range(i + first, i + end))
        for row in rows
        for i in range(len(row))
    ]


def distinct(*columns: Column) -> set[tuple[int, ...]]:
    return {partition(column) for column in columns}


@given(strings, st.integers(1, 4))
def test_untagged_templates_are_neighbours_and_n_grams(rows: list[list[int]], longest: int) -> None:
    sequences = Sequences.of(rows)
    found = untagged_features(sequences, longest)
    lengths = range(2, longest + 1)
    spine, emission = sequences.spine, sequences.emission
    assert tells_apart(found.inside[spine]) == distinct(
        *(windows(rows, i, i + 1) for i in range(3)), *(windows(rows, 0, n) for n in lengths)
    )
    assert tells_apart(found.outside[spine]) - distinct([(0,)] * len(spine)) == distinct(
        *(windows(rows, -1 - i, -i) for i in range(3)), *(windows(rows, -n, 0) for n in lengths)
    ) - distinct([(0,)] * len(spine))
    assert tells_apart(found.inside[emission]) >= distinct(windows(rows, 0, 1))
    assert tells_apart(found.outside[emission]) >= distinct(
        *(windows(rows, i, i + 1) for i in (-2, -1, 1, 2)), *(windows(rows, -n, 0) for n in lengths)
    )


@given(st.integers(1, 300), st.integers(1, 10**7))
def test_the_longest_grams_are_frequent_enough(n_symbols: int, n_positions: int) -> None:
    length = longest_grams(n_symbols, n_positions)
    assert 1 <= length <= 8
    assert length == 1 or n_positions / n_symbols**length >= np.sqrt(n_positions) * (1 - 1e-12)
    assert length == 8 or n_positions / n_symbols ** (length + 1) < np.sqrt(n_positions) * (1 + 1e-12)
