"""Make the treebank of dependency trees, and the coarse grammar, which has no latent states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from spectral_latent.dependency.arc_features import TaggedTree
from spectral_latent.dependency.conversion import (
    HeadSymbol,
    heads_are_right,
    possible_rules,
    skeletal_trees,
)
from spectral_latent.dependency.features import dependency_features
from spectral_latent.dependency.grammar import DependencyGrammar
from spectral_latent.dependency.options import DependencyOptions
from spectral_latent.dependency.relations import RelationModel
from spectral_latent.dependency.sentence import DependencySentence
from spectral_latent.dependency.tag_columns import choose_column, with_all_tags
from spectral_latent.estimation import Columns, Shard, read_treebanks
from spectral_latent.grammar import Training, prepare_grammar, spelling_of
from spectral_latent.lexicon import Lexicon, WordCounts
from spectral_latent.model import check_trees
from spectral_latent.operators import Counts
from spectral_latent.trees import FloatArray, IntArray, Rules, Vocabulary

__all__ = ["prepare_parts"]


class _DependencyFormalism:
    """The conversion of dependency trees (`estimation.Formalism`).

    symbols: the symbols in the order of their numbers.
    terminals: the words in the order of their numbers.
    words: for every shard, the number of times that each symbol is above each word.
    tagged: the words, tags and heads of every sentence.
    relations: the relations of every sentence.
    weights: the weight of every sentence.
    """

    def __init__(self, options: DependencyOptions) -> None:
        self.options = options
        self.symbols = Vocabulary[HeadSymbol]()
        self.terminals = Vocabulary[str]()
        self.words: list[WordCounts] = []
        self.tagged: list[TaggedTree] = []
        self.relations: list[tuple[str, ...]] = []
        self.weights: list[float] = []
        self._tags = Vocabulary[str]()

    def n_nodes(self, sentence: DependencySentence) -> int:
        """Compute a bound of the number of nodes of a sentence's s-tree."""
        return 2 * len(sentence.forms)

    def columns(self, sentences: Sequence[DependencySentence], weight: FloatArray) -> Columns:
        """Convert sentences to s-trees, and compute their features."""
        options = self.options
        tags = [options.tags_of(sentence) for sentence in sentences]
        converted = skeletal_trees(sentences, tags, options.attachment, self.symbols, first=len(self.tagged) + 1)
        word = _numbers(self.terminals, chain.from_iterable(map(options.words_of, sentences)))
        tag = _numbers(self._tags, chain.from_iterable(tags))
        features = dependency_features(converted, tag, word)

        # Mark the first word of each sentence; its leaf need not be the first, because trees may be non-projective.
        opens = np.zeros(len(word), dtype=np.bool_)
        opens[np.cumsum([0, *(len(sentence.forms) for sentence in sentences[:-1])])] = True
        leaf = converted.trees.is_leaf
        place = converted.trees.terminal[leaf]
        times = weight[converted.trees.tree[leaf]]
        self.words.append(WordCounts.of(converted.trees.symbol[leaf], word[place], opens[place], times))

        self.tagged += map(options.tagged_tree, sentences)
        self.relations += (sentence.relations for sentence in sentences)
        self.weights += weight.tolist()
        return Shard.of(converted.over(word), features, weight).columns

    def shard(self, columns: Columns) -> Shard:
        """Make a shard from s-trees and features."""
        return Shard(columns)


def prepare_parts(
    sentences: Iterable[DependencySentence],
    options: DependencyOptions,
    *,
    weights: Iterable[float] | None = None,
    jobs: int | None = 1,
) -> tuple[Training[DependencyGrammar], RelationModel | None]:
    """Make the treebank, the coarse grammar and the model of relations of dependency trees, which are read once.

    There is no model of relations if the treebank has no relations.  Relations are learnt in memory, from words, tags
    and heads alone.

    Raises EstimationError if there are no sentences, or if a sentence is not a tree with one root; TypeError for an
    object that is not a DependencySentence.
    """
    tagged, options = _with_tags(check_trees(sentences, DependencySentence), options)
    formalism = _DependencyFormalism(options)
    (treebank,) = read_treebanks(tagged, [formalism], weights=weights, jobs=jobs)
    symbols = formalism.symbols.names
    tags = sorted({symbol.tag for symbol in symbols})
    tag_of_symbol = Vocabulary(tags).numbers(symbol.tag for symbol in symbols)
    words = formalism.terminals.names
    spelling = spelling_of(words, WordCounts.total(formalism.words), tag_of_symbol, len(tags))
    lexicon = Lexicon(words, spelling)
    unseen = _unseen_rules(treebank.counts, symbols, options)
    training = prepare_grammar(DependencyGrammar, symbols, treebank, lexicon, tags, options, unseen)
    relations = RelationModel.train(formalism.tagged, formalism.relations, weights=formalism.weights)
    return training, relations


def _with_tags(
    sentences: Iterable[DependencySentence], options: DependencyOptions
) -> tuple[Iterator[DependencySentence], DependencyOptions]:
    """Choose the column of tags, and give every word a tag there; a treebank without tags is not changed.

    Returns the sentences, and the options with this column.
    """
    column, chosen = choose_column(sentences, options.tags)
    if column is None:
        return chosen, options
    return with_all_tags(chosen, column), replace(options, tags=column)


def _unseen_rules(counts: Counts, symbols: Sequence[HeadSymbol], options: DependencyOptions) -> Counts:
    """Make pseudo-counts of all possible rules, in proportion to the frequency of the dependant's symbol on its
    side."""
    seen = counts.rules.binary
    on_right = ~heads_are_right(symbols, seen)
    dependant = np.where(on_right, seen[:, 2], seen[:, 1])
    count = np.zeros((2, len(symbols)))
    np.add.at(count, (on_right.astype(np.int64), dependant), counts.binary.data)
    share = count / np.maximum(count.sum(axis=1, keepdims=True), 1.0)
    rules, is_right = possible_rules(symbols, options.attachment)
    weight = share[is_right.astype(np.int64), np.where(is_right, rules[:, 2], rules[:, 1])]
    total = np.bincount(rules[:, 0], weight, minlength=len(symbols))[rules[:, 0]]
    no_rules = np.empty((0, 2), dtype=np.int64)
    return Counts.of_rules(
        Rules(no_rules, no_rules, rules),
        root=np.zeros(len(symbols)),
        leaf=np.zeros(0),
        unary=np.zeros(0),
        binary=options.unseen * weight / total,
    )


def _numbers(names: Vocabulary[str], values: Iterable[str]) -> IntArray:
    """Number values; new values get new numbers."""
    return np.array([names.add(value) for value in values], dtype=np.int64)
