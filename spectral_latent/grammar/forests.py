"""Build the forest of a sentence: the part of its chart that has large posteriors under a coarse grammar."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spectral_latent._compiled import check_column, check_range, check_starts, compiled
from spectral_latent.grammar._coarse import CoarseGrammar, CoarseLeaves
from spectral_latent.grammar._inside_chart import inside_chart
from spectral_latent.grammar._likely_edges import likely_edges
from spectral_latent.grammar._outside_estimates import OutsideEstimates
from spectral_latent.grammar.options import Limits
from spectral_latent.grammar.permits import Permits
from spectral_latent.trees import Forest, IntArray

__all__ = ["PrunedChart", "SpanForest", "pruned_chart"]

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


def pruned_chart(
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
