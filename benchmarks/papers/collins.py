"""Rerank by the averaged perceptron of Collins (2002), as Dhillon et al. (2012) did.

| here | meaning |
| --- | --- |
| x_i | features of candidate i, as they are: nothing is scaled |
| j* | argmax_i w·x_i |
| best | the candidate with the largest gain; of several, the first |
| w ← w + x_best - x_j* | the update, wherever j* is not the best |
| w̄ | the mean of w over all visits: the weights of the reranker |

w begins as zero, and no step is bounded.  `reranking.choice` tells what the library does instead.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from spectral_latent.trees import FloatArray, IntArray

__all__ = ["train_averaged_perceptron"]


def train_averaged_perceptron(
    values: sparse.csr_array, start: IntArray, gains: ArrayLike, epochs: int = 10
) -> FloatArray:
    """Compute the mean w̄ (d,) of the weights after each visit; lists are visited in their order.

    values: (n, d) the features of candidates.
    start: (L + 1,) the first row of each list, and n.
    gains: (n,) the gain of each candidate, such as its number of right heads.

    >>> values = sparse.csr_array([[1.0, 0.0], [0.0, 1.0]] * 2)
    >>> train_averaged_perceptron(values, np.array([0, 2, 4]), gains=[0, 1, 0, 1], epochs=1)
    array([-1.,  1.])
    """
    gain = np.asarray(gains, dtype=float)
    spans = list(pairwise(start.tolist()))
    blocks = [values[begin:end] for begin, end in spans]
    best = [int(np.argmax(gain[begin:end])) for begin, end in spans]
    weights = np.zeros(values.shape[1])
    total = np.zeros_like(weights)
    for _ in range(epochs):
        for block, right in zip(blocks, best, strict=True):
            chosen = int(np.argmax(block @ weights))
            if chosen != right:
                weights += (block[[right]] - block[[chosen]]).toarray()[0]
            total += weights
    return total / max(epochs * len(blocks), 1)
