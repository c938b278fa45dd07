"""Write pages of HTML from one template, page.html, by jinja2, which the extra `pages` installs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from spectral_latent.drawing import readable

Drawings = Sequence[tuple[str, str]]  # captions and drawings as SVG


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


def page_of_sentences(title: str, sentences: Iterable[tuple[str, Drawings]]) -> str:
    """Write a page with a section for each sentence, in which its trees are drawn, the best first.

    A single tree has neither rank nor score, so that its caption is empty, or tells of a fallback."""
    captioned = []
    for heading, drawings in sentences:
        if len(drawings) == 1:
            ((caption, svg),) = drawings
            drawings = [(caption.partition(":")[0].removeprefix("Tree 1").removeprefix(", "), svg)]
        captioned.append((heading, drawings))
    return page(title, sentences=captioned)
