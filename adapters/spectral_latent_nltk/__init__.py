"""Offer the models of `spectral_latent` behind NLTK's interfaces: translation only."""

from spectral_latent_nltk._anchor_tagger import AnchorTagger
from spectral_latent_nltk._dependency_parser import SpectralDependencyParser
from spectral_latent_nltk._graphs import ParseGraph
from spectral_latent_nltk._parser import FALLBACK, SpectralParser
from spectral_latent_nltk._tagger import LatentHMMTagger
from spectral_latent_nltk._trees import ParseTree

__all__ = [
    "FALLBACK",
    "AnchorTagger",
    "LatentHMMTagger",
    "ParseGraph",
    "ParseTree",
    "SpectralDependencyParser",
    "SpectralParser",
]
