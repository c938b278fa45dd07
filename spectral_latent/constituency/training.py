"""Train the grammars of a parser on treebank trees, and the models that use the grammars.

| function | result |
| --- | --- |
| `prepare` | the treebanks of phrases under several grammars, and the grammars without latent states |
| `train_parser` | the latent grammars, the model of spans, and the grammar of function labels |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import repeat
from typing import TypeAlias

import numpy as np

from spectral_latent.constituency.cleaning import Changes, cleaned
from spectral_latent.constituency.conversion import Binarisation, PhraseSymbol, skeletal_trees
from spectral_latent.constituency.features import FeatureSet, constituency_features
from spectral_latent.constituency.functions import FunctionLabeller
from spectral_latent.constituency.grammar import PhraseGrammar
from spectral_latent.constituency.options import ConstituencyOptions, check_together
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.constituency.spans import SpanExamples, SpanModel, SpanOptions
from spectral_latent.estimation import Columns, Listener, Progress, Shard, read_treebanks, silent
from spectral_latent.grammar import Training, prepare_grammar, spelling_of
from spectral_latent.lexicon import Lexicon, WordCounts
from spectral_latent.model import check_trees
from spectral_latent.trees import FloatArray, Vocabulary

__all__ = ["FindExamples", "learnt_without", "prepare", "train_parser"]

FindExamples: TypeAlias = Callable[[tuple[PhraseGrammar, ...], Iterable[Phrase], SpanOptions], Iterable[SpanExamples]]
"""A function that lists the constituents that grammars find in the sentences of cleaned trees."""


class _PhraseFormalism:
    """The conversion of cleaned phrases by one binarisation, with one set of features (`estimation.Formalism`).

    removes_functions: whether to remove function labels from the phrases.
    symbols: the symbols in the order of their numbers.
    terminals: the words in the order of their numbers.
    words: for every shard, the number of times that each symbol is above each word.
    """

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
        converted = skeletal_trees(labelled, self.binarisation, self.symbols, self.terminals)
        trees = converted.trees
        leaf = trees.is_leaf
        opens = trees.first_leaf[leaf] == 0
        times = weight[trees.tree[leaf]]
        self.words.append(WordCounts.of(trees.symbol[leaf], trees.terminal[leaf], opens, times))
        last = np.array([self._last_labels.add(symbol.last) for symbol in self.symbols], dtype=np.int64)
        return Shard.of(trees, constituency_features(converted, last, self.features), weight).columns

    def shard(self, columns: Columns) -> Shard:
        """Make a shard from s-trees and features."""
        return Shard(columns)


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

    phrases: treebank trees, which are cleaned here.
    options: the options of each grammar.
    weights: the weight of each phrase; see `read_treebanks`.
    Raises EstimationError if a phrase has no word, or if there is no phrase; TypeError for an object that is not a
    phrase.
    """
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


def train_parser(
    phrases: Iterable[Phrase],
    options: Sequence[ConstituencyOptions],
    find_examples: FindExamples,
    *,
    weights: Iterable[float] | None = None,
    spans: SpanModel | None = None,
    jobs: int | None = 1,
    listener: Listener = silent,
    changes: Changes | None = None,
) -> tuple[tuple[PhraseGrammar, ...], SpanModel | None, FunctionLabeller | None]:
    """Train the grammars of a parser, and the model of spans and the labeller that the options ask for.

    Raises ValueError if the options do not fit together, and EstimationError as `prepare` does.
    """
    check_together(options)
    if spans is not None and options[0].spans is None:
        raise ValueError("the options have no `spans`; a model of spans is used with the settings that they have")
    to_learn = options[0].spans if spans is None else None
    labelling = options[:1] if options[0].function_labels else []
    options = [replace(settings, function_labels=False) for settings in options]
    if to_learn is not None:  # the trees are read again, fold by fold
        phrases = list(phrases)
        weights = None if weights is None else list(weights)
    trainings = prepare(phrases, [*options, *labelling], weights=weights, jobs=jobs, changes=changes)
    grammars = _train_grammars(trainings, jobs, listener)
    members = grammars[: len(options)]
    functions = FunctionLabeller(grammars[-1]) if labelling else None
    if to_learn is None:
        return members, spans, functions
    times = repeat(1.0) if weights is None else weights
    weighted = [(tree, weight) for tree, weight in zip(phrases, times, strict=False) if weight > 0.0]
    spans = _train_spans(weighted, members, to_learn, find_examples, jobs, listener)
    return members, spans, functions


def _train_grammars(
    trainings: Sequence[Training[PhraseGrammar]], jobs: int | None, listener: Listener
) -> tuple[PhraseGrammar, ...]:
    """Train the grammar of each of several prepared treebanks."""
    grammars = []
    for number, training in enumerate(trainings, start=1):
        of_all = f"grammar {number} of {len(trainings)}, " if len(trainings) > 1 else ""
        grammars.append(training.estimate(jobs=jobs, listener=partial(_tell, listener, of_all)))
    return tuple(grammars)


def _tell(listener: Listener, prefix: str, progress: Progress) -> None:
    """Tell a listener the progress of one of several grammars."""
    listener(progress._replace(stage=prefix + progress.stage))


def _train_spans(
    weighted: Sequence[tuple[Phrase, float]],
    grammars: Sequence[PhraseGrammar],
    options: SpanOptions,
    find_examples: FindExamples,
    jobs: int | None,
    listener: Listener,
) -> SpanModel:
    """Train a model of spans on sentences that are parsed by grammars of the other folds.

    Tree i is in fold i modulo the number of folds.  With one fold there are no examples, because no other fold is left.
    """
    n_folds = min(options.folds, len(weighted))
    alone = [replace(grammar.options, spans=None) for grammar in grammars]
    examples: list[SpanExamples] = []
    listener(Progress("folds", 0, n_folds))
    for fold in range(n_folds if n_folds > 1 else 0):
        rest = [pair for at, pair in enumerate(weighted) if at % n_folds != fold]
        trees, weights = zip(*rest, strict=True)
        trainings = prepare(trees, alone, weights=weights, jobs=jobs)
        if options.anew:
            members = tuple(training.estimate(jobs=jobs) for training in trainings)
        else:
            pairs = zip(grammars, trainings, strict=True)
            members = tuple(learnt_without(whole, training, jobs) for whole, training in pairs)
        held_out, weights = zip(*weighted[fold::n_folds], strict=True)
        of_fold = find_examples(members, cleaned(held_out), options)
        examples += (each.weighted(weight) for each, weight in zip(of_fold, weights, strict=True))
        listener(Progress("folds", fold + 1, n_folds))
    return SpanModel.train(examples, options)


def learnt_without(whole: PhraseGrammar, rest: Training[PhraseGrammar], jobs: int | None = 1) -> PhraseGrammar:
    """Train a grammar on some of the trees of another grammar, by one iteration of EM from the other grammar.

    All counts, rules and words come from these trees; only the states were found on all trees.  A grammar without
    probabilities is trained from the beginning.
    """
    if not whole.latent.rest.probabilities:
        return rest.estimate(jobs=jobs)
    symbol = Vocabulary(whole.symbols).numbers(rest.coarse.symbols)
    word = Vocabulary(whole.lexicon.words).numbers(rest.coarse.lexicon.words)
    operators = whole.operators.restrict(rest.treebank.counts.rules, symbol, word)
    return rest.reestimate(operators, jobs=jobs)
