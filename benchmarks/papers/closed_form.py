"""The settings of Stratos, Collins and Hsu (2016), and the closed form of their Figure 2.

The library estimates transitions under the constraints that probabilities have; Figure 2 solves linear equations, whose
solution is exact for the moments of a population, and may be negative for those of a sample.
"""

from __future__ import annotations

import numpy as np
import scipy

from spectral_latent._compiled import TINY
from spectral_latent.anchors import AnchorOptions, HullName, HullOptions
from spectral_latent.anchors.training import Bigrams, emissions_of_mixtures, hidden_markov_with_end
from spectral_latent.sequence import HiddenMarkov
from spectral_latent.trees import FloatArray

__all__ = ["paper_options", "solve_closed_form"]


def paper_options(n_states: int = 12, construction: HullName = "brown", *, spelling: bool = False) -> AnchorOptions:
    """Choose the settings of Stratos et al. (2016); without spelling, the estimator is consistent (Theorem 4.1).

    n_states: m, the number of states.
    construction: the construction of the convex hull (Figure 3); "brown" is only consistent for Brown models.
    spelling: whether features of spelling are appended (section 4.4.4).

    >>> paper_options(4, "cca").hull.smoothing
    0.0
    """
    hull = HullOptions(
        construction, smoothing=0.0, sigma_power=0.0, spelling="appended" if spelling else "none", prior=0.0
    )
    return AnchorOptions(n_states, hull=hull, exchange=False, sharpness=1.0, steps=None, added=0.0)


def solve_closed_form(mixtures: FloatArray, bigrams: Bigrams) -> HiddenMarkov:
    """Solve equations 4 to 7; exact for the moments of a population (Theorem 4.1).

    Entries of π and T that are negative because of sampling errors are set to zero, and rows are scaled to sums of one.

    mixtures: (n, m) the probabilities p(h | x), as `find_mixtures` returns them.

    >>> bigrams = Bigrams(*map(np.array, ([0, 1], [1, 2], [1.0, 1.0], [0], [1.0], [1.0, 1.0])))
    >>> solve_closed_form(np.eye(2), bigrams).stop  # type 1 follows type 0, and the end follows type 1
    array([0., 1.])
    """
    n, m = mixtures.shape
    state_prior, emission = emissions_of_mixtures(mixtures, bigrams.unigrams)
    inverse = np.linalg.pinv(emission.T)
    with_end = np.zeros((m + 1, n + 1))  # type n, the end of a sequence, is emitted by state m alone
    with_end[:m, :n] = inverse
    with_end[m, n] = 1.0
    probability = bigrams.count / bigrams.count.sum()
    pairs = scipy.sparse.csr_array((probability, (bigrams.before, bigrams.after)), shape=(n, n + 1))
    following = _distributions(inverse @ (pairs @ with_end.T) / np.maximum(state_prior, TINY)[:, None])
    initial = _distributions((inverse @ bigrams.first_probabilities())[None, :])[0]
    return hidden_markov_with_end(initial, following, emission)


def _distributions(rows: FloatArray) -> FloatArray:
    """Set negative entries of rows (n, k) to zero, and scale rows to sums of one; a row of zeros becomes uniform."""
    positive = np.maximum(rows, 0.0)
    total = positive.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(positive, total, out=np.full_like(rows, 1.0 / rows.shape[1]), where=total > TINY))
