"""Settings of latent PCFGs over words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from spectral_latent._options import AtLeast, AtMost, Below, Options
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.lexicon import LexiconOptions

__all__ = ["GrammarOptions"]


@dataclass(frozen=True)
class GrammarOptions(Options):
    """Settings of training and parsing.

    estimator: how latent states are found.
    lexicon: how words are smoothed.
    absolute: marginals are taken by absolute value before the arg max (slides 21, 22).
    fragments: trees to add that consist of any one phrase, so that fragments can be parsed; see `Priors`.
    beam: how far below its cell's best an item of the coarse chart is dropped; see `forests.pruned_forest`.
    threshold: the posterior below which the coarse grammar prunes an edge; see `forests.pruned_forest`.
    """

    estimator: EstimatorOptions = field(default_factory=EstimatorOptions)
    lexicon: LexiconOptions = field(default_factory=LexiconOptions)
    absolute: bool = True
    fragments: Annotated[float, AtLeast(0.0), AtMost(1e9)] = 0.1
    beam: Annotated[float, AtLeast(0.0), Below(1.0)] = 1e-6
    threshold: Annotated[float, AtLeast(0.0), Below(1.0)] = 1e-4
