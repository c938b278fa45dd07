"""The settings and hulls of Stratos, Collins and Hsu (2016), and the closed form of their Figure 2.

The library has the two constructions of a hull that it uses, and moves points by spelling.  The others of Figure 3, and
features of spelling that are appended to contexts, are here.

The library estimates transitions under the constraints that probabilities have; Figure 2 solves linear equations, whose
solution is exact for the moments of a population, and may be negative for those of a sample.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, get_args

import numpy as np
from scipy import sparse

from spectral_latent._compiled import TINY
from spectral_latent.anchors import AnchorHMM, AnchorOptions, WordTypes
from spectral_latent.anchors.hulls import (
    canonical_svd,
    context_counts,
    context_points,
    spelling_counts,
    spelling_features,
)
from spectral_latent.anchors.training import Bigrams, emissions_of_mixtures, hidden_markov_with_end
from spectral_latent.sequence import HiddenMarkov
from spectral_latent.trees import FloatArray

__all__ = ["CONSTRUCTIONS", "Construction", "paper_options", "paper_points", "solve_closed_form", "train_paper"]

Construction = Literal["random", "best-fit", "cca", "brown"]
CONSTRUCTIONS: tuple[Construction, ...] = get_args(Construction)
_APPENDED = 0.1  # the length of a row's appended features, as a share of the length of its contexts


def paper_options(n_states: int = 12, construction: Construction = "brown") -> AnchorOptions:
    """Choose the settings of Stratos et al. (2016), with which the estimator is consistent (Theorem 4.1).

    n_states: m, the number of states.
    construction: the construction of the convex hull (Figure 3); "brown" is only consistent for Brown models.

    >>> paper_options(4, "cca").smoothing
    0.0
    """
    return AnchorOptions(
        n_states,
        hull="brown" if construction == "brown" else "best-fit",
        smoothing=0.0,
        sigma_power=0.0,
        spelling=False,
        prior=0.0,
        exchange=False,
        sharpness=1.0,
        steps=None,
        added=0.0,
    )


def paper_points(
    types: WordTypes,
    dimensions: int,
    construction: Construction,
    options: AnchorOptions,
    *,
    appended: bool = False,
    seed: int = 0,
) -> FloatArray:
    """Compute the points (n, d) of types by one of the constructions of Figure 3.

    | construction | paper | meaning |
    | --- | --- | --- |
    | "random", "best-fit" | Ω = E[Y \\| X] Π | conditional probabilities, projected on random or the best directions |
    | "cca" | (11) with canonical correlations | the same, projected by canonical correlations of types and contexts |
    | "brown" | f(O), unit rows | left singular vectors of scaled roots of counts |

    appended: whether the features of spelling are further columns, scaled to 0.1 of each row (section 4.4.4).
    seed: the seed of the directions of "random".
    """
    counts = context_counts(types.sequences, len(types.names), options.window)
    if appended:
        counts = _with_features(counts, types)
    if construction == "random":
        conditional = sparse.csr_array(sparse.diags_array(1.0 / (2 * options.window * types.tokens)) @ counts)
        directions = np.random.default_rng(seed).standard_normal((counts.shape[1], dimensions))
        return np.asarray(conditional @ directions / np.sqrt(dimensions))
    if construction == "cca":
        totals = (types.tokens, counts.sum(axis=0).astype(float))
        u, sigma, _ = canonical_svd(counts, totals, dimensions, smoothing=options.smoothing)
        return np.asarray(u * sigma / np.sqrt(types.tokens + options.smoothing)[:, None])
    return context_points(counts, types.tokens, dimensions, options)


def _with_features(counts: sparse.csr_array, types: WordTypes) -> sparse.csr_array:
    """Append the features of spelling (n, s) to counts (n, c), scaled to a tenth of the length of each row."""
    phi = spelling_counts(spelling_features(types.names), types.names, types.capital)
    lengths, of_features = (np.sqrt(table.multiply(table).sum(axis=1)) for table in (counts, phi))
    appended = sparse.diags_array(_APPENDED * lengths / np.maximum(of_features, TINY)) @ phi
    return sparse.csr_array(sparse.hstack([counts, appended], format="csr"))


def train_paper(
    sentences: Iterable[Sequence[str]],
    options: AnchorOptions,
    construction: Construction = "brown",
    *,
    appended: bool = False,
    seed: int = 0,
    anchors: Sequence[str] | None = None,
) -> AnchorHMM:
    """Train the anchor model of the paper.

    options: the settings, such as `paper_options` of the same construction.
    appended: whether features of spelling are appended.
    anchors: the anchor of each state; found if not given.
    """
    types = WordTypes.of(sentences)
    chosen = None if anchors is None else np.array([types.names.index(word.lower()) for word in anchors])
    most = min(options.n_states, options.candidates, len(types.names)) if chosen is None else len(chosen)
    points = paper_points(types, most, construction, options, appended=appended, seed=seed)
    return AnchorHMM.of_points(types, points, options, chosen)


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
    pairs = sparse.csr_array((probability, (bigrams.before, bigrams.after)), shape=(n, n + 1))
    following = _distributions(inverse @ (pairs @ with_end.T) / np.maximum(state_prior, TINY)[:, None])
    initial = _distributions((inverse @ bigrams.first_probabilities())[None, :])[0]
    return hidden_markov_with_end(initial, following, emission)


def _distributions(rows: FloatArray) -> FloatArray:
    """Set negative entries of rows (n, k) to zero, and scale rows to sums of one; a row of zeros becomes uniform."""
    positive = np.maximum(rows, 0.0)
    total = positive.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(positive, total, out=np.full_like(rows, 1.0 / rows.shape[1]), where=total > TINY))
