"""Measure rerankers on n-best lists of other parsers and of this library, with and without latent features.

    python -m benchmarks.reranking                       # dev, by cross-validation: for choices
    python -m benchmarks.reranking --split test          # learnt on dev, reported on test
    python -m benchmarks.reranking --lists mstparser --first 100

Lists of other parsers are $SPECTRAL_LATENT_DATA/nbest/mstparser.{dev,test}.heads and berkeley.{dev,test}.trees; this
library's own are the 50 best trees of the models that also give the latent features, which are trained on the train
part of NLTK's treebank samples.  The rows are the base parser; a reranker with the base parser's score and rank; one
with log p̂, too; one with all features; and others, which leave out one group of features each.  Intervals are those of
the paired bootstrap at 95 %.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from spectral_latent.constituency import ConstituencyModel, preset
from spectral_latent.corpora import constituency_trees, dependency_trees
from spectral_latent.dependency import DependencyModel, DependencyOptions, DependencySentence
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.evaluation import GoldTree
from spectral_latent.evaluation.reranking import (
    CandidateScores,
    Difference,
    paired_bootstrap,
    score_dependency_lists,
    score_phrase_lists,
)
from spectral_latent.reranking import (
    N_CANDIDATES,
    Candidate,
    CandidateChoice,
    CandidateFeatures,
    FeatureTable,
    LatentFeatures,
    NBest,
    Parser,
    parser_nbest,
    read_nbest,
)
from spectral_latent.trees import IntArray

LISTS = ("mstparser", "berkeley", "own dependencies", "own phrases")
WITH_HEADS = ("mstparser", "own dependencies")
LATENT = {
    "log p̂": ("latent:log", "latent:log-per-word", "latent:sign"),
    "posteriors": ("latent:sum", "latent:mean", "latent:least", "latent:sum-of-logs", "latent:unlikely"),
}
FOLDS = 5
ABOUT_25 = range(23, 28)  # the numbers of words of the sentences whose candidates are timed


class Part(NamedTuple):
    """N-best lists with the features and the scores of their candidates."""

    lists: list[NBest]
    features: CandidateFeatures
    table: FeatureTable
    scores: CandidateScores


def gold_of(split: str, has_heads: bool, first: int | None) -> list[Any]:
    """Read the gold trees of a split; `first` limits their number."""
    if has_heads:
        return list(islice(dependency_trees(f"nltk:dependency_treebank:{split}"), first))
    trees = map(GoldTree.of, constituency_trees(f"nltk:treebank:{split}"))
    return list(islice((tree for tree in trees if tree is not None), first))


@cache
def trained(has_heads: bool, first: int | None) -> Parser:
    """Train, only once, the model that gives latent features and this library's own lists."""
    gold = gold_of("train", has_heads, None if first is None else 5 * first)
    if has_heads:
        return DependencyModel.train(gold, DependencyOptions(estimator=EstimatorOptions("clusters-em", smoothing=5.0)))
    return ConstituencyModel.train((tree for tree, _ in gold), preset("accurate"))


def lists_of(name: str, split: str, gold: list[Any], model: Parser) -> list[NBest]:
    """Read or make the n-best lists of the sentences of gold trees."""
    folder = Path(os.environ.get("SPECTRAL_LATENT_DATA", "."), "nbest")
    if name == "mstparser":
        return mstparser_lists(folder / f"mstparser.{split}.heads", gold)
    if name == "berkeley":
        return list(islice(read_nbest(folder / f"berkeley.{split}.trees"), len(gold)))
    trees = (item.tree if isinstance(item, GoldTree) else item for item in gold)
    return list(parser_nbest(model, trees, N_CANDIDATES))


def mstparser_lists(file: Path, sentences: list[DependencySentence]) -> list[NBest]:
    """Read the lists of the first sentences: a comment, then a line of rank, score and heads for each tree."""
    blocks = file.read_text(encoding="utf-8").strip().split("\n\n")
    lists = []
    for number, (sentence, block) in enumerate(zip(sentences, blocks, strict=False), start=1):
        rows = [line.split("\t") for line in block.split("\n")[1:]]
        trees = [(sentence.with_heads(tuple(map(int, heads.split()))), float(score)) for _, score, heads in rows]
        lists.append(NBest.of((Candidate(tree, score) for tree, score in trees), str(number)))
    return lists


def choices(train: Part, test: Part | None, groups: tuple[str, ...]) -> IntArray:
    """Choose a candidate of each list (L,), of test or of held-out folds, by a reranker with groups of features."""
    names = [name for name in train.table.names if name in groups or name.partition(":")[0] in groups]
    table = train.table.align(names)
    if test is not None:
        return CandidateChoice.train(table, train.scores.gains).rerank(test.table.align(names))
    chosen = []
    for fold in np.array_split(np.arange(table.n_lists), FOLDS):
        rest = np.setdiff1d(np.arange(table.n_lists), fold)
        reranker = CandidateChoice.train(table.of_lists(rest), train.scores.gains[table.rows_of(rest)])
        chosen.append(reranker.rerank(table.of_lists(fold)))
    return np.concatenate(chosen)


def candidates_per_second(model: Parser, lists: list[NBest]) -> float:
    """Measure how many candidates of sentences of about 25 words get their latent features in a CPU second."""
    about = [each for each in lists if len(each.words) in ABOUT_25]
    latent = LatentFeatures(model)
    latent.table(about[:1])
    start = time.process_time()
    latent.table(about)
    return sum(map(len, about)) / (time.process_time() - start)


def part_of(name: str, split: str, first: int | None, model: Parser, dev: Part | None = None) -> Part:
    """Compute a part of the lists, with the features of `dev` if it is given."""
    has_heads = name in WITH_HEADS
    gold = gold_of(split, has_heads, first)
    lists = lists_of(name, split, gold, model)
    scores = (score_dependency_lists if has_heads else score_phrase_lists)(lists, gold)
    features = CandidateFeatures.train(lists, {"latent": model}) if dev is None else dev.features
    return Part(lists, features, features.table(lists), scores)


def rows() -> Iterator[tuple[str, tuple[str, ...]]]:
    """List the groups of features of each reranker except the baseline."""
    latent = tuple(chain.from_iterable(LATENT.values()))
    yield "+ log p̂", ("base", *LATENT["log p̂"])
    yield "+ all", ("base", *latent)
    yield "all but base", latent
    yield "all but log p̂", ("base", *LATENT["posteriors"])


def interval(difference: Difference) -> str:
    """Write a difference with its bounds, and the error reduction."""
    base, other, low, high = difference
    return f"{other - base:+.2f} ({low:+.2f} to {high:+.2f}) | {difference.error_reduction:.1f}"


def print_table(name: str, split: str, first: int | None) -> None:
    """Print the table of one kind of lists, row by row."""
    has_heads = name in WITH_HEADS
    model = trained(has_heads, first)
    train = part_of(name, "dev", first, model)
    test = part_of(name, "test", first, model, train) if split == "test" else None
    lists, _, _, scores = train if test is None else test
    first_of = np.array([0 if len(each) else -1 for each in lists])
    base, oracle = scores.evaluate(first_of)
    print(f"\n{name}, {split}: {len(lists)} sentences, {len(scores.gains)} candidates, oracle {oracle:.2f}; ", end="")
    print(f"{candidates_per_second(model, lists):,.0f} candidates of about 25 words a second\n")
    print(
        f"| features | {'UAS without punctuation' if has_heads else 'F1'} | over base | ER % | over baseline | ER % |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    print(f"| base parser | {base.base:.2f} | | | | |", flush=True)
    baseline = ("base",)
    by_base = taken(scores, choices(train, test, baseline))
    for row, groups in chain([("+ baseline features", baseline)], rows()):
        reranked = by_base if groups == baseline else taken(scores, choices(train, test, groups))
        over_base = paired_bootstrap(taken(scores, first_of), reranked, scores.measure)
        over = interval(paired_bootstrap(by_base, reranked, scores.measure)) if groups != baseline else "|"
        print(f"| {row} | {over_base.other:.2f} | {interval(over_base)} | {over} |", flush=True)


def taken(scores: CandidateScores, chosen: IntArray) -> list[Any]:
    """Take the score of the chosen candidate of each list."""
    return [row[i] for row, i in zip(scores.scores, chosen, strict=True)]


def main() -> None:
    """Run the tables that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--split", choices=("dev", "test"), default="dev", help="the part of NLTK's treebank samples")
    parser.add_argument("--lists", nargs="+", choices=LISTS, default=list(LISTS))
    parser.add_argument(
        "--first",
        type=int,
        help="the number of sentences of each part; five times as many to train",
    )
    arguments = parser.parse_args()
    for name in arguments.lists:
        print_table(name, arguments.split, arguments.first)


if __name__ == "__main__":
    main()
