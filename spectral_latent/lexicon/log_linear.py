"""Train log-linear classifiers of many sparse features, by penalised maximum likelihood.

| here | meaning |
| --- | --- |
| φ(x) | features (F,) of an example x |
| W | weights (F, K) of K classes |
| P(a \\| x) = exp(φ(x)·W)_a / Σ_b exp(φ(x)·W)_b | `log_softmax` of the scores φ(x)·W |
| q(x, a) | target: the count of x in class a |
| −Σ q(x, a) log P(a \\| x) + λ ‖W‖² / 2 | the loss, which `log_linear_weights` minimises; λ is `penalty` |

At the optimum, the expectation of each feature under the model equals its sum in the data, less the penalty:
Σ_x q(x) φ(x) P(a | x) = Σ_x φ(x) q(x, a) − λ W_a.  L-BFGS: Liu and Nocedal (1989).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from spectral_latent.estimation import on_one_thread
from spectral_latent.trees import FloatArray

__all__ = ["Float32Array", "log_linear_weights", "minimise", "penalised_loss"]

Float32Array = NDArray[np.float32]

_MEMORY = 6  # the number of steps that L-BFGS remembers


def penalised_loss(
    weights: NDArray[Any], features: scipy.sparse.csr_array, target: NDArray[Any], penalty: float
) -> tuple[float, NDArray[Any]]:
    """Compute −Σ q(x, a) log P(a | x) + λ ‖W‖² / 2 and its gradient (F, K).

    weights: (F, K) the weights W.
    features: (n, F) the features φ of n examples.
    target: (n, K) the counts q of the examples in each class.
    penalty: λ, the weight of the squared norm of W.

    >>> loss, gradient = penalised_loss(np.zeros((1, 2)), scipy.sparse.csr_array([[1.0]]), np.array([[1.0, 0.0]]), 2.0)
    >>> round(loss, 4), gradient.tolist()
    (0.6931, [[-0.5, 0.5]])
    """
    # Use double precision and no BLAS here, so that the result is the same on all kinds of processors.
    log_p = scipy.special.log_softmax((features @ weights).astype(np.float64), axis=1)
    loss = penalty / 2 * np.square(weights).sum(dtype=np.float64) - (target * log_p).sum()
    excess = np.exp(log_p, out=log_p)
    excess *= target.sum(axis=1, keepdims=True)
    excess -= target
    return float(loss), features.T @ excess.astype(weights.dtype) + penalty * weights


def minimise(loss: Callable[[FloatArray], tuple[float, FloatArray]], start: FloatArray, iterations: int) -> FloatArray:
    """Find the point (n,) at which a loss is least, by L-BFGS on one thread.

    loss: the loss at a point (n,), and its gradient (n,).
    start: (n,) the first point.
    iterations: the largest number of iterations.

    >>> minimise(lambda x: (float((x - 3.0) @ (x - 3.0)), 2.0 * (x - 3.0)), np.zeros(2), iterations=10)
    array([3., 3.])
    """

    limits: Any = {"maxiter": iterations, "maxcor": _MEMORY, "ftol": 1e-7, "gtol": 1e-3}
    with on_one_thread():
        found: FloatArray = scipy.optimize.minimize(loss, start, (), "L-BFGS-B", jac=True, options=limits).x
    return found


def log_linear_weights(
    features: scipy.sparse.csr_array, target: FloatArray, penalty: float, iterations: int, frequent: float = 0.0
) -> Float32Array:
    """Find W (F, K) by L-BFGS from 0.

    Sums over examples are computed in single precision, which halves the time.

    features: (n, F) the features of n examples; no number is negative.
    target: (n, K) the counts q of the examples in each class.
    penalty: λ, the weight of the squared norm of W.
    iterations: the largest number of iterations.
    frequent: a feature whose sum over the examples is smaller has weights only for the classes with which it was seen.

    >>> features = scipy.sparse.csr_array([[1.0]])
    >>> log_linear_weights(features, np.array([[3.0, 1.0]]), penalty=1e-4, iterations=50).round(3)
    array([[ 0.549, -0.549]], dtype=float32)
    """
    single = features.astype(np.float32)
    q = target.astype(np.float32)
    weights = np.zeros((features.shape[1], target.shape[1]), dtype=np.float32)
    is_frequent = np.asarray(single.sum(axis=0), dtype=np.float64).ravel() >= frequent
    free = np.flatnonzero((single.T @ q > 0.0) | is_frequent[:, None])

    def loss(flat: FloatArray) -> tuple[float, FloatArray]:
        """Compute the loss and its gradient for the weights (n,) that are free."""
        weights.ravel()[free] = flat
        value, gradient = penalised_loss(weights, single, q, penalty)
        return value, gradient.ravel()[free].astype(np.float64)

    weights.ravel()[free] = minimise(loss, np.zeros(weights.ravel()[free].size), iterations)
    return weights
