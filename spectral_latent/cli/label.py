"""`spectral-latent label`."""

from typing import Annotated, Any

import click

from spectral_latent.cli.inputs import load_for, record_of
from spectral_latent.cli.options import Command, Value
from spectral_latent.cli.outputs import OutputFile, message

_ModelFile = Annotated[
    Any,
    Value(
        "The model file to write; it may be the file that was read.",
        OutputFile(may_be_read=True),
        "OUT",
        ("-o", "--output"),
    ),
]


def label(
    model: str, labels: Annotated[tuple[str, ...], Value(metavar="ANCHOR=TAG...")], *, output: _ModelFile
) -> None:
    """Give tags to the states of an anchor model.

    `spectral-latent info MODEL --states` shows the states.  One label for each anchor makes the model a tagger.  A
    model with labels keeps those that are not given again.  The last = separates anchor and tag.

    \b
    Example:
      spectral-latent label anchors.model the=DET dog=NOUN ... -o tagger.model"""
    pairs = [each.rpartition("=") for each in labels]
    for given, (anchor, _, tag) in zip(labels, pairs, strict=True):
        if not anchor or not tag:
            raise click.UsageError(f"{given}: give an anchor and its tag, as in the=DET")
    loaded = load_for(model)
    try:
        labelled = _labelled(loaded, {anchor.lower(): tag for anchor, _, tag in pairs})
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    labelled.save(output, record_of(model))
    message(f"{output}: written")


def _labelled(model: Any, labels: dict[str, str]) -> Any:
    """Give an anchor model labels, beside those that it has."""
    old = {} if model.labels is None else dict(zip(model.anchors, model.labels, strict=True))
    return model.label(old | labels)


COMMAND = Command(label, {"anchors": _labelled})
