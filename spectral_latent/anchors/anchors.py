"""Anchors and the hidden Markov model that they determine (Stratos et al. 2016, Figures 1 and 2).

| here | paper | meaning |
| --- | --- | --- |
| `rows[x]` | Ω_x (3) | the point of type x; the corners of their hull are the points of anchors |
| `anchors` | a_1 ... a_m (Figure 1) | a type for each state that occurs in no other |
| `mixtures[x]` | Õ_x (Proposition 4.1) | p(h \\| x): Ω_x = Σ_h Õ_x,h Ω_{a_h} |
| `share` | π̄ (4) | p(h) = Σ_x p(h \\| x) u_x |
| `emission` | O (5) | o(x \\| h) = p(h \\| x) u_x / p(h), here (m, n) |
| `initial` | π (6), (8) | O⁺ u₁; or the distribution over states that comes nearest |
| `transition`, `stop` | T (7), (9) | diag(π̄)⁻¹ O⁺ B (O⁺)ᵀ, with B the bigrams; or the likeliest |

Here a state may also be followed by the end of the sequence, a type of its own that only the end emits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from spectral_latent._compiled import TINY
from spectral_latent.estimation import anchors as farthest
from spectral_latent.estimation import convex_weights
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.sequence.hidden_markov import HiddenMarkov
from spectral_latent.trees import FloatArray, IntArray

__all__ = ["Bigrams", "anchor_mixtures", "choose_anchors", "closed_form", "likeliest"]

_TIE = 1e-9  # squared distances that differ relatively by less are equal
_SWEEPS = 10  # over all anchors; few corpora need more than three


def choose_anchors(rows: FloatArray, count: FloatArray, states: int, candidates: int) -> IntArray:
    """Up to m anchors among the most frequent types (Figure 1), then exchanged while the hull grows.

    rows: (n, d).  count: (n,).  Candidates are the types as frequent as the one of that rank.  Of candidates equally
    far, the most frequent is taken; of those, the first.  Once all are found, each anchor in turn is given up for the
    candidate farthest from the span of the others, until none changes, or ten times; the paper stops before.
    No row, no anchor.

    >>> rows = np.array([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0], [0.9, 0.1]])
    >>> choose_anchors(rows, count=np.array([9.0, 5.0, 4.0, 3.0]), states=2, candidates=4)
    array([1, 2])
    """
    if not len(rows):
        return np.zeros(0, dtype=np.int64)
    least = np.sort(count)[::-1][min(candidates, len(count)) - 1]
    frequent = np.flatnonzero(count >= least)
    frequent = frequent[np.argsort(-count[frequent], kind="stable")]
    points = rows[frequent] / max(float(np.abs(rows[frequent]).max(initial=0.0)), TINY)
    chosen = farthest(points, count[frequent], states).tolist()
    for _ in range(_SWEEPS):
        before = list(chosen)
        for h in range(len(chosen)):
            basis, _ = np.linalg.qr(points[chosen[:h] + chosen[h + 1 :]].T)
            squares = ((points - (points @ basis) @ basis.T) ** 2).sum(axis=1)
            if squares.max() > (1 + _TIE) * squares[chosen[h]]:
                chosen[h] = int(np.argmax(squares >= (1 - _TIE) * squares.max()))
        if chosen == before:
            break
    return np.asarray(frequent[chosen])


def anchor_mixtures(rows: FloatArray, corners: FloatArray, sharpness: float) -> FloatArray:
    """p(h | x) (n, m): the convex weights of the nearest point of the hull, raised to a power and normalised.

    sharpness: 1 for Proposition 4.1 as it stands.  Noise moves points into the hull and so spreads words over states
    that are not theirs; most types have one tag (Table 5), and a power above 1 takes the spread back.
    """
    weights = convex_weights(rows, corners).weights
    powers = (weights / weights.max(axis=1, keepdims=True)) ** sharpness  # the largest is 1: no row becomes zero
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class Bigrams:
    """Which types follow which, the end of a sequence being type n; and which begin sequences.

    before, after, count: (k,).  first, first_count: (f,).  unigrams: (n,) counts.
    """

    before: IntArray
    after: IntArray
    count: FloatArray
    first: IntArray
    first_count: FloatArray
    unigrams: FloatArray

    @staticmethod
    def of(sequences: Sequences, n_types: int) -> Bigrams:
        """Those of sequences over types 0 ... n-1.

        >>> bigrams = Bigrams.of(Sequences.of([[0, 1], [0]]), n_types=2)
        >>> bigrams.before, bigrams.after, bigrams.count, bigrams.first, bigrams.first_count
        (array([0, 0, 1]), array([1, 2, 2]), array([1., 1., 1.]), array([0]), array([2.]))
        """
        x = sequences.terminal
        after = np.where(sequences.is_last, n_types, sequences.shifted(x, 1))
        key, count = np.unique(x * (n_types + 1) + after, return_counts=True)
        first, first_count = np.unique(x[sequences.start[:-1]], return_counts=True)
        return Bigrams(
            *np.divmod(key, n_types + 1),
            count.astype(float),
            first,
            first_count.astype(float),
            np.bincount(x, minlength=n_types).astype(float),
        )

    def first_share(self, n_types: int) -> FloatArray:
        """u₁ (n,), how often sequences begin with each type."""
        share = np.zeros(n_types)
        share[self.first] = self.first_count / self.first_count.sum()
        return share


def _shares(mixtures: FloatArray, unigrams: FloatArray) -> tuple[FloatArray, FloatArray]:
    """π̄ (m,) and O (m, n): equations 4 and 5."""
    u = unigrams / unigrams.sum()
    share = u @ mixtures
    return share, (mixtures * u[:, None]).T / np.maximum(share, TINY)[:, None]


def _with_end(emission: FloatArray, joint: FloatArray, initial: FloatArray) -> HiddenMarkov:
    """The model of p(next state or end | state), rows (m, m + 1) that sum to one."""
    going_on = np.maximum(joint[:, :-1].sum(axis=1, keepdims=True), TINY)
    return HiddenMarkov(initial, joint[:, :-1] / going_on, joint[:, -1].copy(), emission)


def closed_form(mixtures: FloatArray, bigrams: Bigrams) -> HiddenMarkov:
    """Equations 4 to 7.  From samples, entries of π and T may be negative and rows need not sum to one.

    mixtures: (n, m).
    """
    n, m = mixtures.shape
    share, emission = _shares(mixtures, bigrams.unigrams)
    inverse = np.linalg.pinv(emission.T)
    extended = np.zeros((m + 1, n + 1))
    extended[:m, :n], extended[m, n] = inverse, 1.0
    total = bigrams.count.sum()
    counts = sparse.csr_array((bigrams.count / total, (bigrams.before, bigrams.after)), shape=(n, n + 1))
    joint = inverse @ (counts @ extended.T) / share[:, None]
    return _with_end(emission, joint, inverse @ bigrams.first_share(n))


def likeliest(mixtures: FloatArray, bigrams: Bigrams, steps: int) -> HiddenMarkov:
    """Equations 4 and 5; 8, by exact least squares over the simplex; 9, by so many steps of EM from uniform rows.

    The likelihood (9) is concave, so that EM nears its optimum; early steps stay nearer to uniform.
    mixtures: (n, m).
    """
    n, m = mixtures.shape
    share, emission = _shares(mixtures, bigrams.unigrams)
    emits = np.zeros((n + 1, m + 1))
    emits[:n, :m], emits[n, m] = emission.T, 1.0
    left, right = emits[bigrams.before, :m] * share, emits[bigrams.after]
    joint = np.full((m, m + 1), 1.0 / (m + 1))
    for _ in range(steps):
        weight = bigrams.count / np.maximum(np.einsum("km,km->k", left @ joint, right), TINY)
        joint = joint * ((left * weight[:, None]).T @ right)
        joint /= np.maximum(joint.sum(axis=1, keepdims=True), TINY)
    return _with_end(emission, joint, convex_weights(bigrams.first_share(n)[None, :], emission).weights[0])
