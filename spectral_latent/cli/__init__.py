"""The command `spectral-latent`: each module with a COMMAND is a command."""

from spectral_latent.cli.command import main, run

__all__ = ["main", "run"]
