"""The forest of a bare sentence: a CKY chart pruned by the plain PCFG's posteriors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spectral_latent.constituency.charts import PlainGrammar, extract, fill
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import FloatArray, Forest, IntArray

__all__ = ["ForestBuilder", "SpanForest"]


@dataclass(frozen=True, eq=False)
class SpanForest:
    """A forest whose items cover the words first[i] ... end[i] - 1 of a sentence."""

    forest: Forest
    first: IntArray  # (I,)
    end: IntArray  # (I,)


def _spans(cell: IntArray) -> tuple[IntArray, IntArray]:
    """(i, j) of cells numbered j (j-1) / 2 + i."""
    j = ((1 + np.sqrt(1 + 8 * cell.astype(float))) // 2).astype(np.int64)
    return cell - j * (j - 1) // 2, j


class ForestBuilder:
    """Charts of sentences under one plain PCFG.

    operators: one state per symbol; the forests number rules as its rule table does.
    prior: (S,) share of each symbol among the nodes of a treebank.
    beam, threshold: see `charts.fill` and `charts.extract`.
    """

    def __init__(self, operators: ObservableOperators, prior: FloatArray, beam: float, threshold: float) -> None:
        self.grammar = PlainGrammar.of(operators, prior)
        self.beam, self.threshold = beam, threshold
        self.leaf_rules = operators.rules.leaf
        self.leaf_weight = operators.leaf[:, 0]
        self.by_terminal = np.argsort(self.leaf_rules[:, 1], kind="stable")
        self.terminals = self.leaf_rules[self.by_terminal, 1]

    def build(self, terminals: IntArray) -> SpanForest | None:
        """The pruned forest of a sentence of terminals (n,); None if the grammar has no derivation of it."""
        first = np.searchsorted(self.terminals, terminals, "left")
        end = np.searchsorted(self.terminals, terminals, "right")
        rules = np.concatenate([self.by_terminal[i:j] for i, j in zip(first, end, strict=True)])
        start = np.concatenate([[0], np.cumsum(end - first)])
        symbols = self.leaf_rules[rules, 0]
        inner, exponents, _, _ = fill(self.grammar, start, symbols, self.leaf_weight[rules], self.beam)
        items, sizes, edges, n_roots = extract(
            self.grammar, self.threshold, inner, exponents, start, symbols, rules
        )
        return self._span_forest(items, sizes, edges, n_roots) if n_roots else None

    def _span_forest(self, items: IntArray, sizes: IntArray, edges: IntArray, n_roots: int) -> SpanForest:
        """The forest of items and edges that were listed from the top down: their order is reversed."""
        n_items, n_symbols = len(items), len(self.grammar.root)
        order = np.argsort(items)
        children = edges[::-1, 1:]
        number = n_items - 1 - order[np.minimum(np.searchsorted(items, children, sorter=order), n_items - 1)]
        left, right = np.where(children < 0, -1, number).T
        items = items[::-1]
        forest = Forest(
            symbol=items % n_symbols,
            start=np.concatenate([[0], np.cumsum(sizes[::-1])]),
            rule=np.ascontiguousarray(edges[::-1, 0]),
            left=np.ascontiguousarray(left),
            right=np.ascontiguousarray(right),
            root=np.arange(n_items - n_roots, n_items),
            component=np.zeros(n_roots, dtype=np.int64),
        )
        return SpanForest(forest, *_spans(items // n_symbols))
