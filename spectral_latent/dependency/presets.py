"""Choose options that go well together.

The options were chosen on the dev splits of treebanks of four languages; docs/accuracy.md has their figures.
"""

from __future__ import annotations

from spectral_latent._names import PresetName
from spectral_latent._options import of_preset
from spectral_latent.dependency.options import DependencyOptions
from spectral_latent.estimation import Estimator
from spectral_latent.grammar.options import BEAM, THRESHOLD, clusters_then_em

__all__ = ["preset"]


def _grammar(estimator: Estimator) -> DependencyOptions:
    """Make the options of a grammar with tightly pruned charts."""
    return DependencyOptions(estimator=estimator, beam=BEAM, threshold=THRESHOLD)


_PRESETS: dict[PresetName, DependencyOptions] = {
    "fast": _grammar(clusters_then_em(16, 2, 8)),
    "accurate": _grammar(clusters_then_em(28, 3, 16)),
    "spectral": DependencyOptions(),
}


def preset(name: PresetName) -> DependencyOptions:
    """Return the options of a dependency parser, for `DependencyModel.train`.

    name: the name of the preset.

    Raises ValueError for another name.

    >>> preset("fast").estimator.states.n_states
    16
    """
    return of_preset(_PRESETS, name)
