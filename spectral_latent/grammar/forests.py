"""Build the forests of sentences: the parts of their charts that have large posteriors under a coarse grammar.

A latent grammar with only the leaf rules of the words of these sentences, in one small table, weighs the forests.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from spectral_latent._compiled import check_column, check_range, check_starts, compiled
from spectral_latent.grammar._coarse import CoarseGrammar, CoarseLeaves, OutsideEstimates, Permits
from spectral_latent.grammar._inside_chart import inside_chart
from spectral_latent.grammar._likely_edges import likely_edges
from spectral_latent.grammar.options import Limits
from spectral_latent.inference import SignedLog, tree_weights
from spectral_latent.lexicon import EncodedWords
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import BoolArray, Forest, IntArray, SkeletalTrees, range_of, ranges

__all__ = ["Charts", "PrunedChart", "SentenceGrammar", "SpanForest", "prune_chart"]

_MOST_ITEMS = Limits().items  # the default of the largest number of items of a chart


class PrunedChart(NamedTuple):
    """The likely items and edges of one sentence, parents before children.

    items: (I, 5) place in the chart, symbol, first word, word after the last word, and number of edges.
    edges: (E, 3) rule, and the places of the left and the right child; -1 for a leaf rule.
    """

    items: IntArray
    edges: IntArray


_NO_TREE = PrunedChart(np.array([[0, 0, 0, 1, 0]]), np.zeros((0, 3), dtype=np.int64))  # an item without edges


class SpanForest(NamedTuple):
    """A forest of one or more sentences, with the spans of its I items.

    forest: the forest, with one component for each sentence; a sentence that is not derived is an item without edges.
    first: (I,) the first word of each item; the words of all sentences are numbered together.
    end: (I,) the word after the last word of each item.
    """

    forest: Forest
    first: IntArray
    end: IntArray

    @staticmethod
    def of(charts: Sequence[PrunedChart | None], start: IntArray) -> SpanForest:
        """Make the forest of T sentences.

        charts: the chart of each sentence; None if the sentence is not derived.
        start: (T + 1,) the first word of each sentence, and the number of all words.
        """
        parts = [_NO_TREE if chart is None else chart for chart in charts]
        is_derived = np.array([chart is not None for chart in charts], dtype=np.bool_)
        of_items = np.cumsum([0, *(len(chart.items) for chart in parts)])
        of_edges = np.cumsum([0, *(len(chart.edges) for chart in parts)])
        # The charts one after another, and where each begins; compiled code numbers their items and edges together.
        items = np.concatenate([_NO_TREE.items[:0], *(chart.items for chart in parts)])
        edges = np.concatenate([_NO_TREE.edges, *(chart.edges for chart in parts)])
        columns = np.empty((4, len(items)), dtype=np.int64)
        of_forest = np.empty((3, len(edges)), dtype=np.int64)
        number = np.empty(int(items[:, 0].max(initial=0)) + 1, dtype=np.int64)
        _number(items, edges, of_items, of_edges, start, number, columns, of_forest)
        symbol, edge_start, first, end = columns
        sentence = np.repeat(np.arange(len(parts)), np.diff(of_items))
        root = np.flatnonzero((end - first == np.diff(start)[sentence]) | ~is_derived[sentence])
        rule, left, right = of_forest
        forest = Forest(symbol, np.append(edge_start, len(edges)), rule, left, right, root, sentence[root])
        return SpanForest(forest, first, end)


@compiled
def _number(
    items: IntArray,
    edges: IntArray,
    of_items: IntArray,
    of_edges: IntArray,
    start: IntArray,
    number: IntArray,
    columns: IntArray,
    of_forest: IntArray,
) -> None:
    """Number the items of T sentences, children before parents, and the words and edges of all sentences.

    items: (I, 5) the items of all sentences, as in `PrunedChart`.
    edges: (E, 3) the edges of all sentences, as in `PrunedChart`.
    of_items, of_edges: (T + 1,) the first item and the first edge of each sentence.
    start: (T + 1,) the first word of each sentence.
    number: (N,) room for the number of the item at each of the N places of a chart.
    columns: (4, I) gets symbol, first edge, first word, and word after the last word of each item.
    of_forest: (3, E) gets rule, left and right child of each edge.
    """
    for sentence in range(len(start) - 1):
        word = start[sentence]
        edge = of_edges[sentence]
        for item in range(of_items[sentence], of_items[sentence + 1]):
            # Charts list items and edges from the top down; go through them backwards.
            row = of_items[sentence] + of_items[sentence + 1] - 1 - item
            number[items[row, 0]] = item
            columns[0, item] = items[row, 1]
            columns[1, item] = edge
            columns[2, item] = word + items[row, 2]
            columns[3, item] = word + items[row, 3]
            for _ in range(items[row, 4]):
                from_top = of_edges[sentence] + of_edges[sentence + 1] - 1 - edge
                of_forest[0, edge] = edges[from_top, 0]
                for side in (1, 2):
                    child = edges[from_top, side]
                    of_forest[side, edge] = number[child] if child >= 0 else -1
                edge += 1


def prune_chart(
    grammar: CoarseGrammar,
    leaves: CoarseLeaves,
    beam: float,
    threshold: float,
    most: int = _MOST_ITEMS,
    deadline: float = math.inf,
    permits: Permits | None = None,
    estimates: OutsideEstimates | None = None,
) -> PrunedChart | None:
    """List the likely items and edges of one sentence under a coarse grammar; None if the sentence is not derived.

    Raises ValueError if the leaf rules do not fit this grammar, or the permits do not fit these words, and LimitError
    as `inside_chart` does.
    """
    n_leaves = np.size(leaves.symbol)
    check_starts("starts of leaf rules", leaves.start, n_leaves)
    check_column("leaf rules", leaves.rule, (n_leaves,), np.int64)
    check_column("symbols of leaf rules", leaves.symbol, (n_leaves,), np.int64)
    check_range("symbols of leaf rules", leaves.symbol, 0, len(grammar.root))
    check_column("weights of leaf rules", leaves.weight, (n_leaves,), np.float64)
    n = len(leaves.start) - 1
    if n == 0:
        return None
    if permits is not None:
        check_column("permits of cells", permits.row, (n * (n + 1) // 2,), np.int64)
        check_range("permits of cells", permits.row, 0, len(permits.symbols))
        check_column("permits", permits.symbols, (len(permits.symbols), len(grammar.root)), np.bool_)
    chart = inside_chart(grammar, leaves, beam, most, deadline, permits, estimates)
    items, edges = likely_edges(grammar, chart, leaves, threshold)
    # Copy the rows in use, because the columns have room for all places of the chart.
    return PrunedChart(items.copy(), edges.copy()) if len(items) else None


@dataclass(frozen=True, eq=False)
class SentenceGrammar:
    """A coarse and a latent grammar with only the leaf rules of the words of some sentences.

    The charts and trees of these words are forests with the rule numbers of this grammar, so that its operators weigh
    them.

    words: the numbers of the words, which are the terminals of the leaf rules.
    start: (T + 1,) the first word of each of T sentences, and the number of all words.
    coarse: operators with one state for each symbol.
    latent: latent operators over the same rules.
    """

    words: EncodedWords
    start: IntArray
    coarse: ObservableOperators
    latent: ObservableOperators

    def with_latent(self, operators: ObservableOperators) -> SentenceGrammar:
        """Replace the latent operators by others over the same rules.

        operators: operators of the whole grammar, with the leaf rules of all words.
        """
        return replace(self, latent=self.words.restrict(operators))

    def of_sentences(self, which: IntArray) -> SentenceGrammar:
        """Take some of the sentences, in any order; a sentence may be taken several times, for several trees.

        which: (T,) the numbers of the sentences.
        """
        first, end = self.start[which], self.start[which + 1]
        places, _ = ranges(first, end)
        start = np.append(0, np.cumsum(end - first))
        return replace(self, words=self.words._replace(word=self.words.word[places]), start=start)

    def sentence_of(self, word: IntArray) -> IntArray:
        """Find the sentence of each of n words, (n,).

        word: (n,) the places of the words among the words of all sentences.
        """
        return range_of(self.start, word)

    def forest_of(self, trees: SkeletalTrees) -> Forest:
        """Make a forest of s-trees, with a component for each tree.

        Edges with symbols or rules that the grammar does not have get weight zero.

        trees: s-trees whose terminals are the places of words among the words of all sentences.
        """
        terminal = np.where(trees.is_leaf, np.append(self.words.word, -1)[trees.terminal], -1)
        over_words = SkeletalTrees(trees.symbol, trees.left, trees.right, terminal, trees.root)
        forest = Forest.of_trees(over_words, self.latent.rules)
        return forest._replace(symbol=np.where(trees.symbol < self.latent.n_symbols, trees.symbol, 0))


class Charts(NamedTuple):
    """The pruned charts of sentences.

    grammar: the grammar of the words of T sentences.
    pruned: the chart of each sentence; None if the grammar does not derive it.
    """

    grammar: SentenceGrammar
    pruned: list[PrunedChart | None]

    @property
    def is_derived(self) -> BoolArray:
        """Whether the grammar derives each sentence, (T,)."""
        return np.array([chart is not None for chart in self.pruned], dtype=np.bool_)

    @property
    def spans(self) -> list[SpanForest | None]:
        """The forest of each sentence, whose words are numbered from 0; None if the grammar does not derive it."""
        return [
            None if chart is None else SpanForest.of([chart], np.array([0, length]))
            for chart, length in zip(self.pruned, np.diff(self.grammar.start).tolist(), strict=True)
        ]

    def joined(self) -> SpanForest:
        """Make the forest of all sentences, with a component for each; words of all sentences are numbered together."""
        return SpanForest.of(self.pruned, self.grammar.start)

    def possible(self, forest: Forest) -> Forest:
        """Take all weight from the leaf rules of any word, which charts use to find a tree of an impossible sentence.

        forest: the joined forest.
        """
        of_any = np.append(self.grammar.latent.rules.leaf[:, 1] == self.grammar.words.any_word, False)
        is_any = (forest.left < 0) & of_any[np.where(forest.left < 0, forest.rule, -1)]
        return forest._replace(rule=np.where(is_any, -1, forest.rule))

    def weight(self) -> SignedLog:
        """Estimate the probability of each sentence, (T,): the sum over the trees of its chart; 0 without a tree."""
        return tree_weights(self.grammar.latent, self.possible(self.joined().forest))
