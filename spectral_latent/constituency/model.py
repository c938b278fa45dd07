"""The latent-variable PCFG: from phrases to operators, from sentences to phrases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from spectral_latent.constituency.cleaning import clean
from spectral_latent.constituency.conversion import Binarisation, Label, TreeColumns, phrase_of, skeletal_trees
from spectral_latent.constituency.features import FeatureSet, constituency_features
from spectral_latent.constituency.forests import ForestBuilder, SpanForest
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.estimation import LeafMoments, SpectralOptions, relative_frequencies, spectral
from spectral_latent.inference import (
    Weight,
    best_derivation,
    inside,
    k_best_derivations,
    marginals,
    outside,
    tree_weights,
)
from spectral_latent.lexicon import Lexicon, LexiconOptions, smooth_emissions
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import FloatArray, Forest, IntArray, SkeletalTrees, Vocabulary

__all__ = ["ConstituencyModel", "ConstituencyOptions", "Parse"]


@dataclass(frozen=True)
class ConstituencyOptions:
    """Settings of training and parsing."""

    binarisation: Binarisation = field(default_factory=Binarisation)
    features: FeatureSet = "all"
    spectral: SpectralOptions = field(default_factory=SpectralOptions)
    lexicon: LexiconOptions = field(default_factory=LexiconOptions)
    beam: float = 1e-9
    threshold: float = 1e-5
    absolute: bool = True


class Parse(NamedTuple):
    """A tree for a sentence, and what the model says of it."""

    tree: Phrase
    sign: int
    log: float
    fallback: bool


class ConstituencyModel:
    """A latent PCFG over a plain one; see `train`."""

    def __init__(
        self,
        options: ConstituencyOptions,
        labels: Sequence[Label],
        lexicon: Lexicon,
        prior: FloatArray,
        plain: ObservableOperators,
        operators: ObservableOperators,
    ) -> None:
        self.options, self.labels, self.lexicon, self.prior = options, list(labels), lexicon, prior
        self.plain, self.operators = plain, operators
        self.forests = ForestBuilder(plain, prior, options.beam, options.threshold)

    @staticmethod
    def train(phrases: Iterable[Phrase], options: ConstituencyOptions | None = None) -> ConstituencyModel:
        options = options or ConstituencyOptions()
        columns = TreeColumns(Vocabulary(), Vocabulary())
        cleaned = (clean(phrase) for phrase in phrases)
        skeletal_trees((phrase for phrase in cleaned if phrase is not None), options.binarisation, columns)
        trees, head_is_right = columns.trees()
        labels = columns.symbols.names
        lexicon = Lexicon(columns.terminals.names, options.lexicon)
        _, tag = np.unique([label.chain[-1] for label in labels], return_inverse=True)
        smoothing: Callable[[LeafMoments], tuple[IntArray, FloatArray]] = lambda m: smooth_emissions(lexicon, m, tag)
        features = constituency_features(trees, head_is_right, tag, options.features)
        operators = spectral(trees, features, options.spectral, smoothing)
        plain = relative_frequencies(trees, smoothing)
        prior = np.bincount(trees.symbol) / trees.n_nodes
        return ConstituencyModel(options, labels, lexicon, prior, plain, operators)

    def forest(self, words):
        return self.forests.build(self.lexicon.terminals_of(words))

    def parse(self, words: Sequence[str]) -> Parse | None:
        spans = self.forest(words)
        if spans is None:
            return None
        forest = spans.forest
        inner = inside(self.operators, forest)
        outer = outside(self.operators, forest, inner)
        mu = marginals(self.operators, forest, inner, outer)
        if self.options.absolute:
            mu = np.abs(mu)
        best = best_derivation(forest, mu)
        if best is None:
            return None
        tree = best.tree(forest, self.operators.rules)
        return Parse(phrase_of(tree, self.labels, words), 1, best.score, False)
