"""All estimators behind one function."""

from __future__ import annotations

import logging

import numpy as np

from spectral_latent.estimation.clustering import cluster_states, clustering, from_states
from spectral_latent.estimation.em import expectation_maximisation, random_start
from spectral_latent.estimation.options import (
    EstimationError,
    EstimatorOptions,
    Listener,
    Progress,
    TrainingData,
    silent,
)
from spectral_latent.estimation.pivots import pivot_start, pivots
from spectral_latent.estimation.projections import ProjectedTrees, project_trees, states_for
from spectral_latent.estimation.spectral import draw_one_node_per_tree, spectral
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import FloatArray

__all__ = ["estimate"]

_log = logging.getLogger(__name__)


def _drawn(data: TrainingData, seed: int) -> FloatArray:
    """Weights (N,) of one node per tree."""
    if data.unseen.leaves is not None:
        raise EstimationError("one_node_per_tree is for trees whose leaves need no smoothing")
    weights = draw_one_node_per_tree(data.trees, np.random.default_rng(seed))
    if not weights[data.trees.root].any():
        raise EstimationError("none of the nodes drawn is a root; one_node_per_tree needs more trees")
    return weights


def _projected(data: TrainingData, options: EstimatorOptions, jobs: int, listener: Listener) -> ProjectedTrees:
    """The projections; which symbols lost states is told to the listener and, at level INFO, to the log."""
    one_per_tree = options.one_node_per_tree and options.estimator == "spectral"
    weights = _drawn(data, options.seed) if one_per_tree else None
    projected = project_trees(data.trees, data.features, options, jobs, weights)
    if projected.lowered:
        told = ", ".join(f"{a} ({supported} to {kept})" for a, supported, kept in projected.lowered)
        _log.info("too few singular values above %g of the first: states lowered of symbols %s", options.cutoff, told)
    listener(Progress("projections", 1, 1, lowered=projected.lowered))
    return projected


def estimate(
    data: TrainingData, options: EstimatorOptions | None = None, *, jobs: int = 1, listener: Listener = silent
) -> ObservableOperators:
    """Observable operators by the estimator that the options name; the same for any number of `jobs` (processes).

    | name | states from | result |
    | --- | --- | --- |
    | spectral | singular value decompositions | operators in a basis of their own; p̂ may be negative |
    | clustering | k-means on the spectral projections | probabilities |
    | em | expectation maximisation from a random start | probabilities |
    | hybrid | expectation maximisation from the clusters | probabilities |
    | pivots | features that only one state has | probabilities |
    | pivots-em | expectation maximisation from the pivots | probabilities |

    Raises EstimationError if the data do not support the estimate.
    """
    options = options or EstimatorOptions()
    trees = data.trees
    if options.estimator == "em":
        states = np.array([states_for(count, options.states) for count in np.bincount(trees.symbol)])
        return expectation_maximisation(data, random_start(trees, states, options.seed), options, listener)
    projected = _projected(data, options, jobs, listener)
    if options.estimator == "spectral":
        return spectral(data, projected, options)
    if options.estimator == "clustering":
        return clustering(data, projected, options)
    if options.estimator == "pivots":
        return pivots(data, projected, options)
    if options.estimator == "pivots-em":
        start = pivot_start(data, projected, options)
    else:
        start = from_states(trees, cluster_states(trees, projected, options.seed), options.smoothing)
    return expectation_maximisation(data, start, options, listener)
