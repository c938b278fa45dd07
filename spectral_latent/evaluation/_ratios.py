"""What all scores are made of."""

from __future__ import annotations

__all__ = ["percentage"]


def percentage(part: int, whole: int) -> float:
    """A ratio in percent; 0 of nothing.

    >>> percentage(1, 4), percentage(0, 0)
    (25.0, 0.0)
    """
    return 100 * part / whole if whole else 0.0
