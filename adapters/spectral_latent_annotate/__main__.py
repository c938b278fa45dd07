"""Run the commands by `python -m spectral_latent_annotate`."""

from spectral_latent_annotate._commands import main

main(prog_name="spectral-latent-annotate")
