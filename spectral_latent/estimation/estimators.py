"""All estimators behind one function."""

from __future__ import annotations

import logging

import numpy as np

from spectral_latent.estimation.clustering import cluster_counts, cluster_states, clustering, from_counts, from_states
from spectral_latent.estimation.em import expectation_maximisation, random_start
from spectral_latent.estimation.options import (
    EstimationError,
    EstimatorOptions,
    Listener,
    LoweredStates,
    Progress,
    TrainingData,
    silent,
)
from spectral_latent.estimation.passes import Projection, latent_moments
from spectral_latent.estimation.pivots import pivot_start, pivots
from spectral_latent.estimation.projections import project_trees, states_for
from spectral_latent.estimation.shards import ShardedData
from spectral_latent.estimation.spectral import draw_one_node_per_tree, spectral, spectral_operators
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import FloatArray

__all__ = ["estimate"]

_SHARDED = ("spectral", "clustering", "em", "hybrid")
_log = logging.getLogger(__name__)


def _drawn(data: TrainingData, seed: int) -> FloatArray:
    """Weights (N,) of one node per tree."""
    if data.unseen.leaves is not None:
        raise EstimationError("one_node_per_tree is for trees whose leaves need no smoothing")
    weights = draw_one_node_per_tree(data.trees, np.random.default_rng(seed))
    if not weights[data.trees.root].any():
        raise EstimationError("none of the nodes drawn is a root; one_node_per_tree needs more trees")
    return weights


def _tell(lowered: tuple[LoweredStates, ...], cutoff: float, listener: Listener) -> None:
    """Which symbols lost states, to the listener and, at level INFO, to the log."""
    if lowered:
        told = ", ".join(f"{a} ({supported} to {kept})" for a, supported, kept in lowered)
        _log.info("too few singular values above %g of the first: states lowered of symbols %s", cutoff, told)
    listener(Progress("projections", 1, 1, lowered=lowered))


def estimate(
    data: TrainingData | ShardedData,
    options: EstimatorOptions | None = None,
    *,
    jobs: int | None = 1,
    listener: Listener = silent,
) -> ObservableOperators:
    """Observable operators by the estimator that the options name.

    They are the same for any number of `jobs` (processes), and on the engine that `joblib.parallel_config` names; of
    shards, the same as of the whole up to rounding, but that clusters of very many nodes are found on a part of them.

    | name | states from | result |
    | --- | --- | --- |
    | spectral | singular value decompositions | operators in a basis of their own; p̂ may be negative |
    | clustering | k-means on the spectral projections | probabilities |
    | em | expectation maximisation from a random start | probabilities |
    | hybrid | expectation maximisation from the clusters | probabilities |
    | pivots | features that only one state has | probabilities; not of shards |
    | pivots-em | expectation maximisation from the pivots | probabilities; not of shards |

    Raises EstimationError if the data do not support the estimate.
    """
    options = options or EstimatorOptions()
    if options.estimator == "em":
        states = np.array([states_for(int(count), options.states) for count in data.tally.symbol])
        return expectation_maximisation(data, random_start(data.tally, states, options.seed), options, listener, jobs)
    if isinstance(data, ShardedData):
        return _of_shards(data, options, jobs, listener)
    return _of_trees(data, options, jobs, listener)


def _of_trees(
    data: TrainingData, options: EstimatorOptions, jobs: int | None, listener: Listener
) -> ObservableOperators:
    one_per_tree = options.one_node_per_tree and options.estimator == "spectral"
    weights = _drawn(data, options.seed) if one_per_tree else None
    projected = project_trees(data.trees, data.features, options, jobs, weights)
    _tell(projected.lowered, options.cutoff, listener)
    if options.estimator == "spectral":
        return spectral(data, projected, options)
    if options.estimator == "clustering":
        return clustering(data, projected, options)
    if options.estimator == "pivots":
        return pivots(data, projected, options)
    if options.estimator == "pivots-em":
        start = pivot_start(data, projected, options)
    else:
        start = from_states(data.trees, cluster_states(data.trees, projected, options.seed), options.smoothing)
    return expectation_maximisation(data, start, options, listener)


def _of_shards(
    data: ShardedData, options: EstimatorOptions, jobs: int | None, listener: Listener
) -> ObservableOperators:
    name = options.estimator
    if name not in _SHARDED:
        raise EstimationError(
            f"{name!r} needs the treebank in memory, but this one lies in shards; give a larger shard_nodes, "
            f"or one of {', '.join(_SHARDED)}"
        )
    if name == "spectral" and options.one_node_per_tree:
        raise EstimationError("one_node_per_tree needs the treebank in memory; give a larger shard_nodes")
    projection = Projection.of(data.shards, options, jobs, listener)
    _tell(projection.lowered, options.cutoff, listener)
    if name == "spectral":
        return spectral_operators(data, latent_moments(data.shards, projection, jobs), options)
    counts, states = cluster_counts(data, projection, options, jobs)
    if name == "clustering":
        return from_counts(counts, states, data.tally, options.smoothing, data.unseen)
    start = from_counts(counts, states, data.tally, options.smoothing)
    return expectation_maximisation(data, start, options, listener, jobs)
