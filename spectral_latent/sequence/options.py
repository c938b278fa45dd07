"""Hold the settings of taggers and of latent hidden Markov models without tags, and presets that go well together.

The presets of taggers were chosen on the dev splits of treebanks of four languages (docs/accuracy.md).  Those of
models without tags were chosen on strings of random hidden Markov models.
"""

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from spectral_latent._names import PresetName
from spectral_latent._options import AtLeast, AtMost, Below, Options, of_preset
from spectral_latent.estimation import EM, Anchors, Clusters, Decomposition, Estimator, ProjectionOptions, Spectral
from spectral_latent.lexicon import JudgeOptions, LexiconOptions


@dataclass(frozen=True)
class TaggerOptions(Options):
    """Settings of training a tagger, and of tagging.

    back_off: the pseudo-count of the transitions of each tag, divided among the next tags by their frequency.
    floor: ε of `prediction`: the smallest probability of an event, as a share of its probability in the coarse model.
    Only spectral estimates need it, because other estimators give probabilities.
    beam: a tag of a word is left out if its probability is less than this share of that of the word's likeliest tag.
    threshold: a tag of a position is left out if its coarse posterior is less than this share of the largest posterior
    at the position.
    compact: whether to store fewer digits, and alike vectors of words once; see `files.round_operators`.
    judge: the settings of a model of tags, which judges the likely tags of each word by the words around it; None for
    no such model."""

    later: ClassVar[frozenset[str]] = frozenset({"compact", "judge"})
    estimator: Estimator = field(default_factory=lambda: Spectral(8))
    lexicon: LexiconOptions = field(default_factory=LexiconOptions)
    back_off: Annotated[float, AtLeast(1e-9), AtMost(1e9)] = 1.0
    floor: Annotated[float, AtLeast(0.0), Below(1.0)] = 0.01
    beam: Annotated[float, AtLeast(0.0), Below(1.0)] = 1e-3
    threshold: Annotated[float, AtLeast(0.0), Below(1.0)] = 1e-3
    compact: bool = False
    judge: JudgeOptions | None = None


@dataclass(frozen=True)
class HMMOptions(Options):
    """Settings of training a latent hidden Markov model on sequences without tags.

    estimator: the estimator; its states may be those of any but `Anchors`.  All positions share one rule.  Its moments
    are never smoothed, so that the setting `smoothing` must be the default or None.  It is a sum of one term for each
    state, so that the setting `rank` must be None.
    choose_states: whether to choose the number of states, up to the estimator's `n_states`, that makes held-out
    sequences likeliest (it is 1 if there are fewer than 20 sequences); otherwise the number is `n_states`.
    back_off: pseudo-count of the transitions of each state, divided equally among the next states.
    floor: ε of `prediction`: the least probability of an event, as a share of its probability in the model of one
    state; None for the ε that makes held-out sequences likeliest.  It bounds spectral estimates; other estimators give
    probabilities.
    random_starts: the number of random starts of EM, which join the estimator's own; see `estimation.starts`.
    ends: whether to learn where sequences end.  If not, each state ends a sequence with probability ½, so that the
    probability of a sequence of n observations is ½ⁿ times that of its observations alone; this needs an estimator with
    EM.
    prior: whether EM has a prior: each state gets pseudo-counts of all observations, in all states together as many as
    there are observations seen once.  If not, EM maximises the likelihood.

    >>> HMMOptions(Anchors())
    Traceback (most recent call last):
        ...
    ValueError: HMMOptions.estimator must not find states by anchors, as Anchors() does
    """

    later: ClassVar[frozenset[str]] = frozenset({"random_starts", "ends", "prior"})
    estimator: Estimator = field(default_factory=lambda: Spectral(32))
    choose_states: bool = True
    back_off: Annotated[float, AtLeast(1e-9), AtMost(1e9)] = 1.0
    floor: Annotated[float, AtLeast(0.0), Below(1.0)] | None = None
    random_starts: Annotated[int, AtLeast(0)] = 20
    ends: bool = True
    prior: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.ends and not isinstance(self.estimator, EM):
            raise ValueError(f"HMMOptions.ends may be False for an estimator with EM alone, not for {self.estimator!r}")
        states = self.estimator.states
        if isinstance(states, Anchors):
            raise ValueError(f"HMMOptions.estimator must not find states by anchors, as {self.estimator!r} does")
        if getattr(states, "rank", None) is not None:
            raise ValueError("HMMOptions.estimator must have the rank None: a hidden Markov model needs no fewer terms")
        if (smoothing := getattr(states, "smoothing", None)) not in (ProjectionOptions.smoothing, None):
            raise ValueError(
                f"HMMOptions.estimator must have the smoothing None, not {smoothing}: the moments "
                f"of the only rule of a hidden Markov model are not smoothed"
            )


_PRESETS: dict[PresetName, TaggerOptions] = {
    "fast": TaggerOptions(EM(Clusters(8))),
    "accurate": TaggerOptions(EM(Clusters(16)), judge=JudgeOptions(folds=2, penalty=1.0, iterations=100)),
    "spectral": TaggerOptions(),
}
_HMM_PRESETS: dict[PresetName, HMMOptions] = {
    "fast": HMMOptions(EM(Decomposition(32), iterations=100, tolerance=1e-4)),
    "accurate": HMMOptions(EM(Decomposition(32), iterations=1000, tolerance=1e-5)),
    "spectral": HMMOptions(),
}


def preset(name: PresetName) -> TaggerOptions:
    """Return the options of a tagger, for `LatentTagger.train`.

    Raises ValueError for another name.

    >>> preset("spectral").estimator
    Spectral(n_states=8)
    """
    return of_preset(_PRESETS, name)


def hmm_preset(name: PresetName) -> HMMOptions:
    """Return the options of a model of sequences without tags, for `LatentHMM.train`.

    "fast" and "accurate" begin EM from the states of the spectral model and from random ones, and keep the best.
    "fast" makes at most 100 iterations from each, "accurate" continues until EM gains almost nothing.

    Raises ValueError for another name.

    >>> hmm_preset("fast").estimator.start
    Decomposition(n_states=32)
    """
    return of_preset(_HMM_PRESETS, name)
