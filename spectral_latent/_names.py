"""Define the names that options choose from.

This module imports nothing heavy, so that the help of the command line is quick.
"""

from __future__ import annotations

from enum import Enum
from typing import Literal, NamedTuple

__all__ = [
    "ESTIMATORS",
    "AnyPresetName",
    "Estimator",
    "EstimatorName",
    "HullName",
    "Memory",
    "PresetName",
    "StateSource",
]

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


class Memory(Enum):
    """The largest thing that an estimator holds in memory beside one shard of the treebank; its value is a description.

    m is the number of states of a symbol.
    """

    CHOICES = "counts of the choices of states that occur"
    MOMENTS = "moments of at most m³ numbers a binary rule"
    TENSORS = "m³ numbers a binary rule; less with `rank`"


class Estimator(NamedTuple):
    """One row of the table of estimators.

    states_from: the source of latent states.
    memory: the largest thing that the estimator holds in memory.
    climbs: whether expectation maximisation improves the states afterwards.
    """

    states_from: StateSource
    memory: Memory
    climbs: bool = False

    @property
    def probabilities(self) -> bool:
        """Whether the operators are probabilities; else they have a basis of their own, and p̂ may be negative."""
        return self.states_from is not StateSource.PROJECTIONS


ESTIMATORS: dict[EstimatorName, Estimator] = {
    "spectral": Estimator(StateSource.PROJECTIONS, Memory.MOMENTS),
    "clustering": Estimator(StateSource.CLUSTERS, Memory.CHOICES),
    "em": Estimator(StateSource.RANDOM, Memory.TENSORS, climbs=True),
    "clusters-em": Estimator(StateSource.CLUSTERS, Memory.CHOICES, climbs=True),
    "pivots": Estimator(StateSource.PIVOTS, Memory.MOMENTS),
    "pivots-em": Estimator(StateSource.PIVOTS, Memory.MOMENTS, climbs=True),
    "recovered": Estimator(StateSource.DECOMPOSITIONS, Memory.MOMENTS),
    "hybrid": Estimator(StateSource.DECOMPOSITIONS, Memory.MOMENTS, climbs=True),
}
