"""Write pages of HTML from one template, page.html, by jinja2, which the extra `pages` installs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from spectral_latent.drawing import readable

__all__ = ["Drawings", "DrawnSentence", "page", "page_of_sentences"]

Drawings = Sequence[tuple[str, str]]  # captions and drawings as SVG


class DrawnSentence(NamedTuple):
    """A sentence with its name, and the drawings of its trees, the best first."""

    title: str
    drawings: Drawings


def page(title: str, **parts: Any) -> str:
    """Write a page; the template names its parts, and escapes all texts but drawings."""
    from jinja2 import Environment

    def final(value: Any) -> Any:
        """Replace what neither HTML nor UTF-8 can hold; what is marked as HTML stays."""
        return readable(value) if type(value) is str else value

    environment = Environment(autoescape=True, finalize=final, trim_blocks=True)
    environment.tests["binarised"] = lambda symbol: symbol.startswith("@")
    template = environment.from_string(Path(__file__).with_suffix(".html").read_text(encoding="utf-8"))
    return template.render(title=title, **parts)


def page_of_sentences(title: str, sentences: Iterable[DrawnSentence]) -> str:
    """Write a page with a section for each sentence, in which its trees are drawn."""
    return page(title, sentences=[(heading, _captioned(drawings)) for heading, drawings in sentences])


def _captioned(drawings: Drawings) -> Drawings:
    """Leave out the rank and the score of a single tree, so that its caption is empty, or tells of a fallback."""
    if len(drawings) > 1:
        return drawings
    return [(caption.partition(":")[0].removeprefix("Tree 1").removeprefix(", "), svg) for caption, svg in drawings]
