"""Measure `check_trees` and `repair`: planted errors among the first doubts, and corrupted trees that are mended.

    python -m benchmarks.mending
    python -m benchmarks.mending --treebanks sample --only check

*check*: in 2,000 trees, one of two hundred trees each has one error: a phrase or a tag gets another label, drawn by
frequency, or the last part of a phrase moves up into the phrase above.  *Planted* is the share of planted errors among
the first hundred doubts; the others were not looked at, and the treebank's own errors count as wrong.

*repair*: a parser of 2,000 trees mends corrupted gold trees of 200 sentences that it has not seen.  A tenth or half of
the brackets, tags not included, are dropped, get other labels, or both; or a tenth of the words and a fifth of the
brackets are lost.  *string* is the F1 of the corrupted brackets, *parser* that of the parser alone.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Sequence
from itertools import islice

from benchmarks._measure import print_head, print_row
from benchmarks.annotation import MOST, TREEBANKS
from spectral_latent.constituency import ConstituencyModel, Phrase, clean
from spectral_latent.constituency.tree import list_constituents
from spectral_latent.corpora import constituency_trees
from spectral_latent_annotate import check_trees, repair_all

COLUMNS = ("doubts", "planted", "string", "parser", "mended")
DAMAGE = {  # shares of dropped and of relabelled brackets, and of lost words
    "a tenth dropped": (0.1, 0.0, 0.0),
    "half dropped": (0.5, 0.0, 0.0),
    "a tenth relabelled": (0.0, 0.1, 0.0),
    "a fifth of both": (0.2, 0.2, 0.0),
    "words lost": (0.2, 0.0, 0.1),
}


def read(treebank: str, n: int) -> list[Phrase]:
    """Read trees of at most 40 words, in a random order."""
    most = MOST if len(TREEBANKS[treebank]) > 1 else None
    every = (tree for source in TREEBANKS[treebank] for tree in islice(constituency_trees(source), most))
    plain = [tree for tree in map(clean, islice(every, 8000)) if tree is not None]
    short = [tree for tree in plain if len(list(tree.words())) <= 40]
    random.Random(0).shuffle(short)
    return short[:n]


def relabelled(tree: Phrase, at: int, label: str) -> Phrase:
    """Give the phrase number `at`, in the order of `nodes`, another label."""
    number = -1

    def copy(phrase: Phrase) -> Phrase:
        nonlocal number
        number += 1
        own = label if number == at else phrase.label
        return Phrase(own, tuple([copy(child) if isinstance(child, Phrase) else child for child in phrase.children]))

    return copy(tree)


def raised(tree: Phrase, rng: random.Random) -> Phrase | None:
    """Move the last part of a phrase up into the phrase above, after it; None if no phrase has parts to spare."""
    places = [
        (node, at)
        for node in tree.nodes()
        if isinstance(node, Phrase)
        for at, child in enumerate(node.children)
        if isinstance(child, Phrase) and len(child.children) > 2
    ]
    if not places:
        return None
    above, at = rng.choice(places)

    def copy(phrase: Phrase) -> Phrase:
        children = [copy(child) if isinstance(child, Phrase) else child for child in phrase.children]
        if phrase is above:
            lower = children[at]
            assert isinstance(lower, Phrase)
            children[at : at + 1] = [Phrase(lower.label, lower.children[:-1]), lower.children[-1]]
        return Phrase(phrase.label, tuple(children))

    return copy(tree)


def check(treebank: str) -> dict[str, str]:
    """Plant errors, and count those among the first hundred doubts."""
    rng = random.Random(0)
    trees = read(treebank, 2000)
    labels: dict[bool, list[str]] = {True: [], False: []}
    for tree in trees:
        for part in list_constituents(tree):
            labels[part.is_tag].append(part.label)
    wrong = {}
    for number in rng.sample(range(len(trees)), min(200, len(trees) // 10)):
        tree = trees[number]
        planted = raised(tree, rng) if rng.random() < 1 / 3 else None
        if planted is None:
            nodes = [node for node in tree.nodes() if isinstance(node, Phrase)]
            at = rng.randrange(len(nodes))
            label = nodes[at].label
            while label == nodes[at].label:
                label = rng.choice(labels[nodes[at].is_preterminal()])
            planted = relabelled(tree, at, label)
        wrong[number] = set(list_constituents(planted)) - set(list_constituents(tree))
        trees[number] = planted
    doubts = check_trees(trees)
    found = sum(doubt.constituent in wrong.get(doubt.tree, ()) for doubt in doubts[:100])
    return {"doubts": str(len(doubts)), "planted": f"{found / 100:.2f}"}


def f1(pairs: Sequence[tuple[Phrase, Counter[tuple[int, int, str]]]]) -> float:
    """Compute the F1 of the brackets of sentences, without tags."""
    n_right = n_all = 0
    for gold, found in pairs:
        ours = Counter((c.first, c.end, c.label) for c in list_constituents(gold) if not c.is_tag)
        n_right += (ours & found).total()
        n_all += ours.total() + found.total()
    return 200.0 * n_right / n_all


def brackets_of(tree: Phrase) -> Counter[tuple[int, int, str]]:
    """Count the brackets of a tree, without tags."""
    return Counter((c.first, c.end, c.label) for c in list_constituents(tree) if not c.is_tag)


def damage(tree: Phrase, labels: Sequence[str], shares: tuple[float, float, float], rng: random.Random) -> str:
    """Write a tree without some brackets and words, and with other labels."""
    dropped, changed, lost = shares

    def write(phrase: Phrase) -> str:
        inside = " ".join(
            write(child) if isinstance(child, Phrase) else ("" if rng.random() < lost else child)
            for child in phrase.children
        )
        if phrase.is_preterminal():
            return f"({phrase.label} {inside})" if inside else ""
        draw = rng.random()
        if draw < dropped:
            return inside
        return f"({rng.choice(labels) if draw < dropped + changed else phrase.label} {inside})"

    return write(tree)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--treebanks", nargs="+", choices=TREEBANKS, default=list(TREEBANKS))
    parser.add_argument("--only", choices=("check", "repair"))
    arguments = parser.parse_args()
    print_head(["treebank", "what"], COLUMNS)
    for treebank in arguments.treebanks:
        if arguments.only != "repair":
            print_row([treebank, "check"], check(treebank), COLUMNS, ())
        if arguments.only == "check":
            continue
        trees = read(treebank, 2200)
        model = ConstituencyModel.train(trees[200:])
        labels = [c.label for tree in trees[200:] for c in list_constituents(tree) if not c.is_tag]
        sentences = [list(tree.words()) for tree in trees[:200]]
        alone = [brackets_of(parses[0].tree) for parses in model.parse_all(sentences, scored=False)]
        for name, shares in DAMAGE.items():
            rng = random.Random(0)
            strings = [damage(tree, labels, shares, rng) for tree in trees[:200]]
            mended = list(repair_all(model, zip(sentences, strings, strict=True)))
            assert all(list(each.tree.words()) == words for each, words in zip(mended, sentences, strict=True))
            given = [Counter((c.first, c.end, c.label) for c in each.given if not c.is_tag) for each in mended]
            found = {"string": given, "parser": alone, "mended": [brackets_of(each.tree) for each in mended]}
            row = {name: f"{f1(list(zip(trees, of_all, strict=False))):.1f}" for name, of_all in found.items()}
            print_row([treebank, name], row, COLUMNS, ())


if __name__ == "__main__":
    main()
