"""Parse phrases with one latent PCFG, or with the averaged posteriors of several.

Sentences are parsed in batches.  To save time, these steps are done for all sentences of a batch at once: the lookup of
words, the passes over charts, the average over grammars, and the probabilities of trees.

Self-training (`self_train`) only helps if a second model judges the trees, so that they are better than the trees of
the grammars alone: a reranker (McClosky, Charniak and Johnson 2006), or here the model of spans.  Both learn from the
treebank alone.  The second parser keeps the model of spans.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, groupby
from operator import attrgetter, itemgetter
from typing import Annotated, Any, ClassVar

import numpy as np

from spectral_latent._options import AtLeast, checked
from spectral_latent.constituency.cleaning import Changes, cleaned, without_functions
from spectral_latent.constituency.constraints import ANY_TREE, PartialPhrase, PhraseConstraints, unknown_phrase
from spectral_latent.constituency.decoding import PhraseForest, build_bracketings
from spectral_latent.constituency.forests import PhraseColumns
from spectral_latent.constituency.functions import FunctionLabeller, relabelled
from spectral_latent.constituency.grammar import PhraseEvidence, PhraseGrammar
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
from spectral_latent.model import Parse, Parses, Partial, check_kind, check_sentences, check_trees, complete
from spectral_latent.model.parts import Analysis, Judge, Parts
from spectral_latent.trees import FloatArray, IntArray, Vocabulary

FALLBACK = "FALLBACK"
"""The label of the flat tree of a sentence that no grammar derives."""

_REQUIRED = 1e3  # the additional gain of a required constituent, far above the sum of all other gains


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


def _obeys(tree: Phrase, constraints: PhraseConstraints) -> bool:
    """Tell whether a tree has all constituents that constraints require."""
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
    several = ParsesOfBatch

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
        changes: the counts to which the cleaning adds what it removes and cuts; None to count nothing.
        Raises EstimationError if a tree has no word, or there is no tree; ValueError if there are no options, or if the
        span penalties, the models of spans or the `function_labels` of several grammars differ."""
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
            plain = [replace(settings, spans=None) for settings in several]
            examples = held_out_choices(
                ConstituencyModel,
                phrases,
                weights,
                to_learn,
                members,
                plain,
                prepare,
                jobs,
                listener,
                anew=to_learn.anew,
            )
            spans = SpanModel.train(examples, to_learn)
        return ConstituencyModel(members, spans, FunctionLabeller(grammars[-1]) if labelling else None)

    def with_limits(self, limits: Limits) -> ConstituencyModel:
        """Replace the limits of the cost of a sentence under each grammar."""
        functions = self.functions and FunctionLabeller(self.functions.grammar.with_limits(limits))
        return replace(super().with_limits(limits), functions=functions)

    def posteriors(self, words: Sequence[str] | PartialPhrase) -> dict[Constituent, float]:
        """Compute the posterior of each labelled constituent that a sentence may have, tags included.

        Posteriors have the signs that the options ask for.  There are no constituents if no grammar derives the
        sentence.  A model of spans replaces the posteriors by its judgements, after they were made to agree
        (`agreement`); the judgements of the tags of a word need not sum to 1.

        Raises ValueError if there is no word."""
        parts = self.analyse([self.checked(words)]).judged
        return dict(zip(self.labels.named(parts), parts.posterior.tolist(), strict=True))

    @property
    def description(self) -> dict[str, Any]:
        """The facts about the model: its labels, its tags, and the options and the objective of each grammar."""
        tags = self.members[0].tags
        labels = {label for chain in self.members[0].part_names for label in chain} - {*tags}
        facts: dict[str, Any] = {"labels": sorted(labels), "tags": sorted(tags)}
        if self.functions is not None:
            facts["function_labels"] = self.functions.names
        facts["options"] = [member.options.table() for member in self.members]
        objectives = [[round(value, 2) for value in member.objective] for member in self.members]
        if any(objectives):
            facts["objective"] = objectives
        return super().description | facts

    def checked(self, given: Sequence[str] | PartialPhrase, **settings: Any) -> PartialPhrase:
        """Check a sentence with its constraints, and turn brackets over tags into tags.

        given: the words, or a `Partial`."""
        words, constraints = super().checked(given)
        return Partial(tuple(words), self._known(words, constraints))

    def _tags(self, given: PartialPhrase, grammar: PhraseGrammar) -> IntArray | None:
        known = given.constraints
        if known.brackets or known.forbidden:
            raise ValueError("prefixes know nothing of brackets; give constraints on tags alone")
        return grammar.tag_numbers.numbers(known.tags.get(at, "") for at in range(len(given.sentence)))

    @cached_property
    def labels(self) -> ChainLabels:
        """The labels in the chains of all members."""
        return ChainLabels(self.part_names.names)

    @property
    def tags(self) -> list[str]:
        """The tags of words that the grammars have."""
        return list(dict.fromkeys(tag for member in self.members for tag in member.tags))

    def _names(self) -> tuple[frozenset[str], frozenset[str]]:
        """List the labels of constituents and the tags of words."""
        tags = frozenset(self.tags)
        return frozenset(label for chain in self.part_names.names for label in chain) - tags, tags

    def known(self, constraints: PhraseConstraints) -> tuple[PhraseConstraints, list[str]]:
        """Leave out of constraints the tags that no grammar has, which parsing refuses; also return these tags.

        A bracket over a single word with an unknown name counts as a tag."""
        check_kind(constraints, PhraseConstraints)
        return constraints.without_unknown(*self._names())

    def _known(self, words: Sequence[str], constraints: PhraseConstraints) -> PhraseConstraints:
        """Check constraints, and turn their brackets over tags into tags."""
        if constraints is ANY_TREE:
            return constraints
        check_kind(constraints, PhraseConstraints)
        if constraints == ANY_TREE:
            return ANY_TREE
        labels, tags = self._names()
        constraints = constraints.with_tags_apart(tags)
        constraints.check(len(words), labels, tags)
        return constraints

    @property
    def judges(self) -> list[Judge[PhraseEvidence]]:
        """The model of spans, if there is one."""
        return [] if self.spans is None else [self.spans]

    def find_parts(self, inputs: Sequence[PartialPhrase], charts: Sequence[Charts]) -> Analysis[PartialPhrase]:
        """Find the constituents of sentences, and divide those with chains of labels into those with single labels."""
        chains = super().find_parts(inputs, charts)
        return self.with_chains(chains, chains.parts)

    def with_chains(self, analysis: Analysis[PartialPhrase], chains: Parts) -> Analysis[PartialPhrase]:
        """Replace the constituents of sentences, before they are judged.

        chains: constituents with chains of labels, as `Parts.merge` sorts them."""
        words = list(chain.from_iterable(map(itemgetter(0), analysis.inputs)))
        start = analysis.charts[0].grammar.start
        items = list(map(attrgetter("more"), analysis.found))
        if len(items) > 1:
            items = [each.renumbered(own) for each, own in zip(items, self._part_numbers, strict=True)]
        labelled = self.labels.split(chains)
        evidence = PhraseEvidence(words, start, items, chains, self.labels, labelled, self.options.spans)
        return analysis._replace(parts=labelled.parts, judged=labelled.parts, evidence=evidence)

    def evidence(self, analysis: Analysis[PartialPhrase]) -> PhraseEvidence:
        """The words and the charts, which `find_parts` has collected."""
        evidence: PhraseEvidence = analysis.evidence
        return evidence

    def name_parts(self, analysis: Analysis[PartialPhrase]) -> list[str]:
        """Write the labelled constituents of a sentence with their words; tags have no brackets."""
        words = analysis.inputs[0].sentence
        names = []
        for part in self.labels.named(analysis.parts):
            covered = " ".join(words[part.first : part.end])
            names.append(f"{part.label} {covered}" if part.is_tag else f"({part.label} {covered})")
        return names

    def write(self, tree: Phrase) -> str:
        """Write a tree in brackets."""
        return tree.bracketed()

    def choices(self, trees: Sequence[Phrase], options: SpanOptions) -> list[Choices]:
        """List the constituents that the grammars find in each tree's sentence; none if no grammar derives it."""
        trees = list(cleaned(trees))
        inputs = [unknown_phrase(tuple(tree.words())) for tree in trees]
        chains = self.find_parts(inputs, self.chart(inputs)).evidence.chains
        examples = []
        for at, tree in enumerate(trees):
            parts = self.labels.split(chains.of_sentence(at)).parts
            in_tree = set(list_constituents(tree))
            correct = np.array([part in in_tree for part in self.labels.named(parts)], dtype=np.bool_)
            words = list(tree.words())
            judged = options.judged(parts)
            examples.append(span_choices(parts, self.labels, words, np.array([0, len(words)]), judged, correct))
        return examples

    def assemble(self, analysis: Analysis[PartialPhrase], n_best: int = 1) -> Analysis[PartialPhrase]:
        """Find up to `n_best` different trees of each sentence that have the required brackets, by falling gain.

        The record also gets the columns of these trees without functions, unless tags of words are known, on which p̂
        does not depend."""
        forest = self._bracketings(analysis, n_best)
        derivations = trusted_derivations(forest.forest, forest.weight, n_best)
        columns = forest.columns(derivations, self.part_names.names)
        trees: list[list[Phrase]] = [[] for _ in analysis.inputs]
        kept: list[int] = []
        has_tags = False
        sentence = forest.sentence[derivations.component].tolist()
        for number, (at, tree) in enumerate(zip(sentence, columns.trees(analysis.evidence.words), strict=True)):
            given = analysis.inputs[at]
            if given.constraints is not ANY_TREE:
                tree = _with_tags(tree, given)
                has_tags = has_tags or bool(given.constraints.tags)
                # Two trees may differ in tags that are known.
                if tree in trees[at] or not _obeys(tree, given.constraints):
                    continue
            trees[at].append(tree)
            kept.append(number)
        if len(kept) < len(columns.root):
            columns = columns._replace(root=columns.root[kept], n_phrases=columns.n_phrases[kept])
        if self.functions is not None:
            chains = analysis.evidence.chains
            trees = [
                self.functions.label(several, given.sentence, chains.of_sentence(at)) if several else []
                for at, (several, given) in enumerate(zip(trees, analysis.inputs, strict=True))
            ]
        return analysis._replace(trees=trees, assembled=None if has_tags else columns)

    def _bracketings(self, analysis: Analysis[PartialPhrase], n_best: int) -> PhraseForest:
        """Build the forest of all trees that consist of the found constituents, with the gains of the constituents."""
        evidence: PhraseEvidence = analysis.evidence
        chains = evidence.chains
        gain = self.labels.gains(analysis.judged, evidence.labelled, self.options.span_penalty)
        for at, (_, constraints) in enumerate(analysis.inputs):
            # All chains over a required span that have its label, if any, are required.
            for bracket in () if constraints is ANY_TREE else constraints.required:
                fits = [bracket.label is None or bracket.label in chain for chain in self.part_names.names]
                is_over = (chains.sentence == at) & (chains.begin == bracket.first) & (chains.end == bracket.end)
                gain[is_over & np.array(fits)[chains.label]] += _REQUIRED
        if n_best == 1:  # the best tree has no constituents without a gain, except words and the top
            width = chains.end - chains.begin
            keep = (gain > 0.0) | (width == np.diff(evidence.start)[chains.sentence]) | (width == 1)
            chains = chains.take(keep)
            gain = gain[keep]
        return build_bracketings(chains, gain, evidence.start)

    @staticmethod
    def _length(tree: Phrase) -> int:
        return sum(1 for _ in tree.words())

    def _trees(self, trees: Iterable[Phrase]) -> list[Phrase]:
        return list(cleaned(check_trees(trees, Phrase)))

    def _weigh(self, trees: list[Phrase]) -> SignedLog:
        """Compute p̂ of cleaned trees; parts that neighbouring trees of one sentence share are computed once."""
        lists = [list(of_sentence) for _, of_sentence in groupby(trees, key=lambda tree: tuple(tree.words()))]
        sentences = [list(of_sentence[0].words()) for of_sentence in lists]
        grammars = [member.for_sentences(sentences) for member in self.members]
        return self._weight(PhraseColumns.of(lists, grammars[0].start, self.part_names), grammars)

    def score_trees(self, analysis: Analysis[PartialPhrase]) -> SignedLog:
        """Estimate p̂ of trees, with the columns that assembly found, if there are any."""
        if analysis.assembled is None:
            return self._weigh([without_functions(tree) for trees in analysis.trees for tree in trees])
        return self._weight(analysis.assembled, list(map(attrgetter("grammar"), analysis.charts)))

    def _input_of(self, tree: Phrase, number: int) -> tuple[Hashable, PartialPhrase]:
        words = tuple(tree.words())
        return words, unknown_phrase(words)

    def _posteriors_of(self, analysis: Analysis[PartialPhrase], trees: Sequence[Sequence[Phrase]]) -> list[FloatArray]:
        rows = []
        for at, of_sentence in enumerate(trees):
            parts = analysis.judged.of_sentence(at)
            known = dict(zip(self.labels.named(parts), parts.posterior.tolist(), strict=True))
            rows += [np.array([known.get(part, 0.0) for part in list_constituents(tree)]) for tree in of_sentence]
        return rows

    @cached_property
    def _own_chains(self) -> list[IntArray]:
        """The numbers of chains of labels under each grammar; -1 for a chain that it lacks, and for unknown ones."""
        names = self.part_names.names
        return [np.append(Vocabulary(member.part_names).numbers(names), -1) for member in self.members]

    def _weight(self, columns: PhraseColumns, grammars: Sequence[SentenceGrammar]) -> SignedLog:
        """Average the probabilities of trees under each grammar of their sentences."""
        chain = np.minimum(columns.chain, len(self.part_names.names))
        of_members = zip(self.members, self._own_chains, grammars, strict=True)
        return SignedLog.mean([member.weighed(columns, own[chain], of).weight() for member, own, of in of_members])

    def fallback(self, analysis: Analysis[PartialPhrase], at: int) -> Phrase:
        """Make a tree with the label FALLBACK over the required brackets and each word's most frequent tag."""
        given = analysis.inputs[at]
        tags = self.members[0].most_frequent_tags(analysis.charts[0].grammar.of_sentences(np.array([at])))
        leaves = [Phrase(tag, (word,)) for tag, word in zip(tags, given.sentence, strict=True)]
        return given.constraints.alone(leaves, FALLBACK)


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

    sentences: the words of each sentence, spelt as the trees spell them.
    options: the options of both parsers, as `ConstituencyModel.train` takes them.
    weight: the weight of the tree of a sentence: it counts as this many trees; at least 0.
    weights: the weight of each of `phrases`; 1 if not given.
    jobs: the number of threads, and of processes that parse; the result does not depend on it.
    changes: the counts to which the cleaning of `phrases` adds; None to count nothing.
    Raises ValueError for a weight below 0 or not finite, and TypeError for a string in place of a sentence, both before
    training; and the errors of `ConstituencyModel.train`.

    >>> from spectral_latent import load
    >>> sentence = "the dog saw a cat in the garden".split()
    >>> self_train(load("toy").sample(60, np.random.default_rng(0)), [sentence]).parse(sentence).is_fallback
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
