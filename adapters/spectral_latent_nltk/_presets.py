"""Choose the options by which a parser or a tagger of NLTK's is trained."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["chosen"]

_Options = TypeVar("_Options")


def chosen(of_preset: Callable[[Any], _Options], preset: str | None, options: _Options | None) -> _Options:
    """Choose the options of a preset, unless other options are given.

    Raises ValueError for a preset that does not exist, and if both are given.

    >>> chosen({"fast": 1, "accurate": 2}.__getitem__, "accurate", None)
    2
    """
    if options is None:
        return of_preset(preset or "fast")
    if preset is not None:
        raise ValueError(f"preset={preset!r} chooses the options; give a preset or options, not both")
    return options
