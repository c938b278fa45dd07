"""Draw the trees of sentences on a page, or as pictures."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import click

from spectral_latent.cli.outputs import OutputFile, results

__all__ = ["DrawnSentence", "PictureFile", "page_of_sentences", "write_pictures"]

_OTHER_FORMATS = (".gif", ".html", ".jpeg", ".jpg", ".pdf", ".png", ".ps", ".tiff", ".webp")
_NOTHING = "the input has no words, so that there is nothing to draw"


class DrawnSentence(NamedTuple):
    """A sentence with the drawings of its trees.

    title: the name of the sentence and its words.
    drawings: the caption of each tree, and the tree as SVG, the best first.
    """

    title: str
    drawings: list[tuple[str, str]]


class PictureFile(OutputFile):
    """The type of an option that names a picture to write, whose name ends in .svg, or else a folder for pictures."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check that the picture can be written, or that no file has the name of the folder.

        value: the path as given on the command line.
        param: the option that names the picture or the folder.
        ctx: the command that is run.
        """
        folder = Path(value)
        if _is_picture(folder):
            return super().convert(value, param, ctx)
        if folder.suffix.lower() in _OTHER_FORMATS:
            self.fail(f"{value}: pictures are SVG; name one that ends in .svg, or a folder", param, ctx)
        if folder.exists() and not folder.is_dir():
            self.fail(f"{value}: a file; name a picture that ends in .svg, or a folder", param, ctx)
        if not folder.parent.is_dir():
            self.fail(f"{value}: the folder around it does not exist; create it first", param, ctx)
        return folder

    def written(self, path: Path) -> Iterable[Path]:
        """List the picture, or all pictures in the folder.

        path: the value of the option.
        """
        return super().written(path) if _is_picture(path) else path.glob("*.svg")


def _is_picture(path: Path) -> bool:
    """Tell whether a path names a picture, and not a folder."""
    return path.suffix.lower() == ".svg"


def write_pictures(sentences: Iterable[DrawnSentence], path: Path) -> None:
    """Write drawn trees to one picture, or each tree to a picture of its own in a folder, which need not exist.

    sentences: the sentences with their drawings.
    path: the picture, whose name ends in .svg, or the folder.

    Raises ClickException if there is nothing to draw.

    >>> import tempfile
    >>> drawing = '<svg width="1" height="1"></svg>'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_pictures([DrawnSentence("1: Yes", [("Tree 1", drawing), ("Tree 2", drawing)])], Path(folder))
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['1-2.svg', '1.svg']
    """
    from spectral_latent.drawing import captioned_svg

    if _is_picture(path):
        drawings = [
            (f"{sentence.title}  ({caption})", svg) for sentence in sentences for caption, svg in sentence.drawings
        ]
        if not drawings:
            raise click.ClickException(_NOTHING)
        with results(path) as write:
            write(captioned_svg(drawings))
        return
    path.mkdir(exist_ok=True)
    number = 0
    for number, sentence in enumerate(sentences, start=1):
        for rank, (_, svg) in enumerate(sentence.drawings, start=1):
            with results(path / (f"{number}.svg" if rank == 1 else f"{number}-{rank}.svg")) as write:
                write(svg)
    if not number:
        raise click.ClickException(_NOTHING)


def page_of_sentences(title: str, sentences: Iterable[DrawnSentence]) -> str:
    """Write a page with a section for each sentence, in which its trees are drawn.

    title: the title of the page.
    sentences: the sentences with their drawings.

    >>> page_of_sentences("Trees", [DrawnSentence("1: Yes", [("Tree 1", "<svg></svg>")])]).count("<h2")
    1
    """
    from spectral_latent.cli.page import page, section
    from spectral_latent.drawing import captioned_html

    sections = (
        section(f"s{number}", sentence.title, captioned_html(sentence.drawings))
        for number, sentence in enumerate(sentences, start=1)
    )
    return page(title, sections)
