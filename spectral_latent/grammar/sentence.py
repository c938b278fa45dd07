"""Hold a latent grammar whose leaf rules are those of the words of a sentence, in one small table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from spectral_latent.grammar.forests import SpanForest
from spectral_latent.inference import Weight, tree_weights
from spectral_latent.lexicon import EncodedWords
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import Forest, SkeletalTrees

__all__ = ["SentenceChart", "SentenceGrammar"]


@dataclass(frozen=True, eq=False)
class SentenceGrammar:
    """A coarse and a latent grammar whose leaf rules are those of the words of one or more sentences.

    The charts and trees of these words are forests that number the rules of this grammar, so that they are weighed by
    its operators.

    words: the numbers of the words, which are the terminals of the leaf rules.
    coarse: operators with one state for each symbol.
    latent: latent operators over the same rules.
    """

    words: EncodedWords
    coarse: ObservableOperators
    latent: ObservableOperators

    def with_latent(self, operators: ObservableOperators) -> SentenceGrammar:
        """Replace the latent operators by others of the whole grammar, over the same rules.

        operators: operators of the whole grammar, over all its words.
        """
        return replace(self, latent=self.words.restrict(operators))

    def repeated(self, k: int) -> SentenceGrammar:
        """Make the grammar of the same sentences repeated k times, to score k trees over them.

        k: how many times.
        """
        return replace(self, words=self.words._replace(word=np.tile(self.words.word, k)))

    def forest_of(self, trees: SkeletalTrees) -> Forest:
        """Make a forest of s-trees, one component each.

        trees: s-trees whose terminals are the places of words among the words of all sentences.
        Edges with symbols or rules that the grammar does not have get weight zero.
        """
        terminal = np.where(trees.is_leaf, np.append(self.words.word, -1)[trees.terminal], -1)
        over_words = SkeletalTrees(trees.symbol, trees.left, trees.right, terminal, trees.root)
        forest = Forest.of_trees(over_words, self.latent.rules)
        return forest._replace(symbol=np.where(trees.symbol < self.latent.n_symbols, trees.symbol, 0))


class SentenceChart(NamedTuple):
    """A sentence's grammar, and the pruned forest over its words; None if the grammar does not derive them."""

    grammar: SentenceGrammar
    spans: SpanForest | None

    def weight(self) -> Weight:
        """Estimate the probability of the sentence, (1,): the sum over the trees of the forest; 0 without one."""
        if self.spans is None:
            return Weight(np.zeros(1, dtype=np.int64), np.full(1, -np.inf))
        return tree_weights(self.grammar.latent, self.spans.forest)
