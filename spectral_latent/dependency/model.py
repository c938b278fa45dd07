"""Parse dependency trees with a latent dependency grammar and a model of relations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from spectral_latent._options import Count, checked
from spectral_latent.dependency.constraints import ANY_TREE, DependencyConstraints, PartialDependencies, unknown_tree
from spectral_latent.dependency.conversion import HeadSymbol, require_heads
from spectral_latent.dependency.options import DependencyOptions
from spectral_latent.dependency.parsing import DependencyParser
from spectral_latent.dependency.presets import preset
from spectral_latent.dependency.relations import RelationModel
from spectral_latent.dependency.sentence import BLANK, DependencySentence, check_sentence
from spectral_latent.dependency.training import prepare_parts
from spectral_latent.drawing import Html, heat_map
from spectral_latent.estimation import Listener, silent
from spectral_latent.files import Distinct, StoredModel, setting_from
from spectral_latent.grammar import (
    LatentGrammar,
    Limits,
    Parse,
    Parses,
    Partial,
    Surprisal,
    Training,
    Unit,
    check_trees,
    entropies,
)
from spectral_latent.grammar.batches import batches_of, map_batches
from spectral_latent.inference import Weight
from spectral_latent.inspection import NamedOperators
from spectral_latent.operators import ObservableOperators
from spectral_latent.tokenisation import Tokenisation
from spectral_latent.trees import FloatArray, Vocabulary

__all__ = ["DependencyModel", "prepare"]


@dataclass(frozen=True, eq=False, repr=False)
class DependencyModel(StoredModel):
    """A latent dependency grammar, which scores trees, and parses words with or without tags.

    symbols: the meaning of each symbol of the grammar.
    grammar: the operators over words, and the options.
    relations: the model of the relations of arcs; None if arcs have no relations.

    >>> def tree(words, tags, heads): return DependencySentence.of(words, tags).with_heads(heads)
    >>> trees = [tree(["big", noun, verb], ["JJ", "NNS", "VBP"], (2, 3, 0))
    ...     for noun in ("cats", "dogs") for verb in ("bark", "sleep")]
    >>> model = DependencyModel.train(trees)
    >>> model.parse(DependencySentence.of(["big", "mice", "sleep"])).tree.heads
    (2, 3, 0)
    """

    kind: ClassVar[str] = "dependency"

    symbols: list[HeadSymbol]
    grammar: LatentGrammar[DependencyOptions]
    relations: RelationModel | None = None

    @property
    def sizes(self) -> str:
        """The numbers of symbols, states and words."""
        return self.grammar.sizes

    @property
    def options(self) -> DependencyOptions:
        """The settings of training and parsing."""
        return self.grammar.options

    @property
    def objective(self) -> tuple[float, ...]:
        """The objective of EM at the start and after each iteration; empty for an estimator without EM."""
        return self.grammar.objective

    @cached_property
    def tokenisation(self) -> Tokenisation:
        """The rules by which raw text is divided into sentences and words."""
        return Tokenisation(frozenset(self.grammar.lexicon.words))

    def with_operators(self, operators: ObservableOperators, objective: tuple[float, ...] = ()) -> DependencyModel:
        """Replace the latent operators by others over the same rules.

        operators: operators over the rules of the coarse operators.
        objective: the objective of the EM that made the operators, by iteration; empty without EM.
        """
        return replace(self, grammar=self.grammar.with_operators(operators, objective))

    def with_limits(self, limits: Limits) -> DependencyModel:
        """Replace the limits of the cost of a sentence.

        limits: the new limits.
        """
        return replace(self, grammar=self.grammar.with_limits(limits))

    @staticmethod
    def train(
        sentences: Iterable[DependencySentence],
        options: DependencyOptions | None = None,
        *,
        weights: Iterable[float] | None = None,
        jobs: int | None = 1,
        listener: Listener = silent,
    ) -> DependencyModel:
        """Learn from dependency trees, projective or not.

        Words without a tag in the column of tags get a tag, and a warning counts these words; see `with_all_tags`.

        sentences: the trees, which are read once.
        options: the settings; None for the preset `fast`, see `presets`.
        weights: the weight of each tree: it counts as this many trees, a number of at least 0; 1 if not given.
        jobs: the number of threads; None for all workers of the engine that `joblib.parallel_config` names.  The result
        does not depend on it.
        listener: is told the progress.
        Raises EstimationError if there are no sentences, or if a sentence is not a tree with one root.
        """
        training = prepare(sentences, options, weights=weights, jobs=jobs)
        return training.estimate(jobs=jobs, listener=listener)

    @cached_property
    def parser(self) -> DependencyParser:
        """The parser of batches of sentences."""
        return DependencyParser(self.symbols, self.grammar, self.relations)

    def unknown_tags(self, sentence: DependencySentence) -> list[str]:
        """List the tags of a sentence that the model does not know; words with these tags may have any tag.

        sentence: the words, with tags or without.

        >>> model = DependencyModel.train([DependencySentence.of(["Yes"], ["UH"]).with_heads((0,))])
        >>> model.unknown_tags(DependencySentence.of(["Oh", "yes"], ["INTJ", "UH"]))
        ['INTJ']
        """
        check_sentence(sentence)
        if not self.options.attachment.symbols_have_tags:
            return []
        return [tag for tag in self.options.tags_of(sentence) if tag != BLANK and tag not in self.parser.tags]

    def log_probabilities(self, sentences: Iterable[DependencySentence]) -> FloatArray:
        """Compute the natural logarithms (T,) of the estimated probabilities of sentences with their tags.

        A probability is the sum over the trees in the pruned chart, whose arcs all occurred in training if they suffice
        for a tree.  `score` prunes nothing, and counts all trees, so that the sum of its probabilities may be larger.
        The logarithm is -inf if the grammar does not derive the sentence, or if the estimate is not above zero, which
        is possible for spectral models.  A word that was never seen is replaced by its signature.

        sentences: the sentences; words without a tag, or with an unseen tag, may have any tag.  Heads are ignored.
        Raises ValueError if a sentence is empty.
        """
        logs = (
            self.parser.charts(batch).weight().log_if_positive for batch in batches_of(map(unknown_tree, sentences))
        )
        return np.concatenate([np.zeros(0), *logs])

    def surprisal(self, sentence: DependencySentence, unit: Unit = "bits") -> Surprisal:
        """Compute the surprisal of each word with its tag, after the words before it.

        A word that was never seen has the surprisal of its signature, with the probabilities of tags that follow from
        its spelling.

        sentence: the sentence; words without a tag, or with an unseen tag, may have any tag.  Heads are ignored.
        unit: the unit of surprisal, "bits" or "nats".
        Raises ValueError if the sentence is empty, for another unit, and for a grammar whose estimates may be negative.

        >>> sentences = [DependencySentence.of([word, "now"]).with_heads((0, 1)) for word in ("go", "stop")]
        >>> model = DependencyModel.train(sentences * 100)
        >>> model.surprisal(DependencySentence.of(["go", "now"])).total.round(1)
        array([1., 0.])
        """
        check_sentence(sentence)
        words = self.options.words_of(sentence)
        found = self.grammar.prefixes(words, self.parser.tags_of_words([sentence]))
        return found.surprisal(unit, self.grammar.lexicon.are_known(words))

    def entropy(self, sentence: DependencySentence, unit: Unit = "bits") -> FloatArray:
        """Compute the entropy (n + 1,) of the next event after each prefix of a sentence of n words: a word or the end.

        Words that were never seen count as one word for each signature.

        sentence: the sentence; words without a tag, or with an unseen tag, may have any tag.  Heads are ignored.
        unit: the unit of entropy, "bits" or "nats".
        Raises ValueError if the sentence is empty, for another unit, and for a grammar whose estimates may be negative.

        >>> sentences = [DependencySentence.of([word, "now"]).with_heads((0, 1)) for word in ("go", "stop")]
        >>> DependencyModel.train(sentences * 100).entropy(DependencySentence.of(["go", "now"])).round(1)
        array([1.8, 0.9, 0. ])
        """
        check_sentence(sentence)
        found = self.grammar.next_words(self.options.words_of(sentence), self.parser.tags_of_words([sentence]))
        return entropies(found.following, unit)

    def posteriors(self, sentence: DependencySentence) -> FloatArray:
        """Compute the posteriors of the arcs that a sentence of n words may have.

        Returns μ (n + 1, n): μ[g, m] is the posterior of the arc from word g, where 0 is the root, to word m + 1.
        Posteriors have the signs that the options ask for.  All posteriors are zero if the grammar does not derive the
        sentence.

        sentence: the sentence; words without a tag, or with an unseen tag, may have any tag.  Heads are ignored.
        Raises ValueError if the sentence is empty.
        """
        (posteriors,) = self.parser.posteriors([sentence])
        return posteriors

    def draw_posteriors(self, sentence: DependencySentence) -> Html:
        """Draw the posteriors of arcs as a table, from the head of the row to the word of the column.

        sentence: the words, with tags or without.
        Raises ValueError if the sentence is empty.
        """
        caption = "Posterior of the word of the row as head of the word of the column"
        posteriors = self.posteriors(sentence).tolist()
        return heat_map(caption, ["the root", *sentence.forms], sentence.forms, posteriors)

    def part_posteriors(self, trees: Iterable[DependencySentence]) -> list[FloatArray]:
        """Compute the posterior of the arc to each word, (n,) for each tree; see `posteriors`.

        trees: the trees, with n words and one or more roots.  The posteriors depend on the words and tags of a tree;
        they are computed once for all trees with the same words and tags.
        Raises EstimationError if a tree has not one head for each word.
        """
        trees = list(check_trees(trees, DependencySentence))
        for number, tree in enumerate(trees, start=1):
            require_heads(tree, number)
        sentences, sentence_of = self.parser.distinct(trees)
        posteriors = self.parser.posteriors(sentences)
        return [
            posteriors[number][list(tree.heads or ()), np.arange(len(tree.forms))]
            for number, tree in zip(sentence_of.tolist(), trees, strict=True)
        ]

    def parse(
        self, sentence: DependencySentence, *, projective: bool = True, constraints: DependencyConstraints = ANY_TREE
    ) -> Parse[DependencySentence]:
        """Find the tree whose arcs have the largest sum of posteriors: the tree of minimum Bayes risk.

        sentence: the sentence; words without a tag get the likeliest tag.
        projective: whether trees must be projective.
        constraints: the constraints on the tree.
        Raises ValueError if the sentence is empty, if the constraints do not fit the sentence and the parser, and if
        the arcs of known heads cross although trees must be projective.

        >>> def tree(words, heads): return DependencySentence.of(words).with_heads(heads)
        >>> trees = [tree(["eat", "or", "sleep"], (0, 3, 1)), tree(["eat", "or", "sleep"], (0, 1, 1))]
        >>> model = DependencyModel.train(trees)
        >>> known = DependencyConstraints({2: 3})
        >>> model.parse(DependencySentence.of(["sleep", "or", "eat"]), constraints=known).tree.heads
        (0, 3, 1)
        """
        checked("projective", projective, bool)
        ((parse,),) = self.parser.parses([Partial(sentence, constraints)], 1, projective=projective)
        return parse

    def parse_nbest(
        self, sentence: DependencySentence, n_best: int, *, constraints: DependencyConstraints = ANY_TREE
    ) -> Parses[DependencySentence]:
        """Find up to `n_best` projective trees, by falling sum of their arcs' posteriors.

        A sentence that the grammar does not derive under the constraints gets a tree that is flat, except for the
        required arcs.

        sentence: the sentence; words without a tag get the likeliest tag.
        n_best: the largest number of trees.
        constraints: the constraints on the trees; known relations change no head.
        Raises ValueError if the sentence is empty or n_best < 1, if the constraints do not fit the sentence and the
        parser, and if the arcs of known heads cross.
        """
        checked("n_best", n_best, Count)
        (parses,) = self.parser.parses([Partial(sentence, constraints)], n_best)
        return parses

    def parse_all(
        self,
        sentences: Iterable[DependencySentence | PartialDependencies],
        n_best: int = 1,
        *,
        projective: bool = True,
        scored: bool = True,
        jobs: int | None = 1,
    ) -> Iterator[Parses[DependencySentence]]:
        """Find up to `n_best` trees of each sentence, in order, as `parse_nbest` or `parse` does.

        Sentences are read and parsed in batches, which takes less time than one by one.

        sentences: the sentences, or sentences with constraints; an empty sentence has no trees.
        n_best: the largest number of trees of a sentence; it must be 1 if trees need not be projective.
        projective: whether trees must be projective.
        scored: whether to compute the trees' probabilities.
        jobs: the number of processes; see `spectral_latent.grammar.batches.map_batches`.
        Raises ValueError, before a sentence is read, if n_best < 1, or if n_best > 1 although trees need not be
        projective.
        """
        checked("n_best", n_best, Count)
        checked("projective", projective, bool)
        checked("scored", scored, bool)
        if n_best > 1 and not projective:
            raise ValueError(f"n_best must be 1 for trees that need not be projective, not {n_best}")
        return map_batches(_parses_of, self, sentences, jobs, n_best, projective, scored)

    def parse_text(self, text: str, n_best: int = 1, *, jobs: int | None = 1) -> Iterator[Parses[DependencySentence]]:
        """Find up to `n_best` projective trees of each sentence of a raw text, in order.

        text: the text, which `tokenisation` divides into sentences and words.
        n_best: the largest number of trees of a sentence.
        jobs: the number of processes; see `spectral_latent.grammar.batches.map_batches`.
        Raises ValueError, before a sentence is parsed, if n_best < 1.
        """
        sentences = self.tokenisation.sentences(text)
        words = (DependencySentence.of([token.word for token in tokens]) for tokens in sentences)
        return self.parse_all(words, n_best, jobs=jobs)

    def score(self, sentences: Iterable[DependencySentence]) -> Weight:
        """Estimate the probabilities p̂ of trees with their words, as sign and log.

        A word that was never seen is replaced by its signature.  A tree with a tag that was never seen has p̂ = 0.

        sentences: the trees, projective or not.
        Raises EstimationError if a sentence is not a tree with one root.
        """
        return self.parser.score(list(check_trees(sentences, DependencySentence)))

    @property
    def named_operators(self) -> NamedOperators:
        """The operators, with the names of symbols (the tag of the head and the role) and words; see `inspection`."""
        names = [f"{symbol.tag}/{symbol.role}" for symbol in self.symbols]
        grammar = self.grammar
        return NamedOperators(grammar.operators, names, grammar.lexicon.terminal_names, grammar.coarse)

    @property
    def description(self) -> dict[str, Any]:
        """The facts about the model, its tags and relations among them."""
        relations = None if self.relations is None else self.relations.names
        tags = {"tags": self.grammar.tags, "column": self.options.tags}
        return super().description | tags | {"relations": relations}

    def contents(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Collect the arrays and the settings of the model's file."""
        relations = self.relations
        settings = {
            "symbols": [list(symbol) for symbol in self.symbols],
            "relations": None if relations is None else relations.settings(),
            **self.grammar.settings(),
        }
        return self.grammar.arrays() | ({} if relations is None else relations.arrays()), settings

    @staticmethod
    def from_arrays(arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> DependencyModel:
        """Make a model from the contents of its file.

        arrays: the arrays of the file by name.
        settings: the settings of the file.
        """
        symbols = setting_from("symbols", settings, Annotated[list[HeadSymbol], Distinct()])
        options = setting_from("options", settings, DependencyOptions)
        tag_of_symbol = Vocabulary(settings["tags"]).numbers(symbol.tag for symbol in symbols)
        grammar = LatentGrammar.from_arrays(arrays, settings, tag_of_symbol, options)
        relations = RelationModel.from_arrays(arrays, settings["relations"])
        return DependencyModel(symbols, grammar, relations)


def prepare(
    sentences: Iterable[DependencySentence],
    options: DependencyOptions | None = None,
    *,
    weights: Iterable[float] | None = None,
    jobs: int | None = 1,
) -> Training[DependencyModel]:
    """Make a treebank and a model without latent states of dependency trees; their `estimate` gives the latent model.

    sentences: the trees, which are read once.
    options: the settings; None for the preset `fast`.
    weights: the weight of each tree; see `DependencyModel.train`.
    jobs: the number of threads; the result does not depend on it.
    Raises the errors of `DependencyModel.train`.
    """
    symbols, training, relations = prepare_parts(sentences, options or preset("fast"), weights=weights, jobs=jobs)
    return Training(DependencyModel(symbols, training.coarse, relations), training.treebank)


def _parses_of(
    model: DependencyModel,
    given: Sequence[DependencySentence | PartialDependencies],
    n_best: int,
    projective: bool,
    scored: bool,
) -> list[Parses[DependencySentence]]:
    """Find the trees of each of several sentences; a sentence without words has no trees."""
    trees = [each if isinstance(each, Partial) else unknown_tree(each) for each in given]
    for tree in trees:
        check_sentence(tree.sentence)
    with_words = [tree for tree in trees if tree.sentence.forms]
    found = iter(model.parser.parses(with_words, n_best, projective=projective, scored=scored))
    return [next(found) if tree.sentence.forms else Parses() for tree in trees]
