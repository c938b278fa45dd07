"""One latent PCFG of phrases: a way to make phrases binary, what symbols stand for, and a grammar over words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectral_latent.constituency.cleaning import clean
from spectral_latent.constituency.constituents import Constituents
from spectral_latent.constituency.conversion import Binarisation, Label, TreeColumns, phrase_of, skeletal_trees
from spectral_latent.constituency.derivations import DerivationBuilder
from spectral_latent.constituency.features import FeatureSet, constituency_features
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.estimation import EstimationError
from spectral_latent.grammar import GrammarData, GrammarOptions, LatentGrammar, ReadWords, SpanForest
from spectral_latent.inference import (
    Derivation,
    Weight,
    best_derivation,
    inside,
    k_best_derivations,
    marginals,
    outside,
    tree_weights,
)
from spectral_latent.operators import ObservableOperators, options_from
from spectral_latent.trees import FloatArray, IntArray

__all__ = ["Chart", "ConstituencyOptions", "PhraseGrammar", "Treebank", "cleaned"]

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
    cost: float = 0.4


@dataclass(frozen=True, eq=False)
class Treebank:
    """Phrases made ready for estimation: what every grammar learnt from them shares.

    labels: what each symbol stands for.
    """

    options: ConstituencyOptions
    labels: list[Label]
    grammar: GrammarData

    @staticmethod
    def of(phrases: Iterable[Phrase], options: ConstituencyOptions) -> Treebank:
        """Clean and binarise phrases, name their features, count their rules.

        Raises EstimationError if a phrase holds no word, or there is none.
        """
        columns = TreeColumns.empty()
        skeletal_trees(cleaned(phrases), options.binarisation, columns)
        trees, head_is_right = columns.trees()
        if not trees.n_nodes:
            raise EstimationError("no trees to learn from")
        labels, words, leaf = columns.symbols.names, columns.terminals.names, trees.is_leaf
        tags = sorted({labels[symbol].chain[-1] for symbol in np.unique(trees.symbol[leaf]).tolist()})
        family = _family(labels, tags)
        features = constituency_features(trees, head_is_right, family, options.features)
        opens = trees.first_leaf[leaf] == 0
        return Treebank(options, labels, GrammarData.of(trees, features, words, opens, tags, family, options))

    def with_operators(self, operators: ObservableOperators) -> PhraseGrammar:
        """The grammar with these latent operators."""
        return PhraseGrammar(self.options, self.labels, self.grammar.grammar(operators))


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
        return list(dict.fromkeys(label.chain for label in self.labels if not label.bar))

    @cached_property
    def chain_of(self) -> IntArray:
        """The chain of each symbol (S,); -1 of a bar."""
        number = {chain: at for at, chain in enumerate(self.chains)}
        return np.array([-1 if label.bar else number[label.chain] for label in self.labels], dtype=np.int64)

    def chart(self, words: Sequence[str]) -> Chart | None:
        """The pruned chart of a sentence; None if the grammar does not derive it, whatever the words' tags."""
        read = self.grammar.read(words)
        spans = self.grammar.forest(read)
        return None if spans is None else Chart(read, spans)

    def constituents(self, chart: Chart) -> Constituents:
        """The posteriors of a sentence's constituents, by absolute value unless the options say otherwise."""
        spans = self.grammar.refined(*chart)
        operators, forest = self.grammar.on(chart.read, spans.forest)
        inner = inside(operators, forest)
        mu = marginals(operators, forest, inner, outside(operators, forest, inner))
        posterior, chain = np.abs(mu) if self.options.absolute else mu, self.chain_of[forest.symbol]
        kept = np.flatnonzero((chain >= 0) & (posterior > _LEAST))
        return Constituents(spans.first[kept], spans.end[kept], chain[kept], posterior[kept])

    def trees(self, chart: Chart, words: Sequence[str], gain: FloatArray, k: int) -> list[Phrase]:
        """Up to k different trees, by falling sum of their items' gains (I,)."""
        operators, forest = self.grammar.on(chart.read, chart.spans.forest)
        rules, weights = operators.rules, gain[forest.item]

        def phrases(derivations: Iterable[Derivation]) -> list[Phrase]:
            return [phrase_of(derivation.tree(forest, rules), self.labels, words) for derivation in derivations]

        if k == 1:
            best = best_derivation(forest, weights)
            return [] if best is None else phrases([best])
        return list(dict.fromkeys(phrases(k_best_derivations(forest, weights, k, self.chain_of[forest.symbol]))))

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
        family = _family(labels, settings["tags"])
        return PhraseGrammar(options, labels, LatentGrammar.from_arrays(arrays, settings, family, options))


def _family(labels: Sequence[Label], tags: Sequence[str]) -> IntArray:
    """The number of the tag that each symbol ends in (S,); -1 where it ends in none."""
    number = {tag: t for t, tag in enumerate(tags)}
    return np.array([number.get(label.chain[-1], -1) for label in labels])


def cleaned(phrases: Iterable[Phrase]) -> Iterable[Phrase]:
    """The phrases cleaned; EstimationError at one that holds no word."""
    for number, phrase in enumerate(phrases, start=1):
        without_traces = clean(phrase)
        if without_traces is None:
            raise EstimationError(f"tree {number} has no words: {phrase.bracketed()[:80]}")
        yield without_traces
