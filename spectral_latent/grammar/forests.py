"""Build the forests of sentences: the parts of their charts that have large posteriors under a coarse grammar.

A latent grammar with only the leaf rules of the words of these sentences, in one small table, weighs the forests.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from spectral_latent._compiled import check_column, check_range
from spectral_latent.grammar._coarse import CoarseGrammar, CoarseLeaves, OutsideEstimates, Permits
from spectral_latent.grammar._inside_chart import inside_chart
from spectral_latent.grammar._likely_edges import likely_edges
from spectral_latent.grammar.options import Limits
from spectral_latent.lexicon import EncodedWords
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import BoolArray, FloatArray, Forest, IntArray, SkeletalTrees, ranges

_MOST_ITEMS = Limits().items  # the default of the largest number of items of a chart


class SpanForest(NamedTuple):
    """A forest of one or more sentences, with the spans of its I items.

    forest: the forest, with one component for each sentence; a sentence that is not derived is an item without edges.
    first: (I,) the first word of each item, in its sentence.
    end: (I,) the word after the last word of each item.
    sentence: (I,) the sentence of each item."""

    forest: Forest
    first: IntArray
    end: IntArray
    sentence: IntArray

    @staticmethod
    def of(sentences: Sequence[SpanForest | None]) -> SpanForest:
        """Join the forests of sentences, of which each is None if the sentence is not derived."""
        if len(sentences) == 1:
            return sentences[0] or _NO_TREE
        parts = [part or _NO_TREE for part in sentences]
        first = np.concatenate([_NONE, *(part.first for part in parts)])
        end = np.concatenate([_NONE, *(part.end for part in parts)])
        n_items = np.array([len(part.first) for part in parts], dtype=np.int64)
        sentence = np.repeat(np.arange(len(parts)), n_items)
        return SpanForest(Forest.join([part.forest for part in parts]), first, end, sentence)


_NONE = np.zeros(0, dtype=np.int64)
_ZERO = np.zeros(1, dtype=np.int64)
_NO_FOREST = Forest(_ZERO, np.zeros(2, dtype=np.int64), _NONE, _NONE, _NONE, _ZERO, _ZERO)
_NO_TREE = SpanForest(_NO_FOREST, _ZERO, _ZERO + 1, _ZERO)


def prune_chart(
    grammar: CoarseGrammar,
    leaves: CoarseLeaves,
    beam: float,
    threshold: float,
    most: int = _MOST_ITEMS,
    deadline: float = math.inf,
    permits: Permits | None = None,
    estimates: OutsideEstimates | None = None,
) -> SpanForest | None:
    """Build the forest of the likely items and edges of one sentence; None if the grammar does not derive it."""
    n = len(leaves.start) - 1
    if n == 0:
        return None
    if permits is not None:
        check_column("permits of cells", permits.row, (n * (n + 1) // 2,), np.int64)
        check_range("permits of cells", permits.row, 0, len(permits.symbols))
        check_column("permits", permits.symbols, (len(permits.symbols), len(grammar.root)), np.bool_)
    chart = inside_chart(grammar, leaves, beam, most, deadline, permits, estimates)
    items, edges = likely_edges(grammar, chart, leaves, threshold)
    if not items.size:
        return None
    symbol, edge, first, end = items
    rule, left, right = edges
    root = np.flatnonzero(end - first == n)
    forest = Forest(symbol, np.append(edge, len(rule)), rule, left, right, root, np.zeros_like(root))
    return SpanForest(forest, first, end, np.zeros_like(first))


@dataclass(frozen=True, eq=False)
class SentenceGrammar:
    """A coarse and a latent grammar with only the leaf rules of the words of some sentences.

    The charts and trees of these words are forests with the rule numbers of this grammar, so that its operators weigh
    them.

    words: the numbers of the words, which are the terminals of the leaf rules.
    start: (T + 1,) the first word of each of T sentences, and the number of all words.
    whole: operators with one state for each symbol, with the leaf rules of all words."""

    words: EncodedWords
    start: IntArray
    whole: ObservableOperators
    latent: ObservableOperators

    @cached_property
    def weight(self) -> FloatArray:
        """The weight of each leaf rule under the coarse operators, (R0,)."""
        weight: FloatArray = self.whole.leaf[self.words.source, 0] * self.words.factor
        return weight

    def leaves(self, word: IntArray, used: BoolArray | None = None) -> CoarseLeaves:
        """Look up the leaf rules of words by their numbers (n,): those of the rules (R0,) that charts use, or all."""
        return CoarseLeaves.of(self.words.rules, self.weight, word, used)

    def of_sentences(self, which: IntArray) -> SentenceGrammar:
        """Take some of the sentences, in any order; a sentence may be taken several times, for several trees.

        which: (T,) the numbers of the sentences."""
        first, end = self.start[which], self.start[which + 1]
        places, _ = ranges(first, end)
        start = np.append(0, np.cumsum(end - first))
        return replace(self, words=self.words._replace(word=self.words.word[places]), start=start)

    def forest_of(self, trees: SkeletalTrees) -> Forest:
        """Make a forest of s-trees, with a component for each tree.

        Edges with symbols or rules that the grammar does not have get weight zero.

        trees: s-trees whose terminals are the places of words among the words of all sentences."""
        terminal = np.where(trees.is_leaf, np.append(self.words.word, -1)[trees.terminal], -1)
        over_words = SkeletalTrees(trees.symbol, trees.left, trees.right, terminal, trees.root)
        forest = Forest.of_trees(over_words, self.latent.rules)
        return forest._replace(symbol=np.where(trees.symbol < self.latent.n_symbols, trees.symbol, 0))


class Charts(NamedTuple):
    """The pruned charts of sentences.

    spans: the forest of each sentence, whose words are numbered from 0; None if the grammar does not derive it."""

    grammar: SentenceGrammar
    spans: list[SpanForest | None]

    @property
    def is_derived(self) -> BoolArray:
        """Whether the grammar derives each sentence, (T,)."""
        return np.array([spans is not None for spans in self.spans], dtype=np.bool_)

    def joined(self) -> SpanForest:
        """Make the forest of all sentences, with a component for each."""
        return SpanForest.of(self.spans)

    def possible(self, forest: Forest) -> Forest:
        """Take all weight from the leaf rules of any word, by which charts find a tree of an impossible sentence."""
        of_any = np.append(self.grammar.latent.rules.leaf[:, 1] == self.grammar.words.any_word, False)
        is_any = (forest.left < 0) & of_any[np.where(forest.left < 0, forest.rule, -1)]
        return forest._replace(rule=np.where(is_any, -1, forest.rule))
