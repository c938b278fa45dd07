"""From sequences to operators: what tagged and untagged sequences share, and what they do not.

Tagged ones are learnt as any latent trees are, over a lexicon of words.  Untagged ones have one symbol, so that the
spectral estimator learns what is known as observable operators of a hidden Markov model; the other estimators learn
hidden Markov models proper, where an emission has the state of its position.

The spectral estimator reads the shards of a long stream one after another; the others hold all sequences in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated, NamedTuple

import numpy as np

from spectral_latent._options import Above, AtLeast, AtMost, Below, Options
from spectral_latent.estimation import (
    EstimationError,
    EstimatorOptions,
    FeatureColumns,
    Listener,
    Moments,
    Progress,
    RuleCounts,
    Shard,
    TrainingData,
    Unseen,
    cluster_states,
    estimate,
    moments_of_shards,
    project_trees,
    relative_frequencies,
    silent,
    solve,
    spectral_moments,
    states_for,
)
from spectral_latent.lexicon import Lexicon, LexiconOptions, SpellingModel, smooth_emissions
from spectral_latent.operators import ObservableOperators
from spectral_latent.sequence.alphabet import Alphabet
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.sequence.features import longest_grams, tagged_features, untagged_features
from spectral_latent.sequence.hidden_markov import HiddenMarkov, baum_welch
from spectral_latent.sequence.prediction import Predictor
from spectral_latent.sequence.shards import SequenceShards
from spectral_latent.trees import FloatArray, Rules

__all__ = ["Learnt", "SequenceOptions", "learn_tagged", "learn_untagged"]

_STATES = 8  # of each tag
_CANDIDATES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32)  # numbers of states to choose from
_HELD_OUT = 10  # one sequence in so many
_ENOUGH = 6_000  # held-out sequences; where there are fewer, several parts are held out in turn
_FLOORS = (0.1, 0.03, 0.01, 0.003, 0.001)
_FLOOR = 0.01


@dataclass(frozen=True)
class SequenceOptions(Options):
    """Settings of training and tagging.

    states: m, latent states of each tag; None for 8 where sequences are tagged, and for the number that makes held-out
    sequences likeliest where they are not.
    estimator: its own number of states has no effect; nor, where sequences are not tagged, its smoothing, for there all
    positions share a rule.
    back_off: how many tokens of every tag are to be followed by any tag, in proportion to its frequency.
    floor: ε, what probabilities of events cannot fall below, times those of the plain model; see `prediction`.  None
    for 0.01 where sequences are tagged, and for what makes held-out sequences likeliest where they are not.
    beam: tags of a word that are less likely than this times its likeliest tag are left out.
    threshold: tags whose posterior in the plain model is less than this are left out.
    """

    states: Annotated[int, AtLeast(1)] | None = None
    estimator: EstimatorOptions = field(default_factory=EstimatorOptions)
    lexicon: LexiconOptions = field(default_factory=LexiconOptions)
    back_off: Annotated[float, Above(0.0), AtMost(1e9)] = 1.0
    floor: Annotated[float, AtLeast(0.0), Below(1.0)] | None = None
    beam: Annotated[float, AtLeast(0.0), Below(1.0)] = 1e-3
    threshold: Annotated[float, AtLeast(0.0), Below(1.0)] = 1e-3


class Learnt(NamedTuple):
    """The latent model, the plain one over the same rules, which has one state for each tag; their shares, and ε."""

    prior: FloatArray
    plain: ObservableOperators
    latent: ObservableOperators
    floor: float


def _spelling(shards: SequenceShards, words: list[str], n_tags: int) -> SpellingModel:
    """What spelling tells of tags."""
    seen = []
    for sequences in shards:
        opens = np.zeros(len(sequences.terminal), dtype=np.int64)
        opens[sequences.start[:-1]] = 1
        rows, which = Rules.distinct(np.stack([sequences.terminal, sequences.tag, opens], axis=1))
        seen.append(np.concatenate([rows, np.bincount(which)[:, None]], axis=1))
    word, tag, opens, count = np.concatenate(seen).T
    return SpellingModel.train(words, word, tag, count.astype(float), opens == 1, n_tags)


@dataclass(frozen=True)
class _Data:
    """Sequences in shards, and how to make trees and features of them.

    prior: (K,) how frequent the tags are.
    """

    shards: SequenceShards
    prior: FloatArray
    features: Callable[[Sequences], FeatureColumns]
    unseen: Unseen

    @staticmethod
    def of(
        shards: SequenceShards,
        n_tags: int,
        features: Callable[[Sequences], FeatureColumns],
        unseen: Unseen,
        back_off: float,
    ) -> _Data:
        count = np.zeros(n_tags)
        for sequences in shards:
            count += np.bincount(sequences.tag, minlength=n_tags)
        prior = count / count.sum()
        rules = _transitions(prior, shards.n_sequences / (shards.n_positions + 1), back_off)
        return _Data(shards, prior, features, unseen._replace(rules=rules))

    def __iter__(self) -> Iterator[Shard]:
        for sequences in self.shards:
            yield Shard(sequences.trees(len(self.prior)), self.features(sequences))

    def whole(self) -> tuple[Sequences, TrainingData]:
        """All sequences in memory."""
        sequences = Sequences.joined(list(self.shards))
        return sequences, TrainingData(sequences.trees(len(self.prior)), self.features(sequences), self.unseen)

    def learn(
        self, options: EstimatorOptions, jobs: int, listener: Listener
    ) -> tuple[ObservableOperators, ObservableOperators]:
        """The plain and the latent operators."""
        if options.estimator == "spectral" and len(self.shards) > 1:
            moments = moments_of_shards(self, options, listener, jobs=jobs)
            latent = solve(moments.latent, options.smoothing, self.unseen)
            return solve(moments.plain, unseen=self.unseen), latent
        _, data = self.whole()
        return relative_frequencies(data.trees, data.unseen), estimate(data, options, jobs=jobs, listener=listener)


def _transitions(prior: FloatArray, ends: float, tokens: float) -> RuleCounts:
    """Every tag followed by every tag, and by the end, `tokens` times in all; ends: the share of last positions."""
    n_tags = len(prior)
    tags = np.arange(n_tags)
    before, after = np.divmod(np.arange(n_tags**2), n_tags)
    return RuleCounts(
        unary=np.stack([n_tags + tags, tags], axis=1),
        unary_count=np.full(n_tags, tokens * ends),
        binary=np.stack([n_tags + before, before, n_tags + after], axis=1),
        binary_count=tokens * (1.0 - ends) * prior[after],
    )


def learn_tagged(
    shards: SequenceShards,
    n_tags: int,
    words: list[str],
    options: SequenceOptions,
    *,
    jobs: int = 1,
    listener: Listener = silent,
) -> tuple[Lexicon, Learnt]:
    """Learn from tagged sequences of words."""
    lexicon = Lexicon(words, options.lexicon, _spelling(shards, words, n_tags))
    families, ladders = np.arange(2 * n_tags) % n_tags, lexicon.ladders()
    data = _Data.of(
        shards,
        n_tags,
        features=lambda sequences: tagged_features(sequences, ladders, n_tags),
        unseen=Unseen(lambda moments: smooth_emissions(lexicon, moments, families), fragments=options.back_off),
        back_off=options.back_off,
    )
    estimator = replace(options.estimator, states=_STATES if options.states is None else options.states)
    plain, latent = data.learn(estimator, jobs, listener)
    floor = 0.0 if latent.probabilities else _FLOOR if options.floor is None else options.floor
    return lexicon, Learnt(data.prior, plain, latent, floor)


def _untagged(shards: SequenceShards, alphabet: Alphabet, back_off: float) -> _Data:
    n_symbols = len(alphabet.known)
    longest = longest_grams(n_symbols, shards.n_positions)
    return _Data.of(
        shards,
        1,
        features=lambda sequences: untagged_features(sequences, n_symbols, longest),
        unseen=Unseen(leaves=alphabet.smooth),
        back_off=back_off,
    )


@dataclass(frozen=True)
class _Fold:
    """Moments of nine sequences in ten, and the tenth."""

    moments: Moments
    unseen: Unseen
    plain: ObservableOperators
    held_out: Sequences
    n_terminals: int

    @staticmethod
    def of(
        sequences: Sequences, fold: int, alphabet: Alphabet, options: EstimatorOptions, back_off: float, jobs: int
    ) -> _Fold:
        held_out = np.arange(sequences.n_sequences) % _HELD_OUT == fold
        _, data = _untagged(SequenceShards.of(sequences.part(~held_out)), alphabet, back_off).whole()
        moments = spectral_moments(data, project_trees(data.trees, data.features, options, jobs))
        plain = relative_frequencies(data.trees, data.unseen)
        return _Fold(moments, data.unseen, plain, sequences.part(held_out), alphabet.n_terminals)

    def score(self, m: int, floor: float) -> float:
        """The log-likelihood of what is held out, with m states."""
        moments = self.moments.truncated(np.minimum(self.moments.states, m))
        try:
            latent = solve(moments, unseen=self.unseen)
            predictor = Predictor.of(latent, self.plain, self.n_terminals, floor)
        except ValueError:  # with so many states, sequences never end
            return -np.inf
        return float(predictor.log_probabilities(self.held_out).sum())


class _Choice(NamedTuple):
    states: int
    floor: float


def _choose(
    sequences: Sequences, alphabet: Alphabet, options: SequenceOptions, jobs: int, listener: Listener
) -> _Choice:
    """What the options leave open: the number of states, then ε, with which held-out sequences are likeliest.

    One sequence in ten is held out, and learnt are the others; up to ten times, until 6,000 have been held out.
    Of equal choices, the smallest number of states and the largest ε.
    """
    floor = _FLOOR if options.floor is None else options.floor
    is_chosen = options.floor is not None or options.estimator.estimator != "spectral"
    if sequences.n_sequences < 2 * _HELD_OUT or (options.states is not None and is_chosen):
        return _Choice(options.states or 1, floor)
    n_folds = min(-(-_ENOUGH * _HELD_OUT // sequences.n_sequences), _HELD_OUT)
    estimator = replace(options.estimator, states=options.states or _CANDIDATES[-1], smoothing=None)
    folds = [_Fold.of(sequences, fold, alphabet, estimator, options.back_off, jobs) for fold in range(n_folds)]
    largest = min(int(fold.moments.states.max()) for fold in folds)
    states = [m for m in _CANDIDATES if m <= largest] if options.states is None else [options.states]
    scores = []
    for m in states:
        scores.append(sum(fold.score(m, floor) for fold in folds))
        listener(Progress("states", len(scores), len(states), score=scores[-1]))
    chosen = states[int(np.argmax(scores))]
    floors = _FLOORS if options.floor is None else (options.floor,)
    of_floors = [sum(fold.score(chosen, floor) for fold in folds) for floor in floors]
    return _Choice(chosen, floors[int(np.argmax(of_floors))])


def _smoothed(model: HiddenMarkov, sequences: Sequences, tokens: float) -> HiddenMarkov:
    """The model in which any state may begin, end and follow, `tokens` times of all, and emit what was never seen."""
    n, m = len(sequences.terminal), model.n_states
    unseen = Alphabet.unseen_tokens(np.bincount(sequences.terminal).astype(float))

    def mixed(p: FloatArray, mean: float) -> FloatArray:
        return np.asarray((n * p + tokens * mean) / (n + tokens))

    return HiddenMarkov(
        mixed(model.initial, 1.0 / m),
        mixed(model.transition, 1.0 / m),
        mixed(model.stop, sequences.n_sequences / (n + 1)),
        np.concatenate([n * model.emission, np.full((m, 1), unseen)], axis=1) / (n + unseen),
    )


def _hidden_markov(
    sequences: Sequences,
    n_symbols: int,
    data: TrainingData,
    options: EstimatorOptions,
    jobs: int,
    listener: Listener,
) -> HiddenMarkov:
    if options.estimator == "em":
        start = HiddenMarkov.random(sequences, options.states, n_symbols, options.seed)
    elif options.estimator in ("clustering", "hybrid"):
        state = cluster_states(data.trees, project_trees(data.trees, data.features, options, jobs), options.seed)
        pseudo = 0.0 if options.estimator == "clustering" else options.state_smoothing
        start = HiddenMarkov.of_states(sequences, state[sequences.spine], n_symbols, pseudo)
    else:
        raise EstimationError(
            f"sequences without tags are not learnt by {options.estimator!r}; "
            "the estimators are spectral, clustering, em and hybrid, and anchors have a model of their own"
        )
    if options.estimator == "clustering":
        return start
    return baum_welch(sequences, start, replace(options, state_smoothing=0.0), listener)[0]


def _asked_for(states: int, n_positions: int) -> int:
    """The number of states to ask for so that few positions get the number chosen; see `states_for`."""
    return next((m for m in range(states, 100 * states) if states_for(n_positions, m) >= states), states)


def learn_untagged(
    shards: SequenceShards,
    alphabet: Alphabet,
    options: SequenceOptions,
    *,
    jobs: int = 1,
    listener: Listener = silent,
) -> Learnt:
    """Learn from sequences without tags; what is to be chosen is chosen on the first shard."""
    states, floor = _choose(next(iter(shards)), alphabet, options, jobs, listener)
    data = _untagged(shards, alphabet, options.back_off)
    estimator = replace(options.estimator, states=_asked_for(states, shards.n_positions), smoothing=None)
    if estimator.estimator == "spectral":
        return Learnt(data.prior, *data.learn(estimator, jobs, listener), floor)
    sequences, whole = data.whole()
    model = _hidden_markov(sequences, len(alphabet.known), whole, estimator, jobs, listener)
    plain = relative_frequencies(whole.trees, whole.unseen)
    return Learnt(data.prior, plain, _smoothed(model, sequences, options.back_off).operators(), 0.0)
