"""`spectral-latent verify`."""

from __future__ import annotations

import click

from spectral_latent._texts import printable
from spectral_latent.cli.console import Console
from spectral_latent.cli.options import jobs_option, quiet_option

__all__ = ["verify"]

_SHOWN = 20  # the largest number of differences that are printed


@click.command()
@click.argument("model")
@click.argument("sources", metavar="[SOURCE]...", nargs=-1)
@jobs_option
@quiet_option
def verify(model: str, sources: tuple[str, ...], jobs: int, quiet: bool) -> None:
    """Train a model again, and compare it with its file to the last bit.

    The record in MODEL, which `train` writes and `info` shows, has the settings and a digest of the content of each
    source.  Give the sources in their order, those of --choose-states or --text last; without SOURCE, the names in the
    record are used.  Other content than that of the record is refused before training begins.

    The exit status is 0 if both models are the same; otherwise it is 1, and the differences are printed.  Other
    versions of the library, of NumPy and of SciPy, and other kinds of processor, may make another model.

    \b
    Examples:
      spectral-latent verify wsj.model
      spectral-latent verify wsj.model sections/"""
    from spectral_latent.tasks import differences_of, train_again

    again = train_again(model, sources, jobs, Console(quiet))
    differences, library = differences_of(model, again)
    if not differences:
        click.echo(f"{model}: trained again, the same model")
        return
    click.echo(f"{model}: trained again, another model")
    for line in [library, *differences[:_SHOWN]] if library else differences[:_SHOWN]:
        click.echo(printable(f"  {line}"))
    if len(differences) > _SHOWN:
        click.echo(f"  and {len(differences) - _SHOWN} further differences")
    click.get_current_context().exit(1)
