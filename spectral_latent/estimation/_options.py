"""Hold the settings of the estimators, and the reports of their progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Annotated, NamedTuple

from spectral_latent._names import ESTIMATORS, EstimatorName, StateSource
from spectral_latent._options import AtLeast, Below, Options

__all__ = [
    "EstimationError",
    "EstimatorOptions",
    "Listener",
    "LoweredStates",
    "Progress",
    "silent",
]

ROUNDING = 1e-10  # the largest rounding error of a singular value, as a share of the first one
_TO_CONVERGENCE = 1000  # the largest number of iterations of EM from a random start
_FEW = 5  # iterations of EM from states that are already good


class EstimationError(ValueError):
    """An error of estimation: the data do not support the estimate."""


@dataclass(frozen=True)
class EstimatorOptions(Options):
    """Settings of the estimators; settings that only other estimators use have no effect.

    estimator: the name of the estimator; see `ESTIMATORS`.
    n_states: m, the largest number of states of a symbol; symbols with few nodes get fewer states.
    scaling: κ of slide 23, or None for raw indicator features.
    smoothing: C of slide 25, or None for no smoothing.
    cutoff: directions with σ_i ≤ cutoff · σ_1 are dropped; None for 1/√n, where n is the number of the symbol's nodes.
    iterations: the largest number of EM iterations; None for the number that suits the estimator, see
    `most_iterations`.
    tolerance: EM stops when its objective per tree rises by less than this number in two iterations, and the second
    rise is not larger than the first.
    state_smoothing: the share of the mean over a symbol's states in the probabilities of a state of average frequency;
    see `em.state_prior`.
    rank: the largest number of terms of a binary rule's tensor, which is then smaller and faster but less exact; None
    for tensors as estimated.  Only estimators of probabilities use it.  See `operators.low_rank`.
    seed: the seed of the starts of singular value decompositions, clusters and random states.
    """

    estimator: EstimatorName = "spectral"
    n_states: Annotated[int, AtLeast(1)] = 16
    scaling: Annotated[float, AtLeast(0.0)] | None = 1.0
    smoothing: Annotated[float, AtLeast(0.0)] | None = 15.0
    cutoff: Annotated[float, AtLeast(0.0), Below(1.0)] | None = None
    iterations: Annotated[int, AtLeast(0)] | None = None
    tolerance: Annotated[float, AtLeast(0.0)] = 1e-3
    state_smoothing: Annotated[float, AtLeast(0.0), Below(1.0)] = 0.01
    rank: Annotated[int, AtLeast(1)] | None = None
    seed: Annotated[int, AtLeast(0)] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rank is not None and not ESTIMATORS[self.estimator].probabilities:
            raise ValueError(
                f"only an estimator of probabilities, such as clusters-em, may have a rank; {self.estimator} gives none"
            )

    def cutoff_for(self, n: float) -> float:
        """Compute the share of σ_1 up to which directions of a symbol with n nodes are dropped: `cutoff`, or else 1/√n.

        Means over n nodes have errors of order 1/√n, and operators divide them by σ_i / σ_1: where this quotient is
        larger than 1/√n, the errors of operators stay bounded.  The share falls to zero as n grows, so that enough
        nodes show every true state; only directions of rounding errors are always dropped.

        n: the number of the symbol's nodes, or the sum of their weights.

        >>> EstimatorOptions().cutoff_for(10_000), EstimatorOptions(cutoff=0.001).cutoff_for(10_000)
        (0.01, 0.001)
        """
        return max(1.0 / sqrt(n), ROUNDING) if self.cutoff is None else self.cutoff

    @property
    def most_iterations(self) -> int:
        """The largest number of EM iterations: the option, or else 1,000 from a random start and 5 from other states.

        From random states, `tolerance` ends EM much earlier.  Clusters, pivots and recovered states are near the result
        of EM, so that five iterations are nearly enough.

        >>> EstimatorOptions("em").most_iterations, EstimatorOptions("clusters-em").most_iterations
        (1000, 5)
        """
        if self.iterations is not None:
            return self.iterations
        is_random = ESTIMATORS[self.estimator].states_from is StateSource.RANDOM
        return _TO_CONVERGENCE if is_random else _FEW


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
