"""Define the names that options choose from.

This module imports nothing heavy, so that the help of the command line is quick.
"""

from __future__ import annotations

from typing import Literal

__all__ = [
    "ConstituencyPresetName",
    "EstimatorName",
    "PresetName",
]

EstimatorName = Literal["spectral", "clustering", "em", "clusters-em", "anchors", "anchors-em", "moments", "moments-em"]
PresetName = Literal["fast", "accurate", "spectral"]
ConstituencyPresetName = Literal["fast", "accurate", "best", "clusters", "spectral"]
