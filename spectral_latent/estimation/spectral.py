"""The spectral estimator (long paper, Figure 7; slides 17-25), and relative frequencies as its one-state case."""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

from spectral_latent.estimation.moments import Moments
from spectral_latent.estimation.options import EstimationError, EstimatorOptions, TrainingData
from spectral_latent.estimation.projections import ProjectedTrees
from spectral_latent.estimation.shards import ShardedData
from spectral_latent.estimation.smoothing import Unseen, solve
from spectral_latent.estimation.tally import Tally
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import FloatArray, SkeletalTrees

__all__ = ["draw_one_node_per_tree", "relative_frequencies", "spectral", "spectral_moments", "spectral_operators"]

_LARGEST = 1e12  # no sound estimate comes near; beyond it a singular value was divided by that should not have been


def relative_frequencies(trees: SkeletalTrees | Tally, unseen: Unseen | None = None) -> ObservableOperators:
    """The plain PCFG of trees or their counts: moments with y = z = 1 over symbol counts; see `solve`.

    Raises EstimationError if there are no trees.

    >>> trees = SkeletalTrees.of([0, 0, 0], left=[-1, -1, 0], right=[-1, -1, 1], terminal=[5, 6, -1], root=[2])
    >>> operators = relative_frequencies(trees)
    >>> operators.leaf.ravel().round(3), operators.binary[0].multiplied_out().ravel().round(3)
    (array([0.333, 0.333]), array([0.333]))
    """
    tally = Tally.of(trees) if isinstance(trees, SkeletalTrees) else trees
    if not tally.n_trees:
        raise EstimationError("no trees to learn from")
    return solve(tally.moments(), unseen=unseen)


def draw_one_node_per_tree(trees: SkeletalTrees, rng: np.random.Generator) -> FloatArray:
    """Weights (N,) that leave one node of each tree, drawn uniformly, and count it once for every node of its tree.

    So weighted, sums over draws have the expectation of sums over all nodes.  The long paper (sections 7.1 and 8) draws
    the same way but counts every draw once; with N the nodes of a tree, that learns p(tree) / N instead of p(tree).

    >>> trees = SkeletalTrees.of([0, 0, 0], left=[-1, -1, 0], right=[-1, -1, 1], terminal=[5, 6, -1], root=[2])
    >>> draw_one_node_per_tree(trees, np.random.default_rng(0))
    array([0., 0., 3.])
    """
    first = np.concatenate([[0], trees.root[:-1] + 1])[: len(trees.root)]
    size = trees.root + 1 - first
    weights = np.zeros(trees.n_nodes)
    weights[rng.integers(first, trees.root + 1)] = size
    return weights


def spectral(data: TrainingData, projected: ProjectedTrees, options: EstimatorOptions) -> ObservableOperators:
    """Observable operators in the basis of the projections, without local optima; see `spectral_operators`."""
    return spectral_operators(data, spectral_moments(data, projected), options)


def spectral_moments(data: TrainingData, projected: ProjectedTrees) -> Moments:
    """The moments of all nodes (long paper, Figure 7, step 2)."""
    with threadpool_limits(1):
        return Moments.of(data.trees, data.trees.rules, projected.states, projected.y, projected.z, projected.weights)


def spectral_operators(
    data: TrainingData | ShardedData, moments: Moments, options: EstimatorOptions
) -> ObservableOperators:
    """Operators from moments, smoothed as options and data say (Figure 7, step 3).

    Raises EstimationError if the estimated parameters are of absurd size.
    """
    with threadpool_limits(1):
        operators = solve(moments, options.smoothing, data.unseen)
    packed = operators.packed
    sizes = [np.abs(array).max(initial=0.0) for array in (packed.root, packed.leaf, packed.unary, packed.data)]
    if not (largest := float(np.max(sizes))) < _LARGEST:
        raise EstimationError(f"a parameter reached {largest:.1e}; raise `cutoff` or lower `states`")
    return operators
