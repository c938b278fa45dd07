"""`python -m spectral_latent.papers`."""

from spectral_latent.papers.command import main

main(prog_name="python -m spectral_latent.papers")
