"""Make treebanks: suggest trees, find what is likely wrong in them, mend broken ones, and correct them on a local page.

Everything here uses the public names of `spectral_latent`, and has its own command, `spectral-latent-annotate`.  The
names below are imported when they are first used, so that the command's help costs nothing.
"""

from typing import TYPE_CHECKING

from spectral_latent.kinds import import_when_used

if TYPE_CHECKING:
    from spectral_latent_annotate._history import BusyError
    from spectral_latent_annotate._project import ChangedError, Item, Order, Project
    from spectral_latent_annotate._repairs import Repair, repair, repair_all
    from spectral_latent_annotate._server import create_app, serve
    from spectral_latent_annotate._suggestions import Doubt, Suggestion, check_trees, suggest_trees
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

__getattr__ = import_when_used(
    __name__,
    {
        "._history": ["BusyError"],
        "._project": ["ChangedError", "Item", "Order", "Project"],
        "._suggestions": ["Doubt", "Suggestion", "check_trees", "suggest_trees"],
        "._repairs": ["Repair", "repair", "repair_all"],
        "._treebank_file": ["TreebankFile"],
        "._workbench": ["Workbench"],
        "._server": ["create_app", "serve"],
    },
)
