"""Compute percentages."""

from __future__ import annotations

__all__ = ["percentage"]


def percentage(part: int, whole: int) -> float:
    """Return 100 part / whole; 0 if the whole is 0.

    part: how many of the whole.
    whole: the number of all.

    >>> percentage(1, 4), percentage(0, 0)
    (25.0, 0.0)
    """
    return 100 * part / whole if whole else 0.0
