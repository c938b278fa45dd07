"""Hold a latent PCFG of phrases: the meaning of its symbols, and its operators over words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from spectral_latent._options import ShortRepr, counted
from spectral_latent.constituency.columns import PhraseColumns
from spectral_latent.constituency.conversion import PhraseSymbol
from spectral_latent.constituency.forests import DerivationBuilder
from spectral_latent.constituency.items import PhraseItems
from spectral_latent.constituency.options import ConstituencyOptions
from spectral_latent.constituency.rows import with_rows
from spectral_latent.files import Distinct, setting_from
from spectral_latent.grammar import Charts, LatentGrammar, Limits, SentenceGrammar
from spectral_latent.inference import Weight, inside, total_weight
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import BoolArray, FloatArray, IntArray, Vocabulary

__all__ = ["PhraseGrammar"]


@dataclass(frozen=True, eq=False, repr=False)
class PhraseGrammar(ShortRepr):
    """A latent PCFG of phrases.

    symbols: (S,) the meaning of each symbol of the grammar.
    grammar: the operators over words, and the options.
    """

    symbols: list[PhraseSymbol]
    grammar: LatentGrammar[ConstituencyOptions]

    @property
    def sizes(self) -> str:
        """The numbers of symbols, states and words."""
        states = counted(int(self.grammar.latent.rest.states.max()), "state")
        words = counted(len(self.grammar.lexicon.words), "word")
        return f"{counted(len(self.symbols), 'symbol')} of up to {states}, {words}"

    @property
    def options(self) -> ConstituencyOptions:
        """The settings of training and parsing."""
        return self.grammar.options

    def with_operators(self, operators: ObservableOperators, objective: tuple[float, ...] = ()) -> PhraseGrammar:
        """Replace the latent operators by others over the same rules.

        operators: operators over the rules of the coarse operators.
        objective: the objective of the EM that made the operators, by iteration; empty without EM.
        """
        return replace(self, grammar=self.grammar.with_operators(operators, objective))

    def with_limits(self, limits: Limits) -> PhraseGrammar:
        """Replace the limits of the cost of a sentence.

        limits: the new limits.
        """
        return replace(self, grammar=self.grammar.with_limits(limits))

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
        is_part = self.is_bar[forest.symbol] & (end - first < np.diff(charts.grammar.start)[sentence])
        chain = np.where(is_part, -1, self._chain_of[forest.symbol])
        return PhraseItems.compute(self.options, charts.grammar.latent, forest, sentence, first, end, chain)

    def tags(self, sentence: SentenceGrammar) -> list[str]:
        """Find the most frequent tag of each word.

        sentence: the grammar over the words of sentences.
        """
        return [self.symbols[symbol].last for symbol in self.grammar.most_frequent_symbols(sentence).tolist()]

    @cached_property
    def _operators_with_rows(self) -> ObservableOperators:
        return with_rows(self.grammar, self.is_bar, self.options.rows)

    @cached_property
    def _derivation_builder(self) -> DerivationBuilder:
        return DerivationBuilder(self.symbols, self._operators_with_rows.rules, self.chains)

    def score(self, trees: PhraseColumns, grammar: SentenceGrammar, *, root: FloatArray | None = None) -> Weight:
        """Estimate the probabilities of T trees, summed over derivations; see `ConstituencyModel.score`.

        trees: the nodes of the trees.
        grammar: the grammar over the words of their sentences.
        root: (S, M) the weights of the states at the top of a tree; None for the grammar's root weights.
        """
        operators = self._operators_with_rows.with_leaf_rules(grammar.latent.rules.leaf, grammar.latent.leaf)
        if root is not None:
            operators = replace(operators, root=np.append(root, np.zeros((1, root.shape[1])), axis=0))
        forest, tree = self._derivation_builder.forest(trees, grammar.words.word, operators.rules.leaf)
        # `total_weight` sums over the roots of each component; here each tree is a component of its own.
        weight = total_weight(operators, forest._replace(component=tree), inside(operators, forest))
        return Weight(weight.sign, weight.log + trees.n_phrases * np.log1p(-self.options.rows))

    def settings(self) -> dict[str, Any]:
        """Collect the settings of the grammar, for a model file."""
        return {"symbols": [list(symbol) for symbol in self.symbols], **self.grammar.settings()}

    @staticmethod
    def from_arrays(arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> PhraseGrammar:
        """Make a grammar from the arrays (`grammar.arrays`) and the `settings` of a model file.

        arrays: the arrays of this grammar by name.
        settings: the settings of this grammar.

        Raises ValueError, KeyError or TypeError if the arrays and settings do not describe a grammar.
        """
        symbols = setting_from("symbols", settings, Annotated[list[PhraseSymbol], Distinct()])
        if not all(symbol.chain for symbol in symbols):
            raise ValueError("a symbol has no labels")
        options = setting_from("options", settings, ConstituencyOptions)
        tag_of_symbol = Vocabulary(settings["tags"]).numbers(symbol.last for symbol in symbols)
        return PhraseGrammar(symbols, LatentGrammar.from_arrays(arrays, settings, tag_of_symbol, options))
