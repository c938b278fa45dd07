"""Hold the parts of SciPy, each of which is imported when it is first used: loading and parsing need none."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scipy import cluster, linalg, optimize, sparse, special, stats

__all__ = ["cluster", "linalg", "optimize", "sparse", "special", "stats"]


def __getattr__(name: str) -> Any:
    """Import a part when it is first used; see PEP 562."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = import_module(f"scipy.{name}")
    return globals()[name]
