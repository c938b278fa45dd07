"""How latent PCFGs over words are learnt: options, and a treebank made ready for estimation.

| here | meaning |
| --- | --- |
| coarse | the PCFG with one state a symbol: relative frequencies |
| prior | share of each symbol among the nodes of the treebank |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from spectral_latent.estimation import (
    EstimatorOptions,
    FeatureColumns,
    LeafMoments,
    Listener,
    RuleCounts,
    Shard,
    ShardedData,
    StoredShards,
    Tally,
    TrainingData,
    Unseen,
    estimate,
    relative_frequencies,
    silent,
)
from spectral_latent.grammar.latent_grammar import LatentGrammar
from spectral_latent.grammar.words import spelling_of
from spectral_latent.lexicon import Lexicon, LexiconOptions, smooth_emissions
from spectral_latent.operators import ObservableOperators, low_rank_operators
from spectral_latent.trees import BoolArray, FloatArray, IntArray, Rules, SkeletalTrees

__all__ = ["GrammarData", "GrammarOptions"]


@dataclass(frozen=True)
class GrammarOptions:
    """Settings of training and parsing.

    absolute: marginals are taken by absolute value before the arg max (slides 21, 22).
    fragments: trees to add that consist of any one phrase, so that fragments can be parsed; see `solve`.
    beam, threshold: what the coarse PCFG prunes; see `forests.pruned_forest`.
    rank: the most terms that stand for a binary rule's tensor, which is then smaller and faster but less exact; None
    for tensors as they are estimated.  See `operators.low_rank`.
    Raises ValueError for a rank below 1, and for one of spectral operators, whose numbers may be negative.
    """

    estimator: EstimatorOptions = field(default_factory=EstimatorOptions)
    lexicon: LexiconOptions = field(default_factory=LexiconOptions)
    absolute: bool = True
    fragments: float = 0.1
    beam: float = 1e-6
    threshold: float = 1e-4
    rank: int | None = None

    def __post_init__(self) -> None:
        if self.rank is not None and self.rank < 1:
            raise ValueError(f"the rank must be at least 1, not {self.rank}")
        if self.rank is not None and self.estimator.estimator == "spectral":
            raise ValueError("only an estimator of probabilities, such as hybrid, may have a rank; spectral gives none")


@dataclass(frozen=True, eq=False)
class GrammarData:
    """A treebank made ready for estimation, with what every grammar learnt from it shares.

    tag_of_symbol: (S,) the number of the tag of each symbol over words, such as `NN` and `NP\\|NN`; -1 of others.
    seen: (R2,) the binary rules that the treebank has; charts try these alone first.
    """

    options: GrammarOptions
    tags: list[str]
    tag_of_symbol: IntArray
    lexicon: Lexicon
    seen: BoolArray
    prior: FloatArray
    coarse: ObservableOperators
    data: TrainingData | ShardedData

    @staticmethod
    def of(
        trees: SkeletalTrees,
        features: FeatureColumns,
        words: Sequence[str],
        opens: BoolArray,
        tags: list[str],
        tag_of_symbol: IntArray,
        options: GrammarOptions,
        unseen_rules: RuleCounts | None = None,
    ) -> GrammarData:
        """Learn the spelling of `words`, the trees' terminals, and count rules.

        opens: whether each leaf, in node order, opens a sentence.  unseen_rules: to be counted besides.
        """
        tally = Tally.of(trees, opens)
        lexicon = Lexicon(words, options.lexicon, spelling_of(words, tally, tag_of_symbol, len(tags)))
        return GrammarData.over(Shard(trees, features), tally, lexicon, tags, tag_of_symbol, options, unseen_rules)

    @staticmethod
    def over(
        trees: Shard | StoredShards,
        tally: Tally,
        lexicon: Lexicon,
        tags: list[str],
        tag_of_symbol: IntArray,
        options: GrammarOptions,
        unseen_rules: RuleCounts | None = None,
    ) -> GrammarData:
        """With a lexicon that is learnt already; tally: of the trees, in memory or in shards."""

        def smooth(moments: LeafMoments) -> tuple[IntArray, FloatArray]:
            return smooth_emissions(lexicon, moments, tag_of_symbol)

        unseen = Unseen(smooth, options.fragments, unseen_rules or RuleCounts())
        prior, coarse = tally.symbol / tally.symbol.sum(), relative_frequencies(tally, unseen)
        seen = Rules.find(tally.rules.binary, coarse.rules.binary) >= 0
        data = TrainingData(*trees, unseen) if isinstance(trees, Shard) else ShardedData(trees, tally, unseen)
        return GrammarData(options, tags, tag_of_symbol, lexicon, seen, prior, coarse, data)

    def estimate(self, *, jobs: int | None = 1, listener: Listener = silent) -> LatentGrammar:
        """The grammar by the estimator of the options; on several processes with the same result."""
        operators = estimate(self.data, self.options.estimator, jobs=jobs, listener=listener)
        if self.options.rank is not None:
            operators = low_rank_operators(operators, self.options.rank)
        return self.grammar(operators)

    def grammar(self, operators: ObservableOperators) -> LatentGrammar:
        """The grammar with these latent operators."""
        parts = (self.lexicon, self.seen, self.prior, self.coarse)
        return LatentGrammar(self.options, self.tags, self.tag_of_symbol, *parts, operators)
