"""Hold the version of the library, which its files name, and the newest versions of packages it was tested with."""

import re
from functools import cache

__all__ = ["TESTED", "__version__", "untested"]

__version__ = "0.1.0"

TESTED = {
    "click": "8.5",
    "joblib": "1.6",
    "networkx": "3.7",
    "nltk": "3.10",
    "numba": "0.68",
    "numpy": "2.5",
    "regex": "2026.11",
    "safetensors": "0.8",
    "scipy": "1.18",
    "threadpoolctl": "3.8",
}
"""The major and minor number of the newest version of each package with which the library passed its tests."""


@cache
def untested() -> list[str]:
    """List the installed packages that are newer than any version with which the library was tested."""
    from importlib.metadata import PackageNotFoundError, version  # takes longer than all else here

    found = []
    for name, newest in TESTED.items():
        try:
            installed = version(name)
        except PackageNotFoundError:
            continue
        if _numbers(installed) > _numbers(newest):
            found.append(f"{name} {installed} (tested: {newest})")
    return found


def _numbers(version: str) -> list[int]:
    """Return the major and the minor number of a version."""
    return [int(number) for number in re.findall(r"\d+", version)[:2]]
