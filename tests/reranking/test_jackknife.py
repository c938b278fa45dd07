"""Jackknifed lists: nothing is parsed by what was trained on it."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.reranking import NBest, jackknifed


@given(st.integers(2, 30).flatmap(lambda n: st.tuples(st.just(n), st.integers(2, n))))
def test_every_item_is_held_out_once(sizes: tuple[int, int]) -> None:
    n, folds = sizes
    seen: list[tuple[list[int], list[int]]] = []

    def lists_of(train: list[int], held_out: list[int]) -> Iterable[NBest]:
        seen.append((train, held_out))
        return (NBest(str(item), (), ()) for item in held_out)

    assert [nbest.id for nbest in jackknifed(range(n), lists_of, folds)] == list(map(str, range(n)))
    assert [item for _, held_out in seen for item in held_out] == list(range(n))
    assert all(sorted(train + held_out) == list(range(n)) and held_out for train, held_out in seen)
    assert len(seen) == folds
    assert max(len(held_out) for _, held_out in seen) - min(len(held_out) for _, held_out in seen) <= 1


@pytest.mark.parametrize("folds", [1, 0, 4])
def test_folds_out_of_range(folds: int) -> None:
    with pytest.raises(ValueError, match=f"{folds} folds of 3 trees; give at least two"):
        jackknifed([1, 2, 3], lambda train, held_out: [], folds)


def test_missing_lists() -> None:
    with pytest.raises(ValueError, match="0 lists for the 2 trees of a fold; give one for each"):
        jackknifed([1, 2, 3], lambda train, held_out: [], folds=2)
