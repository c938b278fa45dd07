"""Hold the settings of training weighted automata."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from spectral_latent._options import Above, AtLeast, AtMost, Below, Options
from spectral_latent.automata.hankel import Counted
from spectral_latent.estimation.starts import STARTS

AutomatonEstimator = Literal["spectral", "em", "hmm"]


@dataclass(frozen=True)
class AutomatonOptions(Options):
    """Settings of learning a weighted automaton from strings.

    n_states: the number of states, or fewer if the Hankel matrix has a smaller rank; None to choose it by held-out
        strings, and with it what follows.
    counted: the kind of strings that the Hankel matrix counts: whole strings, or their prefixes, suffixes or factors.
    length: the length of the longest prefixes and suffixes of the basis.
    size: the largest number of prefixes of the basis, and of suffixes; the most frequent ones are taken.
    pseudo: a number that is added to the counts of rows and columns, which are divided by the roots of these sums.
    floor: ε of `sequence.prediction`: the smallest probability of an event, as a share of its probability if all
        symbols and the end are equally likely.
    estimator: `spectral`, or EM from a random start: `em` for a probabilistic automaton, `hmm` for one whose symbols
        depend on the state before alone, which is a hidden Markov model.
    seed: the seed of the random starts, and of the strings that are held out.
    random_starts: the number of random starts of EM for a given number of states, and for the chosen one; one start
        serves for each choice."""

    later: ClassVar[frozenset[str]] = frozenset({"estimator", "seed", "random_starts"})
    earlier: ClassVar[frozenset[str]] = frozenset({"seconds"})
    n_states: Annotated[int, AtLeast(1), AtMost(10**9)] | None = None
    counted: Counted = "factors"
    length: Annotated[int, AtLeast(1), AtMost(10**9)] = 3
    size: Annotated[int, AtLeast(1), AtMost(10**9)] = 500
    pseudo: Annotated[float, Above(0.0), AtMost(1e9)] = 5.0
    floor: Annotated[float, Above(0.0), Below(1.0)] = 0.01
    estimator: AutomatonEstimator = "spectral"
    seed: Annotated[int, AtLeast(0)] = 0
    random_starts: Annotated[int, AtLeast(1)] = STARTS
