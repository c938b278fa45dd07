"""Measure how cost grows: of training with the size of the treebank, of parsing with sentence length and with states.

    python -m benchmarks.scaling size --treebank craft/train    # and docs/scaling_size.png
    python -m benchmarks.scaling length --treebank craft/train --dev craft/dev    # and docs/scaling_length.png
    python -m benchmarks.scaling states                         # and docs/scaling_states.png

Grammars that parse are learnt from NLTK's treebank sample and parse sentences of its dev split; step length can take
other treebanks.  Seconds are CPU seconds after compilation.  Every row is a process of its own, so that its peak memory
is its own.  Exponents are slopes of log cost on log size, by least squares: over all sizes, and over the upper half of
them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from benchmarks._measure import in_new_process, peak_megabytes
from spectral_latent.constituency import ConstituencyModel, ConstituencyOptions, Phrase, clean, preset
from spectral_latent.corpora import constituency_trees
from spectral_latent.estimation._estimators import low_rank_operators
from spectral_latent.inference import inside, marginals, outside
from spectral_latent.trees import IntArray

DOCS = Path(__file__).resolve().parents[1] / "docs"
TRAIN, DEV = "nltk:treebank:train", "nltk:treebank:dev"
SIZES = (0.1, 0.3, 1.0, 3.0, 10.0)
LENGTHS = (10, 14, 20, 28, 40, 56, 80, 112, 160)
STEP = 2**0.25  # half of the step, on a logarithmic scale, from one length to the next
FEWEST = 4
STATES = (4, 8, 16, 24, 32)
RANK = 8
STYLE = (("#0b5fa5", "o"), ("#c2571a", "s"))


class Row(NamedTuple):
    """The costs of a size.

    kind: the treebank, the preset or the form of tensors.
    size: the number of nodes, words or states.
    costs: CPU seconds, megabytes and the like, by name.
    """

    kind: str
    size: int
    costs: dict[str, float]


class Curve(NamedTuple):
    """One cost of increasing sizes."""

    sizes: Sequence[int]
    costs: Sequence[float]

    @property
    def upper(self) -> Curve:
        """The costs of the upper half of the sizes."""
        half = len(self.sizes) // 2
        return Curve(self.sizes[half:], self.costs[half:])

    def fitted(self) -> tuple[float, float]:
        """Fit cost ≈ f · size^e by least squares, and return e and f."""
        exponent, intercept = np.polyfit(np.log(self.sizes), np.log(self.costs), 1)
        return float(exponent), float(np.exp(intercept))


def curves(rows: Sequence[Row], cost: str) -> dict[str, Curve]:
    """Collect one cost of every kind."""
    curve_of: dict[str, Curve] = {}
    for kind, size, costs in rows:
        sizes, values = curve_of.get(kind, Curve([], []))
        curve_of[kind] = Curve([*sizes, size], [*values, costs[cost]])
    return curve_of


def printed(rows: Iterable[Row], kind: str, size: str) -> list[Row]:
    """Print each row when it is measured, and return all rows."""
    done: list[Row] = []
    for row in rows:
        if not done:
            print(f"\n| {kind} | {size} | {' | '.join(row.costs)} |\n| --- |{' ---: |' * (1 + len(row.costs))}")
        cells = (f"{x:,.0f}" if x >= 100 or x == int(x) else f"{x:.3g}" for x in row.costs.values())
        print(f"| {row.kind} | {row.size:,} | {' | '.join(cells)} |", flush=True)
        done.append(row)
    return done


def draw(axes: Axes, cost: str, several: dict[str, Curve], size: str) -> None:
    """Draw the points of curves, and fitted lines: solid for all sizes, dotted for the upper half of them."""
    for (kind, curve), (colour, marker) in zip(several.items(), STYLE, strict=False):
        for part, line in ((curve, "-"), (curve.upper, ":")):
            (exponent, factor), ends = part.fitted(), np.array([part.sizes[0], part.sizes[-1]])
            axes.plot(ends, factor * ends**exponent, line, color=colour, linewidth=1.1)
        label = f"{kind}: exponent {curve.fitted()[0]:.2f}, upper half {curve.upper.fitted()[0]:.2f}"
        axes.plot(*curve, marker, color=colour, markersize=4.5, label=label)
    axes.set(xscale="log", yscale="log", xlabel=size, ylabel=cost)
    axes.set_xticks(curve.sizes, [f"{n:,}" if n < 1e4 else f"{n / 1e6:.2g} M" for n in curve.sizes])
    axes.yaxis.set(major_locator=LogLocator(subs=(1, 2, 5)), major_formatter="{x:,g}", minor_formatter="")
    axes.xaxis.set_minor_formatter("")
    axes.tick_params("both", which="minor", length=0)
    axes.grid(which="major", color="#e4e4e4", linewidth=0.7)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize="small", loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0)


def report(rows: Sequence[Row], costs: Sequence[str], size: str, path: Path) -> None:
    """Print the exponents of some of the costs, and draw these costs."""
    print("\n| cost | of | exponent | upper half |\n| --- | --- | ---: | ---: |")
    figure = Figure(figsize=(7.2, 3.2), layout="constrained")
    for axes, cost in zip(figure.subplots(1, len(costs)), costs, strict=True):
        several = curves(rows, cost)
        for kind, curve in several.items():
            print(f"| {cost} | {kind} | {curve.fitted()[0]:.2f} | {curve.upper.fitted()[0]:.2f} |")
        draw(axes, cost, several, size)
    figure.savefig(path, dpi=110)
    print(f"\n{path}")


# size


class Timed(Iterator[Phrase]):
    """Yield trees, and measure the CPU seconds of reading them."""

    def __init__(self, trees: Iterator[Phrase]) -> None:
        self.trees = trees
        self.seconds = 0.0

    def __next__(self) -> Phrase:
        start = time.process_time()
        try:
            return next(self.trees)
        finally:
            self.seconds += time.process_time() - start


def nodes_of(trees: Iterable[Phrase]) -> IntArray:
    """Count the nodes of the binary form of each tree (T,)."""
    cleaned = (clean(tree) for tree in trees)
    return np.array([2 * sum(1 for _ in tree.words()) - 1 for tree in cleaned if tree is not None])


def draws(n_trees: int, times: float) -> list[IntArray]:
    """Draw times · T trees with replacement; count how often each of T trees is drawn in each of ⌈times⌉ parts."""
    drawn = np.random.default_rng(0).integers(n_trees, size=round(times * n_trees))
    return [np.bincount(part, minlength=n_trees) for part in np.array_split(drawn, int(np.ceil(times)))]


def resampled(source: str, counts: Iterable[IntArray]) -> Iterator[Phrase]:
    """Yield every tree as often as `draws` says; each part reads the treebank again, so that memory holds one tree."""
    for reading in counts:
        for tree, count in zip(constituency_trees(source), reading.tolist(), strict=True):
            yield from repeat(tree, count)


def training(source: str, counts: Sequence[IntArray]) -> dict[str, float]:
    """Learn a grammar from a treebank that is read as a stream, and return the costs."""
    ConstituencyModel.train([Phrase("S", (Phrase("A", (a,)), Phrase("B", ("b",)))) for a in "ab"])
    trees = Timed(resampled(source, counts))
    start = time.process_time()
    model = ConstituencyModel.train(trees, ConstituencyOptions())
    seconds = time.process_time() - start - trees.seconds
    rules = len(model.members[0].operators.binary)
    return {"binary rules": rules, "reading s": trees.seconds, "training s": seconds, "peak MB": peak_megabytes()}


def sizes(source: str) -> Iterator[Row]:
    """Measure training on the treebank as it is, and on resampled treebanks of several sizes."""
    nodes = nodes_of(constituency_trees(source))
    yield Row("as it is", int(nodes.sum()), in_new_process(training, source, [np.ones_like(nodes)]))
    for times in SIZES:
        counts = draws(len(nodes), times)
        yield Row("resampled", int(sum(counts) @ nodes), in_new_process(training, source, counts))


# length


def sentences(source: str) -> list[list[str]]:
    """List the words of the trees of a treebank."""
    cleaned = (clean(tree) for tree in constituency_trees(source))
    return [list(tree.words()) for tree in cleaned if tree is not None]


def of_lengths(several: Sequence[list[str]], most: int) -> list[list[list[str]]]:
    """Group sentences by length, at most `STEP` times shorter or longer than each of LENGTHS; keep `most` of each.

    The sentences that are kept lie at equal distances in the treebank.  Groups of fewer than `FEWEST` are left out.
    """
    groups = ([words for words in several if length / STEP <= len(words) < length * STEP] for length in LENGTHS)
    return [group[:: -(-len(group) // most)] for group in groups if len(group) >= FEWEST]


def learnt(source: str, options: Sequence[ConstituencyOptions], path: Path) -> None:
    """Train a model, and write it to a file."""
    ConstituencyModel.train(constituency_trees(source), options).save(path)


def parsing(path: Path, group: Sequence[list[str]]) -> dict[str, float]:
    """Parse sentences of about one length, each by a call of its own, with a model that is read from its file."""
    model = ConstituencyModel.load(path)
    for words in (["It", "works", "."], group[0]):  # read all compiled code, that for unseen words included
        model.parse(words)
    seconds = []
    fallbacks = 0
    for words in group:
        start = time.process_time()
        fallbacks += model.parse(words).is_fallback
        seconds.append(time.process_time() - start)
    mean = float(np.mean(seconds))
    times = {"sentences": len(group), "ms": 1000 * mean, "longest ms": 1000 * max(seconds)}
    words_per_second = sum(map(len, group)) / sum(seconds)
    return times | {"words/s": words_per_second, "fallbacks": fallbacks, "peak MB": peak_megabytes()}


def lengths(train: str, dev: str, presets: Iterable[str], most: int) -> Iterator[Row]:
    """Measure parsing by presets for each length of a sentence."""
    groups = of_lengths(sentences(dev), most)
    with TemporaryDirectory() as folder:
        for name in presets:
            model = Path(folder, name)
            in_new_process(learnt, train, preset(name), model)
            for group in groups:
                mean = round(float(np.mean([len(words) for words in group])))
                yield Row(name, mean, in_new_process(parsing, model, group))


# states


def weighing(model: ConstituencyModel, several: Sequence[list[str]]) -> dict[str, float]:
    """Measure CPU milliseconds per sentence: of the passes of the latent grammar, and of parsing as a whole."""
    (member,) = model.members
    model.parse(several[0])
    spent = np.zeros(2)
    for words in several:
        charts = member.charts([words])
        sentence, (spans,) = charts.grammar, charts.spans
        if spans is not None:
            operators, forest = sentence.latent, spans.forest
            start = time.process_time()
            inside_vectors = inside(operators, forest)
            marginals(operators, forest, inside_vectors, outside(operators, forest, inside_vectors))
            spent[0] += time.process_time() - start
        start = time.process_time()
        model.parse(words)
        spent[1] += time.process_time() - start
    passes, parse = (1000 * spent / len(several)).tolist()
    return {"inside and outside ms": passes, "parse ms": parse}


def both_ranks(states: int, most: int) -> list[Row]:
    """Measure a grammar that one iteration of EM has learnt, and the same grammar with tensors of low rank."""
    (fast,) = preset("fast")
    options = replace(fast, estimator=fast.estimator.with_settings(rank=None, n_states=states, iterations=1))
    model = ConstituencyModel.train(constituency_trees(TRAIN), options)
    (member,) = model.members
    low = member.with_operators(low_rank_operators(member.operators, RANK))
    several = sentences(DEV)[:most]
    models = {"full": model, f"rank {RANK}": ConstituencyModel((low,))}
    return [Row(kind, states, weighing(own, several)) for kind, own in models.items()]


def states(most: int) -> Iterator[Row]:
    """Measure the passes and parsing for every number of states."""
    for m in STATES:
        yield from in_new_process(both_ranks, m, most)


def main() -> None:
    """Measure, print and draw one of the three costs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("size", "length", "states"))
    parser.add_argument("--treebank", default=TRAIN, help="the trees to learn from: a file, a folder or nltk:NAME")
    parser.add_argument("--dev", default=DEV, help="the trees with the sentences of step length")
    parser.add_argument("--presets", nargs="+", default=["fast", "accurate"], help="the parsers of step length")
    parser.add_argument("--sentences", type=int, help="of each length (50), or for each number of states (200)")
    parser.add_argument("--plot", type=Path, help="the figure to write; docs/scaling_STEP.png if not given")
    arguments = parser.parse_args()
    path = arguments.plot or DOCS / f"scaling_{arguments.step}.png"
    if arguments.step == "size":
        rows = printed(sizes(arguments.treebank), "treebank", "nodes")
        report(rows[1:], ("training s", "peak MB"), "nodes of the treebank", path)
    elif arguments.step == "length":
        rows = printed(
            lengths(arguments.treebank, arguments.dev, arguments.presets, arguments.sentences or 50), "preset", "words"
        )
        report(rows, ("ms", "longest ms"), "words of a sentence", path)
    else:
        rows = printed(states(arguments.sentences or 200), "tensors", "m")
        report(rows, ("inside and outside ms", "parse ms"), "states m", path)


if __name__ == "__main__":
    main()
