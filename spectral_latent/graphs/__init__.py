"""Hold latent tree models of networkx graphs, for trees that are not language."""

from spectral_latent.graphs.model import GraphGrammar, GraphModel
from spectral_latent.graphs.training import Feature, neighbourhoods

__all__ = ["Feature", "GraphGrammar", "GraphModel", "neighbourhoods"]
