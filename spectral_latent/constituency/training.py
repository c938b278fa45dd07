"""Make the treebanks of phrases under several grammars, and the coarse grammars, which have no latent states."""

from collections.abc import Iterable, Sequence

import numpy as np

from spectral_latent.constituency.cleaning import Changes, cleaned
from spectral_latent.constituency.conversion import (
    Binarisation,
    FeatureSet,
    PhraseSymbol,
    compute_constituency_features,
    convert_trees,
)
from spectral_latent.constituency.grammar import PhraseGrammar
from spectral_latent.constituency.options import ConstituencyOptions
from spectral_latent.constituency.tree import Phrase
from spectral_latent.estimation import Columns, Formalism, Shard, read_treebanks
from spectral_latent.grammar import Training, prepare_grammar, spelling_of
from spectral_latent.lexicon import Lexicon, WordCounts
from spectral_latent.model import check_trees
from spectral_latent.trees import FloatArray, Vocabulary


class _PhraseFormalism(Formalism[Phrase]):
    """The conversion of cleaned phrases by one binarisation, with one set of features (`estimation.Formalism`).

    removes_functions: whether to remove function labels from the phrases.
    symbols: the symbols in the order of their numbers.
    terminals: the words in the order of their numbers.
    words: for every shard, the number of times that each symbol is above each word."""

    def __init__(
        self, binarisation: Binarisation, features: FeatureSet, removes_functions: bool, terminals: Vocabulary[str]
    ) -> None:
        self.binarisation = binarisation
        self.features = features
        self.removes_functions = removes_functions
        self.symbols = Vocabulary[PhraseSymbol]()
        self.terminals = terminals
        self.words: list[WordCounts] = []
        self._last_labels = Vocabulary[str]()

    def n_nodes(self, phrase: Phrase) -> int:
        """Count the nodes of a phrase's s-tree: its words, and the binary nodes above them."""
        return 2 * sum(1 for _ in phrase.words()) - 1

    def columns(self, phrases: Sequence[Phrase], weight: FloatArray) -> Columns:
        """Convert phrases to s-trees, and compute their features."""
        labelled = cleaned(phrases) if self.removes_functions else phrases
        converted = convert_trees(labelled, self.binarisation, self.symbols, self.terminals)
        trees = converted.trees
        leaf = trees.is_leaf
        opens = trees.first_leaf[leaf] == 0
        times = weight[trees.tree[leaf]]
        self.words.append(WordCounts.of(trees.symbol[leaf], trees.terminal[leaf], opens, times))
        last = np.array([self._last_labels.add(symbol.last) for symbol in self.symbols], dtype=np.int64)
        return Shard.of(trees, compute_constituency_features(converted, last, self.features), weight).columns


def prepare(
    phrases: Iterable[Phrase],
    options: Sequence[ConstituencyOptions],
    *,
    weights: Iterable[float] | None = None,
    jobs: int | None = 1,
    changes: Changes | None = None,
) -> list[Training[PhraseGrammar]]:
    """Make a treebank and a coarse grammar for each of several options, from phrases that are read once.

    Grammars with the same binarisation and features share a treebank, if all or none of them have function labels.  All
    grammars share the spelling model.

    weights: the weight of each phrase; see `read_treebanks`.
    Raises EstimationError if a phrase has no word, or if there is no phrase; TypeError for an object that is not a
    phrase."""
    terminals = Vocabulary[str]()
    keeps_functions = any(settings.function_labels for settings in options)
    kinds = [
        (settings.binarisation, settings.features, keeps_functions and not settings.function_labels)
        for settings in options
    ]
    formalisms = {kind: _PhraseFormalism(*kind, terminals) for kind in kinds}
    trees = cleaned(check_trees(phrases, Phrase), function_labels=keeps_functions, changes=changes)
    read = read_treebanks(trees, [*formalisms.values()], weights=weights, jobs=jobs)
    treebanks = dict(zip(formalisms, read, strict=True))

    # Learn the spelling model once: tags are the same under every binarisation, and have no function labels.
    first = formalisms[kinds[0]]
    symbols = first.symbols.names
    words = WordCounts.total(first.words)
    tags = Vocabulary(sorted({symbols[symbol].last for symbol in np.unique(words.symbol).tolist()}))
    tag_of_symbol = tags.numbers(symbol.last for symbol in symbols)
    spelling = spelling_of(terminals.names, words, tag_of_symbol, len(tags))
    lexicon = Lexicon(terminals.names, spelling)

    trainings = []
    for settings, kind in zip(options, kinds, strict=True):
        symbols = formalisms[kind].symbols.names
        trainings.append(prepare_grammar(PhraseGrammar, symbols, treebanks[kind], lexicon, tags.names, settings))
    return trainings
