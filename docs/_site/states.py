"""Draw a parse with the likeliest state of each tag, and words that share this state: docs/states.svg.

    python docs/_site/states.py en My friends told her that the soup was cold

The model has one grammar, as `en` and the preset `fast` have.
"""

import re
import sys
from pathlib import Path

from nltk import Tree

from spectral_latent.drawing import escaped, tree_svg
from spectral_latent.inspection import describe_states
from spectral_latent_nltk import SpectralParser

PICTURE = Path(__file__).resolve().parents[1] / "states.svg"
SHOWN = 4  # words of each state
LINE = 15  # height of a small line
PADDING = 12  # at both sides


def draw(parser: SpectralParser, words: list[str]) -> str:
    """Draw the best tree, and below each word those that are most typical of its state."""
    described = [one for states in describe_states(parser.model.named_operators, 9) for one in states]
    alike = {(one.symbol, one.state): [word for word, _ in one.words if word.isalpha()] for one in described}
    names: list[str] = []
    sizes: list[int] = []
    below: list[list[str]] = []

    def add(node: Tree, above: tuple[str, ...] = ()) -> None:
        """Add a node with its descendants; labels over the same words are one symbol."""
        label, _, state = node.label().rpartition("-")
        sizes.append(len(node))
        if isinstance(node[0], str):
            names.extend([f"{label} {state}", node[0]])
            sizes.append(-1)
            typical = alike["|".join((*above, label)), int(state)]
            below.append([word for word in typical if word != node[0]][:SHOWN])
            return
        names.append(label)
        for child in node:
            add(child, (*above, label) if len(node) == 1 else ())

    tree = parser.parse_one(words)
    add(parser.states(tree))
    return with_lines(tree_svg(names, sizes, " ".join(str(tree).split())), sizes, below)


def with_lines(svg: str, sizes: list[int], below: list[list[str]]) -> str:
    """Write small lines below each word of a drawn tree."""
    places = re.findall(r'<text x="([\d.]+)" y="([\d.]+)">', svg)
    words = [place for place, size in zip(places, sizes, strict=True) if size < 0]
    lines = [
        f'<text class="s" fill-opacity="0.6" x="{x}" y="{float(y) + LINE * row:.1f}">{escaped(text)}</text>'
        for (x, y), texts in zip(words, below, strict=True)
        for row, text in enumerate(texts, start=1)
    ]
    height = max(float(y) for _, y in words) + LINE * SHOWN + 10
    wide = re.search(r'width="(\d+)" height="\d+" viewBox="0 0 \d+ \d+"', svg)
    assert wide is not None
    width = int(wide[1]) + 2 * PADDING
    size = f'width="{width}" height="{height:.0f}" viewBox="{-PADDING} 0 {width} {height:.0f}"'
    return svg.replace(wide[0], size).replace("</svg>", "".join(lines) + "</svg>")


if __name__ == "__main__":
    PICTURE.write_text(draw(SpectralParser.load(sys.argv[1]), sys.argv[2:]) + "\n", encoding="utf-8")
