"""Terminals of language: known words, signatures for unseen ones, and their emissions."""

from spectral_latent.lexicon.counts import WordCounts
from spectral_latent.lexicon.lexicon import Lexicon, LexiconOptions
from spectral_latent.lexicon.signatures import Signature, signatures
from spectral_latent.lexicon.smoothing import smooth_emissions
from spectral_latent.lexicon.spelling import SpellingModel, SpellingOptions
from spectral_latent.lexicon.unseen import UnseenLeaves, UnseenWords

__all__ = [
    "Lexicon",
    "LexiconOptions",
    "Signature",
    "SpellingModel",
    "SpellingOptions",
    "UnseenLeaves",
    "UnseenWords",
    "WordCounts",
    "signatures",
    "smooth_emissions",
]
