"""Options of the anchor hidden Markov model; one setting serves every language."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from spectral_latent._options import Above, AtLeast, AtMost, Options

__all__ = ["AnchorOptions", "HullName", "HullOptions"]

HullName = Literal["brown", "cca", "best-fit", "random"]


@dataclass(frozen=True)
class HullOptions(Options):
    """Settings of the points that words become in the convex hull of their anchors; `hulls` has the formulas.

    construction: how counts of neighbouring words become points.  "brown" is exact if every word has one tag, and
        the best on most corpora.  "cca" keeps the directions in which words and neighbours correlate most, "best-fit"
        those in which the points vary most; "random" draws directions.
    window: how many words before and after a word are its context; every place counts by itself.
    smoothing: κ, tokens added to the counts by which "brown" and "cca" divide.
    spelling: whether the spelling of a word helps to place it.
    prior: κ₀, how many tokens the point that spelling predicts is worth (without spelling: the mean of all points);
        0 leaves the points where contexts put them.
    penalty: weight of the squared coefficients in the regression of points on spelling.
    seed: of the directions that "random" draws.
    """

    construction: HullName = "brown"
    window: Annotated[int, AtLeast(1), AtMost(100)] = 1
    smoothing: Annotated[float, AtLeast(0.0)] = 50.0
    spelling: bool = True
    prior: Annotated[float, AtLeast(0.0)] = 30.0
    penalty: Annotated[float, Above(0.0), AtMost(1e9)] = 10.0
    seed: Annotated[int, AtLeast(0)] = 0


@dataclass(frozen=True)
class AnchorOptions(Options):
    """Settings of training.

    n_states: m, the most states; there are fewer if the points of words have fewer dimensions.
    candidates: anchors are sought among so many of the most frequent words.
    hull: how words become points.
    sharpness: the power to which p(state | word) is raised; see `find_mixtures`.
    steps: iterations of EM for the transitions; see `maximise_likelihood`.
    """

    n_states: Annotated[int, AtLeast(1)] = 12
    candidates: Annotated[int, AtLeast(1)] = 300
    hull: HullOptions = field(default_factory=HullOptions)
    sharpness: Annotated[float, Above(0.0)] = 4.0
    steps: Annotated[int, AtLeast(1)] = 10
