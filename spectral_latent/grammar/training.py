"""Train a latent grammar on the treebank of a formalism over words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, Self, TypeVar

from spectral_latent.estimation import (
    LeafMoments,
    Listener,
    Priors,
    Treebank,
    reestimate,
    relative_frequencies,
    silent,
)
from spectral_latent.files import CompactOperators, rounded_operators
from spectral_latent.grammar.latent_grammar import LatentGrammar
from spectral_latent.grammar.options import GrammarOptions
from spectral_latent.lexicon import Lexicon, SpellingModel, WordCounts, smooth_emissions
from spectral_latent.operators import Counts, ObservableOperators
from spectral_latent.trees import FloatArray, IntArray, Rules, Vocabulary

__all__ = ["Training", "prepare_grammar", "spelling_of"]


def spelling_of(words: Sequence[str], counts: WordCounts, tag_of_symbol: IntArray, n_tags: int) -> SpellingModel:
    """Train a model of the tags of words, given their spelling.

    words: the names of the terminals.
    counts: the number of times that each symbol is above each word.
    tag_of_symbol: (S,) the number of the tag of each symbol over words.
    n_tags: the number of tags.

    >>> import numpy as np
    >>> seen = WordCounts.of(np.array([0, 1]), np.array([0, 1]), np.array([True, False]))
    >>> model = spelling_of(["dogs", "barked"], seen, np.array([0, 1, -1]), n_tags=2)
    >>> model.posterior(["cats", "barks"]).shape
    (2, 2)
    """
    tag = tag_of_symbol[counts.symbol]
    return SpellingModel.train(words, counts.word, tag, counts.times, counts.opens, n_tags)


class CoarseModel(Protocol):
    """A model without latent states, whose operators can be replaced by latent ones."""

    @property
    def options(self) -> GrammarOptions:
        """The settings of training."""

    def with_operators(self, operators: ObservableOperators, objective: tuple[float, ...] = ()) -> Self:
        """Replace the latent operators by others over the same rules."""


Model = TypeVar("Model", bound=CoarseModel)
Grammar = TypeVar("Grammar", bound=LatentGrammar[Any, Any, Any, Any, Any])


@dataclass(frozen=True, eq=False)
class Training(Generic[Model]):
    """A treebank that is ready for estimation, and its model without latent states.

    coarse: the model without latent states: its latent operators are the coarse operators.
    treebank: the treebank from which the latent operators are estimated.
    """

    coarse: Model
    treebank: Treebank

    def estimate(self, *, jobs: int | None = 1, listener: Listener = silent) -> Model:
        """Estimate the latent model by the estimator of its options."""
        latent = self.coarse.options.estimator.fit(self.treebank, jobs=jobs, listener=listener)
        return self.coarse.with_operators(rounded_operators(latent.operators), latent.rounded_objective)

    def reestimate(self, operators: ObservableOperators, *, jobs: int | None = 1) -> Model:
        """Estimate the latent model by one iteration of EM from probabilities over the rules of the treebank.

        operators: the probabilities from which the iteration starts.
        """
        latent = reestimate(self.treebank, operators, self.coarse.options.estimator, jobs=jobs)
        return self.coarse.with_operators(rounded_operators(latent))


def prepare_grammar(
    kind: type[Grammar],
    symbols: list[Any],
    treebank: Treebank,
    lexicon: Lexicon,
    tags: list[str],
    options: GrammarOptions,
    unseen_rules: Counts | None = None,
) -> Training[Grammar]:
    """Estimate the coarse grammar of a treebank, with priors for words, fragments and rules that the treebank lacks.

    kind: the class of the grammar.
    symbols: (S,) the meaning of each symbol.
    treebank: s-trees whose terminals are the words of the lexicon, without priors.
    lexicon: the words.
    tags: the names of the tags.
    options: the settings of the grammar.
    unseen_rules: pseudo-counts of rules that the treebank lacks; none if not given.
    """
    tag_of_symbol = Vocabulary(tags).numbers(map(kind.tag_of, symbols))

    def smooth(moments: LeafMoments) -> tuple[IntArray, FloatArray]:
        """Smooth the emissions of rare and unseen words."""
        return smooth_emissions(lexicon, options.lexicon, moments, tag_of_symbol)

    counts = treebank.counts
    priors = Priors(smooth, options.fragments, unseen_rules)
    coarse = rounded_operators(relative_frequencies(counts, priors))
    seen = Rules.find(counts.rules.binary, coarse.rules.binary) >= 0
    share = counts.symbol / counts.symbol.sum()
    grammar = kind(options, symbols, tags, lexicon, seen, share, coarse, CompactOperators.of(coarse))
    return Training(grammar, replace(treebank, priors=priors))
