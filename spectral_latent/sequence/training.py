"""Train the parameters of a model of sequences, with tags and without.

Tagged sequences are learnt like other latent trees, over a lexicon of words.  Untagged sequences have a single tag, so
that the spectral estimator learns the observable operators of a hidden Markov model.  The other estimators learn the
probabilities of a hidden Markov model, in which an emission has the state of its position.

The number of states, and ε of proper probabilities, are chosen by the likelihood of held-out sequences.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property, partial, reduce
from typing import Any, TypeVar, cast

import numpy as np

from spectral_latent.estimation import (
    EM,
    SHARD_NODES,
    Columns,
    Estimate,
    EstimationError,
    Estimator,
    FeatureColumns,
    Listener,
    Moments,
    Priors,
    Progress,
    Projection,
    ProjectionOptions,
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
from spectral_latent.lexicon import Lexicon, SpellingModel, WordCounts, smooth_emissions
from spectral_latent.operators import Counts, ObservableOperators
from spectral_latent.sequence.baum_welch import baum_welch
from spectral_latent.sequence.conversion import Alphabet, Sequences, Tag, rows_of
from spectral_latent.sequence.features import (
    SequenceShard,
    StoredSequences,
    columns_of,
    tagged_features,
    untagged_shard,
)
from spectral_latent.sequence.grammar import SequenceGrammar
from spectral_latent.sequence.hidden_markov import HiddenMarkov, position_counts
from spectral_latent.sequence.options import HMMOptions, TaggerOptions
from spectral_latent.sequence.prediction import Predictor
from spectral_latent.trees import FloatArray, IntArray, Rules, Vocabulary

__all__ = ["choose_states_and_floor", "folds_of", "train_tagged", "train_untagged"]

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
_LEAST = 1e-3  # added to the probabilities of recovered states, because a zero may be an error

_Token = TypeVar("_Token")
_Choice = TypeVar("_Choice", int, float)


# ---------------------------------------------------------------------------------------------------------------------
# Parts of all trainings


def _with_back_off(treebank: Treebank, n_tags: int, priors: Priors, back_off: float) -> Treebank:
    """Add priors to a treebank, under which every tag may be followed by every tag and by the end."""
    counts = treebank.counts
    ends = counts.n_trees / (counts.symbol[:n_tags].sum() + 1)
    rules = _transitions(_tag_shares(counts, n_tags), ends, back_off)
    return replace(treebank, priors=priors._replace(rules=rules))


def _tag_shares(counts: Counts, n_tags: int) -> FloatArray:
    """Compute the share (K,) of each tag among all positions."""
    emissions = counts.symbol[:n_tags]
    return np.asarray(emissions / emissions.sum())


def _transitions(prior: FloatArray, ends: float, tokens: float) -> Counts:
    """Make pseudo-counts of transitions from every tag to every tag and to the end, `tokens` for each tag.

    prior: (K,) the share of each tag among all positions.
    """
    n_tags = len(prior)
    tags = np.arange(n_tags)
    before, after = np.divmod(np.arange(n_tags**2), n_tags)
    rules = Rules(
        np.empty((0, 2), dtype=np.int64),
        unary=np.stack([n_tags + tags, tags], axis=1),
        binary=np.stack([n_tags + before, before, n_tags + after], axis=1),
    )
    return Counts.of_rules(
        rules,
        root=np.zeros(2 * n_tags),
        leaf=np.zeros(0),
        unary=np.full(n_tags, tokens * ends),
        binary=tokens * (1.0 - ends) * prior[after],
    )


def _check_rows(rows: Iterable[list[_Token]], *, may_be_empty: bool) -> Iterator[list[_Token]]:
    """Check sequences one by one.  Raises EstimationError for an empty one, and if there is none that is not empty."""
    number = n_full = 0
    for number, row in enumerate(rows, start=1):
        if not row and not may_be_empty:
            raise EstimationError(f"sequence {number} is empty; leave it out")
        n_full += bool(row)
        yield row
    if not n_full:
        raise EstimationError("all sequences are empty" if number else "no sequences to learn from")


def _grammar(
    treebank: Treebank, options: Any, tags: list[Tag], observations: Lexicon | Alphabet, latent: Estimate
) -> SequenceGrammar[Any, Any]:
    """Join latent operators with coarse operators."""
    coarse = relative_frequencies(treebank.counts, treebank.priors)
    prior = _tag_shares(treebank.counts, len(tags))
    return SequenceGrammar(options, tags, observations, prior, coarse, latent.operators, latent.rounded_objective)


# ---------------------------------------------------------------------------------------------------------------------
# Choices by the likelihood of held-out sequences


@dataclass(frozen=True)
class _Fold:
    """A tenth of the sequences, which is held out, and the spectral moments of all others.

    moments: the moments of the other sequences, with the largest number of states.
    priors: the priors of the operators.
    coarse: operators of one state.
    rows: the terminals of each held-out sequence.
    weight: the weights of these sequences.
    n_terminals: the number of terminals, including the one for unseen observations.
    """

    moments: Moments
    priors: Priors
    coarse: ObservableOperators
    rows: list[IntArray]
    weight: FloatArray
    n_terminals: int

    @staticmethod
    def hold_out(sequences: Sequences, fold: int, alphabet: Alphabet, options: HMMOptions, jobs: int | None) -> _Fold:
        """Hold out the sequences of a fold, and take the moments of the others.

        Observations that only held-out sequences have become the terminal of unseen observations.
        """
        is_held_out = folds_of(sequences.n_sequences) == fold
        kept = sequences.part(~is_held_out)
        held_out = sequences.part(is_held_out)
        is_seen = np.bincount(kept.terminal, minlength=alphabet.n_terminals) > 0
        terminal = np.where(is_seen[held_out.terminal], held_out.terminal, alphabet.n_terminals - 1)
        columns = map(columns_of, kept.parts(SHARD_NODES // 2))
        shards = [untagged_shard(part, len(alphabet.known), len(kept.terminal)) for part in columns]
        treebank = _with_back_off(Treebank.of(shards, jobs=jobs), 1, Priors(alphabet.smooth), options.back_off)
        projection = Projection.learn(treebank.shards, _projections(options), jobs)
        moments = spectral_moments(treebank, projection, jobs)
        coarse = relative_frequencies(treebank.counts, treebank.priors)
        rows = replace(held_out, terminal=terminal).rows
        return _Fold(moments, treebank.priors, coarse, rows, held_out.weight, alphabet.n_terminals)

    def log_likelihoods(self, part: slice, n_states: int, floor: float) -> FloatArray:
        """Compute the log-likelihoods of held-out sequences; -inf if sequences of the model may never end."""
        moments = self.moments.truncate(np.minimum(self.moments.states, n_states))
        try:
            latent = operators_from_moments(moments, priors=self.priors)
            predictor = Predictor.of(latent, self.coarse, self.n_terminals, floor)
        except ValueError:
            return np.full(len(self.rows[part]), -np.inf)
        return self.weight[part] * predictor.log_probabilities(self.rows[part])


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

    After each round of sequences, choices that are clearly worse than the best one are given up.
    """
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


def _first_positions(shards: Iterable[Sequences]) -> Sequences:
    """Join the first shards, until they have enough positions to choose on."""
    parts: list[Sequences] = []
    n_positions = 0
    for sequences in shards:
        if n_positions >= _CHOICE_POSITIONS:
            break
        parts.append(sequences)
        n_positions += len(sequences.terminal)
    return Sequences.join(parts)


def choose_states_and_floor(
    shards: Iterable[Sequences], alphabet: Alphabet, options: HMMOptions, jobs: int | None, listener: Listener
) -> tuple[int, float]:
    """Choose the number of states and then ε, if the options leave them open, by the likelihood of held-out sequences.

    The folds hold out 6,000 sequences together, or as many as ten folds can.  A choice that is clearly worse than the
    best one is given up before all folds are used.  Of equally good choices, the fewest states and the largest ε are
    taken.  Sequences beyond the first half million positions are not used.
    """
    sequences = _first_positions(shards)
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


# ---------------------------------------------------------------------------------------------------------------------
# With tags


class _TaggedFormalism:
    """The conversion of tagged sentences (`estimation.Formalism`).

    words: the words in the order of their numbers.
    tags: the tags in the order of their numbers.
    """

    def __init__(self) -> None:
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
        return columns_of(sequences)

    @cached_property
    def lexicon(self) -> Lexicon:
        """The lexicon of all words, with a trained model of spelling."""
        names = self.words.names
        seen = WordCounts.total(self._counts)
        spelling = SpellingModel.train(names, seen.word, seen.symbol, seen.times, seen.opens, len(self.tags))
        return Lexicon(names, spelling)

    @cached_property
    def _featurise(self) -> Callable[[Sequences], FeatureColumns]:
        return partial(tagged_features, chains=self.lexicon.signature_chains())

    def shard(self, columns: Columns) -> SequenceShard:
        """Make a shard from the numbers of words and tags."""
        return SequenceShard(columns, len(self.tags), self._featurise)


def train_tagged(
    sentences: Iterable[list[tuple[str, Tag]]],
    options: TaggerOptions,
    *,
    weights: Iterable[float] | None = None,
    jobs: int | None = 1,
    listener: Listener = silent,
) -> SequenceGrammar[TaggerOptions, Lexicon]:
    """Learn tags, a lexicon and operators from tagged sentences, which are read once.

    Raises EstimationError if there is no sentence, or if a sentence is empty.
    """
    formalism = _TaggedFormalism()
    (treebank,) = read_treebanks(_check_rows(sentences, may_be_empty=False), [formalism], weights=weights, jobs=jobs)
    tags = formalism.tags.names
    lexicon = formalism.lexicon
    tag_of_symbol = np.arange(2 * len(tags)) % len(tags)
    smooth = partial(smooth_emissions, lexicon, options.lexicon, tag_of_symbol=tag_of_symbol)
    treebank = _with_back_off(treebank, len(tags), Priors(smooth, fragments=options.back_off), options.back_off)
    latent = estimate(treebank, options.estimator, jobs=jobs, listener=listener)
    return _grammar(treebank, options, tags, lexicon, latent).rounded(options.compact)


# ---------------------------------------------------------------------------------------------------------------------
# Without tags


class _UntaggedFormalism:
    """The conversion of sequences without tags (`estimation.Formalism`).

    names: the observations in the order of their numbers.
    n_empty: the weight of the empty sequences, which have no trees.
    """

    def __init__(self) -> None:
        self.names = Vocabulary[Hashable]()
        self.n_empty = 0.0
        self._n_positions = 0

    def n_nodes(self, sequence: list[Hashable]) -> int:
        """Count the nodes of a sequence's s-tree."""
        return 2 * len(sequence)

    def columns(self, sequences: Sequence[list[Hashable]], weight: FloatArray) -> Columns:
        """Number the observations of sequences, and join them; empty sequences are counted alone."""
        is_full = np.array([len(sequence) > 0 for sequence in sequences])
        self.n_empty += float(weight[~is_full].sum())
        weight = weight[is_full]
        sequences = [sequence for sequence in sequences if sequence]
        joined = Sequences.of((map(self.names.add, sequence) for sequence in sequences), weight=weight)
        self._n_positions += len(joined.terminal)
        return columns_of(joined)

    def shard(self, columns: Columns) -> SequenceShard:
        """Make a shard from the numbers of observations."""
        return untagged_shard(columns, len(self.names), self._n_positions)


def _state_counts(shard: TreebankShard, clusters: NodeClusters, n_symbols: int) -> Counts:
    """Count the rules of a shard; the state of a position is the cluster of its spine node."""
    sequences = replace(Sequences.of_trees(shard.trees), weight=shard.weight)
    state = clusters.of_nodes(shard)[sequences.spine]
    return position_counts(sequences, state, n_symbols, int(clusters.states[1]))


@dataclass(frozen=True)
class _ChainStart:
    """Makes the hidden Markov models from which EM starts (`estimation.ChainStart`).

    treebank: the sequences as trees.
    n_symbols: the number of different observations.
    pseudo: the pseudo-count of every parameter of a model whose states are clusters.
    jobs: the number of threads.
    """

    treebank: Treebank
    n_symbols: int
    pseudo: float
    jobs: int | None

    def of_clusters(self, clusters: NodeClusters) -> HiddenMarkov:
        """Count the clusters of positions."""
        counts = parallel_map(_state_counts, self.treebank.shards, self.jobs, clusters, self.n_symbols)
        return HiddenMarkov.of_counts(reduce(Counts.__add__, counts), self.pseudo)

    def of_operators(self, operators: ObservableOperators) -> HiddenMarkov:
        """Sum out the states of emissions."""
        return HiddenMarkov.of_tree_model(operators, self.n_symbols, _LEAST)

    def random(self, n_states: int, seed: int) -> HiddenMarkov:
        """Draw a model near the frequencies of observations."""
        observed = _observed(self.treebank, self.n_symbols)
        return HiddenMarkov.random(observed, self.treebank.counts.n_trees, n_states, seed)


def _observed(treebank: Treebank, n_symbols: int) -> FloatArray:
    """Count each observation (n,)."""
    counts = treebank.counts
    observed = np.zeros(n_symbols)
    observed[counts.rules.leaf[:, 1]] = counts.leaf[:, 0]
    return observed


def _hidden_markov(
    sequences: Iterable[Sequences],
    treebank: Treebank,
    n_symbols: int,
    estimator: Estimator,
    jobs: int | None,
    listener: Listener,
) -> tuple[HiddenMarkov, tuple[float, ...]]:
    """Learn the probabilities of a hidden Markov model, from the start of an estimator and by EM.

    Returns the model, and the log-likelihood of the sequences at the start of EM and after each iteration.
    """
    seen = replace(treebank, priors=Priors(rules=treebank.priors.rules))  # only observations that were seen
    pseudo = estimator.state_smoothing if isinstance(estimator, EM) else 0.0
    start = estimator.start_chain(seen, _ChainStart(seen, n_symbols, pseudo, jobs), jobs, listener)
    if not isinstance(estimator, EM):
        return start, ()
    prior = _prior(treebank, n_symbols, start.n_states)
    return baum_welch(sequences, start, estimator, prior=prior, jobs=jobs, listener=listener)


def _prior(treebank: Treebank, n_symbols: int, n_states: int) -> FloatArray | None:
    """Choose pseudo-counts (n,) of observations in every state: one for each observation seen once, shared by all.

    As by Good and Turing, so many tokens are a guess at what was not seen; the states share them, and each state
    divides its part by the frequencies of observations.  None if every observation was seen twice.
    """
    observed = _observed(treebank, n_symbols)
    n_rare = Alphabet.seen_once(observed)
    return np.asarray(n_rare / n_states * observed / observed.sum()) if n_rare else None


def _with_unseen(model: HiddenMarkov, counts: Counts, back_off: float) -> HiddenMarkov:
    """Let any state begin and end a sequence, follow any state, and emit the terminal of unseen observations."""
    m = model.n_states
    n_positions = float(counts.symbol[0])
    unseen = Alphabet.unseen_tokens(counts.leaf[:, 0])
    emission = np.concatenate([n_positions * model.emission, np.full((m, 1), unseen)], axis=1)
    smoothed = model.smooth(np.full(m, 1.0 / m), n_positions, counts.n_trees, back_off)
    return replace(smoothed, emission=emission / (n_positions + unseen))


def train_untagged(
    sequences: Iterable[Iterable[Hashable]],
    options: HMMOptions,
    *,
    weights: Iterable[float] | None = None,
    jobs: int | None = 1,
    listener: Listener = silent,
) -> tuple[SequenceGrammar[HMMOptions, Alphabet], float, float]:
    """Learn an alphabet, operators, ε and the share of empty sequences, from sequences that are read once.

    Choices are made on the first half million positions.

    Raises EstimationError if all sequences are empty, or if an observation is not hashable.
    """
    formalism = _UntaggedFormalism()
    (treebank,) = read_treebanks(
        _check_rows(rows_of(sequences), may_be_empty=True), [formalism], weights=weights, jobs=jobs
    )
    alphabet = Alphabet(formalism.names.names)
    treebank = _with_back_off(treebank, 1, Priors(alphabet.smooth), options.back_off)
    stored = StoredSequences(cast(Sequence[SequenceShard], treebank.shards))  # the formalism makes these shards
    plain = replace(options, estimator=options.estimator.with_settings(smoothing=None))
    n_states, floor = choose_states_and_floor(stored, alphabet, plain, jobs, listener)
    estimator = plain.estimator.with_settings(n_states=n_states)
    if n_states > (n_positions := treebank.counts.symbol[0]):
        _log.warning("%d states are more than the %d observations to learn from", n_states, n_positions)
    if not estimator.probabilities:
        latent = estimate(treebank, estimator, jobs=jobs, listener=listener)
    else:
        model, objective = _hidden_markov(stored, treebank, len(alphabet.known), estimator, jobs, listener)
        operators = _with_unseen(model, treebank.counts, options.back_off).operators()
        latent = Estimate(operators, objective, log_likelihood=objective)
    grammar = _grammar(treebank, options, [None], alphabet, latent)
    empty = formalism.n_empty / (formalism.n_empty + treebank.counts.n_trees)
    return grammar, 0.0 if latent.operators.probabilities else floor, empty
