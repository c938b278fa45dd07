"""Hold a latent PCFG of phrases: the meaning of its symbols, and its operators over words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated

import numpy as np

from spectral_latent._options import counted
from spectral_latent.constituency.columns import PhraseColumns
from spectral_latent.constituency.constraints import ANY_TREE, PartialPhrase, PhraseConstraints
from spectral_latent.constituency.conversion import PhraseSymbol, phrase_of
from spectral_latent.constituency.forests import DerivationBuilder
from spectral_latent.constituency.items import PhraseItems
from spectral_latent.constituency.options import ConstituencyOptions
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.constituency.rows import with_rows
from spectral_latent.files import Distinct
from spectral_latent.grammar import Charts, LatentGrammar, SentenceGrammar
from spectral_latent.model.latent_tree import WeighedForest
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import BoolArray, FloatArray, Forest, IntArray, SkeletalTrees, Vocabulary

__all__ = ["PhraseGrammar"]


@dataclass(frozen=True, eq=False, repr=False)
class PhraseGrammar(LatentGrammar[PhraseSymbol, ConstituencyOptions, Sequence[str], PhraseConstraints, Phrase]):
    """A latent PCFG of phrases."""

    options: ConstituencyOptions
    symbols: Annotated[list[PhraseSymbol], Distinct()]

    @property
    def sizes(self) -> str:
        """The numbers of symbols, states and words."""
        states = counted(int(self.latent.rest.states.max()), "state")
        words = counted(len(self.lexicon.words), "word")
        return f"{counted(len(self.symbols), 'symbol')} of up to {states}, {words}"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not all(symbol.chain for symbol in self.symbols):
            raise ValueError("a symbol has no labels")

    @staticmethod
    def tag_of(symbol: PhraseSymbol) -> str:
        """Return the last label of a symbol, which is the tag of a symbol over words.

        symbol: the meaning of a symbol.
        """
        return symbol.last

    @cached_property
    def chains(self) -> list[tuple[str, ...]]:
        """The chains of labels that a constituent may have, in the order of their numbers."""
        return list(dict.fromkeys(symbol.chain for symbol in self.symbols))

    @cached_property
    def _chain_of(self) -> IntArray:
        """Number the chain of each symbol, (S,); a bar has the chain of its phrase."""
        return Vocabulary(self.chains).numbers(symbol.chain for symbol in self.symbols)

    @cached_property
    def is_bar(self) -> BoolArray:
        """Whether each symbol is a bar, (S,)."""
        return np.array([symbol.bar for symbol in self.symbols])

    def items(self, charts: Charts) -> PhraseItems:
        """Compute the posteriors of the items of charts, with the signs that the options ask for.

        A bar @X over all words of a sentence stands for its phrase X.

        charts: the charts of the sentences under this grammar.
        """
        forest, first, end = charts.joined()
        sentence = charts.grammar.sentence_of(first)
        chain = np.where(self._are_parts(charts, forest, first, end), -1, self._chain_of[forest.symbol])
        return PhraseItems.compute(self.options, charts.grammar.latent, forest, sentence, first, end, chain)

    def most_frequent_tags(self, sentence: SentenceGrammar) -> list[str]:
        """Find the most frequent tag of each word.

        sentence: the grammar over the words of sentences.
        """
        return [self.symbols[symbol].last for symbol in self.most_frequent_symbols(sentence).tolist()]

    @cached_property
    def _operators_with_rows(self) -> ObservableOperators:
        return with_rows(self, self.is_bar, self.options.rows)

    @cached_property
    def _derivation_builder(self) -> DerivationBuilder:
        return DerivationBuilder(self.symbols, self._operators_with_rows.rules, self.chains)

    def weighed(
        self, trees: PhraseColumns, grammar: SentenceGrammar, *, root: FloatArray | None = None
    ) -> WeighedForest:
        """Build the forest of the derivations of T trees, which share items.

        trees: the nodes of the trees.
        grammar: the grammar over the words of their sentences.
        root: (S, M) the weights of the states at the top of a tree; None for the grammar's root weights.
        """
        operators = self._operators_with_rows.with_leaf_rules(grammar.latent.rules.leaf, grammar.latent.leaf)
        if root is not None:
            operators = replace(operators, root=np.append(root, np.zeros((1, root.shape[1])), axis=0))
        forest, tree = self._derivation_builder.forest(trees, grammar.words.word, operators.rules.leaf)
        factor = trees.n_phrases * np.log1p(-self.options.rows)
        return WeighedForest(operators, forest, factor, tree=tree)

    def forest_of(self, trees: Sequence[Phrase]) -> WeighedForest:
        """Build the forest of the derivations of cleaned trees.

        trees: the trees, each over a sentence of its own.
        """
        grammar = self.for_sentences([list(tree.words()) for tree in trees])
        return self.weighed(PhraseColumns.of([[tree] for tree in trees], grammar.start.tolist()), grammar)

    def charts_of(self, inputs: Sequence[PartialPhrase]) -> Charts:
        """Build the pruned charts of sentences.

        inputs: the sentences with their constraints, which fit them.
        Raises ValueError if a sentence is empty.
        """
        words = [given.sentence for given in inputs]
        tag_of_word = [given.constraints.tags.get(at, "") for given in inputs for at in range(len(given.sentence))]
        permits = [
            None if known == ANY_TREE or self.is_too_long(of) else known.permits(len(of), self.symbols)
            for of, known in inputs
        ]
        return self.charts(words, self.tag_numbers.numbers(tag_of_word), permits)

    def forest(self, inputs: Sequence[PartialPhrase]) -> WeighedForest:
        """Join the pruned charts of sentences, which lack the rules of `rows`, but have their factors.

        inputs: the sentences with their constraints, which fit them.
        Raises ValueError if a sentence is empty.
        """
        charts = self.charts_of(inputs)
        forest, first, end = charts.joined()
        is_phrase = (end - first > 1) & ~self._are_parts(charts, forest, first, end)
        factors = np.where(is_phrase, 1.0 - self.options.rows, 1.0)
        return WeighedForest(charts.grammar.latent, charts.possible(forest), factors=factors)

    def _are_parts(self, charts: Charts, forest: Forest, first: IntArray, end: IntArray) -> BoolArray:
        """Tell which items (I,) are parts of phrases; a bar @X over all words of a sentence stands for its phrase X."""
        width = np.diff(charts.grammar.start)[charts.grammar.sentence_of(first)]
        are_parts: BoolArray = self.is_bar[forest.symbol] & (end - first < width)
        return are_parts

    def output(self, tree: SkeletalTrees, given: PartialPhrase | None = None) -> Phrase:
        """Convert one s-tree back to a phrase.

        tree: the s-tree.
        given: the sentence whose words the phrase has; None for the words of the terminals.
        """
        words = [self.lexicon.words[x] for x in tree.terminal[tree.is_leaf]] if given is None else given.sentence
        return phrase_of(tree, self.symbols, words)

    def name_of(self, symbol: PhraseSymbol) -> str:
        """Write a symbol as people read it.

        symbol: the meaning of a symbol.
        """
        return symbol.name
