"""Leave out one feature template at a time: what each is worth to one spectral grammar.

    python -m benchmarks.ablation                  # NLTK's treebank sample, train → dev
    python -m benchmarks.ablation --split test

Slide 28 compares all templates with two simple ones.  Here each template of slides 18 and 19 is left out alone, with
all else as in the library's spectral estimator.  *Change* is the F1 without it less the F1 with all, with the 95 %
interval of the paired bootstrap over sentences.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

from benchmarks._measure import print_head, print_row, written_difference
from benchmarks.constituency import GoldTree, f1_of, scores
from spectral_latent.constituency import ConstituencyModel, ConstituencyOptions, prepare
from spectral_latent.corpora import constituency_trees
from spectral_latent.estimation import FeatureColumns, Shard, Spectral, Treebank, estimate
from spectral_latent.evaluation import BracketScores

COLUMNS = ("F1", "change")
INSIDE = ("rule", "left", "right", "left-opened", "right-opened", "width", "head tag")
OUTSIDE = ("above", "above-2", "above-3", "parent", "grandparent", "leaves-before", "leaves-after", "governor's tag")


def without(treebank: Treebank, inside: int | None = None, outside: int | None = None) -> Treebank:
    """Leave out the template with a number, of inside or outside trees."""
    shards = []
    for shard in treebank.shards:
        features = shard.features
        some = FeatureColumns(
            features.inside if inside is None else np.delete(features.inside, inside, axis=1),
            features.outside if outside is None else np.delete(features.outside, outside, axis=1),
        )
        shards.append(Shard.of(shard.trees, some, shard.weight))
    return replace(treebank, shards=shards)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--split", choices=("dev", "test"), default="dev")
    source = f"nltk:treebank:{parser.parse_args().split}"
    options = Spectral()
    (training,) = prepare(constituency_trees("nltk:treebank:train"), [ConstituencyOptions(estimator=options)])
    gold = [tree for tree in map(GoldTree.of, constituency_trees(source)) if tree is not None]
    whole = training.estimate()
    every = training.treebank

    def parsed(treebank: Treebank) -> list[BracketScores]:
        """Score the trees that the grammar of a treebank finds."""
        model = ConstituencyModel((whole.with_operators(estimate(treebank, options).operators),))
        found = [parses[0].tree for parses in model.parse_all([tree.words for tree in gold], scored=False)]
        return scores(gold, found)

    of_all = parsed(every)
    treebanks = {f"inside: {name}": without(every, inside=at) for at, name in enumerate(INSIDE)}
    treebanks |= {f"outside: {name}": without(every, outside=at) for at, name in enumerate(OUTSIDE)}
    print_head(["without"], COLUMNS)
    print_row(["nothing"], {"F1": sum(of_all, BracketScores()).f1}, COLUMNS, ())
    for name, treebank in treebanks.items():
        of_some = parsed(treebank)
        change = written_difference(of_all, of_some, f1_of)
        print_row([name], {"F1": sum(of_some, BracketScores()).f1, "change": change}, COLUMNS, ())


if __name__ == "__main__":
    main()
