"""Make Table 1 of Dhillon et al. (2012): n-best lists of dependency trees are reranked with and without log p̂.

| here | paper, section 4 |
| --- | --- |
| the preset `fast` makes the lists | MSTParser makes them |
| lists of training sentences are those of three parsers, each of which learnt from the other two thirds | the same |
| p̂ of training sentences is estimated from the other two thirds, too | from all training trees |
| the observations are tags, which are given | words |
| log abs p̂, because about half of all p̂ are not positive; where p̂ is zero, the least of all | log p̂ |
| counts of siblings and of grandparents, and the parser's score and rank | such counts |
| the perceptron of Collins (2002); and this library's reranker, without counts | the former |
| words and complete sentences are counted without punctuation | punctuation is removed first |
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import click
import numpy as np
from scipy import sparse

from benchmarks.papers.arc_counts import choose_events, count_events
from benchmarks.papers.collins import train_averaged_perceptron
from benchmarks.papers.dhillon2012 import ALGORITHMS, EMBEDDINGS, ObservedTreebank
from benchmarks.papers.tables import MarkdownTable
from spectral_latent.dependency import DependencyModel, DependencySentence, preset
from spectral_latent.evaluation.reranking import CandidateScores, paired_bootstrap, score_dependency_lists
from spectral_latent.model.parts import jackknife
from spectral_latent.reranking import (
    CandidateChoice,
    CandidateFeatures,
    FeatureTable,
    NBest,
    parser_nbest,
)
from spectral_latent.reranking.choice import best_of_lists
from spectral_latent.trees import FloatArray, IntArray

__all__ = ["FOLDS", "ListsOfPart", "print_reranking"]

FOLDS = 3
_PAPER = {"base parser": ("90.8", "37.2"), "+ baseline features": ("91.3", "37.5"), "+ log p̂": ("91.7", "37.8")}

Sentences = Sequence[DependencySentence]


class _Learnt(NamedTuple):
    """The features of candidates, and the counts (n, d) of siblings and grandparents in them."""

    table: FeatureTable
    counts: sparse.csr_array

    def with_counts(self) -> sparse.csr_array:
        """Join features and counts."""
        return sparse.csr_array(sparse.hstack([sparse.csr_array(self.table.values), self.counts], format="csr"))


class ListsOfPart(NamedTuple):
    """N-best lists of a part of a treebank.

    lists: the lists of L sentences, which have C candidates.
    scores: the scores of the candidates.
    log: (C,) log abs p̂ of each candidate, by the name of the estimate.
    """

    lists: list[NBest]
    scores: CandidateScores
    log: dict[str, FloatArray]

    @staticmethod
    def parse(treebank: ObservedTreebank, gold: Sentences, states: Sequence[int], n_best: int) -> ListsOfPart:
        """Parse new sentences by a parser that learns from a treebank, as p̂ does."""
        parser = DependencyModel.train(treebank.trees, replace(preset("fast")[0], tags=treebank.column))
        lists = list(parser_nbest(parser, gold, n_best))
        trees = [tree for nbest in lists for tree, *_ in nbest.candidates if isinstance(tree, DependencySentence)]
        log = {}
        for k, algorithm, embedding in product(states, ALGORITHMS, EMBEDDINGS):
            weight = treebank.train_paper(algorithm, embedding, k)(trees)
            least = weight.log[weight.sign != 0].min()
            log[f"{algorithm}, U of {embedding}, k = {k}"] = np.maximum(weight.log, least)
        return ListsOfPart(lists, score_dependency_lists(lists, gold), log)

    @staticmethod
    def jackknife(treebank: ObservedTreebank, states: Sequence[int], n_best: int) -> ListsOfPart:
        """Parse the sentences of a treebank by parsers, and score them by p̂, that learnt from the other folds."""
        log = defaultdict(list)
        lists: list[NBest] = []
        n = len(treebank.trees)
        folds = [at * FOLDS // n for at in range(n)]  # neighbours are in one fold
        weighted = [(tree, 1.0) for tree in treebank.trees]
        for others, held_out, _ in jackknife(weighted, FOLDS, lambda trees, _: trees, folds=folds):
            part = ListsOfPart.parse(treebank._replace(trees=others), held_out, states, n_best)
            lists += part.lists
            for name, column in part.log.items():
                log[name].append(column)
        scores = score_dependency_lists(lists, treebank.trees)
        return ListsOfPart(lists, scores, {name: np.concatenate(columns) for name, columns in log.items()})

    def tables(self, features: CandidateFeatures) -> Iterator[tuple[str, FeatureTable]]:
        """Make the table of the parser's score and rank, and the tables that also have log p̂ of an estimate."""
        baseline = features.table(self.lists)
        yield "+ baseline features", baseline
        for name, column in self.log.items():
            of_estimate = FeatureTable.of({"latent:log": column}, np.diff(baseline.start), baseline.ids)
            yield f"+ log p̂ ({name})", baseline.join(of_estimate)

    def chosen(self, places: IntArray) -> list[Any]:
        """Take the score of the chosen candidate of each list.

        places: (L,) the place of a candidate in each list.
        """
        return [row[place] for row, place in zip(self.scores.scores, places, strict=True)]


def _collins(learnt_from: _Learnt, reranked: _Learnt, gains: FloatArray) -> IntArray:
    """Rerank by the averaged perceptron of Collins (2002), which also sees counts."""
    weights = train_averaged_perceptron(learnt_from.with_counts(), learnt_from.table.start, gains)
    return best_of_lists(np.asarray(reranked.with_counts() @ weights), reranked.table.start)


def _library(learnt_from: _Learnt, reranked: _Learnt, gains: FloatArray) -> IntArray:
    """Rerank by this library."""
    return CandidateChoice.train(learnt_from.table, gains).rerank(reranked.table)


_LEARNERS = {"Collins": _collins, "library": _library}


def _complete(score: Any) -> bool:
    """Tell whether all words that are not punctuation have the right heads."""
    return bool(score.heads_no_punctuation == score.words_no_punctuation)


def print_reranking(treebank: ObservedTreebank, gold: Sentences, states: Sequence[int], n_best: int) -> None:
    """Print Table 1, with intervals of the differences from the base parser and from the baseline features."""
    train = ListsOfPart.jackknife(treebank, states, n_best)
    test = ListsOfPart.parse(treebank, gold, states, n_best)
    first = np.zeros(len(gold), dtype=np.int64)
    click.echo(f"Table 1: {len(train.lists):,} lists to learn from, {len(train.scores.gains):,} candidates; ", nl=False)
    click.echo(f"{len(gold):,} lists to rerank, {test.scores.evaluate(first).oracle:.1f} at best.")
    click.echo(
        "Paper: section 23 of the full Penn treebank, lists of MSTParser of first order.  Of second order 91.8, 40.6;"
    )
    click.echo("92.4, 41.0; 92.7, 41.3.  Accuracy is UAS; intervals are those of the paired bootstrap at 95 %.\n")
    columns = ("paper: accuracy", "paper: complete", "accuracy", "complete", "over base", "over baseline")
    table = MarkdownTable("features", "learner", *columns)
    base = test.chosen(first)

    def row(name: str, learner: str, chosen: list[Any], baseline: list[Any]) -> None:
        """Print the row of a reranker."""
        over = [paired_bootstrap(before, chosen, test.scores.measure) for before in (base, baseline)]
        cells = (f"{each.other - each.base:+.2f} ({each.low:+.2f} to {each.high:+.2f})" for each in over)
        numbers = (f"{over[0].other:.2f}", f"{100 * np.mean([*map(_complete, chosen)]):.1f}")
        table.row(name, learner, *_PAPER[name.split(" (")[0]], *numbers, *cells)

    row("base parser", "-", base, base)
    features = CandidateFeatures.train(train.lists)
    events = choose_events(train.lists)
    counts = [count_events(part.lists, events) for part in (train, test)]
    baselines: dict[str, list[Any]] = {}
    for (name, own), (_, new) in zip(train.tables(features), test.tables(features), strict=True):
        learnt_from, reranked = (_Learnt(table, of_part) for table, of_part in zip((own, new), counts, strict=True))
        for learner, rerank in _LEARNERS.items():
            chosen = test.chosen(rerank(learnt_from, reranked, train.scores.gains))
            row(name, learner, chosen, baselines.setdefault(learner, chosen))
