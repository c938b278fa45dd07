"""What anchor hidden Markov models are compared with (Stratos et al. 2016, section 5.2), over the same types.

| here | paper | meaning |
| --- | --- | --- |
| `baum_welch_of_seeds` | BW | expectation maximisation from random starts; the likeliest |
| `cluster_model` | CLUSTER | the types' Brown clusters as states, and relative frequencies |
| `log_linear` | LOG-LINEAR | see `spectral_latent.papers.log_linear` |
| `max_marginal_states` | section 5.2 | the likeliest state of each position given the whole sequence |
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spectral_latent.anchors.vocabulary import Types
from spectral_latent.estimation import EstimationError, EstimatorOptions, TreebankCounts
from spectral_latent.papers.brown import brown_clusters
from spectral_latent.papers.log_linear import LogLinearOptions, log_linear
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.sequence.decoding import batches, state_marginals
from spectral_latent.sequence.hidden_markov import HiddenMarkov, UntaggedShard, baum_welch
from spectral_latent.trees import IntArray

__all__ = ["LogLinearOptions", "baum_welch_of_seeds", "cluster_model", "log_linear", "max_marginal_states"]


def cluster_model(types: Types, states: int) -> HiddenMarkov:
    """Brown clusters as states, of which there are no more than types; every word is emitted by one of them.

    Raises EstimationError if there are no types.

    >>> types = Types.of([["the", "cat", "sleeps"], ["the", "dog", "sleeps"], ["a", "cat", "barks"]])
    >>> (cluster_model(types, states=3).emission > 0).sum(axis=0)
    array([1, 1, 1, 1, 1, 1])
    """
    if not types.names:
        raise EstimationError("no sentences to learn from")
    cluster = brown_clusters(types.sequences, len(types.names), states)
    return HiddenMarkov.of_states(types.sequences, cluster[types.sequences.terminal], len(types.names))


def baum_welch_of_seeds(
    types: Types, states: int, seeds: Sequence[int] = (0,), iterations: int = 100, tolerance: float = 1e-3
) -> HiddenMarkov:
    """The likeliest of the models in which expectation maximisation ends from one random start per seed.

    tolerance: it ends when the log-likelihood per sentence rises by less, at the latest after so many iterations.
    Raises EstimationError if there are no types.

    >>> types = Types.of([["the", "cat", "sleeps"], ["a", "dog", "barks"]] * 3)
    >>> baum_welch_of_seeds(types, states=2, seeds=(0, 1)).emission.sum(axis=1)
    array([1., 1.])
    """
    if not seeds:
        raise ValueError("no seeds; give at least one")
    if not types.names:
        raise EstimationError("no sentences to learn from")
    options = EstimatorOptions("em", iterations=iterations, tolerance=tolerance, state_smoothing=0.0)
    shards = [UntaggedShard(types.sequences)]
    counts = TreebankCounts.of_shards(shards)
    starts = (HiddenMarkov.random(counts, states, len(types.names), seed) for seed in seeds)
    return max((baum_welch(shards, start, options) for start in starts), key=lambda found: found[1])[0]


def max_marginal_states(model: HiddenMarkov, sequences: Sequences) -> IntArray:
    """The state (N,) with the largest marginal at every position; of equal ones, the first.

    >>> sure = HiddenMarkov(np.array([1.0, 0.0]), np.array([[0.0, 1.0], [1.0, 0.0]]), np.full(2, 0.5), np.ones((2, 1)))
    >>> max_marginal_states(sure, Sequences.of([[0, 0, 0], [0]]))
    array([0, 1, 0, 0])
    """
    operators = model.operators()
    found = [state_marginals(Sequences.of(batch), operators).argmax(axis=1) for batch in batches(sequences.rows)]
    return np.concatenate([np.zeros(0, dtype=np.int64), *found])
