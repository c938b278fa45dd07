"""Define the names that options choose from.

This module imports nothing heavy, so that the help of the command line is quick.
"""

from __future__ import annotations

from typing import Literal

__all__ = [
    "AnyPresetName",
    "EstimatorName",
    "HullName",
    "PresetName",
]

EstimatorName = Literal["spectral", "clustering", "em", "clusters-em", "pivots", "pivots-em", "recovered", "hybrid"]
HullName = Literal["brown", "cca", "best-fit", "random"]
PresetName = Literal["fast", "accurate", "spectral"]
AnyPresetName = Literal["fast", "accurate", "best", "spectral"]  # `best` is for one formalism alone
