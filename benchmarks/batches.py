"""Measure the speed of parsing and tagging: in batches, one sentence at a time, and in several processes.

    python -m benchmarks.batches [--model MODEL --source SOURCE] [--sentences 300] [--n-best 50] [--jobs 2]

For a parser of phrases or of dependencies it prints sentences per CPU second of `parse`, of `parse_all`, and of
`parse_all` with `--n-best` trees of each sentence; and sentences per second of `parse_all` with one process and with
several, which need as many free processors.

For a tagger it prints tokens per CPU second: of `tag`, one sentence at a time; of `tag_all`, for the first time, when
the spelling of unseen words is weighed, and later; and of posteriors, by the tagger's own passes and by the passes of
the inside-outside engine.  Each figure is the best of three, except that of the first time.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks._measure import print_head, print_row, trained_model
from spectral_latent import load
from spectral_latent.constituency import ConstituencyModel, clean
from spectral_latent.corpora import constituency_trees, dependency_trees, tagged_sentences
from spectral_latent.inference import inside, marginals, outside
from spectral_latent.sequence import LatentTagger
from spectral_latent.sequence.decoding import Decoder

_REPEATS = 3


def fastest(answer: Callable[[], Any], clock: Callable[[], float], repeats: int = _REPEATS) -> float:
    """Return the seconds of the fastest of several calls."""
    seconds = []
    for _ in range(repeats):
        start = clock()
        answer()
        seconds.append(clock() - start)
    return min(seconds)


def sentences_of(model: Any, source: str, most: int) -> list[Any]:
    """Read the first sentences of a treebank, without their trees or tags."""
    if isinstance(model, ConstituencyModel):
        trees = (tree for tree in map(clean, constituency_trees(source)) if tree is not None)
        return [list(tree.words()) for tree in itertools.islice(trees, most)]
    if isinstance(model, LatentTagger):
        return [[word for word, _ in sentence] for sentence in itertools.islice(tagged_sentences(source), most)]
    return [tree.without_tree() for tree in itertools.islice(dependency_trees(source), most)]


def print_speeds(units: str, n: int, groups: list[dict[str, float]]) -> None:
    """Print the units per second of each way, such as sentences, and their ratio to the first way of the group."""
    columns = [f"{units}/s", "ratio"]
    print_head([units], columns)
    for rows in groups:
        first, *_ = rows.values()
        for name, seconds in rows.items():
            whole = columns[:1] if n / seconds >= 1000 else ()
            print_row([name], dict(zip(columns, (n / seconds, first / seconds), strict=True)), columns, whole)


def parsing(model: Any, sentences: list[Any], n_best: int, jobs: int) -> list[dict[str, float]]:
    """Measure the seconds of each way to parse."""

    def together(n_best: int = 1, jobs: int = 1) -> None:
        """Parse all sentences in batches."""
        for _ in model.parse_all(sentences, n_best, jobs=jobs):
            pass

    def alone() -> None:
        """Parse the sentences one by one."""
        for sentence in sentences:
            model.parse(sentence)

    together(2)
    together(jobs=jobs)
    cpu = time.process_time
    wall = time.perf_counter
    return [
        {
            "`parse`": fastest(alone, cpu),
            "`parse_all`": fastest(together, cpu),
            f"`parse_all`, {n_best} trees": fastest(lambda: together(n_best), cpu),
        },
        {
            "`parse_all`, one process, wall time": fastest(together, wall),
            f"`parse_all`, {jobs} processes, wall time": fastest(lambda: together(jobs=jobs), wall),
        },
    ]


def engine_posteriors(decoder: Decoder, terminal: np.ndarray, start: np.ndarray) -> None:
    """Compute the posteriors of tags by the inside-outside engine, over the trellises as forests."""
    builder = decoder.builder
    candidates = builder.candidates(terminal)
    candidates = candidates.where(decoder.likely[candidates.rule])
    for operators in (decoder.coarse, decoder.latent):
        trellis = builder.build(start, candidates)
        inner = inside(operators, trellis.forest)
        mu = marginals(operators, trellis.forest, inner, outside(operators, trellis.forest, inner))
        best = np.maximum.reduceat(mu[trellis.spine], candidates.start[:-1])[candidates.position]
        candidates = candidates.where(mu[trellis.spine] >= decoder.threshold * best)


def tagging(model: LatentTagger, sentences: list[Any]) -> list[dict[str, float]]:
    """Measure the seconds of each way to tag, and of both ways to compute posteriors."""
    model.tag(["It", "rains"])
    cpu = time.process_time
    first = fastest(lambda: list(model.tag_all(sentences)), cpu, repeats=1)
    decoder, terminal = model.grammar.decoder(sentences, [None] * len(sentences))
    start = np.cumsum([0, *map(len, sentences)])
    engine_posteriors(decoder, terminal, start)
    return [
        {
            "`tag`": fastest(lambda: [model.tag(each) for each in sentences], cpu),
            "`tag`, the first time": first,
            "`tag_all`": fastest(lambda: list(model.tag_all(sentences)), cpu),
        },
        {
            "posteriors, the engine": fastest(lambda: engine_posteriors(decoder, terminal, start), cpu),
            "posteriors": fastest(lambda: decoder.posteriors(terminal, start), cpu),
        },
    ]


def main() -> int:
    """Load a model, and measure each way to parse or to tag."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="[default: the preset `fast` of NLTK's treebank sample]")
    parser.add_argument("--source", default="nltk:treebank:test")
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--n-best", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    with trained_model(given.model) as file:
        model: Any = load(file)
    sentences = sentences_of(model, given.source, given.sentences)
    if isinstance(model, LatentTagger):
        print_speeds("tokens", sum(map(len, sentences)), tagging(model, sentences))
    else:
        print_speeds("sentences", len(sentences), parsing(model, sentences, given.n_best, given.jobs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
