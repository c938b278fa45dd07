"""The command `spectral-latent`."""

from spectral_latent.cli.command import main

__all__ = ["main"]
