"""Latent-variable PCFGs, HMMs and dependency trees, estimated by spectral learning."""

__all__ = ["__version__"]

__version__ = "0.1.0"
