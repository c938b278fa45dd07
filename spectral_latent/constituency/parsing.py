"""Find the trees of sentences, under one grammar or several.

Sentences are parsed in batches.  To save time, these steps are done for all sentences of a batch at once: the lookup of
words, the passes over charts, the average over grammars, and the probabilities of trees.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, groupby, pairwise
from typing import Any, NamedTuple, cast

import numpy as np

from spectral_latent._options import counted
from spectral_latent.constituency.agreement import agreed
from spectral_latent.constituency.cleaning import cleaned
from spectral_latent.constituency.columns import PhraseColumns
from spectral_latent.constituency.constituents import (
    ChainLabels,
    Constituents,
    LabelledConstituents,
    constituents_of,
)
from spectral_latent.constituency.constraints import ANY_TREE, PartialPhrase, PhraseConstraints, unknown_phrase
from spectral_latent.constituency.decoding import PhraseForest, bracketings
from spectral_latent.constituency.functions import FunctionLabeller
from spectral_latent.constituency.grammar import PhraseGrammar
from spectral_latent.constituency.items import PhraseItems
from spectral_latent.constituency.phrase import FlatPhrases, Phrase
from spectral_latent.constituency.spans import SpanExamples, SpanModel, SpanOptions
from spectral_latent.grammar import Charts, SentenceGrammar
from spectral_latent.grammar.parser import Parser
from spectral_latent.inference import SignedLog, n_best_derivations
from spectral_latent.model import Parse, Parses, Partial, check_kind, check_trees
from spectral_latent.trees import BoolArray, FloatArray, IntArray, Vocabulary

__all__ = ["FALLBACK", "PhraseParser", "by_words"]

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


class FoundConstituents(NamedTuple):
    """The constituents that the grammars find in sentences.

    constituents: the constituents with chains of labels; their posteriors are means over the grammars.
    labelled: the constituents with single labels; a model of spans replaces their posteriors by its judgements.
    """

    constituents: Constituents
    labelled: LabelledConstituents


@dataclass(frozen=True, eq=False, repr=False)
class PhraseParser(Parser[PhraseGrammar, Sequence[str], PhraseConstraints, Phrase]):
    """A parser of one or more grammars, whose posteriors of constituents are averaged.

    members: the grammars; all have the same `span_penalty`, `spans` and `function_labels`; others may differ.
    spans: the model that weighs the constituents that the grammars find, if their options ask for one; otherwise None,
    for their posteriors as they are.
    functions: the labeller that adds function labels to trees; None for trees without function labels.  Probabilities
    and posteriors are those of trees without function labels.
    """

    any_tree = ANY_TREE

    members: tuple[PhraseGrammar, ...]
    spans: SpanModel | None = None
    functions: FunctionLabeller | None = None

    def _input(self, given: Sequence[str] | PartialPhrase) -> PartialPhrase:
        return cast(PartialPhrase, given) if isinstance(given, Partial) else unknown_phrase(given)

    def _is_empty(self, given: PartialPhrase) -> bool:
        return not given.sentence

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

    def checked(self, words: Sequence[str], constraints: PhraseConstraints) -> PhraseConstraints:
        """Check constraints, and turn their brackets over tags into tags.

        constraints: the constraints on its tree.

        Raises TypeError for constraints on dependency trees, and ValueError for constraints that do not fit the
        sentence and the grammars.
        """
        check_kind(constraints, PhraseConstraints)
        if constraints == ANY_TREE:
            return constraints
        tags = frozenset(tag for member in self.members for tag in member.tags)
        labels = frozenset(label for chain in self._chains[0] for label in chain)
        constraints = constraints.with_tags_apart(tags)
        constraints.check(len(words), labels - tags, tags)
        return constraints

    def charts(self, sentences: Sequence[PartialPhrase]) -> list[Charts]:
        """Build each grammar's pruned charts of sentences.

        sentences: the sentences with their constraints.
        Raises ValueError if a sentence is empty, or if its constraints do not fit the sentence and the grammars.
        """
        known = [Partial(sentence.sentence, self.checked(*sentence)) for sentence in sentences]
        return [member.charts_of(known) for member in self.members]

    def items(self, charts: Sequence[Charts]) -> list[PhraseItems]:
        """Compute the posteriors of the items of each grammar's charts; all grammars number the chains alike.

        charts: the charts of T sentences under each grammar.
        """
        items_of_members = []
        for member, charts_of, number in zip(self.members, charts, self._chains[1], strict=True):
            items = member.items(charts_of)
            items_of_members.append(items._replace(chain=np.append(number, -1)[items.chain]))
        return items_of_members

    def constituents(self, items: Sequence[PhraseItems], start: IntArray) -> Constituents:
        """Average the posteriors of constituents over the grammars that derive their sentence, sorted by first words.

        A sentence has no constituents if no grammar derives it.  A grammar does not derive a sentence if the weights of
        its derivations sum to 0.  The words of all sentences are numbered together.

        items: the items of T sentences under each grammar.
        start: (T + 1,) the first word of each sentence, and the number of all words.
        """
        n_grammars = np.sum([of_grammar.is_derived for of_grammar in items], axis=0)
        parts = [of_grammar.constituents() for of_grammar in items]
        return Constituents.mean(parts, np.repeat(n_grammars, np.diff(start)))

    def found(self, charts: Sequence[Charts], words: Sequence[str]) -> FoundConstituents:
        """Find the constituents of sentences, and let the model of spans judge them, if there is one.

        charts: the charts of T sentences under each grammar.
        words: the words of all sentences.
        """
        start = charts[0].grammar.start
        items = self.items(charts)
        constituents = self.constituents(items, start)
        parts = self.labels.split(constituents)
        options = self.members[0].options.spans
        if self.spans is not None and options is not None:
            judged = options.judged(parts)
            examples = SpanExamples.of(parts, self.labels.names, words, start, judged)
            judgement = parts.posterior.copy()
            judgement[judged] = self.spans.probabilities(examples)
            if options.step > 0.0:
                judgement = agreed(items, constituents, parts, judgement, start, options)
            parts = parts._replace(posterior=judgement)
        return FoundConstituents(constituents, parts)

    def span_examples(self, trees: Sequence[Phrase], options: SpanOptions) -> list[SpanExamples]:
        """List the constituents that the grammars find in each tree's sentence; none if no grammar derives it.

        trees: cleaned trees, whose constituents are the correct ones.
        options: the settings of the model of spans.
        """
        charts = self.charts([unknown_phrase(tuple(tree.words())) for tree in trees])
        start = charts[0].grammar.start
        places = pairwise(start.tolist())
        constituents = self.constituents(self.items(charts), start)
        examples = []
        for tree, (first, end) in zip(trees, places, strict=True):
            parts = self.labels.split(constituents.of_words(first, end))
            in_tree = set(constituents_of(tree))
            correct = np.array([part in in_tree for part in parts.named(self.labels.names)], dtype=np.bool_)
            alone = np.array([0, end - first])
            judged = options.judged(parts)
            examples.append(SpanExamples.of(parts, self.labels.names, list(tree.words()), alone, judged, correct))
        return examples

    def find(
        self, inputs: Iterable[Sequence[str] | PartialPhrase], n_best: int, **settings: Any
    ) -> list[Parses[Phrase]]:
        """Find the best trees of each sentence of a batch, in a list that processes exchange cheaply.

        inputs: the words of each sentence, or the words with constraints on the tree.
        settings: `charts`, the charts of the sentences under each grammar; `scored`, whether to weigh the trees.
        """
        return ParsesOfBatch(super().find(inputs, n_best, **settings))

    def _find(
        self,
        sentences: Sequence[PartialPhrase],
        n_best: int,
        *,
        charts: Sequence[Charts] | None = None,
        scored: bool = True,
    ) -> list[Parses[Phrase]]:
        """Find up to `n_best` different trees of each sentence, by falling gain."""
        if charts is None:
            charts = self.charts(sentences)
        if len(charts) != len(self.members):
            raise ValueError(
                f"charts of {counted(len(charts), 'grammar')} for a parser of {len(self.members)}; give the charts of "
                f"each grammar"
            )
        for charts_of in charts:
            if len(charts_of.pruned) != len(sentences):
                raise ValueError(
                    f"charts of {counted(len(charts_of.pruned), 'sentence')} for {len(sentences)}; give the charts of "
                    f"each sentence"
                )
        grammars = [charts_of.grammar for charts_of in charts]
        words = list(chain.from_iterable(tree.sentence for tree in sentences))
        candidates = self.found(charts, words)
        trees = self._bracketings(sentences, candidates, grammars[0], words, n_best)
        derivations = n_best_derivations(trees.forest, trees.weight, n_best)
        columns = trees.columns(derivations)
        weight = self._weight(columns, grammars) if scored else SignedLog.unknown(len(derivations))
        # Sort the trees by sentence, without trees that lack a required bracket.
        known = [self.checked(*sentence) for sentence in sentences]
        obedient: list[list[Parse[Phrase]]] = [[] for _ in sentences]
        weighed = map(Parse, columns.trees(trees.words), weight.sign.tolist(), weight.log.tolist())
        for at, parse in zip(trees.sentence[derivations.component].tolist(), weighed, strict=True):
            if _obeys(parse.tree, known[at]):
                obedient[at].append(parse)
        # Add function labels; a sentence without a tree gets the fallback.
        parses: list[Parses[Phrase]] = []
        for at, (sentence, of_sentence, (first, end)) in enumerate(
            zip(sentences, obedient, pairwise(grammars[0].start.tolist()), strict=True)
        ):
            if of_sentence and self.functions is not None:
                plain = [parse.tree for parse in of_sentence]
                labelled = self.functions.label(plain, sentence.sentence, candidates.constituents.of_words(first, end))
                of_sentence = [parse._replace(tree=tree) for parse, tree in zip(of_sentence, labelled, strict=True)]
            parses.append(Parses(of_sentence or [self._fallback(sentence, grammars[0], at)]))
        return parses

    def _bracketings(
        self,
        sentences: Sequence[PartialPhrase],
        found: FoundConstituents,
        grammar: SentenceGrammar,
        words: Sequence[str],
        n_best: int,
    ) -> PhraseForest:
        """Build the forest of all trees that consist of the found constituents, with the gains of the constituents."""
        constituents, parts = found
        start = grammar.start
        gain = parts.gains(self.members[0].options.span_penalty)
        gain += _REQUIRED * self._is_required(constituents, sentences, start)
        if n_best == 1:  # the best tree has no constituents without a gain, except words and the top
            width = constituents.end - constituents.first
            is_top = width == np.diff(start)[grammar.sentence_of(constituents.first)]
            keep = (gain > 0.0) | is_top | (width == 1)
            constituents = Constituents(*(column[keep] for column in constituents))
            gain = gain[keep]
        return bracketings(constituents, gain, self._chains[0], words, start)

    def _is_required(
        self, constituents: Constituents, sentences: Sequence[PartialPhrase], start: IntArray
    ) -> BoolArray:
        """Tell which constituents (K,) are required: all chains over a required span that have its label, if any."""
        required = np.zeros(len(constituents.chain), dtype=np.bool_)
        for first, (_, constraints) in zip(start.tolist(), sentences, strict=False):
            for bracket in constraints.required:
                fits = [bracket.label is None or bracket.label in chain for chain in self._chains[0]]
                is_over = (constituents.first == first + bracket.first) & (constituents.end == first + bracket.end)
                required |= is_over & np.array(fits)[constituents.chain]
        return required

    def _trees(self, trees: Iterable[Phrase]) -> list[Phrase]:
        return list(cleaned(check_trees(trees, Phrase)))

    def _weigh(self, trees: list[Phrase]) -> SignedLog:
        """Compute p̂ of cleaned trees; parts that neighbouring trees of one sentence share are computed once."""
        lists = by_words(trees)
        sentences = [list(of_sentence[0].words()) for of_sentence in lists]
        grammars = [member.for_sentences(sentences) for member in self.members]
        return self._weight(PhraseColumns.of(lists, grammars[0].start.tolist()), grammars)

    def score_with_parts(self, lists: Sequence[Sequence[Phrase]]) -> tuple[SignedLog, list[FloatArray]]:
        """Score the trees of sentences, and compute the posteriors of their labelled constituents, tags included.

        lists: for each sentence of a batch, one or more cleaned trees over its words.
        """
        sentences = [unknown_phrase(tuple(trees[0].words())) for trees in lists]
        charts = self.charts(sentences)
        columns = PhraseColumns.of(lists, charts[0].grammar.start.tolist())
        parts = self.found(charts, list(chain.from_iterable(tree.sentence for tree in sentences))).labelled
        weight = self._weight(columns, [charts_of.grammar for charts_of in charts])
        return weight, columns.values(parts, self.labels.names)

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


def by_words(trees: Iterable[Phrase]) -> list[list[Phrase]]:
    """Divide trees into lists: a list holds trees that follow one another and have the same words."""
    return [list(of_sentence) for _, of_sentence in groupby(trees, key=lambda tree: tuple(tree.words()))]


def _obeys(tree: Phrase, constraints: PhraseConstraints) -> bool:
    """Tell whether a tree has all constituents that constraints require."""
    if not constraints.brackets:
        return True
    labelled_spans = {(part.first, part.end, label) for part in constituents_of(tree) for label in (part.label, None)}
    return all(tuple(bracket) in labelled_spans for bracket in constraints.required)
