"""Hold a latent grammar with only the leaf rules of the words of some sentences, in one small table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from spectral_latent.grammar.forests import PrunedChart, SpanForest
from spectral_latent.inference import SignedLog, tree_weights
from spectral_latent.lexicon import EncodedWords
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import BoolArray, Forest, IntArray, SkeletalTrees, range_of, ranges

__all__ = ["Charts", "SentenceGrammar"]


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
