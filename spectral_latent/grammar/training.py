"""From a treebank of a formalism over words to a latent grammar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from spectral_latent.estimation import (
    LeafMoments,
    Listener,
    Priors,
    Treebank,
    TreebankCounts,
    TreebankShard,
    estimate,
    relative_frequencies,
    silent,
)
from spectral_latent.grammar.latent_grammar import LatentGrammar
from spectral_latent.grammar.options import GrammarOptions
from spectral_latent.lexicon import Lexicon, SpellingModel, WordCounts, smooth_emissions
from spectral_latent.operators import RuleTable
from spectral_latent.trees import FloatArray, IntArray, Rules

__all__ = ["GrammarTraining", "spelling_of"]


def spelling_of(words: Sequence[str], counts: WordCounts, tag_of_symbol: IntArray, n_tags: int) -> SpellingModel:
    """Learn which tags go with which spellings.

    words: the terminals.
    counts: how often each symbol stands over each word.
    tag_of_symbol: (S,) the number of the tag of each symbol over words.

    >>> import numpy as np
    >>> seen = WordCounts.of(np.array([0, 1]), np.array([0, 1]), np.array([True, False]))
    >>> model = spelling_of(["dogs", "barked"], seen, np.array([0, 1, -1]), n_tags=2)
    >>> model.posterior(["cats", "barks"]).shape
    (2, 2)
    """
    tag = tag_of_symbol[counts.symbol]
    return SpellingModel.train(words, counts.word, tag, counts.times, counts.opens, n_tags)


@dataclass(frozen=True, eq=False)
class GrammarTraining:
    """A treebank made ready for estimation, and the grammar that it makes without latent states.

    coarse: the grammar whose latent operators are its coarse ones.
    treebank: what the latent operators are estimated from.
    """

    coarse: LatentGrammar
    treebank: Treebank

    @staticmethod
    def of(
        shards: Sequence[TreebankShard],
        counts: TreebankCounts,
        lexicon: Lexicon,
        tags: list[str],
        tag_of_symbol: IntArray,
        options: GrammarOptions,
        unseen_rules: RuleTable | None = None,
    ) -> GrammarTraining:
        """Estimate the coarse grammar of a treebank.

        shards: the s-trees; their terminals are the words of the lexicon.
        counts: how often the rules of all shards occur.
        tags: the names of the tags.
        tag_of_symbol: (S,) the number of the tag of each symbol over words; -1 for other symbols.
        unseen_rules: how often rules are to be counted besides those seen.
        """

        def smooth(moments: LeafMoments) -> tuple[IntArray, FloatArray]:
            """Give rare and unseen words emissions."""
            return smooth_emissions(lexicon, moments, tag_of_symbol)

        treebank = Treebank(shards, counts, Priors(smooth, options.fragments, unseen_rules))
        prior = counts.symbol / counts.symbol.sum()
        coarse = relative_frequencies(counts, treebank.priors)
        seen = Rules.find(counts.rules.binary, coarse.rules.binary) >= 0
        return GrammarTraining(
            LatentGrammar(options, tags, tag_of_symbol, lexicon, seen, prior, coarse, coarse), treebank
        )

    def estimate(self, *, jobs: int | None = 1, listener: Listener = silent) -> LatentGrammar:
        """Estimate the latent grammar by the estimator of the options; any number of `jobs` gives the same result."""
        options = self.coarse.options.estimator
        return replace(self.coarse, operators=estimate(self.treebank, options, jobs=jobs, listener=listener).operators)
