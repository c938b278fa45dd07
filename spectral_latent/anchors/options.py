"""Options of the anchor hidden Markov model; one setting serves every language."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from spectral_latent._names import HullName
from spectral_latent._options import Above, AtLeast, AtMost, Options

__all__ = ["AnchorOptions", "HullOptions", "SpellingName"]

SpellingName = Literal["regression", "appended", "none"]


@dataclass(frozen=True)
class HullOptions(Options):
    """Settings of the points that words become in the convex hull of their anchors; `hulls` has the formulas.

    construction: how counts of neighbouring words become points.  "brown" is exact if every word has one tag, and
        the best on most corpora.  "cca" keeps the directions in which words and neighbours correlate most, "best-fit"
        those in which the points vary most; "random" draws directions.
    window: how many words before and after a word are its context.
    places: whether every place of the window counts by itself; else a context is a word alone.
    smoothing: κ, tokens added to the counts by which "brown" and "cca" divide.
    sigma_power: the power of the singular values in the points of "brown".
    spelling: how the spelling of a word helps to place it.  "regression" draws its point to the one that spelling
        predicts; "appended" counts the features of spelling as contexts, as the paper does; "none" ignores them.
    prior: κ₀, how many tokens the predicted point is worth (without "regression": the mean of all points); 0 leaves the
        points where contexts put them.
    penalty: weight of the squared coefficients in the regression of points on spelling.
    seed: of the directions that "random" draws.
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

    n_states: m, the most states; there are fewer if the points of words have fewer dimensions.
    candidates: anchors are sought among so many of the most frequent words.
    hull: how words become points.
    exchange: whether anchors are exchanged while the hull grows; see `choose_anchors`.
    sharpness: the power to which p(state | word) is raised; see `find_mixtures`.
    closed_form: whether π and T come from the equations of Figure 2, and not from the likelihood of bigrams.
    steps: iterations of EM for the transitions, None for as many as convergence takes; see `maximise_likelihood`.
    added: the tokens of every state, and sentences, that are spread over all that may follow, so that nothing is
        impossible.
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
        """Choose the settings of Stratos et al. (2016); a consistent estimator (Theorem 4.1) without spelling.

        n_states: m.
        construction: of the convex hull (Figure 3); "brown" is consistent for Brown models alone.
        spelling: whether features of spelling are appended (section 4.4.4).
        closed_form: whether π and T are those of Figure 2; else they obey constraints (section 4.3.1), as in the
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
