"""Dependency models on real treebanks, in one run: estimators side by side, as scorers of trees and as parsers.

    python benchmarks/dependency.py                                                   # dev of NLTK's sample
    python benchmarks/dependency.py --split test --nltk
    python benchmarks/dependency.py --train ewt-train.conllu --evaluate ewt-dev.conllu --tags upos

The first table has the setting of Dhillon et al. (2012): one symbol a role, tags for words; p̂ is that of tags and tree,
or, of their own two estimators, of the tags given the tree.  The second has the parser: symbols with the head's tag,
words, gold tags in the input.  Seconds are CPU seconds after compilation.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spectral_latent.corpora import dependency_trees, sentence_from_nltk, sentence_to_nltk
from spectral_latent.dependency import (
    Attachment,
    DependencyModel,
    DependencyOptions,
    DependencySentence,
    HeadSymbol,
)
from spectral_latent.dependency.conversion import skeletal_trees
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.evaluation import evaluate_dependency_parser, score_attachments
from spectral_latent.inference import Weight, tree_weights
from spectral_latent.operators import ObservableOperators
from spectral_latent.papers import (
    Observations,
    cca_embeddings,
    corrected_operators,
    dependency_bigrams,
    paper_operators,
)
from spectral_latent.trees import FloatArray, Forest, IntArray, Vocabulary

Sentences = Sequence[DependencySentence]
ESTIMATORS = {
    "spectral": EstimatorOptions("spectral"),
    "clustering": EstimatorOptions("clustering", smoothing=5.0),
    "EM": EstimatorOptions("em", smoothing=5.0, iterations=20),
    "hybrid": EstimatorOptions("hybrid", smoothing=5.0),
}


def tags_of(sentence: DependencySentence, column: str) -> tuple[str, ...]:
    """The tags of a column."""
    return sentence.xpos if column == "xpos" else sentence.upos


def of_the_paper(operators: ObservableOperators, sentences: Sentences, tags: Vocabulary[str], column: str) -> Weight:
    """p̂(tags | tree) by operators of two symbols: complete, and right."""
    labels = Vocabulary([HeadSymbol("", "complete"), HeadSymbol("", "right"), HeadSymbol("", "left")])
    converted = skeletal_trees(
        sentences, [tags_of(s, column) for s in sentences], Attachment(symbols_have_tags=False), labels
    )
    number = np.array([tags.get(tag) for sentence in sentences for tag in tags_of(sentence, column)])
    trees = converted.over(number)
    merged = np.where(trees.symbol == 2, 0, trees.symbol)  # what has left children yet to come is like what is complete
    same = type(trees)(merged, trees.left, trees.right, trees.terminal, trees.root)
    return tree_weights(operators, Forest.of_trees(same, operators.rules))


def bigram_log(train: Sentences, dev: Sentences, tags: Vocabulary[str], column: str) -> float:
    """Mean log p(tag | head's tag, side) per token, each pair counted once more than it is seen."""

    def pairs(sentences: Sentences) -> IntArray:
        rows = []
        for sentence in sentences:
            numbers = [tags.get(tag) for tag in tags_of(sentence, column)]
            heads = sentence.heads or ()
            rows += [
                (len(tags) if head == 0 else numbers[head - 1], int(head > at), numbers[at - 1])
                for at, head in enumerate(heads, start=1)
            ]
        return np.array(rows)

    counts = np.full((len(tags) + 1, 2, len(tags)), 1 / len(tags))
    np.add.at(counts, tuple(pairs(train).T), 1.0)
    p = counts / counts.sum(axis=2, keepdims=True)
    return float(np.log(p[tuple(pairs(dev).T)]).mean())


def scoring(train: Sentences, dev: Sentences, column: str) -> None:
    """The first table."""
    tags = Vocabulary(tag for sentence in [*train, *dev] for tag in tags_of(sentence, column))
    numbers = [([tags[tag] for tag in tags_of(sentence, column)], sentence.heads or ()) for sentence in train]
    lengths = np.array([len(sentence.forms) for sentence in dev])
    print(f"Tree bigrams, log p(tag | head's tag, side): {bigram_log(train, dev, tags, column):.3f} a token.\n")
    print("| estimator | states | p̂ ≤ 0, % | median log abs p̂ / token | log p̂ / token, p̂ > 0 | CPU s |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")

    def row(name: str, states: int, weight: Weight, seconds: float) -> None:
        positive = weight.sign > 0
        median = np.median(weight.log / lengths)
        mean = weight.log[positive].sum() / max(lengths[positive].sum(), 1)
        print(f"| {name} | {states} | {100 * (1 - positive.mean()):.1f} | {median:.2f} | {mean:.3f} | {seconds:.1f} |")

    of_tags = DependencyOptions(words="upos", tags="upos")
    if column == "xpos":
        of_tags = DependencyOptions(words="xpos", tags="xpos")
    start = time.process_time()
    bigrams = DependencyModel.prepare(train, of_tags).coarse
    row("tree bigrams with stops: symbols with tags", 1, bigrams.score(dev), time.process_time() - start)
    for states in (10, 16):
        for u_name in ("bigrams", "CCA"):
            for name, estimator in (("paper", paper_operators), ("corrected", corrected_operators)):
                start = time.process_time()
                observed = Observations.of(numbers, len(tags))
                words = [ids for ids, _ in numbers]
                u: FloatArray = (
                    dependency_bigrams(observed, states)
                    if u_name == "bigrams"
                    else cca_embeddings(words, len(tags), states)
                )
                operators = estimator(observed, u)
                seconds = time.process_time() - start
                row(f"{name}, U of {u_name}", states, of_the_paper(operators, dev, tags, column), seconds)
        for name, options in ESTIMATORS.items():
            own = replace(
                of_tags, estimator=replace(options, n_states=states), attachment=Attachment(symbols_have_tags=False)
            )
            start = time.process_time()
            model = DependencyModel.train(train, own)
            row(f"{name}, default views", states, model.score(dev), time.process_time() - start)


def parsing(train: Sentences, dev: Sentences, options: DependencyOptions) -> None:
    """The second table."""
    columns = "UAS | UAS, no punct. | LAS | complete | p̂ ≤ 0, % | log p̂ / token | training s | sentences/s"
    print(f"\n| parser | states | {columns} |")
    print("| --- | ---: " + "| ---: " * 8 + "|")
    lengths = np.array([len(sentence.forms) for sentence in dev])
    rows: list[tuple[str, int, Callable[[], DependencyModel]]] = [
        ("one state", 1, lambda: DependencyModel.prepare(train, options).coarse),
    ]
    for name, states in (("spectral", 10), ("spectral", 16), ("clustering", 16), ("EM", 16), ("hybrid", 16)):
        own = replace(options, estimator=replace(ESTIMATORS[name], n_states=states))
        rows.append((name, states, lambda own=own: DependencyModel.train(train, own)))
    left = replace(options, attachment=Attachment("left"), estimator=ESTIMATORS["hybrid"])
    rows.append(("hybrid, left children first", 16, lambda: DependencyModel.train(train, left)))
    for name, states, make in rows:
        start = time.process_time()
        model = make()
        seconds = time.process_time() - start
        found = evaluate_dependency_parser(model, dev)
        score, weight = found.score, model.score(dev)
        positive = weight.sign > 0
        las = f"{score.las:.1f}" if found.has_relations else "-"
        log = weight.log[positive].sum() / max(lengths[positive].sum(), 1)
        print(
            f"| {name} | {states} | {score.uas:.1f} | {score.uas_no_punctuation:.1f} | {las} | {score.complete:.1f} "
            f"| {100 * (1 - positive.mean()):.1f} | {log:.3f} | {seconds:.1f} | {found.sentences_per_second:.0f} |",
            flush=True,
        )


def of_nltk(train: Sentences, dev: Sentences) -> None:
    """NLTK's own parsers, as far as they run."""
    from nltk.parse import ProbabilisticProjectiveDependencyParser

    start = time.process_time()
    parser: Any = ProbabilisticProjectiveDependencyParser()
    parser.train([sentence_to_nltk(sentence) for sentence in train])
    trained = time.process_time() - start
    found, first = [], list(dev[:100])
    start = time.process_time()
    for sentence in first:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graph = next(iter(parser.parse(list(sentence.forms))), None)
        heads = None if graph is None else sentence_from_nltk(graph).heads
        found.append(sentence.with_heads(heads or (0,) * len(sentence.forms)))
    seconds = time.process_time() - start
    parsed = sum(tree.heads != (0,) * len(tree.forms) for tree in found)
    score = score_attachments(first, found)
    uas, speed = score.uas_no_punctuation, len(first) / seconds
    print(
        f"\nNLTK's ProbabilisticProjectiveDependencyParser, training {trained:.1f} s: {parsed} of {len(first)} parsed,"
    )
    print(f"UAS without punctuation {uas:.1f}, {speed:.1f} sentences/s.  Its TransitionParser needs scikit-learn.")


def main(arguments: Iterable[str] | None = None) -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--split", choices=("dev", "test"), default="dev")
    parser.add_argument("--train", default="nltk:dependency_treebank:train")
    parser.add_argument("--evaluate")
    parser.add_argument("--tags", choices=("xpos", "upos"), default="xpos")
    parser.add_argument("--parsing-only", action="store_true")
    parser.add_argument("--nltk", action="store_true", help="NLTK's own parsers too; slow")
    given = parser.parse_args(None if arguments is None else list(arguments))
    train = list(dependency_trees(given.train))
    dev = list(dependency_trees(given.evaluate or f"nltk:dependency_treebank:{given.split}"))
    print(f"{given.train}, {len(train)} trees; {given.evaluate or given.split}, {len(dev)} trees; tags: {given.tags}\n")
    DependencyModel.train(train[:20], DependencyOptions(tags=given.tags)).parse(dev[0])
    if not given.parsing_only:
        scoring(train, dev, given.tags)
    parsing(train, dev, DependencyOptions(tags=given.tags))
    if given.nltk:
        of_nltk(train, dev)


if __name__ == "__main__":
    main()
