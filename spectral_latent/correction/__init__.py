"""Correct trees on a local page: the files of a project, and the server of the page."""

from spectral_latent.correction.project import BusyError, ChangedError, Item, Order, Project
from spectral_latent.correction.server import create_app, serve

__all__ = ["BusyError", "ChangedError", "Item", "Order", "Project", "create_app", "serve"]
