"""Make treebanks: suggest trees, find what is likely wrong in them, mend broken ones, and correct them on a local page.

Everything here uses the public names of `spectral_latent`, and has its own command, `spectral-latent-annotate`.
"""

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
