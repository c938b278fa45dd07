"""Rerank by the averaged perceptron of Collins (2002), as Dhillon et al. (2012) did.

| here | meaning |
| --- | --- |
| x_i | features of candidate i, as they are: nothing is scaled |
| j* | argmax_i w·x_i |
| best | the candidate with the largest gain; of several, the first |
| w ← w + x_best - x_j* | the update, wherever j* is not the best |
| w̄ | the mean of w over all visits: the weights of the reranker |

w begins as zero, and no step is bounded.  `reranking.PerceptronReranker` tells what it does otherwise, and why.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from spectral_latent.reranking import FeatureTable
from spectral_latent.trees import FloatArray

__all__ = ["train_averaged_perceptron"]


def train_averaged_perceptron(table: FeatureTable, gains: ArrayLike, epochs: int = 10) -> FloatArray:
    """Compute the mean w̄ (d,) of the weights after each visit; lists are visited in their order.

    gains: (n,) the gain of each candidate, such as its number of right heads.

    >>> table = FeatureTable.measures({"a": [1, 0, 1, 0], "b": [0, 1, 0, 1]}, sizes=[2, 2], ids=["x", "y"])
    >>> train_averaged_perceptron(table, gains=[0, 1, 0, 1], epochs=1)
    array([-1.,  1.])
    """
    gain = np.asarray(gains, dtype=float)
    blocks = [table.values[begin:end] for begin, end in zip(table.start, table.start[1:], strict=False)]
    best = [int(np.argmax(gain[begin:end])) for begin, end in zip(table.start, table.start[1:], strict=False)]
    weights = np.zeros(len(table.names))
    total = np.zeros_like(weights)
    for _ in range(epochs):
        for block, right in zip(blocks, best, strict=True):
            chosen = int(np.argmax(block @ weights))
            if chosen != right:
                weights += (block[[right]] - block[[chosen]]).toarray()[0]
            total += weights
    return total / max(epochs * len(blocks), 1)
