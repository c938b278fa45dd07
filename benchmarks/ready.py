"""Measure the models that come with the library on text that they were not trained on, with words given but no tags.

    python -m benchmarks.ready

`en` parses newspaper text and medical articles, two genres that it has not seen; `en-ud` and `is` parse the test parts
of their treebanks.  ± is half of the 95 % interval of the bootstrap over sentences, of F1 or UAS.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from benchmarks._measure import half_interval, print_head, print_row
from benchmarks.constituency import f1_of, scores
from spectral_latent import ConstituencyModel, DependencyModel
from spectral_latent.constituency import Phrase
from spectral_latent.corpora import constituency_trees, dependency_trees
from spectral_latent.dependency import DependencySentence
from spectral_latent.evaluation import GoldTree, evaluate_parser, score_attachments, score_brackets

COLUMNS = ("sentences", "F1", "UAS", "±", "LAS", "tags", "sentences/s")
MOST = 2000  # sentences of a text


def icelandic(folder: Path) -> Iterator[Phrase]:
    """Read the test part of IcePaHC; see its ABOUT.md."""
    files = sorted(folder.glob("*.psd"))
    return (tree for at, file in enumerate(files, start=1) if at % 10 == 9 for tree in constituency_trees(file))


def phrases(name: str, trees: Iterator[Phrase]) -> dict[str, float | str]:
    """Measure a parser of phrases."""
    gold = [tree for tree in map(GoldTree.of, islice(trees, MOST)) if tree is not None]
    evaluation = evaluate_parser(ConstituencyModel.load(name), gold)
    found = [parse.tree for parse in evaluation.parses]
    score = score_brackets([(sentence.tree, tree) for sentence, tree in zip(gold, found, strict=True)])
    half = half_interval(scores(gold, found), f1_of)
    speed = evaluation.sentences_per_second
    return {"sentences": len(gold), "F1": score.f1, "±": half, "tags": score.tagging_accuracy, "sentences/s": speed}


def arcs(name: str, file: Path) -> dict[str, float | str]:
    """Measure a parser of dependencies, and its universal tags."""
    gold = list(dependency_trees(file))
    model = DependencyModel.load(name)
    parsed = model.parse_all([DependencySentence.of(tree.forms) for tree in gold], scored=False)
    found = [parses[0].tree for parses in parsed]
    score = score_attachments(gold, found)
    each = [score_attachments([a], [b]) for a, b in zip(gold, found, strict=True)]
    half = half_interval(each, lambda one: one.uas)
    pairs = [(a, b) for x, y in zip(gold, found, strict=True) for a, b in zip(x.upos, y.upos, strict=True)]
    tags = 100 * sum(a == b for a, b in pairs) / len(pairs)
    return {"sentences": len(gold), "UAS": score.uas, "±": half, "LAS": score.las, "tags": tags}


def main() -> None:
    """Print the table."""
    data = Path(os.environ.get("SPECTRAL_LATENT_DATA", "../shared"))
    print_head(["model", "text"], COLUMNS)
    rows = (
        ("en", "Wall Street Journal, test", lambda: phrases("en", constituency_trees("nltk:treebank:test"))),
        ("en", "CRAFT, dev", lambda: phrases("en", constituency_trees(data / "treebanks/craft/dev"))),
        ("en-ud", "EWT, test", lambda: arcs("en-ud", data / "ud/en_ewt/en_ewt-ud-test.conllu")),
        ("is", "IcePaHC, test", lambda: phrases("is", icelandic(data / "treebanks/icepahc"))),
    )
    for name, text, measure in rows:
        print_row([name, text], measure(), COLUMNS, ("sentences", "sentences/s"))


if __name__ == "__main__":
    main()
