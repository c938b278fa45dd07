"""`spectral-latent models`."""

from __future__ import annotations

import json

import click

from spectral_latent.cli.options import json_option

__all__ = ["models"]


@click.command()
@json_option
def models(as_json: bool) -> None:
    """List the models that come with the library.

    Every command takes the name of such a model in place of a file.  With --json, the output is a line for each model.

    \b
    Examples:
      spectral-latent models
      echo "The horse ate my sandwich." | spectral-latent parse en --text"""
    from spectral_latent.ready import ready_models

    found = ready_models()
    if as_json:
        for model in found:
            click.echo(json.dumps(model._asdict() | {"bytes": model.file.stat().st_size}, ensure_ascii=False))
        return
    if not found:
        click.echo("This installation has no ready models.", err=True)
    for model in found:
        click.echo(f"{model.name:<6} {model.language}: {model.about} ({model.file.stat().st_size / 1e6:.1f} MB)")
        click.echo(f"       {model.sources}; {model.licence}")
