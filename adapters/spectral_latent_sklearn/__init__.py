"""Offer the models of `spectral_latent` as estimators of scikit-learn: translation only."""

from spectral_latent_sklearn._gaussian import SpectralGaussianHMM
from spectral_latent_sklearn._hidden_markov import SpectralHMM
from spectral_latent_sklearn._tagger import LatentTagClassifier
from spectral_latent_sklearn._trees import LatentTreeClassifier, LatentTreeTransformer

__all__ = ["LatentTagClassifier", "LatentTreeClassifier", "LatentTreeTransformer", "SpectralGaussianHMM", "SpectralHMM"]
