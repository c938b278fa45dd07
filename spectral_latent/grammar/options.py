"""Settings of latent PCFGs over words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np

from spectral_latent._options import AtLeast, AtMost, Below, Options
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.lexicon import LexiconOptions
from spectral_latent.trees import FloatArray

__all__ = ["GrammarOptions", "MarginalName"]

MarginalName = Literal["absolute", "divided", "undivided"]


@dataclass(frozen=True)
class GrammarOptions(Options):
    """Settings of training and parsing.

    estimator: how latent states are found.
    lexicon: how words are smoothed.
    marginals: which signs marginals have in the arg max; see `with_signs`.
    fragments: trees to add that consist of any one phrase, so that fragments can be parsed; see `Priors`.
    beam: how far below its cell's best an item of the coarse chart is dropped; see `forests.pruned_forest`.
    threshold: the posterior below which the coarse grammar prunes an edge; see `forests.pruned_forest`.
    """

    estimator: EstimatorOptions = field(default_factory=EstimatorOptions)
    lexicon: LexiconOptions = field(default_factory=LexiconOptions)
    marginals: MarginalName = "absolute"
    fragments: Annotated[float, AtLeast(0.0), AtMost(1e9)] = 0.1
    beam: Annotated[float, AtLeast(0.0), Below(1.0)] = 1e-6
    threshold: Annotated[float, AtLeast(0.0), Below(1.0)] = 1e-4

    def with_signs(self, marginals: FloatArray, sign: int) -> FloatArray:
        """Give the marginals of a sentence the signs that the options ask for.

        "absolute" takes absolute values (slide 22).  "divided" keeps the signs of μ / p̂, where p̂ is the estimate of the
        sentence.  "undivided" gives the signs of μ itself (slide 20), so that a negative p̂ turns the arg max round.

        marginals: (n,) μ / p̂.
        sign: of p̂.

        >>> marginals = np.array([1.0, -0.5])
        >>> [GrammarOptions(marginals=name).with_signs(marginals, -1) for name in ("absolute", "divided", "undivided")]
        [array([1. , 0.5]), array([ 1. , -0.5]), array([-1. ,  0.5])]
        """
        if self.marginals == "absolute":
            return np.abs(marginals)
        return marginals * sign if self.marginals == "undivided" else marginals
