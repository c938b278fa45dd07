"""The forest of a bare sentence: what the posteriors of a coarse grammar leave of its chart."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from spectral_latent._compiled import check_column, check_range, check_starts
from spectral_latent.grammar.coarse import CoarseGrammar, CoarseLeaves, inside_chart, likely_edges
from spectral_latent.trees import Forest, IntArray

__all__ = ["SpanForest", "pruned_forest"]

_MOST_ITEMS = 1 << 25  # of a chart: less than a gigabyte


class SpanForest(NamedTuple):
    """A forest of one sentence, and where its I items are.

    first, end: (I,) item i is over the words first[i] ... end[i] - 1.
    """

    forest: Forest
    first: IntArray
    end: IntArray


def pruned_forest(
    grammar: CoarseGrammar, leaves: CoarseLeaves, beam: float, threshold: float, most: int = _MOST_ITEMS
) -> SpanForest | None:
    """Build the forest of what a coarse grammar finds likely in a sentence; None if it derives nothing.

    grammar: the binary rules.
    leaves: the leaf rules over each word.
    beam: items of the chart that are less likely than this times the best over the same words are dropped.
    threshold: least posterior of an edge.
    most: a chart of more items, or of more than memory holds, derives nothing, and a warning says so.
    Raises ValueError if the leaves are not those of words under this grammar.
    """
    n_leaves = np.size(leaves.symbol)
    check_starts("starts of leaf rules", leaves.start, n_leaves)
    check_column("leaf rules", leaves.rule, (n_leaves,), np.int64)
    check_column("symbols of leaf rules", leaves.symbol, (n_leaves,), np.int64)
    check_range("symbols of leaf rules", leaves.symbol, 0, len(grammar.root))
    check_column("weights of leaf rules", leaves.weight, (n_leaves,), np.float64)
    if len(leaves.start) == 1:
        return None
    limit = f"more than {most} items"
    try:
        chart, is_whole = inside_chart(grammar, leaves, beam, most)
    except MemoryError:
        is_whole = False
        limit = "more items than memory holds"
    if not is_whole:
        warnings.warn(
            f"the chart of a sentence of {len(leaves.start) - 1} words under {len(grammar.root)} symbols would have "
            f"{limit} at beam {beam:g} and is given up; divide the sentence, or give a larger beam",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    items, edges = likely_edges(grammar, chart, leaves, threshold)
    if not len(items):
        return None
    # Both were listed from the top down; in a forest children come first, so that their order is turned round.
    of_chart, first, end, size = np.ascontiguousarray(items[::-1].T)
    rule, *children = np.ascontiguousarray(edges[::-1].T)
    row = np.full(len(chart.symbol), -1, dtype=np.int64)
    row[of_chart] = np.arange(len(of_chart))
    left, right = (np.where(child < 0, -1, row[child]) for child in children)
    root = np.flatnonzero(end - first == len(leaves.start) - 1)
    forest = Forest(
        symbol=chart.symbol[of_chart].astype(np.int64),
        start=np.concatenate([[0], np.cumsum(size)]),
        rule=rule,
        left=left,
        right=right,
        root=root,
        component=np.zeros(len(root), dtype=np.int64),
    )
    return SpanForest(forest, first, end)
