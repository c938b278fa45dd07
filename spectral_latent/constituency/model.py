"""The latent-variable PCFG: from phrases to operators, from sentences to phrases."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from spectral_latent.constituency.cleaning import clean
from spectral_latent.constituency.conversion import Binarisation, Label, TreeColumns, phrase_of, skeletal_trees
from spectral_latent.constituency.features import FeatureSet, constituency_features
from spectral_latent.constituency.forests import ForestBuilder
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.estimation import (
    EstimationError,
    EstimatorOptions,
    LeafMoments,
    Listener,
    TrainingData,
    Unseen,
    estimate,
    relative_frequencies,
    silent,
)
from spectral_latent.inference import (
    Derivation,
    Weight,
    best_derivation,
    inside,
    k_best_derivations,
    marginals,
    outside,
    tree_weights,
)
from spectral_latent.lexicon import Lexicon, LexiconOptions, SpellingModel, UnseenLeaves, UnseenWords, smooth_emissions
from spectral_latent.operators import (
    ModelFileError,
    ObservableOperators,
    arrays_of,
    load_model,
    operators_from,
    options_from,
    save_model,
)
from spectral_latent.trees import FloatArray, Forest, IntArray, SkeletalTrees

__all__ = ["FALLBACK", "ConstituencyModel", "ConstituencyOptions", "Parse", "Treebank"]

FALLBACK = "FALLBACK"  # the label over a flat tree for a sentence that the grammar cannot derive
_KIND = "constituency"


@dataclass(frozen=True)
class ConstituencyOptions:
    """Settings of training and parsing.

    absolute: marginals are taken by absolute value before the arg max (slides 21, 22).
    fragments: trees to add that consist of any one phrase, so that fragments can be parsed; see `solve`.
    beam, threshold: what the plain PCFG prunes; see `charts.fill` and `charts.extract`.
    """

    binarisation: Binarisation = field(default_factory=Binarisation)
    features: FeatureSet = "all"
    estimator: EstimatorOptions = field(default_factory=EstimatorOptions)
    lexicon: LexiconOptions = field(default_factory=LexiconOptions)
    absolute: bool = True
    fragments: float = 0.1
    beam: float = 1e-6
    threshold: float = 1e-4


class Parse(NamedTuple):
    """A tree for a sentence, and what the model says of it.

    sign, log: of the estimated probability p̂ of the derivation that gave the tree; an estimate may be negative.  The
    binarised grammar may derive one tree in several ways, of which `score` weighs the one that training would use.
    A fallback has sign 0, log -inf.
    """

    tree: Phrase
    sign: int
    log: float

    @property
    def is_fallback(self) -> bool:
        """Whether the grammar had no derivation of the sentence, and the tree is flat."""
        return self.tree.label == FALLBACK


@dataclass(frozen=True, eq=False)
class Treebank:
    """Phrases made ready for estimation: what every model learnt from them shares.

    labels: what each symbol stands for.  tags: those over words.  prior: (S,) share of each symbol among the nodes.
    plain: the plain PCFG.
    """

    options: ConstituencyOptions
    labels: list[Label]
    tags: list[str]
    lexicon: Lexicon
    prior: FloatArray
    plain: ObservableOperators
    data: TrainingData

    @staticmethod
    def of(phrases: Iterable[Phrase], options: ConstituencyOptions) -> Treebank:
        """Clean and binarise phrases, name their features, count their rules.

        Raises EstimationError if a phrase holds no word, or there is none.
        """
        columns = TreeColumns.empty()
        skeletal_trees(_cleaned(phrases), options.binarisation, columns)
        trees, head_is_right = columns.trees()
        if not trees.n_nodes:
            raise EstimationError("no trees to learn from")
        labels, words, leaf = columns.symbols.names, columns.terminals.names, trees.is_leaf
        tags = sorted({labels[symbol].chain[-1] for symbol in np.unique(trees.symbol[leaf]).tolist()})
        tag = _tag_of(labels, tags)
        opens = trees.first_leaf[leaf] == 0
        spelling = SpellingModel.train(words, trees.terminal[leaf], tag[trees.symbol[leaf]], None, opens, len(tags))
        lexicon = Lexicon(words, options.lexicon, spelling)

        def smooth(moments: LeafMoments) -> tuple[IntArray, FloatArray]:
            return smooth_emissions(lexicon, moments, tag)

        features = constituency_features(trees, head_is_right, tag, options.features)
        unseen = Unseen(smooth, options.fragments)
        plain = relative_frequencies(trees, unseen)
        data = TrainingData(trees, features, unseen)
        return Treebank(options, labels, tags, lexicon, np.bincount(trees.symbol) / trees.n_nodes, plain, data)

    def model(self, operators: ObservableOperators) -> ConstituencyModel:
        """The parser with these latent operators."""
        return ConstituencyModel(self.options, self.labels, self.tags, self.lexicon, self.prior, self.plain, operators)


@dataclass(frozen=True, eq=False)
class ConstituencyModel:
    """A latent PCFG, and the plain PCFG over the same rules that prunes its charts.

    labels: what each symbol stands for.  tags: those over words, as the lexicon's spelling numbers them.
    prior: (S,) share of each symbol among the training nodes.

    >>> def leaf(tag, word): return Phrase(tag, (word,))
    >>> trees = [Phrase("S", (leaf("NNS", noun), leaf("VBP", verb)))
    ...     for noun in ("cats", "dogs") for verb in ("bark", "sleep")]
    >>> model = ConstituencyModel.train(trees)
    >>> print(model.parse(["mice", "sleep"]).tree.bracketed())
    (S (NNS mice) (VBP sleep))
    """

    options: ConstituencyOptions
    labels: list[Label]
    tags: list[str]
    lexicon: Lexicon
    prior: FloatArray
    plain: ObservableOperators
    operators: ObservableOperators

    def __post_init__(self) -> None:
        if not self.plain.rules.equals(self.operators.rules):
            raise ValueError("the plain and the latent grammar must number the same rules")

    @staticmethod
    def train(
        phrases: Iterable[Phrase],
        options: ConstituencyOptions | None = None,
        *,
        jobs: int = 1,
        listener: Listener = silent,
    ) -> ConstituencyModel:
        """Learn from treebank trees, which are cleaned first; on several processes with the same result.

        Raises EstimationError if a tree holds no word, or there is no tree.
        """
        treebank = Treebank.of(phrases, options or ConstituencyOptions())
        return treebank.model(estimate(treebank.data, treebank.options.estimator, jobs=jobs, listener=listener))

    @cached_property
    def _forests(self) -> ForestBuilder:
        return ForestBuilder(self.plain, self.prior, self.options.threshold)

    @cached_property
    def _unseen(self) -> UnseenWords | None:
        """Leaf rules for unseen words, where the lexicon has learnt spellings; else they are their signatures."""
        if self.lexicon.spelling is None:
            return None
        tag = _tag_of(self.labels, self.tags)
        return UnseenWords(self.lexicon, self.plain.rules.leaf, self.plain.leaf[:, 0], self.prior, tag)

    def _read(self, sentences: Sequence[Sequence[str]], least: float) -> tuple[IntArray, UnseenLeaves]:
        """Terminals of all words, and leaf rules of those unseen, for tags that are no less likely than `least`."""
        if self._unseen is None:
            terminals = [self.lexicon.terminals_of(words) for words in sentences]
            return np.concatenate([np.zeros(0, dtype=np.int64), *terminals]), UnseenLeaves.none()
        return self._unseen.read(sentences, least)

    def _sentence(self, words: Sequence[str]) -> tuple[IntArray, UnseenLeaves]:
        return self._read([words], self.lexicon.options.least)

    def forest(self, words: Sequence[str]) -> Forest | None:
        """The pruned forest of a sentence; None if the grammar cannot derive it, whatever the words' tags.

        Its rules are those of `operators_for` the sentence.
        """
        return self._forest(*self._sentence(words))

    def operators_for(self, words: Sequence[str]) -> ObservableOperators:
        """The latent operators with leaf rules for those words of a sentence that are unseen."""
        return self._sentence(words)[1].added_to(self.operators)

    def _forest(self, terminals: IntArray, leaves: UnseenLeaves) -> Forest | None:
        charts = self._forests.with_leaves(leaves)
        unknown = np.full(len(terminals), self.lexicon.unknown)
        for attempt, beam in ((terminals, self.options.beam), (terminals, 0.0), (unknown, 0.0)):
            forest = charts.build(attempt, beam)
            if forest is not None:
                return forest
        return None

    def _marginals(self, operators: ObservableOperators, forest: Forest) -> FloatArray:
        """μ / p̂(sentence) of each edge's item (E,): absolute values unless the options say otherwise."""
        inner = inside(operators, forest)
        mu = marginals(operators, forest, inner, outside(operators, forest, inner))
        return (np.abs(mu) if self.options.absolute else mu)[forest.item]

    def best_tree(self, forest: Forest, words: Sequence[str]) -> Phrase | None:
        """The minimum-Bayes-risk tree of a sentence's forest; None if the forest has no tree."""
        operators = self.operators_for(words)
        best = best_derivation(forest, self._marginals(operators, forest))
        return None if best is None else phrase_of(best.tree(forest, operators.rules), self.labels, words)

    def parse(self, words: Sequence[str]) -> Parse:
        """The minimum-Bayes-risk tree of a sentence.  Raises ValueError if the sentence is empty."""
        return self.parse_nbest(words, 1)[0]

    def parse_nbest(self, words: Sequence[str], k: int) -> list[Parse]:
        """Up to k different trees of a sentence, by falling sum of marginals; a marked fallback at worst.

        Raises ValueError if the sentence is empty or k < 1.
        """
        if not words:
            raise ValueError("an empty sentence has no parse")
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        terminals, leaves = self._sentence(words)
        forest = self._forest(terminals, leaves)
        if forest is None:
            return [self.fallback(words)]
        operators = leaves.added_to(self.operators)
        mu = self._marginals(operators, forest)
        if k == 1:
            best = best_derivation(forest, mu)
            return [self.fallback(words) if best is None else self._parse(best, forest, operators, words)]
        return self._distinct(forest, mu, operators, words, k) or [self.fallback(words)]

    def _distinct(
        self, forest: Forest, mu: FloatArray, operators: ObservableOperators, words: Sequence[str], k: int
    ) -> list[Parse]:
        """The first k different trees; a tree that has several derivations counts once, with the best of them."""
        drawn, distinct = 0, dict[str, Parse]()
        wanted = k
        while True:
            derivations = k_best_derivations(forest, mu, wanted)
            for derivation in derivations[drawn:]:
                parse = self._parse(derivation, forest, operators, words)
                distinct.setdefault(parse.tree.bracketed(), parse)
            drawn = len(derivations)
            if len(distinct) >= k or drawn < wanted:
                return list(distinct.values())[:k]
            wanted *= 2

    def _parse(
        self, derivation: Derivation, forest: Forest, operators: ObservableOperators, words: Sequence[str]
    ) -> Parse:
        weight = tree_weights(operators, derivation.alone(forest))
        tree = phrase_of(derivation.tree(forest, operators.rules), self.labels, words)
        return Parse(tree, int(weight.sign[0]), float(weight.log[0]))

    def fallback(self, words: Sequence[str]) -> Parse:
        """A flat tree, marked by its label, over each word's most frequent tag."""
        terminals, leaves = self._sentence(words)
        charts = self._forests.with_leaves(leaves)
        tags = [self.labels[charts.likeliest(terminal)] for terminal in terminals.tolist()]
        found = (Phrase(tag.chain[-1], (word,)) for tag, word in zip(tags, words, strict=True))
        return Parse(Phrase(FALLBACK, tuple(found)), 0, -np.inf)

    def score(self, phrases: Iterable[Phrase]) -> Weight:
        """Estimated probabilities p̂ of trees with their words, as sign and log; of a rule never seen, zero.

        In the place of a word never seen stands its signature, under tags as likely as its spelling makes them.
        The trees are cleaned as for training.  Raises EstimationError if one holds no word.
        """
        cleaned = list(_cleaned(phrases))
        columns = TreeColumns.empty(self.labels)
        skeletal_trees(cleaned, self.options.binarisation, columns)
        trees, _ = columns.trees()
        terminals, leaves = self._read([list(phrase.words()) for phrase in cleaned], least=0.0)
        return tree_weights(leaves.added_to(self.operators), self._known(trees, terminals, leaves))

    def _known(self, trees: SkeletalTrees, terminals: IntArray, leaves: UnseenLeaves) -> Forest:
        """The trees over this model's terminals, one for each leaf; symbols and rules that it lacks are -1."""
        terminal = trees.terminal.copy()
        terminal[trees.is_leaf] = terminals
        symbol = np.where(trees.symbol < len(self.labels), trees.symbol, -1)
        known = SkeletalTrees(symbol, trees.left, trees.right, terminal, trees.root)
        forest = Forest.of_trees(known, self.operators.rules)
        found = leaves.find(symbol, terminal)
        return forest._replace(rule=np.where(found < 0, forest.rule, len(self.operators.rules.leaf) + found))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, whole or not at all."""
        arrays = {"prior": self.prior, **arrays_of("plain", self.plain), **arrays_of("latent", self.operators)}
        arrays |= self.lexicon.arrays()
        settings = {
            "kind": _KIND,
            "options": asdict(self.options),
            "labels": [list(label) for label in self.labels],
            "tags": self.tags,
            "words": self.lexicon.words,
        }
        save_model(path, arrays, settings)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> ConstituencyModel:
        """Read a model.  Raises ModelFileError if the file is not a whole model of this kind and version."""
        arrays, settings = load_model(path, _KIND)
        try:
            labels = [Label(tuple(chain), bool(bar), tuple(memory)) for chain, bar, memory in settings["labels"]]
            options = options_from(ConstituencyOptions, settings["options"])
            words, tags = settings["words"], settings["tags"]
            lexicon = Lexicon.from_arrays(words, options.lexicon, arrays)
            prior = arrays["prior"]
            plain, latent = operators_from("plain", arrays), operators_from("latent", arrays)
            if not all(label.chain for label in labels) or not isinstance(words, list):
                raise ValueError("labels or words are missing")
            if not all(isinstance(tag, str) for tag in tags):
                raise ValueError("a tag is no string")
            if prior.ndim != 1 or prior.dtype != np.float64 or not np.isfinite(prior).all():
                raise ValueError("prior is not a column of finite numbers")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ModelFileError(f"{path}: the model is damaged ({error}); train it again") from None
        fits = len(labels) == len(prior) == plain.n_symbols == latent.n_symbols
        if fits and lexicon.spelling is not None:
            over_words = _tag_of(labels, tags)[plain.rules.leaf[:, 0]]
            fits = lexicon.spelling.n_symbols == len(tags) and bool((over_words >= 0).all())
        if not fits or not (plain.states == 1).all() or not plain.rules.equals(latent.rules):
            raise ModelFileError(f"{path}: the model's parts do not fit together; train it again")
        return ConstituencyModel(options, labels, tags, lexicon, prior, plain, latent)


def _tag_of(labels: Sequence[Label], tags: Sequence[str]) -> IntArray:
    """The number of the tag that each symbol ends in (S,); -1 where it ends in none."""
    number = {tag: t for t, tag in enumerate(tags)}
    return np.array([number.get(label.chain[-1], -1) for label in labels])


def _cleaned(phrases: Iterable[Phrase]) -> Iterable[Phrase]:
    """The phrases cleaned; EstimationError at one that holds no word."""
    for number, phrase in enumerate(phrases, start=1):
        cleaned = clean(phrase)
        if cleaned is None:
            raise EstimationError(f"tree {number} has no words: {phrase.bracketed()[:80]}")
        yield cleaned
