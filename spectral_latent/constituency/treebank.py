"""Phrases made ready for estimation: read once, made binary in every way asked for, in shards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from spectral_latent.constituency.cleaning import clean
from spectral_latent.constituency.conversion import Binarisation, PhraseTreeBuilder, skeletal_trees, tag_numbers
from spectral_latent.constituency.features import FeatureSet, constituency_features
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.constituency.phrase_grammar import ConstituencyOptions, PhraseGrammar
from spectral_latent.estimation import (
    SHARD_NODES,
    ColumnStore,
    EstimationError,
    Listener,
    Shard,
    Treebank,
    TreebankCounts,
    silent,
)
from spectral_latent.grammar import GrammarTraining, spelling_of
from spectral_latent.lexicon import Lexicon, WordCounts
from spectral_latent.trees import Vocabulary

__all__ = ["PhraseTraining", "cleaned", "read_treebank"]


@dataclass(frozen=True, eq=False)
class PhraseTraining:
    """A treebank made ready for estimation, and the grammar of phrases that it makes without latent states."""

    coarse: PhraseGrammar
    treebank: Treebank

    def estimate(self, *, jobs: int | None = 1, listener: Listener = silent) -> PhraseGrammar:
        """Estimate the latent grammar by the estimator of the options; `jobs` processes give the same result."""
        grammar = GrammarTraining(self.coarse.grammar, self.treebank).estimate(jobs=jobs, listener=listener)
        return self.coarse.with_operators(grammar.operators)


class _Reading:
    """A treebank under one binarisation and one set of features, while it is read."""

    def __init__(self, binarisation: Binarisation, features: FeatureSet, terminals: Vocabulary[str]) -> None:
        self.binarisation = binarisation
        self.features = features
        self.builder = PhraseTreeBuilder(Vocabulary(), terminals)
        self.last_names = Vocabulary[str]()
        self.store = ColumnStore()
        self.words: list[WordCounts] = []

    def add(self, phrase: Phrase) -> None:
        """Append a cleaned phrase; a full shard is closed."""
        skeletal_trees([phrase], self.binarisation, self.builder)
        if len(self.builder) >= SHARD_NODES:
            self.close_shard()

    def close_shard(self) -> None:
        """Make a shard of the trees since the last one, if there are any; features mean the same in all shards."""
        if not len(self.builder):
            return
        trees, notes = self.builder.taken()
        head_is_right = np.array(notes, dtype=bool)
        ends = np.array([self.last_names.add(label.chain[-1]) for label in self.builder.symbols], dtype=np.int64)
        leaf = trees.is_leaf
        self.words.append(WordCounts.of(trees.symbol[leaf], trees.terminal[leaf], trees.first_leaf[leaf] == 0))
        features = constituency_features(trees, head_is_right, ends, self.features)
        self.store.append(Shard.of(trees, features).columns)

    @property
    def shards(self) -> list[Shard]:
        """The shards that are closed."""
        return [Shard(columns) for columns in self.store]


def read_treebank(
    phrases: Iterable[Phrase], options: Sequence[ConstituencyOptions], *, jobs: int | None = 1
) -> list[PhraseTraining]:
    """Make the treebank of each of several grammars, from phrases that are read and cleaned once.

    Grammars of one binarisation and one set of features share trees, and all of them what spelling tells.
    Raises EstimationError if a phrase holds no word, or there is none.
    """
    terminals = Vocabulary[str]()
    kinds = [(one.binarisation, one.features) for one in options]
    readings = {kind: _Reading(*kind, terminals) for kind in kinds}
    for phrase in cleaned(phrases):
        for reading in readings.values():
            reading.add(phrase)
    if not len(terminals):
        raise EstimationError("no trees to learn from")
    for reading in readings.values():
        reading.close_shard()
    first = readings[kinds[0]]
    labels = first.builder.symbols.names
    words = WordCounts.total(first.words)
    tags = sorted({labels[symbol].chain[-1] for symbol in np.unique(words.symbol).tolist()})
    spelling = spelling_of(terminals.names, words, tag_numbers(labels, tags), len(tags))
    lexicons = {one.lexicon: Lexicon(terminals.names, one.lexicon, spelling) for one in options}
    counts = {kind: TreebankCounts.of_shards(reading.shards, jobs) for kind, reading in readings.items()}
    found = []
    for one, kind in zip(options, kinds, strict=True):
        labels = readings[kind].builder.symbols.names
        lexicon = lexicons[one.lexicon]
        training = GrammarTraining.of(
            readings[kind].shards, counts[kind], lexicon, tags, tag_numbers(labels, tags), one
        )
        found.append(PhraseTraining(PhraseGrammar(one, labels, training.coarse), training.treebank))
    return found


def cleaned(phrases: Iterable[Phrase]) -> Iterable[Phrase]:
    """Clean phrases; raises EstimationError at one that holds no word."""
    for number, phrase in enumerate(phrases, start=1):
        without_traces = clean(phrase)
        if without_traces is None:
            raise EstimationError(f"tree {number} has no words: {phrase.bracketed()[:80]}")
        yield without_traces
