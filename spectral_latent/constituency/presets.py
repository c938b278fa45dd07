"""Options that go well together: `fast` is a single grammar; `spectral` and `accurate` average three.

`spectral` uses moments and linear algebra alone, so that no part of its training has local optima.  The grammars of the
other two are climbed to by EM from clusters.

docs/accuracy.md measures what each step is worth.  The options were chosen on the dev splits of NLTK's
treebank sample, alpino and cess_esp, and with several seeds.
"""

from __future__ import annotations

from typing import Literal, get_args

from spectral_latent.constituency.conversion import Binarisation
from spectral_latent.constituency.options import ConstituencyOptions
from spectral_latent.estimation import EstimatorOptions

__all__ = ["PresetName", "preset"]

PresetName = Literal["fast", "spectral", "accurate"]

_WAYS = (Binarisation(), Binarisation("last", siblings=1), Binarisation(siblings=1))  # of grammars that are averaged


def _climbed(states: int, iterations: int, rank: int) -> EstimatorOptions:
    """Choose clusters on spectral projections, then a few iterations of EM; tensors have few terms."""
    return EstimatorOptions(
        "clusters-em", n_states=states, smoothing=5.0, iterations=iterations, state_smoothing=0.2, rank=rank
    )


def _grammar(estimator: EstimatorOptions, binarisation: Binarisation) -> ConstituencyOptions:
    """Choose an estimator and a binarisation, and prune charts tightly."""
    return ConstituencyOptions(estimator=estimator, beam=1e-3, threshold=2e-4, binarisation=binarisation)


def preset(name: PresetName) -> tuple[ConstituencyOptions, ...]:
    """Give the options of each grammar of a parser, for `ConstituencyModel.train`.

    Raises ValueError for another name.

    >>> [options.estimator.n_states for options in preset("accurate")]
    [28, 28, 28]
    """
    if name == "fast":
        return (_grammar(_climbed(24, 2, 8), Binarisation()),)
    if name == "spectral":
        return tuple(_grammar(EstimatorOptions("spectral", n_states=16), way) for way in _WAYS)
    if name == "accurate":
        return tuple(_grammar(_climbed(28, 3, 16), way) for way in _WAYS)
    raise ValueError(f"{name!r} is no preset; give {', '.join(get_args(PresetName))}")
