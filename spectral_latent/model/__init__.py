"""Hold latent tree models of networkx graphs, for trees that are not language."""

from spectral_latent.model.features import Feature, neighbourhoods
from spectral_latent.model.model import LatentTreeModel

__all__ = ["Feature", "LatentTreeModel", "neighbourhoods"]
