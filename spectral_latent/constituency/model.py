"""Parse phrases with one latent PCFG, or with the averaged posteriors of several.

Sentences are parsed in batches.  To save time, these steps are done for all sentences of a batch at once: the lookup of
words, the passes over charts, the average over grammars, and the probabilities of trees.

Self-training (`self_train`) only helps if a second model judges the trees, so that they are better than the trees of
the grammars alone: a reranker (McClosky, Charniak and Johnson 2006), or here the model of spans.  Both learn from the
treebank alone.  The second parser keeps the model of spans.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, groupby
from typing import Annotated, Any, ClassVar, cast

import numpy as np

from spectral_latent._options import AtLeast, checked, counted
from spectral_latent.constituency.agreement import Agreement
from spectral_latent.constituency.belief import believe
from spectral_latent.constituency.cleaning import Changes, cleaned
from spectral_latent.constituency.constraints import ANY_TREE, PartialPhrase, PhraseConstraints, unknown_phrase
from spectral_latent.constituency.decoding import PhraseForest, build_bracketings
from spectral_latent.constituency.forests import PhraseColumns
from spectral_latent.constituency.functions import FunctionLabeller, relabelled
from spectral_latent.constituency.grammar import PhraseEvidence, PhraseGrammar, PhraseItems
from spectral_latent.constituency.options import ConstituencyOptions, SpanOptions, check_together, preset
from spectral_latent.constituency.spans import SpanModel, span_choices
from spectral_latent.constituency.training import prepare
from spectral_latent.constituency.tree import ChainLabels, Constituent, FlatPhrases, Phrase, list_constituents
from spectral_latent.estimation import Listener, Progress, silent
from spectral_latent.grammar import Charts, Limits, SentenceGrammar
from spectral_latent.grammar.parser import Parser, estimate_all, held_out_choices
from spectral_latent.inference import SignedLog
from spectral_latent.inference.decoding import trusted_derivations
from spectral_latent.lexicon.choices import Choices
from spectral_latent.model import (
    Parse,
    Parses,
    Partial,
    check_kind,
    check_sentences,
    check_trees,
    check_words,
    complete,
)
from spectral_latent.model.batches import batches_of, map_batches
from spectral_latent.model.parts import Judge, Parts, average
from spectral_latent.trees import BoolArray, FloatArray, IntArray, Vocabulary

__all__ = ["FALLBACK", "ConstituencyModel", "group_by_words", "self_train"]

FALLBACK = "FALLBACK"
"""The label of the flat tree of a sentence that no grammar derives."""

_REQUIRED = 1e3  # the additional gain of a required constituent, far above the sum of all other gains
_UNLIKELY = 5e-3  # the posterior of given constituents that the charts lack


class ParsesOfBatch(list[Parses[Phrase]]):
    """The parses of several sentences, whose pickle has each phrase once."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the trees of all sentences together."""
        flat = FlatPhrases.of([parse.tree for parses in self for parse in parses])
        return _parses_of_batch, (flat, [[tuple(parse[1:]) for parse in parses] for parses in self])


def _parses_of_batch(flat: FlatPhrases, rest: list[list[tuple[Any, ...]]]) -> ParsesOfBatch:
    """Make parses from flat trees and the other fields of each parse."""
    trees = iter(flat.trees())
    return ParsesOfBatch(Parses(Parse(next(trees), *each) for each in of_sentence) for of_sentence in rest)


def group_by_words(trees: Iterable[Phrase]) -> list[list[Phrase]]:
    """Divide trees into lists: a list holds trees that follow one another and have the same words."""
    return [list(of_sentence) for _, of_sentence in groupby(trees, key=lambda tree: tuple(tree.words()))]


def _obeys(tree: Phrase, constraints: PhraseConstraints) -> bool:
    """Tell whether a tree has all constituents that constraints require."""
    if not constraints.brackets:
        return True
    labelled_spans = {(part.first, part.end, label) for part in list_constituents(tree) for label in (part.label, None)}
    return all(tuple(bracket) in labelled_spans for bracket in constraints.required)


def _with_tags(tree: Phrase, sentence: PartialPhrase) -> Phrase:
    """Give words their known tags, where no rules allow them and a tree has others; the same tree if it has none."""
    words, known = sentence
    if not known.tags:
        return tree
    tags = (part for part in list_constituents(tree) if part.is_tag)
    wrong = {tag: known.tags[tag.first] for tag in tags if known.tags.get(tag.first, tag.label) != tag.label}
    return relabelled(tree, wrong, words) if wrong else tree


@dataclass(frozen=True, eq=False, repr=False)
class ConstituencyModel(Parser[PhraseGrammar, Sequence[str], PhraseConstraints, Phrase]):
    """A parser made of one or more latent PCFGs, whose posteriors of constituents are averaged.

    members: the grammars; all have the same `span_penalty`, `spans` and `function_labels`; others may differ.
    spans: the model that weighs the constituents that the grammars find, if their options ask for one; otherwise None,
    for their posteriors as they are.
    functions: the labeller that adds function labels to trees; None for trees without function labels.  Probabilities
    and posteriors are those of trees without function labels.

    Known tags, as constraints, are those of every tree: if no rules allow them all, the phrases are those of a tree in
    which some words have other tags.

    `score` cleans trees as training does.  A phrase may have any children, but children that rules allow are likelier;
    see `grammar`.  A tree has p̂ = 0 if a label or a chain of labels was never seen, or if a frequent word never had its
    tag.  `log_probabilities` is a lower bound: it sums over the derivations in pruned charts, which lack the rules of
    rows; it is -inf if some word must have a tag that it never had.  A word that was never seen is replaced by its
    signature, with the probabilities of tags that follow from its spelling.

    >>> def leaf(tag, word): return Phrase(tag, (word,))
    >>> trees = [Phrase("S", (leaf("NNS", noun), leaf("VBP", verb)))
    ...     for noun in ("cats", "dogs") for verb in ("bark", "sleep")]
    >>> model = ConstituencyModel.train(trees)
    >>> print(model.parse(["mice", "sleep"]).tree.bracketed())
    (S (NNS mice) (VBP sleep))
    """

    kind: ClassVar[str] = "constituency"
    any_tree = ANY_TREE

    members: tuple[PhraseGrammar, ...]
    spans: SpanModel | None = None
    functions: FunctionLabeller | None = None

    @property
    def sizes(self) -> str:
        """The number of grammars, and the sizes of the first one."""
        labeller = "" if self.functions is None else f"; of function labels: {self.functions.grammar.sizes}"
        return f"{super().sizes}{labeller}"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_together([member.options for member in self.members])
        if (self.spans is None) != (self.options.spans is None):
            raise ValueError("a parser has a model of spans if its options have `spans`, and only then")
        labelling = () if self.functions is None else (self.functions.grammar,)
        if self.options.function_labels or not all(grammar.options.function_labels for grammar in labelling):
            raise ValueError("one grammar labels functions, and no grammar that parses does")

    @staticmethod
    def train(
        phrases: Iterable[Phrase],
        options: ConstituencyOptions | Sequence[ConstituencyOptions] | None = None,
        *,
        weights: Iterable[float] | None = None,
        spans: SpanModel | None = None,
        jobs: int | None = 1,
        listener: Listener = silent,
        changes: Changes | None = None,
    ) -> ConstituencyModel:
        """Learn from treebank trees.

        A large treebank is kept in temporary files, which all workers must be able to read.

        phrases: the trees, which are read once and cleaned first; to learn a model of spans they are kept in memory.
        options: the options of one grammar, or of each of several with the same `span_penalty`, `spans` and
        `function_labels`; None for those of the preset `fast` (see `presets`).  Function labels are learnt by one more
        grammar, with the first options.
        weights: the weight of each tree, at least 0: it counts as so many trees; 1 if not given.
        spans: the model of spans of another parser, in place of the one that `options` ask for; None to learn that one.
        jobs: the number of threads, and of processes that parse where a model of spans is learnt; None for all workers
        of the engine that `joblib.parallel_config` names.  If it names a cluster, such as Dask, the cluster takes part
        for any number.  The result does not depend on it.
        listener: told how far the work is.
        changes: the counts to which the cleaning adds what it removes and cuts; None to count nothing.
        Raises EstimationError if a tree has no word, or there is no tree; ValueError if there are no options, or if the
        span penalties, the models of spans or the `function_labels` of several grammars differ.
        """
        options = preset("fast") if options is None else options
        several = list(options) if isinstance(options, Iterable) else [options]
        check_together(several)
        if spans is not None and several[0].spans is None:
            raise ValueError("the options have no `spans`; a model of spans is used with the settings that they have")
        to_learn = several[0].spans if spans is None else None
        labelling = several[:1] if several[0].function_labels else []
        several = [replace(settings, function_labels=False) for settings in several]
        if to_learn is not None:  # the trees are read again, fold by fold
            phrases = list(phrases)
            weights = None if weights is None else list(weights)
        trainings = prepare(phrases, [*several, *labelling], weights=weights, jobs=jobs, changes=changes)
        grammars = estimate_all(trainings, jobs, listener)
        del trainings  # free the memory while the folds are read
        members = grammars[: len(several)]
        if to_learn is not None:
            spans = _learn_spans(phrases, weights, members, to_learn, jobs, listener)
        return ConstituencyModel(members, spans, FunctionLabeller(grammars[-1]) if labelling else None)

    def with_limits(self, limits: Limits) -> ConstituencyModel:
        """Replace the limits of the cost of a sentence under each grammar.

        limits: the new limits.
        """
        functions = self.functions and FunctionLabeller(self.functions.grammar.with_limits(limits))
        return replace(super().with_limits(limits), functions=functions)

    def posteriors(self, words: Sequence[str] | PartialPhrase) -> dict[Constituent, float]:
        """Compute the posterior of each labelled constituent that a sentence may have, tags included.

        Posteriors have the signs that the options ask for.  There are no constituents if no grammar derives the
        sentence.  A model of spans replaces the posteriors by its judgements, after they were made to agree
        (`agreement`); the judgements of the tags of a word need not sum to 1.

        Raises ValueError if there is no word.
        """
        given = self._input(words)
        _, parts = self.find_parts(self.charts([given]), given.sentence)
        return dict(zip(self.labels.named(parts), parts.posterior.tolist(), strict=True))

    def part_posteriors(self, trees: Iterable[Phrase]) -> list[FloatArray]:
        """Compute the posteriors of the labelled constituents of trees, tags included: one array for each tree.

        trees: several trees of one sentence, which are cleaned as in `score`.  If cleaning leaves different words, the
        posteriors of a tree are computed from its own words.
        Raises EstimationError if a tree has no word.
        """
        posteriors: list[FloatArray] = []
        for lists in batches_of(group_by_words(cleaned(check_trees(trees, Phrase)))):
            sentences = [unknown_phrase(tuple(trees_of[0].words())) for trees_of in lists]
            charts = self.charts(sentences)
            start = charts[0].grammar.start
            _, parts = self.find_parts(charts, list(chain.from_iterable(each.sentence for each in sentences)))
            posteriors += PhraseColumns.of(lists, start.tolist()).values(parts, self.labels, start)
        return posteriors

    @property
    def description(self) -> dict[str, Any]:
        """The facts about the model: its labels, its tags, and the options and the objective of each grammar."""
        tags = self.members[0].tags
        labels = {label for chain in self.members[0].chains for label in chain} - {*tags}
        facts: dict[str, Any] = {"labels": sorted(labels), "tags": sorted(tags)}
        if self.functions is not None:
            facts["function_labels"] = self.functions.names
        facts["options"] = [member.options.table() for member in self.members]
        objectives = [[round(value, 2) for value in member.objective] for member in self.members]
        if any(objectives):
            facts["objective"] = objectives
        return super().description | facts

    def _input(self, given: Sequence[str] | PartialPhrase) -> PartialPhrase:
        phrase = cast(PartialPhrase, given) if isinstance(given, Partial) else unknown_phrase(given)
        if not len(check_words(phrase.sentence)):
            raise ValueError("an empty sentence has no tree; leave it out")
        return phrase

    def _tags(self, given: PartialPhrase, grammar: PhraseGrammar) -> IntArray | None:
        known = self.checked(*given)
        if known.brackets or known.forbidden:
            raise ValueError("prefixes know nothing of brackets; give constraints on tags alone")
        return grammar.tag_numbers.numbers(known.tags.get(at, "") for at in range(len(given.sentence)))

    def _sentence(self, words: Sequence[str]) -> tuple[str, ...]:
        return tuple(words)

    @cached_property
    def _chains(self) -> tuple[list[tuple[str, ...]], list[IntArray]]:
        """List the chains of all members, and for each member the numbers of its own chains in this list."""
        chains = Vocabulary(chain for member in self.members for chain in member.chains)
        return chains.names, [chains.numbers(member.chains) for member in self.members]

    @cached_property
    def labels(self) -> ChainLabels:
        """The labels in the chains of all members."""
        return ChainLabels(self._chains[0])

    @property
    def tags(self) -> list[str]:
        """The tags of words that the grammars have."""
        return list(dict.fromkeys(tag for member in self.members for tag in member.tags))

    def _names(self) -> tuple[frozenset[str], frozenset[str]]:
        """List the labels of constituents and the tags of words."""
        tags = frozenset(self.tags)
        return frozenset(label for chain in self._chains[0] for label in chain) - tags, tags

    def known(self, constraints: PhraseConstraints) -> tuple[PhraseConstraints, list[str]]:
        """Leave out of constraints the tags that no grammar has, which `checked` refuses; also return these tags.

        A bracket over a single word with an unknown name counts as a tag.
        """
        check_kind(constraints, PhraseConstraints)
        return constraints.without_unknown(*self._names())

    def checked(self, words: Sequence[str], constraints: PhraseConstraints) -> PhraseConstraints:
        """Check constraints, and turn their brackets over tags into tags.

        constraints: the constraints on its tree.

        Raises TypeError for constraints on dependency trees, and ValueError for constraints that do not fit the
        sentence and the grammars.
        """
        check_kind(constraints, PhraseConstraints)
        if constraints == ANY_TREE:
            return constraints
        labels, tags = self._names()
        constraints = constraints.with_tags_apart(tags)
        constraints.check(len(words), labels, tags)
        return constraints

    def charts(self, sentences: Sequence[PartialPhrase]) -> list[Charts]:
        """Build each grammar's pruned charts of sentences.

        sentences: the sentences with their constraints.
        Raises ValueError if a sentence is empty, or if its constraints do not fit the sentence and the grammars.
        """
        known = [Partial(sentence.sentence, self.checked(*sentence)) for sentence in sentences]
        return [member.charts_of(known) for member in self.members]

    def _items(self, charts: Sequence[Charts]) -> list[PhraseItems]:
        """Compute the posteriors of the items of each grammar's charts; all grammars number the chains alike."""
        items_of_members = []
        for member, charts_of, number in zip(self.members, charts, self._chains[1], strict=True):
            items = member.items(charts_of)
            parts = items.parts._replace(label=np.append(number, -1)[items.parts.label])
            items_of_members.append(items._replace(parts=parts))
        return items_of_members

    @staticmethod
    def _average(items: Sequence[PhraseItems]) -> Parts:
        """Average the posteriors of constituents with chains over the grammars that derive their sentence.

        A sentence has no constituents if no grammar derives it.  A grammar does not derive a sentence if the weights of
        its derivations sum to 0.
        """
        n_grammars = np.sum([of_grammar.is_derived for of_grammar in items], axis=0)
        return average([of_grammar.constituents() for of_grammar in items], n_grammars)

    @property
    def judges(self) -> list[Judge[PhraseEvidence]]:
        """The judges of labelled constituents, in the order in which they judge."""
        options = self.options.spans
        if self.spans is None or options is None:
            return []
        return [self.spans, Agreement()] if options.step > 0.0 else [self.spans]

    def find_parts(
        self,
        charts: Sequence[Charts],
        words: Sequence[str],
        given: Sequence[Sequence[Constituent]] | None = None,
    ) -> tuple[PhraseEvidence, Parts]:
        """Find the constituents of sentences, and let the judges re-weigh those with single labels.

        charts: the charts of T sentences under each grammar.
        words: the words of all sentences.
        given: the constituents that someone gives for each sentence; those that the charts lack get a small posterior.
        """
        items = self._items(charts)
        chains = self._average(items)
        if given is not None:
            pairs = zip(chains, self._given_chains(given), strict=True)
            chains = Parts(*(np.concatenate(pair) for pair in pairs)).merge()
        labelled = self.labels.split(chains)
        start = charts[0].grammar.start
        evidence = PhraseEvidence(words, start, items, chains, self.labels, labelled, self.options.spans)
        parts = labelled.parts
        for judge in self.judges:
            parts = judge.judge(parts, evidence)
        return evidence, parts

    def span_examples(self, trees: Sequence[Phrase], options: SpanOptions) -> list[Choices]:
        """List the constituents that the grammars find in each tree's sentence; none if no grammar derives it.

        trees: cleaned trees, whose constituents are the correct ones.
        options: the settings of the model of spans.
        """
        chains = self._average(self._items(self.charts([unknown_phrase(tuple(tree.words())) for tree in trees])))
        examples = []
        for at, tree in enumerate(trees):
            parts = self.labels.split(chains.of_sentence(at)).parts
            in_tree = set(list_constituents(tree))
            correct = np.array([part in in_tree for part in self.labels.named(parts)], dtype=np.bool_)
            words = list(tree.words())
            judged = options.judged(parts)
            examples.append(span_choices(parts, self.labels, words, np.array([0, len(words)]), judged, correct))
        return examples

    def _parses(
        self,
        sentences: Sequence[PartialPhrase],
        n_best: int,
        *,
        charts: Sequence[Charts] | None = None,
        found: tuple[PhraseEvidence, Parts] | None = None,
        scored: bool = True,
        given: Sequence[Sequence[Constituent]] | None = None,
    ) -> ParsesOfBatch:
        """Find up to `n_best` different trees of each sentence, by falling gain.

        charts: the charts of the sentences under each grammar.
        found: what `find_parts` finds in them.
        scored: whether to weigh the trees.
        given: for each sentence the constituents that someone gives, which may be wrong (`belief`).
        """
        if charts is None:
            charts = self.charts(sentences)
        if len(charts) != len(self.members):
            raise ValueError(
                f"charts of {counted(len(charts), 'grammar')} for a parser of {len(self.members)}; give the charts of "
                f"each grammar"
            )
        for charts_of in charts:
            if len(charts_of.spans) != len(sentences):
                raise ValueError(
                    f"charts of {counted(len(charts_of.spans), 'sentence')} for {len(sentences)}; give the charts of "
                    f"each sentence"
                )
        grammars = [charts_of.grammar for charts_of in charts]
        words = list(chain.from_iterable(tree.sentence for tree in sentences))
        evidence, parts = found or self.find_parts(charts, words, given)
        if given is not None:
            parts = self._believed(parts, given)
        trees = self._bracketings(sentences, evidence, parts, n_best)
        derivations = trusted_derivations(trees.forest, trees.weight, n_best)
        columns = trees.columns(derivations)
        known = [sentence._replace(constraints=self.checked(*sentence)) for sentence in sentences]
        weight = SignedLog.unknown(len(derivations))
        if scored:
            of_words = grammars
            if any(sentence.constraints.tags for sentence in known):  # of which p̂ does not depend
                of_words = [member.for_sentences([sentence.sentence for sentence in known]) for member in self.members]
            weight = self._weight(columns, of_words)
        # Sort the trees by sentence, without trees that lack a required bracket.
        obedient: list[list[Parse[Phrase]]] = [[] for _ in sentences]
        weighed = map(Parse, columns.trees(trees.words), weight.sign.tolist(), weight.log.tolist())
        for at, parse in zip(trees.sentence[derivations.component].tolist(), weighed, strict=True):
            tree = _with_tags(parse.tree, known[at])
            if known[at].constraints.tags and any(tree == other.tree for other in obedient[at]):
                continue  # two trees that differ in tags which are known
            if tree is not parse.tree:
                own = self._weigh([tree]) if scored else SignedLog.unknown(1)
                parse = Parse(tree, int(own.sign[0]), float(own.log[0]))
            if _obeys(tree, known[at].constraints):
                obedient[at].append(parse)
        # Add function labels; a sentence without a tree gets the fallback.
        parses = ParsesOfBatch()
        for at, (sentence, of_sentence) in enumerate(zip(sentences, obedient, strict=True)):
            if of_sentence and self.functions is not None:
                plain = [parse.tree for parse in of_sentence]
                labelled = self.functions.label(plain, sentence.sentence, evidence.chains.of_sentence(at))
                of_sentence = [parse._replace(tree=tree) for parse, tree in zip(of_sentence, labelled, strict=True)]
            parses.append(Parses(of_sentence or [self._fallback(sentence, grammars[0], at)]))
        return parses

    def _given_chains(self, given: Sequence[Sequence[Constituent]]) -> Parts:
        """Number the chains of given labels, as far as trees of the treebank have them.

        They are the labels of a span together, or else, over several words, each alone.
        """
        number = {chain: at for at, chain in enumerate(self._chains[0])}
        rows: list[tuple[int, int, int, int]] = []
        for at, of_sentence in enumerate(given):
            labels: dict[tuple[int, int], tuple[str, ...]] = {}
            for part in of_sentence:  # inner ones are given first
                span = (part.first, part.end)
                labels[span] = (part.label, *labels.get(span, ()))
            for (begin, stop), together in labels.items():
                alone: list[tuple[str, ...]] = [(name,) for name in together] if stop - begin > 1 else []
                several = [together] if together in number else alone
                rows += [(at, begin, stop, number[each]) for each in several if each in number]
        sentence, first, end, label = np.array(rows, dtype=np.int64).reshape(-1, 4).T
        return Parts(sentence, first, end, label, np.full(len(rows), _UNLIKELY))

    def _believed(self, parts: Parts, given: Sequence[Sequence[Constituent]]) -> Parts:
        """Weigh posteriors against the constituents that are given for the sentences; brackets and tags apart."""
        named = self.labels.named(parts)
        wanted = {(at, *part) for at, of_sentence in enumerate(given) for part in of_sentence}
        is_given = np.array([(at, *part) in wanted for at, part in zip(parts.sentence.tolist(), named, strict=True)])
        is_tag = np.array([part.is_tag for part in named], dtype=np.bool_)
        posterior = parts.posterior.copy()
        for which in map(np.flatnonzero, (is_tag, ~is_tag)):
            posterior[which] = believe(posterior[which], is_given[which])
        return parts._replace(posterior=posterior)

    def _bracketings(
        self, sentences: Sequence[PartialPhrase], evidence: PhraseEvidence, parts: Parts, n_best: int
    ) -> PhraseForest:
        """Build the forest of all trees that consist of the found constituents, with the gains of the constituents."""
        chains = evidence.chains
        gain = self.labels.gains(parts, evidence.labelled, self.options.span_penalty)
        gain += _REQUIRED * self._is_required(chains, sentences)
        if n_best == 1:  # the best tree has no constituents without a gain, except words and the top
            width = chains.end - chains.begin
            keep = (gain > 0.0) | (width == np.diff(evidence.start)[chains.sentence]) | (width == 1)
            chains = chains.take(keep)
            gain = gain[keep]
        return build_bracketings(chains, gain, self._chains[0], evidence.words, evidence.start)

    def _is_required(self, chains: Parts, sentences: Sequence[PartialPhrase]) -> BoolArray:
        """Tell which constituents (K,) are required: all chains over a required span that have its label, if any."""
        required = np.zeros(len(chains.label), dtype=np.bool_)
        for at, (_, constraints) in enumerate(sentences):
            for bracket in constraints.required:
                fits = [bracket.label is None or bracket.label in chain for chain in self._chains[0]]
                is_over = (chains.sentence == at) & (chains.begin == bracket.first) & (chains.end == bracket.end)
                required |= is_over & np.array(fits)[chains.label]
        return required

    @staticmethod
    def _length(tree: Phrase) -> int:
        return sum(1 for _ in tree.words())

    def _trees(self, trees: Iterable[Phrase]) -> list[Phrase]:
        return list(cleaned(check_trees(trees, Phrase)))

    def _weigh(self, trees: list[Phrase]) -> SignedLog:
        """Compute p̂ of cleaned trees; parts that neighbouring trees of one sentence share are computed once."""
        lists = group_by_words(trees)
        sentences = [list(of_sentence[0].words()) for of_sentence in lists]
        grammars = [member.for_sentences(sentences) for member in self.members]
        return self._weight(PhraseColumns.of(lists, grammars[0].start.tolist()), grammars)

    def _weight(self, columns: PhraseColumns, grammars: Sequence[SentenceGrammar]) -> SignedLog:
        """Average the probabilities of trees under each grammar of their sentences."""
        pairs = zip(self.members, grammars, strict=True)
        return SignedLog.mean([member.weighed(columns, grammar).weight() for member, grammar in pairs])

    def _fallback(self, sentence: PartialPhrase, grammar: SentenceGrammar, at: int) -> Parse[Phrase]:
        """Make a tree with the label FALLBACK over the required brackets and each word's most frequent tag."""
        alone = grammar.of_sentences(np.array([at]))
        tags = self.members[0].most_frequent_tags(alone)
        leaves = [Phrase(tag, (word,)) for tag, word in zip(tags, sentence.sentence, strict=True)]
        return Parse(self.checked(*sentence).alone(leaves, FALLBACK), 0, -np.inf, is_fallback=True)


def _learn_spans(
    trees: Iterable[Phrase],
    weights: Iterable[float] | None,
    grammars: Sequence[PhraseGrammar],
    options: SpanOptions,
    jobs: int | None,
    listener: Listener,
) -> SpanModel:
    """Train a model of spans on the constituents that grammars find in sentences that are new to them."""
    alone = [replace(grammar.options, spans=None) for grammar in grammars]
    examples = held_out_choices(
        trees,
        weights,
        options,
        grammars,
        lambda trees, weights: prepare(trees, alone, weights=weights, jobs=jobs),
        lambda members, trees: map_batches(_examples_of, ConstituencyModel(members), cleaned(trees), jobs, options),
        jobs,
        listener,
        anew=options.anew,
    )
    return SpanModel.train(examples, options)


def _examples_of(model: ConstituencyModel, trees: Sequence[Phrase], options: SpanOptions) -> list[Choices]:
    """List the constituents that the grammars of a model find in the sentence of each cleaned tree."""
    return model.span_examples(trees, options)


def self_train(
    phrases: Iterable[Phrase],
    sentences: Iterable[Sequence[str]],
    options: ConstituencyOptions | Sequence[ConstituencyOptions] | None = None,
    *,
    weight: float = 0.25,
    weights: Iterable[float] | None = None,
    jobs: int | None = 1,
    listener: Listener = silent,
    changes: Changes | None = None,
) -> ConstituencyModel:
    """Learn from trees, parse sentences without trees, and learn once more from both.

    The second parser keeps the model of spans of the first parser, if there is one.  Trees and sentences are kept in
    memory.  A sentence is left out if it has no words, or if no grammar derives it.

    phrases: the trees of the treebank.
    sentences: the words of each sentence, spelt as the trees spell them.
    options: the options of both parsers, as `ConstituencyModel.train` takes them.
    weight: the weight of the tree of a sentence: it counts as this many trees; at least 0.
    weights: the weight of each of `phrases`; 1 if not given.
    jobs: the number of threads, and of processes that parse; the result does not depend on it.
    changes: the counts to which the cleaning of `phrases` adds; None to count nothing.
    Raises ValueError for a weight below 0 or not finite, and TypeError for a string in place of a sentence, both before
    training; and the errors of `ConstituencyModel.train`.

    >>> from spectral_latent.corpora.embedded import embedded_treebank
    >>> text = ["the dog saw a cat in the garden".split()]
    >>> self_train(embedded_treebank(60), text).parse(text[0]).is_fallback
    False
    """
    checked("weight", weight, Annotated[float, AtLeast(0.0)])
    trees = list(phrases)
    sentences = list(check_sentences(sentences))
    times = [1.0] * len(trees) if weights is None else list(weights)
    teacher = ConstituencyModel.train(trees, options, weights=times, jobs=jobs, listener=listener, changes=changes)
    unknown = [unknown_phrase(tuple(words)) for words in sentences if len(words)]
    listener(Progress("sentences without trees", 0, len(unknown)))
    parsed = teacher.parse_all(unknown, scored=False, jobs=jobs)
    for number, (tree, share) in enumerate(complete(parsed), start=1):
        trees.append(tree)
        times.append(weight * share)
        listener(Progress("sentences without trees", number, len(unknown)))
    return ConstituencyModel.train(trees, options, weights=times, spans=teacher.spans, jobs=jobs, listener=listener)
