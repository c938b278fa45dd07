"""Hidden Markov models over word types that anchor models are compared with (Stratos et al. 2016, section 5.2).

| here | paper | meaning |
| --- | --- | --- |
| `train_baum_welch` | BW | expectation maximisation from random starts; the likeliest model |
| `train_cluster_hmm` | CLUSTER | the types' Brown clusters as states, and relative frequencies |
| `featurized.train_featurized_hmm` | LOG-LINEAR | probabilities that are log-linear in features of words |
| `decode_states` | section 5.2 | the likeliest state of each position, given the whole sequence |
| `score_per_word` | Table 6 | Σ log p(sentence) / Σ words, in nats, ends of sentences included |
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.papers.brown import find_brown_clusters
from spectral_latent.anchors import WordTypes
from spectral_latent.estimation import EM, EstimationError
from spectral_latent.sequence.baum_welch import ChainCounts, baum_welch, state_posteriors
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.sequence.hidden_markov import HiddenMarkov
from spectral_latent.trees import IntArray

__all__ = ["decode_states", "score_per_word", "train_baum_welch", "train_cluster_hmm"]


def train_cluster_hmm(types: WordTypes, n_states: int) -> HiddenMarkov:
    """Estimate the model whose states are Brown clusters, from relative frequencies.

    Every type is emitted by one state.  There are no more states than types.

    Raises EstimationError if there are no types.

    >>> types = WordTypes.of([["the", "cat", "sleeps"], ["the", "dog", "sleeps"], ["a", "cat", "barks"]])
    >>> (train_cluster_hmm(types, n_states=3).emission > 0).sum(axis=0)
    array([1, 1, 1, 1, 1, 1])
    """
    if not types.names:
        raise EstimationError("no sentences to learn from")
    state = find_brown_clusters(types.sequences, len(types.names), n_states)[types.sequences.terminal]
    return ChainCounts.of_states(types.sequences, state, len(types.names), int(state.max()) + 1).model()


def train_baum_welch(
    types: WordTypes, n_states: int, seeds: Sequence[int] = (0,), iterations: int = 100, tolerance: float = 1e-3
) -> HiddenMarkov:
    """Climb by expectation maximisation from random starts, and give the likeliest of the models found.

    Raises EstimationError if there are no types, and ValueError if there are no seeds.

    >>> types = WordTypes.of([["the", "cat", "sleeps"], ["a", "dog", "barks"]] * 3)
    >>> train_baum_welch(types, n_states=2, seeds=(0, 1)).emission.sum(axis=1)
    array([1., 1.])
    """
    if not seeds:
        raise ValueError("no seeds; give at least one")
    if not types.names:
        raise EstimationError("no sentences to learn from")
    options = EM(iterations=iterations, tolerance=tolerance, state_smoothing=0.0)
    sequences = types.sequences
    observed = np.bincount(sequences.terminal, minlength=len(types.names)).astype(float)
    starts = (HiddenMarkov.random(observed, sequences.n_sequences, n_states, seed) for seed in seeds)
    return max((baum_welch([sequences], start, options) for start in starts), key=lambda found: found[1][-1])[0]


def decode_states(model: HiddenMarkov, sequences: Sequences) -> IntArray:
    """Find the state (N,) with the largest marginal at every position; of equal ones, the first.

    >>> sure = HiddenMarkov(np.array([1.0, 0.0]), np.array([[0.0, 1.0], [1.0, 0.0]]), np.full(2, 0.5), np.ones((2, 1)))
    >>> decode_states(sure, Sequences.of([[0, 0, 0], [0]]))
    array([0, 1, 0, 0])
    """
    return np.asarray(state_posteriors(sequences, model)[0].argmax(axis=1))


def score_per_word(model: HiddenMarkov, sequences: Sequences) -> float:
    """Compute the mean log-probability of a word, in nats; -inf if a sequence is impossible.

    >>> coin = HiddenMarkov(np.array([1.0]), np.array([[1.0]]), np.array([0.5]), np.array([[0.5, 0.5]]))
    >>> round(score_per_word(coin, Sequences.of([[0, 1], [1]])), 4)  # log 1/4
    -1.3863
    """
    return float(state_posteriors(sequences, model)[1].sum()) / len(sequences.terminal)
