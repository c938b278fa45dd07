"""Hold the options of the anchor hidden Markov model; the defaults serve every language."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from spectral_latent._names import HullName
from spectral_latent._options import Above, AtLeast, AtMost, Options

__all__ = ["AnchorOptions", "HullOptions", "SpellingName"]

SpellingName = Literal["regression", "appended", "none"]


@dataclass(frozen=True)
class HullOptions(Options):
    """Settings of the points of words in the convex hull of anchors; `hulls` has the formulas.

    construction: the way to compute points from counts of neighbouring words.  "brown" is exact if every word has one
        tag, and the best on most corpora.  "cca" keeps the directions in which words and neighbours correlate most,
        "best-fit" the directions in which the points vary most; "random" draws directions.
    window: the number of words before and after a word that are its context.
    places: whether a context is a word with its place in the window; else a context is a word in any place.
    smoothing: κ, tokens that are added to the counts by which "brown" and "cca" divide.
    sigma_power: the power of the singular values in the points of "brown".
    spelling: the use of a word's spelling.  "regression" moves its point towards the point that spelling predicts;
        "appended" counts the features of spelling as contexts, as in the paper; "none" ignores them.
    prior: κ₀, the weight of the predicted point, in tokens (without "regression", of the mean of all points); with 0,
        points depend on contexts alone.
    penalty: the weight of the squared coefficients in the regression of points on spelling.
    seed: the seed of the directions that "random" draws.
    """

    construction: HullName = "brown"
    window: Annotated[int, AtLeast(1), AtMost(100)] = 1
    places: bool = True
    smoothing: Annotated[float, AtLeast(0.0)] = 50.0
    sigma_power: Annotated[float, AtLeast(0.0), AtMost(1.0)] = 0.5
    spelling: SpellingName = "regression"
    prior: Annotated[float, AtLeast(0.0)] = 30.0
    penalty: Annotated[float, Above(0.0), AtMost(1e9)] = 10.0
    seed: Annotated[int, AtLeast(0)] = 0


@dataclass(frozen=True)
class AnchorOptions(Options):
    """Settings of training.

    n_states: m, the largest number of states; there are fewer if the points of words have fewer dimensions.
    candidates: the number of most frequent words among which anchors are searched.
    hull: the settings of the points of words.
    exchange: whether anchors are exchanged while the hull grows; see `choose_anchors`.
    sharpness: the power to which p(state | word) is raised; see `find_mixtures`.
    closed_form: whether π and T come from the equations of Figure 2, and not from the likelihood of bigrams.
    steps: the number of iterations of EM for the transitions; None to converge; see `maximise_likelihood`.
    added: the pseudo-count of the transitions of every state, and of sentences, so that no sequence is impossible.
    """

    n_states: Annotated[int, AtLeast(1)] = 12
    candidates: Annotated[int, AtLeast(1)] = 300
    hull: HullOptions = field(default_factory=HullOptions)
    exchange: bool = True
    sharpness: Annotated[float, Above(0.0)] = 4.0
    closed_form: bool = False
    steps: Annotated[int, AtLeast(1)] | None = 10
    added: Annotated[float, AtLeast(0.0)] = 1.0

    @staticmethod
    def paper(
        n_states: int = 12, construction: HullName = "brown", *, spelling: bool = False, closed_form: bool = False
    ) -> AnchorOptions:
        """Choose the settings of Stratos et al. (2016); without spelling, the estimator is consistent (Theorem 4.1).

        n_states: m, the number of states.
        construction: the construction of the convex hull (Figure 3); "brown" is only consistent for Brown models.
        spelling: whether features of spelling are appended (section 4.4.4).
        closed_form: whether π and T come from Figure 2; otherwise they obey constraints (section 4.3.1), as in the
            paper's experiments.

        >>> AnchorOptions.paper(4, "cca").hull.smoothing
        0.0
        """
        hull = HullOptions(
            construction, smoothing=0.0, sigma_power=0.0, spelling="appended" if spelling else "none", prior=0.0
        )
        return AnchorOptions(
            n_states, hull=hull, exchange=False, sharpness=1.0, closed_form=closed_form, steps=None, added=0.0
        )
