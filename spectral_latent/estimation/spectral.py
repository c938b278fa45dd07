"""The spectral estimator (long paper, Figure 7; slides 17-25), and relative frequencies as its one-state case."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from spectral_latent.estimation.features import FeatureColumns
from spectral_latent.estimation.moments import Moments
from spectral_latent.estimation.projections import ProjectedViews, project, states_for
from spectral_latent.estimation.smoothing import LeafSmoothing, solve
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import FloatArray, IntArray, SkeletalTrees

__all__ = ["EstimationError", "SpectralOptions", "relative_frequencies", "spectral"]

_LARGEST = 1e12  # no sound estimate comes near; beyond it a singular value was divided by that should not have been


class EstimationError(ValueError):
    """The data do not support the estimate asked for."""


@dataclass(frozen=True)
class SpectralOptions:
    """Settings of the spectral estimator.

    states: m, the most states a symbol may have; symbols with little evidence get fewer.
    scaling: κ of slide 23, or None for raw indicator features.
    smoothing: C of slide 25, or None for the moments as they are.
    cutoff: directions with σ_i ≤ cutoff · σ_1 are dropped.
    seed: of the vector that the singular value decompositions start from.
    """

    states: int = 16
    scaling: float | None = 1.0
    smoothing: float | None = 15.0
    cutoff: float = 0.01
    seed: int = 0

    def __post_init__(self) -> None:
        if self.states < 1:
            raise ValueError(f"states must be at least 1, not {self.states}")


def relative_frequencies(
    trees: SkeletalTrees, leaf_smoothing: LeafSmoothing | None = None, *, fragments: float = 0.0
) -> ObservableOperators:
    """The plain PCFG: rule counts over symbol counts, which are moments with y = z = 1; see `solve`.

    >>> trees = SkeletalTrees.of([0, 0, 0], left=[-1, -1, 0], right=[-1, -1, 1], terminal=[5, 6, -1], root=[2])
    >>> operators = relative_frequencies(trees)
    >>> operators.leaf.ravel().round(3), operators.binary[0].multiplied_out().ravel().round(3)
    (array([0.333, 0.333]), array([0.333]))
    """
    ones = np.ones((trees.n_nodes, 1))
    states = np.ones(int(trees.symbol.max()) + 1, dtype=np.int64)
    return solve(Moments.of(trees, trees.rules, states, ones, ones), leaf_smoothing=leaf_smoothing, fragments=fragments)


def _project_symbol(features: FeatureColumns, nodes: IntArray, options: SpectralOptions) -> ProjectedViews:
    states = states_for(len(nodes), options.states)
    with threadpool_limits(1):
        return project(*features.views(nodes, options.scaling), states, options.cutoff, options.seed)


def _project_all(
    trees: SkeletalTrees, features: FeatureColumns, options: SpectralOptions, jobs: int
) -> tuple[IntArray, FloatArray, FloatArray]:
    """States (S,) of each symbol, and y, z (N, M) of each node."""
    order = np.argsort(trees.symbol, kind="stable")
    n_symbols = int(trees.symbol.max()) + 1
    groups = np.split(order, np.searchsorted(trees.symbol[order], np.arange(1, n_symbols)))
    if empty := [a for a, group in enumerate(groups) if not len(group)]:
        raise EstimationError(f"symbols {empty} occur at no node; number symbols without gaps")
    pool = Parallel(n_jobs=jobs)
    views = pool(delayed(_project_symbol)(features, group, options) for group in groups)
    states = np.array([len(view.sigma) for view in views])
    y, z = np.zeros((2, trees.n_nodes, states.max()))
    for group, view in zip(groups, views, strict=True):
        y[group, : len(view.sigma)] = view.y
        z[group, : len(view.sigma)] = view.z
    return states, y, z


def _checked(operators: ObservableOperators) -> ObservableOperators:
    """The operators, if their numbers are of sound size."""
    packed = operators.packed
    largest = max(float(np.abs(array).max(initial=0.0)) for array in (packed.root, packed.leaf, packed.data))
    if not largest < _LARGEST:
        raise EstimationError(f"a parameter reached {largest:.1e}; raise `cutoff` or lower `states`")
    return operators


def spectral(
    trees: SkeletalTrees,
    features: FeatureColumns,
    options: SpectralOptions | None = None,
    leaf_smoothing: LeafSmoothing | None = None,
    *,
    fragments: float = 0.0,
    jobs: int = 1,
) -> ObservableOperators:
    """Observable operators of a latent tree model, in seconds and without local optima.

    leaf_smoothing, fragments: see `solve`.
    jobs: processes; the result is the same, bit for bit, for any number.

    Raises EstimationError if there are no trees, if a symbol's number is used by no node, or if the estimated
    parameters are of absurd size.
    """
    options = options or SpectralOptions()
    if trees.n_nodes == 0:
        raise EstimationError("no trees to learn from")
    states, y, z = _project_all(trees, features, options, jobs)
    with threadpool_limits(1):
        moments = Moments.of(trees, trees.rules, states, y, z)
        return _checked(solve(moments, options.smoothing, leaf_smoothing, fragments))
