"""Parse phrases with one latent PCFG, or with several whose posteriors are averaged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from itertools import repeat
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectral_latent.constituency.cleaning import cleaned, without_functions
from spectral_latent.constituency.constraints import Constraints, PartialTree
from spectral_latent.constituency.decoding import (
    ChainLabels,
    Constituent,
    Constituents,
    LabelledConstituents,
    bracketings,
    constituents_of,
    spans_html,
)
from spectral_latent.constituency.functions import FunctionLabeller
from spectral_latent.constituency.grammar import PhraseGrammar
from spectral_latent.constituency.options import ConstituencyOptions
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.constituency.presets import preset
from spectral_latent.constituency.spans import SpanExamples, SpanModel, SpanOptions
from spectral_latent.constituency.subtrees import SubtreeGrammar
from spectral_latent.constituency.training import learnt_without, prepare
from spectral_latent.drawing import Html
from spectral_latent.estimation import Listener, Progress, silent
from spectral_latent.grammar import (
    Limits,
    NextWords,
    Parses,
    Prefixes,
    SentenceChart,
    SentenceGrammar,
    Surprisal,
    Unit,
    check_kind,
    check_n_best,
    check_words,
    entropies,
)
from spectral_latent.grammar.batches import map_sentences
from spectral_latent.inference import Weight, best_analyses
from spectral_latent.inspection import NamedOperators
from spectral_latent.operators import StoredModel
from spectral_latent.tokenisation import Tokenisation
from spectral_latent.trees import BoolArray, FloatArray, IntArray, Vocabulary

__all__ = ["FALLBACK", "ConstituencyModel", "Parse"]

_ANY_TREE = Constraints()
_REQUIRED = 1e3  # the gain of a constituent that constraints require, far above what all others may gain
FALLBACK = "FALLBACK"  # the label over a flat tree for a sentence that the grammar cannot derive


class Parse(NamedTuple):
    """A tree for a sentence, and its estimated probability p̂.

    tree: the tree.
    sign: the sign of p̂, which may be negative; 0 for a fallback.
    log: log |p̂|; -inf where the sign is 0.
    is_fallback: whether no grammar derives the sentence, so that the tree is flat.
    """

    tree: Phrase
    sign: int
    log: float
    is_fallback: bool = False

    def _repr_svg_(self) -> str:
        """Draw the tree, for notebooks."""
        return self.tree._repr_svg_()


@dataclass(frozen=True, eq=False, repr=False)
class ConstituencyModel(StoredModel):
    """A parser made of one or more latent PCFGs, whose posteriors of constituents are averaged.

    members: the grammars; all have the same options of decoding.
    spans: the model that weighs the constituents that the grammars find; None for their posteriors as they are.
    functions: the labeller that adds function labels to trees; None for trees without.  Probabilities and posteriors
    are those of trees without.

    >>> def leaf(tag, word): return Phrase(tag, (word,))
    >>> trees = [Phrase("S", (leaf("NNS", noun), leaf("VBP", verb)))
    ...     for noun in ("cats", "dogs") for verb in ("bark", "sleep")]
    >>> model = ConstituencyModel.train(trees)
    >>> print(model.parse(["mice", "sleep"]).tree.bracketed())
    (S (NNS mice) (VBP sleep))
    """

    kind: ClassVar[str] = "constituency"

    members: tuple[PhraseGrammar, ...]
    spans: SpanModel | None = None
    functions: FunctionLabeller | None = None

    @property
    def sizes(self) -> str:
        """The sizes of the model."""
        several = f"{len(self.members)} grammars, the first with " if len(self.members) > 1 else ""
        labeller = "" if self.functions is None else f"; of function labels: {self.functions.grammar.sizes}"
        return f"{several}{self.members[0].sizes}{labeller}"

    def __post_init__(self) -> None:
        _check_together([member.options for member in self.members])

    @staticmethod
    def train(
        phrases: Iterable[Phrase],
        options: ConstituencyOptions | Sequence[ConstituencyOptions] | None = None,
        *,
        weights: Iterable[float] | None = None,
        jobs: int | None = 1,
        listener: Listener = silent,
    ) -> ConstituencyModel:
        """Learn from treebank trees.

        A large treebank is kept in temporary files, which all workers must be able to read.

        phrases: the trees, which are read once and cleaned first; for a model of spans they are kept in memory.
        options: the options of one grammar, or of each of several with the same `span_penalty`, `spans` and
        `function_labels`; None for those of the preset `fast` (see `presets`).  Function labels are learnt by a grammar
        more, with the first options.
        weights: for each tree how many it stands for, a number of at least 0; 1 if not given.
        jobs: the number of threads; None for all workers of the engine that `joblib.parallel_config` names.  If it
        names a cluster, such as Dask, the cluster takes part for any number.  The result does not depend on it.
        listener: told how far the work is.
        Raises EstimationError if a tree has no word, or there is no tree; ValueError if there are no options, or if the
        span penalties, the models of spans or the `function_labels` of several grammars differ.
        """
        options = preset("fast") if options is None else options
        several = [options] if isinstance(options, ConstituencyOptions) else list(options)
        _check_together(several)
        options_of_spans = several[0].spans
        labelling = several[:1] if several[0].function_labels else []
        several = [replace(settings, function_labels=False) for settings in several]
        if options_of_spans is not None:  # the trees are read again, fold by fold
            phrases = list(phrases)
            weights = None if weights is None else list(weights)
        grammars = _grammars(phrases, weights, [*several, *labelling], jobs, listener)
        spans = None
        if options_of_spans is not None:
            times = repeat(1.0) if weights is None else weights
            weighted = [(tree, weight) for tree, weight in zip(phrases, times, strict=False) if weight > 0.0]
            examples = _held_out_examples(weighted, grammars[: len(several)], options_of_spans, jobs, listener)
            spans = SpanModel.train(examples, options_of_spans)
        return ConstituencyModel(grammars[: len(several)], spans, _labeller(grammars[len(several) :]))

    def with_limits(self, limits: Limits) -> ConstituencyModel:
        """Replace the limits of what a sentence may cost under each grammar.

        limits: the other limits.

        >>> from spectral_latent.corpora.embedded import embedded_treebank
        >>> from spectral_latent.grammar import Limits
        >>> model = ConstituencyModel.train(embedded_treebank(20)).with_limits(Limits(max_words=500))
        >>> model.options.limits
        Limits(max_words=500)
        """
        members = tuple(member.with_limits(limits) for member in self.members)
        functions = self.functions and FunctionLabeller(self.functions.grammar.with_limits(limits))
        return replace(self, members=members, functions=functions)

    @property
    def options(self) -> ConstituencyOptions:
        """The options of the first grammar."""
        return self.members[0].options

    @cached_property
    def tokenisation(self) -> Tokenisation:
        """The way to divide raw text into sentences and words."""
        return Tokenisation(frozenset(self.members[0].grammar.lexicon.words))

    @cached_property
    def _chains(self) -> tuple[list[tuple[str, ...]], list[IntArray]]:
        """List the chains of all members; and, for each member, the numbers of its own chains among them."""
        chains = Vocabulary(chain for member in self.members for chain in member.chains)
        return chains.names, [chains.numbers(member.chains) for member in self.members]

    @cached_property
    def _labels(self) -> ChainLabels:
        return ChainLabels(self._chains[0])

    def _charts(self, words: Sequence[str], constraints: Constraints = _ANY_TREE) -> list[SentenceChart]:
        """Build each grammar's pruned chart of a sentence.

        Raises ValueError if the sentence is empty, or if the constraints do not fit the sentence and the grammars.
        """
        if constraints == _ANY_TREE:
            return [member.grammar.chart(words) for member in self.members]
        check_words(words)
        constraints = self.checked(words, constraints)
        charts = []
        for member in self.members:
            names = [constraints.tags.get(word, "") for word in range(len(words))]
            permits = constraints.permits(len(words), member.symbols)
            charts.append(member.grammar.chart(words, Vocabulary(member.grammar.tags).numbers(names), permits))
        return charts

    def checked(self, words: Sequence[str], constraints: Constraints) -> Constraints:
        """Check constraints, and take the tags out of their brackets.

        words: the words of the sentence.
        constraints: the trees that the sentence may have.

        Raises TypeError for constraints on dependency trees, and ValueError for those that do not fit the sentence and
        the grammars.
        """
        check_kind(constraints, Constraints)
        tags = frozenset(tag for member in self.members for tag in member.grammar.tags)
        labels = frozenset(label for chain in self._chains[0] for label in chain)
        constraints = constraints.with_tags_apart(tags)
        constraints.check(len(words), labels - tags, tags)
        return constraints

    def _constituents(self, charts: Sequence[SentenceChart]) -> Constituents | None:
        """Average the posteriors of those grammars that derive the sentence; None if none does."""
        parts = []
        for member, chart, number in zip(self.members, charts, self._chains[1], strict=True):
            constituents = member.constituents(chart)
            if constituents is not None:
                parts.append(constituents._replace(chain=number[constituents.chain]))
        return Constituents.mean(parts) if parts else None

    def _labelled(self, constituents: Constituents, words: Sequence[str]) -> LabelledConstituents:
        """Find the posteriors of labelled constituents: those that the model of spans gives, if there is one."""
        parts = self._labels.split(constituents)
        if self.spans is None:
            return parts
        return parts._replace(posterior=self.spans.probabilities(parts, self._labels.names, words))

    def posteriors(self, words: Sequence[str]) -> dict[Constituent, float]:
        """Compute the posterior of each labelled constituent that a sentence may have, tags included.

        The signs are those that the options ask for.  There are no constituents if no grammar derives the sentence.
        A model of spans judges each constituent alone, so that its posteriors of the tags of a word need not sum to 1.

        words: the words of the sentence.
        Raises ValueError if there is no word.
        """
        constituents = self._constituents(self._charts(words))
        if constituents is None:
            return {}
        parts = self._labelled(constituents, words)
        return dict(zip(parts.named(self._labels.names), parts.posterior.tolist(), strict=True))

    def draw_posteriors(self, words: Sequence[str]) -> Html:
        """Draw the posteriors of phrases as a table, from the word of the row to the word of the column.

        Of the labels that a span may have, the likeliest is shown.

        words: the words of the sentence.
        Raises ValueError if there is no word.
        """
        return spans_html(words, self.posteriors(words))

    def part_posteriors(self, trees: Iterable[Phrase]) -> list[FloatArray]:
        """Compute the posteriors of the labelled constituents of trees, tags included: one array for each tree.

        trees: several trees of one sentence, which are cleaned as by `score`.  If their words differ after cleaning,
        the posteriors of a tree are those of its own words.
        Raises EstimationError if a tree has no word.
        """
        posteriors_of: dict[tuple[str, ...], dict[Constituent, float]] = {}
        rows = []
        for tree in cleaned(trees):
            words = tuple(tree.words())
            if words not in posteriors_of:
                posteriors_of[words] = self.posteriors(words)
            rows.append(np.array([posteriors_of[words].get(part, 0.0) for part in constituents_of(tree)]))
        return rows

    def log_probabilities(self, sentences: Iterable[Sequence[str]]) -> FloatArray:
        """Compute the natural logarithms (T,) of the estimated probabilities of sentences: the mean over the grammars.

        A grammar sums over the trees in its pruned chart, which its rules make.  The logarithm is -inf if no grammar
        derives the sentence, or if the estimate is not above zero, which is possible for spectral models.  A word that
        was never seen is replaced by its signature.

        sentences: the words of each sentence.
        Raises ValueError if a sentence has no word.
        """
        charts = (self._charts(words) for words in sentences)
        logs = [Weight.mean([chart.weight() for chart in several]).log_if_positive for several in charts]
        return np.concatenate([np.zeros(0), *logs])

    def surprisal(self, words: Sequence[str], unit: Unit = "bits") -> Surprisal:
        """Compute the surprisal of each word after the words before it, and its lexical and syntactic parts.

        The probabilities of several grammars are averaged.  A word that was never seen is as surprising as its
        signature, with the probabilities of tags that its spelling gives.

        words: the words of the sentence.
        unit: the unit of surprisal, "bits" or "nats".
        Raises ValueError if there is no word, for another unit, and for a grammar whose estimates may be negative.

        >>> def tree(noun, verb): return Phrase("S", (Phrase("NNS", (noun,)), Phrase("VBP", (verb,))))
        >>> trees = [tree(noun, verb) for noun in ("cats", "dogs") for verb in ("bark", "sleep")]
        >>> model = ConstituencyModel.train(trees * 100)
        >>> model.surprisal(["cats", "sleep"]).total.round(1)
        array([1., 1.])
        """
        return Prefixes.mean([member.grammar.prefixes(words) for member in self.members]).surprisal(unit)

    def entropy(self, words: Sequence[str], unit: Unit = "bits") -> FloatArray:
        """Compute the entropy (n + 1,) of what may follow each prefix of a sentence of n words: a word, or the end.

        Words that were never seen count as one word for each signature.  Several grammars are averaged.

        words: the words of the sentence.
        unit: the unit of entropy, "bits" or "nats".
        Raises ValueError if there is no word, for another unit, and for a grammar whose estimates may be negative.

        >>> def tree(noun, verb): return Phrase("S", (Phrase("NNS", (noun,)), Phrase("VBP", (verb,))))
        >>> trees = [tree(noun, verb) for noun in ("cats", "dogs") for verb in ("bark", "sleep")]
        >>> ConstituencyModel.train(trees * 100).entropy(["cats", "sleep"]).round(1)
        array([1.1, 1.2, 0. ])
        """
        following = [member.grammar.next_words(words) for member in self.members]
        return entropies(NextWords.mean(following).following, unit)

    def parse(self, words: Sequence[str], *, constraints: Constraints = _ANY_TREE) -> Parse:
        """Find the tree with the largest gain; see `decoding`.

        words: the words of the sentence.
        constraints: the trees that the sentence may have.
        Raises ValueError if there is no word, or if the constraints do not fit the sentence and the grammars.

        >>> from spectral_latent.corpora.embedded import embedded_treebank
        >>> model = ConstituencyModel.train(embedded_treebank(60))
        >>> words = "the dog saw a cat in the garden".split()
        >>> model.parse(words, constraints=Constraints([(3, 8, "NP")])).tree.bracketed().count("(NP")
        4
        """
        return self.parse_nbest(words, 1, constraints=constraints)[0]

    def parse_nbest(
        self,
        words: Sequence[str],
        n_best: int,
        *,
        constraints: Constraints = _ANY_TREE,
        charts: Sequence[SentenceChart] | None = None,
    ) -> Parses[Parse]:
        """Find up to `n_best` different trees of a sentence, by falling gain.

        Constituents are combined freely, even if no grammar has all of them in one tree.  A sentence that no grammar
        derives, under the constraints, gets the `FALLBACK`, a tree that is flat but for the brackets that they require.

        words: the words of the sentence.
        n_best: the most trees to find.
        constraints: the trees that the sentence may have; p̂ of a tree does not depend on them.
        charts: the charts of the sentence under each grammar and the constraints; None to build them.
        Raises ValueError if there is no word, if n_best < 1, or if the constraints do not fit the sentence and the
        grammars.
        """
        check_n_best(n_best)
        if charts is None:
            charts = self._charts(words, constraints)
        constituents = self._constituents(charts)
        if constituents is None:
            return Parses([self._fallback(words, charts[0].grammar, constraints)])
        gain = self._labelled(constituents, words).gains(self.options.span_penalty)
        gain += _REQUIRED * self._is_required(constituents, constraints)
        trees = self._put_together(constituents, gain, words, n_best)
        parses = self._scored([tree for tree in trees if _obeys(tree, constraints)], charts)
        if not parses:
            return Parses([self._fallback(words, charts[0].grammar, constraints)])
        if self.functions is None:
            return Parses(parses)
        labelled = self.functions.label([parse.tree for parse in parses], words, constituents)
        return Parses(parse._replace(tree=tree) for parse, tree in zip(parses, labelled, strict=True))

    def parse_all(
        self, sentences: Iterable[Sequence[str] | PartialTree], n_best: int = 1, *, jobs: int | None = 1
    ) -> Iterator[Parses[Parse]]:
        """Find up to `n_best` trees of each sentence, in order, as `parse_nbest` does; an empty sentence has none.

        sentences: the words of each sentence, or what is known of its tree.
        n_best: the most trees of a sentence.
        jobs: the number of processes; see `spectral_latent.grammar.batches.map_sentences`.
        Raises ValueError, before a sentence is read, if n_best < 1.
        """
        check_n_best(n_best)
        return map_sentences(_parses_of, self, sentences, jobs, n_best)

    def parse_text(self, text: str, n_best: int = 1, *, jobs: int | None = 1) -> Iterator[Parses[Parse]]:
        """Find up to `n_best` trees of each sentence of a raw text, in order.

        text: the text, which `tokenisation` divides into sentences and words.
        n_best: the most trees of a sentence.
        jobs: the number of processes; see `spectral_latent.grammar.batches.map_sentences`.
        Raises ValueError, before a sentence is parsed, if n_best < 1.
        """
        sentences = self.tokenisation.sentences(text)
        return self.parse_all(([token.word for token in tokens] for tokens in sentences), n_best, jobs=jobs)

    def _scored(self, trees: Sequence[Phrase], charts: Sequence[SentenceChart]) -> list[Parse]:
        """Add their estimated probabilities to trees."""
        pairs = zip(self.members, charts, strict=True)
        weight = Weight.mean([member.score(trees, chart.grammar) for member, chart in pairs])
        return [Parse(*parse) for parse in zip(trees, weight.sign.tolist(), weight.log.tolist(), strict=True)]

    def _is_required(self, constituents: Constituents, constraints: Constraints) -> BoolArray:
        """Tell which constituents (K,) constraints require; several chains over a span may have the same label."""
        required = np.zeros(len(constituents.chain), dtype=np.bool_)
        for bracket in constraints.required:
            fits = [bracket.label is None or bracket.label in chain for chain in self._chains[0]]
            is_over = (constituents.first == bracket.first) & (constituents.end == bracket.end)
            required |= is_over & np.array(fits)[constituents.chain]
        return required

    def _put_together(
        self, constituents: Constituents, gain: FloatArray, words: Sequence[str], n_best: int
    ) -> list[Phrase]:
        """Find the trees with the largest gains that K constituents of any grammars make up; gain: (K,)."""
        if n_best == 1:  # the best tree has no other constituents but those that it needs
            width = constituents.end - constituents.first
            keep = (gain > 0.0) | (width == len(words)) | (width == 1)
            constituents = Constituents(*(column[keep] for column in constituents))
            gain = gain[keep]
        return best_analyses(bracketings(constituents, gain, self._chains[0], words), n_best)

    def _fallback(self, words: Sequence[str], grammar: SentenceGrammar, constraints: Constraints) -> Parse:
        """Make a tree with the label FALLBACK over what constraints require and each word's most frequent tag."""
        leaves = [Phrase(tag, (word,)) for tag, word in zip(self.members[0].tags(grammar), words, strict=True)]
        tree = self.checked(words, constraints).alone(leaves, FALLBACK)
        return Parse(tree, 0, -np.inf, is_fallback=True)

    def score(self, phrases: Iterable[Phrase]) -> Weight:
        """Estimate the probabilities p̂ of trees with their words, as sign and log: the mean over the grammars.

        A phrase may have any children, though those that rules allow are likelier; see `rows`.  A tree with a label or
        a chain of labels that was never seen has p̂ = 0, and so has one with a frequent word that never had its tag.  A
        word that was never seen is replaced by its signature, with the probabilities of tags that its spelling gives.

        phrases: the trees, which are cleaned as for training.
        Raises EstimationError if a tree has no word.
        """
        trees = list(cleaned(phrases))
        return Weight.mean([member.score(trees) for member in self.members])

    @cached_property
    def _subtree_grammars(self) -> list[SubtreeGrammar]:
        return [SubtreeGrammar.of(member) for member in self.members]

    def subtree_log_probabilities(self, tree: Phrase) -> FloatArray:
        """Compute the natural logarithms (n,) of the probabilities of the n subtrees of a tree, each given its label.

        The probability is a mean over all places where a phrase with this label may stand, and over the grammars; see
        `subtrees`.  The subtrees are those of the phrases of `tree.nodes()`, in the same order.

        tree: a tree such as those of parses, without traces; function labels are left out.
        Raises ValueError for a model whose estimates are not probabilities.

        >>> trees = [Phrase("S", (Phrase("NN", (noun,)), Phrase("VB", ("bark",)))) for noun in ("dogs", "cats")]
        >>> model = ConstituencyModel.train(trees * 500)
        >>> np.exp(model.subtree_log_probabilities(trees[0])).round(1)
        array([0.5, 0.5, 1. ])
        """
        plain = without_functions(tree)
        return np.asarray(Weight.mean([grammar.weights(plain) for grammar in self._subtree_grammars]).log)

    @property
    def named_operators(self) -> NamedOperators:
        """The operators of the first grammar, with the names of its symbols and words; see `inspection`."""
        grammar = self.members[0].grammar
        names = [symbol.name for symbol in self.members[0].symbols]
        return NamedOperators(grammar.operators, names, grammar.lexicon.terminal_names, grammar.coarse)

    @property
    def description(self) -> dict[str, Any]:
        """The facts about the model: its labels, its tags, and the options and the objective of each grammar."""
        tags = self.members[0].grammar.tags
        labels = {label for chain in self.members[0].chains for label in chain} - {*tags}
        facts: dict[str, Any] = {"labels": sorted(labels), "tags": sorted(tags)}
        if self.functions is not None:
            facts["function_labels"] = self.functions.names
        facts["options"] = [asdict(member.options) for member in self.members]
        objectives = [[round(value, 2) for value in member.grammar.objective] for member in self.members]
        if any(objectives):
            facts["objective"] = objectives
        return super().description | facts

    def contents(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Collect the arrays and the settings of the model's file."""
        grammars = list(self.members) if self.functions is None else [*self.members, self.functions.grammar]
        arrays = {
            f"{at}.{name}": array
            for at, grammar in enumerate(grammars)
            for name, array in grammar.grammar.arrays().items()
        }
        if self.spans is not None:
            arrays |= self.spans.arrays()
        return arrays, {"members": [grammar.settings() for grammar in grammars]}

    @staticmethod
    def from_arrays(arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> ConstituencyModel:
        """Make a model of the contents of its file.

        arrays: the arrays of the file by name.
        settings: the settings of the file.
        """
        grammars = []
        for at, of_grammar in enumerate(settings["members"]):
            prefix = f"{at}."
            named = {name.removeprefix(prefix): x for name, x in arrays.items() if name.startswith(prefix)}
            grammars.append(PhraseGrammar.from_arrays(named, of_grammar))
        members = tuple(grammar for grammar in grammars if not grammar.options.function_labels)
        labelling = [grammar for grammar in grammars if grammar.options.function_labels]
        if [*members, *labelling] != grammars or len(labelling) > 1:
            raise ValueError("a grammar of function labels stands alone, and after the others")
        spans = SpanModel.from_arrays(arrays, members[0].options.spans)
        return ConstituencyModel(members, spans, _labeller(labelling))


def _labeller(grammars: Sequence[PhraseGrammar]) -> FunctionLabeller | None:
    """Make a labeller of the grammar with function labels, if there is one."""
    return FunctionLabeller(grammars[0]) if grammars else None


def _grammars(
    phrases: Iterable[Phrase],
    weights: Iterable[float] | None,
    options: Sequence[ConstituencyOptions],
    jobs: int | None,
    listener: Listener,
) -> tuple[PhraseGrammar, ...]:
    """Learn a grammar for each of several options."""
    grammars = []
    for number, training in enumerate(prepare(phrases, options, weights=weights, jobs=jobs), start=1):
        of_all = f"grammar {number} of {len(options)}, " if len(options) > 1 else ""
        grammars.append(training.estimate(jobs=jobs, listener=partial(_tell, listener, of_all)))
    return tuple(grammars)


def _held_out_examples(
    weighted: Sequence[tuple[Phrase, float]],
    grammars: Sequence[PhraseGrammar],
    options: SpanOptions,
    jobs: int | None,
    listener: Listener,
) -> list[SpanExamples]:
    """List what grammars find in the sentence of each tree, if they are learnt without the trees of its fold.

    Tree i is in fold i modulo the number of folds.  With one fold there are no examples, because nothing is left.

    weighted: trees and how many each stands for, more than 0.
    grammars: the grammars of all trees.
    options: the settings of the model of spans.
    """
    folds = min(options.folds, len(weighted))
    alone = [replace(grammar.options, spans=None) for grammar in grammars]
    examples: list[SpanExamples] = []
    for fold in range(folds if folds > 1 else 0):
        listener(Progress("folds", fold, folds))
        rest = [pair for at, pair in enumerate(weighted) if at % folds != fold]
        trees, weights = zip(*rest, strict=True)
        trainings = prepare(trees, alone, weights=weights, jobs=jobs)
        if options.anew:
            members = [training.estimate(jobs=jobs) for training in trainings]
        else:
            pairs = zip(grammars, trainings, strict=True)
            members = [learnt_without(whole, training, jobs) for whole, training in pairs]
        model = ConstituencyModel(tuple(members))
        held_out, weights = zip(*weighted[fold::folds], strict=True)
        found = map_sentences(_examples_of, model, cleaned(held_out), jobs)
        examples += (each.weighted(weight) for each, weight in zip(found, weights, strict=True) if each is not None)
    return examples


def _examples_of(model: ConstituencyModel, tree: Phrase) -> SpanExamples | None:
    """List the constituents that grammars find in the sentence of a cleaned tree; None if they do not derive it."""
    words = list(tree.words())
    constituents = model._constituents(model._charts(words))
    if constituents is None:
        return None
    parts = model._labels.split(constituents)
    in_tree = set(constituents_of(tree))
    correct = np.array([part in in_tree for part in parts.named(model._labels.names)])
    return SpanExamples.of(parts, model._labels.names, words, correct)


def _tell(listener: Listener, prefix: str, progress: Progress) -> None:
    """Tell a listener the step of one of several grammars.

    listener: the listener.
    prefix: is put before the name of the stage.
    progress: the step.
    """
    listener(progress._replace(stage=prefix + progress.stage))


def _parses_of(model: ConstituencyModel, sentence: Sequence[str] | PartialTree, n_best: int) -> Parses[Parse]:
    """Find the trees of one of many sentences."""
    words, constraints = sentence if isinstance(sentence, PartialTree) else (sentence, _ANY_TREE)
    return model.parse_nbest(words, n_best, constraints=constraints) if words else Parses()


def _check_together(options: Sequence[ConstituencyOptions]) -> None:
    """Raise ValueError unless grammars with these options can make one model."""
    if not options:
        raise ValueError("the options are empty; a parser needs those of at least one grammar")
    penalties = sorted({settings.span_penalty for settings in options})
    if len(penalties) > 1:
        low, *_, high = penalties
        raise ValueError(f"the grammars of one parser must have the same span_penalty, not {low} and {high}")
    first, *others = list(dict.fromkeys(settings.spans for settings in options))
    if others:
        raise ValueError(f"the grammars of one parser must have the same spans, not {first} and {others[0]}")
    if len({settings.function_labels for settings in options}) > 1:
        raise ValueError("the grammars of one parser must have the same function_labels, not True and False")


def _obeys(tree: Phrase, constraints: Constraints) -> bool:
    """Tell whether a tree has all constituents that constraints require."""
    if not constraints.brackets:
        return True
    found = {(part.first, part.end, label) for part in constituents_of(tree) for label in (part.label, None)}
    return all(tuple(bracket) in found for bracket in constraints.required)
