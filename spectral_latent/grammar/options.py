"""Hold the settings of latent PCFGs over words, and what presets of both kinds of parser have in common."""

import math
import time
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

import numpy as np

from spectral_latent._options import Above, AtLeast, AtMost, Below, Options
from spectral_latent.estimation import EM, Clusters, Estimator, Spectral
from spectral_latent.lexicon import LexiconOptions
from spectral_latent.trees import FloatArray, IntArray

MarginalName = Literal["absolute", "divided", "undivided"]

_ITEM = 32  # the bytes of an item of a chart, with room to grow and the copies that pruning makes
# Presets prune charts more than the default options.
BEAM = 5e-4
THRESHOLD = 2e-4


@dataclass(frozen=True)
class Limits(Options):
    """Limits of the cost of a sentence under one grammar.  A sentence beyond a limit has no parse; a warning tells it.

    A given tree with more words has no score.  Within `max_words`, the score of a tree takes seconds and some hundreds
    of megabytes at most.

    seconds: the largest number of CPU seconds for its charts, about; None for no limit.
    megabytes: the largest memory of a chart, about."""

    max_words: Annotated[int, AtLeast(1)] = 1000
    seconds: Annotated[float, Above(0.0)] | None = 60.0
    megabytes: Annotated[int, AtLeast(1), AtMost(1 << 24)] = 1024

    @property
    def items(self) -> int:
        """The largest number of items of a chart."""
        return (self.megabytes << 20) // _ITEM

    @property
    def deadline(self) -> float:
        """The time at which a chart that begins now is given up, in CPU seconds of this thread (`time.thread_time`)."""
        return math.inf if self.seconds is None else time.thread_time() + self.seconds


@dataclass(frozen=True)
class GrammarOptions(Options):
    """Settings of training and parsing.

    marginals: the signs of marginals in the arg max; see `with_signs`.
    fragments: the pseudo-count of trees that consist of any one phrase, so that fragments can be parsed; see `Priors`.
    beam: an item of the coarse chart is dropped below this share of its cell's best item; see `forests.prune_chart`.
    threshold: the posterior below which the coarse grammar prunes an edge; see `forests.prune_chart`.
    compact: whether to store fewer digits, and alike vectors of words once; see `files.round_operators`."""

    later: ClassVar[frozenset[str]] = frozenset({"compact"})
    estimator: Estimator = field(default_factory=Spectral)
    lexicon: LexiconOptions = field(default_factory=LexiconOptions)
    marginals: MarginalName = "absolute"
    fragments: Annotated[float, AtLeast(0.0), AtMost(1e9)] = 0.1
    beam: Annotated[float, AtLeast(0.0), Below(1.0)] = 1e-6
    threshold: Annotated[float, AtLeast(0.0), Below(1.0)] = 1e-4
    limits: Limits = field(default_factory=Limits)
    compact: bool = False

    def with_signs(self, marginals: FloatArray, sign: IntArray) -> FloatArray:
        """Give the marginals of sentences the signs that the options ask for.

        "absolute" takes absolute values (slide 22).  "divided" keeps the signs of μ / p̂, where p̂ is the estimate of the
        sentence.  "undivided" gives the signs of μ itself (slide 20), so that a negative p̂ turns the arg max round.

        marginals: μ / p̂, of any shape.
        sign: the sign of p̂: one sign for all marginals, (1,), or a sign for each marginal, of their shape.

        >>> options = [GrammarOptions(marginals=name) for name in ("absolute", "divided", "undivided")]
        >>> [each.with_signs(np.array([1.0, -0.5]), np.array([-1])) for each in options]
        [array([1. , 0.5]), array([ 1. , -0.5]), array([-1. ,  0.5])]
        """
        if self.marginals == "absolute":
            return np.abs(marginals)
        return marginals * sign if self.marginals == "undivided" else marginals


def clusters_then_em(n_states: int, iterations: int, rank: int) -> EM:
    """Choose clusters on spectral projections, then a few iterations of EM; tensors have few terms."""
    return EM(Clusters(n_states, smoothing=5.0, rank=rank), iterations, state_smoothing=0.2)
