"""Offer the models of `spectral_latent` as estimators of scikit-learn: translation only."""

from importlib.util import find_spec

if find_spec("sklearn") is None:
    raise ModuleNotFoundError(
        'scikit-learn is not installed; run `pip install ".[sklearn]"` in a checkout', name="sklearn"
    )

from spectral_latent_sklearn._markov import SpectralGaussianHMM, SpectralHMM

__all__ = ["SpectralGaussianHMM", "SpectralHMM"]
