"""Draw learning curves of constituency parsers: F1 against trees, and against CPU seconds of training.

    python -m benchmarks.learning_curve measure sample --presets fast accurate --sizes 125 250 500 1000 2000
    python -m benchmarks.learning_curve measure CRAFT --presets fast --sizes 1000 4000
    python -m benchmarks.learning_curve show    # slopes, and docs/learning_curve.svg, of the points of results.jsonl

`measure` prints points, each measured in a process of its own, and `python -m benchmarks` keeps them.  Parts of a
treebank are nested: the first trees in one random order.  Seconds are CPU seconds of training after compilation, from
trees in memory to a model in memory.  F1 is measured on the dev part: on all sentences of NLTK's treebank sample, and
on every sixth of CRAFT's sentences of at most 40 words.  The points of the Berkeley parser (split-merge EM, one point
for each number of cycles) were measured once on the same trees; its points of CRAFT on all sentences of at most 40
words.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks._measure import in_new_process, print_head
from benchmarks._results import read_results
from spectral_latent.constituency import ConstituencyModel, Phrase, preset
from spectral_latent.corpora import constituency_trees
from spectral_latent.evaluation import GoldTree, evaluate_parser

TABLE = "learning-curve"
CRAFT = Path(os.environ.get("SPECTRAL_LATENT_DATA", "."), "treebanks", "craft")
PICTURE = Path(__file__).resolve().parents[1] / "docs" / "learning_curve.svg"
BERKELEY = "Berkeley parser"
COLOURS = {  # the palette of Okabe and Ito
    "fast": "#0072b2",
    "clusters": "#e69f00",
    "accurate": "#009e73",
    "best": "#d55e00",
    BERKELEY: "#cc79a7",
}
GREY = "#808080"  # readable on white and on black
WIDTH = 320  # the width and the height of a panel
HEIGHT = 210
LEFT = 34  # the margins of a panel
TOP = 22
F1_RANGE = (60.0, 90.0)


class Treebank(NamedTuple):
    """A treebank to learn from, and one to parse.

    train: the name of the trees to learn from.
    evaluate: the name of the trees whose sentences are parsed.
    every: 1 if all these sentences are parsed, 6 if every sixth is parsed.
    max_words: the largest number of words of a sentence that is parsed.
    """

    train: str
    evaluate: str
    every: int
    max_words: int


TREEBANKS = {
    "sample": Treebank("nltk:treebank:train", "nltk:treebank:dev", 1, 1000),
    "CRAFT": Treebank(str(CRAFT / "train"), str(CRAFT / "dev"), 6, 40),
}


class Point(NamedTuple):
    """A parser that was learnt from some trees of a treebank."""

    treebank: str
    parser: str
    trees: int
    seconds: float
    f1: float

    @property
    def curve(self) -> str:
        """The parser, without the number of its cycles."""
        return self.parser.partition(",")[0]


def measure(name: str, source: Treebank, parser: str, size: int) -> Point:
    """Learn a parser of a preset from the first trees of a treebank, and evaluate it."""
    warm = [Phrase("S", (Phrase("A", (a,)), Phrase("B", ("b",)))) for a in "ab"]
    ConstituencyModel.train(warm, preset(parser)).parse(["a", "b"])  # type: ignore[arg-type]
    trees = list(constituency_trees(source.train))
    order = np.random.default_rng(0).permutation(len(trees))[:size]
    part = [trees[number] for number in order.tolist()]
    start = time.process_time()
    model = ConstituencyModel.train(part, preset(parser))  # type: ignore[arg-type]
    seconds = time.process_time() - start
    gold = [tree for tree in map(GoldTree.of, constituency_trees(source.evaluate)) if tree is not None]
    short = [tree for tree in gold if len(tree.words) <= source.max_words][:: source.every]
    return Point(name, parser, len(part), round(seconds, 1), round(evaluate_parser(model, short).score.f1, 2))


def read_points() -> list[Point]:
    """Read all points, sorted by treebank, parser, number of trees and seconds."""
    rows = (list(result.cells.values()) for result in read_results() if result.table == TABLE)
    points = [Point(name, parser, int(trees), float(s), float(f1)) for name, parser, trees, s, f1 in rows]
    parsers = list(COLOURS)
    order = {"sample": 0, "CRAFT": 1}
    return sorted(points, key=lambda point: (order[point.treebank], parsers.index(point.curve), *point[2:]))


def curves(points: Sequence[Point]) -> Iterator[tuple[str, str, list[Point]]]:
    """Divide points by treebank and parser."""
    for (treebank, parser), group in groupby(points, key=lambda point: (point.treebank, point.curve)):
        yield treebank, parser, list(group)


def gain_of_doubling(curve: Sequence[Point]) -> float:
    """Fit error ∝ trees^e by least squares, and return the share by which twice the trees lower the error."""
    exponent, _ = np.polyfit(np.log([point.trees for point in curve]), np.log([100 - point.f1 for point in curve]), 1)
    return float(1.0 - 2.0**exponent)


def print_slopes(points: Sequence[Point]) -> None:
    """Print by how much the errors of each parser fall."""
    print_head(["treebank", "parser"], ["twice the trees: errors fall by"])
    for treebank, parser, curve in curves(points):
        if len({point.trees for point in curve}) > 2:
            print(f"| {treebank} | {parser} | {gain_of_doubling(curve):.0%} |")


class Panel:
    """One of the panels of the picture: F1 against a quantity on a logarithmic axis."""

    def __init__(self, left: int, top: int, title: str, ticks: Sequence[int]) -> None:
        self.left = left + LEFT
        self.top = top + TOP
        self.range = np.log([ticks[0], ticks[-1]])
        low, high = F1_RANGE
        self.parts = [f'<text x="{self.left}" y="{self.top - 9}">{escape(title)}</text>']
        for f1 in np.arange(low, high + 1, 10.0).tolist():
            y = self.y(f1)
            self.parts.append(
                f'<path d="M{self.left} {y:.1f}h{WIDTH - LEFT - 12}" stroke="{GREY}" stroke-opacity=".3"/>'
            )
            self.parts.append(f'<text x="{self.left - 6}" y="{y + 4:.1f}" text-anchor="end">{f1:.0f}</text>')
        for tick in ticks:
            text = f"{tick:,}"
            y = self.y(low) + 16
            self.parts.append(f'<text x="{self.x(tick):.1f}" y="{y:.1f}" text-anchor="middle">{text}</text>')

    def x(self, value: float) -> float:
        """Compute the horizontal place of a quantity."""
        low, high = self.range
        return float(self.left + 8 + (np.log(value) - low) / (high - low) * (WIDTH - LEFT - 32))

    def y(self, f1: float) -> float:
        """Compute the vertical place of an F1."""
        low, high = F1_RANGE
        return self.top + (high - f1) / (high - low) * (HEIGHT - TOP - 26)

    def draw(self, parser: str, curve: Sequence[tuple[float, float]]) -> None:
        """Draw the points of a parser and a line through them; `curve` has the quantity and the F1 of each point."""
        colour = COLOURS[parser]
        places = [(round(self.x(value), 1), round(self.y(f1), 1)) for value, f1 in curve]
        line = " ".join(f"{x},{y}" for x, y in places)
        dash = ' stroke-dasharray="4 3"' if parser == BERKELEY else ""
        self.parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.6"{dash}/>')
        self.parts += [f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in places]


def picture(points: Sequence[Point]) -> str:
    """Draw F1 against trees and against seconds, a row of two panels for each treebank, as SVG."""
    panels = []
    for row, (treebank, group) in enumerate(groupby(points, key=lambda point: point.treebank)):
        several = list(group)
        top = 24 + row * HEIGHT
        trees = Panel(0, top, f"{treebank}: F1 against trees", [100, 1000, 10_000, 30_000])
        seconds = Panel(WIDTH, top, f"{treebank}: F1 against CPU seconds of training", [1, 10, 100, 1000])
        for _, parser, curve in curves(several):
            # The points of the Berkeley parser differ only in seconds, because each has learnt from the whole treebank.
            trees.draw(parser, [(point.trees, point.f1) for point in curve])
            seconds.draw(parser, [(point.seconds, point.f1) for point in sorted(curve, key=lambda p: p.seconds)])
        panels += [trees, seconds]
    parts = [part for panel in panels for part in panel.parts]
    for number, (parser, colour) in enumerate(COLOURS.items()):
        x = LEFT + number * 120
        parts.append(f'<circle cx="{x + 4}" cy="12" r="4" fill="{colour}"/><text x="{x + 14}" y="16">{parser}</text>')
    height = 24 + len(panels) // 2 * HEIGHT
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * WIDTH} {height}" width="{2 * WIDTH}" '
    style = f'height="{height}" font-family="sans-serif" font-size="12" fill="{GREY}">'
    return "\n".join([head + style, *parts, "</svg>", ""])


def main() -> None:
    """Measure points, or draw them all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(dest="step", required=True)
    measuring = steps.add_parser("measure", help="print points")
    measuring.add_argument("treebank", choices=TREEBANKS)
    presets = [name for name in COLOURS if name != BERKELEY]
    measuring.add_argument("--presets", nargs="+", choices=presets, default=["fast", "accurate"])
    measuring.add_argument("--sizes", nargs="+", type=int, required=True, help="numbers of trees")
    steps.add_parser("show", help="print slopes, and draw the picture")
    arguments = parser.parse_args()
    if arguments.step == "measure":
        print_head(["treebank", "parser"], ["trees", "training, CPU s", "F1"])
        for name in arguments.presets:
            for size in arguments.sizes:
                point = in_new_process(measure, arguments.treebank, TREEBANKS[arguments.treebank], name, size)
                print(f"| {' | '.join(map(str, point))} |", flush=True)
    else:
        points = read_points()
        print_slopes(points)
        PICTURE.write_text(picture(points))


if __name__ == "__main__":
    main()
