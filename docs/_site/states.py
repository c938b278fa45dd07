"""Draw a parse with the likeliest state of each tag, and words that share this state: docs/states.svg.

    python docs/_site/states.py en My sister told us the train was late again .

The model has one grammar, as `en` and the preset `fast` have.
"""

import re
import sys
from pathlib import Path

from spectral_latent import ConstituencyModel
from spectral_latent.drawing import escaped, tree_svg
from spectral_latent.inference import inside, outside, state_posteriors
from spectral_latent.inspection import describe_states

PICTURE = Path(__file__).resolve().parents[1] / "states.svg"
SHOWN = 4  # words of each state
LINE = 15  # height of a small line
PADDING = 12  # at both sides


def draw(model: ConstituencyModel, words: list[str]) -> str:
    """Draw the best tree, and below each word those that are most typical of its state."""
    tree = model.parse(words).tree
    grammar = model.members[0]
    weighed = grammar.forest_of([tree])
    forest = weighed.forest
    alpha = inside(weighed.operators, forest)
    beta = outside(weighed.operators, forest, alpha)
    posteriors = state_posteriors(alpha, beta)
    symbols = [str(symbol) for symbol in model.named_operators.symbols]
    described = [one for states in describe_states(model.named_operators, 9) for one in states]
    alike = {(one.symbol, one.state): one.words for one in described}
    # The items of words stand from left to right, and come before all that is built on them.
    leaves = [item for item, edge in enumerate(forest.start[:-1].tolist()) if forest.left[edge] < 0]
    names, below = [], []
    for node in tree.nodes():
        if isinstance(node, str):
            names.append(node)
            continue
        names.append(node.label)
        if node.is_preterminal():
            item = leaves[len(below)]
            symbol, state = symbols[forest.symbol[item]], int(posteriors[item].argmax())
            below.append(
                [word for word, _ in alike.get((symbol, state), []) if word.isalpha() and word not in node.children][
                    :SHOWN
                ]
            )
            names[-1] += f" {state}" if below[-1] else ""
    sizes = [-1 if isinstance(node, str) else len(node.children) for node in tree.nodes()]
    return with_lines(tree_svg(names, sizes, tree.bracketed()), sizes, below)


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
    PICTURE.write_text(draw(ConstituencyModel.load(sys.argv[1]), sys.argv[2:]) + "\n", encoding="utf-8")
