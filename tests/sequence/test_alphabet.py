"""Observations of any kind, and what is kept for those never seen."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.estimation import LeafMoments
from spectral_latent.sequence import Alphabet

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
