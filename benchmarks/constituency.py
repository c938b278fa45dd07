"""Measure constituency parsers: accuracy, time and memory of the plain PCFG, one spectral grammar and the presets.

    python -m benchmarks.constituency                      # tune: the dev split of NLTK's treebank sample
    python -m benchmarks.constituency --split test --nltk  # report
    python -m benchmarks.constituency --train nltk:alpino:train --evaluate nltk:alpino:dev --models fast accurate

Every row is a process of its own, so that its peak memory is its own.  Seconds are CPU seconds of that process after
compilation; training includes everything from trees in memory to a model in memory.  ± is half of the 95 % interval of
the bootstrap over sentences, and differences from the Berkeley parser have the interval of the paired one.  That
parser's trees are the first of its lists, $SPECTRAL_LATENT_DATA/nbest/berkeley.SPLIT.trees: a list for each sentence of
the split, in any form of n-best lists that the library reads.  The steps of the slides and other
numbers of states are measured by `python -m benchmarks.papers cohen2013`.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from benchmarks._measure import (
    half_interval,
    in_new_process,
    peak_megabytes,
    print_head,
    print_row,
    written_difference,
)
from spectral_latent.constituency import Binarisation, ConstituencyModel, ConstituencyOptions, Phrase, clean, preset
from spectral_latent.corpora import constituency_trees
from spectral_latent.corpora.nbest import read_nbest
from spectral_latent.evaluation import BracketScores, GoldTree, evaluate_parser, score_brackets

MODELS = {
    "plain": (ConstituencyOptions(),),
    "one spectral grammar": (ConstituencyOptions(),),
    "fast": preset("fast"),
    "fast, from first": (replace(preset("fast")[0], binarisation=Binarisation("first")),),
    "fast, from last": (replace(preset("fast")[0], binarisation=Binarisation("last")),),
    "clusters": preset("clusters"),
    "three grammars": tuple(replace(options, spans=None) for options in preset("accurate")),
    "accurate": preset("accurate"),
    "best": preset("best"),
}
BERKELEY = "Berkeley parser"
OVER = "over the Berkeley parser"
ACCURACY = ("F1", "±", OVER, "F1 ≤ 40", "tags", "exact", "fallbacks")
COLUMNS = (*ACCURACY, "reading s", "training s", "sentences/s", "peak MB")
WHOLE = ("fallbacks", "peak MB")


class Corpus(NamedTuple):
    """The sources of the trees to learn from and of the trees to parse."""

    train: str
    evaluate: str

    def gold(self) -> list[GoldTree]:
        """Read the trees of the sentences to parse."""
        return [tree for tree in map(GoldTree.of, constituency_trees(self.evaluate)) if tree is not None]

    def lists(self) -> Path:
        """Name the file of the Berkeley parser's lists."""
        split = self.evaluate.removeprefix("nltk:treebank:")
        return Path(os.environ.get("SPECTRAL_LATENT_DATA", "."), "nbest", f"berkeley.{split}.trees")


def f1_of(score: BracketScores) -> float:
    """Take F1."""
    return score.f1


def scores(gold: Sequence[GoldTree], trees: Sequence[Phrase]) -> list[BracketScores]:
    """Score each tree."""
    return [score_brackets([(sentence.tree, tree)]) for sentence, tree in zip(gold, trees, strict=True)]


def berkeley_trees(file: Path, gold: Sequence[GoldTree]) -> Iterator[Phrase]:
    """Take the first tree of each list, or a flat tree without any label of the treebank if a list is empty."""
    for (_, words), listed in zip(gold, read_nbest(file), strict=True):
        tree = listed.candidates[0].tree if listed.candidates else None
        flat = Phrase("NONE", tuple(Phrase("NONE", (word,)) for word in words))
        yield tree if isinstance(tree, Phrase) else flat


def accuracy(gold: Sequence[GoldTree], trees: Sequence[Phrase]) -> dict[str, float | str]:
    """Measure accuracy, and half of the interval of F1."""
    pairs = [(sentence.tree, tree) for sentence, tree in zip(gold, trees, strict=True)]
    score = score_brackets(pairs)
    return {
        "F1": score.f1,
        "±": half_interval(scores(gold, trees), f1_of),
        "F1 ≤ 40": score_brackets(pairs, max_length=40).f1,
        "tags": score.tagging_accuracy,
        "exact": score.exact,
    }


def berkeley(corpus: Corpus) -> dict[str, float | str]:
    """Measure the accuracy of the Berkeley parser."""
    gold = corpus.gold()
    return accuracy(gold, list(berkeley_trees(corpus.lists(), gold)))


def trained(trees: list[Phrase], name: str) -> ConstituencyModel:
    """Train the model of a row; the plain PCFG parses with its own operators."""
    model = ConstituencyModel.train(trees, MODELS[name])
    if name != "plain":
        return model
    (grammar,) = model.members
    return ConstituencyModel((grammar.with_operators(grammar.coarse),))


def words_of(tree: Phrase) -> list[str]:
    """List the words of a tree, without empty elements."""
    cleaned = clean(tree)
    return list(cleaned.words()) if cleaned is not None else []


def measure(corpus: Corpus, name: str) -> dict[str, float | str]:
    """Train and evaluate the model of a row, and return the row's numbers."""
    warm = [Phrase("S", (Phrase("A", (a,)), Phrase("B", ("b",)))) for a in "ab"]
    trained(warm, name).parse(["a", "b"])
    start = time.process_time()
    trees = list(constituency_trees(corpus.train))
    read = time.process_time()
    model = trained(trees, name)
    learnt = time.process_time()
    gold = corpus.gold()
    evaluation = evaluate_parser(model, gold)
    parsed = [parse.tree for parse in evaluation.parses]
    theirs = scores(gold, list(berkeley_trees(corpus.lists(), gold))) if corpus.lists().exists() else None
    return accuracy(gold, parsed) | {
        OVER: "" if theirs is None else written_difference(theirs, scores(gold, parsed), f1_of),
        "fallbacks": evaluation.fallbacks,
        "reading s": read - start,
        "training s": learnt - read,
        "sentences/s": evaluation.sentences_per_second,
        "peak MB": peak_megabytes(),
    }


def print_table(corpus: Corpus, names: list[str]) -> None:
    """Print the table row by row."""
    print(f"\n{corpus.train} → {corpus.evaluate}\n")
    print_head(["model", "m"], COLUMNS)
    for name in names:
        members = [options.estimator.states.n_states for options in MODELS[name]]
        n_states = 1 if name == "plain" else ", ".join(map(str, members))
        print_row([name, n_states], in_new_process(measure, corpus, name), COLUMNS, WHOLE)
    if corpus.lists().exists():
        print_row([BERKELEY, ""], berkeley(corpus), COLUMNS, WHOLE)


def nltk_table(corpus: Corpus) -> None:
    """Compare NLTK's ViterbiParser, on the PCFG of the same trees, with this library on the same sentences."""
    from nltk import Nonterminal, induce_pcfg
    from nltk.parse import ViterbiParser

    from spectral_latent.corpora import phrase_to_nltk

    train = [tree for tree in map(clean, constituency_trees(corpus.train)) if tree is not None]
    known = {word for tree in train for word in tree.words()}
    productions = []
    for phrase in train:
        tree = phrase_to_nltk(phrase)
        tree.collapse_unary(collapsePOS=True)
        tree.chomsky_normal_form(horzMarkov=2)
        productions += tree.productions()
    grammar = induce_pcfg(Nonterminal("S"), productions)
    sentences = map(words_of, constituency_trees(corpus.evaluate))
    by_length = {len(words): words for words in sentences if known.issuperset(words)}
    model = trained(train, "one spectral grammar")
    parser = ViterbiParser(grammar, max_time=None)
    model.parse(by_length[8])
    print("\n| words | NLTK ViterbiParser s | spectral ms | times |\n| ---: | ---: | ---: | ---: |")
    for length in (8, 10, 12, 15):
        start = time.process_time()
        list(parser.parse(by_length[length]))
        theirs = time.process_time() - start
        start = time.process_time()
        for _ in range(20):
            model.parse(by_length[length])
        ours = (time.process_time() - start) / 20
        print(f"| {length} | {theirs:.1f} | {1000 * ours:.1f} | {theirs / ours:,.0f} |", flush=True)


def main() -> None:
    """Run the tables that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--split", choices=("dev", "test"), default="dev", help="the part of NLTK's treebank sample")
    parser.add_argument("--train", help="another treebank to learn from: a file, a folder or nltk:NAME")
    parser.add_argument("--evaluate", help="the trees to parse with --train")
    parser.add_argument(
        "--models", nargs="+", choices=MODELS, default=["plain", "one spectral grammar", "clusters", "fast", "accurate"]
    )
    parser.add_argument("--nltk", action="store_true", help="also time NLTK's ViterbiParser")
    arguments = parser.parse_args()
    if (arguments.train is None) != (arguments.evaluate is None):
        parser.error("--train and --evaluate go together")
    corpus = Corpus(arguments.train or "nltk:treebank:train", arguments.evaluate or f"nltk:treebank:{arguments.split}")
    print_table(corpus, arguments.models)
    if arguments.nltk:
        nltk_table(corpus)


if __name__ == "__main__":
    main()
