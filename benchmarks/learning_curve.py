"""Draw learning curves of constituency parsers: F1 against trees, and against CPU seconds of training.

    python -m benchmarks learning-curve learning-curve-craft --record   # measure the points
    python -m benchmarks.learning_curve                                 # slopes, and docs/learning_curve.svg

The points of the Berkeley parser (split-merge EM, one point for each number of cycles) were measured once on the same
trees; its points of CRAFT on all sentences of at most 40 words.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from benchmarks._measure import ROOT, print_head
from benchmarks._results import read_results

TABLE = "learning-curve"
PICTURE = ROOT / "docs/learning_curve.svg"
COLOURS = {  # the palette of Okabe and Ito
    "fast": "#0072b2",
    "clusters": "#e69f00",
    "accurate": "#009e73",
    "best": "#d55e00",
    "Berkeley parser": "#cc79a7",
}
Curves = Mapping[tuple[str, str], Sequence["Point"]]


class Point(NamedTuple):
    """A parser that has learnt from some trees, after so many CPU seconds."""

    trees: int
    seconds: float
    f1: float


def read_curves() -> Curves:
    """Read all points, sorted, by text and parser; the numbers of cycles are points of one parser."""
    curves: dict[tuple[str, str], list[Point]] = defaultdict(list)
    for cells in (result.cells for result in read_results() if result.table == TABLE):
        parser = cells["model"].partition(",")[0]
        trees, seconds, f1 = (float(cells[name].replace(",", "")) for name in ("trees", "training s", "F1"))
        curves[cells["text"], parser].append(Point(int(trees), seconds, f1))
    return {name: sorted(points) for name, points in curves.items()}


def gain_of_doubling(curve: Sequence[Point]) -> float:
    """Fit error ∝ trees^e by least squares, and return the share by which twice the trees lower the error."""
    exponent, _ = np.polyfit(np.log([point.trees for point in curve]), np.log([100 - point.f1 for point in curve]), 1)
    return float(1.0 - 2.0**exponent)


def draw(curves: Curves) -> Figure:
    """Draw F1 against trees and against seconds, a row of two panels for each text."""
    texts = list(dict.fromkeys(text for text, _ in curves))
    figure = Figure(figsize=(7.2, 2.6 * len(texts)), layout="constrained")
    for row, text in zip(figure.subplots(len(texts), 2, squeeze=False, sharey=True), texts, strict=True):
        for axes, quantity, title in zip(row, ("trees", "seconds"), ("trees", "CPU seconds of training"), strict=True):
            for (of, parser), curve in curves.items():
                if of == text:
                    places = sorted((getattr(point, quantity), point.f1) for point in curve)
                    line = "--o" if parser.startswith("Berkeley") else "-o"
                    axes.plot(*zip(*places, strict=True), line, color=COLOURS[parser], markersize=3.5, label=parser)
            axes.set(xscale="log", xlabel=title, ylabel=f"F1, {text}" if quantity == "trees" else "")
            axes.xaxis.set(major_formatter=StrMethodFormatter("{x:,g}"), minor_formatter="")
            axes.grid(color="#e4e4e4", linewidth=0.7)
            axes.spines[["top", "right"]].set_visible(False)
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=5, frameon=False)
    return figure


def main() -> None:
    """Print by how much the errors of each parser fall, and draw the picture."""
    curves = read_curves()
    print_head(["model", "text"], ["twice the trees: errors fall by"])
    for (text, parser), curve in curves.items():
        if len({point.trees for point in curve}) > 2:
            print(f"| {parser} | {text} | {gain_of_doubling(curve):.0%} |")
    with mpl.rc_context({"svg.hashsalt": "learning curve", "svg.fonttype": "none"}):
        draw(curves).savefig(PICTURE, metadata={"Date": None})


if __name__ == "__main__":
    main()
