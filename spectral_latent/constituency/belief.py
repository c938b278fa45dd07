"""Weigh the constituents that someone gives for sentences against those that a grammar finds.

| here | meaning |
| --- | --- |
| p | the posterior of a constituent under the grammar |
| R | the probability that a right constituent is given |
| F | the probability that a wrong one of the grammar's candidates is given |
| q = p R / (p R + (1 - p) F) | the probability that a given constituent is right; of others, with 1 - R and 1 - F |

R and F ≤ R are estimated for all sentences together by EM, with q as expected counts, and pseudo-counts for few ones.
"""

from __future__ import annotations

import numpy as np

from spectral_latent.trees import BoolArray, FloatArray

__all__ = ["believe"]

_RIGHT, _WRONG = (4.0, 5.0), (0.3, 30.0)  # pseudo-counts of given ones among right and among wrong ones
_ITERATIONS = 10


def believe(posterior: FloatArray, is_given: BoolArray) -> FloatArray:
    """Compute q of the candidates (n,) of some sentences.

    posterior: (n,) the posterior of each candidate.
    is_given: (n,) whether it is given."""
    p = np.clip(posterior, 0.0, 1.0)
    right, wrong = _RIGHT[0] / _RIGHT[1], _WRONG[0] / _WRONG[1]
    q = p
    for _ in range(_ITERATIONS):
        if_right = p * np.where(is_given, right, 1.0 - right)
        if_wrong = (1.0 - p) * np.where(is_given, wrong, 1.0 - wrong)
        q = np.divide(if_right, if_right + if_wrong, out=np.zeros_like(p), where=if_right > 0.0)
        right = (q[is_given].sum() + _RIGHT[0]) / (q.sum() + _RIGHT[1])
        wrong = min(((1.0 - q)[is_given].sum() + _WRONG[0]) / ((1.0 - q).sum() + _WRONG[1]), right)
    return np.asarray(q)
