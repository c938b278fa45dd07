"""Offer the models of `spectral_latent` as pipeline components of spaCy: translation only."""

from spectral_latent_spacy._constituency import SpectralConstituency
from spectral_latent_spacy._constituents import NotAConstituentError
from spectral_latent_spacy._dependency import SpectralDependency
from spectral_latent_spacy._tagger import SpectralTagger

__all__ = ["NotAConstituentError", "SpectralConstituency", "SpectralDependency", "SpectralTagger"]
