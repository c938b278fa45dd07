"""Offer the models of `spectral_latent` as estimators of scikit-learn: translation only."""

from importlib.util import find_spec

if find_spec("sklearn") is None:
    raise ModuleNotFoundError(
        'scikit-learn is not installed; run `pip install ".[sklearn]"` in a checkout', name="sklearn"
    )

from spectral_latent_sklearn._gaussian import SpectralGaussianHMM
from spectral_latent_sklearn._hidden_markov import SpectralHMM
from spectral_latent_sklearn._tagger import LatentTagClassifier
from spectral_latent_sklearn._trees import LatentTreeClassifier, LatentTreeTransformer

__all__ = ["LatentTagClassifier", "LatentTreeClassifier", "LatentTreeTransformer", "SpectralGaussianHMM", "SpectralHMM"]
