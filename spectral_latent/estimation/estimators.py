"""All estimators behind one function."""

from __future__ import annotations

import numpy as np

from spectral_latent.estimation.clustering import cluster_states, clustering, from_states
from spectral_latent.estimation.em import expectation_maximisation, random_start
from spectral_latent.estimation.options import EstimatorOptions, Listener, Progress, TrainingData, silent
from spectral_latent.estimation.projections import project_trees, states_for
from spectral_latent.estimation.spectral import spectral
from spectral_latent.operators import ObservableOperators

__all__ = ["estimate"]


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

    Raises EstimationError if the data do not support the estimate.
    """
    options = options or EstimatorOptions()
    trees = data.trees
    if options.estimator == "em":
        states = np.array([states_for(count, options.states) for count in np.bincount(trees.symbol)])
        return expectation_maximisation(data, random_start(trees, states, options.seed), options, listener)
    projected = project_trees(trees, data.features, options, jobs)
    listener(Progress("projections", 1, 1))
    if options.estimator == "spectral":
        return spectral(data, projected, options)
    if options.estimator == "clustering":
        return clustering(data, projected, options)
    start = from_states(trees, cluster_states(trees, projected, options.seed), options.smoothing)
    return expectation_maximisation(data, start, options, listener)
