"""From sequences to operators: what tagged and untagged sequences share, and what they do not.

Tagged ones are learnt as any latent trees are, over a lexicon of words.  Untagged ones have one symbol, so that the
spectral estimator learns what is known as observable operators of a hidden Markov model; the other estimators learn
hidden Markov models proper, where an emission has the state of its position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Annotated, NamedTuple

import numpy as np

from spectral_latent._options import Above, AtLeast, AtMost, Below, Options
from spectral_latent.estimation import (
    Clusters,
    Columns,
    ColumnStore,
    EstimationError,
    EstimatorOptions,
    FeatureColumns,
    LeafMoments,
    Listener,
    Moments,
    Priors,
    Progress,
    Projection,
    Treebank,
    TreebankCounts,
    estimate,
    operators_from_moments,
    parallel_map,
    relative_frequencies,
    silent,
    spectral_moments,
    states_for,
)
from spectral_latent.lexicon import Lexicon, LexiconOptions, SpellingModel, WordCounts, smooth_emissions
from spectral_latent.operators import ObservableOperators, RuleTable
from spectral_latent.sequence.alphabet import Alphabet
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.sequence.features import longest_grams, tagged_features, untagged_features
from spectral_latent.sequence.hidden_markov import HiddenMarkov, baum_welch, position_counts
from spectral_latent.sequence.prediction import Predictor
from spectral_latent.trees import FloatArray, IntArray, Rules, SkeletalTrees

__all__ = ["Learnt", "SequenceOptions", "collect", "learn_tagged", "learn_untagged"]

_SHARD_POSITIONS = 1 << 15
_STATES = 8  # of each tag
_CANDIDATES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32)  # numbers of states to choose from
_HELD_OUT = 10  # one sequence in so many
_CHOICE = 1 << 19  # positions on which states are chosen, about
_ENOUGH = 6_000  # held-out sequences; where there are fewer, several parts are held out in turn
_FLOORS = (0.1, 0.03, 0.01, 0.003, 0.001)
_FLOOR = 0.01


@dataclass(frozen=True)
class SequenceOptions(Options):
    """Settings of training and tagging.

    n_states: m, latent states of each tag; None for 8 where sequences are tagged, and for the number that makes
    held-out sequences likeliest where they are not.
    estimator: its own number of states has no effect; nor, where sequences are not tagged, its smoothing, for there all
    positions share a rule.
    back_off: how many tokens of every tag are to be followed by any tag, in proportion to its frequency.
    floor: ε, what probabilities of events cannot fall below, times those of the coarse model; see `prediction`.  None
    for 0.01 where sequences are tagged, and for what makes held-out sequences likeliest where they are not.
    beam: tags of a word that are less likely than this times its likeliest tag are left out.
    threshold: tags whose posterior in the coarse model is less than this are left out.
    """

    n_states: Annotated[int, AtLeast(1)] | None = None
    estimator: EstimatorOptions = field(default_factory=EstimatorOptions)
    lexicon: LexiconOptions = field(default_factory=LexiconOptions)
    back_off: Annotated[float, Above(0.0), AtMost(1e9)] = 1.0
    floor: Annotated[float, AtLeast(0.0), Below(1.0)] | None = None
    beam: Annotated[float, AtLeast(0.0), Below(1.0)] = 1e-3
    threshold: Annotated[float, AtLeast(0.0), Below(1.0)] = 1e-3


class Learnt(NamedTuple):
    """The latent model, the coarse one over the same rules, which has one state for each tag; their shares, and ε."""

    prior: FloatArray
    coarse: ObservableOperators
    latent: ObservableOperators
    floor: float


class SequenceShard(NamedTuple):
    """Sequences whose s-trees and features are computed whenever they are asked for.

    columns: `terminal`, `tag` and `start` of `Sequences`.
    n_tags: K.
    featurise: a function of sequences that other processes find.
    """

    columns: Columns
    n_tags: int
    featurise: Callable[[Sequences], FeatureColumns]

    @property
    def sequences(self) -> Sequences:
        """The sequences."""
        return sequences_of(self.columns)

    @property
    def trees(self) -> SkeletalTrees:
        """The s-trees."""
        return self.sequences.trees(self.n_tags)

    @property
    def features(self) -> FeatureColumns:
        """The features of the nodes."""
        return self.featurise(self.sequences)


def sequences_of(columns: Columns) -> Sequences:
    """Take the sequences of a shard from its columns."""
    return Sequences(columns["terminal"], columns["tag"], columns["start"])


def _columns_of(sequences: Sequences) -> Columns:
    """Make the columns of a shard from sequences."""
    return {"terminal": sequences.terminal, "tag": sequences.tag, "start": sequences.start}


def collect(rows: Iterable[tuple[list[int], list[int]]]) -> ColumnStore:
    """Collect sequences, each as its terminals and its tags, in shards.

    Raises EstimationError if there is no sequence, or one is empty.
    """
    store = ColumnStore()
    terminals: list[list[int]] = []
    tags: list[list[int]] = []
    n_positions = 0
    for number, (row, tag) in enumerate(rows, start=1):
        if not row:
            raise EstimationError(f"sequence {number} is empty; leave it out")
        terminals.append(row)
        tags.append(tag)
        n_positions += len(row)
        if n_positions >= _SHARD_POSITIONS:
            store.append(_columns_of(Sequences.of(terminals, tags)))
            terminals, tags, n_positions = [], [], 0
    if terminals:
        store.append(_columns_of(Sequences.of(terminals, tags)))
    if not len(store):
        raise EstimationError("no sequences to learn from")
    return store


def _spelling(store: ColumnStore, words: list[str], n_tags: int) -> SpellingModel:
    """Learn what spelling tells of tags."""
    parts = []
    for sequences in map(sequences_of, store):
        opens = np.zeros(len(sequences.terminal), dtype=np.bool_)
        opens[sequences.start[:-1]] = True
        parts.append(WordCounts.of(sequences.tag, sequences.terminal, opens))
    seen = WordCounts.total(parts)
    return SpellingModel.train(words, seen.word, seen.symbol, seen.times, seen.opens, n_tags)


class _Prepared(NamedTuple):
    """A treebank of sequences, its shards, and how frequent its tags are, (K,)."""

    treebank: Treebank
    shards: list[SequenceShard]
    prior: FloatArray

    @staticmethod
    def of(
        store: Iterable[Columns],
        n_tags: int,
        featurise: Callable[[Sequences], FeatureColumns],
        priors: Priors,
        back_off: float,
        jobs: int | None,
    ) -> _Prepared:
        """Count the rules of sequences; any tag may follow any, `back_off` times in all."""
        shards = [SequenceShard(columns, n_tags, featurise) for columns in store]
        counts = TreebankCounts.of_shards(shards, jobs)
        emissions = counts.symbol[:n_tags]
        prior = emissions / emissions.sum()
        rules = _transitions(prior, counts.n_trees / (emissions.sum() + 1), back_off)
        return _Prepared(Treebank(shards, counts, priors._replace(rules=rules)), shards, prior)

    def coarse(self) -> ObservableOperators:
        """Compute the operators with one state for each tag."""
        return relative_frequencies(self.treebank.counts, self.treebank.priors)


def _transitions(prior: FloatArray, ends: float, tokens: float) -> RuleTable:
    """Count every tag followed by every tag, and by the end, `tokens` times in all.

    prior: (K,) how frequent the tags are.
    ends: the share of last positions.
    """
    n_tags = len(prior)
    tags = np.arange(n_tags)
    before, after = np.divmod(np.arange(n_tags**2), n_tags)
    rules = Rules(
        np.empty((0, 2), dtype=np.int64),
        unary=np.stack([n_tags + tags, tags], axis=1),
        binary=np.stack([n_tags + before, before, n_tags + after], axis=1),
    )
    return RuleTable.of_counts(
        rules,
        root=np.zeros(2 * n_tags),
        leaf=np.zeros(0),
        unary=np.full(n_tags, tokens * ends),
        binary=tokens * (1.0 - ends) * prior[after],
    )


def _smooth_words(moments: LeafMoments, lexicon: Lexicon, tag_of_symbol: IntArray) -> tuple[IntArray, FloatArray]:
    """Give rare and unseen words emissions."""
    return smooth_emissions(lexicon, moments, tag_of_symbol)


def learn_tagged(
    store: ColumnStore,
    n_tags: int,
    words: list[str],
    options: SequenceOptions,
    *,
    jobs: int | None = 1,
    listener: Listener = silent,
) -> tuple[Lexicon, Learnt]:
    """Learn from tagged sequences of words."""
    lexicon = Lexicon(words, options.lexicon, _spelling(store, words, n_tags))
    featurise = partial(tagged_features, ladders=lexicon.ladders(), n_tags=n_tags)
    smooth = partial(_smooth_words, lexicon=lexicon, tag_of_symbol=np.arange(2 * n_tags) % n_tags)
    priors = Priors(smooth, fragments=options.back_off)
    prepared = _Prepared.of(store, n_tags, featurise, priors, options.back_off, jobs)
    estimator = replace(options.estimator, n_states=_STATES if options.n_states is None else options.n_states)
    latent = estimate(prepared.treebank, estimator, jobs=jobs, listener=listener).operators
    floor = 0.0 if latent.probabilities else _FLOOR if options.floor is None else options.floor
    return lexicon, Learnt(prepared.prior, prepared.coarse(), latent, floor)


def _untagged(
    store: Sequence[Columns], alphabet: Alphabet, back_off: float, n_positions: int, jobs: int | None
) -> _Prepared:
    """Prepare sequences without tags; the length of n-grams depends on the number of positions."""
    n_symbols = len(alphabet.known)
    longest = longest_grams(n_symbols, n_positions)
    featurise = partial(untagged_features, n_symbols=n_symbols, longest=longest)
    return _Prepared.of(store, 1, featurise, Priors(alphabet.smooth), back_off, jobs)


@dataclass(frozen=True)
class _Fold:
    """Moments of nine sequences in ten, and the tenth."""

    moments: Moments
    priors: Priors
    coarse: ObservableOperators
    held_out: Sequences
    n_terminals: int

    @staticmethod
    def of(
        sequences: Sequences,
        fold: int,
        alphabet: Alphabet,
        options: EstimatorOptions,
        back_off: float,
        jobs: int | None,
    ) -> _Fold:
        """Hold out every tenth sequence, from number `fold` on, and take the moments of the others."""
        held_out = np.arange(sequences.n_sequences) % _HELD_OUT == fold
        kept = sequences.part(~held_out)
        store = ColumnStore()
        for part in kept.parts(_SHARD_POSITIONS):
            store.append(_columns_of(part))
        prepared = _untagged(store, alphabet, back_off, len(kept.terminal), jobs)
        projection = Projection.learn(prepared.treebank.shards, options, jobs)
        moments = spectral_moments(prepared.treebank, projection, jobs)
        coarse = prepared.coarse()
        return _Fold(moments, prepared.treebank.priors, coarse, sequences.part(held_out), alphabet.n_terminals)

    def score(self, m: int, floor: float) -> float:
        """The log-likelihood of what is held out, with m states."""
        moments = self.moments.truncated(np.minimum(self.moments.states, m))
        try:
            latent = operators_from_moments(moments, priors=self.priors)
            predictor = Predictor.of(latent, self.coarse, self.n_terminals, floor)
        except ValueError:  # with so many states, sequences never end
            return -np.inf
        return float(predictor.log_probabilities(self.held_out).sum())


class _Choice(NamedTuple):
    states: int
    floor: float


def _choose(
    sequences: Sequences, alphabet: Alphabet, options: SequenceOptions, jobs: int | None, listener: Listener
) -> _Choice:
    """What the options leave open: the number of states, then ε, with which held-out sequences are likeliest.

    One sequence in ten is held out, and learnt are the others; up to ten times, until 6,000 have been held out.
    Of equal choices, the smallest number of states and the largest ε.
    """
    floor = _FLOOR if options.floor is None else options.floor
    is_chosen = options.floor is not None or options.estimator.estimator != "spectral"
    if sequences.n_sequences < 2 * _HELD_OUT or (options.n_states is not None and is_chosen):
        return _Choice(options.n_states or 1, floor)
    n_folds = min(-(-_ENOUGH * _HELD_OUT // sequences.n_sequences), _HELD_OUT)
    estimator = replace(options.estimator, n_states=options.n_states or _CANDIDATES[-1], smoothing=None)
    folds = [_Fold.of(sequences, fold, alphabet, estimator, options.back_off, jobs) for fold in range(n_folds)]
    largest = min(int(fold.moments.states.max()) for fold in folds)
    states = [m for m in _CANDIDATES if m <= largest] if options.n_states is None else [options.n_states]
    scores = []
    for m in states:
        scores.append(sum(fold.score(m, floor) for fold in folds))
        listener(Progress("states", len(scores), len(states), score=scores[-1]))
    chosen = states[int(np.argmax(scores))]
    floors = _FLOORS if options.floor is None else (options.floor,)
    of_floors = [sum(fold.score(chosen, floor) for fold in folds) for floor in floors]
    return _Choice(chosen, floors[int(np.argmax(of_floors))])


def _smoothed(model: HiddenMarkov, counts: TreebankCounts, tokens: float) -> HiddenMarkov:
    """Let any state begin, end and follow, `tokens` times of all, and emit what was never seen."""
    n = float(counts.symbol[0])
    m = model.n_states
    unseen = Alphabet.unseen_tokens(counts.leaf[:, 0])

    def mixed(p: FloatArray, mean: float) -> FloatArray:
        return np.asarray((n * p + tokens * mean) / (n + tokens))

    return HiddenMarkov(
        mixed(model.initial, 1.0 / m),
        mixed(model.transition, 1.0 / m),
        mixed(model.stop, counts.n_trees / (n + 1)),
        np.concatenate([n * model.emission, np.full((m, 1), unseen)], axis=1) / (n + unseen),
    )


def _state_counts(shard: SequenceShard, clusters: Clusters, n_symbols: int) -> RuleTable:
    """Count the rules of a shard where each position has the cluster of its spine node as its state."""
    sequences = shard.sequences
    state = clusters.of_nodes(shard)[sequences.spine]
    return position_counts(sequences, state, n_symbols, int(clusters.states[1]))


def _hidden_markov(
    prepared: _Prepared, n_symbols: int, options: EstimatorOptions, jobs: int | None, listener: Listener
) -> HiddenMarkov:
    """Learn a hidden Markov model proper from sequences without tags."""
    shards = prepared.shards
    if options.estimator == "em":
        start = HiddenMarkov.random(prepared.treebank.counts, options.n_states, n_symbols, options.seed)
    elif options.estimator in ("clustering", "hybrid"):
        projection = Projection.learn(shards, options, jobs, listener)
        clusters = Clusters.learn(prepared.treebank, projection, options.seed, jobs)
        counts = reduce(RuleTable.__add__, parallel_map(_state_counts, shards, jobs, clusters, n_symbols))
        pseudo = 0.0 if options.estimator == "clustering" else options.state_smoothing
        start = HiddenMarkov.of_counts(counts, pseudo)
    else:
        raise EstimationError(
            f"sequences without tags are not learnt by {options.estimator!r}; "
            "the estimators are spectral, clustering, em and hybrid, and anchors have a model of their own"
        )
    if options.estimator == "clustering":
        return start
    return baum_welch(shards, start, options, jobs=jobs, listener=listener)[0]


def _asked_for(states: int, n_positions: int) -> int:
    """The number of states to ask for so that few positions get the number chosen; see `states_for`."""
    return next((m for m in range(states, 100 * states) if states_for(n_positions, m) >= states), states)


def _first_positions(store: ColumnStore) -> Sequences:
    """Join shards from the first on, up to so many positions as states are chosen on."""
    parts: list[Sequences] = []
    n_positions = 0
    for sequences in map(sequences_of, store):
        if n_positions >= _CHOICE:
            break
        parts.append(sequences)
        n_positions += len(sequences.terminal)
    return Sequences.joined(parts)


def learn_untagged(
    store: ColumnStore,
    alphabet: Alphabet,
    options: SequenceOptions,
    *,
    jobs: int | None = 1,
    listener: Listener = silent,
) -> Learnt:
    """Learn from sequences without tags; what is to be chosen is chosen on the first half million positions."""
    states, floor = _choose(_first_positions(store), alphabet, options, jobs, listener)
    n_positions = sum(len(columns["terminal"]) for columns in store)
    prepared = _untagged(store, alphabet, options.back_off, n_positions, jobs)
    estimator = replace(options.estimator, n_states=_asked_for(states, n_positions), smoothing=None)
    if estimator.estimator == "spectral":
        latent = estimate(prepared.treebank, estimator, jobs=jobs, listener=listener).operators
        return Learnt(prepared.prior, prepared.coarse(), latent, floor)
    model = _hidden_markov(prepared, len(alphabet.known), estimator, jobs, listener)
    smoothed = _smoothed(model, prepared.treebank.counts, options.back_off)
    return Learnt(prepared.prior, prepared.coarse(), smoothed.operators(), 0.0)
