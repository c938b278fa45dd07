"""Parsing accuracy by steps, after the slides of Cohen, Stratos, Collins, Foster and Ungar (2013).

The steps are models of `benchmarks.accuracy phrases`, such as `slides: + scaling, m = 16`; `slides` stands for all.

| step | slide | added to the step before |
| --- | --- | --- |
| "plain" | 16 | the PCFG of relative frequencies |
| "annotated" | 28 | the plain PCFG with parent and sibling annotation |
| "out of the box" | 20 | the spectral estimator with all features; marginals keep their signs, undivided |
| "+ absolute marginals" | 22 | absolute values of negative marginals |
| "+ scaling" | 23, 24 | features scaled by inverse standard deviations, with the κ = 5 of slide 23 |
| "κ = 1" | | the library's default in place of the κ of the slides |
| "+ smoothing" | 26, 27 | moments smoothed by those of fewer parts: the spectral estimator of the library |
| "simple features" | 28 | the same with the rule above and the rule below alone |
| "EM" | 16, 27, 29 | expectation maximisation from random starts, 20 iterations |
| "hybrid" | 31 | expectation maximisation from the states that the moments show, 5 iterations |

`PAPER_F1` has the numbers of slides 16, 20, 22, 24, 26, 27, 28 and 31.  Slide 31 does not say how its hybrid algorithm
goes from moments to EM.  Here most symbols of a treebank start from pivots, as the command tells, because their rules
or parents determine no states (see docs/decisions.md).

The slides learn from sections 2 to 21 of the full Penn treebank, which is not open, and parse section 22.
"""

from dataclasses import replace

from spectral_latent.constituency import Binarisation, ConstituencyOptions
from spectral_latent.estimation import EM, Decomposition, Random, Spectral

__all__ = ["ONE_STATE", "PAPER_F1", "SLIDES", "STATES", "STEPS", "step_options"]

_SPECTRAL = ("out of the box", "+ absolute marginals", "+ scaling", "κ = 1", "+ smoothing", "simple features")
STEPS = (*_SPECTRAL, "EM", "hybrid")
STATES = (8, 16, 32)
_PAPER_SCALING = 5.0  # κ of slide 23


def step_options(step: str, n_states: int) -> ConstituencyOptions:
    """Choose the options of a step; the additions of later steps are off.

    >>> step_options("+ scaling", 8).estimator.smoothing is None
    True
    """
    default = ConstituencyOptions()
    if step == "EM":
        return replace(default, estimator=EM(Random(n_states), iterations=20, tolerance=0.0))
    if step == "hybrid":
        return replace(default, estimator=EM(Decomposition(n_states)))
    at = STEPS.index(step)
    scaling = Spectral.scaling if at >= STEPS.index("κ = 1") else _PAPER_SCALING
    estimator = Spectral(
        n_states,
        scaling=scaling if at >= STEPS.index("+ scaling") else None,
        smoothing=Spectral.smoothing if at >= STEPS.index("+ smoothing") else None,
    )
    return replace(
        default,
        estimator=estimator,
        marginals="absolute" if at >= STEPS.index("+ absolute marginals") else "undivided",
        features="simple" if step == "simple features" else "all",
    )


def _name(step: str, n_states: int) -> str:
    return f"slides: {step}, m = {n_states}"


ONE_STATE = {  # steps whose models parse with relative frequencies
    "slides: plain": ConstituencyOptions(),
    "slides: annotated": ConstituencyOptions(binarisation=Binarisation(siblings=1, parents=1)),
}
SLIDES = {_name(step, m): step_options(step, m) for step in STEPS for m in STATES}
_OF_STATES = {
    ("out of the box", 32): "55.1",
    ("+ absolute marginals", 32): "80.2",
    ("+ scaling", 32): "86.5",
    ("+ smoothing", 8): "85.6",
    ("+ smoothing", 16): "87.8",
    ("+ smoothing", 32): "88.8",
    ("simple features", 32): "88.1",
    ("EM", 8): "86.9",
    ("EM", 16): "88.3",
    ("EM", 32): "88.6",
    ("hybrid", 32): "89.9",
}
PAPER_F1 = {"slides: plain": "68.6", "slides: annotated": "82.6"} | {
    _name(step, m): f1 for (step, m), f1 in _OF_STATES.items()
}
