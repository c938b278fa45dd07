"""Write numbers of things, and texts of files and of users, on a terminal.

This module imports nothing heavy, so that the errors of a command line come at once.
"""

from collections.abc import Sequence

__all__ = ["alike", "counted", "printable"]

_MOST = 600  # characters
_NAMED = 20  # the largest number of names that an error lists


def alike(name: str, names: Sequence[str]) -> str:
    """Write the names that a user may have meant by one that does not exist, or the first ones that do."""
    from difflib import get_close_matches  # here, because every start imports this module

    meant = [each for each in names if each.casefold() == name.casefold()] or get_close_matches(name, names)
    if meant:
        return f"did you mean {' or '.join(meant)}?"
    return f"there are {', '.join(names[:_NAMED])}{', and others' if len(names) > _NAMED else ''}"


def counted(number: int, name: str) -> str:
    """Write a number of objects with their name, in the singular or the plural."""
    return f"{number} {name}{'' if number == 1 else 's'}"


def printable(text: str) -> str:
    """Write a text on one line of a terminal, which it cannot control, and leave out the middle of a long text."""
    if len(text) > _MOST:
        text = f"{text[: _MOST // 2]} ... {text[-_MOST // 2 :]}"
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
