"""From sequences to the parameters of a model, with tags and without.

Tagged sequences are learnt as any latent trees are, over a lexicon of words.  Untagged ones have a single symbol, so
that the spectral estimator learns the observable operators of a hidden Markov model.  The other estimators learn a
hidden Markov model proper, where an emission has the state of its position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import NamedTuple

import numpy as np

from spectral_latent.estimation import (
    Clusters,
    Columns,
    ColumnStore,
    EstimationError,
    EstimatorOptions,
    FeatureColumns,
    Listener,
    Moments,
    Priors,
    Progress,
    Projection,
    Treebank,
    TreebankCounts,
    TreebankShard,
    estimate,
    operators_from_moments,
    parallel_map,
    relative_frequencies,
    silent,
    spectral_moments,
)
from spectral_latent.lexicon import Lexicon, SpellingModel, WordCounts, smooth_emissions
from spectral_latent.operators import ObservableOperators, RuleTable
from spectral_latent.sequence.alphabet import Alphabet
from spectral_latent.sequence.baum_welch import baum_welch
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.sequence.features import longest_grams, tagged_features, untagged_features
from spectral_latent.sequence.hidden_markov import HiddenMarkov, position_counts
from spectral_latent.sequence.options import HMMOptions, TaggerOptions
from spectral_latent.sequence.parameters import SequenceParameters
from spectral_latent.sequence.prediction import Predictor
from spectral_latent.trees import FloatArray, Rules, SkeletalTrees

__all__ = ["collect", "train_tagged", "train_untagged"]

_SHARD_POSITIONS = 1 << 15
_NUMBERS_OF_STATES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32)  # to choose from, besides the largest
_FLOORS = (0.1, 0.03, 0.01, 0.003, 0.001)  # to choose from
_FLOOR = 0.01  # where there is too little to choose by
_FOLDS = 10  # each holds out one sequence in so many
_HELD_OUT = 6_000  # sequences held out in all folds together, if there are so many
_CHOICE_POSITIONS = 1 << 19  # positions on which states are chosen, about


class SequenceShard(NamedTuple):
    """A shard of sequences, whose s-trees and features are computed whenever they are asked for.

    columns: `terminal`, `tag` and `start` of `Sequences`.
    n_tags: K.
    featurise: makes features of sequences; other processes must find it.
    """

    columns: Columns
    n_tags: int
    featurise: Callable[[Sequences], FeatureColumns]

    @property
    def sequences(self) -> Sequences:
        """The sequences."""
        return Sequences(**self.columns)

    @property
    def trees(self) -> SkeletalTrees:
        """The s-trees."""
        return self.sequences.trees(self.n_tags)

    @property
    def features(self) -> FeatureColumns:
        """The features of the nodes."""
        return self.featurise(self.sequences)


@dataclass(frozen=True)
class _StoredSequences:
    """The sequences of all shards; those of a shard in a file are read whenever they are asked for."""

    store: ColumnStore

    def __iter__(self) -> Iterator[Sequences]:
        return (Sequences(**columns) for columns in self.store)


def _columns_of(sequences: Sequences) -> Columns:
    """Make the columns of a shard from sequences."""
    return {"terminal": sequences.terminal, "tag": sequences.tag, "start": sequences.start}


def collect(rows: Iterable[tuple[list[int], list[int]]]) -> ColumnStore:
    """Collect sequences in shards.  Raises EstimationError if there is no sequence, or one is empty.

    rows: the terminals and the tags of each sequence.
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


def _treebank(
    store: Iterable[Columns],
    n_tags: int,
    featurise: Callable[[Sequences], FeatureColumns],
    priors: Priors,
    back_off: float,
    jobs: int | None,
) -> Treebank:
    """Count the rules of sequences, and let every tag follow every tag, `back_off` times in all."""
    shards = [SequenceShard(columns, n_tags, featurise) for columns in store]
    counts = TreebankCounts.of_shards(shards, jobs)
    ends = counts.n_trees / (counts.symbol[:n_tags].sum() + 1)
    rules = _transitions(_shares(counts, n_tags), ends, back_off)
    return Treebank(shards, counts, priors._replace(rules=rules))


def _shares(counts: TreebankCounts, n_tags: int) -> FloatArray:
    """Compute the share (K,) of each tag among all positions."""
    emissions = counts.symbol[:n_tags]
    return np.asarray(emissions / emissions.sum())


def _parameters(treebank: Treebank, n_tags: int, latent: ObservableOperators, floor: float) -> SequenceParameters:
    """Join latent operators with the coarse ones; probabilities need no floor."""
    coarse = relative_frequencies(treebank.counts, treebank.priors)
    floor = 0.0 if latent.probabilities else floor
    return SequenceParameters(_shares(treebank.counts, n_tags), coarse, latent, floor)


def _transitions(prior: FloatArray, ends: float, tokens: float) -> RuleTable:
    """Count every tag followed by every tag, and by the end, `tokens` times in all.

    prior: (K,) the share of each tag among all positions.
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


# ---------------------------------------------------------------------------------------------------------------------
# With tags


def _spelling(store: ColumnStore, words: list[str], n_tags: int) -> SpellingModel:
    """Learn how spelling predicts tags."""
    parts = []
    for sequences in (Sequences(**columns) for columns in store):
        opens = np.zeros(len(sequences.terminal), dtype=np.bool_)
        opens[sequences.start[:-1]] = True
        parts.append(WordCounts.of(sequences.tag, sequences.terminal, opens))
    seen = WordCounts.total(parts)
    return SpellingModel.train(words, seen.word, seen.symbol, seen.times, seen.opens, n_tags)


def train_tagged(
    store: ColumnStore,
    n_tags: int,
    words: list[str],
    options: TaggerOptions,
    *,
    jobs: int | None = 1,
    listener: Listener = silent,
) -> tuple[Lexicon, SequenceParameters]:
    """Learn a lexicon and parameters from tagged sequences of words.

    store: sequences, whose terminals are words.
    n_tags: K.
    words: the name of each terminal.
    options: settings.
    jobs: processes; the result does not depend on it.
    listener: told how far the estimator is.
    """
    lexicon = Lexicon(words, options.lexicon, _spelling(store, words, n_tags))
    featurise = partial(tagged_features, ladders=lexicon.ladders())
    smooth = partial(smooth_emissions, lexicon, family=np.arange(2 * n_tags) % n_tags)
    priors = Priors(smooth, fragments=options.back_off)
    treebank = _treebank(store, n_tags, featurise, priors, options.back_off, jobs)
    latent = estimate(treebank, options.estimator, jobs=jobs, listener=listener).operators
    return lexicon, _parameters(treebank, n_tags, latent, options.floor)


# ---------------------------------------------------------------------------------------------------------------------
# Without tags


def _untagged_treebank(
    store: Iterable[Columns], alphabet: Alphabet, back_off: float, n_positions: int, jobs: int | None
) -> Treebank:
    """Count the rules of sequences without tags; the length of n-grams depends on the number of positions."""
    featurise = partial(untagged_features, longest=longest_grams(len(alphabet.known), n_positions))
    return _treebank(store, 1, featurise, Priors(alphabet.smooth), back_off, jobs)


@dataclass(frozen=True)
class _Fold:
    """One sequence in ten, held out, and the spectral moments of the other nine.

    moments: with the most states.
    priors: of the operators.
    coarse: operators of one state.
    held_out: the other tenth.
    n_terminals: n, counting the one that was never seen.
    """

    moments: Moments
    priors: Priors
    coarse: ObservableOperators
    held_out: Sequences
    n_terminals: int

    @staticmethod
    def of(sequences: Sequences, fold: int, alphabet: Alphabet, options: HMMOptions, jobs: int | None) -> _Fold:
        """Hold out every tenth sequence, from number `fold` on, and take the moments of the others."""
        held_out = np.arange(sequences.n_sequences) % _FOLDS == fold
        kept = sequences.part(~held_out)
        store = [_columns_of(part) for part in kept.parts(_SHARD_POSITIONS)]
        treebank = _untagged_treebank(store, alphabet, options.back_off, len(kept.terminal), jobs)
        projection = Projection.learn(treebank.shards, options.estimator, jobs)
        moments = spectral_moments(treebank, projection, jobs)
        coarse = relative_frequencies(treebank.counts, treebank.priors)
        return _Fold(moments, treebank.priors, coarse, sequences.part(held_out), alphabet.n_terminals)

    def score(self, n_states: int, floor: float) -> float:
        """Compute the log-likelihood of the sequences held out; -inf if sequences would never end."""
        moments = self.moments.truncated(np.minimum(self.moments.states, n_states))
        try:
            latent = operators_from_moments(moments, priors=self.priors)
            predictor = Predictor.of(latent, self.coarse, self.n_terminals, floor)
        except ValueError:
            return -np.inf
        return float(predictor.log_probabilities(self.held_out.rows).sum())


def _choose(
    sequences: Sequences, alphabet: Alphabet, options: HMMOptions, jobs: int | None, listener: Listener
) -> tuple[int, float]:
    """Choose the number of states, then ε, each if the options leave it open, by the likelihood of held-out sequences.

    There are up to ten folds, until 6,000 sequences have been held out.  Of equal choices, the fewest states and the
    largest ε are taken.
    """
    n = sequences.n_sequences
    largest = options.estimator.n_states
    chooses_floor = options.floor is None and options.estimator.estimator == "spectral"
    floor = _FLOOR if options.floor is None else options.floor
    if n < 2 * _FOLDS or not (options.choose_states or chooses_floor):
        return 1 if options.choose_states else largest, floor
    folds = [
        _Fold.of(sequences, fold, alphabet, options, jobs) for fold in range(min(-(-_HELD_OUT * _FOLDS // n), _FOLDS))
    ]
    numbers = [largest]
    if options.choose_states:
        supported = min(int(fold.moments.states.max()) for fold in folds)
        numbers = [m for m in sorted({*_NUMBERS_OF_STATES, largest}) if m <= min(largest, supported)]
    scores = []
    for m in numbers:
        scores.append(sum(fold.score(m, floor) for fold in folds))
        listener(Progress("states", len(scores), len(numbers), score=scores[-1]))
    chosen = numbers[int(np.argmax(scores))]
    floors = _FLOORS if chooses_floor else (floor,)
    of_floors = [sum(fold.score(chosen, floor) for fold in folds) for floor in floors]
    return chosen, floors[int(np.argmax(of_floors))]


def _state_counts(shard: TreebankShard, clusters: Clusters, n_symbols: int) -> RuleTable:
    """Count the rules of a shard where each position has the cluster of its spine node as its state."""
    sequences = Sequences.of_trees(shard.trees)
    state = clusters.of_nodes(shard)[sequences.spine]
    return position_counts(sequences, state, n_symbols, int(clusters.states[1]))


def _hidden_markov(
    store: ColumnStore,
    treebank: Treebank,
    n_symbols: int,
    options: EstimatorOptions,
    jobs: int | None,
    listener: Listener,
) -> HiddenMarkov:
    """Learn a hidden Markov model proper: of clusters or of a random start, after which EM may follow."""
    if options.estimator == "em":
        observed = np.zeros(n_symbols)
        observed[treebank.counts.rules.leaf[:, 1]] = treebank.counts.leaf[:, 0]
        start = HiddenMarkov.random(observed, treebank.counts.n_trees, options.n_states, options.seed)
    else:
        projection = Projection.learn(treebank.shards, options, jobs, listener)
        clusters = Clusters.learn(treebank, projection, options.seed, jobs)
        counts = reduce(RuleTable.__add__, parallel_map(_state_counts, treebank.shards, jobs, clusters, n_symbols))
        start = HiddenMarkov.of_counts(counts, 0.0 if options.estimator == "clustering" else options.state_smoothing)
    if options.estimator == "clustering":
        return start
    return baum_welch(_StoredSequences(store), start, options, jobs=jobs, listener=listener)[0]


def _with_unseen(model: HiddenMarkov, counts: TreebankCounts, back_off: float) -> HiddenMarkov:
    """Let any state begin, end and follow any other, and emit the terminal that was never seen."""
    m = model.n_states
    n_positions = float(counts.symbol[0])
    unseen = Alphabet.unseen_tokens(counts.leaf[:, 0])
    emission = np.concatenate([n_positions * model.emission, np.full((m, 1), unseen)], axis=1)
    smoothed = model.smoothed(np.full(m, 1.0 / m), n_positions, counts.n_trees, back_off)
    return replace(smoothed, emission=emission / (n_positions + unseen))


def _first_positions(store: ColumnStore) -> Sequences:
    """Join shards from the first on, up to as many positions as states are chosen on."""
    parts: list[Sequences] = []
    n_positions = 0
    for sequences in (Sequences(**columns) for columns in store):
        if n_positions >= _CHOICE_POSITIONS:
            break
        parts.append(sequences)
        n_positions += len(sequences.terminal)
    return Sequences.joined(parts)


def train_untagged(
    store: ColumnStore,
    alphabet: Alphabet,
    options: HMMOptions,
    *,
    jobs: int | None = 1,
    listener: Listener = silent,
) -> SequenceParameters:
    """Learn parameters from sequences without tags; choices are made on the first half million positions.

    store: sequences, whose terminals are those of the alphabet.
    alphabet: the observations.
    options: settings.
    jobs: processes; the result does not depend on it.
    listener: told about each number of states, and how far the estimator is.
    """
    plain = replace(options, estimator=replace(options.estimator, smoothing=None))
    n_states, floor = _choose(_first_positions(store), alphabet, plain, jobs, listener)
    estimator = replace(plain.estimator, n_states=n_states)
    n_positions = sum(len(columns["terminal"]) for columns in store)
    treebank = _untagged_treebank(store, alphabet, options.back_off, n_positions, jobs)
    if estimator.estimator == "spectral":
        latent = estimate(treebank, estimator, jobs=jobs, listener=listener).operators
    else:
        model = _hidden_markov(store, treebank, len(alphabet.known), estimator, jobs, listener)
        latent = _with_unseen(model, treebank.counts, options.back_off).operators()
    return _parameters(treebank, 1, latent, floor)
