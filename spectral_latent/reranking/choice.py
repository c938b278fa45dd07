"""Learn to choose among the candidates of n-best lists, by weights of their features.

| here | meaning |
| --- | --- |
| x_i | features of candidate i, divided by their standard deviation within lists |
| g_i | its gain, such as F1 or the number of right heads, divided likewise |
| P(i) ∝ exp(w·x_i) | the probability of candidate i among the candidates of its list |
| −Σ log Σ_best P(i) + λ ‖w‖² / 2 | minimised first; the inner sum is over the candidates with the largest gain |
| −Σ Σ_i P(i) g_i + λ ‖w‖² / 2 | minimised from there: less the expected gain (Smith and Eisner 2006) |

Expected gains have local optima, and weights that choose the best candidates often are a good place to begin.  The
candidate argmax_i w·x_i is chosen.  Cross-validation tells whether these choices are better than the base parser's.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from spectral_latent._options import Above, AtLeast, AtMost, Options, given_or
from spectral_latent.estimation import EstimationError
from spectral_latent.files import Axes, Given
from spectral_latent.lexicon.log_linear import minimise
from spectral_latent.reranking.features import FeatureTable
from spectral_latent.trees import BoolArray, FloatArray, IntArray

_ROUNDING = 1e-9  # a deviation below this share of the largest value counts as zero
_ORDER = "base:log-rank"  # the feature that sorts candidates in the base parser's order


@dataclass(frozen=True)
class RerankerOptions(Options):
    """Settings of training.

    penalty: λ, the weight of the squared norm of the weights.
    iterations: the largest number of iterations of L-BFGS for each of the two losses."""

    penalty: Annotated[float, Above(0.0), AtMost(1e9)] = 1.0
    iterations: Annotated[int, AtLeast(1)] = 200
    folds: Annotated[int, AtLeast(2)] = 5


@dataclass(frozen=True, eq=False)
class CandidateChoice:
    """Weights of the features of candidates, with the result of cross-validation.

    names: (d,) the names of the features.
    weights: (d,) w, the weights of features that are not divided by their deviations.
    held_out: (2,) the mean gain on held-out lists of the base parser's choices and of the learnt ones.

    Raises ValueError if the parts do not fit together.

    >>> columns = {"base:log-rank": np.log1p([0, 1] * 8), "latent:log-p": [-5.0, -3.0] * 8}
    >>> table = FeatureTable.of(columns, sizes=[2] * 8, ids=list("abcdefgh"))
    >>> choice = CandidateChoice.train(table, gains=[0, 1] * 8)
    >>> choice.rerank(table), choice.held_out
    (array([1, 1, 1, 1, 1, 1, 1, 1]), array([0., 1.]))
    """

    options: RerankerOptions
    names: Annotated[tuple[str, ...], Given("features.names")]
    weights: Annotated[FloatArray, Axes("d")]
    held_out: Annotated[FloatArray, Axes(2)]

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.names):
            raise ValueError("two features have one name")
        if self.weights.shape != (len(self.names),):
            raise ValueError("the number of weights is not that of the features")

    @property
    def is_learnt(self) -> bool:
        """Whether the weights were learnt; otherwise they keep the base parser's order."""
        return bool(self.held_out[1] > self.held_out[0])

    @staticmethod
    def train(table: FeatureTable, gains: ArrayLike, options: RerankerOptions | None = None) -> CandidateChoice:
        """Learn to choose candidates with large gains; the same table and options give the same weights.

        The weights keep the base parser's order if the mean gain on held-out lists is not more than one standard error
        above that of the base parser.

        gains: (n,) the gain of each candidate of the table.

        Raises EstimationError if a gain is missing or is not a finite number, or if there are not two lists whose
        candidates differ in gain."""
        options = given_or(RerankerOptions(), options)
        gain = np.asarray(gains, dtype=float)
        if gain.shape != (len(table.values),) or not np.isfinite(gain).all():
            raise EstimationError(
                f"{gain.size} gains for {len(table.values)} candidates, or gains that are not finite; give a "
                f"finite number for each candidate"
            )
        table, gain = _informative(table, gain)
        before = _gains_of_choices(table, gain, _base_order(table.names))
        won = _held_out(table, gain, options) - before
        if won.mean() <= won.std(ddof=1) / np.sqrt(len(won)):
            return CandidateChoice(options, table.names, _base_order(table.names), np.full(2, before.mean()))
        held_out = np.array([before.mean(), (before + won).mean()])
        return CandidateChoice(options, table.names, _learn(table, gain, options), held_out)

    def scores(self, table: FeatureTable) -> FloatArray:
        """Compute w·x (n,) of every candidate.  Raises ValueError if a feature is missing."""
        return np.asarray(table.align(self.names).values @ self.weights)

    def rerank(self, table: FeatureTable) -> IntArray:
        """Return the place (L,) of the best candidate in each list; -1 in a list without candidates."""
        return best_of_lists(self.scores(table), table.start)


def best_of_lists(scores: FloatArray, start: IntArray) -> IntArray:
    """Find the place (L,) of the largest score (n,) in each list, the first of equals; -1 in a list without rows.

    start: (L + 1,) the first row of each list, and n."""
    return np.array([scores[i:j].argmax() if i < j else -1 for i, j in pairwise(start.tolist())], dtype=np.int64)


def _base_order(names: tuple[str, ...]) -> FloatArray:
    """Make the weights (d,) that keep the base parser's order."""
    return np.array([-1.0 if name == _ORDER else 0.0 for name in names])


def _informative(table: FeatureTable, gain: FloatArray) -> tuple[FeatureTable, FloatArray]:
    """Keep the lists whose candidates differ in gain, because nothing can be learnt from the other lists."""
    differs = [len(set(gain[begin:end].tolist())) > 1 for begin, end in pairwise(table.start.tolist())]
    lists = np.flatnonzero(differs)
    if len(lists) < 2:
        raise EstimationError(
            f"the candidates of {len(lists)} lists differ in gain, and two such lists are needed; give more sentences, "
            f"and gains such as F1 or the number of right heads of each candidate"
        )
    return table.of_lists(lists), gain[table.rows_of(lists)]


def _deviation(columns: FloatArray, start: IntArray) -> FloatArray:
    """Compute the standard deviation (k,) of columns (n, k) from their means in the lists; 0 is replaced by 1."""
    sizes = np.diff(start)[:, None]
    mean = np.add.reduceat(columns, start[:-1], axis=0) / sizes
    deviation = np.sqrt(((columns - np.repeat(mean, sizes[:, 0], axis=0)) ** 2).mean(axis=0))
    return np.where(deviation > _ROUNDING * np.abs(columns).max(axis=0), deviation, 1.0)


def _softmax(score: FloatArray, start: IntArray) -> tuple[FloatArray, FloatArray]:
    """Compute exp(score), (n,), as shares of the sums of their lists, and the logarithms (L,) of these sums."""
    largest = np.maximum.reduceat(score, start[:-1])
    share = np.exp(score - np.repeat(largest, np.diff(start)))
    total = np.add.reduceat(share, start[:-1])
    return share / np.repeat(total, np.diff(start)), largest + np.log(total)


def choice_losses(
    x: FloatArray, gain: FloatArray, is_best: BoolArray, start: IntArray, w: FloatArray, penalty: float
) -> tuple[tuple[float, FloatArray], tuple[float, FloatArray]]:
    """Compute both losses of this module at w (d,), each with its gradient (d,).

    x: (n, d) the scaled features.
    gain: (n,) the scaled gains.
    is_best: (n,) whether no candidate of the list has a larger gain.
    start: (L + 1,) the first row of each list, none of which is empty, and n."""
    score = x @ w
    p, log_sum = _softmax(score, start)
    best, log_sum_of_best = _softmax(np.where(is_best, score, -np.inf), start)
    expected = np.add.reduceat(p * gain, start[:-1])
    norm = penalty / 2 * float(w @ w)
    first = norm + float((log_sum - log_sum_of_best).sum()), penalty * w + x.T @ (p - best)
    above = p * (gain - np.repeat(expected, np.diff(start)))
    second = norm - float(expected.sum()), penalty * w - x.T @ above
    return first, second


def _learn(table: FeatureTable, gain: FloatArray, options: RerankerOptions) -> FloatArray:
    """Learn the weights (d,) from lists whose candidates differ in gain (n,)."""
    start, sizes = table.start, np.diff(table.start)
    scale = _deviation(table.values, start)
    x = table.values / scale
    # Only differences within lists count: without the means, numbers stay small.
    x -= np.repeat(np.add.reduceat(x, start[:-1], axis=0) / sizes[:, None], sizes, axis=0)
    gain = gain / _deviation(gain[:, None], start)[0]
    is_best = gain == np.repeat(np.maximum.reduceat(gain, start[:-1]), sizes)
    w = np.zeros(len(scale))
    for number in range(2):

        def loss(w: FloatArray, number: int = number) -> tuple[float, FloatArray]:
            """Compute one of the losses and its gradient."""
            return choice_losses(x, gain, is_best, start, w, options.penalty)[number]

        w = minimise(loss, w, options.iterations)
    return w / scale


def _gains_of_choices(table: FeatureTable, gain: FloatArray, weights: FloatArray) -> FloatArray:
    """Find the gain (L,) of the candidate that weights (d,) choose in each list; gain: (n,)."""
    return np.asarray(gain[table.start[:-1] + best_of_lists(table.values @ weights, table.start)])


def _held_out(table: FeatureTable, gain: FloatArray, options: RerankerOptions) -> FloatArray:
    """Compute the gain (L,) of the candidate that weights of the other folds choose in each list; gain: (n,)."""
    gains = []
    for fold in np.array_split(np.arange(table.n_lists), min(options.folds, table.n_lists)):
        rest = np.setdiff1d(np.arange(table.n_lists), fold)
        weights = _learn(table.of_lists(rest), gain[table.rows_of(rest)], options)
        gains.append(_gains_of_choices(table.of_lists(fold), gain[table.rows_of(fold)], weights))
    return np.concatenate(gains)
