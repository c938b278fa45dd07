"""Measure constituency parsers: accuracy, time and memory of the plain PCFG, one spectral grammar and the presets.

    python benchmarks/constituency.py                      # tune: the dev split of NLTK's treebank sample
    python benchmarks/constituency.py --split test --nltk  # report
    python benchmarks/constituency.py --train nltk:alpino:train --evaluate nltk:alpino:dev --models fast accurate

Every row is a process of its own, so that its peak memory is its own.  Seconds are CPU seconds of that process after
compilation; training includes everything from trees in memory to a model in memory.  The steps of the slides and other
numbers of states are measured by `python -m benchmarks.papers cohen2013`.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from typing import NamedTuple

from _measure import in_new_process, peak_megabytes, print_head, print_row

from spectral_latent.constituency import Binarisation, ConstituencyModel, ConstituencyOptions, Phrase, clean, preset
from spectral_latent.corpora import constituency_trees
from spectral_latent.evaluation import GoldTree, evaluate_parser, score_brackets

MODELS = {
    "plain": (ConstituencyOptions(),),
    "one spectral grammar": (ConstituencyOptions(),),
    "fast": preset("fast"),
    "fast, from first": (replace(preset("fast")[0], binarisation=Binarisation("first")),),
    "fast, from last": (replace(preset("fast")[0], binarisation=Binarisation("last")),),
    "spectral": preset("spectral"),
    "three grammars": tuple(replace(options, spans=None) for options in preset("accurate")),
    "accurate": preset("accurate"),
    "best": preset("best"),
}
COLUMNS = ("F1", "F1 ≤ 40", "tags", "exact", "fallbacks", "reading s", "training s", "sentences/s", "peak MB")
WHOLE = ("fallbacks", "peak MB")


class Corpus(NamedTuple):
    """The sources of the trees to learn from and of the trees to parse."""

    train: str
    evaluate: str


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


def measure(corpus: Corpus, name: str) -> dict[str, float]:
    """Train and evaluate the model of a row, and return the row's numbers."""
    warm = [Phrase("S", (Phrase("A", (a,)), Phrase("B", ("b",)))) for a in "ab"]
    trained(warm, name).parse(["a", "b"])
    start = time.process_time()
    trees = list(constituency_trees(corpus.train))
    read = time.process_time()
    model = trained(trees, name)
    learnt = time.process_time()
    gold = [tree for tree in map(GoldTree.of, constituency_trees(corpus.evaluate)) if tree is not None]
    evaluation = evaluate_parser(model, gold)
    pairs = ((sentence.tree, parse.tree) for sentence, parse in zip(gold, evaluation.parses, strict=True))
    return {
        "F1": evaluation.score.f1,
        "F1 ≤ 40": score_brackets(pairs, max_length=40).f1,
        "tags": evaluation.score.tagging_accuracy,
        "exact": evaluation.score.exact,
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
        n_states = 1 if name == "plain" else MODELS[name][0].estimator.states.n_states
        print_row([name, n_states], in_new_process(measure, corpus, name), COLUMNS, WHOLE)


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
        "--models", nargs="+", choices=MODELS, default=["plain", "one spectral grammar", "spectral", "fast", "accurate"]
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
