"""Hold a latent PCFG over words, with the coarse PCFG over the same rules that prunes its charts.

A formalism adds the meaning of the symbols, and the conversion of its trees to s-trees and back.  `prepare_grammar`
makes the coarse grammar of a treebank, and `Training` the latent one.
"""

import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, repeat
from typing import Annotated, Any, Generic, Self, TypeVar

import numpy as np

from spectral_latent._compiled import check_column, check_range
from spectral_latent._options import Above, AtMost, counted
from spectral_latent.estimation import Listener, Priors, Treebank, estimate, reestimate, relative_frequencies, silent
from spectral_latent.files import Axes, CompactOperators, are_distinct, are_one_line, are_probabilities, round_operators
from spectral_latent.grammar._coarse import CoarseGrammar, CoarseLeaves, Neighbours, OutsideEstimates, Permits
from spectral_latent.grammar._inside_chart import LimitError
from spectral_latent.grammar.forests import Charts, SentenceGrammar, SpanForest, prune_chart
from spectral_latent.grammar.options import GrammarOptions, Limits
from spectral_latent.grammar.prefixes import LatentPrefixes, prefix_forest
from spectral_latent.inference import LeftCorners
from spectral_latent.inspection import NamedOperators
from spectral_latent.lexicon import EmissionSmoothing, Lexicon, SpellingModel, WordCounts, WordEncoder
from spectral_latent.model import LatentTreeModel, Member, NextWords, Partial, Prefixes, check_words
from spectral_latent.model.parts import Found, Parts, WeighedForest
from spectral_latent.operators import Counts, ObservableOperators
from spectral_latent.trees import BoolArray, FloatArray, IntArray, Rules, Vocabulary

OptionsKind = TypeVar("OptionsKind", bound=GrammarOptions)
SymbolKind = TypeVar("SymbolKind")
Sentence = TypeVar("Sentence")
Constraints = TypeVar("Constraints")
Tree = TypeVar("Tree")

_LONG = 100  # words; the beam of longer sentences is narrower
_NARROWEST = 0.1  # the narrowest beam
_UNLIKELY = 0.05  # the least estimate of an item's posterior, as a share of the least posterior of an edge
_WIDER = 0.1  # the threshold of prefixes, as a share of the threshold of whole sentences; a prefix tells less


@dataclass(frozen=True, eq=False, repr=False)
class LatentGrammar(
    Member[Partial[Sentence, Constraints], Tree], Generic[SymbolKind, OptionsKind, Sentence, Constraints, Tree]
):
    """Base of grammars over words: latent and coarse operators over the same rules, with a lexicon.

    symbols: (S,) the meaning of each symbol.
    lexicon: the words, whose numbers the leaf rules have.
    seen: (R2,) whether each binary rule occurs in the treebank; charts use only these rules at first.
    prior: (S,) the share of each symbol among the nodes of the treebank.
    coarse: operators with one state per symbol, such as relative frequencies.
    latent: the latent operators in compact form, from which `operators` makes the vectors of all leaf rules.
    objective: the objective of EM at the start and after each iteration; empty for an estimator without EM."""

    options: OptionsKind
    symbols: list[SymbolKind]
    tags: Annotated[list[str], are_distinct, are_one_line]
    lexicon: Lexicon
    seen: Annotated[BoolArray, Axes("B")]
    prior: Annotated[FloatArray, Axes("S"), Above(0.0), AtMost(1.0)]
    coarse: Annotated[ObservableOperators, are_probabilities]
    latent: CompactOperators
    objective: tuple[float, ...] = ()

    @property
    def sizes(self) -> str:
        """The sizes of the model."""
        states = counted(int(self.latent.rest.states.max()), "state")
        return f"{counted(len(self.tags), 'tag')} of up to {states}, {counted(len(self.lexicon.words), 'word')}"

    def __post_init__(self) -> None:
        rules = self.coarse.rules
        if not rules.equals(self.latent.rules):
            raise ValueError("the coarse and the latent grammar must number the same rules")
        check_range("terminals of leaf rules", rules.leaf[:, 1], 0, self.lexicon.n_terminals)
        fits = len(self.symbols) == len(self.prior) == self.coarse.n_symbols == self.latent.rest.n_symbols
        fits = fits and len(self.seen) == len(rules.binary) and bool((self.coarse.states == 1).all())
        if fits and self.lexicon.spelling is not None:  # with spellings, every symbol over words has a tag
            has_tag = self.tag_of_symbol[rules.leaf[:, 0]] >= 0
            fits = self.lexicon.spelling.n_symbols == len(self.tags) and bool(has_tag.all())
        if not fits:
            raise ValueError("the parts of the grammar do not fit together")

    @staticmethod
    @abstractmethod
    def tag_of(symbol: SymbolKind) -> str:
        """Return the name of the tag that a symbol has if it is over words."""

    @cached_property
    def tag_numbers(self) -> Vocabulary[str]:
        """The tags in the order of their numbers."""
        return Vocabulary(self.tags)

    @cached_property
    def tag_of_symbol(self) -> IntArray:
        """The number of the tag of each symbol over words, such as `NN` and `NP\\|NN`, (S,); -1 for others."""
        return self.tag_numbers.numbers(map(self.tag_of, self.symbols))

    def with_operators(self, operators: ObservableOperators, objective: tuple[float, ...] = ()) -> Self:
        """Replace the latent operators by others over the same rules.

        operators: operators over the same rules as `coarse`.
        objective: the objective of the EM that made them; empty for other operators."""
        return replace(self, latent=CompactOperators.of(operators), objective=objective)

    @property
    def probabilities(self) -> bool:
        """Whether the latent operators are probabilities."""
        return self.latent.rest.probabilities

    @property
    def operators(self) -> ObservableOperators:
        """The latent operators with the vectors of all leaf rules, which are computed at each access."""
        return self.latent.operators

    @property
    def n_known(self) -> int:
        """The number of words seen in training."""
        return len(self.lexicon.words)

    @abstractmethod
    def name_of(self, symbol: SymbolKind) -> str:
        """Write a symbol as people read it."""

    @property
    def named_operators(self) -> NamedOperators:
        """The operators, with the names of symbols and words; see `inspection`."""
        names = list(map(self.name_of, self.symbols))
        return NamedOperators(self.operators, names, self.lexicon.terminal_names)

    @abstractmethod
    def chart(self, inputs: Sequence[Partial[Sentence, Constraints]]) -> Charts:
        """Build the pruned charts of sentences.

        Raises ValueError if a sentence is empty."""

    def forest(self, charts: Charts) -> WeighedForest:
        """Join the pruned charts of sentences to one forest, with a component for each sentence.

        Derivations in which a word has a tag that it never had have no weight."""
        return WeighedForest(charts.grammar.latent, charts.possible(charts.joined().forest))

    @cached_property
    def part_names(self) -> Sequence[Any]:
        """The names of the labels of parts, in the order of their numbers: those of symbols."""
        return list(dict.fromkeys(map(self.name_of, self.symbols)))

    def parts(self, inputs: Sequence[Partial[Sentence, Constraints]], charts: Charts) -> Found:
        """Find the spans that sentences may have, with the names of symbols."""
        forest, first, end, sentence = charts.joined()
        weighed = WeighedForest(charts.grammar.latent, forest)
        sign = weighed.weight().sign
        label = Vocabulary(self.part_names).numbers(map(self.name_of, self.symbols))[forest.symbol]
        posterior = self.options.with_signs(weighed.marginals(), sign[sentence])
        items = Parts(sentence, first, end, label, posterior)
        return Found(items.take(sign[sentence] != 0), sign != 0, weighed, items.take(forest.item))

    def with_limits(self, limits: Limits) -> Self:
        """Replace the limits of the time and memory of a sentence."""
        return replace(self, options=replace(self.options, limits=limits))

    @cached_property
    def _encoder(self) -> WordEncoder:
        least = self.options.lexicon.min_expected
        return WordEncoder(self.lexicon, self.coarse, self.prior, self.tag_of_symbol, least)

    @cached_property
    def _seen_rules(self) -> CoarseGrammar:
        return CoarseGrammar.of(self.coarse, self.prior, self.seen)

    @cached_property
    def _neighbours(self) -> Neighbours:
        return Neighbours.compute(self.coarse, self.prior, self.tag_of_symbol)

    @cached_property
    def _all_rules(self) -> CoarseGrammar:
        return self._seen_rules if self.seen.all() else CoarseGrammar.of(self.coarse, self.prior)

    def for_sentences(self, sentences: Sequence[Sequence[str]], tags: IntArray | None = None) -> SentenceGrammar:
        """Look up the words of sentences, and make a grammar with the leaf rules of these words only.

        A word that was never seen is replaced by its signature, with the probabilities of tags that its spelling gives.

        sentences: sentences of n words in all.
        tags: (n,) the number of the only tag that each word may have, or -1 for any tag.
        Raises ValueError if there is not one tag for each word, or if a tag does not exist."""
        if tags is not None:
            check_column("tags of words", tags, (sum(map(len, sentences)),), np.int64)
            check_range("tags of words", tags, -1, len(self.tags))
        words = self._encoder.encode(sentences, tags)
        start = np.cumsum([0, *map(len, sentences)], dtype=np.int64)
        return SentenceGrammar(words, start, self.coarse, words.restrict(self._without_leaves))

    @property
    def _without_leaves(self) -> CompactOperators:
        """The operators by which charts and given trees are weighed, whose leaf rules depend on the sentence."""
        return self.latent

    def charts(
        self,
        sentences: Sequence[Sequence[str]],
        tags: IntArray | None = None,
        permits: Sequence[Permits | None] | None = None,
        wider: Sequence[Permits | None] | None = None,
    ) -> Charts:
        """Build the pruned charts of sentences.

        A sentence has no chart if the grammar does not derive it with any tags.  A sentence beyond the `Limits` of the
        options has no chart either, and a warning says so.

        sentences: T sentences of n words in all.
        tags: (n,) the number of the only tag that each word may have, or -1 for any tag.
        permits: for each sentence, the symbols that may stand over each span of its words, or None for all symbols;
        None in place of the list for all symbols in all sentences.
        wider: for each sentence, the permits to try if it has no chart under the first; None for no second try.
        Raises ValueError if a sentence has no word, or if there are not as many permits as sentences; TypeError for a
        string in place of a sentence."""
        for words in sentences:
            check_words(words)
            if not len(words):
                raise ValueError("an empty sentence has no parse")
        if permits is None:
            permits = [None] * len(sentences)
        elif len(permits) != len(sentences):
            raise ValueError(f"permits are given for {len(permits)} sentences, but there are {len(sentences)}")
        grammar = self.for_sentences(sentences, tags)
        leaves = grammar.leaves(grammar.words.word, grammar.words.likely)
        spans: list[SpanForest | None] = []
        places = pairwise(grammar.start.tolist())
        for (first, end), allowed, more in zip(places, permits, wider or repeat(None, len(permits)), strict=True):
            of_words = leaves if len(sentences) == 1 else leaves.of_words(first, end)
            try:
                chart = self._chart(grammar, of_words, allowed)
                if chart is None and more is not None:
                    chart = self._chart(grammar, of_words, more)
                spans.append(chart)
            except LimitError as error:
                warnings.warn(f"{error}, and has no parse; divide the sentence, or raise the limit", RuntimeWarning, 2)
                spans.append(None)
        return Charts(grammar, spans)

    def _chart(self, grammar: SentenceGrammar, leaves: CoarseLeaves, permits: Permits | None) -> SpanForest | None:
        """Build the pruned chart of one sentence, given its leaf rules; None if the grammar does not derive it."""
        limits = self.options.limits
        self._check_length(len(leaves.start) - 1)
        deadline = limits.deadline
        threshold = self.options.threshold
        # Constraints may exclude all likely trees of a sentence: then no item is too unlikely.
        least = _UNLIKELY * threshold if permits is None else 0.0
        for rules, leaves_of_try, beam, estimates in self._tries(grammar, leaves, least):
            chart = prune_chart(rules, leaves_of_try, beam, threshold, limits.items, deadline, permits, estimates)
            if chart is not None:
                return chart
        return None

    def is_too_long(self, words: Sequence[str]) -> bool:
        """Tell whether a sentence has more words than its limit, so that it gets no chart."""
        return len(words) > self.options.limits.max_words

    def _check_length(self, n: int) -> None:
        """Raise LimitError if n words are more than a sentence may have."""
        if n > self.options.limits.max_words:
            raise LimitError(f"a sentence of {n} words is longer than the {self.options.limits.max_words} of its limit")

    def _tries(
        self, grammar: SentenceGrammar, leaves: CoarseLeaves, least: float
    ) -> Iterator[tuple[CoarseGrammar, CoarseLeaves, float, OutsideEstimates | None]]:
        """List the rules, leaf rules, beams and estimates to try until a sentence is derived, each allowing more.

        The first try has the rules that occur in the treebank, and estimates by the words around an item.  The second
        try has no estimates, and the third try has all rules.  The next try has the beam of short sentences.  The last
        try has no beam, and each word also has the symbols of any word."""
        n = len(leaves.start) - 1
        # Narrow the beam of a long sentence with the fifth power of its length: the items of a cell become fewer as the
        # cells become more, so that time grows with the square of the length instead of the cube.
        beam = self.options.beam
        if n > _LONG:
            beam = max(beam, min(beam * (n / _LONG) ** 5, _NARROWEST))
        yield self._seen_rules, leaves, beam, OutsideEstimates.compute(self._neighbours, leaves, least)
        yield self._seen_rules, leaves, beam, None
        if self._all_rules is not self._seen_rules:
            yield self._all_rules, leaves, beam, None
        if beam > self.options.beam:
            yield self._all_rules, leaves, self.options.beam, None
        any_words = grammar.leaves(np.full(n, grammar.words.any_word))
        yield self._all_rules, leaves.with_others(any_words), 0.0, None

    @property
    def factors(self) -> tuple[FloatArray, FloatArray]:
        """The factors (S,) of derivations for each node with children, and for each root; 1 unless charts lack rules.

        They are the probabilities that charts have the rules of a node."""
        return np.ones(len(self.symbols)), np.ones(len(self.symbols))

    @cached_property
    def _left_corners(self) -> tuple[CoarseGrammar, LeftCorners, LeftCorners]:
        """The normalised coarse grammar, its left corners, and the left corners of the normalised latent grammar."""
        coarse = LeftCorners.compute(ObservableOperators.probabilities_of(self.coarse))
        latent = LeftCorners.compute(ObservableOperators.probabilities_of(self.operators), *self.factors)
        return CoarseGrammar.of(coarse.operators, self.prior), coarse, latent

    def prefixes(self, words: Sequence[str], tags: IntArray | None = None) -> Prefixes:
        """Compute the probabilities of all prefixes of a sentence under the normalised grammar.

        The probabilities of a trained grammar are rounded; after normalisation, the rules of each state sum to one.
        The results are NaN for a sentence beyond the `Limits` of the options, and a warning says so.

        tags: (n,) the number of the only tag that each word may have, or -1 for any tag.
        Raises ValueError if there is no word, if the latent operators are not probabilities, or for tags as
        `for_sentences`; TypeError for a string in place of a sentence."""
        prefixes = self._latent_prefixes(words, tags)
        if prefixes is None:
            return Prefixes(np.full(len(words) + 1, np.nan), np.full(len(words), np.nan), np.nan)
        return prefixes.probabilities()

    def next_words(self, words: Sequence[str], tags: IntArray | None = None) -> NextWords:
        """Compute the probabilities of the lexicon's terminals, and of the end, after each prefix of a sentence.

        Unknown words, errors and limits are treated as by `prefixes`.

        tags: (n,) the number of the only tag that each word may have, or -1 for any tag."""
        prefixes = self._latent_prefixes(words, tags)
        n_terminals = self.lexicon.n_terminals
        if prefixes is None:
            size = len(words) + 1
            return NextWords(np.full(size, np.nan), np.full((size, n_terminals + 1), np.nan))
        return prefixes.next_words(n_terminals)

    def _latent_prefixes(self, words: Sequence[str], tags: IntArray | None) -> LatentPrefixes | None:
        """Find the prefixes of n words with tags (n,); None for a sentence beyond the limits."""
        check_words(words)
        if not len(words):
            raise ValueError("an empty sentence has no prefixes")
        if not self.latent.rest.probabilities:
            raise ValueError(
                f"the estimator {self.options.estimator!r} gives estimates that may be negative, so that "
                f"prefixes have no probabilities; train with the preset 'fast' or 'accurate', or with another estimator"
            )
        grammar, coarse, latent = self._left_corners
        encoded = self.for_sentences([words], tags).words
        weight = coarse.operators.leaf[encoded.source, 0] * encoded.factor
        leaves = CoarseLeaves.of(encoded.rules, weight, encoded.word)
        operators = encoded.restrict(latent.operators)
        limits = self.options.limits
        deadline = limits.deadline
        threshold = self.options.threshold * _WIDER

        def find(kept: SpanForest | None = None) -> LatentPrefixes:
            """Find the prefixes, with some items kept."""
            spans = prefix_forest(grammar, coarse, leaves, threshold, limits.items, deadline, kept)
            return LatentPrefixes.compute(operators, latent, leaves, spans)

        try:
            self._check_length(len(words))
            prefixes = find()
            if not prefixes.is_whole:
                prefixes = find(self.charts([words], tags).joined())
        except LimitError as error:
            warnings.warn(f"{error}, and has no surprisal; divide the sentence, or raise the limit", RuntimeWarning, 3)
            return None
        return prefixes


def spelling_of(words: Sequence[str], counts: WordCounts, tag_of_symbol: IntArray, n_tags: int) -> SpellingModel:
    """Train a model of the tags of words, given their spelling.

    tag_of_symbol: (S,) the number of the tag of each symbol over words.

    >>> import numpy as np
    >>> seen = WordCounts.of(np.array([0, 1]), np.array([0, 1]), np.array([True, False]))
    >>> model = spelling_of(["dogs", "barked"], seen, np.array([0, 1, -1]), n_tags=2)
    >>> model.posterior(["cats", "barks"]).shape
    (2, 2)
    """
    tag = tag_of_symbol[counts.symbol]
    return SpellingModel.train(words, counts.word, tag, counts.times, counts.opens, n_tags)


Model = TypeVar("Model", bound=Member[Any, Any] | LatentTreeModel[Any, Any, Any])
Grammar = TypeVar("Grammar", bound=LatentGrammar[Any, Any, Any, Any, Any])


@dataclass(frozen=True, eq=False)
class Training(Generic[Model]):
    """A treebank that is ready for estimation, and its model without latent states.

    coarse: the model without latent states: its latent operators are the coarse operators."""

    coarse: Model
    treebank: Treebank

    def estimate(self, *, jobs: int | None = 1, listener: Listener = silent) -> Model:
        """Estimate the latent model by the estimator of its options."""
        latent = estimate(self.treebank, self.coarse.options.estimator, jobs=jobs, listener=listener)
        return self._with(latent.operators, latent.rounded_objective)

    def reestimate(self, operators: ObservableOperators, *, jobs: int | None = 1) -> Model:
        """Estimate the latent model by one iteration of EM from probabilities over the rules of the treebank."""
        latent = reestimate(self.treebank, operators, self.coarse.options.estimator, jobs=jobs)
        return self._with(latent)

    def _with(self, operators: ObservableOperators, objective: tuple[float, ...] = ()) -> Model:
        """Give the model latent operators, which are rounded."""
        coarse: Any = self.coarse
        model: Model = coarse.with_operators(round_operators(operators, coarse.options.compact), objective)
        return model


def prepare_grammar(
    kind: type[Grammar],
    symbols: list[Any],
    treebank: Treebank,
    lexicon: Lexicon,
    tags: list[str],
    options: GrammarOptions,
    unseen_rules: Counts | None = None,
) -> Training[Grammar]:
    """Estimate the coarse grammar of a treebank, with priors for words, fragments and rules that the treebank lacks.

    symbols: (S,) the meaning of each symbol.
    treebank: s-trees whose terminals are the words of the lexicon, without priors.
    unseen_rules: pseudo-counts of rules that the treebank lacks; none if not given."""
    smooth = EmissionSmoothing(lexicon, options.lexicon, Vocabulary(tags).numbers(map(kind.tag_of, symbols)))
    counts = treebank.counts
    priors = Priors(smooth, options.fragments, unseen_rules)
    coarse = round_operators(relative_frequencies(counts, priors), options.compact)
    seen = Rules.find(counts.rules.binary, coarse.rules.binary) >= 0
    share = counts.symbol / counts.symbol.sum()
    grammar = kind(options, symbols, tags, lexicon, seen, share, coarse, CompactOperators.of(coarse))
    return Training(grammar, replace(treebank, priors=priors))
