"""Find anchors, and the hidden Markov model that they determine (Stratos et al. 2016, Figures 1 and 2).

| here | paper | meaning |
| --- | --- | --- |
| `points[x]` | Ω_x (3) | the point of type x, in the convex hull of the points of anchors |
| `anchor_types` | a_1 ... a_m (Figure 1) | a type for each state that occurs in no other state |
| `mixtures[x]` | Õ_x (Proposition 4.1) | p(h \\| x): Ω_x = Σ_h Õ_x,h Ω_{a_h} |
| `state_prior` | π̄ (4) | p(h) = Σ_x p(h \\| x) u_x |
| `emission` | O (5) | o(x \\| h) = p(h \\| x) u_x / p(h), here (m, n) |
| `initial` | π (8) | arg min over distributions π of ‖u₁ - O π‖² |
| `transition`, `stop` | T (9) | arg max of the log-likelihood of bigrams |

In this module, a state may also be followed by the end of the sequence.  The end is a state with a type of its own.
"""

from dataclasses import dataclass
from itertools import count as counting

import numpy as np

from spectral_latent._compiled import TINY
from spectral_latent.estimation import Listener, Progress, silent
from spectral_latent.estimation.simplex import anchors as farthest_rows
from spectral_latent.estimation.simplex import convex_weights
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.sequence.hidden_markov import HiddenMarkov
from spectral_latent.trees import FloatArray, IntArray

_TIE = 1e-9  # squared distances count as equal if they differ by less than this share
_SWEEPS = 10  # the largest number of sweeps over all anchors; few corpora need more than three
_CONVERGED = 1e-8  # EM ends with a step that gains less than this number of nats per bigram


def choose_anchors(
    points: FloatArray, tokens: FloatArray, n_states: int, candidates: int, *, exchange: bool = True
) -> IntArray:
    """Choose up to m anchors among the most frequent types (Figure 1), then exchange them while the hull grows.

    Each anchor is the candidate farthest from the span of the anchors before it.  Of equally far candidates, the most
    frequent is chosen, and of equally frequent candidates the first.  Returns the types (k,) of the anchors; there are
    none if there are no points.

    points: (n, d) the points of the types.
    tokens: (n,) the number of tokens of each type."""
    if not len(points):
        return np.zeros(0, dtype=np.int64)
    least = np.sort(tokens)[::-1][min(candidates, len(tokens)) - 1]
    frequent = np.flatnonzero(tokens >= least)
    frequent = frequent[np.argsort(-tokens[frequent], kind="stable")]
    scaled = points[frequent] / max(float(np.abs(points[frequent]).max(initial=0.0)), TINY)
    chosen = farthest_rows(scaled, tokens[frequent], n_states).tolist()
    for _ in range(_SWEEPS if exchange else 0):
        before = list(chosen)
        for h in range(len(chosen)):
            # Compute the squared distance of every candidate from the span of the other anchors.
            basis, _ = np.linalg.qr(scaled[chosen[:h] + chosen[h + 1 :]].T)
            squares = ((scaled - (scaled @ basis) @ basis.T) ** 2).sum(axis=1)
            if squares.max() > (1 + _TIE) * squares[chosen[h]]:
                chosen[h] = int(np.argmax(squares >= (1 - _TIE) * squares.max()))
        if chosen == before:
            break
    return np.asarray(frequent[chosen])


def find_mixtures(points: FloatArray, anchor_points: FloatArray, sharpness: float) -> FloatArray:
    """Find p(h | x) (n, m): the convex weights of the nearest point of the hull, raised to a power and normalised.

    points: (n, d) the points of types.
    anchor_points: (m, d) the points of anchors, which are the corners of the hull."""
    weights = convex_weights(points, anchor_points)
    powers = (weights / weights.max(axis=1, keepdims=True)) ** sharpness  # the largest is 1: no row becomes zero
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class Bigrams:
    """Counts of types, of pairs of neighbours, and of first types; the end of a sequence is type n.

    before, after, count: (k,) pairs of neighbouring types, and the count of each pair.
    first, first_count: (f,) types that begin sequences, and the count of each.
    unigrams: (n,) the number of tokens of each type."""

    before: IntArray
    after: IntArray
    count: FloatArray
    first: IntArray
    first_count: FloatArray
    unigrams: FloatArray

    def first_probabilities(self) -> FloatArray:
        """Compute u₁ (n,), the probability that a sequence begins with each type."""
        probabilities = np.zeros(len(self.unigrams))
        probabilities[self.first] = self.first_count / self.first_count.sum()
        return probabilities


def count_bigrams(sequences: Sequences, n_types: int) -> Bigrams:
    """Count the types and pairs of neighbours of sequences."""
    x = sequences.terminal
    following = np.where(sequences.is_last, n_types, sequences.shift(x, 1))
    key, count = np.unique(x * (n_types + 1) + following, return_counts=True)
    before, after = np.divmod(key, n_types + 1)
    first, first_count = np.unique(x[sequences.start[:-1]], return_counts=True)
    unigrams = np.bincount(x, minlength=n_types).astype(float)
    return Bigrams(before, after, count.astype(float), first, first_count.astype(float), unigrams)


def emissions_of_mixtures(mixtures: FloatArray, unigrams: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compute π̄ (m,) and O (m, n), equations 4 and 5.

    mixtures: (n, m) the probabilities p(h | x).
    unigrams: (n,) the number of tokens of each type."""
    u = unigrams / unigrams.sum()
    state_prior = u @ mixtures
    return state_prior, (mixtures * u[:, None]).T / np.maximum(state_prior, TINY)[:, None]


def hidden_markov_with_end(initial: FloatArray, following: FloatArray, emission: FloatArray) -> HiddenMarkov:
    """Make the model in which every state is followed by another state or by the end.

    initial: (m,) the probabilities π of the first state.
    following: (m, m + 1) the probabilities of the next state, and of the end in the last column; rows sum to one.
    emission: (m, n) the probabilities O of types."""
    going_on = following[:, :-1].sum(axis=1, keepdims=True)
    uniform = np.full((len(initial), len(initial)), 1.0 / len(initial))  # for states that the end always follows
    transition = np.divide(following[:, :-1], going_on, out=uniform, where=going_on > TINY)
    return HiddenMarkov(initial, transition, following[:, -1].copy(), emission)


def maximise_likelihood(
    mixtures: FloatArray, bigrams: Bigrams, steps: int | None, listener: Listener = silent
) -> HiddenMarkov:
    """Estimate the model under the constraints that probabilities have: equations 4, 5, 8 and 9.

    Equation 8 is solved exactly, by least squares over the simplex.  Equation 9, the log-likelihood of bigrams, is
    concave.  EM maximises it from uniform rows: many steps reach the maximum, and a few steps stay nearer to uniform.

    mixtures: (n, m) the probabilities p(h | x)."""
    n, m = mixtures.shape
    state_prior, emission = emissions_of_mixtures(mixtures, bigrams.unigrams)
    emits = np.zeros((n + 1, m + 1))  # the end of a sequence, type n, is emitted by the end, state m
    emits[:n, :m] = emission.T
    emits[n, m] = 1.0
    left = emits[bigrams.before, :m] * state_prior
    right = emits[bigrams.after]
    following = np.full((m, m + 1), 1.0 / (m + 1))
    least = _CONVERGED * bigrams.count.sum()
    before = -np.inf
    for step in counting(1) if steps is None else range(1, steps + 1):
        probability = np.maximum(np.einsum("km,km->k", left @ following, right), TINY)
        likelihood = float(bigrams.count @ np.log(probability))
        listener(Progress("EM", step, steps or step, likelihood))
        # The expected count of a pair of states is Σ over bigrams of count · left · following · right / probability.
        following = following * ((left * (bigrams.count / probability)[:, None]).T @ right)
        following /= np.maximum(following.sum(axis=1, keepdims=True), TINY)
        if steps is None and likelihood - before < least:
            break
        before = likelihood
    initial = convex_weights(bigrams.first_probabilities()[None, :], emission)[0]
    return hidden_markov_with_end(initial, following, emission)
