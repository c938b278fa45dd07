"""One latent PCFG of phrases: a way to make phrases binary, what symbols stand for, and a grammar over words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from spectral_latent._options import AtLeast, Below
from spectral_latent.constituency.constituents import Constituents
from spectral_latent.constituency.conversion import Binarisation, Label, phrase_of, tag_numbers
from spectral_latent.constituency.derivations import DerivationBuilder
from spectral_latent.constituency.features import FeatureSet
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.grammar import GrammarOptions, LatentGrammar, SentenceChart, SentenceGrammar, SpanForest
from spectral_latent.inference import (
    Weight,
    best_derivation,
    inside,
    marginals,
    outside,
    tree_weights,
)
from spectral_latent.operators import Distinct, ObservableOperators, setting_from
from spectral_latent.trees import BoolArray, FloatArray, IntArray, Rules

__all__ = ["ConstituencyOptions", "PhraseGrammar"]

_LEAST = 1e-6  # constituents of smaller posteriors are in no tree


@dataclass(frozen=True)
class ConstituencyOptions(GrammarOptions):
    """Settings of training and parsing: those of grammars, and

    binarisation: how phrases become binary.
    features: of inside and outside trees.
    cost: what a constituent must be expected above to be in a tree; weighs precision against recall.
    """

    binarisation: Binarisation = field(default_factory=Binarisation)
    features: FeatureSet = "all"
    cost: Annotated[float, AtLeast(0.0), Below(1.0)] = 0.4


@dataclass(frozen=True, eq=False)
class PhraseGrammar:
    """A latent PCFG of phrases; labels: what each symbol of the grammar stands for."""

    options: ConstituencyOptions
    labels: list[Label]
    grammar: LatentGrammar

    def with_operators(self, operators: ObservableOperators) -> PhraseGrammar:
        """The same with other latent operators over the same rules."""
        return replace(self, grammar=replace(self.grammar, operators=operators))

    @cached_property
    def chains(self) -> list[tuple[str, ...]]:
        """The chains of labels that a constituent may have; `constituents` numbers them."""
        return list(dict.fromkeys(label.chain for label in self.labels))

    @cached_property
    def _chain_of(self) -> IntArray:
        """The chain of each symbol (S,); that of its phrase, of a bar."""
        number = {chain: at for at, chain in enumerate(self.chains)}
        return np.array([number[label.chain] for label in self.labels], dtype=np.int64)

    @cached_property
    def _is_bar(self) -> BoolArray:
        return np.array([label.bar for label in self.labels])

    def constituents(self, chart: SentenceChart) -> Constituents | None:
        """Compute the posteriors of a sentence's constituents, by absolute value unless the options say otherwise.

        A bar @X over all words stands for its phrase X; a chain may come twice, for `Constituents.mean` to add up.
        None if the grammar does not derive the sentence.
        """
        if chart.spans is None:
            return None
        operators, (forest, first, end) = chart.grammar.latent, chart.spans
        inside_vectors = inside(operators, forest)
        mu = marginals(operators, forest, inside_vectors, outside(operators, forest, inside_vectors))
        posterior = np.abs(mu) if self.options.absolute else mu
        kept = np.flatnonzero(~self._is_part(chart.spans) & (posterior > _LEAST))
        return Constituents(first[kept], end[kept], self._chain_of[forest.symbol[kept]], posterior[kept])

    def _is_part(self, spans: SpanForest) -> BoolArray:
        """Whether each item (I,) is a bar that is not over the whole sentence."""
        is_part: BoolArray = self._is_bar[spans.forest.symbol] & (spans.end - spans.first < spans.end.max())
        return is_part

    def best(self, chart: SentenceChart, found: Constituents, gain: FloatArray, words: Sequence[str]) -> Phrase | None:
        """Find the tree of the grammar whose constituents have the most gain in all; None if there is none.

        found: K different constituents, in order.
        gain: (K,).
        """
        if chart.spans is None:
            return None
        forest, first, end = chart.spans
        at = Rules.find(np.stack(found[:3], axis=1), np.stack([first, end, self._chain_of[forest.symbol]], axis=1))
        weights = np.where(self._is_part(chart.spans), 0.0, np.append(gain, -self.options.cost)[at])
        best = best_derivation(forest, weights[forest.item])
        return None if best is None else phrase_of(best.tree(forest, chart.grammar.latent.rules), self.labels, words)

    def tags(self, words: Sequence[str]) -> list[str]:
        """Find the most frequent tag of each word."""
        return [self.labels[symbol].chain[-1] for symbol in self.grammar.most_frequent_symbols(words).tolist()]

    @cached_property
    def _derivations(self) -> DerivationBuilder:
        return DerivationBuilder(self.labels, self.grammar.coarse.rules, self.chains)

    def score(self, phrases: Sequence[Phrase], sentence: SentenceGrammar | None = None) -> Weight:
        """Estimate the probabilities of T cleaned phrases, summed over derivations; see `ConstituencyModel.score`.

        sentence: where all phrases are over the words of one sentence, its grammar, which saves looking them up.
        """
        if sentence is None:
            grammar = self.grammar.for_sentences([list(phrase.words()) for phrase in phrases])
        else:
            grammar = sentence.repeated(len(phrases))
        columns = self._derivations.columns(phrases)
        forest = self._derivations.forest(columns, grammar.words.word, grammar.latent.rules.leaf)
        return tree_weights(grammar.latent, forest)

    def settings(self) -> dict[str, Any]:
        """What a file needs besides the arrays of the grammar."""
        return {"labels": [list(label) for label in self.labels], **self.grammar.settings()}

    @staticmethod
    def from_arrays(arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> PhraseGrammar:
        """The inverse of `grammar.arrays` and `settings`; ValueError, KeyError or TypeError if they are no grammar."""
        labels = setting_from("labels", settings, Annotated[list[Label], Distinct()])
        if not all(label.chain for label in labels):
            raise ValueError("a label is empty")
        options = setting_from("options", settings, ConstituencyOptions)
        tag_of_symbol = tag_numbers(labels, settings["tags"])
        return PhraseGrammar(options, labels, LatentGrammar.from_arrays(arrays, settings, tag_of_symbol, options))
