"""Embeddings U of words in k dimensions: from dependency arcs, or from text without trees.

| here | meaning |
| --- | --- |
| W (n, V) | indicators of the word at each of n positions |
| L, R (n, V + 1) | indicators of the words before and after it; also of the sentence's ends |
| κ | `smoothing`: indicator x is scaled by √(n / (#x + κ)), so that WᵀW / n, LᵀL / n and RᵀR / n are nearly diagonal |
| Φ_L, Φ_R | the k canonical directions of L and R |
| S = [L Φ_L, R Φ_R] | the directions that both contexts of a position have in common, (n, 2k) |
| row x of U | the canonical variates of word x |

Canonical correlations of W with S are two-step CCA (Dhillon, Rodu, Foster and Ungar, ICML 2012).  Nothing is centred:
the first direction is nearly the same for all words.

LR-MVL (Dhillon, Foster and Ungar, NIPS 2011), which the dependency paper used, has no window.  Its contexts are the
embeddings A of the words before and after, smoothed exponentially at several rates α, from which A is made anew:

| here | LR-MVL |
| --- | --- |
| `before`: X_t = (1 - α) X_{t-1} + α A(w_{t-1}) | the left view of token t, (k,) for each rate |
| `after`: X_t = (1 - α) X_{t+1} + α A(w_{t+1}) | the right view |
| Φ_L, Φ_R | the k / 2 canonical directions of the views |
| A(x) | the mean of [X Φ_L, X Φ_R] over the tokens of word x |
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from scipy import sparse
from scipy.linalg import orth

from benchmarks.papers.observations import Observations
from spectral_latent._compiled import compiled
from spectral_latent.anchors.hulls import canonical_svd
from spectral_latent.estimation.svd import truncated_svd
from spectral_latent.sequence import Sequences
from spectral_latent.trees import FloatArray, IntArray

__all__ = ["embed_by_arcs", "embed_by_contexts", "embed_by_smoothed_contexts"]

RATES = (0.05, 0.1, 0.5, 0.9)  # α of smoothed contexts
_STILL = 1e-4  # embeddings whose subspace turns by less, as a sine, are the last
_ROUNDING = 1e-10  # a singular value this small, relative to the first, is zero except for rounding


def embed_by_arcs(observations: Observations, k: int) -> FloatArray:
    """Compute U (V, k), the leading left singular vectors of [B_R, B_L, B_Rᵀ, B_Lᵀ], counts of arcs from either end.

    With enough data its range is that of O.  Counts of heads alone would leave out the words that never head another.
    There are fewer than k columns if the counts have a lower rank.

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
    sentences: Iterable[Iterable[int]], n_words: int, k: int, *, smoothing: float = 50.0
) -> FloatArray:
    """Compute U (V, k) by canonical correlations of words with the words before and after them.

    Words that do not occur have rows of zeros.  There are fewer than k columns if the contexts have fewer dimensions.

    Raises ValueError if there is no sentence, one is empty, an observation is V or more, or a setting is out of range.

    >>> from spectral_latent.trees import Vocabulary
    >>> names = Vocabulary(["dogs", "cats", "bark", "sleep"])
    >>> text = [["dogs", "bark"], ["cats", "bark"], ["dogs", "sleep", "soundly"], ["cats", "sleep", "soundly"]]
    >>> u = embed_by_contexts(([names.get(word) for word in words] for words in text), len(names), k=3)
    >>> bool(np.allclose(u[names["dogs"]], u[names["cats"]])), u.shape
    (True, (4, 3))
    """
    _check_positive(k=k)
    if not 0 <= smoothing < np.inf:
        raise ValueError(f"smoothing must be finite and not negative, not {smoothing}")
    sequences, word = _words(sentences, n_words)
    before, after = (sequences.shift(word, offset) for offset in (-1, 1))
    directions = _two_step(_indicators(word), _indicators(before), _indicators(after), k, smoothing)
    seen, count = np.unique(word, return_counts=True)
    rows = np.zeros((n_words + 1, directions.shape[1]))
    rows[seen] = np.sqrt(len(word) / (count + smoothing))[:, None] * directions
    return rows[:n_words]


def embed_by_smoothed_contexts(
    sentences: Iterable[Iterable[int]],
    n_words: int,
    k: int,
    *,
    rates: Sequence[float] = RATES,
    iterations: int = 30,
    seed: int = 0,
) -> FloatArray:
    """Compute U (V, k) by LR-MVL: canonical correlations of what is before and after, smoothed exponentially.

    Words that do not occur have rows of zeros.  There are fewer than k columns if the views have fewer dimensions.

    Raises ValueError if there is no sentence, one is empty, an observation is V or more, or a setting is out of range.

    >>> text = [[0, 2], [1, 2], [0, 3], [1, 3], [2, 0], [2, 1]] * 3
    >>> u = embed_by_smoothed_contexts(text, n_words=4, k=2, rates=[1.0])
    >>> bool(np.allclose(u[0], u[1])), u.shape
    (True, (4, 2))
    """
    _check_positive(k=k, iterations=iterations)
    if not rates or not all(0 < rate <= 1 for rate in rates):
        raise ValueError(f"rates must be above 0 and at most 1, and at least one; not {list(rates)}")
    sequences, word = _words(sentences, n_words)
    alpha = np.array(rates, dtype=float)
    seen, which, count = np.unique(word, return_inverse=True, return_counts=True)
    embedding = np.random.default_rng(seed).standard_normal((len(seen), k))
    for _ in range(iterations):
        before, after = _smoothed(embedding[which], sequences.start, alpha)
        left, right = _canonical_variates(before, after, k)
        variates = np.hstack([left, right])
        sums = np.zeros((len(seen), variates.shape[1]))
        np.add.at(sums, which, variates)
        found = sums / count[:, None]
        turned = _sine(embedding, found)
        embedding = found
        if turned < _STILL:
            break
    rows = np.zeros((n_words + 1, embedding.shape[1]))
    rows[seen] = embedding
    return rows[:n_words]


@compiled
def _smoothed(rows: FloatArray, start: IntArray, rates: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Smooth the rows (n, k) before and after each position of its sentence: both (n, k · rates), zero at the ends."""
    n, k = rows.shape
    before = np.zeros((n, len(rates) * k))
    after = np.zeros((n, len(rates) * k))
    for sentence in range(len(start) - 1):
        for j in range(len(rates)):
            alpha = rates[j]
            # forwards for what is before, backwards for what is after
            for t in range(start[sentence] + 1, start[sentence + 1]):
                for i in range(k):
                    at = j * k + i
                    before[t, at] = (1.0 - alpha) * before[t - 1, at] + alpha * rows[t - 1, i]
            for t in range(start[sentence + 1] - 2, start[sentence] - 1, -1):
                for i in range(k):
                    at = j * k + i
                    after[t, at] = (1.0 - alpha) * after[t + 1, at] + alpha * rows[t + 1, i]
    return before, after


def _canonical_variates(left: FloatArray, right: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
    """Project two views (n, d) on their canonical directions, of variance one: (n, k - k // 2) and (n, k // 2)."""
    left, right = (side @ _whitening(side) for side in (left, right))
    u, _, vt = np.linalg.svd(left.T @ right)
    return np.sqrt(len(left)) * left @ u[:, : k - k // 2], np.sqrt(len(right)) * right @ vt[: k // 2].T


def _whitening(view: FloatArray) -> FloatArray:
    """Find W (d, r) such that the columns of view · W are orthonormal; r is the rank of the view (n, d)."""
    values, vectors = np.linalg.eigh(view.T @ view)
    kept = values > _ROUNDING * values.max(initial=0.0)
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))


def _sine(old: FloatArray, new: FloatArray) -> float:
    """Compute the sine of the largest angle between the ranges of two matrices; 1 if their ranks differ."""
    one, other = (orth(matrix) for matrix in (old, new))
    if one.shape != other.shape:
        return 1.0
    return float(np.linalg.norm(other - one @ (one.T @ other), 2)) if one.size else 0.0


def _words(sentences: Iterable[Iterable[int]], n_words: int) -> tuple[Sequences, IntArray]:
    """Number the positions of sentences (n,), any other word as V; ValueError for what cannot be embedded."""
    sequences = Sequences.of(sentences)
    if not sequences.n_sequences:
        raise ValueError("no sentences to learn embeddings from")
    if (largest := int(sequences.terminal.max())) >= n_words:
        raise ValueError(f"observation {largest} is not below the number of words, {n_words}")
    return sequences, np.where(sequences.terminal < 0, n_words, sequences.terminal)


def _indicators(column: IntArray) -> sparse.csr_array:
    """Make the indicators (n, d) of the values in a column (n,)."""
    values, which = np.unique(column, return_inverse=True)
    starts = np.arange(len(column) + 1)
    return sparse.csr_array((np.ones(len(column)), which, starts), shape=(len(column), len(values)))


def _two_step(
    word: sparse.csr_array, left: sparse.csr_array, right: sparse.csr_array, k: int, smoothing: float
) -> FloatArray:
    """Find the canonical directions (d, k) of words with S, the directions that their contexts have in common."""
    totals = (left.sum(axis=0).astype(float), right.sum(axis=0).astype(float))
    to_left, correlation, to_right = canonical_svd(sparse.csr_array(left.T @ right), totals, k, smoothing=smoothing)
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
