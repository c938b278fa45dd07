"""Measure the presets of dependency parsers and of taggers on treebanks in CoNLL-U, with intervals.

    python -m benchmarks.presets en_ewt-ud-train.conllu en_ewt-ud-test.conllu

Parsers are given the gold UPOS tags, taggers the words alone.  ± is half of the 95 % interval of the bootstrap over
sentences, which does not show how other seeds would differ.
"""

from __future__ import annotations

import argparse
import time
from functools import reduce
from operator import add
from pathlib import Path

from benchmarks._measure import half_interval, print_head, print_row
from spectral_latent import dependency, sequence
from spectral_latent.corpora import dependency_trees, tagged_sentences
from spectral_latent.dependency import DependencyModel
from spectral_latent.evaluation import AttachmentScore, TaggingScore, score_attachments, score_tags
from spectral_latent.sequence import LatentTagger

PRESETS = ("fast", "accurate", "spectral")
COLUMNS = ("UAS", "LAS", "LAS ±", "parser s", "tags", "tags ±", "tagger s")


def measure(train: str, evaluate: str, name: str) -> dict[str, float | str]:
    """Train and evaluate a parser and a tagger of a preset."""
    trees, gold = (list(dependency_trees(source)) for source in (train, evaluate))
    tagged, gold_tags = (list(tagged_sentences(source, "upos")) for source in (train, evaluate))
    words = [[word for word, _ in sentence] for sentence in gold_tags]
    start = time.process_time()
    parser = DependencyModel.train(trees, dependency.preset(name))  # type: ignore[arg-type]
    parser_seconds = time.process_time() - start
    parses_of_each = parser.parse_all(sentence.without_tree() for sentence in gold)
    attached = [score_attachments([tree], [found[0].tree]) for tree, found in zip(gold, parses_of_each, strict=True)]
    start = time.process_time()
    tagger = LatentTagger.train(tagged, sequence.preset(name))  # type: ignore[arg-type]
    tagger_seconds = time.process_time() - start
    right = [
        score_tags([sentence], [list(zip(forms, row, strict=True))])
        for sentence, forms, row in zip(gold_tags, words, tagger.tag_all(words), strict=True)
    ]
    return {
        "UAS": reduce(add, attached).uas,
        "LAS": reduce(add, attached).las,
        "LAS ±": half_interval(attached, las_of),
        "parser s": parser_seconds,
        "tags": reduce(add, right).accuracy,
        "tags ±": half_interval(right, accuracy_of),
        "tagger s": tagger_seconds,
    }


def las_of(score: AttachmentScore) -> float:
    """Take LAS."""
    return score.las


def accuracy_of(score: TaggingScore) -> float:
    """Take the accuracy of tags."""
    return score.accuracy


def main(arguments: list[str] | None = None) -> None:
    """Print a row for each preset and treebank."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="TRAIN EVALUATE", help="pairs of files")
    parser.add_argument("--presets", nargs="+", choices=PRESETS, default=PRESETS)
    given = parser.parse_args(arguments)
    if len(given.files) % 2:
        parser.error("a file to learn from goes with a file to evaluate on")
    print_head(["preset", "treebank"], COLUMNS)
    for train, evaluate in zip(given.files[::2], given.files[1::2], strict=True):
        for name in given.presets:
            print_row([name, Path(evaluate).stem], measure(train, evaluate, name), COLUMNS, ())


if __name__ == "__main__":
    main()
