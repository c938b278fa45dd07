"""Measure what training costs: CPU seconds and peak memory of every estimator, by trees, symbols and states.

    python -m benchmarks.training                                  # NLTK's treebank sample; a quarter of an hour
    python -m benchmarks.training --treebank craft/train           # another treebank
    python -m benchmarks.training --presets --treebank craft/train # the presets alone
    python -m benchmarks.training --jobs 2 --presets --treebank craft/train   # and wall time, one process against two

Trees are read as they are learnt from, and reading them is part of the time.  Every row is a process of its own, which
compiles on a few trees first, so that its peak memory is its own and its time is without compilation.  More trees are
the same trees again; more symbols are the same trees with each label split into several at random.
"""

from __future__ import annotations

import argparse
import time
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import NamedTuple

from benchmarks._measure import in_new_process, peak_megabytes
from spectral_latent.constituency import ConstituencyModel, ConstituencyOptions, Phrase, preset
from spectral_latent.corpora import constituency_trees
from spectral_latent.estimation import ESTIMATORS, EstimatorOptions

SAMPLE = "nltk:treebank:train"


class Setting(NamedTuple):
    """A row of the table.

    name: the estimator or the preset.
    options: the options of the grammars.
    copies: how often each tree of the treebank is learnt from.
    splits: the number of symbols that each label is split into.
    """

    name: str
    options: tuple[ConstituencyOptions, ...]
    copies: float = 1.0
    splits: int = 1


class Cost(NamedTuple):
    """The cost of a setting, and the sizes of its first grammar."""

    trees: int
    symbols: int
    rules: int
    states: int
    cpu: float
    wall: float
    megabytes: float


def split(phrase: Phrase, splits: int, path: str = "") -> Phrase:
    """Split every label into `splits` labels; a checksum of the phrase's place in the tree chooses one of them."""
    label = f"{phrase.label}.{zlib.crc32(path.encode()) % splits}" if splits > 1 else phrase.label
    children = (
        split(child, splits, f"{path}/{place}{phrase.label}") if isinstance(child, Phrase) else child
        for place, child in enumerate(phrase.children)
    )
    return Phrase(label, tuple(children))


def trees(source: str, setting: Setting) -> Iterator[Phrase]:
    """Read the trees of a setting; a part of a copy is the first trees of the treebank."""
    whole, rest = divmod(setting.copies, 1)
    copies: Iterable[Phrase] = chain.from_iterable(constituency_trees(source) for _ in range(int(whole)))
    if rest:
        size = sum(1 for _ in constituency_trees(source))
        copies = chain(copies, islice(constituency_trees(source), round(rest * size)))
    return (split(tree, setting.splits) for tree in copies)


def cost(source: str, setting: Setting, jobs: int) -> Cost:
    """Train in this process, and measure the cost."""
    ConstituencyModel.train(islice(trees(source, setting), 60), setting.options)
    counted = 0

    def counting() -> Iterator[Phrase]:
        """Count the trees that are read."""
        nonlocal counted
        for tree in trees(source, setting):
            counted += 1
            yield tree

    wall = time.perf_counter()
    cpu = time.process_time()
    model = ConstituencyModel.train(counting(), setting.options, jobs=jobs)
    wall = time.perf_counter() - wall
    cpu = time.process_time() - cpu
    operators = model.members[0].operators
    peak = peak_megabytes()
    rules = len(operators.rules.binary)
    return Cost(counted, operators.n_symbols, rules, int(operators.states.max()), cpu, wall, peak)


def settings() -> Iterator[Setting]:
    """List the rows of the table: every estimator, then trees, symbols and states of each."""
    for name in ESTIMATORS:
        options = ConstituencyOptions(estimator=EstimatorOptions(name))
        yield Setting(name, (options,))
        yield Setting(name, (options,), copies=0.25)
        yield Setting(name, (options,), copies=4.0)
        yield Setting(name, (options,), splits=6)
        for states in (8, 32):
            yield Setting(name, (replace(options, estimator=options.estimator.with_settings(n_states=states)),))


def presets() -> Iterator[Setting]:
    """List the rows of the presets: with the labels of the treebank, and with many more."""
    for name in ("fast", "accurate"):
        yield Setting(name, preset(name))
        yield Setting(name, preset(name), splits=6)


def main() -> None:
    """Print a row for each setting."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--treebank", default=SAMPLE)
    parser.add_argument("--presets", action="store_true", help="measure the presets instead of the estimators")
    parser.add_argument("--only", help="measure only the rows of this estimator or preset")
    parser.add_argument("--jobs", type=int, default=1, help="also measure every row with this number of processes")
    arguments = parser.parse_args()
    print("| | trees | symbols | rules | states | jobs | CPU s | wall s | peak MB |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for setting in presets() if arguments.presets else settings():
        if arguments.only not in (None, setting.name):
            continue
        for jobs in sorted({1, arguments.jobs}):
            row = in_new_process(cost, arguments.treebank, setting, jobs)
            sizes = f"{row.trees:,} | {row.symbols:,} | {row.rules:,} | {row.states} | {jobs}"
            print(f"| {setting.name} | {sizes} | {row.cpu:.1f} | {row.wall:.1f} | {row.megabytes:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
