"""Measure what helps to make a treebank: the order of sentences, and mended strings.

    python -m benchmarks.annotation orders --treebanks sample --trees 400
    python -m benchmarks.annotation repairs

*orders*: an annotator corrects the suggestions for fifty sentences at a time; the first hundred trees are given.
*Corrected* is the number of gold brackets and tags that the suggestions for all sentences lacked.  F1 is that of a
parser that has learnt from all corrected trees, on every tenth sentence of the treebank, at most 300.  In *fixed, in
file order*, which is the base, suggestions come from the parser of the first hundred trees; in all other orders, the
parser that suggests learns from each tree (`Workbench`), has a new start when the trees have doubled, and goes on until
there are three quarters as many corrections as in the base.  *Share* is the number of corrections after which an order
has reached the last F1 of the base, as a share of those of the base: by linear interpolation between means over three
batches.

*repairs*: a parser of 2,000 trees mends corrupted gold trees of 200 sentences that it has not seen.  A tenth or half of
the brackets, tags not included, are dropped, get other labels, or both; or a tenth of the words and a fifth of the
brackets are lost.  *string* is the F1 of the corrupted brackets, *parser* that of the parser alone.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

from benchmarks._measure import DATA, command_line, in_new_process, print_head, print_row
from spectral_latent.constituency import ConstituencyModel, Phrase, clean, list_constituents
from spectral_latent.corpora import constituency_trees
from spectral_latent_annotate import Suggestion, Workbench, repair_all

FIRST = 100  # trees that are given
BATCH = 50  # sentences that are corrected together
ASKED = 150  # sentences of which the next batch is chosen
HELD_OUT = 300
MOST = 800  # trees of one text, if a treebank has several
TREEBANKS = {
    "sample": ["nltk:treebank"],
    "alpino": [str(DATA / "treebanks/alpino/train.mrg")],  # as `benchmarks.alpino` writes it
    "IcePaHC": sorted(map(str, DATA.glob("treebanks/icepahc/*.psd"))),
}
ORDERS: dict[str, Callable[[Sequence[Suggestion], np.random.Generator], Iterable[float]]] = {
    "file order": lambda found, rng: range(len(found)),
    "random": lambda found, rng: rng.random(len(found)),
    "longest first": lambda found, rng: [-float(len(list(each.tree.words()))) for each in found],
    "most words for an error": lambda found, rng: [
        -len(list(each.tree.words())) / (1.0 + each.expected_errors) for each in found
    ],
}


def trees_of(treebank: str, most: int = MOST) -> Iterator[Phrase]:
    """Read the trees of a treebank, without function labels: at most `most` of one text, if there are several."""
    sources = TREEBANKS[treebank]
    for source in sources:
        every = constituency_trees(source)
        trees = islice(every, most) if len(sources) > 1 else every
        yield from filter(None, map(clean, trees))


def brackets_of(tree: Phrase) -> Counter[tuple[int, int, str]]:
    """Count the brackets of a tree, without tags."""
    return Counter((c.first, c.end, c.label) for c in list_constituents(tree) if not c.is_tag)


def f1(pairs: Iterable[tuple[Phrase, Counter[tuple[int, int, str]]]]) -> float:
    """Compute the F1 of the labelled brackets of sentences, in percent."""
    n_right = n_all = 0
    for gold, found in pairs:
        ours = brackets_of(gold)
        n_right += (ours & found).total()
        n_all += ours.total() + found.total()
    return 200.0 * n_right / n_all


def parsed(model: ConstituencyModel, trees: Iterable[Phrase]) -> list[Counter[tuple[int, int, str]]]:
    """Count the brackets of the best trees of the sentences of gold trees."""
    sentences = [list(tree.words()) for tree in trees]
    return [brackets_of(parses[0].tree) for parses in model.parse_all(sentences, scored=False)]


# orders


def pool_of(treebank: str) -> tuple[list[Phrase], list[Phrase]]:
    """Read the trees that are to be made, and held-out trees."""
    trees = list(islice(trees_of(treebank), 8000))
    return [tree for at, tree in enumerate(trees) if at % 10], trees[::10][:HELD_OUT]


def n_lacking(gold: Phrase, found: Phrase) -> int:
    """Count the brackets and tags of a tree that another one lacks."""
    return (Counter(list_constituents(gold)) - Counter(list_constituents(found))).total()


def simulate(
    treebank: str, order: str | None, n_trees: int, most: float = np.inf
) -> tuple[list[tuple[int, float]], int, float]:
    """Correct trees in an order, None for the base; return corrections with F1 after each batch, trees and CPU seconds.

    most: the number of corrections after which no more trees are taken; without it, `n_trees` are.
    """
    pool, held_out = pool_of(treebank)
    rng = np.random.default_rng(0)
    bench = Workbench({str(at): tree for at, tree in enumerate(pool[:FIRST])})
    fixed = bench.model
    waiting = list(range(FIRST, len(pool)))
    corrected = 0
    points = []
    begun = time.process_time()
    while (len(bench.trees) < n_trees if most == np.inf else corrected < most) and waiting:
        asked = waiting[:BATCH]
        if order not in (None, "file order"):
            asked = sorted(rng.choice(waiting, min(ASKED, len(waiting)), replace=False).tolist())
        sentences = [list(pool[at].words()) for at in asked]
        if order is None:
            assert fixed is not None
            found = [parses[0].tree for parses in fixed.parse_all(sentences, scored=False)]
        else:
            suggestions = bench.suggest(sentences)
            chosen = np.argsort(list(ORDERS[order](suggestions, rng)), kind="stable")[:BATCH].tolist()
            asked, found = [asked[at] for at in chosen], [suggestions[at].tree for at in chosen]
        for at, tree in zip(asked, found, strict=True):
            corrected += n_lacking(pool[at], tree)
            bench.add(str(at), pool[at])
        waiting = sorted({*waiting} - {*asked})
        if bench.is_old:
            bench.renew()
        assert bench.model is not None
        points.append((corrected, f1(zip(held_out, parsed(bench.model, held_out), strict=True))))
    return points, len(bench.trees), time.process_time() - begun


def smoothed(points: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """Average each F1 with those of the batches before and after it."""
    return [(n, float(np.mean([f for _, f in points[max(at - 1, 0) : at + 2]]))) for at, (n, _) in enumerate(points)]


def corrections_for(points: Sequence[tuple[int, float]], wanted: float) -> float | None:
    """Interpolate the number of corrections at which F1 is first as large as wanted; None if it never is."""
    before = (0.0, 0.0)
    for n, reached in points:
        if reached >= wanted:
            return before[0] + (n - before[0]) * (wanted - before[1]) / (reached - before[1])
        before = (n, reached)
    return None


def print_orders(treebanks: Sequence[str], orders: Sequence[str], n_trees: int) -> None:
    """Print a row for each order of the sentences of each treebank."""
    columns = ("trees", "corrected", "F1", "share", "CPU s")
    print_head(["treebank", "order"], columns)
    for treebank in treebanks:
        base: list[tuple[int, float]] = []
        for order in (None, *orders):
            most = 0.75 * base[-1][0] if base else np.inf
            points, n_done, seconds = in_new_process(simulate, treebank, order, n_trees, most)
            points = smoothed(points)
            base = base or points
            n = corrections_for(points, base[-1][1]) if order else float(points[-1][0])
            row: dict[str, float | str] = {
                "trees": n_done,
                "corrected": points[-1][0],
                "F1": f"{points[-1][1]:.1f}",
                "share": "never" if n is None else f"{n / base[-1][0]:.2f}",
                "CPU s": seconds,
            }
            print_row([treebank, order or "fixed, in file order"], row, columns, ("trees", "corrected", "CPU s"))


# repairs


DAMAGE = {  # shares of dropped and of relabelled brackets, and of lost words
    "a tenth dropped": (0.1, 0.0, 0.0),
    "half dropped": (0.5, 0.0, 0.0),
    "a tenth relabelled": (0.0, 0.1, 0.0),
    "a fifth of both": (0.2, 0.2, 0.0),
    "words lost": (0.2, 0.0, 0.1),
}


def shuffled(treebank: str, n: int) -> list[Phrase]:
    """Read trees of at most 40 words, in a random order."""
    short = [tree for tree in islice(trees_of(treebank), 8000) if len(list(tree.words())) <= 40]
    random.Random(0).shuffle(short)
    return short[:n]


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


def mend(treebank: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Damage gold trees in several ways, mend them, and yield a row for each."""
    trees = shuffled(treebank, 2200)
    gold, rest = trees[:200], trees[200:]
    model = ConstituencyModel.train(rest)
    labels = [c.label for tree in rest for c in list_constituents(tree) if not c.is_tag]
    sentences = [list(tree.words()) for tree in gold]
    alone = parsed(model, gold)
    for name, shares in DAMAGE.items():
        rng = random.Random(0)
        strings = [damage(tree, labels, shares, rng) for tree in gold]
        mended = list(repair_all(model, zip(sentences, strings, strict=True)))
        assert [list(each.tree.words()) for each in mended] == sentences
        given = [Counter((c.first, c.end, c.label) for c in each.given if not c.is_tag) for each in mended]
        found = {"string": given, "parser": alone, "mended": [brackets_of(each.tree) for each in mended]}
        yield name, {column: f"{f1(zip(gold, of_all, strict=True)):.1f}" for column, of_all in found.items()}


def print_repairs(treebanks: Sequence[str]) -> None:
    """Print a row for each kind of damage in each treebank."""
    columns = ("string", "parser", "mended")
    print_head(["treebank", "damage"], columns)
    for treebank in treebanks:
        for name, row in mend(treebank):
            print_row([treebank, name], row, columns, ())


def main() -> None:
    """Print the table of a step."""
    parser = command_line(__doc__)
    parser.add_argument("step", choices=("orders", "repairs"))
    parser.add_argument("--treebanks", nargs="+", choices=TREEBANKS, default=list(TREEBANKS))
    parser.add_argument("--orders", nargs="+", choices=ORDERS, default=list(ORDERS))
    parser.add_argument("--trees", type=int, default=600, help="the trees of the base of orders")
    given = parser.parse_args()
    if given.step == "orders":
        print_orders(given.treebanks, given.orders, given.trees)
    else:
        print_repairs(given.treebanks)


if __name__ == "__main__":
    main()
