"""Make the treebanks of dependency trees under several grammars, and the coarse grammars without latent states."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from spectral_latent.dependency.conversion import (
    HeadSymbol,
    compute_dependency_features,
    convert_trees,
    list_possible_rules,
    mark_right_heads,
)
from spectral_latent.dependency.grammar import DependencyGrammar
from spectral_latent.dependency.options import DependencyOptions, check_together
from spectral_latent.dependency.tree import DependencySentence, choose_column, with_all_tags
from spectral_latent.estimation import Columns, Formalism, Shard, read_treebanks
from spectral_latent.grammar import Training, prepare_grammar, spelling_of
from spectral_latent.lexicon import Lexicon, WordCounts
from spectral_latent.model import check_trees
from spectral_latent.operators import Counts
from spectral_latent.trees import FloatArray, IntArray, Rules, Vocabulary


class _DependencyFormalism(Formalism[DependencySentence]):
    """The conversion of dependency trees by one attachment (`estimation.Formalism`).

    symbols: the symbols in the order of their numbers.
    terminals: the words in the order of their numbers.
    words: for every shard, the number of times that each symbol is above each word.
    labelled: gets all sentences, each with its weight, unless it is None."""

    def __init__(self, options: DependencyOptions, terminals: Vocabulary[str]) -> None:
        self.options = options
        self.symbols = Vocabulary[HeadSymbol]()
        self.terminals = terminals
        self.words: list[WordCounts] = []
        self.n_sentences = 0
        self.labelled: list[tuple[DependencySentence, float]] | None = None
        self._tags = Vocabulary[str]()

    def n_nodes(self, sentence: DependencySentence) -> int:
        """Compute a bound of the number of nodes of a sentence's s-tree."""
        return 2 * len(sentence.forms)

    def columns(self, sentences: Sequence[DependencySentence], weight: FloatArray) -> Columns:
        """Convert sentences to s-trees, and compute their features."""
        options = self.options
        tags = [options.tags_of(sentence) for sentence in sentences]
        converted = convert_trees(sentences, tags, options.attachment, self.symbols, first=self.n_sentences + 1)
        word = _numbers(self.terminals, chain.from_iterable(map(options.words_of, sentences)))
        tag = _numbers(self._tags, chain.from_iterable(tags))
        features = compute_dependency_features(converted, tag, word)

        # Mark the first word of each sentence; its leaf need not be the first, because trees may be non-projective.
        opens = np.zeros(len(word), dtype=np.bool_)
        opens[np.cumsum([0, *(len(sentence.forms) for sentence in sentences[:-1])])] = True
        leaf = converted.trees.is_leaf
        place = converted.trees.terminal[leaf]
        times = weight[converted.trees.tree[leaf]]
        self.words.append(WordCounts.of(converted.trees.symbol[leaf], word[place], opens[place], times))

        self.n_sentences += len(sentences)
        if self.labelled is not None:
            # Copies without comments, so that the sentences of a stream need not be held.
            copies = (sentence._replace(comments=(), ranges=()) for sentence in sentences)
            self.labelled += zip(copies, weight.tolist(), strict=True)
        return Shard.of(converted.over(word), features, weight).columns


def prepare(
    sentences: Iterable[DependencySentence],
    options: Sequence[DependencyOptions],
    *,
    weights: Iterable[float] | None = None,
    jobs: int | None = 1,
    labelled: list[tuple[DependencySentence, float]] | None = None,
) -> list[Training[DependencyGrammar]]:
    """Make a treebank and a coarse grammar for each of several options, from dependency trees that are read once.

    Grammars with the same attachment share a treebank.  All grammars share the spelling model.

    weights: the weight of each tree; see `DependencyModel.train`.
    labelled: gets the trees with their relations, unless it is None.
    Raises the errors of `DependencyModel.train`."""
    check_together(options)
    column, trees = choose_column(check_trees(sentences, DependencySentence), options[0].tags)
    if column is not None:  # a treebank without tags is not changed
        options = [replace(settings, tags=column) for settings in options]
        trees = with_all_tags(trees, column)
    terminals = Vocabulary[str]()
    formalisms = {settings.attachment: _DependencyFormalism(settings, terminals) for settings in options}
    first = formalisms[options[0].attachment]
    first.labelled = labelled
    read = read_treebanks(trees, [*formalisms.values()], weights=weights, jobs=jobs)
    treebanks = dict(zip(formalisms, read, strict=True))
    # Learn the spelling model once: tags are the same under every attachment.
    tags = sorted({symbol.tag for symbol in first.symbols})
    tag_of_symbol = Vocabulary(tags).numbers(symbol.tag for symbol in first.symbols)
    spelling = spelling_of(terminals.names, WordCounts.total(first.words), tag_of_symbol, len(tags))
    lexicon = Lexicon(terminals.names, spelling)
    trainings = []
    for settings in options:
        symbols = formalisms[settings.attachment].symbols.names
        treebank = treebanks[settings.attachment]
        unseen = _unseen_rules(treebank.counts, symbols, settings)
        trainings.append(prepare_grammar(DependencyGrammar, symbols, treebank, lexicon, tags, settings, unseen))
    return trainings


def _unseen_rules(counts: Counts, symbols: Sequence[HeadSymbol], options: DependencyOptions) -> Counts:
    """Make pseudo-counts of all possible rules, in proportion to the frequency of the dependant's symbol on its
    side."""
    seen = counts.rules.binary
    on_right = ~mark_right_heads(symbols, seen)
    dependant = np.where(on_right, seen[:, 2], seen[:, 1])
    count = np.zeros((2, len(symbols)))
    np.add.at(count, (on_right.astype(np.int64), dependant), counts.binary.data)
    share = count / np.maximum(count.sum(axis=1, keepdims=True), 1.0)
    rules, is_right = list_possible_rules(symbols, options.attachment)
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
