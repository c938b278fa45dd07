"""`python -m spectral_latent.cli`."""

from spectral_latent.cli.command import main

main(prog_name="spectral-latent")
