"""Train the parameters of a model of sequences, with tags and without.

Tagged sequences are learnt as other latent trees are, over a lexicon of words.  Untagged sequences have a single tag,
so that the spectral estimator learns the observable operators of a hidden Markov model.  The other estimators learn a
proper hidden Markov model, where an emission has the state of its position.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from typing import NamedTuple, TypeVar, cast

import numpy as np

from spectral_latent._names import ESTIMATORS, StateSource
from spectral_latent.estimation import (
    SHARD_NODES,
    Columns,
    Estimate,
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
    read_treebanks,
    relative_frequencies,
    silent,
    spectral_moments,
)
from spectral_latent.estimation.clustering import Clusters
from spectral_latent.lexicon import Lexicon, LexiconOptions, SpellingModel, WordCounts, smooth_emissions
from spectral_latent.operators import ObservableOperators, RuleTable
from spectral_latent.sequence.alphabet import Alphabet
from spectral_latent.sequence.baum_welch import baum_welch
from spectral_latent.sequence.checks import Tag, observations_of
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.sequence.features import longest_grams, tagged_features, untagged_features
from spectral_latent.sequence.hidden_markov import HiddenMarkov, position_counts
from spectral_latent.sequence.options import HMMOptions, TaggerOptions
from spectral_latent.sequence.parameters import SequenceParameters
from spectral_latent.sequence.prediction import Predictor
from spectral_latent.trees import FloatArray, Rules, SkeletalTrees, Vocabulary

__all__ = ["SequenceShard", "train_tagged", "train_untagged"]

_NUMBERS_OF_STATES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32)  # to choose from, besides the largest
_FLOORS = (0.1, 0.03, 0.01, 0.003, 0.001)  # to choose from
_FLOOR = 0.01  # if there are too few sequences to choose
_LEAST = 1e-3  # is added to the probabilities of recovered states, which may be wrong where they are zero
_FOLDS = 10  # one sequence of so many is held out in a fold
_HELD_OUT = 6_000  # the number of sequences held out in all folds together, if the data have so many
_CHOICE_POSITIONS = 1 << 19  # about so many positions are used to choose the states
_Token = TypeVar("_Token")


class SequenceShard(NamedTuple):
    """A shard of sequences, whose s-trees and features are computed whenever they are asked for.

    columns: the columns of `Sequences`.
    n_tags: K.
    featurise: the function that makes features of sequences, which other processes must be able to import.
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
    def weight(self) -> FloatArray:
        """The weight of each sequence, (T,)."""
        return self.columns["weight"]

    @property
    def features(self) -> FeatureColumns:
        """The features of the nodes."""
        return self.featurise(self.sequences)


@dataclass(frozen=True)
class _StoredSequences:
    """The sequences of all shards; those of a shard in a file are read whenever they are asked for."""

    shards: Sequence[SequenceShard]

    def __iter__(self) -> Iterator[Sequences]:
        return (shard.sequences for shard in self.shards)


def _columns_of(sequences: Sequences) -> Columns:
    """Make the columns of a shard from sequences."""
    return {name: getattr(sequences, name) for name in ("terminal", "tag", "start", "weight")}


def _checked(rows: Iterable[list[_Token]]) -> Iterator[list[_Token]]:
    """Pass sequences on.  Raises EstimationError if there is none, or if one is empty."""
    number = 0
    for number, row in enumerate(rows, start=1):
        if not row:
            raise EstimationError(f"sequence {number} is empty; leave it out")
        yield row
    if not number:
        raise EstimationError("no sequences to learn from")


def _with_back_off(treebank: Treebank, n_tags: int, priors: Priors, back_off: float) -> Treebank:
    """Add priors to a treebank: every tag is followed by every tag, `back_off` times in all."""
    counts = treebank.counts
    ends = counts.n_trees / (counts.symbol[:n_tags].sum() + 1)
    rules = _transitions(_shares(counts, n_tags), ends, back_off)
    return replace(treebank, priors=priors._replace(rules=rules))


def _shares(counts: TreebankCounts, n_tags: int) -> FloatArray:
    """Compute the share (K,) of each tag among all positions."""
    emissions = counts.symbol[:n_tags]
    return np.asarray(emissions / emissions.sum())


def _parameters(treebank: Treebank, n_tags: int, found: Estimate, floor: float) -> SequenceParameters:
    """Join latent operators with the coarse ones; probabilities need no floor."""
    coarse = relative_frequencies(treebank.counts, treebank.priors)
    floor = 0.0 if found.operators.probabilities else floor
    prior = _shares(treebank.counts, n_tags)
    return SequenceParameters(prior, coarse, found.operators, floor, found.rounded_objective)


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


class _TaggedFormalism:
    """The conversion of tagged sentences (`estimation.Formalism`).

    options: settings of the lexicon.
    words: the words as they are numbered.
    tags: the tags as they are numbered.
    """

    def __init__(self, options: LexiconOptions) -> None:
        self.options = options
        self.words = Vocabulary[str]()
        self.tags = Vocabulary[Tag]()
        self._counts: list[WordCounts] = []

    def n_nodes(self, sentence: list[tuple[str, Tag]]) -> int:
        """Count the nodes of a sentence's s-tree."""
        return 2 * len(sentence)

    def columns(self, sentences: Sequence[list[tuple[str, Tag]]], weight: FloatArray) -> Columns:
        """Number the words and tags of sentences, and count them."""
        words = ([self.words.add(word) for word, _ in sentence] for sentence in sentences)
        tags = ([self.tags.add(tag) for _, tag in sentence] for sentence in sentences)
        sequences = Sequences.of(words, tags, weight)
        opens = np.zeros(len(sequences.terminal), dtype=np.bool_)
        opens[sequences.start[:-1]] = True
        times = weight[sequences.sequence]
        self._counts.append(WordCounts.of(sequences.tag, sequences.terminal, opens, times))
        return _columns_of(sequences)

    @cached_property
    def lexicon(self) -> Lexicon:
        """The lexicon of all words, which has learnt how spelling predicts tags."""
        names = self.words.names
        seen = WordCounts.total(self._counts)
        spelling = SpellingModel.train(names, seen.word, seen.symbol, seen.times, seen.opens, len(self.tags))
        return Lexicon(names, self.options, spelling)

    @cached_property
    def _featurise(self) -> Callable[[Sequences], FeatureColumns]:
        return partial(tagged_features, chains=self.lexicon.signature_chains())

    def shard(self, columns: Columns) -> SequenceShard:
        """Make a shard of the numbers of words and tags."""
        return SequenceShard(columns, len(self.tags), self._featurise)


def train_tagged(
    sentences: Iterable[list[tuple[str, Tag]]],
    options: TaggerOptions,
    *,
    weights: Iterable[float] | None = None,
    jobs: int | None = 1,
    listener: Listener = silent,
) -> tuple[list[Tag], Lexicon, SequenceParameters]:
    """Learn tags, a lexicon and parameters from tagged sentences, which are read once.

    sentences: pairs of a word and its tag.
    options: settings.
    weights: the weight of each sentence; see `read_treebanks`.
    jobs: the number of threads; the result does not depend on it.
    listener: told how far the estimator is.

    Raises EstimationError if there is no sentence, or one is empty.
    """
    formalism = _TaggedFormalism(options.lexicon)
    (treebank,) = read_treebanks(_checked(sentences), [formalism], weights=weights, jobs=jobs)
    tags = formalism.tags.names
    lexicon = formalism.lexicon
    smooth = partial(smooth_emissions, lexicon, tag_of_symbol=np.arange(2 * len(tags)) % len(tags))
    treebank = _with_back_off(treebank, len(tags), Priors(smooth, fragments=options.back_off), options.back_off)
    found = estimate(treebank, options.estimator, jobs=jobs, listener=listener)
    return tags, lexicon, _parameters(treebank, len(tags), found, options.floor).rounded()


# ---------------------------------------------------------------------------------------------------------------------
# Without tags


def _untagged_shard(columns: Columns, n_symbols: int, n_positions: int) -> SequenceShard:
    """Make a shard of sequences without tags; the length of n-grams depends on the number of all positions."""
    return SequenceShard(columns, 1, partial(untagged_features, longest=longest_grams(n_symbols, n_positions)))


class _UntaggedFormalism:
    """The conversion of sequences without tags (`estimation.Formalism`).

    names: the observations as they are numbered.
    """

    def __init__(self) -> None:
        self.names = Vocabulary[Hashable]()
        self._n_positions = 0

    def n_nodes(self, sequence: list[Hashable]) -> int:
        """Count the nodes of a sequence's s-tree."""
        return 2 * len(sequence)

    def columns(self, sequences: Sequence[list[Hashable]], weight: FloatArray) -> Columns:
        """Number the observations of sequences, and join them."""
        joined = Sequences.of((map(self.names.add, sequence) for sequence in sequences), weight=weight)
        self._n_positions += len(joined.terminal)
        return _columns_of(joined)

    def shard(self, columns: Columns) -> SequenceShard:
        """Make a shard of the numbers of observations."""
        return _untagged_shard(columns, len(self.names), self._n_positions)


@dataclass(frozen=True)
class _Fold:
    """One sequence in ten, held out, and the spectral moments of the other nine.

    moments: the moments with the largest number of states.
    priors: the priors of the operators.
    coarse: operators of one state.
    held_out: the other tenth.
    n_terminals: the number of terminals, including the one for unseen observations.
    """

    moments: Moments
    priors: Priors
    coarse: ObservableOperators
    held_out: Sequences
    n_terminals: int

    @staticmethod
    def hold_out(sequences: Sequences, fold: int, alphabet: Alphabet, options: HMMOptions, jobs: int | None) -> _Fold:
        """Hold out every tenth sequence, from number `fold` on, and take the moments of the others."""
        held_out = np.arange(sequences.n_sequences) % _FOLDS == fold
        kept = sequences.part(~held_out)
        columns = map(_columns_of, kept.parts(SHARD_NODES // 2))
        shards = [_untagged_shard(part, len(alphabet.known), len(kept.terminal)) for part in columns]
        treebank = _with_back_off(Treebank.of(shards, jobs=jobs), 1, Priors(alphabet.smooth), options.back_off)
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
        return float(self.held_out.weight @ predictor.log_probabilities(self.held_out.rows))


def _choose(
    sequences: Sequences, alphabet: Alphabet, options: HMMOptions, jobs: int | None, listener: Listener
) -> tuple[int, float]:
    """Choose the number of states and then ε, if the options leave them open, by the likelihood of held-out sequences.

    There are as many folds as hold out 6,000 sequences, but at most ten.  Of equal choices, the fewest states and the
    largest ε are taken.
    """
    n = sequences.n_sequences
    largest = options.estimator.n_states
    chooses_floor = options.floor is None and not ESTIMATORS[options.estimator.estimator].probabilities
    floor = _FLOOR if options.floor is None else options.floor
    if n < 2 * _FOLDS or not (options.choose_states or chooses_floor):
        return 1 if options.choose_states else largest, floor
    folds = [
        _Fold.hold_out(sequences, fold, alphabet, options, jobs)
        for fold in range(min(-(-_HELD_OUT * _FOLDS // n), _FOLDS))
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
    sequences = replace(Sequences.of_trees(shard.trees), weight=shard.weight)
    state = clusters.of_nodes(shard)[sequences.spine]
    return position_counts(sequences, state, n_symbols, int(clusters.states[1]))


def _hidden_markov(
    sequences: Iterable[Sequences],
    treebank: Treebank,
    n_symbols: int,
    options: EstimatorOptions,
    jobs: int | None,
    listener: Listener,
) -> tuple[HiddenMarkov, tuple[float, ...]]:
    """Learn a proper hidden Markov model from clusters, recovered states or a random start; EM may follow.

    Returns the model, and the log-likelihood of the sequences at the start of EM and after each iteration.
    """
    estimator = ESTIMATORS[options.estimator]
    if estimator.states_from is StateSource.RANDOM:
        observed = np.zeros(n_symbols)
        observed[treebank.counts.rules.leaf[:, 1]] = treebank.counts.leaf[:, 0]
        start = HiddenMarkov.random(observed, treebank.counts.n_trees, options.n_states, options.seed)
    elif estimator.states_from is StateSource.DECOMPOSITIONS:
        seen = replace(treebank, priors=Priors(rules=treebank.priors.rules))  # only observations that were seen
        recovered = estimate(seen, replace(options, estimator="recovered"), jobs=jobs, listener=listener)
        start = HiddenMarkov.of_tree_model(recovered.operators, n_symbols, _LEAST)
    else:
        projection = Projection.learn(treebank.shards, options, jobs, listener)
        clusters = Clusters.learn(treebank, projection, options.seed, jobs)
        counts = reduce(RuleTable.__add__, parallel_map(_state_counts, treebank.shards, jobs, clusters, n_symbols))
        start = HiddenMarkov.of_counts(counts, options.state_smoothing if estimator.climbs else 0.0)
    if not estimator.climbs:
        return start, ()
    return baum_welch(sequences, start, options, jobs=jobs, listener=listener)


def _with_unseen(model: HiddenMarkov, counts: TreebankCounts, back_off: float) -> HiddenMarkov:
    """Let any state begin, end and follow any other, and emit the terminal that was never seen."""
    m = model.n_states
    n_positions = float(counts.symbol[0])
    unseen = Alphabet.unseen_tokens(counts.leaf[:, 0])
    emission = np.concatenate([n_positions * model.emission, np.full((m, 1), unseen)], axis=1)
    smoothed = model.smoothed(np.full(m, 1.0 / m), n_positions, counts.n_trees, back_off)
    return replace(smoothed, emission=emission / (n_positions + unseen))


def _first_positions(shards: Iterable[Sequences]) -> Sequences:
    """Join the first shards, until they have the positions on which states are chosen."""
    parts: list[Sequences] = []
    n_positions = 0
    for sequences in shards:
        if n_positions >= _CHOICE_POSITIONS:
            break
        parts.append(sequences)
        n_positions += len(sequences.terminal)
    return Sequences.joined(parts)


def train_untagged(
    sequences: Iterable[Iterable[Hashable]],
    options: HMMOptions,
    *,
    weights: Iterable[float] | None = None,
    jobs: int | None = 1,
    listener: Listener = silent,
) -> tuple[Alphabet, SequenceParameters]:
    """Learn an alphabet and parameters from sequences without tags, which are read once.

    Choices are made on the first half million positions.

    sequences: observations.
    options: settings.
    weights: the weight of each sequence; see `read_treebanks`.
    jobs: the number of threads; the result does not depend on it.
    listener: told about each number of states, and how far the estimator is.

    Raises EstimationError if there is no sequence, one is empty, or an observation is not hashable.
    """
    formalism = _UntaggedFormalism()
    rows = (observations_of(sequence, number) for number, sequence in enumerate(sequences, start=1))
    (treebank,) = read_treebanks(_checked(rows), [formalism], weights=weights, jobs=jobs)
    alphabet = Alphabet(formalism.names)
    treebank = _with_back_off(treebank, 1, Priors(alphabet.smooth), options.back_off)
    stored = _StoredSequences(cast(Sequence[SequenceShard], treebank.shards))  # which the formalism has made
    plain = replace(options, estimator=replace(options.estimator, smoothing=None))
    n_states, floor = _choose(_first_positions(stored), alphabet, plain, jobs, listener)
    estimator = replace(plain.estimator, n_states=n_states)
    if not ESTIMATORS[estimator.estimator].probabilities:
        found = estimate(treebank, estimator, jobs=jobs, listener=listener)
    else:
        model, objective = _hidden_markov(stored, treebank, len(alphabet.known), estimator, jobs, listener)
        operators = _with_unseen(model, treebank.counts, options.back_off).operators()
        found = Estimate(operators, objective, log_likelihood=objective)
    return alphabet, _parameters(treebank, 1, found, floor)
