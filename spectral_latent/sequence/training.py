"""Train the parameters of a model of sequences, with tags and without.

Tagged sequences are learnt like other latent trees, over a lexicon of words.  Untagged sequences have a single tag, so
that the spectral estimator learns the observable operators of a hidden Markov model.  The other estimators learn the
probabilities of a hidden Markov model, in which an emission has the state of its position.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial, reduce
from typing import Any, TypeVar, cast

import numpy as np

from spectral_latent.estimation import (
    EM,
    Clusters,
    Columns,
    Estimate,
    EstimationError,
    Estimator,
    FeatureColumns,
    Listener,
    Priors,
    Projection,
    Random,
    Treebank,
    TreebankShard,
    parallel_map,
    read_treebanks,
    relative_frequencies,
    silent,
)
from spectral_latent.estimation.clustering import NodeClusters
from spectral_latent.lexicon import Lexicon, SpellingModel, WordCounts, smooth_emissions
from spectral_latent.operators import Counts
from spectral_latent.sequence.alphabet import Alphabet
from spectral_latent.sequence.baum_welch import baum_welch
from spectral_latent.sequence.checks import Tag, observations_of
from spectral_latent.sequence.choices import choose_states_and_floor
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.sequence.features import tagged_features
from spectral_latent.sequence.grammar import SequenceGrammar
from spectral_latent.sequence.hidden_markov import HiddenMarkov, position_counts
from spectral_latent.sequence.options import HMMOptions, TaggerOptions
from spectral_latent.sequence.treebanks import (
    SequenceShard,
    StoredSequences,
    columns_of,
    tag_shares,
    untagged_shard,
    with_back_off,
)
from spectral_latent.trees import FloatArray, Vocabulary

__all__ = ["train_tagged", "train_untagged"]

_LEAST = 1e-3  # added to the probabilities of recovered states, because a zero may be an error
_Token = TypeVar("_Token")


def _checked(rows: Iterable[list[_Token]]) -> Iterator[list[_Token]]:
    """Check sequences one by one.  Raises EstimationError if there is no sequence, or if a sequence is empty."""
    number = 0
    for number, row in enumerate(rows, start=1):
        if not row:
            raise EstimationError(f"sequence {number} is empty; leave it out")
        yield row
    if not number:
        raise EstimationError("no sequences to learn from")


def _grammar(
    treebank: Treebank, options: Any, tags: list[Tag], observations: Lexicon | Alphabet, latent: Estimate
) -> SequenceGrammar[Any, Any]:
    """Join latent operators with coarse operators."""
    coarse = relative_frequencies(treebank.counts, treebank.priors)
    prior = tag_shares(treebank.counts, len(tags))
    return SequenceGrammar(options, tags, observations, prior, coarse, latent.operators, latent.rounded_objective)


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
    (treebank,) = read_treebanks(_checked(sentences), [formalism], weights=weights, jobs=jobs)
    tags = formalism.tags.names
    lexicon = formalism.lexicon
    tag_of_symbol = np.arange(2 * len(tags)) % len(tags)
    smooth = partial(smooth_emissions, lexicon, options.lexicon, tag_of_symbol=tag_of_symbol)
    treebank = with_back_off(treebank, len(tags), Priors(smooth, fragments=options.back_off), options.back_off)
    latent = options.estimator.fit(treebank, jobs=jobs, listener=listener)
    return _grammar(treebank, options, tags, lexicon, latent).rounded()


# ---------------------------------------------------------------------------------------------------------------------
# Without tags


class _UntaggedFormalism:
    """The conversion of sequences without tags (`estimation.Formalism`).

    names: the observations in the order of their numbers.
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
        return columns_of(joined)

    def shard(self, columns: Columns) -> SequenceShard:
        """Make a shard from the numbers of observations."""
        return untagged_shard(columns, len(self.names), self._n_positions)


def _state_counts(shard: TreebankShard, clusters: NodeClusters, n_symbols: int) -> Counts:
    """Count the rules of a shard; the state of a position is the cluster of its spine node."""
    sequences = replace(Sequences.of_trees(shard.trees), weight=shard.weight)
    state = clusters.of_nodes(shard)[sequences.spine]
    return position_counts(sequences, state, n_symbols, int(clusters.states[1]))


def _hidden_markov(
    sequences: Iterable[Sequences],
    treebank: Treebank,
    n_symbols: int,
    estimator: Estimator,
    jobs: int | None,
    listener: Listener,
) -> tuple[HiddenMarkov, tuple[float, ...]]:
    """Learn the probabilities of a hidden Markov model from clusters, recovered states or a random start, and by EM.

    Returns the model, and the log-likelihood of the sequences at the start of EM and after each iteration.
    """
    match states := estimator.states:
        case Random():
            observed = np.zeros(n_symbols)
            observed[treebank.counts.rules.leaf[:, 1]] = treebank.counts.leaf[:, 0]
            start = HiddenMarkov.random(observed, treebank.counts.n_trees, states.n_states, states.seed)
        case Clusters():
            projection = Projection.learn(treebank.shards, states, jobs, listener)
            clusters = NodeClusters.learn(treebank, projection, states.seed, jobs)
            counts = reduce(Counts.__add__, parallel_map(_state_counts, treebank.shards, jobs, clusters, n_symbols))
            start = HiddenMarkov.of_counts(counts, estimator.state_smoothing if isinstance(estimator, EM) else 0.0)
        case _:
            seen = replace(treebank, priors=Priors(rules=treebank.priors.rules))  # only observations that were seen
            found = states.fit(seen, jobs=jobs, listener=listener)
            start = HiddenMarkov.of_tree_model(found.operators, n_symbols, _LEAST)
    if not isinstance(estimator, EM):
        return start, ()
    return baum_welch(sequences, start, estimator, jobs=jobs, listener=listener)


def _with_unseen(model: HiddenMarkov, counts: Counts, back_off: float) -> HiddenMarkov:
    """Let any state begin and end a sequence, follow any state, and emit the terminal of unseen observations."""
    m = model.n_states
    n_positions = float(counts.symbol[0])
    unseen = Alphabet.unseen_tokens(counts.leaf[:, 0])
    emission = np.concatenate([n_positions * model.emission, np.full((m, 1), unseen)], axis=1)
    smoothed = model.smoothed(np.full(m, 1.0 / m), n_positions, counts.n_trees, back_off)
    return replace(smoothed, emission=emission / (n_positions + unseen))


def train_untagged(
    sequences: Iterable[Iterable[Hashable]],
    options: HMMOptions,
    *,
    weights: Iterable[float] | None = None,
    jobs: int | None = 1,
    listener: Listener = silent,
) -> tuple[SequenceGrammar[HMMOptions, Alphabet], float]:
    """Learn an alphabet, operators and ε from sequences without tags, which are read once.

    Choices are made on the first half million positions.

    Raises EstimationError if there is no sequence, if a sequence is empty, or if an observation is not hashable.
    """
    formalism = _UntaggedFormalism()
    rows = (observations_of(sequence, number) for number, sequence in enumerate(sequences, start=1))
    (treebank,) = read_treebanks(_checked(rows), [formalism], weights=weights, jobs=jobs)
    alphabet = Alphabet(formalism.names.names)
    treebank = with_back_off(treebank, 1, Priors(alphabet.smooth), options.back_off)
    stored = StoredSequences(cast(Sequence[SequenceShard], treebank.shards))  # the formalism makes these shards
    plain = replace(options, estimator=options.estimator.with_settings(smoothing=None))
    n_states, floor = choose_states_and_floor(stored, alphabet, plain, jobs, listener)
    estimator = plain.estimator.with_settings(n_states=n_states)
    if not estimator.probabilities:
        latent = estimator.fit(treebank, jobs=jobs, listener=listener)
    else:
        model, objective = _hidden_markov(stored, treebank, len(alphabet.known), estimator, jobs, listener)
        operators = _with_unseen(model, treebank.counts, options.back_off).operators()
        latent = Estimate(operators, objective, log_likelihood=objective)
    return _grammar(treebank, options, [None], alphabet, latent), 0.0 if latent.operators.probabilities else floor
