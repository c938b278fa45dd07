"""Add scores, and compute percentages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

__all__ = ["SummedScores", "percentage"]


@dataclass(frozen=True)
class SummedScores:
    """The base of scores that are counts: the score of a corpus is the sum of the scores of its parts."""

    def __add__(self, other: Self) -> Self:
        """Add the counts of two parts of a corpus."""
        return type(self)(**{name: count + vars(other)[name] for name, count in vars(self).items()})


def percentage(part: int, whole: int) -> float:
    """Return 100 part / whole; 0 if the whole is 0.

    >>> percentage(1, 4), percentage(0, 0)
    (25.0, 0.0)
    """
    return 100 * part / whole if whole else 0.0
