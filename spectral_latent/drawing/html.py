"""Write captions and tags as pieces of HTML, which need no style sheet and no network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from spectral_latent.drawing.svg import escaped

_TAGS_STYLE = ".sl-tags{line-height:2.6;ruby-position:under;word-spacing:.3em}.sl-tags rt{font-size:.75em}"


class Html(str):
    """A piece of HTML, which notebooks render.

    >>> Html("<b>dogs</b>")._repr_html_()
    '<b>dogs</b>'
    """

    def _repr_html_(self) -> str:
        return str(self)


def captioned_html(drawings: Iterable[tuple[str, str]]) -> Html:
    """Put drawings one below the other, each under its caption.

    drawings: pairs of a caption and a drawing as SVG.

    >>> captioned_html([("log p = -1.5", "<svg></svg>")]).count("<p>log p = -1.5</p>")
    1
    """
    # A drawing that is wider than the screen scrolls by itself, also by keyboard.
    region = '<p>{0}</p><div style="overflow-x:auto" role="region" aria-label="{0}" tabindex="0">{1}</div>'
    return Html("".join(region.format(escaped(caption), svg) for caption, svg in drawings))


def tagged_html(words: Sequence[str], tags: Sequence[str]) -> Html:
    """Write the words of a sentence with the tag of each below it.

    >>> tagged_html(["dogs"], ["NNS"])  # doctest: +ELLIPSIS
    '<style>...</style><p class="sl-tags"><ruby>dogs<rt>NNS</rt></ruby></p>'
    """
    pairs = zip(words, tags, strict=True)
    shown = " ".join(f"<ruby>{escaped(word)}<rt>{escaped(tag)}</rt></ruby>" for word, tag in pairs)
    return Html(f'<style>{_TAGS_STYLE}</style><p class="sl-tags">{shown}</p>')
