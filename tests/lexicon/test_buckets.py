"""Hashes of features and words, and steps of their weights, by definition in plain loops."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.lexicon import find_words, hash_to_ends
from spectral_latent.lexicon.buckets import descend, hash_features
from tests.oracles import mixed

LETTERS = st.lists(st.integers(1, 3), max_size=9)


def hash_of(values: list[int], state: int = 0) -> int:
    for value in values:
        state = mixed(state, value)
    return state


@given(st.lists(st.tuples(*[st.integers(0, 2**40)] * 3), min_size=1, max_size=5))
def test_a_bucket_is_the_hash_of_the_template_and_its_values(rows: list[tuple[int, int, int]]) -> None:
    templates = ((), ("b",), ("a", "b"), ("b", "a"))
    first, *others = np.array(rows).T
    found = hash_features(templates, first.astype(np.uint64), dict(zip("ab", others, strict=True)), n_buckets=64)
    for row, (own, a, b) in zip(found.tolist(), rows, strict=True):
        values = [[{"a": a, "b": b}[name] for name in template] for template in templates]
        assert row == [(hash_of([own, *of], number) >> 20) % 64 for number, of in enumerate(values, start=1)]


@given(st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=5), max_size=4), st.integers(1, 4))
def test_ends_of_parts_are_hashed_up_to_the_longest(parts: list[list[int]], longest: int) -> None:
    values = np.array([value for part in parts for value in part], dtype=np.uint64)
    number = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    ends = [part[at:] for part in parts for at in range(len(part))]
    expected = [hash_of(end) if len(end) <= longest else 1 for end in ends]
    assert hash_to_ends(values, number, longest).tolist() == expected


@given(LETTERS, st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=5), max_size=5), st.integers(1, 5))
def test_words_are_measured_where_they_begin_end_and_go_on(
    text: list[int], known: list[list[int]], longest: int
) -> None:
    """No word is longer than the longest, and none has a 3, which is a break."""
    halves = np.array(sorted({hash_of(word) >> 32 for word in known}), dtype=np.int64)
    found = find_words(np.array(text, dtype=np.uint64), np.array(text) == 3, halves, longest)
    n = len(text)
    places = [(i, j) for i in range(n) for j in range(i + 1, min(n, i + longest) + 1)]
    words = [(i, j) for i, j in places if 3 not in text[i:j] and text[i:j] in known]
    for at in range(n):
        sizes = [
            [j - i for i, j in words if i == at],
            [j - i for i, j in words if j == at],
            [j - i for i, j in words if i < at < j],
        ]
        assert found[:, at].tolist() == [max(each, default=0) for each in sizes]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.floats(-2.0, 2.0)), max_size=8))
def test_a_step_divides_by_the_root_of_the_squares_so_far(rows: list[tuple[int, int, float]]) -> None:
    """Small errors teach nothing, and bucket 0 has no weight."""
    weights, squares = np.zeros(5), np.ones(5)
    buckets = np.array([row[:2] for row in rows], dtype=np.int32).reshape(-1, 2)
    descend(buckets, np.array([row[2] for row in rows]), 0.3, 0.5, weights, squares)
    expected, sums = [0.0] * 5, [1.0] * 5
    for *own, error in rows:
        for bucket in own if abs(error) >= 0.5 else ():
            if bucket:
                sums[bucket] += error**2
                expected[bucket] -= 0.3 * error / np.sqrt(sums[bucket])
    np.testing.assert_allclose(weights, expected, rtol=1e-12)
    np.testing.assert_allclose(squares, sums, rtol=1e-12)
