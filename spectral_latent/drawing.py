"""Draw trees and arcs as SVG, and write them as HTML with their scores, for notebooks and browsers.

In a page, lines and letters have the colour of the text around the picture.  A picture in a file of its own has the
light or dark colours that the reader has chosen.  Every picture has a text with the same content, for screen readers.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["arcs_svg", "captioned_html", "escaped", "tree_svg"]

_LETTER = 8.0  # width of a letter of 14 pixels; wide letters, such as those of Chinese, have twice this width
_GAP = 14.0  # between two words
_LEVEL = 46.0  # from a node to its children, or from an arc to the next
_LINE = 18.0  # height of a line of text
_NOT_XML = ("Cc", "Cs")  # Unicode categories of letters that XML cannot hold
_STYLE = (
    ".sl text{font:14px sans-serif;fill:currentColor;text-anchor:middle}.sl .s{font-size:11px}"
    ".sl path{fill:none;stroke:currentColor}.sl .h{fill:currentColor;stroke:none}"
    "svg:root{color-scheme:light dark;color:CanvasText;background:Canvas}"  # for a picture in a file of its own
)


def _width(text: str) -> float:
    """Estimate the width of a text."""
    return _LETTER * sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def escaped(text: str) -> str:
    """Write a text for XML and HTML; � stands for control characters and halves of surrogate pairs, which XML lacks.

    >>> escaped("<b> & " + chr(7))
    '&lt;b&gt; &amp; �'
    """
    letters = (
        "\ufffd" if unicodedata.category(letter) in _NOT_XML or letter in "\ufffe\uffff" else letter for letter in text
    )
    return escape("".join(letters))


def _text(x: float, y: float, text: str, small: bool = False) -> str:
    """Write a text with its middle at x and its base line at y."""
    kind = ' class="s"' if small else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{kind}>{escaped(text)}</text>'


def _picture(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    """Join the parts of a picture, and give it a title for screen readers."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="sl" role="img" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}"><title>{escaped(title)}</title><style>{_STYLE}</style>'
        f"{''.join(parts)}</svg>"
    )


def tree_svg(names: Sequence[str], sizes: Sequence[int], title: str) -> str:
    """Draw a tree with its root at the top.

    names: the text of each node, parents before children, left to right.
    sizes: the number of children of each node; 0 or -1 for a leaf.
    title: a text with the same content as the picture.

    Raises ValueError if there is no node.

    >>> picture = tree_svg(["NP", "dogs"], [1, -1], "(NP dogs)")
    >>> picture.count("<text"), picture.count("<path")
    (2, 1)
    """
    if not names:
        raise ValueError("a tree without nodes cannot be drawn")
    children = _children(sizes)
    # Every node gets a box that is wide enough for its name, and for the boxes of its children side by side (inner).
    inner = [0.0] * len(names)
    box = [0.0] * len(names)
    for node in range(len(names) - 1, -1, -1):
        inner[node] = sum(box[child] for child in children[node])
        box[node] = max(inner[node], _width(names[node]) + _GAP)
    # From the root down, every node gives its children their places in the middle of its box.
    left = [0.0] * len(names)
    y = [_LINE] * len(names)
    parts: list[str] = []
    for node, name in enumerate(names):
        x = left[node] + box[node] / 2
        parts.append(_text(x, y[node], name))
        edge = x - inner[node] / 2
        for child in children[node]:
            left[child] = edge
            y[child] = y[node] + _LEVEL
            edge += box[child]
            x_child = left[child] + box[child] / 2
            parts.append(f'<path d="M{x:.1f} {y[node] + 5:.1f}L{x_child:.1f} {y[child] - 14:.1f}"/>')
    return _picture(box[0], max(y) + 10, title, parts)


def _children(sizes: Sequence[int]) -> list[list[int]]:
    """List the children of each node, given how many it has; parents come before children, left to right."""
    children: list[list[int]] = [[] for _ in sizes]
    waiting: list[int] = []  # nodes whose children are not complete, from the root down
    for node, size in enumerate(sizes):
        if waiting:
            children[waiting[-1]].append(node)
            if len(children[waiting[-1]]) == sizes[waiting[-1]]:
                waiting.pop()
        if size > 0:
            waiting.append(node)
    return children


def _levels(heads: Sequence[int]) -> list[int]:
    """Compute the level of the arc to each word, which is above all shorter arcs between its ends; 0 for roots."""
    n = len(heads)
    spans = [(min(head, word), max(head, word)) for word, head in enumerate(heads, start=1)]
    levels = [0] * n
    above = [0] * (n + 2)  # the level of the highest arc so far over the gap before each word
    for word in sorted(range(n), key=lambda word: spans[word][1] - spans[word][0]):
        first, last = spans[word]
        if heads[word] == 0:
            continue
        levels[word] = 1 + max(above[first + 1 : last + 1], default=0)
        above[first + 1 : last + 1] = [levels[word]] * (last - first)
    return levels


def arcs_svg(words: Sequence[str], tags: Sequence[str], heads: Sequence[int], relations: Sequence[str]) -> str:
    """Draw words side by side with arcs above, from each head to its dependents.

    tags: the tag of each word, which stands below it.
    heads: the number of each word's head, where the first word is 1; 0 for a root, which has a line from above.

    Raises ValueError if a head is neither 0 nor a word.

    >>> picture = arcs_svg(["Dogs", "bark"], ["NNS", "VBP"], [2, 0], ["nsubj", "root"])
    >>> picture.count("<text"), picture.count("<path")
    (6, 4)
    """
    for number, head in enumerate(heads, start=1):
        if not 0 <= head <= len(words):
            raise ValueError(f"word {number} has the head {head}, and there are {len(words)} words")
    levels = _levels(heads)
    columns = zip(words, tags, relations, strict=True)
    widths = [max(_width(word), 0.8 * _width(tag), 0.8 * _width(relation)) for word, tag, relation in columns]
    middles: list[float] = []
    end = _GAP
    for width in widths:
        middles.append(end + width / 2)
        end += width + 2 * _GAP
    top = _LINE
    base = top + (max(levels, default=0) + 1) * 0.8 * _LEVEL
    parts: list[str] = []
    for number, (word, tag, head, relation) in enumerate(zip(words, tags, heads, relations, strict=True), start=1):
        x = middles[number - 1]
        parts += (_text(x, base + _LINE, word), _text(x, base + 2 * _LINE, tag, small=True))
        high = base - levels[number - 1] * 0.8 * _LEVEL if head else top
        # An arc leaves its head on the side of the dependent, so that arcs in and out do not meet.
        start = x if not head else middles[head - 1] + (4 if head < number else -4)
        # A curve with its control points at the height `high` rises to three quarters of it, where its label stands.
        curve = f"C{start:.1f} {high:.1f} {x:.1f} {high:.1f} {x:.1f} {base - 4:.1f}"
        parts.append(f'<path d="M{start:.1f} {base if head else top:.1f}{curve}"/>')
        parts.append(f'<path class="h" d="M{x:.1f} {base:.1f}l-4 -8h8z"/>')
        parts.append(_text((start + x) / 2, (base + 3 * high) / 4 - 4 if head else top - 4, relation, small=True))
    names = ["the root", *words]
    title = ", ".join(
        f"{word}: {relation} of {names[head]}" for word, head, relation in zip(words, heads, relations, strict=True)
    )
    return _picture(end, base + 2 * _LINE + 10, title, parts)


def captioned_html(drawings: Iterable[tuple[str, str]]) -> str:
    """Put drawings one below the other, each under its caption.

    drawings: pairs of a caption and a drawing as SVG.

    >>> captioned_html([("log p = -1.5", "<svg></svg>")]).count("<p>log p = -1.5</p>")
    1
    """
    # A drawing that is wider than the screen scrolls by itself, also by keyboard.
    region = '<p>{0}</p><div style="overflow-x:auto" role="region" aria-label="{0}" tabindex="0">{1}</div>'
    return "".join(region.format(escaped(caption), svg) for caption, svg in drawings)
