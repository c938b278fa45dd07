"""`python -m spectral_latent`: the command `spectral-latent`."""

from spectral_latent.cli import run

run()
