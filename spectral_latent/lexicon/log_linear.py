"""Train log-linear classifiers of many sparse features, by penalised maximum likelihood.

| here | meaning |
| --- | --- |
| φ(x) | features (F,) of an example x |
| W | weights (F, K) of K classes |
| P(a \\| x) = exp(φ(x)·W)_a / Σ_b exp(φ(x)·W)_b | the probability of a class |
| q(x, a) | target: the count of x in class a |
| −Σ q(x, a) log P(a \\| x) + λ ‖W‖² / 2 | the loss, which `log_linear_weights` minimises; λ is `penalty` |

Only the P weights that are free are stored; the others are 0.  The time and the memory of the loss grow with the number
of free weights, not with F · K.

At the optimum, the expectation of each feature under the model equals its sum in the data, less the penalty:
Σ_x q(x) φ(x) P(a | x) = Σ_x φ(x) q(x, a) − λ W_a.  L-BFGS: Liu and Nocedal (1989).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectral_latent import _scipy as scipy
from spectral_latent._compiled import by_python, compiler, exact_pass_part, unsigned
from spectral_latent.trees import FloatArray, ranges

_MEMORY = 6  # the number of steps that L-BFGS remembers

_LOWEST = -700.0  # scores that lie further below the best count as if they lay here: their probability is nothing
_POWERS = 0.5 ** np.arange(1.0 - _LOWEST / np.log(2.0) + 1.0)  # 2^-k
_POWERS.setflags(write=False)


class Examples(NamedTuple):
    """The features and classes of n examples, and the weights that are free.

    start: (n + 1,) the first entry of each example, and the number of all entries.
    feature: (N,) the feature of each entry.
    value: (N,) the value φ of each entry.
    times: (n,) Σ_a q(x, a) of each example.
    first: (F + 1,) the first free weight of each feature, and the number P of free weights.
    label: (P,) the class of each free weight.
    observed: (P,) Σ_x φ(x) q(x, a) for each free weight.
    n_labels: K, the number of classes."""

    start: NDArray[np.uint64]
    feature: NDArray[np.uint32]
    value: FloatArray
    times: FloatArray
    first: NDArray[np.uint64]
    label: NDArray[np.uint32]
    observed: FloatArray
    n_labels: int

    @staticmethod
    def of(features: scipy.sparse.csr_array, target: scipy.sparse.csr_array, frequent: float) -> Examples:
        """Find the weights that are free.

        features: (n, F) the features φ of n examples; no number is negative.
        target: (n, K) the counts q of the examples in each class; no number is negative."""
        n_features, n_labels = features.shape[1], target.shape[1]
        sums = (features.T @ target).tocoo()
        is_seen = sums.data > 0.0
        seen = sums.row[is_seen].astype(np.int64) * n_labels + sums.col[is_seen]
        all_labels = np.flatnonzero(np.asarray(features.sum(axis=0)).ravel() >= frequent)
        free = np.union1d(seen, (all_labels[:, None] * n_labels + np.arange(n_labels)).ravel())
        observed = np.zeros(len(free))
        observed[np.searchsorted(free, seen)] = sums.data[is_seen]
        return Examples(
            features.indptr.astype(np.uint64),
            features.indices.astype(np.uint32),
            features.data.astype(np.float64),
            np.asarray(target.sum(axis=1), dtype=np.float64),
            np.searchsorted(free, np.arange(n_features + 1) * n_labels).astype(np.uint64),
            (free % n_labels).astype(np.uint32),
            observed,
            n_labels,
        )


def penalised_loss(examples: Examples, weights: FloatArray, penalty: float) -> tuple[float, FloatArray]:
    """Compute −Σ q(x, a) log P(a | x) + λ ‖W‖² / 2 for free weights (P,), and its gradient (P,)."""
    room, parts = np.empty((2, examples.n_labels)), np.empty((2, len(examples.times)))
    gradient = penalty * weights - examples.observed
    # Σ q(x, a) log P(a | x) = Σ_P weight · observed − Σ_x q(x) log Σ_b exp(φ(x)·W)_b
    _add_expected_by_loops(examples, weights, room, parts, gradient)
    log_total = parts[0] + np.log(parts[1])
    # Use no BLAS here, so that sums are the same on all kinds of processors.
    loss = (examples.times * log_total).sum() + (weights * (penalty / 2 * weights - examples.observed)).sum()
    return float(loss), gradient


def _add_expected(
    examples: Examples, weights: FloatArray, room: FloatArray, parts: FloatArray, gradient: FloatArray
) -> None:
    """Add Σ_x q(x) φ(x) P(a | x) to the gradient (P,), and find the parts of log Σ_b exp(score b) of each example.

    The parts (2, n) are the largest score of each example, and the total Σ_b exp(score b − largest); room is (2, K)."""
    # Each sum is taken in the order of the loops below, so that both give the same bits.
    start, first = examples.start.astype(np.int64), examples.first.astype(np.int64)
    _, row = ranges(start[:-1], start[1:])
    weight, entry = ranges(first[examples.feature], first[examples.feature + 1])
    value = examples.value[entry]
    place = row[entry] * examples.n_labels + examples.label[weight]
    score = np.bincount(place, value * weights[weight], parts.shape[1] * room.shape[1]).reshape(-1, room.shape[1])
    parts[0] = score.max(axis=1)
    below: Any = np.maximum(score - parts[0, :, None], _LOWEST)
    halvings: Any = _halvings(below)
    share = _exp_near_zero(below, halvings) * _POWERS[halvings.astype(np.int64)]
    parts[1] = share.cumsum(axis=1)[:, -1]
    share *= (examples.times / parts[1])[:, None]
    np.add.at(gradient, weight, value * share.ravel()[place])


@compiler(_add_expected, _nrt=False)
def _add_expected_by_loops(
    examples: Examples, weights: FloatArray, room: FloatArray, parts: FloatArray, gradient: FloatArray
) -> None:
    """Do what `_add_expected` does."""
    start, feature, value, times, first, label, _, n_labels = examples
    for x in range(len(times)):
        for a in range(n_labels):
            room[0, a] = 0.0
        for entry in range(start[x], start[x + 1]):
            begin = first[feature[entry]]
            end = first[feature[entry] + 1]
            if end - begin == n_labels:  # all weights are free, so that the processor adds several at once
                for a in range(n_labels):
                    room[0, a] += value[entry] * weights[unsigned(begin + a)]
            else:
                for weight in range(begin, end):
                    room[0, label[weight]] += value[entry] * weights[weight]
        best = room[0, 0]
        for a in range(n_labels):
            if room[0, a] > best:
                best = room[0, a]
        # Each loop does one thing, so that the processor computes several classes at once.
        for a in range(n_labels):
            below = max(room[0, a] - best, _LOWEST)
            room[1, a] = _halvings(below)
            room[0, a] = _exp_near_zero(below, room[1, a])
        total = 0.0
        for a in range(n_labels):
            room[0, a] *= _POWERS[unsigned(int(room[1, a]))]
            total += room[0, a]
        parts[0, x] = best
        parts[1, x] = total
        for a in range(n_labels):
            room[0, a] *= times[x] / total
        for entry in range(start[x], start[x + 1]):
            begin = first[feature[entry]]
            end = first[feature[entry] + 1]
            if end - begin == n_labels:
                for a in range(n_labels):
                    gradient[unsigned(begin + a)] += value[entry] * room[0, a]
            else:
                for weight in range(begin, end):
                    gradient[weight] += value[entry] * room[0, label[weight]]


# exp(x) = 2^-k exp(r) with |r| ≤ ln 2 / 2, computed to 14 digits by + and · alone, the same on every processor.


@exact_pass_part
def _halvings(x: float) -> Any:
    """Find k for x ≤ 0: the number of times that exp(r) is halved."""
    return np.floor(0.5 - x * 1.4426950408889634)


@exact_pass_part
def _exp_near_zero(x: float, k: float) -> Any:
    """Compute exp(r)."""
    # Here ln 2 is the sum of two numbers, and k times the first is exact.
    r = (x + k * 6.93147180369123816490e-01) + k * 1.90821492927058770002e-10
    # The Taylor series, from its term r^12 / 12! inwards.
    series = 1.0
    for n in range(12, 0, -1):
        series = 1.0 + series * (r * (1.0 / n))
    return series


def minimise(loss: Callable[[FloatArray], tuple[float, FloatArray]], start: FloatArray, iterations: int) -> FloatArray:
    """Find the point (n,) at which a loss is least, by L-BFGS.

    loss: the loss at a point (n,), and its gradient (n,).
    start: (n,) the first point."""
    limits: Any = {"maxiter": iterations, "maxcor": _MEMORY, "ftol": 1e-7, "gtol": 1e-3}
    return np.asarray(scipy.optimize.minimize(loss, start, (), "L-BFGS-B", jac=True, options=limits).x)


def log_linear_weights(
    features: scipy.sparse.csr_array,
    target: scipy.sparse.csr_array,
    penalty: float,
    iterations: int,
    frequent: float = 0.0,
) -> scipy.sparse.csr_array:
    """Find W (F, K) by L-BFGS from 0; it stores the free weights.

    features: (n, F) the features of n examples; no number is negative.
    target: (n, K) the counts q of the examples in each class; no number is negative."""
    examples = Examples.of(features, target, frequent)
    start = np.zeros(len(examples.label))
    with by_python(features.nnz):
        weights = minimise(lambda free: penalised_loss(examples, free, penalty), start, iterations)
    shape = (features.shape[1], target.shape[1])
    return scipy.sparse.csr_array((weights, examples.label, examples.first), shape=shape)
