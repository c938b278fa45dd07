"""The forest of a bare sentence: a CKY chart pruned by the plain PCFG's posteriors."""

from __future__ import annotations

from copy import copy
from typing import NamedTuple

import numpy as np

from spectral_latent.grammar.charts import PlainGrammar, Tagging, fill
from spectral_latent.grammar.extraction import extract
from spectral_latent.lexicon import UnseenLeaves
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import BoolArray, FloatArray, Forest, IntArray, matches

__all__ = ["ForestBuilder", "SpanForest"]


class SpanForest(NamedTuple):
    """A forest of one sentence; item i is over the words first[i] ... end[i] - 1, both (I,)."""

    forest: Forest
    first: IntArray
    end: IntArray


class ForestBuilder:
    """Charts of sentences under one plain PCFG.

    operators: one state per symbol; the forests number rules as its rule table does.
    prior: (S,) share of each symbol among the nodes of a treebank.
    threshold: least posterior of an edge; see `extraction.extract`.
    family: (S,) the family of each symbol over words; of use only where the families of words are given.
    used: (R2,) the binary rules that charts use, all if not given.
    """

    def __init__(
        self,
        operators: ObservableOperators,
        prior: FloatArray,
        threshold: float,
        family: IntArray | None = None,
        used: BoolArray | None = None,
    ) -> None:
        self.family = np.full(operators.n_symbols, -1) if family is None else family
        self.grammar = PlainGrammar.of(operators, prior, used)
        self.threshold = threshold
        self.leaf_symbol = operators.rules.leaf[:, 0]
        self.leaf_weight = operators.leaf[:, 0]
        self.by_terminal = np.argsort(operators.rules.leaf[:, 1], kind="stable")
        self.terminals = operators.rules.leaf[self.by_terminal, 1]
        self.unseen = UnseenLeaves.none()

    def with_leaves(self, leaves: UnseenLeaves) -> ForestBuilder:
        """The same with leaf rules for unseen words after the others."""
        if not len(leaves.symbol):
            return self
        extended = copy(self)
        extended.unseen = leaves
        return extended

    def tagging(self, terminals: IntArray, family: IntArray | None = None) -> Tagging:
        """The leaf rules of each terminal (n,) of a sentence; those of its family only, where that is given (n,)."""
        at, word = matches(self.terminals, terminals)
        rule, unseen = self.by_terminal[at], self.unseen
        own, own_word = matches(unseen.terminal, terminals)
        source = unseen.source[own]
        word = np.concatenate([word, own_word])
        symbol = np.concatenate([self.leaf_symbol[rule], unseen.symbol[own]])
        weight = np.concatenate([self.leaf_weight[rule], self.leaf_weight[source] * unseen.factor[own]])
        rule = np.concatenate([rule, len(self.leaf_symbol) + own])
        fits = np.ones(len(word), dtype=bool)
        if family is not None:
            fits = (family[word] < 0) | (family[word] == self.family[symbol])
        order = np.flatnonzero(fits)
        order = order[np.argsort(word[order], kind="stable")]
        start = np.searchsorted(word[order], np.arange(len(terminals) + 1))
        return Tagging(start, rule[order], symbol[order], weight[order])

    def likeliest(self, terminal: int) -> int:
        """The symbol over a terminal with the largest share of the training nodes; of all, for a terminal without."""
        tagging = self.tagging(np.array([terminal]))
        if not len(tagging.symbol):
            return int(self.leaf_symbol[np.argmax(self.grammar.prior[self.leaf_symbol])])
        return int(tagging.symbol[np.argmax(tagging.weight * self.grammar.prior[tagging.symbol])])

    def build(self, terminals: IntArray, beam: float, family: IntArray | None = None) -> SpanForest | None:
        """The pruned forest of a sentence of terminals (n,); None if nothing within the beam derives it.

        beam: see `charts.fill`.  family: see `tagging`.
        """
        tagging = self.tagging(terminals, family)
        chart = fill(self.grammar, tagging, beam)
        items, sizes, edges, n_roots = extract(self.grammar, chart, tagging, self.threshold)
        return self._forest(items, sizes, edges, n_roots) if n_roots else None

    def _forest(self, items: IntArray, sizes: IntArray, edges: IntArray, n_roots: int) -> SpanForest:
        """The forest of items and edges that were listed from the top down: their order is reversed."""
        n_items, n_symbols = len(items), len(self.grammar.root)
        order = np.argsort(items)
        children = edges[::-1, 1:]
        number = n_items - 1 - order[np.minimum(np.searchsorted(items, children, sorter=order), n_items - 1)]
        left, right = np.where(children < 0, -1, number).T
        cell = items[::-1] // n_symbols
        end = np.floor((1 + np.sqrt(1 + 8 * cell)) / 2).astype(np.int64)
        forest = Forest(
            symbol=items[::-1] % n_symbols,
            start=np.concatenate([[0], np.cumsum(sizes[::-1])]),
            rule=np.ascontiguousarray(edges[::-1, 0]),
            left=np.ascontiguousarray(left),
            right=np.ascontiguousarray(right),
            root=np.arange(n_items - n_roots, n_items),
            component=np.zeros(n_roots, dtype=np.int64),
        )
        return SpanForest(forest, cell - end * (end - 1) // 2, end)
