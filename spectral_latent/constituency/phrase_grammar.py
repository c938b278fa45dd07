"""One latent PCFG of phrases: a way to make phrases binary, what symbols stand for, and a grammar over words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectral_latent._options import AtLeast, Below
from spectral_latent.constituency.constituents import Constituents
from spectral_latent.constituency.conversion import Binarisation, Label, phrase_of, tag_numbers
from spectral_latent.constituency.derivations import DerivationBuilder
from spectral_latent.constituency.features import FeatureSet
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.grammar import GrammarOptions, LatentGrammar, ReadWords, SpanForest
from spectral_latent.inference import (
    Weight,
    best_derivation,
    inside,
    marginals,
    outside,
    tree_weights,
)
from spectral_latent.operators import ObservableOperators, options_from
from spectral_latent.trees import BoolArray, FloatArray, IntArray, Rules

__all__ = ["Chart", "ConstituencyOptions", "PhraseGrammar"]

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


class Chart(NamedTuple):
    """The words of a sentence, and the forest over them."""

    read: ReadWords
    spans: SpanForest


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

    def chart(self, words: Sequence[str]) -> Chart | None:
        """The pruned chart of a sentence; None if the grammar does not derive it, whatever the words' tags."""
        read = self.grammar.read(words)
        spans = self.grammar.forest(read)
        return None if spans is None else Chart(read, spans)

    def constituents(self, chart: Chart) -> Constituents:
        """The posteriors of a sentence's constituents, by absolute value unless the options say otherwise.

        A bar @X over all words stands for its phrase X; a chain may come twice, for `Constituents.mean` to add up.
        """
        spans, (operators, forest) = chart.spans, self.grammar.on(chart.read, chart.spans.forest)
        inner = inside(operators, forest)
        mu = marginals(operators, forest, inner, outside(operators, forest, inner))
        posterior = np.abs(mu) if self.options.absolute else mu
        is_part = self._is_bar[forest.symbol] & (spans.end - spans.first < len(chart.read.terminals))
        kept = np.flatnonzero(~is_part & (posterior > _LEAST))
        first, end, chain = spans.first[kept], spans.end[kept], self._chain_of[forest.symbol[kept]]
        return Constituents(first, end, chain, posterior[kept])

    def best(self, chart: Chart, found: Constituents, gain: FloatArray, words: Sequence[str]) -> Phrase | None:
        """The tree of the grammar whose constituents have the most gain (K,) in all; None if there is none.

        found: K different ones, in order.
        """
        operators, forest = self.grammar.on(chart.read, chart.spans.forest)
        first, end, chain = chart.spans.first, chart.spans.end, self._chain_of[forest.symbol]
        at = Rules.find(np.stack(found[:3], axis=1), np.stack([first, end, chain], axis=1))
        is_part = self._is_bar[forest.symbol] & (end - first < len(words))
        weights = np.where(is_part, 0.0, np.append(gain, -self.options.cost)[at])
        best = best_derivation(forest, weights[forest.item])
        return None if best is None else phrase_of(best.tree(forest, operators.rules), self.labels, words)

    def tags(self, words: Sequence[str]) -> list[str]:
        """The most frequent tag of each word."""
        return [self.labels[symbol].chain[-1] for symbol in self.grammar.likeliest(self.grammar.read(words))]

    @cached_property
    def _derivations(self) -> DerivationBuilder:
        return DerivationBuilder(self.labels, self.grammar.plain.rules, self.chains)

    def score(self, phrases: Sequence[Phrase]) -> Weight:
        """Estimated probabilities of cleaned phrases, summed over derivations; see `ConstituencyModel.score`."""
        columns = self._derivations.columns(phrases)
        read = self.grammar.read_all([list(phrase.words()) for phrase in phrases])
        forest = self._derivations.forest(columns, lambda symbol, word: self.grammar.leaf_rules(read, symbol, word))
        return tree_weights(*self.grammar.on(read, forest))

    def settings(self) -> dict[str, Any]:
        """What a file needs besides the arrays of the grammar."""
        return {"labels": [list(label) for label in self.labels], **self.grammar.settings()}

    @staticmethod
    def from_arrays(arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> PhraseGrammar:
        """The inverse of `grammar.arrays` and `settings`; ValueError, KeyError or TypeError if they are no grammar."""
        labels = [Label(tuple(chain), bool(bar), tuple(memory)) for chain, bar, memory in settings["labels"]]
        if not all(label.chain for label in labels):
            raise ValueError("labels are missing")
        options = options_from(ConstituencyOptions, settings["options"])
        family = tag_numbers(labels, settings["tags"])
        return PhraseGrammar(options, labels, LatentGrammar.from_arrays(arrays, settings, family, options))
