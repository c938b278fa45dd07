"""Refuse memory to each array in turn on the road of an answer.

The answer must be a MemoryError, or come with a warning that a chart is larger than memory.  Whatever was left half
made, the model must then answer as it does with enough memory.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, partial, wraps
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from spectral_latent.dependency import DependencySentence
from tests.fuzz import models

__all__ = ["ROADS", "check"]

ALLOCATORS = [
    *("append", "arange", "argsort", "array", "asarray", "ascontiguousarray", "bincount", "concatenate", "cumsum"),
    *("diff", "empty", "empty_like", "flatnonzero", "full", "full_like", "lexsort", "nonzero", "ones", "repeat"),
    *("searchsorted", "sort", "split", "stack", "tile", "unique", "where", "zeros", "zeros_like"),
]  # functions of NumPy that make arrays


def _parses(make: Callable[[list[str]], Any], model: Any) -> list[Any]:
    return [[tuple(parse) for parse in parses] for parses in model.parse_all(map(make, models.QUESTIONS), 2)]


def _tags(model: Any) -> list[Any]:
    return list(model.tag_all(models.QUESTIONS))


ROADS: dict[str, Callable[[Any], list[Any]]] = {
    "phrases": partial(_parses, list),
    "spectral phrases": partial(_parses, list),
    "dependencies": partial(_parses, DependencySentence.of),
    "tagger": _tags,
    "anchors": _tags,
}


class _Memory:
    """The arrays that the library has asked for.

    refused: the number of the array that is refused.
    made: the number of arrays that were asked for.
    """

    def __init__(self, refused: int) -> None:
        self.refused = refused
        self.made = 0

    def guarded(self, allocate: Callable[..., Any]) -> Callable[..., Any]:
        """Count the calls of a function by the library, and refuse one of them."""

        @wraps(allocate)
        def guard(*args: Any, **kwargs: Any) -> Any:
            if sys._getframe(1).f_globals["__name__"].startswith("spectral_latent."):
                self.made += 1
                if self.made == self.refused + 1:
                    raise MemoryError
            return allocate(*args, **kwargs)

        return guard


@contextmanager
def _short_of(refused: int) -> Iterator[_Memory]:
    """Refuse the array of a number; code that was compiled before asks nobody."""
    memory = _Memory(refused)
    with ExitStack() as patches:
        for name in ALLOCATORS:
            patches.enter_context(patch.object(np, name, memory.guarded(getattr(np, name))))
        yield memory


@cache
def _expected(kind: str, folder: Path) -> list[Any]:
    """Make the file of a model, and answer with enough memory, which compiles all code."""
    models.whole(kind, folder)
    return ROADS[kind](models.KINDS[kind].load(folder / kind))


def check(kind: str, number: int, folder: Path) -> str:
    """Refuse array number 0, 1, ... to a fresh model: "refused", "warned", or "enough" if fewer arrays are made.

    Raises AssertionError for another answer, or if the model answers otherwise afterwards.
    """
    expected = _expected(kind, folder)
    model = models.KINDS[kind].load(folder / kind)
    with warnings.catch_warnings(record=True) as told, _short_of(number) as memory:
        warnings.simplefilter("always")
        try:
            answer = ROADS[kind](model)
        except MemoryError:
            outcome = "refused"
        else:
            outcome = "warned" if memory.made > number else "enough"
    if outcome == "enough":
        assert answer == expected
    elif outcome == "warned":
        assert any("larger than memory" in str(warning.message) for warning in told), "nobody was told"
    assert ROADS[kind](model) == expected, "another answer afterwards"
    return outcome
