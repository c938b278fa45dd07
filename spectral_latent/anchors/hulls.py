"""Compute points for words, in the convex hull of the points of anchors (Stratos et al. 2016, Figure 3).

Assume that every state has an anchor, a word that no other state emits.  Then the expected contexts of a word are a
mixture of the expected contexts of the anchors: the point of the word is in a convex hull, whose corners are the points
of the anchors.

| here | paper | meaning |
| --- | --- | --- |
| C[x, c] | n P(Y = c, X = x) | the count of context c at type x; a context is a neighbouring word, and its place |
| "random", "best-fit" | Ω = E[Y \\| X] Π | conditional probabilities, projected |
| "cca" | (11) with canonical correlations | the same, projected by canonical correlations of types and contexts |
| "brown" | f(O), unit rows | C^½ / ((#x + κ)(#c + κ))^¼, left singular vectors times σ^p, rows of length one |
| "appended" | section 4.4.4 | further columns of C: the features φ(x) of spelling, scaled to 0.1 of row x |

With the spelling "regression", the point of a word is the weighted mean of the point of its contexts and the point that
its spelling predicts.  The weights are n, its number of tokens, and κ₀.  So spelling matters most for rare words, which
have few contexts.  The appended features of the paper give no point to a word that was never seen; the regression does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np
import scipy

from spectral_latent._compiled import TINY
from spectral_latent.anchors.conversion import WordTypes
from spectral_latent.anchors.features import SpellingFeatures
from spectral_latent.anchors.options import HullOptions
from spectral_latent.estimation.svd import truncated_svd
from spectral_latent.files import Axes
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.trees import FloatArray

__all__ = ["Hull", "SpellingRegression", "build_hull", "canonical_svd", "context_counts", "to_unit_length"]

_APPENDED = 0.1  # the length of a row's appended features, as a share of the length of its contexts


class SpellingRegression(NamedTuple):
    """A linear prediction of points from spelling: mean + φ(x) weights; without features, the mean alone.

    features: the features φ of spelling; None for a prediction by the mean alone.
    mean: (d,) the weighted mean of the points of the corpus.
    weights: (s, d) the weights of the features; s is 0 without features.
    """

    features: SpellingFeatures | None
    mean: Annotated[FloatArray, Axes("d")]
    weights: Annotated[FloatArray, Axes("s", "d")]

    def predict(self, words: Sequence[str], capital: FloatArray) -> FloatArray:
        """Predict the points (n, d) of n words.

        capital: (n,) the share of each word's tokens that are capitalised.
        """
        if self.features is None:
            return np.tile(self.mean, (len(words), 1))
        return np.asarray(self.features.matrix(words, capital) @ self.weights + self.mean)


class Hull(NamedTuple):
    """The points (n, d) of all types, and the regression that predicts the points of unseen words.

    Points of the construction "brown" have length one.
    """

    points: FloatArray
    spelling: SpellingRegression


def build_hull(types: WordTypes, dimensions: int, options: HullOptions) -> Hull:
    """Compute the points of all types.

    >>> types = WordTypes.of([["the", "cat", "saw", "a", "dog"], ["a", "dog", "saw", "the", "cat"]])
    >>> points = build_hull(types, 2, HullOptions(spelling="none", prior=0.0)).points
    >>> bool(np.allclose(points[types.names.index("cat")], points[types.names.index("dog")], atol=0.01))
    True
    """
    points = _context_points(types, dimensions, options)
    spelling = _regression(points, types, options)
    if options.prior > 0:
        predicted = spelling.predict(types.names, types.capital)
        total = types.tokens[:, None] * points + options.prior * predicted
        points = total / (types.tokens + options.prior)[:, None]
    return Hull(to_unit_length(points) if options.construction == "brown" else points, spelling)


def to_unit_length(rows: FloatArray) -> FloatArray:
    """Scale rows (n, d) to length one.

    rows: (n, d) the rows; no row is zero.

    >>> to_unit_length(np.array([[3.0, 4.0]]))
    array([[0.6, 0.8]])
    """
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), TINY))


def context_counts(sequences: Sequences, n_types: int, window: int) -> scipy.sparse.csr_array:
    """Count the contexts of every type: C (n, 2 window (n + 1)).

    The columns are the contexts at the place before, at the place after, two places before, and so on.  At each place,
    context n means that the place is beyond the end of the sentence.

    >>> context_counts(Sequences.of([[0, 1]]), n_types=2, window=1).toarray()
    array([[0., 0., 1., 0., 1., 0.],
           [1., 0., 0., 0., 0., 1.]])
    """
    x = sequences.terminal
    tables = []
    for distance in range(1, window + 1):
        for offset in (-distance, distance):
            y = sequences.shifted(x, offset)
            y[y < 0] = n_types
            tables.append(scipy.sparse.coo_array((np.ones(len(x)), (x, y)), shape=(n_types, n_types + 1)))
    return scipy.sparse.csr_array(scipy.sparse.hstack(tables, format="csr"))


def canonical_svd(
    counts: scipy.sparse.csr_array,
    totals: tuple[FloatArray, FloatArray],
    rank: int,
    *,
    smoothing: float,
    power: float = 1.0,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Decompose counts divided by the roots of their totals: C^p / ((#x + κ)(#c + κ))^(p/2) = U diag(σ) Vᵀ.

    With power 1 and κ = 0, σ are the canonical correlations of the indicators of rows and of columns, without centring.
    Returns U (n, k), σ (k,) and V (d, k).

    counts: (n, d) C, the joint counts of rows and columns.
    totals: #x (n,) and #c (d,), the counts of rows and of columns.

    >>> counts = scipy.sparse.csr_array([[2.0, 0.0], [0.0, 8.0]])
    >>> canonical_svd(counts, (np.array([2.0, 8.0]), np.array([2.0, 8.0])), 2, smoothing=0.0)[1]
    array([1., 1.])
    """
    by_row, by_column = (np.maximum(total + smoothing, TINY) ** (-power / 2) for total in totals)  # some may be 0
    powers = counts.copy()
    powers.data = counts.data**power
    scaled = scipy.sparse.csr_array(scipy.sparse.diags_array(by_row) @ powers @ scipy.sparse.diags_array(by_column))
    return truncated_svd(scaled, rank)


def _context_points(types: WordTypes, dimensions: int, options: HullOptions) -> FloatArray:
    """Compute the points (n, d) of types from their contexts only."""
    n_places = 2 * options.window
    counts = context_counts(types.sequences, len(types.names), options.window)
    if not options.places:
        counts = _without_places(counts, n_places)
    if options.spelling == "appended":
        counts = _with_features(counts, types)
    if options.construction in ("random", "best-fit"):
        conditional = scipy.sparse.csr_array(scipy.sparse.diags_array(1.0 / (n_places * types.tokens)) @ counts)
        if options.construction == "random":
            directions = np.random.default_rng(options.seed).standard_normal((counts.shape[1], dimensions))
            return np.asarray(conditional @ directions / np.sqrt(dimensions))
        u, sigma, _ = truncated_svd(conditional, dimensions)
        return u * sigma
    totals = (types.tokens, counts.sum(axis=0).astype(float))
    is_brown = options.construction == "brown"
    power = 0.5 if is_brown else 1.0
    u, sigma, _ = canonical_svd(counts, totals, dimensions, smoothing=options.smoothing, power=power)
    if is_brown:
        return to_unit_length(u * sigma**options.sigma_power)
    return np.asarray(u * sigma / np.sqrt(types.tokens + options.smoothing)[:, None])


def _without_places(counts: scipy.sparse.csr_array, n_places: int) -> scipy.sparse.csr_array:
    """Sum the counts (n, n_places (n + 1)) of each word over the places, (n, n + 1)."""
    width = counts.shape[1] // n_places
    one_place = scipy.sparse.vstack([scipy.sparse.eye_array(width)] * n_places, format="csr")
    return scipy.sparse.csr_array(counts @ one_place)


def _with_features(counts: scipy.sparse.csr_array, types: WordTypes) -> scipy.sparse.csr_array:
    """Append the features of spelling (n, s) to counts (n, c), scaled to a tenth of the length of each row."""
    phi = SpellingFeatures.of(types.names).matrix(types.names, types.capital)
    lengths, of_features = (np.sqrt(table.multiply(table).sum(axis=1)) for table in (counts, phi))
    appended = scipy.sparse.diags_array(_APPENDED * lengths / np.maximum(of_features, TINY)) @ phi
    return scipy.sparse.csr_array(scipy.sparse.hstack([counts, appended], format="csr"))


def _regression(points: FloatArray, types: WordTypes, options: HullOptions) -> SpellingRegression:
    """Fit points by ridge regression on spelling, in which a type with n tokens has the weight n / (n + κ₀)."""
    weight = types.tokens / (types.tokens + options.prior)
    mean = weight @ points / weight.sum()
    if options.spelling != "regression":
        return SpellingRegression(None, mean, np.zeros((0, points.shape[1])))
    features = SpellingFeatures.of(types.names)
    phi = features.matrix(types.names, types.capital)
    gram = scipy.sparse.csr_array(
        phi.T @ scipy.sparse.diags_array(weight) @ phi
    ) + options.penalty * scipy.sparse.eye_array(phi.shape[1])
    inverse_diagonal = scipy.sparse.diags_array(1.0 / gram.diagonal())
    targets = phi.T @ (weight[:, None] * (points - mean))
    solved = [
        scipy.sparse.linalg.cg(gram, target, rtol=1e-6, maxiter=500, M=inverse_diagonal)[0] for target in targets.T
    ]
    return SpellingRegression(features, mean, np.stack(solved, axis=1))
