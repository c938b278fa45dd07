"""Parse phrases with one latent PCFG, or with the averaged posteriors of several."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from itertools import groupby
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from spectral_latent._options import Count, checked
from spectral_latent.constituency.cleaning import Changes, cleaned, without_functions
from spectral_latent.constituency.constituents import Constituent, spans_html
from spectral_latent.constituency.constraints import ANY_TREE, PartialPhrase, PhraseConstraints, unknown_phrase
from spectral_latent.constituency.functions import FunctionLabeller
from spectral_latent.constituency.grammar import PhraseGrammar
from spectral_latent.constituency.options import ConstituencyOptions, check_together
from spectral_latent.constituency.parsing import ParsesOfBatch, PhraseParser
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.constituency.presets import preset
from spectral_latent.constituency.spans import SpanExamples, SpanModel, SpanOptions
from spectral_latent.constituency.subtrees import SubtreeGrammar
from spectral_latent.constituency.training import train_parser
from spectral_latent.drawing import Html
from spectral_latent.estimation import Listener, silent
from spectral_latent.files import StoredModel
from spectral_latent.grammar import (
    Limits,
    NextWords,
    Parse,
    Parses,
    Partial,
    Prefixes,
    Surprisal,
    Unit,
    check_kind,
    check_trees,
    entropies,
)
from spectral_latent.grammar.batches import batches_of, map_batches
from spectral_latent.inference import Weight
from spectral_latent.inspection import NamedOperators
from spectral_latent.tokenisation import Tokenisation
from spectral_latent.trees import FloatArray

__all__ = ["ConstituencyModel"]


@dataclass(frozen=True, eq=False, repr=False)
class ConstituencyModel(StoredModel):
    """A parser made of one or more latent PCFGs, whose posteriors of constituents are averaged.

    members: the grammars; all have the same `span_penalty`, `spans` and `function_labels`; others may differ.
    spans: the model that weighs the constituents that the grammars find, if their options ask for one; otherwise None,
    for their posteriors as they are.
    functions: the labeller that adds function labels to trees; None for trees without function labels.  Probabilities
    and posteriors are those of trees without function labels.

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
        """The number of grammars, and the sizes of the first one."""
        several = f"{len(self.members)} grammars, the first with " if len(self.members) > 1 else ""
        labeller = "" if self.functions is None else f"; of function labels: {self.functions.grammar.sizes}"
        return f"{several}{self.members[0].sizes}{labeller}"

    def __post_init__(self) -> None:
        check_together([member.options for member in self.members])
        if (self.spans is None) != (self.options.spans is None):
            raise ValueError("a parser has a model of spans if its options have `spans`, and only then")

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
        several = [options] if isinstance(options, ConstituencyOptions) else list(options)
        find = partial(_span_examples, jobs=jobs)
        return ConstituencyModel(
            *train_parser(
                phrases,
                several,
                find,
                weights=weights,
                spans=spans,
                jobs=jobs,
                listener=listener,
                changes=changes,
            )
        )

    def with_limits(self, limits: Limits) -> ConstituencyModel:
        """Replace the limits of the cost of a sentence under each grammar.

        limits: the new limits.

        >>> from spectral_latent.corpora.embedded import embedded_treebank
        >>> from spectral_latent.grammar import Limits
        >>> model = ConstituencyModel.train(embedded_treebank(20)).with_limits(Limits(max_words=500))
        >>> model.options.limits
        Limits(max_words=500)
        """
        members = tuple(member.with_limits(limits) for member in self.members)
        functions = self.functions and FunctionLabeller(self.functions.grammar.with_limits(limits))
        return replace(self, members=members, functions=functions)

    @cached_property
    def parser(self) -> PhraseParser:
        """The parser of batches of sentences."""
        return PhraseParser(self.members, self.spans, self.functions)

    @property
    def options(self) -> ConstituencyOptions:
        """The options of the first grammar."""
        return self.members[0].options

    @cached_property
    def tokenisation(self) -> Tokenisation:
        """The rules by which raw text is divided into sentences and words."""
        return Tokenisation(frozenset(self.members[0].grammar.lexicon.words))

    def posteriors(self, words: Sequence[str]) -> dict[Constituent, float]:
        """Compute the posterior of each labelled constituent that a sentence may have, tags included.

        Posteriors have the signs that the options ask for.  There are no constituents if no grammar derives the
        sentence.  A model of spans replaces the posteriors by its judgements, after they were made to agree
        (`agreement`); the judgements of the tags of a word need not sum to 1.

        words: the words of the sentence.
        Raises ValueError if there is no word.
        """
        charts = self.parser.charts([unknown_phrase(words)])
        parts = self.parser.found(charts, words).labelled
        return dict(zip(parts.named(self.parser.labels.names), parts.posterior.tolist(), strict=True))

    def draw_posteriors(self, words: Sequence[str]) -> Html:
        """Draw the posteriors of phrases as a table, from the word of the row to the word of the column.

        A cell shows the likeliest label of its span.

        words: the words of the sentence.
        Raises ValueError if there is no word.
        """
        return spans_html(words, self.posteriors(words))

    def part_posteriors(self, trees: Iterable[Phrase]) -> list[FloatArray]:
        """Compute the posteriors of the labelled constituents of trees, tags included: one array for each tree.

        trees: several trees of one sentence, which are cleaned as in `score`.  If cleaning leaves different words, the
        posteriors of a tree are computed from its own words.
        Raises EstimationError if a tree has no word.
        """
        batches = batches_of(_by_words(cleaned(check_trees(trees, Phrase))))
        return [row for batch in batches for row in self.parser.score_with_parts(batch)[1]]

    def log_probabilities(self, sentences: Iterable[Sequence[str]]) -> FloatArray:
        """Compute the natural logarithms (T,) of the estimated probabilities of sentences: the mean over the grammars.

        The probability under a grammar is the sum over the derivations in the sentence's pruned chart.  `score`
        computes another distribution: it prunes nothing, and has the rules of `ConstituencyOptions.rows`, which charts
        lack; and where only a chart in which any word may have any tag derives a sentence, that chart is summed here.
        So a few trees may have more probability by `score` than their sentence has here.  The logarithm is -inf if no
        grammar derives the sentence, or if the estimate is not above zero, which is possible for spectral models.  A
        word that was never seen is replaced by its signature.

        sentences: the words of each sentence.
        Raises ValueError if a sentence has no word.
        """
        batches = batches_of(map(unknown_phrase, sentences))
        weights = ([charts.weight() for charts in self.parser.charts(batch)] for batch in batches)
        return np.concatenate([np.zeros(0), *(Weight.mean(several).log_if_positive for several in weights)])

    def surprisal(self, words: Sequence[str], unit: Unit = "bits") -> Surprisal:
        """Compute the surprisal of each word after the words before it, and its lexical and syntactic parts.

        The probabilities of several grammars are averaged.  A word that was never seen has the surprisal of its
        signature, with the probabilities of tags that follow from its spelling.

        words: the words of the sentence.
        unit: the unit of surprisal, "bits" or "nats".
        Raises ValueError if there is no word, for another unit, and for a grammar whose estimates may be negative.

        >>> def tree(noun, verb): return Phrase("S", (Phrase("NNS", (noun,)), Phrase("VBP", (verb,))))
        >>> trees = [tree(noun, verb) for noun in ("cats", "dogs") for verb in ("bark", "sleep")]
        >>> model = ConstituencyModel.train(trees * 100)
        >>> model.surprisal(["cats", "sleep"]).total.round(1)
        array([1., 1.])
        """
        prefixes = Prefixes.mean([member.grammar.prefixes(words) for member in self.members])
        return prefixes.surprisal(unit, self.members[0].grammar.lexicon.are_known(words))

    def entropy(self, words: Sequence[str], unit: Unit = "bits") -> FloatArray:
        """Compute the entropy (n + 1,) of the next event after each prefix of a sentence of n words: a word or the end.

        Words that were never seen count as one word for each signature.  The probabilities of several grammars are
        averaged.

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

    def parse(self, words: Sequence[str], *, constraints: PhraseConstraints = ANY_TREE) -> Parse[Phrase]:
        """Find the tree with the largest gain; see `decoding`.

        words: the words of the sentence.
        constraints: the constraints on the tree.
        Raises ValueError if there is no word, or if the constraints do not fit the sentence and the grammars.

        >>> from spectral_latent.corpora.embedded import embedded_treebank
        >>> model = ConstituencyModel.train(embedded_treebank(60))
        >>> words = "the dog saw a cat in the garden".split()
        >>> model.parse(words, constraints=PhraseConstraints([(3, 8, "NP")])).tree.bracketed().count("(NP")
        4
        """
        return self.parse_nbest(words, 1, constraints=constraints)[0]

    def parse_nbest(
        self, words: Sequence[str], n_best: int, *, constraints: PhraseConstraints = ANY_TREE
    ) -> Parses[Phrase]:
        """Find up to `n_best` different trees of a sentence, by falling gain.

        A tree may combine any constituents, even if no grammar has all of them in one tree.  A sentence that no grammar
        derives under the constraints gets the `FALLBACK`, a tree that is flat except for the required brackets.

        words: the words of the sentence.
        n_best: the most trees to find.
        constraints: the trees that the sentence may have; p̂ of a tree does not depend on them.
        Raises ValueError if there is no word, if n_best < 1, or if the constraints do not fit the sentence and the
        grammars.
        """
        checked("n_best", n_best, Count)
        tree = unknown_phrase(words)._replace(constraints=constraints)
        (parses,) = self.parser.parses([tree], n_best)
        return parses

    def parse_all(
        self,
        sentences: Iterable[Sequence[str] | PartialPhrase],
        n_best: int = 1,
        *,
        scored: bool = True,
        jobs: int | None = 1,
    ) -> Iterator[Parses[Phrase]]:
        """Find up to `n_best` trees of each sentence, in order, as `parse_nbest` does; an empty sentence has no trees.

        Sentences are read and parsed in batches, which takes less time than one by one.

        sentences: the words of each sentence, or the words with constraints on the tree.
        n_best: the largest number of trees of a sentence.
        scored: whether to compute the trees' probabilities; the first call then compiles much code.
        jobs: the number of processes; see `spectral_latent.grammar.batches.map_batches`.
        Raises ValueError, before a sentence is read, if n_best < 1.
        """
        checked("n_best", n_best, Count)
        checked("scored", scored, bool)
        return map_batches(_parses_of, self, sentences, jobs, n_best, scored)

    def parse_text(self, text: str, n_best: int = 1, *, jobs: int | None = 1) -> Iterator[Parses[Phrase]]:
        """Find up to `n_best` trees of each sentence of a raw text, in order.

        text: the text, which `tokenisation` divides into sentences and words.
        n_best: the largest number of trees of a sentence.
        jobs: the number of processes; see `spectral_latent.grammar.batches.map_batches`.
        Raises ValueError, before a sentence is parsed, if n_best < 1.
        """
        sentences = self.tokenisation.sentences(text)
        return self.parse_all(([token.word for token in tokens] for tokens in sentences), n_best, jobs=jobs)

    def score(self, phrases: Iterable[Phrase]) -> Weight:
        """Estimate the probabilities p̂ of trees with their words, as sign and log: the mean over the grammars.

        A phrase may have any children, but children that rules allow are likelier; see `rows`.  A tree has p̂ = 0 if a
        label or a chain of labels was never seen, or if a frequent word never had its tag.  A word that was never seen
        is replaced by its signature, with the probabilities of tags that follow from its spelling.

        phrases: the trees, which are cleaned as for training.
        Raises EstimationError if a tree has no word, and ValueError for a tree with several words below one label, or
        words beside phrases.
        """
        return self.parser.score(_by_words(cleaned(check_trees(phrases, Phrase))))

    @cached_property
    def _subtree_grammars(self) -> list[SubtreeGrammar]:
        return [SubtreeGrammar.of(member) for member in self.members]

    def subtree_log_probabilities(self, tree: Phrase) -> FloatArray:
        """Compute the natural logarithms (n,) of the probabilities of the n subtrees of a tree, each given its label.

        The probability is a mean over all contexts of a phrase with this label, and over the grammars; see `subtrees`.
        There is a subtree for each phrase of `tree.nodes()`, in the same order.

        tree: a tree without traces, such as the tree of a parse; function labels are left out.
        Raises ValueError for a model whose estimates are not probabilities.

        >>> trees = [Phrase("S", (Phrase("NN", (noun,)), Phrase("VB", ("bark",)))) for noun in ("dogs", "cats")]
        >>> model = ConstituencyModel.train(trees * 500)
        >>> np.exp(model.subtree_log_probabilities(trees[0])).round(1)
        array([0.5, 0.5, 1. ])
        """
        check_kind(tree, Phrase)
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
        """Make a model from the contents of its file.

        arrays: the arrays of the file by name.
        settings: the settings of the file.
        """
        grammars = []
        for at, of_grammar in enumerate(settings["members"]):
            prefix = f"{at}."
            named = {name.removeprefix(prefix): arrays[name] for name in arrays if name.startswith(prefix)}
            grammars.append(PhraseGrammar.from_arrays(named, of_grammar))
        members = tuple(grammar for grammar in grammars if not grammar.options.function_labels)
        labelling = [grammar for grammar in grammars if grammar.options.function_labels]
        if [*members, *labelling] != grammars or len(labelling) > 1:
            raise ValueError("a grammar of function labels stands alone, and after the others")
        spans = SpanModel.from_arrays(arrays)
        functions = FunctionLabeller(labelling[0]) if labelling else None
        return ConstituencyModel(members, spans, functions)


def _by_words(trees: Iterable[Phrase]) -> list[list[Phrase]]:
    """Divide trees into lists: a list holds trees that follow one another and have the same words."""
    return [list(of_sentence) for _, of_sentence in groupby(trees, key=lambda tree: tuple(tree.words()))]


def _span_examples(
    members: tuple[PhraseGrammar, ...], trees: Iterable[Phrase], options: SpanOptions, *, jobs: int | None
) -> Iterator[SpanExamples]:
    """List the constituents that grammars find in the sentence of each cleaned tree."""
    return map_batches(_examples_of, ConstituencyModel(members), trees, jobs, options)


def _examples_of(model: ConstituencyModel, trees: Sequence[Phrase], options: SpanOptions) -> list[SpanExamples]:
    """List the constituents that the grammars of a model find in the sentence of each cleaned tree."""
    return model.parser.span_examples(trees, options)


def _parses_of(
    model: ConstituencyModel, sentences: Sequence[Sequence[str] | PartialPhrase], n_best: int, scored: bool
) -> list[Parses[Phrase]]:
    """Find the trees of each of several sentences; a sentence without words has no trees."""
    trees = [cast(PartialPhrase, each) if isinstance(each, Partial) else unknown_phrase(each) for each in sentences]
    parses = iter(model.parser.parses([tree for tree in trees if tree.sentence], n_best, scored=scored))
    return ParsesOfBatch(next(parses) if tree.sentence else Parses() for tree in trees)
