"""Scores of dependency trees by the estimators of Dhillon, Rodu, Collins, Foster and Ungar (2012).

The paper's Table 1 reranks the 50 best trees of MSTParser by log p̂, with embeddings of 63 million words of Reuters;
parser, lists and texts are not open.  `reranked` makes this table again.  Measured here, on any treebank, is what such
a reranker is given: how many trees have a p̂ that is not positive, how large p̂ is, and the accuracy of the tree that p̂
alone would choose from the n best of a model with one state.  As in the paper the observations are few: here the tags.

| row | paper | meaning |
| --- | --- | --- |
| "paper" | Algorithm 1 | as printed; p̂ is that of tags given the tree |
| "corrected" | | Algorithm 1 with its errors mended; see `observable` |
| "U of bigrams", "U of CCA", "U of LR-MVL" | section 4.2 | embeddings from counts of arcs, or from contexts in text |
| others | | this library's estimators; p̂ is that of tags and tree |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import click
import numpy as np

from benchmarks.papers.embeddings import embed_by_arcs, embed_by_contexts, embed_by_smoothed_contexts
from benchmarks.papers.observable import estimate_corrected_operators, estimate_paper_operators
from benchmarks.papers.observations import Observations
from benchmarks.papers.tables import MarkdownTable, timed
from spectral_latent.corpora import CorpusError, dependency_trees
from spectral_latent.dependency import (
    Attachment,
    DependencyModel,
    DependencyOptions,
    DependencySentence,
    HeadSymbol,
    prepare,
)
from spectral_latent.dependency.conversion import convert_trees
from spectral_latent.dependency.tree import TagColumn
from spectral_latent.estimation import EM, Clusters, EstimationError, Estimator, Random, Spectral
from spectral_latent.evaluation.reranking import score_dependency_lists
from spectral_latent.inference import SignedLog, tree_weights
from spectral_latent.operators import ObservableOperators
from spectral_latent.reranking import parser_nbest
from spectral_latent.reranking.choice import best_of_lists
from spectral_latent.trees import FloatArray, Forest, IntArray, Vocabulary

__all__ = ["ALGORITHMS", "EMBEDDINGS", "ObservedTreebank", "print_scores", "read_treebank"]

Sentences = Sequence[DependencySentence]

_ESTIMATORS: dict[str, Estimator] = {
    "spectral": Spectral(),
    "clustering": Clusters(smoothing=5.0),
    "EM": EM(Random(smoothing=5.0), iterations=20),
    "clusters-em": EM(Clusters(smoothing=5.0)),
}
ALGORITHMS = {"paper": estimate_paper_operators, "corrected": estimate_corrected_operators}
EMBEDDINGS = ("bigrams", "CCA", "LR-MVL")


class _Scorer(NamedTuple):
    """A way to score trees, with the CPU seconds that training took."""

    score: Callable[[Sentences], SignedLog]
    seconds: float


def _tags_of(sentence: DependencySentence, column: TagColumn) -> tuple[str, ...]:
    """Give the tags of a column, "upos" or "xpos"."""
    return sentence.xpos if column == "xpos" else sentence.upos


def _options(column: TagColumn) -> DependencyOptions:
    """Choose the options of a model whose words are the tags of a column."""
    return DependencyOptions(words=column, tags=column)


def _score_given_tree(
    operators: ObservableOperators, sentences: Sentences, tags: Vocabulary[str], column: TagColumn
) -> SignedLog:
    """Compute p̂(tags | tree) by operators of the two symbols of `observable`."""
    labels = Vocabulary([HeadSymbol("", "complete"), HeadSymbol("", "right"), HeadSymbol("", "left")])
    rows = [_tags_of(sentence, column) for sentence in sentences]
    converted = convert_trees(sentences, rows, Attachment(symbols_have_tags=False), labels)
    trees = converted.over(np.array([tags.get(tag) for row in rows for tag in row]))
    # A word whose left children are yet to come (symbol 2) is scored like one that is complete (symbol 0).
    symbol = np.where(trees.symbol == 2, 0, trees.symbol)
    merged = type(trees)(symbol, trees.left, trees.right, trees.terminal, trees.root)
    return tree_weights(operators, Forest.of_trees(merged, operators.rules))


class ObservedTreebank(NamedTuple):
    """A treebank whose observations are tags.

    trees: the sentences with their heads.
    tags: all tags that may be observed.
    column: the column of the tags of a sentence, "upos" or "xpos".
    """

    trees: Sentences
    tags: Vocabulary[str]
    column: TagColumn

    def embed(self, name: str, k: int) -> tuple[Observations, FloatArray]:
        """Make the observations and U (V, k)."""
        rows = [[self.tags[tag] for tag in _tags_of(sentence, self.column)] for sentence in self.trees]
        heads = (sentence.heads or () for sentence in self.trees)
        observed = Observations.of(zip(rows, heads, strict=True), len(self.tags))
        if name == "bigrams":
            return observed, embed_by_arcs(observed, k)
        embed = embed_by_contexts if name == "CCA" else embed_by_smoothed_contexts
        return observed, embed(rows, len(self.tags), k)

    def train_paper(self, algorithm: str, embedding: str, k: int) -> Callable[[Sentences], SignedLog]:
        """Estimate by Algorithm 1, and give what scores trees."""
        operators = ALGORITHMS[algorithm](*self.embed(embedding, k))
        return lambda sentences: _score_given_tree(operators, sentences, self.tags, self.column)

    def train_library(self, name: str, n_states: int) -> Callable[[Sentences], SignedLog]:
        """Train a model of the library, with one symbol a role, and give what scores trees."""
        estimator = _ESTIMATORS[name].with_settings(n_states=n_states)
        options = replace(_options(self.column), estimator=estimator, attachment=Attachment(symbols_have_tags=False))
        return DependencyModel.train(self.trees, options).score

    def scorers(self, states: Sequence[int]) -> Iterator[tuple[str, int, _Scorer]]:
        """Train the rows of the table, one after another."""
        for m in states:
            for embedding in EMBEDDINGS:
                for algorithm in ALGORITHMS:
                    name = f"{algorithm}, U of {embedding}"
                    try:
                        yield name, m, _Scorer(*timed(self.train_paper, algorithm, embedding, m))
                    except EstimationError as error:
                        click.echo(f"{name}, {m} dimensions: {error}", err=True)
            for estimator in _ESTIMATORS:
                yield f"{estimator}, default views", m, _Scorer(*timed(self.train_library, estimator, m))


def _score_bigrams(treebank: ObservedTreebank, gold: Sentences) -> float:
    """Compute the mean log p(tag | tag of the head, side) of a token, each pair counted once more than it is seen."""
    tags = treebank.tags

    def pairs(sentences: Sentences) -> IntArray:
        """List tag of the head (the last number at a root), side and tag of every token: (N, 3)."""
        rows = []
        for sentence in sentences:
            numbers = [tags.get(tag) for tag in _tags_of(sentence, treebank.column)]
            for at, head in enumerate(sentence.heads or (), start=1):
                of_head = len(tags) if head == 0 else numbers[head - 1]
                rows.append((of_head, int(head > at), numbers[at - 1]))
        return np.array(rows)

    counts = np.full((len(tags) + 1, 2, len(tags)), 1 / len(tags))
    np.add.at(counts, tuple(pairs(treebank.trees).T), 1.0)
    p = counts / counts.sum(axis=2, keepdims=True)
    return float(np.log(p[tuple(pairs(gold).T)]).mean())


def _read(source: str, column: TagColumn) -> Sentences:
    """Read trees with tags.  Raises CorpusError if there is no tree, or a word without head or tag."""
    trees = list(dependency_trees(source))
    if not trees:
        raise CorpusError(f"{source}: no trees")
    for number, tree in enumerate(trees, start=1):
        if tree.heads is None or "_" in _tags_of(tree, column):
            raise CorpusError(f"{source}: sentence {number} has a word without a head, or without a tag in {column}")
    return trees


def read_treebank(train: str, evaluate: str, column: TagColumn) -> tuple[ObservedTreebank, Sentences]:
    """Read the trees to learn from, and the trees to score.

    Raises CorpusError if there is no tree, or a word without head or tag.
    """
    trees, gold = (_read(source, column) for source in (train, evaluate))
    tags = Vocabulary(tag for sentence in [*trees, *gold] for tag in _tags_of(sentence, column))
    click.echo(f"{len(trees)} trees of {train}, scored: {len(gold)} trees of {evaluate}, tags {column}.")
    return ObservedTreebank(trees, tags, column), gold


def print_scores(treebank: ObservedTreebank, gold: Sentences, states: Sequence[int], n_best: int) -> None:
    """Print how the estimators score gold trees, and which of the n best trees they prefer."""
    base, seconds = timed(lambda: DependencyModel((prepare(treebank.trees, [_options(treebank.column)])[0].coarse,)))
    lists = list(parser_nbest(base, gold, n_best))
    scores = score_dependency_lists(lists, gold)
    candidates = [tree for nbest in lists for tree, *_ in nbest.candidates if isinstance(tree, DependencySentence)]
    start = np.concatenate([[0], np.cumsum([*map(len, lists)])])
    oracle = scores.evaluate(np.zeros(len(lists), dtype=np.int64)).oracle
    lengths = np.array([len(sentence.forms) for sentence in gold])
    click.echo("Scores of trees: UAS without punctuation is that of the tree with the largest p̂ of ", nl=False)
    click.echo(f"{len(candidates):,} candidates, {oracle:.1f} at best.")
    bigrams = _score_bigrams(treebank, gold)
    click.echo(f"Tree bigrams, log p(tag | tag of the head, side): {bigrams:.3f} a token.\n")
    table = MarkdownTable(
        "estimator", "k", "p̂ ≤ 0, %", "median log abs p̂ / token", "log p̂ / token, p̂ > 0", "UAS", "training s"
    )

    def row(name: str, k: int, scorer: _Scorer) -> None:
        """Print the row of an estimator."""
        weight = scorer.score(gold)
        positive = weight.sign > 0
        median = np.median(weight.log / lengths)
        mean = weight.log[positive].sum() / max(lengths[positive].sum(), 1)
        of_candidates = scorer.score(candidates)
        preference = np.where(of_candidates.sign > 0, of_candidates.log, -np.inf)
        uas = scores.evaluate(best_of_lists(preference, start)).difference.other
        share = f"{100 * (1 - positive.mean()):.1f}"
        table.row(name, str(k), share, f"{median:.2f}", f"{mean:.3f}", f"{uas:.1f}", f"{scorer.seconds:.1f}")

    row("one state, symbols with tags", 1, _Scorer(base.score, seconds))
    for name, k, scorer in treebank.scorers(states):
        row(name, k, scorer)
