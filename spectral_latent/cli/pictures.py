"""Draw the trees of sentences as one picture."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from spectral_latent.cli.outputs import results
from spectral_latent.cli.page import DrawnSentence

__all__ = ["write_picture"]


def write_picture(sentences: Iterable[DrawnSentence], path: Path) -> None:
    """Write drawn trees one below the other.  Raises ClickException if there is nothing to draw."""
    from spectral_latent.drawing import captioned_svg

    drawings = [(f"{sentence.title}  ({caption})", svg) for sentence in sentences for caption, svg in sentence.drawings]
    if not drawings:
        raise click.ClickException("the input has no words, so that there is nothing to draw")
    with results(path) as write:
        write(captioned_svg(drawings))
