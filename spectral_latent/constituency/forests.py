"""The forest of a bare sentence: a CKY chart pruned by the plain PCFG's posteriors."""

from __future__ import annotations

import numpy as np

from spectral_latent.constituency.charts import PlainGrammar, extract, fill
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import FloatArray, Forest, IntArray

__all__ = ["ForestBuilder"]


class ForestBuilder:
    """Charts of sentences under one plain PCFG.

    operators: one state per symbol; the forests number rules as its rule table does.
    prior: (S,) share of each symbol among the nodes of a treebank.
    threshold: least posterior of an edge; see `charts.extract`.
    """

    def __init__(self, operators: ObservableOperators, prior: FloatArray, threshold: float) -> None:
        self.grammar = PlainGrammar.of(operators, prior)
        self.threshold = threshold
        self.leaf_symbol = operators.rules.leaf[:, 0]
        self.leaf_weight = operators.leaf[:, 0]
        self.by_terminal = np.argsort(operators.rules.leaf[:, 1], kind="stable")
        self.terminals = operators.rules.leaf[self.by_terminal, 1]

    def leaf_rules(self, terminals: IntArray) -> tuple[IntArray, IntArray]:
        """The leaf rules of each terminal (n,), and where each terminal's begin (n + 1,)."""
        first = np.searchsorted(self.terminals, terminals, "left")
        end = np.searchsorted(self.terminals, terminals, "right")
        rules = np.concatenate([self.by_terminal[i:j] for i, j in zip(first, end, strict=True)])
        return rules, np.concatenate([[0], np.cumsum(end - first)])

    def likeliest(self, terminal: int) -> int:
        """The symbol over a terminal with the largest share of the training nodes."""
        rules, _ = self.leaf_rules(np.array([terminal]))
        symbols = self.leaf_symbol[rules]
        return int(symbols[np.argmax(self.leaf_weight[rules] * self.grammar.prior[symbols])])

    def build(self, terminals: IntArray, beam: float) -> Forest | None:
        """The pruned forest of a sentence of terminals (n,); None if nothing within the beam derives it.

        beam: see `charts.fill`.
        """
        rules, start = self.leaf_rules(terminals)
        symbols = self.leaf_symbol[rules]
        inner, exponents = fill(self.grammar, start, symbols, self.leaf_weight[rules], beam)
        items, sizes, edges, n_roots = extract(self.grammar, self.threshold, inner, exponents, start, symbols, rules)
        return self._forest(items, sizes, edges, n_roots) if n_roots else None

    def _forest(self, items: IntArray, sizes: IntArray, edges: IntArray, n_roots: int) -> Forest:
        """The forest of items and edges that were listed from the top down: their order is reversed."""
        n_items, n_symbols = len(items), len(self.grammar.root)
        order = np.argsort(items)
        children = edges[::-1, 1:]
        number = n_items - 1 - order[np.minimum(np.searchsorted(items, children, sorter=order), n_items - 1)]
        left, right = np.where(children < 0, -1, number).T
        return Forest(
            symbol=items[::-1] % n_symbols,
            start=np.concatenate([[0], np.cumsum(sizes[::-1])]),
            rule=np.ascontiguousarray(edges[::-1, 0]),
            left=np.ascontiguousarray(left),
            right=np.ascontiguousarray(right),
            root=np.arange(n_items - n_roots, n_items),
            component=np.zeros(n_roots, dtype=np.int64),
        )
