"""Define the names that options choose from.

This module imports nothing heavy, so that the help of the command line is quick.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

__all__ = [
    "OLD_ESTIMATORS",
    "ConstituencyPresetName",
    "EstimatorName",
    "HullName",
    "PresetName",
]

EstimatorName = Literal["spectral", "clustering", "em", "clusters-em", "anchors", "anchors-em", "moments", "moments-em"]
OLD_ESTIMATORS: Mapping[str, EstimatorName] = MappingProxyType(
    {
        "pivots": "anchors",
        "pivots-em": "anchors-em",
        "anchor": "anchors",
        "recovered": "moments",
        "hybrid": "moments-em",
    }
)  # earlier names, which are read until the first release
HullName = Literal["brown", "cca", "best-fit", "random"]
PresetName = Literal["fast", "accurate", "spectral"]
ConstituencyPresetName = Literal["fast", "accurate", "best", "clusters"]
