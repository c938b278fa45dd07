"""The parser of dependency trees: a latent dependency grammar, and a model of relations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectral_latent.dependency.constraints import Constraints, PartialTree
from spectral_latent.dependency.conversion import (
    HeadSymbol,
    heads_are_right,
    require_heads,
    skeletal_trees,
)
from spectral_latent.dependency.decoding import ArcMarginals, arc_marginals, maximum_heads, n_best_heads
from spectral_latent.dependency.floors import floored_weights
from spectral_latent.dependency.forests import headed
from spectral_latent.dependency.options import DependencyOptions
from spectral_latent.dependency.presets import preset
from spectral_latent.dependency.relations import RelationModel
from spectral_latent.dependency.sentence import BLANK, DependencySentence, check_sentence
from spectral_latent.dependency.training import prepare
from spectral_latent.drawing import Html, heat_map
from spectral_latent.estimation import Listener, silent
from spectral_latent.grammar import (
    Charts,
    LatentGrammar,
    Limits,
    Parses,
    SentenceGrammar,
    Surprisal,
    Training,
    Unit,
    check_kind,
    check_n_best,
    entropies,
    mean_inside_vectors,
)
from spectral_latent.grammar.batches import map_sentences
from spectral_latent.inference import Weight, tree_weights
from spectral_latent.inspection import NamedOperators
from spectral_latent.operators import Distinct, ObservableOperators, StoredModel, setting_from
from spectral_latent.tokenisation import Tokenisation
from spectral_latent.trees import BoolArray, FloatArray, IntArray, Vocabulary

__all__ = ["DependencyModel", "DependencyParse"]

_ANY_TREE = Constraints()
_LEAST = 1e-8  # arcs of smaller marginals are in no tree


class DependencyParse(NamedTuple):
    """A tree for a sentence, and its estimated probability p̂.

    sentence: the words with their annotation, and the heads found.
    sign: the sign of p̂, which may be negative; 0 for a fallback.
    log: log |p̂|; -inf where the sign is 0.
    is_fallback: whether the grammar does not derive the sentence, so that the tree is flat.
    """

    sentence: DependencySentence
    sign: int
    log: float
    is_fallback: bool = False

    def _repr_svg_(self) -> str | None:
        """Draw the arcs, for notebooks."""
        return self.sentence._repr_svg_()


@dataclass(frozen=True, eq=False, repr=False)
class DependencyModel(StoredModel):
    """A latent dependency grammar: it scores trees, and parses words with or without tags.

    symbols: what each symbol of the grammar stands for.
    grammar: the operators over words, and the options.
    relations: the model of the relations of arcs; None if arcs have no relations.

    >>> def tree(words, tags, heads): return DependencySentence.of(words, tags).with_heads(heads)
    >>> trees = [tree(["big", noun, verb], ["JJ", "NNS", "VBP"], (2, 3, 0))
    ...     for noun in ("cats", "dogs") for verb in ("bark", "sleep")]
    >>> model = DependencyModel.train(trees)
    >>> model.parse(DependencySentence.of(["big", "mice", "sleep"])).sentence.heads
    (2, 3, 0)
    """

    kind: ClassVar[str] = "dependency"

    symbols: list[HeadSymbol]
    grammar: LatentGrammar[DependencyOptions]
    relations: RelationModel | None = None

    @property
    def sizes(self) -> str:
        """The sizes of the model."""
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
        """The way to divide raw text into sentences and words."""
        return Tokenisation(frozenset(self.grammar.lexicon.words))

    def with_operators(self, operators: ObservableOperators, objective: tuple[float, ...] = ()) -> DependencyModel:
        """Replace the latent operators by others over the same rules.

        operators: operators over the same rules as the coarse ones.
        objective: the objective of the EM that made them; empty for other operators.
        """
        return replace(self, grammar=self.grammar.with_operators(operators, objective))

    def with_limits(self, limits: Limits) -> DependencyModel:
        """Replace the limits of what a sentence may cost.

        limits: the other limits.
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

        sentences: the trees, which are read once.
        options: the settings; None for those of the preset `fast`, see `presets`.
        weights: for each tree how many it stands for, a number of at least 0; 1 if not given.
        jobs: threads; None for as many workers as the engine has that `joblib.parallel_config` names.  The result is
        the same.
        listener: told how far the work is.
        Words without a tag in the column of tags get one, and a warning counts them; see `with_all_tags`.
        Raises EstimationError if there are no sentences, or if one is not a tree with one root.
        """
        training = DependencyModel.prepare(sentences, options, weights=weights, jobs=jobs)
        return training.estimate(jobs=jobs, listener=listener)

    @staticmethod
    def prepare(
        sentences: Iterable[DependencySentence],
        options: DependencyOptions | None = None,
        *,
        weights: Iterable[float] | None = None,
        jobs: int | None = 1,
    ) -> Training[DependencyModel]:
        """Make trees ready for estimation by any estimator; errors are those of `train`.

        sentences: the trees, which are read once.
        options: settings; those of the estimator are not used.
        weights: for each tree how many it stands for, a number of at least 0; 1 if not given.
        jobs: threads; the result does not depend on it.
        """
        symbols, training, relations = prepare(sentences, options or preset("fast"), weights=weights, jobs=jobs)
        return Training(DependencyModel(symbols, training.coarse, relations), training.treebank)

    @cached_property
    def _head_is_right(self) -> BoolArray:
        return heads_are_right(self.symbols, self.grammar.coarse.rules.binary)

    @cached_property
    def _stand_in(self) -> FloatArray:
        return mean_inside_vectors(self.grammar.operators, self.grammar.coarse)

    @cached_property
    def _tags(self) -> Vocabulary[str]:
        return Vocabulary(self.grammar.tags)

    def _tags_of_words(self, sentence: DependencySentence) -> IntArray:
        """Number the tag of each word (n,); -1 for a tag that is missing or was never seen."""
        if not self.options.attachment.symbols_have_tags:
            return np.zeros(len(sentence.forms), dtype=np.int64)
        return self._tags.numbers(self.options.tags_of(sentence))

    def unknown_tags(self, sentence: DependencySentence) -> list[str]:
        """List the tags of a sentence that the model does not know, so that the words may have any tag.

        sentence: the words, with tags or without.

        >>> model = DependencyModel.train([DependencySentence.of(["Yes"], ["UH"]).with_heads((0,))])
        >>> model.unknown_tags(DependencySentence.of(["Oh", "yes"], ["INTJ", "UH"]))
        ['INTJ']
        """
        if not self.options.attachment.symbols_have_tags:
            return []
        return [tag for tag in self.options.tags_of(sentence) if tag != BLANK and tag not in self._tags]

    def _chart(self, sentence: DependencySentence) -> Charts:
        """Build the pruned chart of a sentence."""
        check_sentence(sentence)
        return self.grammar.charts([self.options.words_of(sentence)], self._tags_of_words(sentence))

    @cached_property
    def _unpruned(self) -> LatentGrammar[DependencyOptions]:
        """The grammar, with charts that hold all that it derives, by rules that no tree had, too."""
        unpruned = replace(self.options, threshold=0.0, beam=0.0)
        return replace(self.grammar, options=unpruned, seen=np.ones_like(self.grammar.seen))

    def _arcs(
        self, sentence: DependencySentence, constraints: Constraints = _ANY_TREE
    ) -> tuple[SentenceGrammar, ArcMarginals | None]:
        """Compute the posteriors of a sentence's arcs, and the grammar over its words; None if it has no derivation."""
        check_sentence(sentence)
        n = len(sentence.forms)
        words = self.options.words_of(sentence)
        tags = self._tags_of_words(sentence)
        is_free = constraints == _ANY_TREE
        permits = None if is_free else constraints.permits(tags, self.grammar.tag_of_symbol)
        allowed = None if is_free else constraints.allowed(n)
        # Charts are pruned before heads are known, and may have lost all trees that obey the constraints.
        for latent in [self.grammar] if is_free else [self.grammar, self._unpruned]:
            grammar, spans = latent.charts([words], tags, [permits])
            if len(spans.first):
                arcs = headed(spans.forest, self._head_is_right, spans.first, n, allowed)
                found = arc_marginals(grammar.latent, arcs, n)
                if found.sign:
                    return grammar, found
        return grammar, None

    def log_probabilities(self, sentences: Iterable[DependencySentence]) -> FloatArray:
        """Compute the natural logarithms (T,) of the estimated probabilities of sentences with the tags they have.

        They are sums over all trees in the pruned chart.  They are -inf where the grammar does not derive the sentence,
        and where the estimate is not above zero, which happens to spectral models.  In the place of a word never seen
        stands its signature.

        sentences: words without a tag, or with a tag never seen, may have any tag.  Heads are not looked at.
        Raises ValueError if a sentence is empty.
        """
        logs = [self._chart(sentence).weight().log_if_positive for sentence in sentences]
        return np.concatenate([np.zeros(0), *logs])

    def surprisal(self, sentence: DependencySentence, unit: Unit = "bits") -> Surprisal:
        """Compute the surprisal of each word with the tag it has, after the words before it.

        A word that was never seen is as surprising as its signature, with the probabilities of tags that its spelling
        gives.

        sentence: words without a tag, or with a tag never seen, may have any tag.  Heads are not looked at.
        unit: the unit of surprisal, "bits" or "nats".
        Raises ValueError if the sentence is empty, for another unit, and for a grammar whose estimates may be negative.

        >>> sentences = [DependencySentence.of([word, "now"]).with_heads((0, 1)) for word in ("go", "stop")]
        >>> model = DependencyModel.train(sentences * 100)
        >>> model.surprisal(DependencySentence.of(["go", "now"])).total.round(1)
        array([1., 0.])
        """
        check_sentence(sentence)
        found = self.grammar.prefixes(self.options.words_of(sentence), self._tags_of_words(sentence))
        return found.surprisal(unit)

    def entropy(self, sentence: DependencySentence, unit: Unit = "bits") -> FloatArray:
        """Compute the entropy (n + 1,) of what may follow each prefix of a sentence of n words: a word, or the end.

        Words that were never seen count as one word for each signature.

        sentence: words without a tag, or with a tag never seen, may have any tag.  Heads are not looked at.
        unit: the unit of entropy, "bits" or "nats".
        Raises ValueError if the sentence is empty, for another unit, and for a grammar whose estimates may be negative.

        >>> sentences = [DependencySentence.of([word, "now"]).with_heads((0, 1)) for word in ("go", "stop")]
        >>> DependencyModel.train(sentences * 100).entropy(DependencySentence.of(["go", "now"])).round(1)
        array([1.8, 0.9, 0. ])
        """
        check_sentence(sentence)
        found = self.grammar.next_words(self.options.words_of(sentence), self._tags_of_words(sentence))
        return entropies(found.following, unit)

    def posteriors(self, sentence: DependencySentence) -> FloatArray:
        """Compute the posteriors of the arcs that a sentence of n words may have.

        Returns μ (n + 1, n): μ[g, m] is that of the arc from word g, where 0 is the root, to word m + 1.  Their
        signs are those that the options ask for; zero if the grammar does not derive the sentence.

        sentence: words without a tag, or with a tag never seen, may have any tag.  Heads are not looked at.
        Raises ValueError if the sentence is empty.
        """
        _, marginals = self._arcs(sentence)
        n = len(sentence.forms)
        if marginals is None:
            return np.zeros((n + 1, n))
        return self.options.with_signs(marginals.arcs, marginals.sign)

    def draw_posteriors(self, sentence: DependencySentence) -> Html:
        """Draw the posteriors of arcs as a table, from the head of the row to the word of the column.

        sentence: as `posteriors` takes it.
        Raises ValueError if the sentence is empty.
        """
        caption = "Posterior of the word of the row as head of the word of the column"
        return heat_map(caption, ["the root", *sentence.forms], sentence.forms, self.posteriors(sentence).tolist())

    def _tagged(self, sentence: DependencySentence, symbols: FloatArray) -> DependencySentence:
        """Give every word without a tag the likeliest one; symbols: (n, S) posteriors."""
        column = self.options.tags
        tags: tuple[str, ...] = getattr(sentence, column)
        if BLANK not in tags or not self.options.attachment.symbols_have_tags:
            return sentence
        by_tag = np.zeros((len(tags), len(self.grammar.tags)))
        np.add.at(by_tag.T, self.grammar.tag_of_symbol, np.abs(symbols).T)
        likeliest = [self.grammar.tags[tag] for tag in by_tag.argmax(axis=1).tolist()]
        filled = tuple(new if tag == BLANK else tag for tag, new in zip(tags, likeliest, strict=True))
        return sentence.with_tags(column, filled)

    def part_posteriors(self, trees: Iterable[DependencySentence]) -> list[FloatArray]:
        """Compute the posterior of the arc to each word, (n,) for each tree; see `posteriors`.

        trees: several trees of one sentence of n words, with one root or more.  Each has the posteriors of its words
        with its own tags.
        Raises EstimationError if a tree has not one head for each word.
        """
        posteriors_of: dict[tuple[tuple[str, ...], tuple[str, ...]], FloatArray] = {}
        rows = []
        for number, tree in enumerate(trees, start=1):
            require_heads(tree, number)
            words = self.options.words_of(tree)
            tags = self.options.tags_of(tree)
            if (words, tags) not in posteriors_of:
                posteriors_of[words, tags] = self.posteriors(tree)
            rows.append(posteriors_of[words, tags][list(tree.heads or ()), np.arange(len(words))])
        return rows

    def check(self, sentence: DependencySentence, constraints: Constraints, *, projective: bool = True) -> None:
        """Raise TypeError for constraints on phrases, and ValueError if they do not fit a sentence and the parser.

        sentence: the words.
        constraints: the trees that the sentence may have.
        projective: whether known arcs must not cross.
        """
        check_sentence(sentence)
        if constraints == _ANY_TREE:
            return
        check_kind(constraints, Constraints)
        constraints.check(len(sentence.forms), [] if self.relations is None else self.relations.names)
        if projective and (arcs := constraints.crossing()):
            (head, word), (other_head, other_word) = arcs
            raise ValueError(
                f"the arcs {head} → {word} and {other_head} → {other_word} cross; ask for trees that need not be "
                f"projective"
            )

    def parse(
        self, sentence: DependencySentence, *, projective: bool = True, constraints: Constraints = _ANY_TREE
    ) -> DependencyParse:
        """Find the tree whose arcs have the largest sum of posteriors: the one of minimum Bayes risk.

        sentence: words without a tag get the likeliest one.
        projective: whether only projective trees are looked at.
        constraints: the trees that the sentence may have.
        Raises ValueError if the sentence is empty, if the constraints do not fit it and the parser, and if the arcs of
        known heads cross where trees are projective.

        >>> def tree(words, heads): return DependencySentence.of(words).with_heads(heads)
        >>> trees = [tree(["eat", "or", "sleep"], (0, 3, 1)), tree(["eat", "or", "sleep"], (0, 1, 1))]
        >>> model = DependencyModel.train(trees)
        >>> model.parse(DependencySentence.of(["sleep", "or", "eat"]), constraints=Constraints({2: 3})).sentence.heads
        (0, 3, 1)
        """
        if projective:
            return self.parse_nbest(sentence, 1, constraints=constraints)[0]
        self.check(sentence, constraints, projective=False)
        crosses = constraints.crossing() is not None
        grammar, marginals = self._arcs(sentence, _ANY_TREE if crosses else constraints)
        heads = None
        if marginals is not None:
            weights = self._weights(marginals)
            if crosses:  # no chart has these arcs
                weights = np.where(constraints.allowed(len(sentence.forms)), weights, 0.0)
                for word, head in constraints.heads.items():
                    weights[head, word - 1] = 1.0
            heads = maximum_heads(weights)
        return self._parses(sentence, grammar, marginals, [] if heads is None else [heads], constraints)[0]

    def parse_nbest(
        self, sentence: DependencySentence, n_best: int, *, constraints: Constraints = _ANY_TREE
    ) -> Parses[DependencyParse]:
        """Find up to `n_best` projective trees, by falling sum of their arcs' posteriors.

        A sentence that the grammar does not derive, under the constraints, gets a tree that is flat but for them.

        sentence: words without a tag get the likeliest one.
        n_best: the most trees to find.
        constraints: the trees that the sentence may have; known relations change no head.
        Raises ValueError if the sentence is empty or n_best < 1, if the constraints do not fit the sentence and the
        parser, and if the arcs of known heads cross.
        """
        check_n_best(n_best)
        self.check(sentence, constraints)
        grammar, marginals = self._arcs(sentence, constraints)
        heads = [] if marginals is None else n_best_heads(self._weights(marginals), n_best)
        return self._parses(sentence, grammar, marginals, heads, constraints)

    def parse_all(
        self,
        sentences: Iterable[DependencySentence | PartialTree],
        n_best: int = 1,
        *,
        projective: bool = True,
        jobs: int | None = 1,
    ) -> Iterator[Parses[DependencyParse]]:
        """Find up to `n_best` trees of each sentence, in order, as `parse_nbest` or `parse` does.

        sentences: the sentences, or what is known of their trees; an empty one has no tree.
        n_best: how many trees; 1 where they need not be projective.
        projective: whether only projective trees are looked at.
        jobs: processes; see `spectral_latent.grammar.batches.map_sentences`.
        Raises ValueError, before a sentence is read, if n_best < 1, or if n_best > 1 where trees need not be
        projective.
        """
        check_n_best(n_best)
        if n_best > 1 and not projective:
            raise ValueError(f"n_best must be 1 for trees that need not be projective, not {n_best}")
        return map_sentences(_parses_of, self, sentences, jobs, n_best, projective)

    def parse_text(self, text: str, n_best: int = 1, *, jobs: int | None = 1) -> Iterator[Parses[DependencyParse]]:
        """Find up to `n_best` projective trees of each sentence of a raw text, in order.

        text: the text, which `tokenisation` divides into sentences and words.
        n_best: how many trees of each sentence at most.
        jobs: processes; see `spectral_latent.grammar.batches.map_sentences`.
        Raises ValueError, before a sentence is parsed, if n_best < 1.
        """
        sentences = self.tokenisation.sentences(text)
        words = (DependencySentence.of([token.word for token in tokens]) for tokens in sentences)
        return self.parse_all(words, n_best, jobs=jobs)

    def _weights(self, marginals: ArcMarginals) -> FloatArray:
        """Compute what arcs (n + 1, n) are worth in a tree; those with marginals near zero are worth nothing."""
        weights = self.options.with_signs(marginals.arcs, marginals.sign)
        return np.where(weights > _LEAST, weights, 0.0)

    def _parses(
        self,
        sentence: DependencySentence,
        grammar: SentenceGrammar,
        marginals: ArcMarginals | None,
        heads: Sequence[tuple[int, ...]],
        constraints: Constraints,
    ) -> Parses[DependencyParse]:
        """Make the parses with these heads, and fill in relations and missing tags; a fallback if there are none."""
        if marginals is None or not heads:
            return Parses([self._fallback(sentence, constraints)])
        tagged = self._tagged(sentence, marginals.symbols)
        labelled = self._labelled([tagged.with_heads(each) for each in heads])
        trees = [constraints.with_known_relations(tree) for tree in labelled]
        # With tags filled in, words are others to the grammar than before.
        weight = self._score(trees, grammar.repeated(np.array([len(trees)])) if tagged is sentence else None)
        return Parses(
            DependencyParse(tree, int(sign), float(log))
            for tree, sign, log in zip(trees, weight.sign, weight.log, strict=True)
        )

    def _fallback(self, sentence: DependencySentence, constraints: Constraints) -> DependencyParse:
        """Make the flat tree whose root is the first word, but for the arcs that constraints require or forbid."""
        weights = constraints.allowed(len(sentence.forms)).astype(float)
        weights[1] *= 2.0
        weights[0, 0] *= 2.0
        found = n_best_heads(weights, 1)
        heads = found[0] if found else maximum_heads(weights)
        if heads is None:
            raise ValueError("no tree is without all forbidden arcs; allow some of them")
        (tree,) = self._labelled([sentence.with_heads(heads)])
        return DependencyParse(constraints.with_known_relations(tree), 0, -np.inf, is_fallback=True)

    def _labelled(self, trees: Sequence[DependencySentence]) -> list[DependencySentence]:
        """Give trees the likeliest relations; or none, if the model has no relations."""
        if self.relations is None:
            return [tree.with_heads(tree.heads, (BLANK,) * len(tree.forms)) for tree in trees]
        relations_of_each = self.relations.relations([self.options.tagged_tree(tree) for tree in trees])
        return [tree.with_heads(tree.heads, names) for tree, names in zip(trees, relations_of_each, strict=True)]

    def score(self, sentences: Iterable[DependencySentence]) -> Weight:
        """Estimate the probabilities p̂ of trees with their words, as sign and log.

        In the place of a word never seen stands its signature.  A tree with a tag never seen has p̂ = 0.

        sentences: the trees, projective or not.
        Raises EstimationError if a sentence is not a tree with one root.
        """
        return self._score(list(sentences), None)

    def _score(self, sentences: Sequence[DependencySentence], grammar: SentenceGrammar | None) -> Weight:
        """Compute the weights of trees, by the grammar over all their words if that is known."""
        tags = [self.options.tags_of(sentence) for sentence in sentences]
        converted = skeletal_trees(sentences, tags, self.options.attachment, Vocabulary(self.symbols))
        if grammar is None:
            words = [self.options.words_of(sentence) for sentence in sentences]
            tag = np.concatenate([np.zeros(0, dtype=np.int64), *map(self._tags_of_words, sentences)])
            grammar = self.grammar.for_sentences(words, tag)
        forest = grammar.forest_of(converted.trees)
        if self.options.floor is None or grammar.latent.probabilities:
            return tree_weights(grammar.latent, forest)
        return floored_weights(
            grammar.latent, grammar.coarse, converted.trees, forest, self._stand_in, self.options.floor
        )

    @property
    def named_operators(self) -> NamedOperators:
        """The operators, with names: the tag of a symbol's head and its role, and words; see `inspection`."""
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
        """Make a model of the contents of its file.

        arrays: the arrays of the file by name.
        settings: the settings of the file.
        """
        symbols = setting_from("symbols", settings, Annotated[list[HeadSymbol], Distinct()])
        options = setting_from("options", settings, DependencyOptions)
        tag_of_symbol = Vocabulary(settings["tags"]).numbers(symbol.tag for symbol in symbols)
        grammar = LatentGrammar.from_arrays(arrays, settings, tag_of_symbol, options)
        relations = RelationModel.from_arrays(arrays, settings["relations"])
        return DependencyModel(symbols, grammar, relations)


def _parses_of(
    model: DependencyModel, given: DependencySentence | PartialTree, n_best: int, projective: bool
) -> Parses[DependencyParse]:
    """Find the trees of one of many sentences."""
    sentence, constraints = given if isinstance(given, PartialTree) else (given, _ANY_TREE)
    check_sentence(sentence)
    if not sentence.forms:
        return Parses()
    if not projective:
        return Parses([model.parse(sentence, projective=False, constraints=constraints)])
    return model.parse_nbest(sentence, n_best, constraints=constraints)
