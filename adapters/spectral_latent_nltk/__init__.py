"""Offer the models of `spectral_latent` behind NLTK's interfaces: translation only.

NLTK imports all of itself, whichever part of it is asked for, which takes longer than the library's own import."""

from spectral_latent.constituency import FALLBACK
from spectral_latent_nltk._dependency_parser import ParseGraph, SpectralDependencyParser
from spectral_latent_nltk._parser import ParseTree, SpectralParser
from spectral_latent_nltk._tagger import AnchorTagger, LatentHMMTagger
from spectral_latent_nltk._trees import (
    partial_from_nltk,
    phrase_to_nltk,
    sentence_from_nltk,
    sentence_to_nltk,
    to_nbest,
)

__all__ = [
    "FALLBACK",
    "AnchorTagger",
    "LatentHMMTagger",
    "ParseGraph",
    "ParseTree",
    "SpectralDependencyParser",
    "SpectralParser",
    "partial_from_nltk",
    "phrase_to_nltk",
    "sentence_from_nltk",
    "sentence_to_nltk",
    "to_nbest",
]
