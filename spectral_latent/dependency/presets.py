"""Options that go well together, chosen on the dev splits of treebanks of four languages.

docs/accuracy.md measures them.
"""

from __future__ import annotations

from spectral_latent._options import PresetName, of_preset
from spectral_latent.dependency.options import DependencyOptions
from spectral_latent.estimation import EstimatorOptions

__all__ = ["preset"]


def _grammar(states: int, iterations: int, rank: int) -> DependencyOptions:
    """Choose clusters on spectral projections, then a few iterations of EM; tensors have few terms."""
    estimator = EstimatorOptions(
        "clusters-em", n_states=states, smoothing=5.0, iterations=iterations, state_smoothing=0.2, rank=rank
    )
    return DependencyOptions(estimator=estimator, beam=1e-3, threshold=2e-4)


_PRESETS: dict[PresetName, DependencyOptions] = {
    "fast": _grammar(16, 2, 8),
    "accurate": _grammar(28, 3, 16),
    "spectral": DependencyOptions(),
}


def preset(name: PresetName) -> DependencyOptions:
    """Give the options of a dependency parser, for `DependencyModel.train`.

    name: the preset.

    Raises ValueError for another name.

    >>> preset("fast").estimator.n_states
    16
    """
    return of_preset(_PRESETS, name)
