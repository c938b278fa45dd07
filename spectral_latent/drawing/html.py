"""Write captions, tags and posteriors as pieces of HTML, which need no style sheet and no network.

Letters have the colour of the page around them, so that pieces can be read on light and on dark pages.  The only other
colour is a blue that the colour-blind see, too, and every blue cell shows its number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from spectral_latent.drawing.svg import escaped

__all__ = ["Html", "captioned_html", "heat_map", "scrolled", "tagged_html", "tags_heat_map"]

_BLUE = "0,114,178"  # of the palette of Okabe and Ito
_DARKEST = 0.75  # the opacity of the blue for the number 1; letters on it can be read in both colour schemes
_LEAST = 0.005  # smaller numbers are left out
_HEAT_STYLE = (
    ".sl-heat{border-collapse:collapse}.sl-heat caption{text-align:left;font-weight:600}"
    ".sl-heat tr{border-top:1px solid rgba(128,128,128,.3)}"
    ".sl-heat td{padding:.1rem .3rem;font-size:.75rem;text-align:center;min-width:1.8rem;white-space:nowrap}"
    ".sl-heat th{padding:.1rem .3rem;font-size:.8rem;font-weight:400;text-align:left}"
    ".sl-heat thead th{writing-mode:vertical-rl;text-align:right}"
)
_TAGS_STYLE = ".sl-tags{line-height:2.6;ruby-position:under;word-spacing:.3em}.sl-tags rt{font-size:.75em}"


class Html(str):
    """A piece of HTML, which notebooks render.

    >>> Html("<b>dogs</b>")._repr_html_()
    '<b>dogs</b>'
    """

    def _repr_html_(self) -> str:
        return str(self)


def scrolled(caption: str, html: str) -> Html:
    """Put HTML that may be wider than a screen into a region that scrolls by itself, also by keyboard.

    caption: the name of the region, for screen readers.
    html: the HTML.

    >>> scrolled("Words", "<p>dogs</p>").count("tabindex")
    1
    """
    return Html(f'<div style="overflow-x:auto" role="region" aria-label="{escaped(caption)}" tabindex="0">{html}</div>')


def captioned_html(drawings: Iterable[tuple[str, str]]) -> Html:
    """Put drawings one below the other, each under its caption.

    drawings: pairs of a caption and a drawing as SVG.

    >>> captioned_html([("log p = -1.5", "<svg></svg>")]).count("<p>log p = -1.5</p>")
    1
    """
    return Html("".join(f"<p>{escaped(caption)}</p>{scrolled(caption, svg)}" for caption, svg in drawings))


def tagged_html(words: Sequence[str], tags: Sequence[str]) -> Html:
    """Write the words of a sentence with the tag of each below it.

    words: the n words.
    tags: the tag of each word.

    >>> tagged_html(["dogs"], ["NNS"])  # doctest: +ELLIPSIS
    '<style>...</style><p class="sl-tags"><ruby>dogs<rt>NNS</rt></ruby></p>'
    """
    pairs = zip(words, tags, strict=True)
    shown = " ".join(f"<ruby>{escaped(word)}<rt>{escaped(tag)}</rt></ruby>" for word, tag in pairs)
    return Html(f'<style>{_TAGS_STYLE}</style><p class="sl-tags">{shown}</p>')


def heat_map(
    caption: str,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Iterable[Sequence[float]],
    labels: Iterable[Sequence[str]] | None = None,
) -> Html:
    """Write a table of probabilities, in which cells with larger numbers are darker.

    caption: the title above the table.
    rows: the names of n rows.
    columns: the names of k columns.
    values: n rows of k numbers; a number that rounds to zero is left out, and estimates above 1 are as dark as 1.
    labels: n rows of k texts, which stand before the numbers; None for no texts.

    >>> heat_map("Posteriors", ["dogs"], ["N", "V"], [[0.75, 0.001]]).count(">.75<")
    1
    >>> heat_map("Posteriors", ["dogs"], ["bark"], [[1.0]], [["NP"]]).count(">NP 1.00<")
    1
    >>> heat_map("Posteriors", ["dogs"], ["bark"], [[1.5]]).count('0.75)">1.50<')
    1
    """
    if labels is None:
        labels = [[""] * len(columns)] * len(rows)
    head = "".join(f'<th scope="col">{escaped(column)}</th>' for column in columns)
    body = []
    for name, numbers, texts in zip(rows, values, labels, strict=True):
        cells = "".join(_cell(number, text) for number, text in zip(numbers, texts, strict=True))
        body.append(f'<tr><th scope="row">{escaped(name)}</th>{cells}</tr>')
    return scrolled(
        caption,
        f'<style>{_HEAT_STYLE}</style><table class="sl-heat"><caption>{escaped(caption)}</caption>'
        f"<thead><tr><td></td>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>",
    )


def tags_heat_map(words: Sequence[str], tags: Sequence[str], posteriors: Sequence[Sequence[float]]) -> Html:
    """Write the posteriors of the tags of words as a heat map, without the tags that no word may have.

    words: the n words.
    tags: the names of the K tags.
    posteriors: for each word, the posteriors of the K tags.

    >>> tags_heat_map(["dogs", "bark"], ["D", "N", "V"], [[0.0, 1.0, 0.0], [0.0, 0.25, 0.75]]).count('scope="col"')
    2
    """
    shown = [tag for tag in range(len(tags)) if any(row[tag] >= _LEAST for row in posteriors)]
    rows = [[row[tag] for tag in shown] for row in posteriors]
    return heat_map("Posterior of the tag of the column", words, [tags[tag] for tag in shown], rows)


def _cell(number: float, label: str) -> str:
    """Write a cell of a heat map, which is empty if its number rounds to zero."""
    if number < _LEAST:
        return "<td></td>"
    shown = f"{number:.2f}".removeprefix("0")
    text = escaped(f"{label} {shown}") if label else shown
    return f'<td style="background:rgba({_BLUE},{_DARKEST * min(number, 1.0):.2f})">{text}</td>'
