"""Answers of one process and of several."""

from __future__ import annotations

import gc
import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import pytest

from spectral_latent.model.batches import map_batches, map_sentences

MOST_AHEAD = 1200  # items that two processes may have read without having given an answer


class Scale:
    """A model that knows which file it was read from, and how many models were read in its process."""

    n_read = 0

    def __init__(self, factor: int, file: str | None = None) -> None:
        self.factor, self.file = factor, file

    def save(self, path: str | os.PathLike[str]) -> None:
        Path(path).write_text(str(self.factor))

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Scale:
        Scale.n_read += 1
        return Scale(int(Path(path).read_text()), str(path))

    def __reduce__(self) -> Any:
        raise AssertionError("a model travels with its items")


def scaled(model: Scale, item: int, shift: int) -> int:
    if item < 0:
        raise ValueError(f"the item {item} is negative")
    return model.factor * item + shift


def origin(model: Scale, _: int) -> tuple[int, int, str | None]:
    return os.getpid(), Scale.n_read, model.file


@pytest.fixture
def threads() -> Iterator[None]:
    """Two workers that start at once; they read models from files as processes do."""
    with joblib.parallel_config(backend="threading"):
        yield


@pytest.mark.parametrize(("jobs", "most"), [(1, 1), (2, MOST_AHEAD)])
def test_items_are_not_read_ahead_without_bound(jobs: int, most: int, threads: None) -> None:
    read: list[int] = []

    def items() -> Iterator[int]:
        for item in itertools.count():
            read.append(item)
            yield item

    found = map_sentences(scaled, Scale(2), items(), jobs, 0)
    assert not read
    for at in range(3 * MOST_AHEAD):
        assert next(found) == 2 * at
        assert len(read) <= at + most
    found.close()


def totals(model: Scale, batch: list[int]) -> list[tuple[int, int]]:
    return [(model.factor * item, len(batch)) for item in batch]


@pytest.mark.parametrize("jobs", [1, 2])
def test_answers_come_in_order_in_batches_that_have_their_size_but_the_last(jobs: int, threads: None) -> None:
    found = list(map_batches(totals, Scale(3), range(100), jobs, size=7))
    assert found == [(3 * item, 7 if item < 98 else 2) for item in range(100)]
    for n in (0, 1, 9, 513):
        assert list(map_sentences(scaled, Scale(3), iter(range(n)), jobs, 5)) == [3 * item + 5 for item in range(n)]


@pytest.mark.parametrize("jobs", [1, 2])
def test_errors_are_passed_on(jobs: int, threads: None) -> None:
    def broken() -> Iterator[int]:
        yield from range(20)
        raise OSError("the line is dead")

    with pytest.raises(ValueError, match="the item -7 is negative"):
        list(map_sentences(scaled, Scale(3), [*range(40), -7, *range(40)], jobs, 0))
    with pytest.raises(OSError, match="the line is dead"):
        list(map_sentences(scaled, Scale(3), broken(), jobs, 0))


def test_a_model_is_saved_once_and_its_file_is_gone_with_it(threads: None) -> None:
    model = Scale(3)
    first = map_sentences(origin, model, range(20), 2)
    (_, _, file) = next(first)
    first.close()
    assert {found for _, _, found in map_sentences(origin, model, range(20), 2)} == {file}
    assert file is not None
    assert Path(file).exists()
    del first, model
    gc.collect()
    assert not Path(file).parent.exists()


def check_that_each_process_reads_the_model_once(jobs: int | None) -> None:
    """Ask for the origin of many answers twice, on the engine that joblib has."""
    first, again = (list(map_sentences(origin, Scale(3), range(MOST_AHEAD), jobs)) for _ in range(2))
    for found, n_read in ((first, {1}), (again, {1, 2})):  # 1 of a process that had nothing to do the first time
        assert {n for _, n, _ in found} <= n_read
        assert len({file for _, _, file in found}) == 1
        assert os.getpid() not in {process for process, _, _ in found}
    assert first[0][2] != again[0][2]


def test_each_process_reads_the_model_once() -> None:
    check_that_each_process_reads_the_model_once(2)
