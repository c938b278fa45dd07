"""Make Table 1 of Dhillon et al. (2012): rerank MSTParser's lists by baseline features and by the paper's log p̂.

    python benchmarks/dhillon2012.py                  # dev, by cross-validation
    python benchmarks/dhillon2012.py --split test     # learnt on dev, reported on test

Lists are $SPECTRAL_LATENT_DATA/nbest/mstparser.{dev,test}.heads, of the first-order parser; there are no lists of the
second-order parser.  p̂ is the probability of the tags given the tree, with k = 10, learnt on the train part of NLTK's
dependency sample by Algorithm 1 as printed and as corrected, with each of the embeddings.  The feature is log |p̂|,
because about half of the p̂ are not positive.  The rerankers are the averaged perceptron of Collins (2002), which the
paper names, and this library's.  Accuracy is that of words that are not punctuation; complete sentences have the right
head for every token.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, product
from typing import Any

import numpy as np
from reranking import FOLDS, gold_of, interval, lists_of, taken

from spectral_latent.evaluation.candidates import score_dependency_lists
from spectral_latent.evaluation.reranking import paired_bootstrap
from spectral_latent.papers.collins import train_averaged_perceptron
from spectral_latent.papers.dhillon2012 import ALGORITHMS, EMBEDDINGS, ObservedTreebank
from spectral_latent.reranking import CandidateFeatures, FeatureTable, NBest, PerceptronReranker
from spectral_latent.reranking.perceptron import best_of_lists
from spectral_latent.trees import FloatArray, IntArray, Vocabulary

K = 10
PAPER = {"base parser": "90.8, 37.2", "+ baseline features": "91.3, 37.5", "+ log p̂": "91.7, 37.8"}
Learner = Callable[[FeatureTable, FloatArray], Callable[[FeatureTable], IntArray]]


def collins(table: FeatureTable, gains: FloatArray) -> Callable[[FeatureTable], IntArray]:
    """Learn by the averaged perceptron of Collins (2002)."""
    weights = train_averaged_perceptron(table, gains)
    return lambda other: best_of_lists(np.asarray(other.values @ weights)[:, None], other.start)[:, 0]


def library(table: FeatureTable, gains: FloatArray) -> Callable[[FeatureTable], IntArray]:
    """Learn by this library's perceptron."""
    return PerceptronReranker.train(table, gains).rerank


LEARNERS: dict[str, Learner] = {"Collins": collins, "library": library}


def held_out(learner: Learner, table: FeatureTable, gains: FloatArray) -> IntArray:
    """Choose a candidate of each list (L,) by a reranker that was learnt on the other folds."""
    chosen = []
    for fold in np.array_split(np.arange(table.n_lists), FOLDS):
        rest = np.setdiff1d(np.arange(table.n_lists), fold)
        rerank = learner(table.of_lists(rest), gains[table.rows_of(rest)])
        chosen.append(rerank(table.of_lists(fold)))
    return np.concatenate(chosen)


def log_columns(treebank: ObservedTreebank, lists: list[NBest], algorithm: str, embedding: str) -> FeatureTable:
    """Compute log |p̂| of every candidate; a candidate with several roots or with p̂ = 0 gets the least of all."""
    trees = [candidate.tree for nbest in lists for candidate in nbest.candidates]
    rooted = [number for number, tree in enumerate(trees) if tree.heads.count(0) == 1]
    weight = treebank.train_paper(algorithm, embedding, K)([trees[number] for number in rooted])
    log = np.full(len(trees), weight.log[weight.sign != 0].min())
    log[rooted] = np.maximum(weight.log, log[0])
    return FeatureTable.measures({"latent:log": log}, [len(each) for each in lists], [each.id for each in lists])


def rows(treebank: ObservedTreebank, lists: dict[str, list[NBest]]) -> Iterator[tuple[str, dict[str, FeatureTable]]]:
    """Make the features of each row of the table, for every split."""
    features = CandidateFeatures.train(lists["dev"])
    tables = {split: features.table(several) for split, several in lists.items()}
    yield "+ baseline features", tables
    for algorithm, embedding in product(ALGORITHMS, EMBEDDINGS):
        column = partial(log_columns, treebank, algorithm=algorithm, embedding=embedding)
        more = {split: table.joined(column(lists=lists[split])) for split, table in tables.items()}
        yield f"+ log p̂ ({algorithm}, U of {embedding})", more


def print_row(name: str, learner: str, chosen: list[Any], base: list[Any], measure: Callable[[Any], float]) -> None:
    """Print the row of a reranker, from the scores of the chosen candidates and of the base parser's trees."""
    complete = 100 * np.mean([score.complete_sentences for score in chosen])
    difference = paired_bootstrap(base, chosen, measure)
    paper = PAPER[name.split(" (")[0]]
    print(
        f"| {name} | {learner} | {paper} | {difference.other:.2f}, {complete:.1f} | {interval(difference)} |",
        flush=True,
    )


def main() -> None:
    """Run the table for the split that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--split", choices=("dev", "test"), default="dev", help="the part of NLTK's dependency sample")
    split = parser.parse_args().split
    gold = {part: gold_of(part, has_heads=True, first=None) for part in ("train", "dev", split)}
    lists = {part: lists_of("mstparser", part, gold[part], None) for part in dict.fromkeys(("dev", split))}  # type: ignore[arg-type]
    tags = Vocabulary(tag for sentence in chain(*gold.values()) for tag in sentence.xpos)
    treebank = ObservedTreebank(gold["train"], tags, "xpos")
    scores = {part: score_dependency_lists(several, gold[part]) for part, several in lists.items()}
    print("\n| features | perceptron | paper: accuracy, complete | accuracy, complete | over base | ER % |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    base = taken(scores[split], np.zeros(len(lists[split]), dtype=np.int64))
    measure = scores[split].measure
    print_row("base parser", "", base, base, measure)
    for name, tables in rows(treebank, lists):
        for learner, learn in LEARNERS.items():
            if split == "dev":
                chosen = held_out(learn, tables["dev"], scores["dev"].gains)
            else:
                chosen = learn(tables["dev"], scores["dev"].gains)(tables["test"])
            print_row(name, learner, taken(scores[split], chosen), base, measure)


if __name__ == "__main__":
    main()
