"""The command `spectral-latent`."""

from spectral_latent.cli.command import main, run

__all__ = ["main", "run"]
