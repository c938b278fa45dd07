"""Phrases made ready for estimation: read once, made binary in every way asked for, in shards where they are many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from spectral_latent.constituency.cleaning import clean
from spectral_latent.constituency.conversion import Binarisation, Label, TreeColumns, skeletal_trees, tag_numbers
from spectral_latent.constituency.features import FeatureSet, constituency_features
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.constituency.phrase_grammar import ConstituencyOptions, PhraseGrammar
from spectral_latent.estimation import EstimationError, Shard, StoredShards, Tally, tally_of
from spectral_latent.grammar import GrammarData, spelling_of
from spectral_latent.lexicon import Lexicon
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import Vocabulary

__all__ = ["Treebank", "cleaned", "read_treebanks"]


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
        """Clean and binarise phrases, name their features, count their rules; all in memory.

        Raises EstimationError if a phrase holds no word, or there is none.
        """
        return read_treebanks(phrases, [options])[0]

    def with_operators(self, operators: ObservableOperators) -> PhraseGrammar:
        """The grammar with these latent operators."""
        return PhraseGrammar(self.options, self.labels, self.grammar.grammar(operators))


class _Read(NamedTuple):
    """A treebank as it was read: what its symbols stand for, its trees, and their counts."""

    labels: list[Label]
    trees: Shard | StoredShards
    tally: Tally


class _Reading:
    """A treebank under one binarisation and one set of features, while it is read.

    shard_nodes: where it has more nodes, those so far go to a file; None to keep all in memory.
    """

    def __init__(
        self, binarisation: Binarisation, features: FeatureSet, terminals: Vocabulary[str], shard_nodes: int | None
    ) -> None:
        self.binarisation, self.features, self.shard_nodes = binarisation, features, shard_nodes
        self.columns = TreeColumns(Vocabulary(), terminals)
        self.last_names = Vocabulary[str]()
        self.stored: StoredShards | None = None

    def add(self, phrase: Phrase) -> None:
        """Append a cleaned phrase."""
        skeletal_trees([phrase], self.binarisation, self.columns)
        if self.shard_nodes is not None and len(self.columns.symbol) > self.shard_nodes:
            self.stored = self.stored or StoredShards()
            self.stored.append(self._taken())

    def _taken(self) -> Shard:
        """The trees since the last shard; what their features mean is the same in all shards."""
        trees, head_is_right = self.columns.taken()
        ends = np.array([self.last_names.add(label.chain[-1]) for label in self.columns.symbols], dtype=np.int64)
        return Shard(trees, constituency_features(trees, head_is_right, ends, self.features))

    def read(self, jobs: int | None) -> _Read:
        """The treebank, when all is read."""
        labels = self.columns.symbols.names
        if self.stored is None:
            shard = self._taken()
            return _Read(labels, shard, Tally.of(shard.trees))
        if len(self.columns.symbol):
            self.stored.append(self._taken())
        return _Read(labels, self.stored, tally_of(self.stored, jobs))


def read_treebanks(
    phrases: Iterable[Phrase],
    options: Sequence[ConstituencyOptions],
    *,
    shard_nodes: int | None = None,
    jobs: int | None = 1,
) -> list[Treebank]:
    """The treebank of each of several grammars, from phrases that are read and cleaned once.

    Those of one binarisation and one set of features share trees, and all of them what spelling tells.
    shard_nodes: a treebank of more nodes lies in files of about so many each; None to keep all in memory.
    Raises EstimationError if a phrase holds no word, or there is none.
    """
    terminals, kinds = Vocabulary[str](), [(own.binarisation, own.features) for own in options]
    readings = {kind: _Reading(*kind, terminals, shard_nodes) for kind in kinds}
    for phrase in cleaned(phrases):
        for reading in readings.values():
            reading.add(phrase)
    if not len(terminals):
        raise EstimationError("no trees to learn from")
    found = {kind: reading.read(jobs) for kind, reading in readings.items()}
    labels, _, tally = found[kinds[0]]
    tags = sorted({labels[symbol].chain[-1] for symbol in np.unique(tally.rules.leaf[:, 0]).tolist()})
    spelling = spelling_of(terminals.names, tally, tag_numbers(labels, tags), len(tags))
    lexicons = {kind: Lexicon(terminals.names, kind, spelling) for kind in {own.lexicon for own in options}}
    treebanks = []
    for own, kind in zip(options, kinds, strict=True):
        labels, trees, tally = found[kind]
        family = tag_numbers(labels, tags)
        data = GrammarData.over(trees, tally, lexicons[own.lexicon], tags, family, own)
        treebanks.append(Treebank(own, labels, data))
    return treebanks


def cleaned(phrases: Iterable[Phrase]) -> Iterable[Phrase]:
    """The phrases cleaned; EstimationError at one that holds no word."""
    for number, phrase in enumerate(phrases, start=1):
        without_traces = clean(phrase)
        if without_traces is None:
            raise EstimationError(f"tree {number} has no words: {phrase.bracketed()[:80]}")
        yield without_traces
