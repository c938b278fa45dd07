"""Name what options choose from.  This module imports nothing heavy, so that the command line's help is quick."""

from __future__ import annotations

from enum import Enum
from typing import Literal, NamedTuple

__all__ = ["ESTIMATORS", "AnyPresetName", "Estimator", "EstimatorName", "HullName", "PresetName", "StateSource"]

EstimatorName = Literal["spectral", "clustering", "em", "clusters-em", "pivots", "pivots-em", "recovered", "hybrid"]
HullName = Literal["brown", "cca", "best-fit", "random"]
PresetName = Literal["fast", "accurate", "spectral"]
AnyPresetName = Literal["fast", "accurate", "best", "spectral"]  # `best` is for one formalism alone


class StateSource(Enum):
    """The source of latent states; its value is a description."""

    PROJECTIONS = "singular value decompositions"
    CLUSTERS = "k-means on the spectral projections"
    RANDOM = "a random start"
    PIVOTS = "features that only one state has"
    DECOMPOSITIONS = "tensor decompositions of the moments"


class Estimator(NamedTuple):
    """One row of the table of estimators.

    states_from: the source of latent states.
    climbs: whether expectation maximisation follows.
    """

    states_from: StateSource
    climbs: bool = False

    @property
    def probabilities(self) -> bool:
        """Whether the operators are probabilities; else they have a basis of their own, and p̂ may be negative."""
        return self.states_from is not StateSource.PROJECTIONS


ESTIMATORS: dict[EstimatorName, Estimator] = {
    "spectral": Estimator(StateSource.PROJECTIONS),
    "clustering": Estimator(StateSource.CLUSTERS),
    "em": Estimator(StateSource.RANDOM, climbs=True),
    "clusters-em": Estimator(StateSource.CLUSTERS, climbs=True),
    "pivots": Estimator(StateSource.PIVOTS),
    "pivots-em": Estimator(StateSource.PIVOTS, climbs=True),
    "recovered": Estimator(StateSource.DECOMPOSITIONS),
    "hybrid": Estimator(StateSource.DECOMPOSITIONS, climbs=True),
}
