"""Build the forest of a bare sentence: the part of its chart that has large posteriors under a coarse grammar."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spectral_latent._compiled import check_column, check_range, check_starts
from spectral_latent.grammar._coarse import CoarseGrammar, CoarseLeaves
from spectral_latent.grammar._inside_chart import inside_chart
from spectral_latent.grammar._likely_edges import likely_edges
from spectral_latent.grammar._outside_estimates import OutsideEstimates
from spectral_latent.grammar.options import Limits
from spectral_latent.grammar.permits import Permits
from spectral_latent.trees import Forest, IntArray

__all__ = ["SpanForest", "pruned_forest"]

_MOST_ITEMS = Limits().items  # of a chart, if no other number is given


class SpanForest(NamedTuple):
    """A forest of one sentence or more, with the words of its I items.

    forest: the forest, with one component for each sentence; one that is not derived is an item without edges.
    first: (I,) the first word of each item; words are numbered through all sentences.
    end: (I,) the word after the last word of each item.
    """

    forest: Forest
    first: IntArray
    end: IntArray

    @staticmethod
    def joined(parts: Sequence[SpanForest | None], start: IntArray) -> SpanForest:
        """Join the forests of T sentences.

        parts: the forest of each sentence; None if the sentence is not derived.
        start: (T + 1,) the first word of each sentence, and the number of all words.
        """
        empty = np.zeros(0, dtype=np.int64)
        columns = [[empty] for _ in (*Forest._fields, "first", "end")]
        n_items = 0
        n_edges = 0
        for sentence, part in enumerate(parts):
            spans = _NO_TREE if part is None else part
            symbol, starts, rule, left, right, root, component = spans.forest
            moved = (
                symbol,
                n_edges + starts[:-1],
                rule,
                np.where(left < 0, -1, n_items + left),
                np.where(right < 0, -1, n_items + right),
                n_items + root,
                sentence + component,
                start[sentence] + spans.first,
                start[sentence] + spans.end,
            )
            for column, added in zip(columns, moved, strict=True):
                column.append(added)
            n_items += len(symbol)
            n_edges += len(rule)
        columns[1].append(np.array([n_edges]))
        *of_forest, first, end = map(np.concatenate, columns)
        return SpanForest(Forest(*of_forest), first, end)


_NO_EDGES = np.zeros(0, dtype=np.int64)
_NO_TREE = SpanForest(  # of a sentence that is not derived: an item over its first word
    Forest(
        symbol=np.array([0]),
        start=np.array([0, 0]),
        rule=_NO_EDGES,
        left=_NO_EDGES,
        right=_NO_EDGES,
        root=np.array([0]),
        component=np.array([0]),
    ),
    first=np.array([0]),
    end=np.array([1]),
)


def pruned_forest(
    grammar: CoarseGrammar,
    leaves: CoarseLeaves,
    beam: float,
    threshold: float,
    most: int = _MOST_ITEMS,
    deadline: float = math.inf,
    permits: Permits | None = None,
    estimates: OutsideEstimates | None = None,
) -> SpanForest | None:
    """Build the forest of one sentence's likely edges under a coarse grammar; None if the sentence is not derived.

    grammar: the binary rules.
    leaves: the leaf rules over each word.
    beam: an item of the chart is dropped if it is less likely than this share of the best item over the same words.
    threshold: the least posterior of an edge.
    most: the most items of a chart.
    deadline: the time at which the chart is given up; see `inside_chart`.
    permits: the symbols that each cell may hold; None for all.
    estimates: those of outside scores, which tell how likely an item is; None for those by the symbol alone.
    Raises ValueError if the leaves are not leaf rules of this grammar, or the permits not those of these words, and
    LimitError as `inside_chart` does.
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
    if not len(items):
        return None
    # Both were listed from the top down; in a forest children come first, so that the order is reversed.
    of_chart, symbol, first, end, size = np.ascontiguousarray(items[::-1].T)
    rule, *children = np.ascontiguousarray(edges[::-1].T)
    number = np.full(len(chart.inside), -1, dtype=np.int64)
    number[of_chart] = np.arange(len(of_chart))
    left, right = (np.where(child < 0, -1, number[child]) for child in children)
    root = np.flatnonzero(end - first == n)
    forest = Forest(
        symbol=symbol,
        start=np.concatenate([[0], np.cumsum(size)]),
        rule=rule,
        left=left,
        right=right,
        root=root,
        component=np.zeros(len(root), dtype=np.int64),
    )
    return SpanForest(forest, first, end)
