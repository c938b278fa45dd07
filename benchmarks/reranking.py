"""Measure rerankers on n-best lists of other parsers, with and without latent features.

    python -m benchmarks.reranking
    python -m benchmarks.reranking --lists mstparser --first 100

The lists are $SPECTRAL_LATENT_DATA/nbest/mstparser.{dev,test}.heads and berkeley.{dev,test}.trees.  Rerankers learn
from those of dev and choose from those of test; the models that give latent features learn from the train part of
NLTK's treebank samples.  The rows are the base parser; a reranker with the base parser's score and rank; one with
log p̂, too; one with all features; and others, which leave out one group of features each.  Intervals are those of the
paired bootstrap at 95 %.
"""

from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks._measure import DATA, command_line, print_head, print_row, written_difference
from spectral_latent.constituency import ConstituencyModel, preset
from spectral_latent.corpora import constituency_trees, dependency_trees
from spectral_latent.dependency import DependencyModel, DependencyOptions, DependencySentence
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.evaluation.reranking import (
    CandidateScores,
    paired_bootstrap,
    score_dependency_lists,
    score_phrase_lists,
)
from spectral_latent.reranking import (
    Candidate,
    CandidateChoice,
    CandidateFeatures,
    FeatureTable,
    NBest,
    Parser,
    read_nbest,
)
from spectral_latent.trees import IntArray

LISTS = ("mstparser", "berkeley")
LATENT = {
    "log p̂": ("latent:log", "latent:log-per-word", "latent:sign"),
    "posteriors": ("latent:sum", "latent:mean", "latent:least", "latent:sum-of-logs", "latent:unlikely"),
}


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
    return list(islice(constituency_trees(f"nltk:treebank:{split}"), first))


def trained(has_heads: bool, first: int | None) -> Parser:
    """Train the model that gives latent features."""
    gold = gold_of("train", has_heads, None if first is None else 5 * first)
    if has_heads:
        return DependencyModel.train(gold, DependencyOptions(estimator=EstimatorOptions("clusters-em", smoothing=5.0)))
    return ConstituencyModel.train(gold, preset("accurate"))


def lists_of(name: str, split: str, gold: list[Any]) -> list[NBest]:
    """Read the n-best lists of the sentences of gold trees."""
    folder = DATA / "nbest"
    if name == "mstparser":
        return mstparser_lists(folder / f"mstparser.{split}.heads", gold)
    return list(islice(read_nbest(folder / f"berkeley.{split}.trees"), len(gold)))


def mstparser_lists(file: Path, sentences: list[DependencySentence]) -> list[NBest]:
    """Read the lists of the first sentences: a comment, then a line of rank, score and heads for each tree."""
    blocks = file.read_text(encoding="utf-8").strip().split("\n\n")
    lists = []
    for number, (sentence, block) in enumerate(zip(sentences, blocks, strict=False), start=1):
        rows = [line.split("\t") for line in block.split("\n")[1:]]
        trees = [(sentence.with_heads(tuple(map(int, heads.split()))), float(score)) for _, score, heads in rows]
        lists.append(NBest.of((Candidate(tree, score) for tree, score in trees), str(number)))
    return lists


def rows() -> Iterator[tuple[str, tuple[str, ...]]]:
    """List the groups of features of each reranker; the base parser has none."""
    latent = tuple(chain.from_iterable(LATENT.values()))
    yield "base parser", ()
    yield "+ baseline features", ("base",)
    yield "+ log p̂", ("base", *LATENT["log p̂"])
    yield "+ all", ("base", *latent)
    yield "all but base", latent
    yield "all but log p̂", ("base", *LATENT["posteriors"])


def part_of(name: str, split: str, first: int | None, model: Parser, dev: Part | None = None) -> Part:
    """Compute a part of the lists, with the features of `dev` if it is given."""
    has_heads = name == "mstparser"
    gold = gold_of(split, has_heads, first)
    lists = lists_of(name, split, gold)
    scores = (score_dependency_lists if has_heads else score_phrase_lists)(lists, gold)
    features = CandidateFeatures.train(lists, {"latent": model}) if dev is None else dev.features
    return Part(lists, features, features.table(lists), scores)


def reranked(train: Part, test: Part, groups: tuple[str, ...]) -> list[Any]:
    """Take the scores of the candidates of test that a reranker with groups of features chooses."""
    names = [name for name in train.table.names if name in groups or name.partition(":")[0] in groups]
    reranker = CandidateChoice.train(train.table.align(names), train.scores.gains)
    return taken(test.scores, reranker.rerank(test.table.align(names)))


def taken(scores: CandidateScores, chosen: IntArray) -> list[Any]:
    """Take the score of the chosen candidate of each list."""
    return [row[i] for row, i in zip(scores.scores, chosen, strict=True)]


def print_table(name: str, first: int | None) -> None:
    """Print the table of one kind of lists, row by row."""
    has_heads = name == "mstparser"
    model = trained(has_heads, first)
    train = part_of(name, "dev", first, model)
    test = part_of(name, "test", first, model, train)
    base = taken(test.scores, np.array([0 if len(each) else -1 for each in test.lists]))
    baseline = reranked(train, test, ("base",))
    measure = "UAS without punctuation" if has_heads else "F1"
    columns = (measure, "over base", "ER %", "over baseline")
    print_head(["features"], columns)
    for row, groups in rows():
        chosen = reranked(train, test, groups) if groups else base
        difference = paired_bootstrap(base, chosen, test.scores.measure)
        cells = {measure: f"{difference.other:.2f}"}
        if groups:
            cells |= {"over base": written_difference(base, chosen, test.scores.measure)}
        if len(groups) > 1:
            cells |= {"over baseline": written_difference(baseline, chosen, test.scores.measure)}
            cells |= {"ER %": f"{difference.error_reduction:.1f}"}
        print_row([row], cells, columns, ())


def main() -> None:
    """Run the tables that the command line asks for."""
    parser = command_line(__doc__)
    parser.add_argument("--lists", nargs="+", choices=LISTS, default=list(LISTS))
    parser.add_argument("--first", type=int, help="the sentences of each part; five times as many to train")
    given = parser.parse_args()
    for name in given.lists:
        print_table(name, given.first)
        print()


if __name__ == "__main__":
    main()
