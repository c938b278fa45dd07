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
from spectral_latent.lexicon import Lexicon, LexiconOptions, smooth_emissions
from spectral_latent.operators import (
    ModelFileError,
    ObservableOperators,
    arrays_of,
    load_model,
    operators_from,
    options_from,
    save_model,
)
from spectral_latent.trees import FloatArray, Forest, IntArray, SkeletalTrees, Vocabulary

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

    labels: what each symbol stands for.  prior: (S,) share of each symbol among the nodes.  plain: the plain PCFG.
    """

    options: ConstituencyOptions
    labels: list[Label]
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
        labels = columns.symbols.names
        lexicon = Lexicon(columns.terminals.names, options.lexicon)
        _, tag = np.unique([label.chain[-1] for label in labels], return_inverse=True)

        def smooth(moments: LeafMoments) -> tuple[IntArray, FloatArray]:
            return smooth_emissions(lexicon, moments, tag)

        features = constituency_features(trees, head_is_right, tag, options.features)
        unseen = Unseen(smooth, options.fragments)
        plain = relative_frequencies(trees, unseen)
        data = TrainingData(trees, features, unseen)
        return Treebank(options, labels, lexicon, np.bincount(trees.symbol) / trees.n_nodes, plain, data)

    def model(self, operators: ObservableOperators) -> ConstituencyModel:
        """The parser with these latent operators."""
        return ConstituencyModel(self.options, self.labels, self.lexicon, self.prior, self.plain, operators)


@dataclass(frozen=True, eq=False)
class ConstituencyModel:
    """A latent PCFG, and the plain PCFG over the same rules that prunes its charts.

    labels: what each symbol stands for.  prior: (S,) share of each symbol among the training nodes.

    >>> def leaf(tag, word): return Phrase(tag, (word,))
    >>> trees = [Phrase("S", (leaf("NNS", noun), leaf("VBP", verb)))
    ...     for noun in ("cats", "dogs") for verb in ("bark", "sleep")]
    >>> model = ConstituencyModel.train(trees)
    >>> print(model.parse(["mice", "sleep"]).tree.bracketed())
    (S (NNS mice) (VBP sleep))
    """

    options: ConstituencyOptions
    labels: list[Label]
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

    def forest(self, words: Sequence[str]) -> Forest | None:
        """The pruned forest of a sentence; None if the grammar cannot derive it, whatever the words' tags."""
        terminals = self.lexicon.terminals_of(words)
        unknown = np.full(len(words), self.lexicon.unknown)
        for attempt, beam in ((terminals, self.options.beam), (terminals, 0.0), (unknown, 0.0)):
            forest = self._forests.build(attempt, beam)
            if forest is not None:
                return forest
        return None

    def marginals(self, forest: Forest) -> FloatArray:
        """μ / p̂(sentence) of each edge's item (E,): absolute values unless the options say otherwise."""
        inner = inside(self.operators, forest)
        mu = marginals(self.operators, forest, inner, outside(self.operators, forest, inner))
        return (np.abs(mu) if self.options.absolute else mu)[forest.item]

    def best_tree(self, forest: Forest, words: Sequence[str]) -> Phrase | None:
        """The minimum-Bayes-risk tree of a sentence's forest; None if the forest has no tree."""
        best = best_derivation(forest, self.marginals(forest))
        return None if best is None else phrase_of(best.tree(forest, self.operators.rules), self.labels, words)

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
        forest = self.forest(words)
        if forest is None:
            return [self.fallback(words)]
        mu = self.marginals(forest)
        if k == 1:
            best = best_derivation(forest, mu)
            return [self.fallback(words) if best is None else self._parse(best, forest, words)]
        return self._distinct(forest, mu, words, k) or [self.fallback(words)]

    def _distinct(self, forest: Forest, mu: FloatArray, words: Sequence[str], k: int) -> list[Parse]:
        """The first k different trees; a tree that has several derivations counts once, with the best of them."""
        drawn, distinct = 0, dict[str, Parse]()
        wanted = k
        while True:
            derivations = k_best_derivations(forest, mu, wanted)
            for derivation in derivations[drawn:]:
                parse = self._parse(derivation, forest, words)
                distinct.setdefault(parse.tree.bracketed(), parse)
            drawn = len(derivations)
            if len(distinct) >= k or drawn < wanted:
                return list(distinct.values())[:k]
            wanted *= 2

    def _parse(self, derivation: Derivation, forest: Forest, words: Sequence[str]) -> Parse:
        tree = derivation.tree(forest, self.operators.rules)
        weight = self._weights(tree)
        return Parse(phrase_of(tree, self.labels, words), int(weight.sign[0]), float(weight.log[0]))

    def _weights(self, trees: SkeletalTrees) -> Weight:
        return tree_weights(self.operators, Forest.of_trees(trees, self.operators.rules))

    def fallback(self, words: Sequence[str]) -> Parse:
        """A flat tree, marked by its label, over each word's most frequent tag."""
        tags = [self.labels[self._forests.likeliest(terminal)] for terminal in self.lexicon.terminals_of(words)]
        leaves = (Phrase(tag.chain[-1], (word,)) for tag, word in zip(tags, words, strict=True))
        return Parse(Phrase(FALLBACK, tuple(leaves)), 0, -np.inf)

    def score(self, phrases: Iterable[Phrase]) -> Weight:
        """Estimated probabilities p̂ of trees with their words, as sign and log; of a rule never seen, zero.

        The trees are cleaned as for training.  Raises EstimationError if one holds no word.
        """
        columns = TreeColumns.empty(self.labels)
        skeletal_trees(_cleaned(phrases), self.options.binarisation, columns)
        trees, _ = columns.trees()
        return self._weights(self._known(trees, columns.terminals))

    def _known(self, trees: SkeletalTrees, words: Vocabulary[str]) -> SkeletalTrees:
        """The trees with their words as this model's terminals, and symbols it lacks as -1."""
        opens = trees.first_leaf == 0
        terminal = trees.terminal.copy()
        for node in np.flatnonzero(trees.is_leaf):
            terminal[node] = self.lexicon.terminal(words.names[terminal[node]], opens=opens[node])
        symbol = np.where(trees.symbol < len(self.labels), trees.symbol, -1)
        return SkeletalTrees(symbol, trees.left, trees.right, terminal, trees.root)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, whole or not at all."""
        arrays = {"prior": self.prior, **arrays_of("plain", self.plain), **arrays_of("latent", self.operators)}
        settings = {
            "kind": _KIND,
            "options": asdict(self.options),
            "labels": [list(label) for label in self.labels],
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
            lexicon = Lexicon(settings["words"], options.lexicon)
            prior = arrays["prior"]
            plain, latent = operators_from("plain", arrays), operators_from("latent", arrays)
            if not all(label.chain for label in labels) or not isinstance(settings["words"], list):
                raise ValueError("labels or words are missing")
            if prior.ndim != 1 or prior.dtype != np.float64 or not np.isfinite(prior).all():
                raise ValueError("prior is not a column of finite numbers")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ModelFileError(f"{path}: the model is damaged ({error}); train it again") from None
        fits = len(labels) == len(prior) == plain.n_symbols == latent.n_symbols
        if not fits or not (plain.states == 1).all() or not plain.rules.equals(latent.rules):
            raise ModelFileError(f"{path}: the model's parts do not fit together; train it again")
        return ConstituencyModel(options, labels, lexicon, prior, plain, latent)


def _cleaned(phrases: Iterable[Phrase]) -> Iterable[Phrase]:
    """The phrases cleaned; EstimationError at one that holds no word."""
    for number, phrase in enumerate(phrases, start=1):
        cleaned = clean(phrase)
        if cleaned is None:
            raise EstimationError(f"tree {number} has no words: {phrase.bracketed()[:80]}")
        yield cleaned
