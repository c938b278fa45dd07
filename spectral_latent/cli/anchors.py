"""`spectral-latent anchors`."""

from __future__ import annotations

from pathlib import Path

import click

from spectral_latent.cli.models import load
from spectral_latent.cli.notes import Notes, quiet_option
from spectral_latent.cli.outputs import can_be_written

__all__ = ["anchors"]


@click.command()
@click.argument("model")
@click.option(
    "--top",
    metavar="N",
    default=10,
    show_default=True,
    type=click.IntRange(min=1),
    help="How many words of each state.",
)
@click.option(
    "--label",
    "labels",
    metavar="ANCHOR=TAG",
    multiple=True,
    help="Give an anchor's state a tag; repeat it for all anchors. The last = divides.",
)
@click.option(
    "-o",
    "--output",
    metavar="MODEL",
    type=click.Path(path_type=Path),
    callback=can_be_written,
    help="The model file to write with --label; it may be the same.",
)
@click.option(
    "--picture",
    metavar="FILE",
    type=click.Path(path_type=Path),
    callback=can_be_written,
    help="Draw anchors and likely words in a plane: FILE.svg, .png or .pdf.",
)
@quiet_option
def anchors(
    model: str, top: int, labels: tuple[str, ...], output: Path | None, picture: Path | None, quiet: bool
) -> None:
    """Show the states of an anchor model, and label them.

    A line for each: its number, its anchor, its label if it has one, its share of all words in percent, and its
    likeliest words with their probabilities.  One label for each anchor makes the model a tagger.  A model that has
    labels keeps those that are not given again.
    """
    from spectral_latent.anchors.tables import anchor_table, draw_anchors

    if (output is None) != (not labels):
        raise click.UsageError("--label and --output go together: give both, or neither")
    loaded = load(model).anchors()
    if labels:
        old = {} if loaded.labels is None else dict(zip(loaded.anchors, loaded.labels, strict=True))
        try:
            loaded = loaded.label(old | dict(map(_label, labels)))
        except ValueError as error:
            raise click.ClickException(str(error)) from None
    if picture is not None:
        try:
            draw_anchors(loaded, picture)
        except (ImportError, ValueError) as error:
            raise click.ClickException(str(error)) from None
    if output is not None:
        loaded.save(output)
    click.echo(anchor_table(loaded, top))
    for file in filter(None, (output, picture)):
        Notes(quiet).say(f"{file}: written")


def _label(given: str) -> tuple[str, str]:
    """An anchor, in lower case, and its tag.

    >>> _label("The=DET"), _label("==PUNCT")
    (('the', 'DET'), ('=', 'PUNCT'))
    """
    anchor, _, tag = given.rpartition("=")
    if not anchor or not tag:
        raise click.UsageError(f"--label {given}: give an anchor and its tag, as in the=DET")
    return anchor.lower(), tag
