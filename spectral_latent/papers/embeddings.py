"""Embeddings U of words in k dimensions: from dependency arcs, or from text without trees.

| here | meaning |
| --- | --- |
| W (n, V) | indicators of the word at each of n positions |
| L, R (n, h (V + 1)) | indicators of the h words before and after it, with their place; also of the sentence's ends |
| κ | `smoothing`: indicator x is scaled by √(n / (#x + κ)), so that WᵀW / n, LᵀL / n and RᵀR / n are nearly diagonal |
| Φ_L, Φ_R | the k canonical directions of L and R |
| S = [L Φ_L, R Φ_R] | the directions that both contexts of a position have in common, (n, 2k) |
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

from spectral_latent.anchors.hulls import canonical_svd
from spectral_latent.estimation import truncated_svd
from spectral_latent.papers.observations import Observations
from spectral_latent.sequence import Sequences
from spectral_latent.trees import FloatArray, IntArray

__all__ = ["embed_by_arcs", "embed_by_contexts"]

_ROUNDING = 1e-10  # a singular value this small, relative to the first, is zero except for rounding


def embed_by_arcs(observations: Observations, k: int) -> FloatArray:
    """Compute U (V, k), the leading left singular vectors of [B_R, B_L, B_Rᵀ, B_Lᵀ], counts of arcs from either end.

    With enough data its range is that of O.  Counts of heads alone would leave out the words that never head another.
    There are fewer than k columns if the counts have a lower rank.

    observations: the trees.
    k: at least 1; ValueError if it is less.

    >>> the, dog, cat, barks = range(4)
    >>> trees = Observations.of([((the, dog, barks), (2, 3, 0)), ((the, cat, barks), (2, 3, 0))], n_words=4)
    >>> u = embed_by_arcs(trees, k=3)
    >>> u.shape, bool(np.allclose(u[dog], u[cat]))
    ((4, 3), True)
    """
    _check_positive(k=k)
    u, sigma, _ = truncated_svd(observations.neighbours, k)
    return _nonzero(u, sigma)


def embed_by_contexts(
    sentences: Iterable[Iterable[int]],
    n_words: int,
    k: int,
    *,
    steps: Literal[1, 2] = 2,
    window: int = 1,
    smoothing: float = 50.0,
) -> FloatArray:
    """Compute U (V, k) by canonical correlations of words with the words before and after them.

    Words that do not occur have rows of zeros.  There are fewer than k columns if the contexts have fewer dimensions.

    sentences: observations 0 ... V - 1; a negative number, as `Vocabulary.get` gives it, stands for any other word.
    n_words: V.
    k: the dimensions.
    steps: of the method; see this module.
    window: h, how many words before and after a word are its context.
    smoothing: κ.

    Raises ValueError if there is no sentence, one is empty, an observation is V or more, or a setting is out of range.

    >>> from spectral_latent.trees import Vocabulary
    >>> names = Vocabulary(["dogs", "cats", "bark", "sleep"])
    >>> text = [["dogs", "bark"], ["cats", "bark"], ["dogs", "sleep", "soundly"], ["cats", "sleep", "soundly"]]
    >>> u = embed_by_contexts(([names.get(word) for word in words] for words in text), len(names), k=3)
    >>> bool(np.allclose(u[names["dogs"]], u[names["cats"]])), u.shape
    (True, (4, 3))
    """
    _check_positive(k=k, window=window)
    if steps not in (1, 2) or not 0 <= smoothing < np.inf:
        raise ValueError(f"steps must be 1 or 2, and smoothing finite and not negative; not {steps} and {smoothing}")
    sequences = Sequences.of(sentences)
    if not sequences.n_sequences:
        raise ValueError("no sentences to learn embeddings from")
    if (largest := int(sequences.terminal.max())) >= n_words:
        raise ValueError(f"observation {largest} is not below the number of words, {n_words}")
    word = np.where(sequences.terminal < 0, n_words, sequences.terminal)
    distances = range(1, window + 1)
    before = np.stack([sequences.shifted(word, -d) for d in distances], axis=1)
    after = np.stack([sequences.shifted(word, d) for d in distances], axis=1)
    indicators, left, right = (_indicators(columns) for columns in (word[:, None], before, after))
    if steps == 1:
        contexts = sparse.csr_array(sparse.hstack([left, right], format="csr"))
        u, sigma, _ = _correlate(indicators, contexts, k, smoothing)
        directions = _nonzero(u, sigma)
    else:
        directions = _two_step(indicators, left, right, k, smoothing)
    seen, count = np.unique(word, return_counts=True)
    rows = np.zeros((n_words + 1, directions.shape[1]))
    rows[seen] = np.sqrt(len(word) / (count + smoothing))[:, None] * directions
    return rows[:n_words]


def _indicators(columns: IntArray) -> sparse.csr_array:
    """Make the indicators (n, d) of the values in columns (n, h); every column has values of its own."""
    n, width = columns.shape
    indices = np.empty((n, width), dtype=np.int64)
    size = 0
    for place in range(width):
        values, which = np.unique(columns[:, place], return_inverse=True)
        indices[:, place] = size + which
        size += len(values)
    starts = np.arange(0, n * width + 1, width)
    return sparse.csr_array((np.ones(n * width), indices.ravel(), starts), shape=(n, size))


def _correlate(
    left: sparse.csr_array, right: sparse.csr_array, k: int, smoothing: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Find the k canonical directions of indicators (n, d) and (n, d'), and their correlations."""
    counts = sparse.csr_array(left.T @ right)
    totals = (left.sum(axis=0).astype(float), right.sum(axis=0).astype(float))
    return canonical_svd(counts, totals, k, smoothing=smoothing)


def _two_step(
    word: sparse.csr_array, left: sparse.csr_array, right: sparse.csr_array, k: int, smoothing: float
) -> FloatArray:
    """Find the canonical directions (d, k) of words with S, the directions that their contexts have in common."""
    to_left, correlation, to_right = _correlate(left, right, k, smoothing)
    word, left, right = (_scaled(side, smoothing) for side in (word, left, right))
    common = np.hstack([left @ _nonzero(to_left, correlation), right @ _nonzero(to_right, correlation)])
    u, sigma, _ = np.linalg.svd(word.T @ orth(common), full_matrices=False)
    return _nonzero(u[:, :k], sigma[:k])


def _scaled(indicators: sparse.csr_array, smoothing: float) -> sparse.csr_array:
    """Scale the indicator (n, d) of each value x by √(n / (#x + κ))."""
    scale = np.sqrt(indicators.shape[0] / (indicators.sum(axis=0) + smoothing))
    return sparse.csr_array(indicators @ sparse.diags_array(scale))


def _nonzero(u: FloatArray, sigma: FloatArray) -> FloatArray:
    """Keep the singular vectors whose values are not zero."""
    return u[:, sigma > _ROUNDING * sigma.max(initial=0.0)]


def _check_positive(**numbers: int) -> None:
    """Raise ValueError if a number is less than 1."""
    for name, number in numbers.items():
        if number < 1:
            raise ValueError(f"{name} must be at least 1, not {number}")
