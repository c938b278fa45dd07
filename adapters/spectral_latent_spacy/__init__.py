"""Offer the models of `spectral_latent` as pipeline components of spaCy: translation only."""

from importlib.util import find_spec

if find_spec("spacy") is None:
    raise ModuleNotFoundError('spaCy is not installed; run `pip install ".[spacy]"` in a checkout', name="spacy")

from spectral_latent_spacy._component import SpectralDependency, SpectralTagger
from spectral_latent_spacy._constituency import NotAConstituentError, SpectralConstituency

__all__ = ["NotAConstituentError", "SpectralConstituency", "SpectralDependency", "SpectralTagger"]
