"""Table 1 of Dhillon, Rodu, Collins, Foster and Ungar (2012): trees of a parser, reranked with and without log p̂.

    python -m benchmarks.papers.dhillon2012 --evaluate nltk:dependency_treebank:test

| here | paper, section 4 |
| --- | --- |
| the preset `fast` makes the lists | MSTParser makes them |
| lists of training sentences are those of three parsers, each of which learnt from the other two thirds | the same |
| p̂ of training sentences is estimated from the other two thirds, too | from all training trees |
| the observations are tags (XPOS), which are given | words |
| U from counts of arcs, as the theorem asks for | U from contexts in 63 million words |
| p̂ of the algorithm as printed, and as corrected (`observable`) | as printed |
| log abs p̂, because about half of all p̂ are not positive; where p̂ is zero, the least of all | log p̂ |
| counts of siblings and of grandparents, and the parser's score and rank | such counts |
| words and complete sentences are counted without punctuation | punctuation is removed first |

The perceptron is that of Collins (2002): w begins as zero; x_best - x_j* is added wherever the candidate with the most
right heads is not j* = argmax w·x; the mean of w over all visits reranks.

| event | parts |
| --- | --- |
| `siblings` | tag of the nearest left dependant, tag of the head, tag of the nearest right dependant |
| `grandparent` | side and tag of a word, tag of its head, tag of the head's head |

A `siblings` event is counted for every word and for the root.  A - stands for a missing word.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from benchmarks._measure import command_line, print_head, print_row, written_difference
from benchmarks.papers.observable import estimate_corrected_operators, estimate_paper_operators
from benchmarks.papers.observations import Observations, embed_by_arcs
from spectral_latent.corpora import CorpusError, dependency_trees
from spectral_latent.dependency import Attachment, DependencyModel, DependencySentence, HeadSymbol, preset
from spectral_latent.dependency.conversion import convert_trees
from spectral_latent.evaluation.reranking import CandidateScores, score_dependency_lists
from spectral_latent.inference import SignedLog, tree_weights
from spectral_latent.model.parts import jackknife
from spectral_latent.reranking import CandidateFeatures, FeatureTable, NBest, parser_nbest
from spectral_latent.reranking.choice import best_of_lists
from spectral_latent.trees import FloatArray, Forest, IntArray, Vocabulary

__all__ = [
    "ALGORITHMS",
    "ListsOfPart",
    "ObservedTreebank",
    "choose_events",
    "count_events",
    "events_of",
    "read_trees",
    "train_averaged_perceptron",
]

FOLDS = 3
ALGORITHMS = {"paper": estimate_paper_operators, "corrected": estimate_corrected_operators}
COLUMNS = ("paper: accuracy", "paper: complete", "accuracy", "complete", "over base", "over baseline")
_PAPER = {"base parser": ("90.8", "37.2"), "+ baseline features": ("91.3", "37.5"), "+ log p̂": ("91.7", "37.8")}

Sentences = Sequence[DependencySentence]


# ---------------------------------------------------------------------------------------------------------------------
# p̂


class ObservedTreebank(NamedTuple):
    """A treebank whose observations are tags.

    trees: the sentences with their heads.
    tags: all tags that may be observed.
    """

    trees: Sentences
    tags: Vocabulary[str]

    def train(self, algorithm: str, k: int) -> Callable[[Sentences], SignedLog]:
        """Estimate operators of k dimensions, and give what computes p̂(tags | tree)."""
        rows = [[self.tags[tag] for tag in sentence.xpos] for sentence in self.trees]
        heads = (sentence.heads or () for sentence in self.trees)
        observed = Observations.of(zip(rows, heads, strict=True), len(self.tags))
        operators = ALGORITHMS[algorithm](observed, embed_by_arcs(observed, k))
        labels = Vocabulary([HeadSymbol("", "complete"), HeadSymbol("", "right"), HeadSymbol("", "left")])

        def score(sentences: Sentences) -> SignedLog:
            tags = [sentence.xpos for sentence in sentences]
            converted = convert_trees(sentences, tags, Attachment(symbols_have_tags=False), labels)
            trees = converted.over(np.array([self.tags.get(tag) for row in tags for tag in row]))
            # A word whose left children are yet to come (symbol 2) is scored like one that is complete (symbol 0).
            symbol = np.where(trees.symbol == 2, 0, trees.symbol)
            merged = type(trees)(symbol, trees.left, trees.right, trees.terminal, trees.root)
            return tree_weights(operators, Forest.of_trees(merged, operators.rules))

        return score


def read_trees(source: str) -> Sentences:
    """Read trees with tags.  Raises CorpusError if there is no tree, or a word without head or tag."""
    trees = list(dependency_trees(source))
    if not trees:
        raise CorpusError(f"{source}: no trees")
    for number, tree in enumerate(trees, start=1):
        if tree.heads is None or "_" in tree.xpos:
            raise CorpusError(f"{source}: sentence {number} has a word without a head, or without a tag in XPOS")
    return trees


# ---------------------------------------------------------------------------------------------------------------------
# Features


def events_of(tree: DependencySentence) -> Iterator[str]:
    """List the names of the events in a tree.

    >>> sorted(events_of(DependencySentence.of(["Dogs", "bark"], ["NNS", "VBP"]).with_heads((2, 0))))[:2]
    ['grandparent left NNS VBP ROOT', 'grandparent right VBP ROOT -']
    """
    tags = ["ROOT", *(tree.upos if all(tag == "_" for tag in tree.xpos) else tree.xpos)]
    heads = [None, *(tree.heads or ())]
    for word, dependants in enumerate(tree.dependants()):
        left = max((other for other in dependants if other < word), default=None)
        right = min((other for other in dependants if other > word), default=None)
        near = ["-" if other is None else tags[other] for other in (left, right)]
        yield f"siblings {near[0]} {tags[word]} {near[1]}"
        above = heads[word]
        for other in dependants:
            side = "left" if other < word else "right"
            yield f"grandparent {side} {tags[other]} {tags[word]} {'-' if above is None else tags[above]}"


def choose_events(lists: Sequence[NBest], cutoff: int = 5) -> list[str]:
    """List the events whose counts differ among the candidates of at least `cutoff` lists."""
    often: Counter[str] = Counter()
    for nbest in lists:
        counts = [Counter(events_of(tree)) for tree, *_ in nbest.candidates if isinstance(tree, DependencySentence)]
        names = {name for count in counts for name in count}
        often.update(name for name in names if len({count[name] for count in counts}) > 1)
    return sorted(name for name, count in often.items() if count >= cutoff)


def count_events(lists: Sequence[NBest], events: Sequence[str]) -> sparse.csr_array:
    """Count events in the candidates of lists, (n, d), list after list."""
    column = Vocabulary(events)
    cells: list[tuple[int, int]] = []
    row = 0
    for nbest in lists:
        for tree, *_ in nbest.candidates:
            if isinstance(tree, DependencySentence):
                cells += [(row, at) for at in map(column.get, events_of(tree)) if at >= 0]
            row += 1
    rows, columns = np.array(cells, dtype=np.int64).reshape(-1, 2).T
    return sparse.csr_array(sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=(row, len(events))))


def train_averaged_perceptron(
    values: sparse.csr_array, start: IntArray, gains: ArrayLike, epochs: int = 10
) -> FloatArray:
    """Compute the mean (d,) of the weights after each visit; lists are visited in their order.

    values: (n, d) the features of candidates, as they are: nothing is scaled.
    start: (L + 1,) the first row of each list, and n.
    gains: (n,) the gain of each candidate, such as its number of right heads; of several best ones, the first counts.

    >>> values = sparse.csr_array([[1.0, 0.0], [0.0, 1.0]] * 2)
    >>> train_averaged_perceptron(values, np.array([0, 2, 4]), gains=[0, 1, 0, 1], epochs=1)
    array([-1.,  1.])
    """
    gain = np.asarray(gains, dtype=float)
    spans = list(pairwise(start.tolist()))
    blocks = [values[begin:end] for begin, end in spans]
    best = [int(np.argmax(gain[begin:end])) for begin, end in spans]
    weights = np.zeros(values.shape[1])
    total = np.zeros_like(weights)
    for _ in range(epochs):
        for block, right in zip(blocks, best, strict=True):
            chosen = int(np.argmax(block @ weights))
            if chosen != right:
                weights += (block[[right]] - block[[chosen]]).toarray()[0]
            total += weights
    return total / max(epochs * len(blocks), 1)


# ---------------------------------------------------------------------------------------------------------------------
# Lists


class ListsOfPart(NamedTuple):
    """N-best lists of a part of a treebank.

    lists: the lists of L sentences, which have C candidates.
    scores: the scores of the candidates.
    log: (C,) log abs p̂ of each candidate, by algorithm.
    """

    lists: list[NBest]
    scores: CandidateScores
    log: dict[str, FloatArray]

    @staticmethod
    def parse(treebank: ObservedTreebank, gold: Sentences, k: int, n_best: int) -> ListsOfPart:
        """Parse new sentences by a parser that learns from a treebank, as p̂ does."""
        parser = DependencyModel.train(treebank.trees, replace(preset("fast")[0], tags="xpos"))
        lists = list(parser_nbest(parser, gold, n_best))
        trees = [tree for nbest in lists for tree, *_ in nbest.candidates if isinstance(tree, DependencySentence)]
        log = {}
        for algorithm in ALGORITHMS:
            weight = treebank.train(algorithm, k)(trees)
            log[algorithm] = np.maximum(weight.log, weight.log[weight.sign != 0].min())
        return ListsOfPart(lists, score_dependency_lists(lists, gold), log)

    @staticmethod
    def jackknife(treebank: ObservedTreebank, k: int, n_best: int) -> ListsOfPart:
        """Parse the sentences of a treebank by parsers, and score them by p̂, that learnt from the other folds."""
        log = defaultdict(list)
        lists: list[NBest] = []
        n = len(treebank.trees)
        folds = [at * FOLDS // n for at in range(n)]  # neighbours are in one fold
        weighted = [(tree, 1.0) for tree in treebank.trees]
        for others, held_out, _ in jackknife(weighted, FOLDS, lambda trees, _: trees, folds=folds):
            part = ListsOfPart.parse(treebank._replace(trees=others), held_out, k, n_best)
            lists += part.lists
            for name, column in part.log.items():
                log[name].append(column)
        scores = score_dependency_lists(lists, treebank.trees)
        return ListsOfPart(lists, scores, {name: np.concatenate(columns) for name, columns in log.items()})

    def tables(self, features: CandidateFeatures) -> Iterator[tuple[str, FeatureTable]]:
        """Make the table of the parser's score and rank, and the tables that also have log p̂ of an algorithm."""
        baseline = features.table(self.lists)
        yield "+ baseline features", baseline
        for name, column in self.log.items():
            of_estimate = FeatureTable.of({"latent:log": column}, np.diff(baseline.start), baseline.ids)
            yield f"+ log p̂ ({name})", baseline.join(of_estimate)

    def chosen(self, places: IntArray) -> list[Any]:
        """Take the score of the candidate at one of the places (L,) in each list."""
        return [row[place] for row, place in zip(self.scores.scores, places, strict=True)]


def main() -> None:
    """Print the table, with intervals of the differences from the base parser and from the baseline features."""
    parser = command_line(__doc__)
    parser.add_argument("--train", metavar="SOURCE", default="nltk:dependency_treebank:train")
    parser.add_argument("--evaluate", metavar="SOURCE", default="nltk:dependency_treebank:dev")
    parser.add_argument("--n-states", type=int, default=10, help="the dimensions of U")
    parser.add_argument("--n-best", type=int, default=50, help="the trees of each sentence")
    given = parser.parse_args()
    trees, gold = read_trees(given.train), read_trees(given.evaluate)
    treebank = ObservedTreebank(trees, Vocabulary(tag for tree in [*trees, *gold] for tag in tree.xpos))
    train = ListsOfPart.jackknife(treebank, given.n_states, given.n_best)
    test = ListsOfPart.parse(treebank, gold, given.n_states, given.n_best)
    base = test.chosen(np.zeros(len(gold), dtype=np.int64))
    print_head(["features"], COLUMNS)

    def row(name: str, chosen: list[Any], baseline: list[Any]) -> None:
        """Print the row of a reranker."""
        complete = [each.heads_no_punctuation == each.words_no_punctuation for each in chosen]
        over = [written_difference(before, chosen, test.scores.measure) for before in (base, baseline)]
        accuracy = test.scores.measure(sum(chosen, type(chosen[0])()))
        cells = (*_PAPER[name.split(" (")[0]], f"{accuracy:.2f}", f"{100 * np.mean(complete):.1f}", *over)
        print_row([name], dict(zip(COLUMNS, cells, strict=True)), COLUMNS, ())

    row("base parser", base, base)
    events = choose_events(train.lists)
    features = CandidateFeatures.train(train.lists)
    baseline: list[Any] = []
    for (name, own), (_, new) in zip(train.tables(features), test.tables(features), strict=True):
        own_values, new_values = (
            sparse.csr_array(sparse.hstack([sparse.csr_array(table.values), count_events(part.lists, events)]))
            for table, part in ((own, train), (new, test))
        )
        weights = train_averaged_perceptron(own_values, own.start, train.scores.gains)
        chosen = test.chosen(best_of_lists(np.asarray(new_values @ weights), new.start))
        baseline = baseline or chosen
        row(name, chosen, baseline)


if __name__ == "__main__":
    main()
