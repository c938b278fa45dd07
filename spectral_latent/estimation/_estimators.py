"""Estimate operators by any estimator; the estimators are the rows of one table.

Every estimator except the spectral one begins with counts of rules with latent states.  The counts come from clusters,
from pivots, from tensor decompositions, or from a random start.  The estimator either turns these counts into
probabilities, or runs expectation maximisation from them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import NamedTuple

import numpy as np

from spectral_latent._names import ESTIMATORS, StateSource
from spectral_latent._options import given_or
from spectral_latent.estimation._low_rank import low_rank_operators
from spectral_latent.estimation._moments import Moments, Priors, moments_from_counts
from spectral_latent.estimation._options import EstimationError, EstimatorOptions, Listener, silent
from spectral_latent.estimation._parallel import parallel_map
from spectral_latent.estimation._pivots import pivot_counts
from spectral_latent.estimation._projections import Projection, states_for
from spectral_latent.estimation._recovery import recovered_counts
from spectral_latent.estimation._smoothing import operators_from_moments
from spectral_latent.estimation._treebank import Treebank, TreebankShard
from spectral_latent.estimation.clustering import Clusters, cluster_counts
from spectral_latent.estimation.em import EMResult, random_counts, run_em, state_prior, towards_mean
from spectral_latent.files.rounding import with_digits
from spectral_latent.operators import Counts, ObservableOperators
from spectral_latent.trees import Rules

__all__ = ["Estimate", "estimate", "reestimate", "relative_frequencies", "spectral_moments"]

_LARGEST = 1e12  # no sound estimate comes near; beyond it a singular value was divided by that should not have been
_OBJECTIVE_DIGITS = 32  # binary digits of the stored objective
_START = 0.01  # the least share of the mean over states at the start of EM, so that no tree has probability zero


class _Task(NamedTuple):
    """The arguments of an estimator."""

    treebank: Treebank
    options: EstimatorOptions
    jobs: int | None
    listener: Listener


class Estimate(NamedTuple):
    """The result of an estimator.

    operators: the operators that were estimated.
    objective: the objective of EM at the start and after each iteration; empty for estimators without EM.
    log_likelihood: the log-likelihood of the treebank at the same points.
    """

    operators: ObservableOperators
    objective: tuple[float, ...] = ()
    log_likelihood: tuple[float, ...] = ()

    @property
    def rounded_objective(self) -> tuple[float, ...]:
        """The objective, rounded to digits that are the same on all kinds of processors."""
        return tuple(with_digits(np.array(self.objective), _OBJECTIVE_DIGITS).tolist())


def relative_frequencies(counts: Counts, priors: Priors | None = None) -> ObservableOperators:
    """Compute the coarse PCFG of a treebank, which has one state a symbol, from its counts.

    counts: the counts of rules.
    priors: additions for trees that the treebank lacks; none if not given.

    Raises EstimationError if there are no trees.

    >>> from spectral_latent.trees import SkeletalTrees
    >>> trees = SkeletalTrees.of([0, 0, 0], left=[-1, -1, 0], right=[-1, -1, 1], terminal=[5, 6, -1], root=[2])
    >>> operators = relative_frequencies(Counts.of_trees(trees))
    >>> operators.leaf.ravel().round(3), operators.binary[0].multiplied_out().ravel().round(3)
    (array([0.333, 0.333]), array([0.333]))
    """
    if not counts.n_trees:
        raise EstimationError("no trees to learn from")
    return replace(operators_from_moments(moments_from_counts(counts, counts), priors=priors), probabilities=True)


def _moments_of(shard: TreebankShard, projection: Projection, rules: Rules) -> Moments:
    """Sum the projections of the nodes of a shard."""
    trees, y, z = projection.project(shard)
    return Moments.of_trees(trees, rules, projection.states, y, z, shard.weight[trees.tree])


def spectral_moments(treebank: Treebank, projection: Projection, jobs: int | None = 1) -> Moments:
    """Sum the moments of all nodes of a treebank (long paper, Figure 7, step 2).

    treebank: the trees with their features.
    projection: the maps from features to projections.
    jobs: the number of workers; see `parallel_map`.

    >>> from spectral_latent.estimation import FeatureColumns, Shard
    >>> from spectral_latent.trees import SkeletalTrees
    >>> trees = SkeletalTrees.of([0, 0], left=[-1, -1], right=[-1, -1], terminal=[5, 6], root=[0, 1])
    >>> same = np.zeros((2, 1), dtype=int)
    >>> treebank = Treebank.of([Shard.of(trees, FeatureColumns(same, same))])
    >>> projection = Projection.learn(treebank.shards, EstimatorOptions(scaling=None))
    >>> spectral_moments(treebank, projection).inside
    array([[2., 2.]])
    """
    moments_of_shards = parallel_map(_moments_of, treebank.shards, jobs, projection, treebank.counts.rules)
    return reduce(Moments.__add__, moments_of_shards)


def _spectral(task: _Task, projection: Projection) -> ObservableOperators:
    """Compute operators from moments by singular value decompositions (long paper, Figure 7)."""
    treebank, options, jobs, _ = task
    moments = spectral_moments(treebank, projection, jobs)
    operators = operators_from_moments(moments, options.smoothing, treebank.priors)
    packed = operators.packed
    sizes = [np.abs(array).max(initial=0.0) for array in (packed.root, packed.leaf, packed.unary, packed.data)]
    if not (largest := float(np.max(sizes))) < _LARGEST:
        raise EstimationError(f"a parameter reached {largest:.1e}; raise `cutoff` or lower `n_states`")
    return operators


def _counts_of_clusters(task: _Task, projection: Projection) -> Counts:
    """Count rules with clusters of nodes as states."""
    treebank, options, jobs, _ = task
    clusters = Clusters.learn(treebank, projection, options.seed, jobs)
    return cluster_counts(treebank, clusters, options.rank, jobs)


def _counts_of_pivots(task: _Task, projection: Projection) -> Counts:
    """Estimate counts of rules with the states that pivots determine."""
    treebank, options, jobs, _ = task
    return pivot_counts(spectral_moments(treebank, projection, jobs), projection, options)


def _counts_of_recovered_states(task: _Task, projection: Projection) -> Counts:
    """Compute expected counts of rules with the states of tensor decompositions, in one pass over the trees.

    The decompositions give probabilities with errors, and some of them were set to zero; counting in the treebank
    corrects them.
    """
    treebank, options, jobs, _ = task
    counts = recovered_counts(spectral_moments(treebank, projection, jobs), projection, options)
    operators = ObservableOperators.probabilities_of(counts)
    vanishing = 1.0 / (1.0 + float(np.sqrt(treebank.counts.symbol.sum())))  # so that no tree has probability zero
    start = towards_mean(operators, vanishing)
    return run_em(treebank.shards, start, replace(options, iterations=0), jobs=jobs).expected.counts()


def _counts_of_random_start(task: _Task) -> Counts:
    """Split the counts of rules among states at random."""
    observed = task.treebank.counts
    options = task.options
    states = np.array([states_for(count, options.n_states) for count in observed.symbol.tolist()], dtype=np.int64)
    return random_counts(observed, states, options.rank, options.seed)


_COUNTS = {
    StateSource.CLUSTERS: _counts_of_clusters,
    StateSource.PIVOTS: _counts_of_pivots,
    StateSource.DECOMPOSITIONS: _counts_of_recovered_states,
}  # of rules with latent states, from projections


def _probabilities(counts: Counts, task: _Task, *, priors: Priors | None) -> ObservableOperators:
    """Make smoothed probabilities from counts (slide 25), with the number of terms that the options ask for."""
    observed = task.treebank.counts
    smoothed = operators_from_moments(moments_from_counts(counts, observed), task.options.smoothing, priors)
    if task.options.rank is not None:
        smoothed = low_rank_operators(smoothed, task.options.rank, task.jobs)
    return ObservableOperators.probabilities_of(smoothed)


def _climb(counts: Counts, task: _Task) -> EMResult:
    """Run EM from the probabilities of counts, after a small share of the mean over states is mixed in."""
    treebank, options, jobs, listener = task
    operators = _probabilities(counts, task, priors=None)
    start = towards_mean(operators, max(options.state_smoothing, _START))
    prior = state_prior(operators, treebank.counts, options.state_smoothing)
    return run_em(treebank.shards, start, options, prior, jobs=jobs, listener=listener)


def estimate(
    treebank: Treebank,
    options: EstimatorOptions | None = None,
    *,
    jobs: int | None = 1,
    listener: Listener = silent,
) -> Estimate:
    """Estimate observable operators by the estimator that the options name; see `ESTIMATORS`.

    The operators do not depend on the number of jobs, nor on the engine that `joblib.parallel_config` names.

    treebank: the trees with their features.
    options: the estimator and its settings; the defaults if not given.
    jobs: the number of workers; see `parallel_map`.
    listener: is told the progress.
    Raises EstimationError if the data do not support the estimate.

    >>> from spectral_latent.estimation import FeatureColumns, Shard
    >>> from spectral_latent.trees import SkeletalTrees
    >>> trees = SkeletalTrees.of([0, 0, 0], left=[-1] * 3, right=[-1] * 3, terminal=[5, 5, 6], root=[0, 1, 2])
    >>> same = np.zeros((3, 1), dtype=int)
    >>> treebank = Treebank.of([Shard.of(trees, FeatureColumns(same, same))])
    >>> estimate(treebank, EstimatorOptions(scaling=None)).operators.leaf.round(3)
    array([[0.667],
           [0.333]])
    """
    options = given_or(EstimatorOptions(), options)
    task = _Task(treebank, options, jobs, listener)
    estimator = ESTIMATORS[options.estimator]
    if estimator.states_from is StateSource.RANDOM:
        return _from_counts(_counts_of_random_start(task), task)
    projection = Projection.learn(treebank.shards, options, jobs, listener)
    if estimator.probabilities:
        found = _from_counts(_COUNTS[estimator.states_from](task, projection), task)
    else:
        found = Estimate(_spectral(task, projection))
    return found._replace(operators=replace(found.operators, singular_values=projection.singular_values))


def _from_counts(counts: Counts, task: _Task) -> Estimate:
    """Make probabilities from counts of rules with latent states, by EM if the estimator uses EM."""
    priors = task.treebank.priors
    if not ESTIMATORS[task.options.estimator].climbs:
        return Estimate(_probabilities(counts, task, priors=priors))
    climb = _climb(counts, task)
    smoothed = _probabilities(climb.expected.counts(), task, priors=priors)
    return Estimate(smoothed, climb.objective, climb.log_likelihood)


def reestimate(
    treebank: Treebank, operators: ObservableOperators, options: EstimatorOptions, *, jobs: int | None = 1
) -> ObservableOperators:
    """Estimate operators from the expected counts under other operators: one iteration of EM, with smoothing.

    treebank: the trees; their features are not used.
    operators: probabilities over the rules of the treebank.
    options: the settings of smoothing and of tensors.
    jobs: the number of workers; see `parallel_map`.
    Raises EstimationError if a tree has probability zero.

    >>> from spectral_latent.estimation import FeatureColumns, Shard
    >>> from spectral_latent.trees import SkeletalTrees
    >>> trees = SkeletalTrees.of([0, 0, 0], left=[-1] * 3, right=[-1] * 3, terminal=[5, 5, 6], root=[0, 1, 2])
    >>> treebank = Treebank.of([Shard.of(trees, FeatureColumns(*np.zeros((2, 3, 0), dtype=int)))])
    >>> options = EstimatorOptions("em", smoothing=None)
    >>> reestimate(treebank, relative_frequencies(treebank.counts), options).leaf.round(3)
    array([[0.667],
           [0.333]])
    """
    start = towards_mean(operators, _START)
    found = run_em(treebank.shards, start, replace(options, iterations=0), jobs=jobs)
    task = _Task(treebank, options, jobs, silent)
    return _probabilities(found.expected.counts(), task, priors=treebank.priors)
