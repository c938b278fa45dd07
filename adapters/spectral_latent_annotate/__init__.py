"""Make treebanks: suggest trees, find what is likely wrong in them, mend broken ones, and correct them on a local page.

Everything here uses the public names of `spectral_latent`, and has its own command, `spectral-latent-annotate`.  The
names below are imported when they are first used, so that the command's help costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spectral_latent_annotate._doubts import Doubt, check_trees
    from spectral_latent_annotate._history import BusyError
    from spectral_latent_annotate._project import ChangedError, Item, Order, Project
    from spectral_latent_annotate._repairs import Repair, repair, repair_all
    from spectral_latent_annotate._server import create_app, serve
    from spectral_latent_annotate._suggestions import Suggestion, suggest_trees
    from spectral_latent_annotate._treebank_file import TreebankFile
    from spectral_latent_annotate._workbench import Workbench

__all__ = [
    "BusyError",
    "ChangedError",
    "Doubt",
    "Item",
    "Order",
    "Project",
    "Repair",
    "Suggestion",
    "TreebankFile",
    "Workbench",
    "check_trees",
    "create_app",
    "repair",
    "repair_all",
    "serve",
    "suggest_trees",
]

_MODULES = ("_doubts", "_history", "_project", "_repairs", "_server", "_suggestions", "_treebank_file", "_workbench")


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used; see PEP 562."""
    for module in _MODULES if name in __all__ else ():
        members = vars(import_module(f"{__name__}.{module}"))
        if name in members["__all__"]:
            globals()[name] = members[name]
            return members[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
