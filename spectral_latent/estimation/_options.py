"""Hold the settings of the estimators, and the reports of their progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Annotated, NamedTuple

from spectral_latent._options import AtLeast, Below, Options

__all__ = [
    "EstimationError",
    "Listener",
    "LoweredStates",
    "Progress",
    "ProjectionOptions",
    "StateOptions",
    "silent",
]

ROUNDING = 1e-10  # the largest rounding error of a singular value, as a share of the first one


class EstimationError(ValueError):
    """An error of estimation: the data do not support the estimate."""


@dataclass(frozen=True)
class StateOptions(Options):
    """Settings of states, which most estimators have.

    n_states: m, the largest number of states of a symbol; symbols with few nodes get fewer states.
    smoothing: C of slide 25, or None for no smoothing.
    seed: the seed of the starts of singular value decompositions, clusters and random states.
    """

    n_states: Annotated[int, AtLeast(1)] = 16
    smoothing: Annotated[float, AtLeast(0.0)] | None = 15.0
    seed: Annotated[int, AtLeast(0)] = 0


@dataclass(frozen=True)
class ProjectionOptions(StateOptions):
    """Settings of the projections with which most estimators begin.

    scaling: κ of slide 23, or None for raw indicator features.
    cutoff: directions with σ_i ≤ cutoff · σ_1 are dropped; None for 1/√n, where n is the number of the symbol's nodes.
    """

    scaling: Annotated[float, AtLeast(0.0)] | None = 1.0
    cutoff: Annotated[float, AtLeast(0.0), Below(1.0)] | None = None

    def cutoff_for(self, n: float) -> float:
        """Compute the share of σ_1 up to which directions of a symbol with n nodes are dropped: `cutoff`, or else 1/√n.

        Means over n nodes have errors of order 1/√n, and operators divide them by σ_i / σ_1: where this quotient is
        larger than 1/√n, the errors of operators stay bounded.  The share falls to zero as n grows, so that enough
        nodes show every true state; only directions of rounding errors are always dropped.

        n: the number of the symbol's nodes, or the sum of their weights.

        >>> ProjectionOptions().cutoff_for(10_000), ProjectionOptions(cutoff=0.001).cutoff_for(10_000)
        (0.01, 0.001)
        """
        # Weights may sum to less than one; the first direction is always kept.
        return max(1.0 / sqrt(max(n, 2.0)), ROUNDING) if self.cutoff is None else self.cutoff


class LoweredStates(NamedTuple):
    """A symbol with enough nodes for `supported` states, but with only `kept` large singular values of Ω̂.

    Condition 1 or 2 of the long paper fails for the symbol: some states are too similar, or the features do not
    distinguish them.
    """

    symbol: int
    supported: int
    kept: int


class Progress(NamedTuple):
    """A report of an estimator's progress: `done` of `total` steps of a stage."""

    stage: str
    done: int
    total: int
    score: float | None = None  # the number that the stage maximises: the objective of EM, or a held-out score
    lowered: tuple[LoweredStates, ...] = ()  # symbols with fewer states than their nodes support, after "projections"


def silent(_progress: Progress) -> None:
    """Ignore the progress of an estimator."""


Listener = Callable[[Progress], None]
