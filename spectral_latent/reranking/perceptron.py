"""An averaged perceptron that chooses among the candidates of n-best lists.

| here | meaning | source |
| --- | --- | --- |
| x_i | features of candidate i: measures divided by their standard deviation within lists, counts times δ | |
| g_i | its gain, such as F1 or the number of right heads, divided likewise | |
| w | weights; candidate argmax_i w·x_i is chosen | Collins 2002, section 3 |
| i⁺, i⁻ | argmax_i w·x_i + κ g_i, argmax_i w·x_i - κ g_i: what to move to, and away from | Chiang 2012, section 3.2 |
| τ | min(C, (g_i⁺ - g_i⁻ - w·Δ) / Δ·Δ) where positive, Δ = x_i⁺ - x_i⁻; then w ← w + τ Δ | Crammer et al. 2006, PA-I |
| w̄ | the mean of w after every list of every epoch: what is kept | Collins 2002, section 2.5 |

The update of Collins, from the candidate chosen to the one with the most gain and τ = 1, ends below the base parser on
lists of a few hundred sentences: the best of 50 trees is often best by luck, and far down the list.  Here the two that
the model finds hardest to tell apart for their gains are chosen, and the step is bounded.  The weights begin as the
base parser's order, so that no epoch is the base parser.  How many epochs there are, and δ, which keeps thousands of
counts from drowning a few measures, cross-validation says.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, replace
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from spectral_latent._options import Above, AtLeast, AtMost, Options
from spectral_latent.estimation import EstimationError
from spectral_latent.operators import Distinct, array_from, opened_model, save_model, setting_from
from spectral_latent.reranking._kernels import Rows, visit
from spectral_latent.reranking.tables import FeatureTable
from spectral_latent.trees import FloatArray, IntArray

__all__ = ["PerceptronOptions", "PerceptronReranker"]

_KIND = "reranker"
_ROUNDING = 1e-9  # a deviation of this share of the largest value is none
_DAMPING = (1.0, 0.3, 0.1, 0.0)  # the δ that are tried
_ORDER = "base:log-rank"  # the feature by which candidates are in the base parser's order


@dataclass(frozen=True)
class PerceptronOptions(Options):
    """Settings of training.

    epochs: at most so many; how many, cross-validation says.
    folds: of cross-validation.
    start: the weight of the base parser's order at first.
    greed: κ, how much gains count in the choice of the pair.
    step: C, the longest step.
    seed: of the order in which lists are visited.
    """

    epochs: Annotated[int, AtLeast(1)] = 20
    folds: Annotated[int, AtLeast(2)] = 5
    start: Annotated[float, AtLeast(0.0), AtMost(1e9)] = 1.0
    greed: Annotated[float, Above(0.0)] = 3.0
    step: Annotated[float, Above(0.0)] = 0.05
    seed: Annotated[int, AtLeast(0)] = 0


@dataclass(frozen=True, eq=False)
class PerceptronReranker:
    """Weights of features, and how they came about.

    names: (d,) the features.  weights: (d,).  epochs, damping: those chosen; no epochs are the base parser.
    held_out: (epochs + 1,) with this damping, after 0, 1, ... epochs, the mean gain on lists that were held out.

    >>> columns = {"base:log-rank": np.log1p([0, 1] * 8), "latent:log-p": [-5.0, -3.0] * 8}
    >>> table = FeatureTable.measures(columns, sizes=[2] * 8, ids=list("abcdefgh"))
    >>> reranker = PerceptronReranker.train(table, gains=[0, 1] * 8)
    >>> reranker.rerank(table), reranker.held_out[[0, -1]]
    (array([1, 1, 1, 1, 1, 1, 1, 1]), array([0., 1.]))
    """

    options: PerceptronOptions
    names: tuple[str, ...]
    weights: FloatArray
    held_out: FloatArray
    epochs: int
    damping: float

    @staticmethod
    def train(table: FeatureTable, gains: ArrayLike, options: PerceptronOptions | None = None) -> PerceptronReranker:
        """Learn to choose candidates with large gains (n,); the same table and seed give the same weights.

        Epochs and damping are those with the largest gain on lists held out; no epochs, if that is not more than one
        standard error above the base parser's.

        Raises EstimationError if a gain is missing or is no finite number, or if there are not two lists whose
        candidates differ in gain.
        """
        options = options or PerceptronOptions()
        gain = np.asarray(gains, dtype=float)
        if gain.shape != (len(table.list_of),) or not np.isfinite(gain).all():
            raise EstimationError(
                f"{gain.size} gains for {len(table.list_of)} candidates, or gains that are no finite numbers; give one "
                f"for each candidate"
            )
        table, gain = _informative(table, gain)
        start = np.zeros(len(table.names))
        if _ORDER in table.names:
            start[table.names.index(_ORDER)] = -options.start
        dampings = _DAMPING[:1] if table.measured.all() else _DAMPING
        scales = [_scale(table, damping) for damping in dampings]
        held_out = np.stack([_held_out(_scaled(table, scale), gain, start, options) for scale in scales])
        at, epochs = _choice(held_out)
        weights = _averages(_scaled(table, scales[at]), gain, start, options)[epochs] * scales[at]
        means = held_out[at].mean(axis=0)
        return PerceptronReranker(options, table.names, weights, means, epochs, dampings[at])

    def scores(self, table: FeatureTable) -> FloatArray:
        """w̄·x of every candidate (n,).  Raises ValueError if features of a whole group were not computed."""
        return np.asarray(table.aligned(self.names).values @ self.weights)

    def rerank(self, table: FeatureTable) -> IntArray:
        """The place of the best candidate in each list (L,), of equals the first; -1 in a list without candidates."""
        return best_of_lists(self.scores(table)[:, None], table.start)[:, 0]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the reranker to one file, whole or not at all."""
        settings = {
            "kind": _KIND,
            "options": asdict(self.options),
            "names": self.names,
            "epochs": self.epochs,
            "damping": self.damping,
        }
        save_model(path, {"weights": self.weights, "held_out": self.held_out}, settings)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> PerceptronReranker:
        """Read a reranker.  Raises ModelFileError if the file is not a whole one of this version."""
        with opened_model(path, _KIND) as (arrays, settings):
            options = setting_from("options", settings, PerceptronOptions)
            names = setting_from("names", settings, Annotated[tuple[str, ...], Distinct()])
            epochs = setting_from("epochs", settings, Annotated[int, AtLeast(0), AtMost(options.epochs)])
            damping = setting_from("damping", settings, float)
            if damping not in _DAMPING:
                raise ValueError("the damping is none that is tried")
            weights = array_from("weights", arrays, np.float64, (len(names),))
            held_out = array_from("held_out", arrays, np.float64, (options.epochs + 1,))
            return PerceptronReranker(options, names, weights, held_out, epochs, damping)


def best_of_lists(scores: FloatArray, start: IntArray) -> IntArray:
    """The place in its list of the row with the largest score, (L, k) for scores (n, k); -1 in a list without rows.

    >>> best_of_lists(np.array([[1.0], [2.0], [0.0]]), np.array([0, 2, 2, 3]))
    array([[ 1], [-1], [ 0]])
    """
    best = np.full((len(start) - 1, scores.shape[1]), -1)
    for i in range(len(best)):
        if start[i] < start[i + 1]:
            best[i] = scores[start[i] : start[i + 1]].argmax(axis=0)
    return best


def _informative(table: FeatureTable, gain: FloatArray) -> tuple[FeatureTable, FloatArray]:
    """The lists in which gains differ: nothing can be learnt from the others."""
    spans = zip(table.start[:-1].tolist(), table.start[1:].tolist(), strict=True)
    lists = np.array([i for i, (a, b) in enumerate(spans) if len(set(gain[a:b].tolist())) > 1], dtype=np.int64)
    if len(lists) < 2:
        raise EstimationError(
            f"candidates differ in gain in {len(lists)} of the lists, and two are needed; give more sentences, and "
            f"gains such as the number of right heads of each candidate"
        )
    return table.of_lists(lists), gain[table.rows_of(lists)]


def _deviation(columns: FloatArray, start: IntArray) -> FloatArray:
    """The standard deviation (k,) of columns (n, k) from their mean in each list; 1 where it is nothing."""
    sizes = np.diff(start)[:, None]
    mean = np.add.reduceat(columns, start[:-1], axis=0) / sizes
    deviation = np.sqrt(((columns - np.repeat(mean, sizes[:, 0], axis=0)) ** 2).mean(axis=0))
    return np.where(deviation > _ROUNDING * np.abs(columns).max(axis=0), deviation, 1.0)


def _scale(table: FeatureTable, damping: float) -> FloatArray:
    """What each feature (d,) is multiplied by."""
    scale = np.full(len(table.names), damping)
    if table.measured.any():
        scale[table.measured] = 1 / _deviation(table.values[:, np.flatnonzero(table.measured)].toarray(), table.start)
    return scale


def _scaled(table: FeatureTable, scale: FloatArray) -> FeatureTable:
    return replace(table, values=sparse.csr_array(table.values @ sparse.diags_array(scale)))


def _averages(table: FeatureTable, gain: FloatArray, weights: FloatArray, options: PerceptronOptions) -> FloatArray:
    """w̄ (epochs + 1, d) after 0, 1, ... epochs, given w at first."""
    rng = np.random.default_rng(options.seed)
    order = np.array([rng.permutation(table.n_lists) for _ in range(options.epochs)])
    unit = gain / _deviation(gain[:, None], table.start)
    rows = Rows(table.values.indptr.astype(np.int64), table.values.indices.astype(np.int64), table.values.data)
    return np.vstack([weights, visit(rows, table.start, unit, order, weights, options.greed, options.step)])


def _held_out(table: FeatureTable, gain: FloatArray, weights: FloatArray, options: PerceptronOptions) -> FloatArray:
    """The gain (L, epochs + 1) in every list, chosen by what the lists of the other folds teach."""
    found = []
    for fold in np.array_split(np.arange(table.n_lists), min(options.folds, table.n_lists)):
        rest = np.setdiff1d(np.arange(table.n_lists), fold)
        averages = _averages(table.of_lists(rest), gain[table.rows_of(rest)], weights, options)
        held = table.of_lists(fold)
        at = held.start[:-1, None] + best_of_lists(held.values @ averages.T, held.start)
        found.append(gain[table.rows_of(fold)][at])
    return np.concatenate(found)


def _choice(gains: FloatArray) -> tuple[int, int]:
    """Where the mean over lists of gains (K, L, epochs + 1) is largest.

    That is (0, 0), the base parser, if the largest is not more than a standard error above it.
    """
    means = gains.mean(axis=1)
    at, epochs = (int(i) for i in np.unravel_index(means.argmax(), means.shape))
    won = gains[at, :, epochs] - gains[0, :, 0]
    return (at, epochs) if won.mean() > won.std(ddof=1) / np.sqrt(len(won)) else (0, 0)
