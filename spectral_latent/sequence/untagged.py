"""Train models of sequences without tags, and choose the estimator, the number of states and ε by held-out sequences.

Untagged sequences have a single tag, so that the spectral estimator learns the observable operators of a hidden Markov
model.  The other estimators learn the probabilities of a hidden Markov model, in which an emission has the state of its
position.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, replace
from functools import cache, reduce
from itertools import chain, takewhile
from numbers import Integral
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np

from spectral_latent._options import given_or
from spectral_latent.estimation import (
    EM,
    SHARD_NODES,
    Clusters,
    Estimate,
    EstimationError,
    Estimator,
    Listener,
    Moments,
    Priors,
    Progress,
    Projection,
    ProjectionOptions,
    Random,
    Spectral,
    Treebank,
    TreebankShard,
    estimate,
    operators_from_moments,
    parallel_map,
    read_treebanks,
    relative_frequencies,
    silent,
    spectral_moments,
)
from spectral_latent.estimation.clustering import NodeClusters
from spectral_latent.estimation.starts import climb_together
from spectral_latent.operators import Counts, ObservableOperators
from spectral_latent.sequence.baum_welch import ChainCounts, ChainLearner, OpenPositions, expectation
from spectral_latent.sequence.conversion import Alphabet, Sequences, SequenceShard, rows_of, untagged_shard
from spectral_latent.sequence.grammar import SequenceGrammar
from spectral_latent.sequence.hidden_markov import HiddenMarkov
from spectral_latent.sequence.options import HMMOptions, hmm_preset
from spectral_latent.sequence.prediction import Predictor
from spectral_latent.sequence.training import SequenceFormalism, check_rows, join_grammar, with_back_off
from spectral_latent.trees import FloatArray, IntArray

_log = logging.getLogger(__name__)

_NUMBERS_OF_STATES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32)  # choices, besides the largest number allowed
_FLOORS = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)  # choices of ε
_FLOOR = 0.01  # ε if there are too few sequences to choose it
_FOLDS = 10  # a tenth of the sequences is held out in a fold
_HELD_OUT = 6_000  # the least number of sequences held out in all folds together, if the data have so many
_ROUND = 100  # the least number of held-out sequences before a choice is given up
_CLEAR = 4.0  # the number of standard errors by which a choice is clearly worse
_CLEAR_NATS = 20.0  # and the least difference in nats, because rare sequences may make up for less
_CHOICE_POSITIONS = 1 << 19  # the number of positions, about, on which the choices are made
_PART = 1 << 12  # of these positions, the number that is added at a time
_LEAST = 1e-3  # added to the probabilities of recovered states, because a zero may be an error

_STATES = (2, 4, 8, 16, 32, 64)  # numbers of states of EM that are tried
_CHOICE_STARTS = 2  # random starts for each number of states; the model itself has those of its options
_CLIMB_POSITIONS = 1 << 16  # the number of positions, about, on which EM is tried
_STOP = 0.5  # the probability of an end after every state, if ends are not learnt

_Choice = TypeVar("_Choice", int, float)
Untagged: TypeAlias = tuple[SequenceGrammar[HMMOptions, Alphabet], float, float, tuple[float, ...]]
"""The operators, ε of `prediction`, p of the empty sequence, and what each start of EM reached."""
_Climbed: TypeAlias = tuple[HiddenMarkov, tuple[float, ...], tuple[float, ...]]  # see `estimation.starts`


@dataclass(frozen=True)
class _Fold:
    """A tenth of the sequences, which is held out, and all others with their spectral moments."""

    kept: Sequences
    treebank: Treebank
    moments: Moments
    coarse: ObservableOperators
    held_out: Sequences
    alphabet: Alphabet

    @staticmethod
    def hold_out(sequences: Sequences, fold: int, alphabet: Alphabet, options: HMMOptions, jobs: int | None) -> _Fold:
        """Hold out the sequences of a fold, and take the moments of the others.

        Observations that only held-out sequences have become the terminal of unseen observations."""
        is_held_out = folds_of(sequences.n_sequences) == fold
        kept = sequences.part(~is_held_out)
        held_out = sequences.part(is_held_out)
        is_seen = np.bincount(kept.terminal, minlength=alphabet.n_terminals) > 0
        terminal = np.where(is_seen[held_out.terminal], held_out.terminal, alphabet.n_terminals - 1)
        parts = kept.parts(SHARD_NODES // 2)
        shards = [untagged_shard(part.columns, len(alphabet.known), len(kept.terminal)) for part in parts]
        treebank = with_back_off(Treebank.of(shards, jobs=jobs), 1, Priors(alphabet.smooth), options.back_off)
        projection = Projection.learn(treebank.shards, _projections(options), jobs)
        moments = spectral_moments(treebank, projection, jobs)
        coarse = relative_frequencies(treebank.counts, treebank.priors)
        return _Fold(kept, treebank, moments, coarse, replace(held_out, terminal=terminal), alphabet)

    def log_likelihoods(self, part: slice, n_states: int, floor: float) -> FloatArray:
        """Compute the log-likelihoods of held-out sequences; -inf if sequences of the model may never end."""
        rows = self.held_out.rows[part]
        moments = self.moments.truncate(np.minimum(self.moments.states, n_states))
        try:
            latent = operators_from_moments(moments, priors=self.treebank.priors)
            predictor = Predictor.of(latent, self.coarse, self.alphabet.n_terminals, floor)
        except ValueError:
            return np.full(len(rows), -np.inf)
        return self.held_out.weight[part] * predictor.log_probabilities(rows)

    def climbed(self, options: HMMOptions) -> float:
        """Train by EM on the other sequences, and compute the log-likelihood of those held out under the result."""
        model, *_ = _hidden_markov([self.kept], self.treebank, len(self.alphabet.known), options)
        smoothed = _with_unseen(model, self.treebank.counts, options)
        return expectation([self.held_out], smoothed).log_likelihood


def _projections(options: HMMOptions) -> ProjectionOptions:
    """Take the settings of projections from those of the states; what these lack has its default."""
    names = (field.name for field in fields(ProjectionOptions))
    states = options.estimator.states
    return ProjectionOptions(**{name: getattr(states, name) for name in names if hasattr(states, name)})


def folds_of(n: int) -> IntArray:
    """Draw the fold (n,) of each of n sequences, always in the same way; their order may repeat itself."""
    return np.random.default_rng(0).permutation(np.arange(n) % _FOLDS)


def _best(
    choices: Iterable[_Choice],
    rounds: Sequence[tuple[int, slice]],
    log_likelihoods: Callable[[int, slice, _Choice], FloatArray],
    listener: Listener = silent,
) -> _Choice:
    """Find the choice with the largest likelihood of held-out sequences; the first one of equals.

    After each round of sequences, choices that are clearly worse than the best one are given up."""
    found = {choice: np.zeros(0) for choice in choices}
    n_done = 0
    for n_before, (fold, part) in enumerate(rounds):
        n_steps = n_done + len(found) * (len(rounds) - n_before)
        for choice in found:
            found[choice] = np.append(found[choice], log_likelihoods(fold, part, choice))
            n_done += 1
            listener(Progress("states", n_done, n_steps))
        best = max(found, key=lambda choice: float(found[choice].sum()))
        found = {choice: log for choice, log in found.items() if not _is_clearly_less(log, found[best])}
        if len(found) == 1:
            break
    return best


def _is_clearly_less(log: FloatArray, best: FloatArray) -> bool:
    """Tell whether log-likelihoods (n,) of sequences are clearly less on average than the best ones, of largest sum."""
    n = len(log)
    if n < _ROUND or log is best:
        return False
    if not np.isfinite(log).all():
        return True
    difference = best - log
    return bool(difference.sum() > max(_CLEAR_NATS, _CLEAR * difference.std() * np.sqrt(n)))


def _rounds(n: int) -> list[tuple[int, slice]]:
    """List the fold and the held-out sequences of each round; each round is about as large as all rounds before it."""
    rounds = []
    size = _ROUND
    for fold in range(min(-(-_HELD_OUT * _FOLDS // n), _FOLDS)):
        first = 0
        while first < len(range(fold, n, _FOLDS)):
            rounds.append((fold, slice(first, first + size)))
            first += size
            size *= 2
    return rounds


def _first_positions(shards: Iterable[SequenceShard], enough: int) -> Sequences:
    """Join the first sequences, until they have enough positions to choose on."""
    parts: list[Sequences] = []
    n_positions = 0
    for part in chain.from_iterable(shard.sequences.parts(_PART) for shard in shards):
        if n_positions >= enough:
            break
        parts.append(part)
        n_positions += len(part.terminal)
    return Sequences.join(parts)


def choose_states_and_floor(
    shards: Iterable[SequenceShard], alphabet: Alphabet, options: HMMOptions, jobs: int | None, listener: Listener
) -> tuple[int, float]:
    """Choose the number of states and then ε, if the options leave them open, by the likelihood of held-out sequences.

    The folds hold out 6,000 sequences together, or as many as ten folds can.  A choice that is clearly worse than the
    best one is given up before all folds are used.  Of equally good choices, the fewest states and the largest ε are
    taken.  Sequences beyond the first half million positions are not used."""
    sequences = _first_positions(shards, _CHOICE_POSITIONS)
    n = sequences.n_sequences
    largest = _projections(options).n_states
    chooses_floor = options.floor is None and not options.estimator.probabilities
    floor = _FLOOR if options.floor is None else options.floor
    if n < 2 * _FOLDS and options.choose_states:
        _log.warning("too few sequences (%d) to choose the number of states, which is 1", n)
    if n < 2 * _FOLDS or not (options.choose_states or chooses_floor):
        return 1 if options.choose_states else largest, floor
    rounds = _rounds(n)
    held_out = cache(lambda fold: _Fold.hold_out(sequences, fold, alphabet, options, jobs))
    chosen = largest
    if options.choose_states:
        supported = min(largest, int(held_out(0).moments.states.max()))
        numbers = [m for m in sorted({*_NUMBERS_OF_STATES, largest}) if m <= supported]
        chosen = _best(numbers, rounds, lambda fold, part, m: held_out(fold).log_likelihoods(part, m, floor), listener)
    if chooses_floor:
        floor = _best(_FLOORS, rounds, lambda fold, part, each: held_out(fold).log_likelihoods(part, chosen, each))
    return chosen, floor


def _choose_estimator(
    shards: Iterable[SequenceShard], alphabet: Alphabet, jobs: int | None, listener: Listener
) -> HMMOptions:
    """Choose the options, by the likelihood of a tenth of the sequences.

    The spectral estimator has its number of states and ε chosen.  EM, as in the preset "fast" but from fewer starts, is
    tried with about as many states, and with more or fewer as long as the held-out sequences become likelier."""
    sequences = _first_positions(shards, _CLIMB_POSITIONS)
    if sequences.n_sequences < 2 * _FOLDS:
        return HMMOptions()
    n_states, floor = choose_states_and_floor(shards, alphabet, HMMOptions(), jobs, listener)
    options = HMMOptions(Spectral(n_states), choose_states=False, floor=floor)
    fold = _Fold.hold_out(sequences, 0, alphabet, HMMOptions(), jobs)
    n = float(fold.held_out.weight.sum())
    found: dict[Estimator, float] = {}

    def is_better(estimator: Estimator, nats: float) -> bool:
        """Note what an estimator has reached, and tell whether it is the best so far."""
        _log.info("%r: %.4f nats a held-out sequence", estimator, nats / n)
        is_best = nats > max(found.values(), default=-np.inf)
        found[estimator] = nats
        return is_best

    def climbs(m: int) -> bool:
        """Try EM with m states, and tell whether it is better than with the numbers of states before."""
        fast = hmm_preset("fast")
        chosen = replace(
            fast,
            estimator=fast.estimator.with_settings(n_states=m),
            choose_states=False,
            random_starts=_CHOICE_STARTS,
        )
        return is_better(chosen.estimator, fold.climbed(chosen))

    nearest = int(np.argmin(np.abs(np.log2(_STATES) - np.log2(n_states))))
    climbs(_STATES[nearest])
    if not sum(1 for _ in takewhile(climbs, _STATES[nearest + 1 :])):
        sum(1 for _ in takewhile(climbs, reversed(_STATES[:nearest])))
    best = max(found, key=lambda estimator: found[estimator])
    if not is_better(options.estimator, float(fold.log_likelihoods(slice(None), n_states, floor).sum())):
        return HMMOptions(best, choose_states=False)
    return options


def _state_counts(shard: TreebankShard, clusters: NodeClusters, n_symbols: int) -> ChainCounts:
    """Count the rules of a shard; the state of a position is the cluster of its spine node."""
    sequences = replace(Sequences.of_trees(shard.trees), weight=shard.weight)
    state = clusters.of_nodes(shard)[sequences.spine]
    return ChainCounts.of_states(sequences, state, n_symbols, int(clusters.states[1]))


def _observed(treebank: Treebank, n_symbols: int) -> FloatArray:
    """Count each observation (n,)."""
    counts = treebank.counts
    observed = np.zeros(n_symbols)
    observed[counts.rules.leaf[:, 1]] = counts.leaf[:, 0]
    return observed


def _first_model(
    treebank: Treebank, estimator: Estimator, n_symbols: int, jobs: int | None, listener: Listener
) -> HiddenMarkov:
    """Make a model of clusters of positions, draw one, or make one of estimated operators, as the estimator says."""
    states = estimator.states
    if isinstance(states, Random):
        observed = _observed(treebank, n_symbols)
        return HiddenMarkov.random(observed, treebank.counts.n_trees, states.n_states, states.seed)
    if isinstance(states, Clusters):
        clusters = states.find(treebank, jobs, listener)
        counts = parallel_map(_state_counts, treebank.shards, jobs, clusters, n_symbols)
        pseudo = estimator.state_smoothing if isinstance(estimator, EM) else 0.0
        return reduce(ChainCounts.__add__, counts).model(pseudo)
    operators = estimate(treebank, states, jobs=jobs, listener=listener).operators
    return HiddenMarkov.of_tree_model(operators, n_symbols, _LEAST)


def _hidden_markov(
    sequences: Iterable[Sequences | SequenceShard],
    treebank: Treebank,
    n_symbols: int,
    options: HMMOptions,
    jobs: int | None = 1,
    listener: Listener = silent,
) -> _Climbed:
    """Learn the probabilities of a hidden Markov model as the estimator does, and by EM if the estimator has it."""
    estimator = options.estimator
    seen = replace(treebank, priors=Priors(rules=treebank.priors.rules))  # only observations that were seen
    first = _first_model(seen, estimator, n_symbols, jobs, listener)
    if not isinstance(estimator, EM):
        return first, (), ()
    return _climb([first], sequences, treebank, n_symbols, options, jobs=jobs, listener=listener)


def _climb(
    first: list[HiddenMarkov],
    sequences: Iterable[Sequences | SequenceShard],
    treebank: Treebank,
    n_symbols: int,
    options: HMMOptions,
    *,
    positions: OpenPositions | None = None,
    emitted: FloatArray | None = None,
    jobs: int | None = 1,
    listener: Listener = silent,
) -> _Climbed:
    """Run EM from given starts and from random ones.

    emitted: (m, n) how often states are known to emit each observation: random starts are near these emissions."""
    estimator = options.estimator
    assert isinstance(estimator, EM)
    observed = _observed(treebank, n_symbols)
    n_states = int(estimator.states.n_states)
    n_trees = treebank.counts.n_trees
    # One of the random starts is the estimator's own, if it starts at random.
    n_random = max(options.random_starts - (len(first) if isinstance(estimator.states, Random) else 0), 0)
    seeds = np.random.SeedSequence(estimator.states.seed).generate_state(n_random)

    def starts() -> Iterator[HiddenMarkov]:
        """Make the starts one after another."""
        yield from first
        for seed in seeds.tolist():
            yield HiddenMarkov.random(observed, n_trees, n_states, seed)

    def prepared(start: HiddenMarkov) -> HiddenMarkov:
        """Let a start have the known emissions and ends."""
        if emitted is not None:
            emission = emitted + start.emission * max(1.0, float(emitted.sum()) / n_states)
            start = replace(start, emission=emission / emission.sum(axis=1, keepdims=True))
        return start if options.ends else replace(start, stop=np.full(start.n_states, _STOP))

    prior = _prior(treebank, n_symbols, n_states) if options.prior else None
    learner = ChainLearner(sequences, prior, positions, options.ends, jobs)
    return climb_together(
        learner, map(prepared, starts()), estimator.iterations, estimator.tolerance * n_trees, listener
    )


def _prior(treebank: Treebank, n_symbols: int, n_states: int) -> FloatArray | None:
    """Choose pseudo-counts (n,) of observations in every state: one for each observation seen once, shared by all.

    As by Good and Turing, so many tokens are a guess at what was not seen; the states share them, and each state
    divides its part by the frequencies of observations.  None if every observation was seen twice."""
    observed = _observed(treebank, n_symbols)
    n_rare = Alphabet.seen_once(observed)
    return np.asarray(n_rare / n_states * observed / observed.sum()) if n_rare else None


def _with_unseen(model: HiddenMarkov, counts: Counts, options: HMMOptions) -> HiddenMarkov:
    """Let any state begin and end a sequence, follow any state, and emit the terminal of unseen observations."""
    m = model.n_states
    n_positions = float(counts.symbol[0])
    unseen = Alphabet.unseen_tokens(counts.leaf[:, 0])
    emission = np.concatenate([n_positions * model.emission, np.full((m, 1), unseen)], axis=1)
    smoothed = model.smooth(np.full(m, 1.0 / m), n_positions, counts.n_trees, options.back_off)
    stop = smoothed.stop if options.ends else model.stop
    return replace(smoothed, stop=stop, emission=emission / (n_positions + unseen))


def train_untagged(
    sequences: Iterable[Iterable[Hashable]],
    options: HMMOptions | None = None,
    *,
    weights: Iterable[float] | None = None,
    jobs: int | None = 1,
    listener: Listener = silent,
) -> Untagged:
    """Learn from sequences that are read once.  Choices are made on the first half million positions."""
    formalism, treebank, alphabet = _read(rows_of(sequences), options, weights, jobs)
    stored = cast(Sequence[SequenceShard], treebank.shards)  # the formalism makes these shards
    options = _choose_estimator(stored, alphabet, jobs, listener) if options is None else options
    plain = replace(options, estimator=options.estimator.with_settings(smoothing=None))
    n_states, floor = choose_states_and_floor(stored, alphabet, plain, jobs, listener)
    plain = replace(plain, estimator=plain.estimator.with_settings(n_states=n_states))
    if n_states > (n_positions := treebank.counts.symbol[0]):
        _log.warning("%d states are more than the %d observations to learn from", n_states, n_positions)
    empty = formalism.n_empty / (formalism.n_empty + treebank.counts.n_trees)
    if plain.estimator.probabilities:
        climbed = _hidden_markov(stored, treebank, len(alphabet.known), plain, jobs, listener)
        return _finished(climbed, treebank, alphabet, options, empty)
    latent = estimate(treebank, plain.estimator, jobs=jobs, listener=listener)
    floor = 0.0 if latent.operators.probabilities else floor
    return join_grammar(treebank, options, [None], alphabet, latent), floor, empty, ()


def _read(
    rows: Iterable[list[Hashable]], options: HMMOptions | None, weights: Iterable[float] | None, jobs: int | None
) -> tuple[SequenceFormalism, Treebank, Alphabet]:
    """Read sequences, and add priors by which any observation may follow any other."""
    formalism = SequenceFormalism(has_tags=False)
    (treebank,) = read_treebanks(check_rows(rows, may_be_empty=True), [formalism], weights=weights, jobs=jobs)
    alphabet = Alphabet(formalism.names.names)
    back_off = given_or(HMMOptions(), options).back_off
    return formalism, with_back_off(treebank, 1, Priors(alphabet.smooth), back_off), alphabet


def _finished(climbed: _Climbed, treebank: Treebank, alphabet: Alphabet, options: HMMOptions, empty: float) -> Untagged:
    """Join what is learnt of a model of states."""
    model, objective, reached = climbed
    for number, end in enumerate(reached, start=1):
        _log.info("start %d of %d reached %.2f", number, len(reached), end)
    operators = _with_unseen(model, treebank.counts, options).operators()
    latent = Estimate(operators, objective)
    reached = Estimate(operators, reached).rounded_objective
    return join_grammar(treebank, options, [None], alphabet, latent), 0.0, empty, reached


def train_open(
    sequences: Iterable[Iterable[Hashable | None]],
    known: Iterable[Iterable[int | AbstractSet[int] | None]] | None,
    options: HMMOptions,
    *,
    listener: Listener = silent,
) -> Untagged:
    """Learn as `train_untagged` does, by EM from random states, where observations are missing or states are known."""
    estimator = options.estimator
    if not isinstance(estimator, EM):
        raise ValueError(f"known states and missing observations need an estimator with EM, not {estimator!r}")
    rows = list(rows_of(sequences))
    entries: list[list[Any]] = [[None] * len(row) for row in rows] if known is None else [list(row) for row in known]
    _, treebank, alphabet = _read(([x for x in row if x is not None] for row in rows), options, None, 1)
    terminals, positions, emitted = _open_positions(rows, entries, alphabet, int(estimator.states.n_states))
    full = Sequences.of([row for row in terminals if row])
    at_random = Random(n_states=estimator.states.n_states, seed=estimator.states.seed)
    own = replace(options, estimator=replace(estimator, start=at_random), random_starts=max(options.random_starts, 1))
    climbed = _climb(
        [], [full], treebank, len(alphabet.known), own, positions=positions, emitted=emitted, listener=listener
    )
    return _finished(climbed, treebank, alphabet, options, sum(not row for row in rows) / len(rows))


def _open_positions(
    rows: list[list[Any]], entries: list[list[Any]], alphabet: Alphabet, n_states: int
) -> tuple[list[list[int]], OpenPositions, FloatArray]:
    """Number the terminals of sequences, and after the observations the kinds of positions of which more is known.

    Also returns how often each state is known to emit each observation, (m, n)."""
    if len(entries) != len(rows):
        raise EstimationError(f"{len(rows)} sequences have states of {len(entries)}; give None for unknown ones")
    n = len(alphabet.known)
    kinds: dict[tuple[int, frozenset[int]], int] = {}
    every = frozenset(range(n_states))
    emitted = np.zeros((n_states, n))
    terminals = []
    for number, (row, of_row) in enumerate(zip(rows, entries, strict=True), start=1):
        if len(row) != len(of_row):
            raise EstimationError(f"sequence {number} has {len(row)} observations, and states for {len(of_row)}")
        numbers = alphabet.terminals_of(row).tolist()
        for place, (x, entry) in enumerate(zip(numbers, of_row, strict=True)):
            allowed = every if entry is None else frozenset(entry if isinstance(entry, AbstractSet) else {entry})
            if not allowed or not allowed <= every or not all(isinstance(state, Integral) for state in allowed):
                raise EstimationError(
                    f"sequence {number}, position {place + 1}: {entry!r:.60} is neither a state from 0 to "
                    f"{n_states - 1} nor a set of states nor None"
                )
            observation = x if x < n else -1
            if len(allowed) == 1 and observation >= 0:
                emitted[next(iter(allowed)), observation] += 1.0
            if observation < 0 or allowed != every:
                numbers[place] = n + kinds.setdefault((observation, allowed), len(kinds))
        terminals.append(numbers)
    positions = OpenPositions(
        np.array([observation for observation, _ in kinds], dtype=np.int64),
        np.array([[state in allowed for state in range(n_states)] for _, allowed in kinds], dtype=np.bool_).reshape(
            -1, n_states
        ),
    )
    return terminals, positions, emitted
