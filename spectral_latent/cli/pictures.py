"""Draw the trees of sentences as one picture."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from spectral_latent.cli.outputs import OutputFile, results
from spectral_latent.cli.page import DrawnSentence

__all__ = ["PictureFile", "write_picture"]


class PictureFile(OutputFile):
    """The type of an option that names a picture to write, whose name ends in .svg."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check that the picture can be written."""
        if Path(value).suffix.lower() != ".svg":
            self.fail(f"{value}: pictures are SVG; name a file that ends in .svg", param, ctx)
        return super().convert(value, param, ctx)


def write_picture(sentences: Iterable[DrawnSentence], path: Path) -> None:
    """Write drawn trees one below the other.  Raises ClickException if there is nothing to draw."""
    from spectral_latent.drawing import captioned_svg

    drawings = [(f"{sentence.title}  ({caption})", svg) for sentence in sentences for caption, svg in sentence.drawings]
    if not drawings:
        raise click.ClickException("the input has no words, so that there is nothing to draw")
    with results(path) as write:
        write(captioned_svg(drawings))
