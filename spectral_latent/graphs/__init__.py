"""Hold latent tree models of networkx graphs, for trees that are not language."""

from spectral_latent.graphs.features import Feature, neighbourhoods
from spectral_latent.graphs.model import GraphGrammar, GraphModel

__all__ = ["Feature", "GraphGrammar", "GraphModel", "neighbourhoods"]
