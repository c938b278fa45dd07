"""Write texts of files and of users on a terminal.

This module imports nothing heavy, so that the errors of a command line come at once.
"""

from __future__ import annotations

__all__ = ["printable"]

_MOST = 600  # characters


def printable(text: str) -> str:
    """Write a text on one line of a terminal, which it cannot control, and leave out the middle of a long text."""
    if len(text) > _MOST:
        text = f"{text[: _MOST // 2]} ... {text[-_MOST // 2 :]}"
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
