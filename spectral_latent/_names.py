"""Define the names that options choose from, and import names when they are used.

This module imports nothing heavy, so that the help of the command line is quick.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Literal

__all__ = [
    "ConstituencyPresetName",
    "EstimatorName",
    "PresetName",
    "import_when_used",
]

EstimatorName = Literal["spectral", "clustering", "em", "clusters-em", "anchors", "anchors-em", "moments", "moments-em"]
PresetName = Literal["fast", "accurate", "spectral"]
ConstituencyPresetName = Literal["fast", "accurate", "best", "clusters", "spectral"]


def import_when_used(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Make a function `__getattr__` that imports each name from its module when it is first used; see PEP 562.

    modules: the module of each name; the name of one in the package begins with a full stop."""

    def __getattr__(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(modules[name], package), name)
        setattr(sys.modules[package], name, value)
        return value

    return __getattr__
