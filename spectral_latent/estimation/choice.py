"""Choose the numbers of states of all symbols on held-out data (Narayan and Cohen 2016).

Moments are computed once, for the largest numbers of states.  The moments for smaller numbers are parts of these, so
that a trial needs no pass over the trees.  Symbols are visited by falling frequency.  For each symbol every candidate
is tried, with the numbers chosen so far for all other symbols, and the best candidate is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from spectral_latent.estimation._moments import Moments
from spectral_latent.estimation._options import Listener, Progress, silent
from spectral_latent.trees import IntArray

__all__ = ["search_states"]


def search_states(
    moments: Moments,
    score: Callable[[Moments], float],
    candidates: Sequence[int],
    *,
    symbols: int | None = None,
    listener: Listener = silent,
) -> IntArray:
    """Find the numbers of states (S,) that score best, symbol by symbol.

    >>> from spectral_latent.trees import SkeletalTrees
    >>> trees = SkeletalTrees.of([0], left=[-1], right=[-1], terminal=[5], root=[0])
    >>> moments = Moments.of_trees(trees, trees.rules, np.array([3]), y=np.ones((1, 3)), z=np.ones((1, 3)))
    >>> search_states(moments, lambda trial: -abs(trial.states[0] - 2.0), candidates=[1, 2])
    array([2])
    """
    states = moments.states.copy()
    order = np.argsort(-moments.count, kind="stable")[:symbols]
    best = score(moments)
    for done, a in enumerate(order, start=1):
        for m in sorted({m for m in candidates if m < moments.states[a]}):
            trial = states.copy()
            trial[a] = m
            if (trial_score := score(moments.truncated(trial))) > best:
                best = trial_score
                states = trial
        listener(Progress("states", done, len(order), score=best))
    return states
