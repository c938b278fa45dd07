"""Representations U of words in k dimensions: from dependency arcs, or from text without trees.

| here | meaning |
| --- | --- |
| W (n, V) | indicators of the word at each of n positions |
| L, R (n, h (V + 1)) | indicators of the h words before and after it, with their place; also of the sentence's ends |
| κ | `smoothing`: indicator x is scaled by √(n / (#x + κ)), so that WᵀW / n and its like are nearly the identity |
| Φ_L, Φ_R | the k canonical directions of L and R |
| S = [L Φ_L, R Φ_R] | what both contexts of a position have in common, (n, 2k) |
| row x of U | the canonical variates of word x |

Canonical correlations of W with [L, R] are the one-step version; of W with S, the two-step version (Dhillon, Rodu,
Foster and Ungar, Two step CCA, ICML 2012).  LR-MVL (Dhillon, Foster and Ungar, NIPS 2011), which the dependency paper
used, goes on from there and smooths contexts exponentially.  Nothing is centred: the first direction is nearly the
same for all words.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np
from scipy import sparse
from scipy.linalg import orth

from spectral_latent.estimation import truncated_svd
from spectral_latent.papers.observations import Observations
from spectral_latent.sequence import Sequences
from spectral_latent.trees import FloatArray, IntArray

__all__ = ["cca_embeddings", "dependency_bigrams"]

_NOTHING = 1e-10  # a singular value this small, relative to the first, is zero but for rounding


def dependency_bigrams(observations: Observations, k: int) -> FloatArray:
    """U (V, k): the leading left singular vectors of [B_R, B_L, B_Rᵀ, B_Lᵀ], the counts of arcs seen from either end.

    With enough data its range is that of O.  The side of heads alone would leave out the words that never head another.
    There are fewer than k columns if the counts have a lower rank.  Raises ValueError if k is less than 1.

    >>> the, dog, cat, barks = range(4)
    >>> trees = Observations.of([((the, dog, barks), (2, 3, 0)), ((the, cat, barks), (2, 3, 0))], n_words=4)
    >>> u = dependency_bigrams(trees, k=3)
    >>> u.shape, bool(np.allclose(u[dog], u[cat]))
    ((4, 3), True)
    """
    _at_least_one(k=k)
    u, sigma, _ = truncated_svd(observations.neighbours, k)
    return _worth_having(u, sigma)


def cca_embeddings(
    sentences: Iterable[Iterable[int]],
    n_words: int,
    k: int,
    *,
    steps: Literal[1, 2] = 2,
    window: int = 1,
    smoothing: float = 50.0,
) -> FloatArray:
    """U (V, k) by canonical correlations of words with the `window` words before and after them.

    sentences: of observations 0 ... V-1; a negative number, as `Vocabulary.get` gives it, is any word beyond those.
    steps: see this module.  Words that do not occur have rows of zeros.  There are fewer than k columns if the contexts
    have fewer dimensions.
    Raises ValueError if there is no sentence, one is empty, an observation is V or more, or a setting makes no sense.

    >>> from spectral_latent.trees import Vocabulary
    >>> names = Vocabulary(["dogs", "cats", "bark", "sleep"])
    >>> text = [["dogs", "bark"], ["cats", "bark"], ["dogs", "sleep", "soundly"], ["cats", "sleep", "soundly"]]
    >>> u = cca_embeddings(([names.get(word) for word in words] for words in text), len(names), k=3)
    >>> bool(np.allclose(u[names["dogs"]], u[names["cats"]])), u.shape
    (True, (4, 3))
    """
    _at_least_one(k=k, window=window)
    if steps not in (1, 2) or not 0 <= smoothing < np.inf:
        raise ValueError(f"steps must be 1 or 2, and smoothing finite and not negative; not {steps} and {smoothing}")
    sequences = Sequences.of(sentences)
    if not sequences.n_sequences:
        raise ValueError("no sentences to learn representations from")
    if (largest := int(sequences.terminal.max())) >= n_words:
        raise ValueError(f"observation {largest} is not below the number of words, {n_words}")
    word = np.where(sequences.terminal < 0, n_words, sequences.terminal)
    distances = range(1, window + 1)
    before, after = (np.stack([sequences.shifted(word, side * d) for d in distances], axis=1) for side in (-1, 1))
    indicators, left, right = (_indicators(x, smoothing) for x in (word[:, None], before, after))
    if steps == 1:
        contexts = sparse.csr_array(sparse.hstack([left, right], format="csr"))
        u, sigma, _ = truncated_svd(_covariance(indicators, contexts), k)
        directions = _worth_having(u, sigma)
    else:
        directions = _two_step(indicators, left, right, k)
    seen, first = np.unique(word, return_index=True)
    rows = np.zeros((n_words + 1, directions.shape[1]))
    rows[seen] = indicators[first] @ directions
    return rows[:n_words]


def _indicators(columns: IntArray, smoothing: float) -> sparse.csr_array:
    """The scaled indicators (n, d) of the values in columns (n, h); see this module."""
    n, width = columns.shape
    indices, values, size = np.empty((n, width), dtype=np.int64), np.empty((n, width)), 0
    for place in range(width):
        _, which, count = np.unique(columns[:, place], return_inverse=True, return_counts=True)
        indices[:, place] = size + which
        values[:, place] = np.sqrt(n / (count + smoothing))[which]
        size += len(count)
    starts = np.arange(0, n * width + 1, width)
    return sparse.csr_array((values.ravel(), indices.ravel(), starts), shape=(n, size))


def _covariance(left: sparse.csr_array, right: sparse.csr_array) -> sparse.csr_array:
    """The mean of the products of rows (n, d) and (n, d')."""
    return sparse.csr_array((left.T @ right) / left.shape[0])


def _two_step(word: sparse.csr_array, left: sparse.csr_array, right: sparse.csr_array, k: int) -> FloatArray:
    """The canonical directions (d, k) of words with what their contexts have in common."""
    to_left, correlation, to_right = truncated_svd(_covariance(left, right), k)
    parts = (side @ _worth_having(u, correlation) for side, u in ((left, to_left), (right, to_right)))
    u, sigma, _ = np.linalg.svd(word.T @ orth(np.hstack(list(parts))), full_matrices=False)
    return _worth_having(u[:, :k], sigma[:k])


def _worth_having(u: FloatArray, sigma: FloatArray) -> FloatArray:
    """The singular vectors whose values are not zero."""
    return u[:, sigma > _NOTHING * sigma.max(initial=0.0)]


def _at_least_one(**numbers: int) -> None:
    for name, number in numbers.items():
        if number < 1:
            raise ValueError(f"{name} must be at least 1, not {number}")
