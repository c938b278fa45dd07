"""Choose options that go well together: of taggers, and of hidden Markov models without tags.

The options of taggers were chosen on the dev splits of treebanks of four languages (docs/accuracy.md).  The options of
models without tags were chosen on strings of random hidden Markov models.
"""

from __future__ import annotations

from spectral_latent._names import PresetName
from spectral_latent._options import of_preset
from spectral_latent.estimation import EM, Clusters, Decomposition
from spectral_latent.sequence.options import HMMOptions, TaggerOptions

__all__ = ["hmm_preset", "preset"]

_PRESETS: dict[PresetName, TaggerOptions] = {
    "fast": TaggerOptions(EM(Clusters(8))),
    "accurate": TaggerOptions(EM(Clusters(16))),
    "spectral": TaggerOptions(),
}
_HMM_PRESETS: dict[PresetName, HMMOptions] = {
    "fast": HMMOptions(EM(Decomposition(32), iterations=100, tolerance=1e-4)),
    "accurate": HMMOptions(EM(Decomposition(32), iterations=1000, tolerance=1e-5)),
    "spectral": HMMOptions(),
}


def preset(name: PresetName) -> TaggerOptions:
    """Return the options of a tagger, for `LatentTagger.train`.

    name: the name of the preset.

    Raises ValueError for another name.

    >>> preset("spectral").estimator
    Spectral(n_states=8)
    """
    return of_preset(_PRESETS, name)


def hmm_preset(name: PresetName) -> HMMOptions:
    """Return the options of a model of sequences without tags, for `LatentHMM.train`.

    "fast" and "accurate" begin EM from the states of the spectral model.  "fast" makes at most 100 iterations,
    "accurate" continues until EM gains almost nothing.

    name: the name of the preset.

    Raises ValueError for another name.

    >>> hmm_preset("fast").estimator.start
    Decomposition(n_states=32)
    """
    return of_preset(_HMM_PRESETS, name)
