"""Measure presets with intervals: phrases beside the Berkeley parser, dependencies and tags.

    python benchmarks/intervals.py                        # the dev split of NLTK's treebank sample, three seeds
    python benchmarks/intervals.py --splits dev test --models fast spectral "three grammars"
    python benchmarks/intervals.py --models --ewt en_ewt-ud-train.conllu en_ewt-ud-test.conllu   # LAS and tags alone

Every seed trains a model anew, from another start of the singular value decompositions and of k-means.  The Berkeley
parser's trees are the first of its lists.  --parses names their file; it has a list for each sentence of the split, in
the order of the split, as the option -kbest of the Berkeley parser prints them, or any other form of n-best lists that
this library reads.  Differences are those of all seeds together.  All intervals are 95 % intervals of the bootstrap
over sentences, for differences of the paired one.  They do not show how other seeds would differ.

--ewt also measures the presets of dependency parsers, which are given the gold UPOS tags, and of taggers, which are
given the words alone.
"""

from __future__ import annotations

import argparse
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

from spectral_latent import dependency, sequence
from spectral_latent.constituency import ConstituencyModel, ConstituencyOptions, Phrase, preset
from spectral_latent.corpora import constituency_trees, dependency_trees, tagged_sentences
from spectral_latent.corpora.nbest import read_nbest
from spectral_latent.dependency import DependencyModel
from spectral_latent.evaluation import BracketScores, GoldTree, score_attachments, score_brackets, score_tags
from spectral_latent.evaluation.reranking import paired_bootstrap
from spectral_latent.sequence import LatentTagger

BERKELEY = "Berkeley parser"
LISTS = str(Path(os.environ.get("SPECTRAL_LATENT_DATA", "."), "nbest", "berkeley.{split}.trees"))
MODELS = {
    "one spectral grammar": (ConstituencyOptions(),),
    "spectral": preset("spectral"),
    "fast": preset("fast"),
    "three grammars": tuple(replace(options, spans=None) for options in preset("accurate")),
    "accurate": preset("accurate"),
}
OTHER_PRESETS = ("fast", "accurate", "spectral")


def with_seed(options: ConstituencyOptions, seed: int) -> ConstituencyOptions:
    """Give the same options another seed."""
    return replace(options, estimator=options.estimator.with_settings(seed=seed))


def models(trees: Sequence[Phrase], names: Sequence[str], seed: int) -> Iterator[tuple[str, ConstituencyModel]]:
    """Train models; also yield the first of the three grammars alone."""
    for name in names:
        model = ConstituencyModel.train(trees, [with_seed(one, seed) for one in MODELS[name]])
        if name == "three grammars":
            yield f"{name}, the first alone", ConstituencyModel(model.members[:1])
        yield name, model


def scores(gold: Sequence[GoldTree], trees: Sequence[Phrase]) -> list[BracketScores]:
    """Score each tree."""
    return [score_brackets([(sentence.tree, tree)]) for sentence, tree in zip(gold, trees, strict=True)]


def berkeley_trees(file: Path, gold: Sequence[GoldTree]) -> Iterator[Phrase]:
    """Take the first tree of each list, or a flat tree without any label of the treebank if a list is empty."""
    for (_, words), listed in zip(gold, read_nbest(file), strict=True):
        tree = listed.candidates[0].tree if listed.candidates else None
        flat = Phrase("NONE", tuple(Phrase("NONE", (word,)) for word in words))
        yield tree if isinstance(tree, Phrase) else flat


def half_interval(of_sentences: Sequence[Any], measure: Callable[[Any], float]) -> float:
    """Compute half of the interval of a percentage, which is its difference from that of a system without counts."""
    _, _, low, high = paired_bootstrap([type(of_sentences[0])()] * len(of_sentences), of_sentences, measure)
    return (high - low) / 2


def print_phrases(splits: Sequence[str], names: Sequence[str], n_seeds: int, parses: str) -> None:
    """Print a table of phrase parsers for each split."""
    train = list(constituency_trees("nltk:treebank:train"))
    gold = {
        split: [tree for tree in map(GoldTree.of, constituency_trees(f"nltk:treebank:{split}")) if tree is not None]
        for split in splits
    }
    theirs = {
        split: scores(sentences, list(berkeley_trees(Path(parses.format(split=split)), sentences)))
        for split, sentences in gold.items()
    }
    scores_of: dict[str, dict[str, list[list[BracketScores]]]] = {split: defaultdict(list) for split in gold}
    for seed in range(n_seeds):
        for name, model in models(train, names, seed):
            for split, sentences in gold.items():
                trees = [parses[0].tree for parses in model.parse_all(words for _, words in sentences)]
                scores_of[split][name].append(scores(sentences, trees))
    for split, by_model in scores_of.items():
        base = [reduce(add, [score] * n_seeds) for score in theirs[split]]
        print(f"\n{split}: {BERKELEY} {reduce(add, theirs[split]).f1:.2f}\n")
        print("| model | F1 of each seed | mean | ± | over the Berkeley parser |\n| --- | --- | ---: | ---: | ---: |")
        for name, by_seed in by_model.items():
            f1 = [reduce(add, several).f1 for several in by_seed]
            other = [reduce(add, several) for several in zip(*by_seed, strict=True)]
            _, _, low, high = difference = paired_bootstrap(base, other, f1_of)
            gained = difference.other - difference.base
            numbers = (
                f"{', '.join(f'{one:.2f}' for one in f1)} | {sum(f1) / len(f1):.2f} | {half_interval(other, f1_of):.1f}"
            )
            print(f"| {name} | {numbers} | {gained:+.2f} ({low:+.1f} to {high:+.1f}) |", flush=True)


def f1_of(score: BracketScores) -> float:
    """Take F1."""
    return score.f1


def print_others(train: str, evaluate: str) -> None:
    """Print a table of dependency parsers and taggers."""
    trees, gold = (list(dependency_trees(source)) for source in (train, evaluate))
    tagged, gold_tags = (list(tagged_sentences(source, "upos")) for source in (train, evaluate))
    words = [[word for word, _ in sentence] for sentence in gold_tags]
    print(f"\n{evaluate}: {len(gold)} sentences\n")
    print("| preset | LAS | ± | tags, UPOS | ± |\n| --- | ---: | ---: | ---: | ---: |")
    for name in OTHER_PRESETS:
        parser = DependencyModel.train(trees, dependency.preset(name))
        parses_of_each = parser.parse_all(sentence.without_tree() for sentence in gold)
        attached = [
            score_attachments([tree], [parses[0].tree]) for tree, parses in zip(gold, parses_of_each, strict=True)
        ]
        tags = LatentTagger.train(tagged, sequence.preset(name)).tag_all(words)
        right = [
            score_tags([sentence], [list(zip(forms, row, strict=True))])
            for sentence, forms, row in zip(gold_tags, words, tags, strict=True)
        ]
        numbers = (
            f"{measure(reduce(add, several)):.2f} | {half_interval(several, measure):.1f}"
            for several, measure in ((attached, lambda score: score.las), (right, lambda score: score.accuracy))
        )
        print(f"| {name} | {' | '.join(numbers)} |", flush=True)


def main() -> None:
    """Print the tables that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", nargs="+", choices=("dev", "test"), default=["dev"])
    parser.add_argument("--models", nargs="*", choices=MODELS, default=list(MODELS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--parses", metavar="FILE", default=LISTS, help="the Berkeley parser's lists; {split} stands for dev or test"
    )
    parser.add_argument("--ewt", nargs=2, metavar=("TRAIN", "EVALUATE"), help="a treebank in CoNLL-U")
    arguments = parser.parse_args()
    if arguments.models:
        print_phrases(arguments.splits, arguments.models, arguments.seeds, arguments.parses)
    if arguments.ewt is not None:
        print_others(*arguments.ewt)


if __name__ == "__main__":
    main()
