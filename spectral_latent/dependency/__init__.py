"""The dependency formalism."""

from spectral_latent.dependency.sentence import DependencySentence

__all__ = ["DependencySentence"]
