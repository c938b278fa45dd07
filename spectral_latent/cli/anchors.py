"""`spectral-latent anchors`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spectral_latent.cli.console import Console
from spectral_latent.cli.groups import Command
from spectral_latent.cli.options import json_option, number_option, quiet_option
from spectral_latent.cli.outputs import OutputFile

if TYPE_CHECKING:
    from spectral_latent.anchors import AnchorHMM

__all__ = ["anchors"]


def _label(given: str) -> tuple[str, str]:
    """Divide a label into an anchor, in lower case, and its tag."""
    anchor, _, tag = given.rpartition("=")
    if not anchor or not tag:
        raise click.UsageError(f"--label {given}: give an anchor and its tag, as in the=DET")
    return anchor.lower(), tag


@click.command(cls=Command)
@click.argument("model")
@number_option("--top", "N", "The number of words to show for each state.", default=10)
@click.option(
    "--label",
    "labels",
    metavar="ANCHOR=TAG",
    multiple=True,
    type=_label,
    help="Give the state of an anchor a tag; repeat the option for each anchor. The last = divides anchor and tag.",
)
@click.option(
    "-o",
    "--output",
    metavar="MODEL",
    type=OutputFile(may_be_read=True),
    help="The model file to write with --label; it may be the file that was read.",
)
@click.option(
    "--picture",
    metavar="FILE",
    type=OutputFile(needs=("matplotlib", "pictures")),
    help="Draw anchors and likely words in a plane; FILE ends in .svg, .png or .pdf.",
)
@json_option
@quiet_option
def anchors(
    model: str,
    top: int,
    labels: tuple[tuple[str, str], ...],
    output: Path | None,
    picture: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Show the states of an anchor model, and label them.

    The output has a line for each state: its number, its anchor, its label if it has one, its share of all words in
    percent, and its likeliest words with their probabilities; with --json, a line is an object, and a share a number
    between 0 and 1.  One label for each anchor makes the model a tagger.  A model with labels keeps those that are not
    given again.

    \b
    Examples:
      spectral-latent anchors anchors.model --picture anchors.svg
      spectral-latent anchors anchors.model --label the=DET --label dog=NOUN ... -o tagger.model"""
    from spectral_latent.inspection.anchors import anchor_rows, anchor_table, draw_anchors
    from spectral_latent.tasks.kinds import load_model
    from spectral_latent.tasks.training import record_of

    if (output is None) != (not labels):
        raise click.UsageError("--label and --output go together: give both, or neither")
    loaded: AnchorHMM = load_model(model, "anchors")
    if labels:
        old = {} if loaded.labels is None else dict(zip(loaded.anchors, loaded.labels, strict=True))
        try:
            loaded = loaded.label(old | dict(labels))
        except ValueError as error:
            raise click.ClickException(str(error)) from None
    if picture is not None:
        try:
            draw_anchors(loaded, picture)
        except (ImportError, ValueError) as error:
            raise click.ClickException(str(error)) from None
    if output is not None:
        loaded.save(output, record_of(model))
    if as_json:
        for row in anchor_rows(loaded, top):
            click.echo(json.dumps({**row._asdict(), "words": dict(row.words)}, ensure_ascii=False))
    else:
        click.echo(anchor_table(loaded, top))
    for file in filter(None, (output, picture)):
        Console(quiet).message(f"{file}: written")
