"""A point for every word, inside the convex hull of the points of anchors (Stratos et al. 2016, Figure 3).

| here | paper | meaning |
| --- | --- | --- |
| C[x, c] | n P(Y = c, X = x) | how often context c - a word next to it, with its place - stands by type x |
| `random`, `best-fit` | Ω = E[Y \\| X] Π | conditional probabilities, projected |
| `cca` | (11) with canonical correlations | those of the correlation of types and contexts |
| `brown` | f(O), unit rows | C^½ / ((#x + κ)(#c + κ))^¼, left singular vectors times √σ, rows of length one |

With spelling (section 4.4.4) rows are drawn to what a word's features predict, a word of n tokens counting n to κ₀:
a rare word's contexts say little, its spelling as much as that of any other.  The paper appends features to contexts
instead; drawn together, the row of a word never seen is known as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import cg

from spectral_latent._compiled import TINY
from spectral_latent._options import Above, AtLeast, AtMost, Options
from spectral_latent.anchors.vocabulary import SpellingFeatures, Types
from spectral_latent.estimation import truncated_svd
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.trees import FloatArray

__all__ = ["Hull", "HullName", "HullOptions", "Spelling"]

HullName = Literal["brown", "cca", "best-fit", "random"]


@dataclass(frozen=True)
class HullOptions(Options):
    """How points are made.

    construction: see this module.
    window: contexts are words up to so many positions before and after, with their place.
    smoothing: κ, tokens added to the counts that scale `brown` and `cca`.
    spelling: whether features of spelling take part.
    prior: κ₀, tokens that the prediction from spelling, or without it the mean, is worth; 0 for rows as they are.
    penalty: of the squared weights of features.
    seed: of `random`.
    """

    construction: HullName = "brown"
    window: Annotated[int, AtLeast(1), AtMost(100)] = 1
    smoothing: Annotated[float, AtLeast(0.0)] = 50.0
    spelling: bool = True
    prior: Annotated[float, AtLeast(0.0)] = 30.0
    penalty: Annotated[float, Above(0.0), AtMost(1e9)] = 10.0
    seed: Annotated[int, AtLeast(0)] = 0


class Spelling(NamedTuple):
    """What the features of a word predict of its row: mean + φ(x) weights."""

    features: SpellingFeatures | None
    mean: FloatArray  # (d,)
    weights: FloatArray  # (s, d)

    def rows(self, words: list[str], capital: FloatArray) -> FloatArray:
        """Predicted rows (n, d) of words in lower case, of which the given share (n,) is capitalised."""
        if self.features is None:
            return np.tile(self.mean, (len(words), 1))
        return np.asarray(self.features.matrix(words, capital) @ self.weights + self.mean)


class Hull(NamedTuple):
    """Rows (n, d) of the types, of length one for `brown`, and what is predicted of words never seen."""

    rows: FloatArray
    spelling: Spelling

    @staticmethod
    def of(types: Types, dimensions: int, options: HullOptions) -> Hull:
        """The hull of the types in so many dimensions.

        >>> types = Types.of([["the", "cat", "saw", "a", "dog"], ["a", "dog", "saw", "the", "cat"]])
        >>> rows = Hull.of(types, 2, HullOptions(spelling=False, prior=0.0)).rows
        >>> bool(np.allclose(rows[types.names.index("cat")], rows[types.names.index("dog")], atol=0.01))
        True
        """
        rows = _rows(types, dimensions, options)
        features = SpellingFeatures.of(types.names) if options.spelling else None
        spelling = _spelling(rows, types, features, options)
        if options.prior > 0:
            expected = spelling.rows(types.names, types.capital)
            rows = (types.tokens[:, None] * rows + options.prior * expected) / (types.tokens + options.prior)[:, None]
        return Hull(unit(rows) if options.construction == "brown" else rows, spelling)


def unit(rows: FloatArray) -> FloatArray:
    """Rows scaled to length one."""
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), TINY))


def context_counts(sequences: Sequences, n_types: int, window: int) -> sparse.csr_array:
    """C (n, 2 window (n + 1)) of this module; the context n is beyond the end of the sentence."""
    x = sequences.terminal
    places = [offset for distance in range(1, window + 1) for offset in (-distance, distance)]
    neighbours = (np.where((y := sequences.shifted(x, offset)) < 0, n_types, y) for offset in places)
    tables = [sparse.coo_array((np.ones(len(x)), (x, y)), shape=(n_types, n_types + 1)) for y in neighbours]
    return sparse.csr_array(sparse.hstack(tables, format="csr"))


def _leading(matrix: sparse.csr_array, rank: int) -> tuple[FloatArray, FloatArray]:
    """Left singular vectors (n, k) and singular values (k,)."""
    u, sigma, _ = truncated_svd(matrix, rank)
    return u, sigma


def _rows(types: Types, dimensions: int, options: HullOptions) -> FloatArray:
    counts = context_counts(types.sequences, len(types.names), options.window)
    n_places = 2 * options.window
    if options.construction in ("random", "best-fit"):
        conditional = sparse.csr_array(sparse.diags_array(1.0 / (n_places * types.tokens)) @ counts)
        if options.construction == "random":
            directions = np.random.default_rng(options.seed).standard_normal((counts.shape[1], dimensions))
            return np.asarray(conditional @ directions / np.sqrt(dimensions))
        u, sigma = _leading(conditional, dimensions)
        return u * sigma
    power = 0.5 if options.construction == "brown" else 1.0
    by_type = (types.tokens + options.smoothing) ** (-power / 2)
    by_context = np.maximum(counts.sum(axis=0) + options.smoothing, TINY) ** (-power / 2)  # some never occur
    counts.data = counts.data**power
    scaled = sparse.csr_array(sparse.diags_array(by_type) @ counts @ sparse.diags_array(by_context))
    u, sigma = _leading(scaled, dimensions)
    if options.construction == "brown":
        return unit(u * np.sqrt(sigma))
    return np.asarray(u * sigma * by_type[:, None])


def _spelling(rows: FloatArray, types: Types, features: SpellingFeatures | None, options: HullOptions) -> Spelling:
    """Ridge regression of rows on features; a type of n tokens counts n / (n + κ₀)."""
    weight = types.tokens / (types.tokens + options.prior)
    mean = weight @ rows / weight.sum()
    if features is None:
        return Spelling(None, mean, np.zeros((0, rows.shape[1])))
    phi = features.matrix(types.names, types.capital)
    gram = sparse.csr_array(phi.T @ sparse.diags_array(weight) @ phi) + options.penalty * sparse.eye_array(phi.shape[1])
    inverse_diagonal = sparse.diags_array(1.0 / gram.diagonal())
    targets = phi.T @ (weight[:, None] * (rows - mean))
    solved = [cg(gram, target, rtol=1e-6, maxiter=500, M=inverse_diagonal)[0] for target in targets.T]
    return Spelling(features, mean, np.stack(solved, axis=1))
