"""Measure F1 of constituency parsers with several seeds, and their differences from the Berkeley parser.

    python benchmarks/intervals.py                        # the dev split of NLTK's treebank sample, three seeds
    python benchmarks/intervals.py --splits dev test

Every seed trains a model anew, from another start of the singular value decompositions and of k-means.  The Berkeley
parser's trees are the first of its lists, $SPECTRAL_LATENT_DATA/nbest/berkeley.{dev,test}.trees.  A difference is that
of all seeds together.  Its interval is the 95 % interval of the paired bootstrap over sentences, which does not show
how other seeds of the Berkeley parser would differ.
"""

from __future__ import annotations

import argparse
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path

from spectral_latent.constituency import ConstituencyModel, ConstituencyOptions, Phrase, preset
from spectral_latent.corpora import constituency_trees
from spectral_latent.corpora.nbest import read_nbest
from spectral_latent.evaluation import BracketScores, GoldTree, score_brackets
from spectral_latent.evaluation.reranking import paired_bootstrap

BERKELEY = "Berkeley parser"
MODELS = {"one spectral grammar": (ConstituencyOptions(),), "fast": preset("fast"), "accurate": preset("accurate")}


def with_seed(options: ConstituencyOptions, seed: int) -> ConstituencyOptions:
    """Give the same options another seed."""
    return replace(options, estimator=replace(options.estimator, seed=seed))


def models(trees: Sequence[Phrase], seed: int) -> Iterator[tuple[str, ConstituencyModel]]:
    """Train every model; also yield the first grammar of `accurate` alone."""
    for name, options in MODELS.items():
        model = ConstituencyModel.train(trees, [with_seed(one, seed) for one in options])
        if len(model.members) > 1:
            yield f"{name}, first grammar", ConstituencyModel(model.members[:1])
        yield name, model


def scores(gold: Sequence[GoldTree], trees: Sequence[Phrase]) -> list[BracketScores]:
    """Score each tree."""
    return [score_brackets([(sentence.tree, tree)]) for sentence, tree in zip(gold, trees, strict=True)]


def berkeley_trees(split: str, gold: Sequence[GoldTree]) -> Iterator[Phrase]:
    """Take the first tree of each list, or a flat tree without any label of the treebank if a list is empty."""
    folder = Path(os.environ.get("SPECTRAL_LATENT_DATA", "."), "nbest")
    for (_, words), listed in zip(gold, read_nbest(folder / f"berkeley.{split}.trees"), strict=True):
        tree = listed.candidates[0].tree if listed.candidates else None
        flat = Phrase("NONE", tuple(Phrase("NONE", (word,)) for word in words))
        yield tree if isinstance(tree, Phrase) else flat


def main() -> None:
    """Print a table for each split."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", nargs="+", choices=("dev", "test"), default=["dev"])
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    train = list(constituency_trees("nltk:treebank:train"))
    gold = {
        split: [tree for tree in map(GoldTree.of, constituency_trees(f"nltk:treebank:{split}")) if tree is not None]
        for split in arguments.splits
    }
    theirs = {split: scores(sentences, list(berkeley_trees(split, sentences))) for split, sentences in gold.items()}
    scores_of: dict[str, dict[str, list[list[BracketScores]]]] = {split: defaultdict(list) for split in gold}
    for seed in range(arguments.seeds):
        for name, model in models(train, seed):
            for split, sentences in gold.items():
                parses = [model.parse(words).tree for _, words in sentences]
                scores_of[split][name].append(scores(sentences, parses))
    for split, by_model in scores_of.items():
        base = [reduce(add, [score] * arguments.seeds) for score in theirs[split]]
        print(f"\n{split}: {BERKELEY} {reduce(add, theirs[split]).f1:.1f}\n")
        print("| model | F1 of each seed | mean | over the Berkeley parser (95 %) |\n| --- | --- | ---: | ---: |")
        for name, by_seed in by_model.items():
            f1 = [reduce(add, several).f1 for several in by_seed]
            other = [reduce(add, several) for several in zip(*by_seed, strict=True)]
            _, _, low, high = difference = paired_bootstrap(base, other, lambda score: score.f1)
            gained = difference.other - difference.base
            numbers = f"{', '.join(f'{one:.1f}' for one in f1)} | {sum(f1) / len(f1):.1f}"
            print(f"| {name} | {numbers} | {gained:+.1f} ({low:+.1f} to {high:+.1f}) |", flush=True)


if __name__ == "__main__":
    main()
