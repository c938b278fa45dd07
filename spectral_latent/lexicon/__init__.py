"""Terminals of language: known words, signatures for unseen ones, and their emissions."""

from spectral_latent.lexicon.lexicon import Lexicon, LexiconOptions
from spectral_latent.lexicon.signatures import Signature, signatures
from spectral_latent.lexicon.smoothing import smooth_emissions

__all__ = ["Lexicon", "LexiconOptions", "Signature", "signatures", "smooth_emissions"]
