"""What every estimator is given: trees with their features, settings, and somebody to tell how far it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Literal, NamedTuple

import numpy as np

from spectral_latent._options import AtLeast, AtMost, Below, Options
from spectral_latent.estimation.features import FeatureColumns
from spectral_latent.estimation.smoothing import Unseen
from spectral_latent.estimation.tally import Tally
from spectral_latent.trees import SkeletalTrees

__all__ = [
    "EstimationError",
    "EstimatorName",
    "EstimatorOptions",
    "Listener",
    "LoweredStates",
    "Progress",
    "TrainingData",
    "silent",
]

EstimatorName = Literal["spectral", "clustering", "em", "hybrid", "pivots", "pivots-em"]


class EstimationError(ValueError):
    """The data do not support the estimate asked for."""


@dataclass(frozen=True)
class EstimatorOptions(Options):
    """Settings of the estimators; those of another estimator than the one named have no effect.

    estimator: see `estimate`.
    states: m, the most states a symbol may have; symbols with little evidence get fewer.
    scaling: κ of slide 23, or None for raw indicator features.
    smoothing: C of slide 25, or None for the moments as they are.
    cutoff: directions with σ_i ≤ cutoff · σ_1 are dropped.
    iterations: the most EM iterations.
    tolerance: EM stops when the log-likelihood per tree rises by less.
    state_smoothing: share of the mean over its symbol's states that each state's probabilities are mixed with in EM.
    seed: of where singular value decompositions, clusters and random states start, and of the nodes drawn.
    one_node_per_tree: learn from one node of each tree, drawn at random, instead of all: i.i.d. examples, as Theorem 3
    of the long paper assumes them.  For theory only: all nodes give smaller errors.  See `draw_one_node_per_tree`.
    """

    estimator: EstimatorName = "spectral"
    states: Annotated[int, AtLeast(1)] = 16
    scaling: Annotated[float, AtLeast(0.0)] | None = 1.0
    smoothing: Annotated[float, AtLeast(0.0)] | None = 15.0
    cutoff: Annotated[float, AtLeast(0.0), Below(1.0)] = 0.01
    iterations: Annotated[int, AtLeast(0)] = 5
    tolerance: Annotated[float, AtLeast(0.0)] = 1e-3
    state_smoothing: Annotated[float, AtLeast(0.0), AtMost(1.0)] = 0.01
    seed: Annotated[int, AtLeast(0)] = 0
    one_node_per_tree: bool = False


class LoweredStates(NamedTuple):
    """A symbol whose nodes would support `supported` states, but whose Ω̂ has only `kept` singular values worth using.

    Condition 1 or 2 of the long paper fails for it: some states are too alike, or the features do not tell them apart.
    """

    symbol: int
    supported: int
    kept: int


class Progress(NamedTuple):
    """Where an estimator is; `lowered`, after the projections, tells of symbols with fewer states than asked for."""

    stage: str
    done: int
    total: int
    log_likelihood: float | None = None
    lowered: tuple[LoweredStates, ...] = ()
    score: float | None = None


def silent(_progress: Progress) -> None:
    """Tell nobody."""


Listener = Callable[[Progress], None]


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Trees, their features, and what a formalism adds for the sake of what they lack."""

    trees: SkeletalTrees
    features: FeatureColumns
    unseen: Unseen = field(default_factory=Unseen)

    def __post_init__(self) -> None:
        if self.trees.n_nodes == 0:
            raise EstimationError("no trees to learn from")
        if len(empty := np.flatnonzero(np.bincount(self.trees.symbol) == 0)):
            raise EstimationError(f"symbols {empty.tolist()} occur at no node; number symbols without gaps")

    @cached_property
    def tally(self) -> Tally:
        """How often what occurs in the trees."""
        return Tally.of(self.trees)
