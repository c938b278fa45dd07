"""Train an averaged perceptron to choose among the candidates of n-best lists.

| here | meaning | source |
| --- | --- | --- |
| x_i | features of candidate i: measures divided by their standard deviation within lists, counts times δ | |
| g_i | its gain, such as F1 or the number of right heads, divided by the standard deviation of gains within lists | |
| w | weights; candidate argmax_i w·x_i is chosen | Collins 2002, section 3 |
| i⁺ | argmax_i w·x_i + κ g_i: the candidate to move to | Chiang 2012, section 3.2 |
| i⁻ | argmax_i w·x_i - κ g_i: the candidate to move away from | Chiang 2012, section 3.2 |
| τ | min(C, (g_i⁺ - g_i⁻ - w·Δ) / Δ·Δ) if positive, Δ = x_i⁺ - x_i⁻; then w ← w + τ Δ | Crammer et al. 2006, PA-I |
| w̄ | the mean of w after every list of every epoch: the weights of the reranker | Collins 2002, section 2.5 |

The update of Collins goes from the chosen candidate to the candidate with the largest gain, with τ = 1.  On NLTK's
dependency sample the result is worse than the base parser (benchmarks/RESULTS.md).  Here an update is between two
candidates whose scores differ too little for their gains, and its step is bounded.

The first weights give the base parser's order, so that zero epochs are the base parser.  Cross-validation chooses the
number of epochs and the factor δ, which prevents that thousands of counts outweigh a few measures.  The visits to
all lists are one compiled pass, in which no index is checked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from spectral_latent._compiled import compiled, compiled_part
from spectral_latent._options import Above, AtLeast, AtMost, Options, given_or
from spectral_latent.estimation import EstimationError
from spectral_latent.files import Axes, Given
from spectral_latent.reranking.features import FeatureTable
from spectral_latent.trees import FloatArray, IntArray

__all__ = ["PerceptronOptions", "PerceptronReranker", "Rows", "visit"]


class Rows(NamedTuple):
    """A sparse matrix (n, d) by rows, with the columns of `scipy.sparse.csr_array`.

    indptr: (n + 1,) the first entry of each row.
    indices, data: (e,) the columns and the values of the entries.
    """

    indptr: IntArray
    indices: IntArray
    data: FloatArray


@compiled
def visit(
    rows: Rows,
    start: IntArray,
    gain: FloatArray,
    order: IntArray,
    weights: FloatArray,
    gain_weight: float,
    max_step: float,
    early: FloatArray,
    delta: FloatArray,
    averages: FloatArray,
) -> None:
    """Compute w̄ after each epoch of updates.

    rows: (n, d) the features of all candidates.
    start: (L + 1,) the first row of each list.
    gain: (n,) the gain of each row.
    order: (epochs, L) the lists in the order of their visits.
    weights: (d,) w before the first epoch; gets w after the last epoch.
    early: (d,) zeros; gets Σ_t t τ_t Δ_t, where t is the number of visits before: the mean of T visits is w - early /
    T.
    delta: (d,) zeros; gets Δ of each visit.
    averages: (epochs, d) gets w̄ after each epoch.
    """
    visits = 0
    for epoch in range(len(order)):
        for at in range(order.shape[1]):
            i = order[epoch, at]
            hope, fear = _pair(rows, start[i], start[i + 1], gain, weights, gain_weight)
            # Move towards i⁺ and away from i⁻, by a step that just removes the loss, or by C if that is smaller.
            if gain[hope] > gain[fear]:
                _add(rows, hope, 1.0, delta)
                _add(rows, fear, -1.0, delta)
                loss = gain[hope] - gain[fear] - (_dot(rows, hope, weights) - _dot(rows, fear, weights))
                length = _dot(rows, hope, delta) - _dot(rows, fear, delta)  # Δ·Δ
                _clear(rows, hope, delta)
                _clear(rows, fear, delta)
                if loss > 0.0:
                    step = max_step if loss >= max_step * length else loss / length
                    _add(rows, hope, step, weights)
                    _add(rows, fear, -step, weights)
                    _add(rows, hope, step * visits, early)
                    _add(rows, fear, -step * visits, early)
            visits += 1
        for f in range(len(weights)):
            averages[epoch, f] = weights[f] - early[f] / visits


@compiled_part
def _pair(rows: Rows, begin: int, end: int, gain: FloatArray, w: FloatArray, gain_weight: float) -> tuple[int, int]:
    """Find i⁺ and i⁻ among the rows of a list; of equally good rows the first."""
    hope, fear = begin, begin
    most, least = -np.inf, -np.inf
    for i in range(begin, end):
        score = _dot(rows, i, w)
        if score + gain_weight * gain[i] > most:
            hope, most = i, score + gain_weight * gain[i]
        if score - gain_weight * gain[i] > least:
            fear, least = i, score - gain_weight * gain[i]
    return hope, fear


@compiled_part
def _dot(rows: Rows, i: int, vector: FloatArray) -> float:
    """Compute the inner product of x_i and a vector (d,)."""
    total = 0.0
    for k in range(rows.indptr[i], rows.indptr[i + 1]):
        total += rows.data[k] * vector[rows.indices[k]]
    return total


@compiled_part
def _add(rows: Rows, i: int, size: float, vector: FloatArray) -> None:
    """Add size · x_i to vector (d,)."""
    for k in range(rows.indptr[i], rows.indptr[i + 1]):
        vector[rows.indices[k]] += size * rows.data[k]


@compiled_part
def _clear(rows: Rows, i: int, vector: FloatArray) -> None:
    """Set a vector (d,) to zero at the columns where x_i is not zero."""
    for k in range(rows.indptr[i], rows.indptr[i + 1]):
        vector[rows.indices[k]] = 0.0


_ROUNDING = 1e-9  # a deviation below this share of the largest value counts as zero
_DAMPINGS = (1.0, 0.3, 0.1, 0.0)  # the values of δ that are tried
_ORDER = "base:log-rank"  # the feature that sorts candidates in the base parser's order


@dataclass(frozen=True)
class PerceptronOptions(Options):
    """Settings of training.

    epochs: the largest number of epochs; cross-validation chooses 0, 1, ... or this number.
    folds: the number of folds of cross-validation.
    order_weight: the weight of the base parser's order before the first epoch.
    gain_weight: κ, the weight of gains in the choice of the two candidates of an update.
    max_step: C, the longest step of an update.
    seed: the seed of the order in which lists are visited.
    """

    epochs: Annotated[int, AtLeast(1)] = 20
    folds: Annotated[int, AtLeast(2)] = 5
    order_weight: Annotated[float, AtLeast(0.0), AtMost(1e9)] = 1.0
    gain_weight: Annotated[float, Above(0.0)] = 3.0
    max_step: Annotated[float, Above(0.0)] = 0.05
    seed: Annotated[int, AtLeast(0)] = 0


@dataclass(frozen=True, eq=False)
class PerceptronReranker:
    """An averaged perceptron: weights of features, with the results of cross-validation.

    options: the settings of training.
    names: (d,) the names of the features.
    weights: (d,) the averaged weights w̄ of the features.
    held_out: (options.epochs + 1,) the mean gain on held-out lists after 0, 1, ... epochs.
    epochs: the number of epochs that was chosen; 0 is the base parser.
    damping: the factor δ that was chosen.

    Raises ValueError if the parts do not fit together.

    >>> columns = {"base:log-rank": np.log1p([0, 1] * 8), "latent:log-p": [-5.0, -3.0] * 8}
    >>> table = FeatureTable.measures(columns, sizes=[2] * 8, ids=list("abcdefgh"))
    >>> reranker = PerceptronReranker.train(table, gains=[0, 1] * 8)
    >>> reranker.rerank(table), reranker.held_out[[0, -1]]
    (array([1, 1, 1, 1, 1, 1, 1, 1]), array([0., 1.]))
    """

    options: PerceptronOptions
    names: Annotated[tuple[str, ...], Given("features.names")]
    weights: Annotated[FloatArray, Axes("d")]
    held_out: Annotated[FloatArray, Axes("epochs")]
    epochs: int
    damping: float

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.names):
            raise ValueError("two features have one name")
        if self.weights.shape != (len(self.names),) or self.held_out.shape != (self.options.epochs + 1,):
            raise ValueError("the numbers of weights and of epochs do not fit the features and the options")
        if type(self.epochs) is not int or not 0 <= self.epochs <= self.options.epochs or self.damping not in _DAMPINGS:
            raise ValueError("epochs or damping are out of range")

    @staticmethod
    def train(table: FeatureTable, gains: ArrayLike, options: PerceptronOptions | None = None) -> PerceptronReranker:
        """Learn to choose candidates with large gains; the same table and options give the same weights.

        The epochs and δ with the largest gain on held-out lists are chosen.  The number of epochs is 0 if that gain is
        not more than one standard error above that of the base parser.

        table: the features of n candidates.
        gains: (n,) the gain of each candidate.
        options: the settings of training; the defaults if not given.

        Raises EstimationError if a gain is missing or is not a finite number, or if there are not two lists whose
        candidates differ in gain.
        """
        options = given_or(PerceptronOptions(), options)
        gain = np.asarray(gains, dtype=float)
        if gain.shape != (len(table.list_of),) or not np.isfinite(gain).all():
            raise EstimationError(
                f"{gain.size} gains for {len(table.list_of)} candidates, or gains that are not finite; give a "
                f"finite number for each candidate"
            )
        table, gain = _informative(table, gain)
        start = np.zeros(len(table.names))
        if _ORDER in table.names:
            start[table.names.index(_ORDER)] = -options.order_weight
        dampings = _DAMPINGS[:1] if table.measured.all() else _DAMPINGS
        scales = [_scale(table, damping) for damping in dampings]
        held_out = np.stack([_held_out(_scale_features(table, scale), gain, start, options) for scale in scales])
        chosen, epochs = _choose(held_out)
        weights = _averages(_scale_features(table, scales[chosen]), gain, start, options)[epochs] * scales[chosen]
        means = held_out[chosen].mean(axis=0)
        return PerceptronReranker(options, table.names, weights, means, epochs, dampings[chosen])

    def scores(self, table: FeatureTable) -> FloatArray:
        """Compute w̄·x (n,) of every candidate.  Raises ValueError if a whole group of features is missing.

        table: the features of n candidates.
        """
        return np.asarray(table.align(self.names).values @ self.weights)

    def rerank(self, table: FeatureTable) -> IntArray:
        """Return the place (L,) of the best candidate in each list; -1 in a list without candidates.

        table: the features of the candidates of L lists.
        """
        return best_of_lists(self.scores(table)[:, None], table.start)[:, 0]


def best_of_lists(scores: FloatArray, start: IntArray) -> IntArray:
    """Find in each list the row with the largest score; of equal rows, the first.

    scores: (n, k) k scores of each row.
    start: (L + 1,) the first row of each list.

    Returns the places (L, k) of these rows in their lists; -1 in a list without rows.

    >>> best_of_lists(np.array([[1.0], [2.0], [0.0]]), np.array([0, 2, 2, 3]))
    array([[ 1], [-1], [ 0]])
    """
    best = np.full((len(start) - 1, scores.shape[1]), -1)
    for i in range(len(best)):
        if start[i] < start[i + 1]:
            best[i] = scores[start[i] : start[i + 1]].argmax(axis=0)
    return best


def _informative(table: FeatureTable, gain: FloatArray) -> tuple[FeatureTable, FloatArray]:
    """Keep the lists whose candidates differ in gain, because nothing can be learnt from the other lists."""
    differs = [len(set(gain[begin:end].tolist())) > 1 for begin, end in pairwise(table.start.tolist())]
    lists = np.flatnonzero(differs)
    if len(lists) < 2:
        raise EstimationError(
            f"candidates differ in gain in {len(lists)} of the lists, and two are needed; give more sentences, and "
            f"gains such as the number of right heads of each candidate"
        )
    return table.of_lists(lists), gain[table.rows_of(lists)]


def _deviation(columns: FloatArray, start: IntArray) -> FloatArray:
    """Compute the standard deviation (k,) of columns (n, k) from their means in the lists; 0 is replaced by 1."""
    sizes = np.diff(start)[:, None]
    mean = np.add.reduceat(columns, start[:-1], axis=0) / sizes
    deviation = np.sqrt(((columns - np.repeat(mean, sizes[:, 0], axis=0)) ** 2).mean(axis=0))
    return np.where(deviation > _ROUNDING * np.abs(columns).max(axis=0), deviation, 1.0)


def _scale(table: FeatureTable, damping: float) -> FloatArray:
    """Compute the factor (d,) of each feature."""
    scale = np.full(len(table.names), damping)
    if table.measured.any():
        scale[table.measured] = 1 / _deviation(table.values[:, np.flatnonzero(table.measured)].toarray(), table.start)
    return scale


def _scale_features(table: FeatureTable, scale: FloatArray) -> FeatureTable:
    """Multiply each feature by its factor (d,)."""
    return replace(table, values=scipy.sparse.csr_array(table.values @ scipy.sparse.diags_array(scale)))


def _averages(table: FeatureTable, gain: FloatArray, weights: FloatArray, options: PerceptronOptions) -> FloatArray:
    """Compute w̄ (epochs + 1, d) after 0, 1, ... epochs, from the first weights (d,)."""
    rng = np.random.default_rng(options.seed)
    order = np.array([rng.permutation(table.n_lists) for _ in range(options.epochs)])
    unit = gain / _deviation(gain[:, None], table.start)
    rows = Rows(table.values.indptr.astype(np.int64), table.values.indices.astype(np.int64), table.values.data)
    averages = np.tile(weights, (options.epochs + 1, 1))
    w = weights.copy()
    early = np.zeros_like(weights)
    delta = np.zeros_like(weights)
    visit(rows, table.start, unit, order, w, options.gain_weight, options.max_step, early, delta, averages[1:])
    return averages


def _held_out(table: FeatureTable, gain: FloatArray, weights: FloatArray, options: PerceptronOptions) -> FloatArray:
    """Compute the gain (L, epochs + 1) in every list of the candidate that training on the other folds chooses."""
    gains = []
    for fold in np.array_split(np.arange(table.n_lists), min(options.folds, table.n_lists)):
        rest = np.setdiff1d(np.arange(table.n_lists), fold)
        averages = _averages(table.of_lists(rest), gain[table.rows_of(rest)], weights, options)
        held = table.of_lists(fold)
        chosen = held.start[:-1, None] + best_of_lists(held.values @ averages.T, held.start)
        gains.append(gain[table.rows_of(fold)][chosen])
    return np.concatenate(gains)


def _choose(gains: FloatArray) -> tuple[int, int]:
    """Choose damping and epochs by the gains (K, L, epochs + 1) of K dampings in held-out lists.

    They are (0, 0), the base parser, if no mean is more than a standard error above the base parser's.
    """
    means = gains.mean(axis=1)
    damping, epochs = (int(place) for place in np.unravel_index(means.argmax(), means.shape))
    won = gains[damping, :, epochs] - gains[0, :, 0]
    return (damping, epochs) if won.mean() > won.std(ddof=1) / np.sqrt(len(won)) else (0, 0)
