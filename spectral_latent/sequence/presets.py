"""Options of taggers that go well together, chosen on the dev splits of treebanks of four languages.

docs/accuracy.md measures them.
"""

from __future__ import annotations

from spectral_latent._names import PresetName
from spectral_latent._options import of_preset
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.sequence.options import TaggerOptions

__all__ = ["preset"]

_PRESETS: dict[PresetName, TaggerOptions] = {
    "fast": TaggerOptions(EstimatorOptions("clusters-em", n_states=8)),
    "accurate": TaggerOptions(EstimatorOptions("clusters-em", n_states=16)),
    "spectral": TaggerOptions(),
}


def preset(name: PresetName) -> TaggerOptions:
    """Give the options of a tagger, for `LatentTagger.train`.

    name: the preset.

    Raises ValueError for another name.

    >>> preset("spectral").estimator.n_states
    8
    """
    return of_preset(_PRESETS, name)
