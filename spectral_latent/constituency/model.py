"""The latent-variable PCFG: from phrases to operators, from sentences to phrases."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from spectral_latent.constituency.cleaning import clean
from spectral_latent.constituency.conversion import Binarisation, Label, TreeColumns, phrase_of, skeletal_trees
from spectral_latent.constituency.features import FeatureSet, constituency_features
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.estimation import EstimationError, Listener, silent
from spectral_latent.grammar import GrammarData, GrammarOptions, LatentGrammar
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
from spectral_latent.operators import ModelFileError, ObservableOperators, load_model, options_from, save_model
from spectral_latent.trees import FloatArray, Forest, IntArray

__all__ = ["FALLBACK", "ConstituencyModel", "ConstituencyOptions", "Parse", "Treebank"]

FALLBACK = "FALLBACK"  # the label over a flat tree for a sentence that the grammar cannot derive
_KIND = "constituency"


@dataclass(frozen=True)
class ConstituencyOptions(GrammarOptions):
    """Settings of training and parsing: those of grammars, how phrases become binary, and which features they have."""

    binarisation: Binarisation = field(default_factory=Binarisation)
    features: FeatureSet = "all"


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

    labels: what each symbol stands for.
    """

    options: ConstituencyOptions
    labels: list[Label]
    grammar: GrammarData

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
        family = _family(labels, tags)
        features = constituency_features(trees, head_is_right, family, options.features)
        opens = trees.first_leaf[leaf] == 0
        return Treebank(options, labels, GrammarData.of(trees, features, words, opens, tags, family, options))

    def model(self, operators: ObservableOperators) -> ConstituencyModel:
        """The parser with these latent operators."""
        return ConstituencyModel(self.options, self.labels, self.grammar.grammar(operators))


@dataclass(frozen=True, eq=False)
class ConstituencyModel:
    """A latent PCFG of phrases.

    labels: what each symbol of the grammar stands for.

    >>> def leaf(tag, word): return Phrase(tag, (word,))
    >>> trees = [Phrase("S", (leaf("NNS", noun), leaf("VBP", verb)))
    ...     for noun in ("cats", "dogs") for verb in ("bark", "sleep")]
    >>> model = ConstituencyModel.train(trees)
    >>> print(model.parse(["mice", "sleep"]).tree.bracketed())
    (S (NNS mice) (VBP sleep))
    """

    options: ConstituencyOptions
    labels: list[Label]
    grammar: LatentGrammar

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
        return ConstituencyModel(
            treebank.options, treebank.labels, treebank.grammar.estimate(jobs=jobs, listener=listener)
        )

    def with_operators(self, operators: ObservableOperators) -> ConstituencyModel:
        """The parser with other latent operators over the same rules."""
        return replace(self, grammar=replace(self.grammar, operators=operators))

    def forest(self, words: Sequence[str]) -> Forest | None:
        """The pruned forest of a sentence; None if the grammar cannot derive it, whatever the words' tags.

        Its rules are those of `operators_for` the sentence.
        """
        spans = self.grammar.forest(self.grammar.read(words))
        return None if spans is None else spans.forest

    def operators_for(self, words: Sequence[str]) -> ObservableOperators:
        """The latent operators with leaf rules for those words of a sentence that are unseen."""
        return self.grammar.operators_for(self.grammar.read(words))

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
        read = self.grammar.read(words)
        spans = self.grammar.forest(read)
        if spans is None:
            return [self.fallback(words)]
        forest = spans.forest
        operators = self.grammar.operators_for(read)
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
        tags = [self.labels[symbol] for symbol in self.grammar.likeliest(self.grammar.read(words))]
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
        return self.grammar.weights(columns.trees()[0], [list(phrase.words()) for phrase in cleaned])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, whole or not at all."""
        settings = {"kind": _KIND, "labels": [list(label) for label in self.labels]}
        save_model(path, self.grammar.arrays(), settings | self.grammar.settings())

    @staticmethod
    def load(path: str | os.PathLike[str]) -> ConstituencyModel:
        """Read a model.  Raises ModelFileError if the file is not a whole model of this kind and version."""
        arrays, settings = load_model(path, _KIND)
        try:
            labels = [Label(tuple(chain), bool(bar), tuple(memory)) for chain, bar, memory in settings["labels"]]
            if not all(label.chain for label in labels):
                raise ValueError("labels are missing")
            options = options_from(ConstituencyOptions, settings["options"])
            family = _family(labels, settings["tags"])
            return ConstituencyModel(options, labels, LatentGrammar.from_arrays(arrays, settings, family, options))
        except ModelFileError as error:
            raise ModelFileError(f"{path}: {error}") from None
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ModelFileError(f"{path}: the model is damaged ({error}); train it again") from None


def _family(labels: Sequence[Label], tags: Sequence[str]) -> IntArray:
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
