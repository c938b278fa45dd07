"""Compare the estimators of dependency parsers on real treebanks.

    python -m benchmarks.dependency                                                   # dev of NLTK's sample
    python -m benchmarks.dependency --split test --nltk
    python -m benchmarks.dependency --train ewt-train.conllu --evaluate ewt-dev.conllu --tags upos

Symbols have the head's tag, words are observed, gold tags are in the input.  Seconds are CPU seconds after compilation.
The estimators of Dhillon et al. (2012) are measured by `python -m benchmarks.papers dhillon2012`.
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
    prepare,
)
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.evaluation import evaluate_dependency_parser, score_attachments

Sentences = Sequence[DependencySentence]
ESTIMATORS = {
    "spectral": EstimatorOptions("spectral"),
    "clustering": EstimatorOptions("clustering", smoothing=5.0),
    "EM": EstimatorOptions("em", smoothing=5.0, iterations=20),
    "clusters-em": EstimatorOptions("clusters-em", smoothing=5.0),
}


def parsing(train: Sentences, dev: Sentences, options: DependencyOptions) -> None:
    """Train and evaluate every parser, and print the table."""
    columns = "UAS | UAS, no punct. | LAS | complete | p̂ ≤ 0, % | log p̂ / token | training s | sentences/s"
    print(f"| parser | states | {columns} |")
    print("| --- | ---: " + "| ---: " * 8 + "|")
    lengths = np.array([len(sentence.forms) for sentence in dev])
    rows: list[tuple[str, int, Callable[[], DependencyModel]]] = [
        ("one state", 1, lambda: DependencyModel((prepare(train, [options])[0].coarse,))),
    ]
    for name, states in (("spectral", 10), ("spectral", 16), ("clustering", 16), ("EM", 16), ("clusters-em", 16)):
        own = replace(options, estimator=ESTIMATORS[name].with_settings(n_states=states))
        rows.append((name, states, lambda own=own: DependencyModel.train(train, own)))
    left = replace(options, attachment=Attachment("left"), estimator=ESTIMATORS["clusters-em"])
    rows.append(("clusters-em, left children first", 16, lambda: DependencyModel.train(train, left)))
    for name, states, make in rows:
        start = time.process_time()
        model = make()
        seconds = time.process_time() - start
        evaluation = evaluate_dependency_parser(model, dev)
        score = evaluation.score
        weight = model.score(dev)
        positive = weight.sign > 0
        las = f"{score.las:.1f}" if evaluation.has_relations else "-"
        log = weight.log[positive].sum() / max(lengths[positive].sum(), 1)
        print(
            f"| {name} | {states} | {score.uas:.1f} | {score.uas_no_punctuation:.1f} | {las} | {score.complete:.1f} "
            f"| {100 * (1 - positive.mean()):.1f} | {log:.3f} | {seconds:.1f} "
            f"| {evaluation.sentences_per_second:.0f} |",
            flush=True,
        )


def of_nltk(train: Sentences, dev: Sentences) -> None:
    """Measure NLTK's probabilistic dependency parser."""
    from nltk.parse import ProbabilisticProjectiveDependencyParser

    start = time.process_time()
    parser: Any = ProbabilisticProjectiveDependencyParser()
    parser.train([sentence_to_nltk(sentence) for sentence in train])
    trained = time.process_time() - start
    predicted = []
    first = list(dev[:100])
    start = time.process_time()
    for sentence in first:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graph = next(iter(parser.parse(list(sentence.forms))), None)
        heads = None if graph is None else sentence_from_nltk(graph).heads
        predicted.append(sentence.with_heads(heads or (0,) * len(sentence.forms)))
    seconds = time.process_time() - start
    parsed = sum(tree.heads != (0,) * len(tree.forms) for tree in predicted)
    uas = score_attachments(first, predicted).uas_no_punctuation
    speed = len(first) / seconds
    print(
        f"\nNLTK's ProbabilisticProjectiveDependencyParser, training {trained:.1f} s: {parsed} of {len(first)} parsed,"
    )
    print(f"UAS without punctuation {uas:.1f}, {speed:.1f} sentences/s.  Its TransitionParser needs scikit-learn.")


def main(arguments: Iterable[str] | None = None) -> None:
    """Print the tables that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--split", choices=("dev", "test"), default="dev")
    parser.add_argument("--train", default="nltk:dependency_treebank:train")
    parser.add_argument("--evaluate")
    parser.add_argument("--tags", choices=("xpos", "upos"), default="xpos")
    parser.add_argument("--nltk", action="store_true", help="also measure NLTK's parser, which is slow")
    given = parser.parse_args(None if arguments is None else list(arguments))
    train = list(dependency_trees(given.train))
    dev = list(dependency_trees(given.evaluate or f"nltk:dependency_treebank:{given.split}"))
    print(f"{given.train}, {len(train)} trees; {given.evaluate or given.split}, {len(dev)} trees; tags: {given.tags}\n")
    DependencyModel.train(train[:20], DependencyOptions(tags=given.tags)).parse(dev[0])
    parsing(train, dev, DependencyOptions(tags=given.tags))
    if given.nltk:
        of_nltk(train, dev)


if __name__ == "__main__":
    main()
