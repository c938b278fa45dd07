"""The latent dependency model: from annotated sentences to operators, from words to dependency trees."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectral_latent._options import Above, AtLeast, AtMost, Below
from spectral_latent.dependency.arc_features import TaggedTree
from spectral_latent.dependency.conversion import (
    Attachment,
    Label,
    heads_are_right,
    possible_rules,
    skeletal_trees,
)
from spectral_latent.dependency.features import dependency_features
from spectral_latent.dependency.floors import floored_weights, mean_inside_vectors
from spectral_latent.dependency.forests import ArcMarginals, arc_marginals, headed, k_best_heads, maximum_heads
from spectral_latent.dependency.relations import RelationModel
from spectral_latent.dependency.sentence import DependencySentence
from spectral_latent.estimation import (
    SHARD_NODES,
    ColumnStore,
    EstimationError,
    Listener,
    Shard,
    Treebank,
    TreebankCounts,
    silent,
)
from spectral_latent.grammar import GrammarOptions, GrammarTraining, LatentGrammar, SentenceGrammar, spelling_of
from spectral_latent.grammar.batches import answers
from spectral_latent.inference import Weight, tree_weights
from spectral_latent.lexicon import Lexicon, LexiconOptions, WordCounts
from spectral_latent.operators import Distinct, RuleTable, opened_model, save_model, setting_from
from spectral_latent.trees import BoolArray, FloatArray, IntArray, Rules, Vocabulary

__all__ = ["DependencyModel", "DependencyOptions", "DependencyParse", "DependencyTraining", "Trees"]

Column = Literal["forms", "upos", "xpos"]
Trees = Literal["projective", "any"]
_KIND = "dependency"
_BLANK = "_"
_LEAST = 1e-8  # arcs of smaller marginals are in no tree


@dataclass(frozen=True)
class DependencyOptions(GrammarOptions):
    """Settings of training and parsing: those of grammars, and

    attachment: how trees become binary.
    tags: which column of a sentence has the tags; the other one if that is not annotated.
    words: which column has the observations.
    lexicon: with leaf rules for less likely pairs than phrases need: a word may have any role under its tag.
    unseen: how many arcs never seen are counted for each symbol, by how frequent their dependant's tag is on its side.
    floor: where the estimated weight of a part of a tree is less than this share of the coarse PCFG's, that one stands
    in for it when trees are scored, so that no weight is negative; None for estimates as they are.  See `floors`.
    """

    attachment: Attachment = field(default_factory=Attachment)
    tags: Literal["upos", "xpos"] = "xpos"
    words: Column = "forms"
    lexicon: LexiconOptions = field(default_factory=lambda: LexiconOptions(min_expected=3e-5))
    unseen: Annotated[float, AtLeast(0.0), AtMost(1e9)] = 0.5
    floor: Annotated[float, Above(0.0), Below(1.0)] | None = 0.01


class DependencyParse(NamedTuple):
    """A tree for a sentence, and what the model says of it.

    sentence: the words with their annotation, and the heads found.
    sign, log: of the estimated probability p̂ of the tree and its words; an estimate may be negative.
    is_fallback: whether the grammar had no derivation of the sentence; the tree is flat, its sign 0, its log -inf.
    """

    sentence: DependencySentence
    sign: int
    log: float
    is_fallback: bool = False


class _Reading:
    """A treebank of dependency trees, while it is read."""

    def __init__(self, options: DependencyOptions) -> None:
        self.options = options
        self.labels = Vocabulary[Label]()
        self.forms = Vocabulary[str]()
        self.kinds = Vocabulary[str]()
        self.store = ColumnStore()
        self.words: list[WordCounts] = []
        self.n_read = 0
        self._batch: list[DependencySentence] = []
        self._n_nodes = 0

    def add(self, sentence: DependencySentence) -> None:
        """Append a sentence; a full shard is closed."""
        self._batch.append(sentence)
        self._n_nodes += 2 * len(sentence.forms)
        if self._n_nodes >= SHARD_NODES:
            self.close_shard()

    def close_shard(self) -> None:
        """Make a shard of the sentences since the last one, if there are any; features mean the same in all shards."""
        if not self._batch:
            return
        options = self.options
        tags = [_tags(sentence, options) for sentence in self._batch]
        converted = skeletal_trees(self._batch, tags, options.attachment, self.labels, self.n_read + 1)
        word = _numbers(self.forms, chain.from_iterable(getattr(sentence, options.words) for sentence in self._batch))
        tag = _numbers(self.kinds, chain.from_iterable(tags))
        features = dependency_features(converted, tag, word)
        opens = np.zeros(len(word), dtype=np.bool_)
        opens[np.cumsum([0, *(len(sentence.forms) for sentence in self._batch[:-1])])] = True
        leaf = converted.trees.is_leaf
        place = converted.trees.terminal[leaf]
        self.words.append(WordCounts.of(converted.trees.symbol[leaf], word[place], opens[place]))
        self.store.append(Shard.of(converted.over(word), features).columns)
        self.n_read += len(self._batch)
        self._batch = []
        self._n_nodes = 0


@dataclass(frozen=True, eq=False)
class DependencyTraining:
    """A treebank made ready for estimation, and the model that it makes without latent states."""

    coarse: DependencyModel
    treebank: Treebank

    @staticmethod
    def of(
        sentences: Iterable[DependencySentence], options: DependencyOptions, *, jobs: int | None = 1
    ) -> DependencyTraining:
        """Make trees binary, name their features, and count their rules; the sentences are read once.

        Relations are learnt in memory, from words, tags and heads alone.
        Raises EstimationError if there are none, or one is no tree with one root, or tags are missing from some words.
        """
        tagged: list[TaggedTree] = []
        relations: list[tuple[str, ...]] = []
        reading = None
        for chosen, sentence in _with_annotated_tags(sentences, options):
            reading = reading or _Reading(chosen)
            reading.add(sentence)
            tagged.append(_tagged_tree(sentence, chosen))
            relations.append(sentence.relations)
        if reading is None:
            raise EstimationError("no trees to learn from")
        reading.close_shard()
        options = reading.options
        labels = reading.labels.names
        names = sorted({label.tag for label in labels})
        tag_of_symbol = _tags_of_symbols(labels, names)
        shards = [Shard(columns) for columns in reading.store]
        counts = TreebankCounts.of_shards(shards, jobs)
        spelling = spelling_of(reading.forms.names, WordCounts.total(reading.words), tag_of_symbol, len(names))
        lexicon = Lexicon(reading.forms.names, options.lexicon, spelling)
        unseen = _unseen_rules(counts, labels, options)
        training = GrammarTraining.of(shards, counts, lexicon, names, tag_of_symbol, options, unseen)
        coarse = DependencyModel(options, labels, training.coarse, RelationModel.train(tagged, relations))
        return DependencyTraining(coarse, training.treebank)

    def estimate(self, *, jobs: int | None = 1, listener: Listener = silent) -> DependencyModel:
        """Estimate the model by the estimator of the options; `jobs` processes give the same result."""
        grammar = GrammarTraining(self.coarse.grammar, self.treebank).estimate(jobs=jobs, listener=listener)
        return replace(self.coarse, grammar=grammar)


@dataclass(frozen=True, eq=False)
class DependencyModel:
    """A latent dependency grammar: it scores trees, and parses words with or without tags.

    labels: what each symbol of the grammar stands for.
    relations: what tells the relations of the arcs that are found, which else have none.

    >>> def tree(words, tags, heads): return DependencySentence.of(words, tags)._replace(heads=heads)
    >>> trees = [tree(["big", noun, verb], ["JJ", "NNS", "VBP"], (2, 3, 0))
    ...     for noun in ("cats", "dogs") for verb in ("bark", "sleep")]
    >>> model = DependencyModel.train(trees)
    >>> model.parse(DependencySentence.of(["big", "mice", "sleep"])).sentence.heads
    (2, 3, 0)
    """

    options: DependencyOptions
    labels: list[Label]
    grammar: LatentGrammar
    relations: RelationModel | None = None

    @staticmethod
    def train(
        sentences: Iterable[DependencySentence],
        options: DependencyOptions | None = None,
        *,
        jobs: int | None = 1,
        listener: Listener = silent,
    ) -> DependencyModel:
        """Learn from dependency trees, projective or not; on several processes with the same result.

        Raises EstimationError if there are none, or one is no tree with one root, or tags are missing from some words.
        """
        training = DependencyTraining.of(sentences, options or DependencyOptions(), jobs=jobs)
        return training.estimate(jobs=jobs, listener=listener)

    @cached_property
    def _head_is_right(self) -> BoolArray:
        return heads_are_right(self.labels, self.grammar.coarse.rules.binary)

    @cached_property
    def _stand_in(self) -> FloatArray:
        return mean_inside_vectors(self.grammar.operators, self.grammar.coarse)

    @cached_property
    def _tag_numbers(self) -> dict[str, int]:
        return {tag: number for number, tag in enumerate(self.grammar.tags)}

    def _tags_of_words(self, sentence: DependencySentence) -> IntArray:
        """The number of each word's tag (n,); -1 for a tag that is missing or was never seen."""
        if not self.options.attachment.refined:
            return np.zeros(len(sentence.forms), dtype=np.int64)
        return np.array([self._tag_numbers.get(tag, -1) for tag in _tags(sentence, self.options)], dtype=np.int64)

    def _chart(self, sentence: DependencySentence) -> tuple[SentenceGrammar, ArcMarginals | None]:
        """The grammar over a sentence's words, and its arcs' posteriors; None if it does not derive the sentence."""
        words = getattr(sentence, self.options.words)
        grammar, spans = self.grammar.chart(words, self._tags_of_words(sentence))
        if spans is None:
            return grammar, None
        arcs = headed(spans.forest, self._head_is_right, spans.first, len(words))
        return grammar, arc_marginals(grammar.latent, arcs, len(words))

    def arc_marginals(self, sentence: DependencySentence) -> FloatArray | None:
        """μ(g, m), the posterior of the arc from word g to word m + 1, g = 0 the root: (n + 1, n).

        Words without a tag, or with one never seen, may have any.  Heads are not looked at.
        None if the grammar does not derive the sentence.  Raises ValueError if it is empty.
        """
        _, found = self._chart(sentence)
        return None if found is None else found.arcs

    def _tagged(self, sentence: DependencySentence, symbols: FloatArray) -> DependencySentence:
        """The sentence with the likeliest tag of every word that has none, given the posteriors (n, S) of symbols."""
        tags = _tags(sentence, self.options)
        if _BLANK not in tags or not self.options.attachment.refined:
            return sentence
        by_tag = np.zeros((len(tags), len(self.grammar.tags)))
        np.add.at(by_tag.T, self.grammar.tag_of_symbol, np.abs(symbols).T)
        likeliest = [self.grammar.tags[tag] for tag in by_tag.argmax(axis=1).tolist()]
        filled = tuple(new if tag == _BLANK else tag for tag, new in zip(tags, likeliest, strict=True))
        if self.options.tags == "xpos":
            return sentence._replace(xpos=filled)
        return sentence._replace(upos=filled)

    def posteriors(self, trees: Sequence[DependencySentence]) -> list[FloatArray]:
        """Of trees of one sentence, the posterior of the arc to each word, (n,) for each tree; see `arc_marginals`.

        By absolute value unless the options say otherwise; zero if the grammar does not derive the sentence.
        """
        if not trees:
            return []
        mu = self.arc_marginals(trees[0])
        n = len(trees[0].forms)
        if mu is None:
            return [np.zeros(n) for _ in trees]
        weights = self._absolute(mu)
        return [weights[list(tree.heads or ()), np.arange(n)] for tree in trees]

    def parse(self, sentence: DependencySentence, trees: Trees = "projective") -> DependencyParse:
        """The tree whose arcs have the most posterior: minimum Bayes risk, of projective trees or of all.

        Words without a tag get the likeliest one.
        Raises ValueError if the sentence is empty.
        """
        if trees == "projective":
            return self.parse_nbest(sentence, 1)[0]
        grammar, found = self._chart(sentence)
        heads = None if found is None else maximum_heads(self._weights(found.arcs))
        return self._parses(sentence, grammar, found, [] if heads is None else [heads])[0]

    def parse_nbest(self, sentence: DependencySentence, k: int) -> list[DependencyParse]:
        """Up to k projective trees, by falling sum of their arcs' posteriors; words without a tag get one.

        Raises ValueError if the sentence is empty or k < 1.
        """
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        grammar, found = self._chart(sentence)
        heads = [] if found is None else k_best_heads(self._weights(found.arcs), k)
        return self._parses(sentence, grammar, found, heads)

    def parse_all(
        self, sentences: Iterable[DependencySentence], k: int = 1, *, trees: Trees = "projective", jobs: int | None = 1
    ) -> Iterator[list[DependencyParse]]:
        """Up to k trees of each sentence, in order, as `parse_nbest` gives them, or `parse` for `trees`.

        An empty sentence has none.
        jobs: processes; see `spectral_latent.grammar.batches.answers`.
        Raises ValueError if k < 1, or if k > 1 where trees need not be projective.
        """
        if k != 1 and trees == "any":
            raise ValueError(f"k must be 1 for trees that need not be projective, not {k}")
        return answers(_parses_of, self, sentences, jobs, k, trees)

    def _weights(self, mu: FloatArray) -> FloatArray:
        """What arcs are worth in a tree; those of marginals near zero are worth nothing."""
        weights = self._absolute(mu)
        return np.where(weights > _LEAST, weights, 0.0)

    def _absolute(self, mu: FloatArray) -> FloatArray:
        """Marginals by absolute value, unless the options say otherwise."""
        return np.abs(mu) if self.options.absolute else mu

    def _parses(
        self,
        sentence: DependencySentence,
        grammar: SentenceGrammar,
        found: ArcMarginals | None,
        heads: Sequence[tuple[int, ...]],
    ) -> list[DependencyParse]:
        """The parses with these heads, relations and missing tags filled in; a fallback if there are none."""
        if found is None or not heads:
            return [self._fallback(sentence)]
        tagged = self._tagged(sentence, found.symbols)
        trees = self._labelled([tagged._replace(heads=each) for each in heads])
        # With tags filled in, words are others to the grammar than before.
        weight = self._score(trees, grammar.repeated(len(trees)) if tagged is sentence else None)
        return [
            DependencyParse(tree, int(sign), float(log))
            for tree, sign, log in zip(trees, weight.sign, weight.log, strict=True)
        ]

    def _fallback(self, sentence: DependencySentence) -> DependencyParse:
        """The flat tree whose root is the first word."""
        heads = (0, *[1] * (len(sentence.forms) - 1))
        return DependencyParse(self._labelled([sentence._replace(heads=heads)])[0], 0, -np.inf, is_fallback=True)

    def _labelled(self, trees: Sequence[DependencySentence]) -> list[DependencySentence]:
        """The trees with the likeliest relations, or without any."""
        if self.relations is None:
            return [tree._replace(relations=(_BLANK,) * len(tree.forms)) for tree in trees]
        found = self.relations.relations([_tagged_tree(tree, self.options) for tree in trees])
        return [tree._replace(relations=relations) for tree, relations in zip(trees, found, strict=True)]

    def score(self, sentences: Iterable[DependencySentence]) -> Weight:
        """Estimated probabilities p̂ of trees with their words, as sign and log; projective or not.

        In the place of a word never seen stands its signature.  A tree with a tag never seen has weight zero.
        Raises EstimationError if a sentence is no tree with one root.
        """
        return self._score(list(sentences), None)

    def _score(self, sentences: Sequence[DependencySentence], grammar: SentenceGrammar | None) -> Weight:
        """The weights of trees, by the grammar over all their words if that is known."""
        tags = [_tags(sentence, self.options) for sentence in sentences]
        converted = skeletal_trees(sentences, tags, self.options.attachment, Vocabulary(self.labels))
        if grammar is None:
            words = [getattr(sentence, self.options.words) for sentence in sentences]
            tag = np.concatenate([np.zeros(0, dtype=np.int64), *map(self._tags_of_words, sentences)])
            grammar = self.grammar.for_sentences(words, tag)
        forest = grammar.forest_of(converted.trees)
        if self.options.floor is None or grammar.latent.probabilities:
            return tree_weights(grammar.latent, forest)
        return floored_weights(
            grammar.latent, grammar.coarse, converted.trees, forest, self._stand_in, self.options.floor
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, whole or not at all."""
        settings: dict[str, Any] = {"kind": _KIND, "labels": [list(label) for label in self.labels], "relations": None}
        arrays = self.grammar.arrays()
        if self.relations is not None:
            settings["relations"] = self.relations.settings()
            arrays |= self.relations.arrays()
        save_model(path, arrays, settings | self.grammar.settings())

    @staticmethod
    def load(path: str | os.PathLike[str]) -> DependencyModel:
        """Read a model.  Raises ModelFileError if the file is not a whole model of this kind and version."""
        with opened_model(path, _KIND) as (arrays, settings):
            return DependencyModel.from_arrays(arrays, settings)

    @staticmethod
    def from_arrays(arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> DependencyModel:
        """Make a model of what its file holds, which `opened_model` gives; that explains what goes wrong."""
        labels = setting_from("labels", settings, Annotated[list[Label], Distinct()])
        options = setting_from("options", settings, DependencyOptions)
        tag_of_symbol = _tags_of_symbols(labels, settings["tags"])
        grammar = LatentGrammar.from_arrays(arrays, settings, tag_of_symbol, options)
        about = settings["relations"]
        relations = None if about is None else RelationModel.from_arrays(arrays, about)
        return DependencyModel(options, labels, grammar, relations)


def _parses_of(model: DependencyModel, sentence: DependencySentence, k: int, trees: Trees) -> list[DependencyParse]:
    if not sentence.forms:
        return []
    return [model.parse(sentence, trees)] if trees == "any" else model.parse_nbest(sentence, k)


def _tags(sentence: DependencySentence, options: DependencyOptions) -> tuple[str, ...]:
    return sentence.xpos if options.tags == "xpos" else sentence.upos


def _tagged_tree(sentence: DependencySentence, options: DependencyOptions) -> TaggedTree:
    return TaggedTree(getattr(sentence, options.words), _tags(sentence, options), sentence.heads or ())


def _with_annotated_tags(
    sentences: Iterable[DependencySentence], options: DependencyOptions
) -> Iterator[tuple[DependencyOptions, DependencySentence]]:
    """Pair sentences with the options, or with those for the other column of tags if theirs is nowhere annotated.

    The first sentence with words decides; where it has no tag in either column, neither has any other sentence.
    Raises EstimationError where a later one does not fit, or words have no tag.
    """
    other: Literal["upos", "xpos"] = "upos" if options.tags == "xpos" else "xpos"
    preferred = (options, replace(options, tags=other))
    chosen = options
    blank: tuple[DependencyOptions, ...] = ()
    first: tuple[int, DependencySentence] | None = None
    for number, sentence in enumerate(sentences, start=1):
        if first is None and sentence.forms:
            first = number, sentence
            # the columns before the first annotated one stay blank; all, if none is annotated
            n_blank = [*(_is_annotated(sentence, one) for one in preferred), True].index(True)
            blank = preferred[:n_blank]
            chosen = (*preferred, options)[n_blank]
        for one in blank:
            if first is not None and _is_annotated(sentence, one):
                raise _missing_tags(*first, one)
        if chosen not in blank and _BLANK in _tags(sentence, chosen):
            raise _missing_tags(number, sentence, chosen)
        yield chosen, sentence


def _is_annotated(sentence: DependencySentence, options: DependencyOptions) -> bool:
    """Tell whether some word has a tag in the column of the options."""
    return any(tag != _BLANK for tag in _tags(sentence, options))


def _missing_tags(number: int, sentence: DependencySentence, options: DependencyOptions) -> EstimationError:
    """Make the error of a sentence with words that have no tag."""
    return EstimationError(
        f"sentence {number} ({' '.join(sentence.forms[:12])}) has words without a tag in {options.tags}; "
        f"add them, or choose another column"
    )


def _unseen_rules(counts: TreebankCounts, labels: Sequence[Label], options: DependencyOptions) -> RuleTable:
    """Count every rule that is possible, in proportion to how often its dependant's symbol is one on that side."""
    seen = counts.rules.binary
    on_right = ~heads_are_right(labels, seen)
    dependant = np.where(on_right, seen[:, 2], seen[:, 1])
    count = np.zeros((2, len(labels)))
    np.add.at(count, (on_right.astype(np.int64), dependant), counts.binary.data)
    share = count / np.maximum(count.sum(axis=1, keepdims=True), 1.0)
    rules, is_right = possible_rules(labels, options.attachment)
    weight = share[is_right.astype(np.int64), np.where(is_right, rules[:, 2], rules[:, 1])]
    total = np.bincount(rules[:, 0], weight, minlength=len(labels))[rules[:, 0]]
    nothing = np.empty((0, 2), dtype=np.int64)
    return RuleTable.of_counts(
        Rules(nothing, nothing, rules),
        root=np.zeros(len(labels)),
        leaf=np.zeros(0),
        unary=np.zeros(0),
        binary=options.unseen * weight / total,
    )


def _tags_of_symbols(labels: Sequence[Label], tags: Sequence[str]) -> IntArray:
    """The number of each symbol's tag (S,); -1 if it is not among them."""
    number = {tag: t for t, tag in enumerate(tags)}
    return np.array([number.get(label.tag, -1) for label in labels])


def _numbers(names: Vocabulary[str], values: Iterable[str]) -> IntArray:
    return np.array([names.add(value) for value in values], dtype=np.int64)
