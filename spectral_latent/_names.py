"""Define the names that options choose from, import names when they are used, and write names in messages.

This module imports nothing heavy, so that the help and the errors of the command line come at once.
"""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, Literal

__all__ = [
    "ConstituencyPresetName",
    "EstimatorName",
    "PresetName",
    "alike",
    "counted",
    "import_when_used",
    "printable",
]

EstimatorName = Literal["spectral", "clustering", "em", "clusters-em", "anchors", "anchors-em", "moments", "moments-em"]
PresetName = Literal["fast", "accurate", "spectral"]
ConstituencyPresetName = Literal["fast", "accurate", "best", "clusters", "spectral"]

_MOST = 600  # characters of a message
_NAMED = 20  # the largest number of names that an error lists


def import_when_used(package: str, names: Mapping[str, Iterable[str]]) -> Callable[[str], Any]:
    """Make a function `__getattr__` that imports each name from its module when it is first used; see PEP 562.

    names: the names from each module; the name of a module in the package begins with a full stop."""
    module_of = {name: module for module, several in names.items() for name in several}

    def __getattr__(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(module_of[name], package), name)
        setattr(sys.modules[package], name, value)
        return value

    return __getattr__


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
