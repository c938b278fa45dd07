"""Featurized hidden Markov models: log-linear probabilities, by direct gradient (Berg-Kirkpatrick et al. 2010).

| here | paper | meaning |
| --- | --- | --- |
| `phi` φ | f | features (n, s) of types: spelling, and the word itself where it is frequent |
| `emission` W | w | weights (m, s): o(x \\| h) ∝ exp(W_h · φ_x) |
| `step`, `initial` | w | logits of the next state or the end (m, m + 1), and of the first state (m,) |
| e(h, x) | e_{d,c} | expected counts, the E-step of the core |
| Σ_x e(h, x) φ_x - e(h) Σ_x o(x \\| h) φ_x | ∇ℓ | the gradient for W_h; that of logits is e - e(h) p |
| `penalty` κ | κ | the objective is log p(data) - κ ‖w‖² |

By Fisher's identity the gradient of the log-likelihood is that of the expected complete log-likelihood, so that
L-BFGS climbs the likelihood itself.  Every type has a feature of its own unless `cutoff` says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from threadpoolctl import threadpool_limits

from spectral_latent._options import Above, AtLeast, AtMost, Options
from spectral_latent.anchors.hulls import WordTypes, spelling_counts, spelling_features
from spectral_latent.estimation import EstimationError, Listener, Progress, silent
from spectral_latent.inference import expected_counts
from spectral_latent.sequence.hidden_markov import HiddenMarkov
from spectral_latent.trees import FloatArray, Forest, SkeletalTrees

__all__ = ["FeaturizedOptions", "HmmWeights", "train_featurized_hmm", "word_features"]


@dataclass(frozen=True)
class FeaturizedOptions(Options):
    """Settings of training.

    n_states: the number of states, m.
    cutoff: the least number of tokens of a type that has a feature of its own.
    penalty: κ, the weight of the squared weights of features.
    iterations: the most iterations of L-BFGS.
    spread: the standard deviation of the random weights at the start.
    seed: the seed of these weights.
    """

    n_states: Annotated[int, AtLeast(1)] = 12
    cutoff: Annotated[int, AtLeast(1)] = 1
    penalty: Annotated[float, AtLeast(0.0), AtMost(1e9)] = 0.1
    iterations: Annotated[int, AtLeast(1)] = 100
    spread: Annotated[float, Above(0.0), AtMost(1e9)] = 0.1
    seed: Annotated[int, AtLeast(0)] = 0


def word_features(types: WordTypes, cutoff: int) -> sparse.csr_array:
    """Compute φ (n, s): the features of spelling (`anchors.hulls.Spelling`), then one feature for each frequent type.

    >>> word_features(WordTypes.of([["a", "b"], ["a"]]), cutoff=2).toarray()[:, -1]
    array([1., 0.])
    """
    spelling = spelling_counts(spelling_features(types.names), types.names, types.capital)
    identity = sparse.eye_array(len(types.names), format="csc")[:, types.tokens >= cutoff]
    return sparse.csr_array(sparse.hstack([spelling, identity], format="csr"))


class HmmWeights(NamedTuple):
    """The weights of a model, in the notation of this module, in the order that they have as one vector.

    initial: (m,) logits of the first state.
    step: (m, m + 1) logits of the next state, or of the end in the last column.
    emission: (m, s) the weights of features.
    """

    initial: FloatArray
    step: FloatArray
    emission: FloatArray

    @staticmethod
    def of_vector(vector: FloatArray, n_states: int) -> HmmWeights:
        """Cut a vector of all weights into its parts.

        vector: (n,) the weights, n = m + m (m + 1) + m s.
        """
        m = n_states
        initial, step, emission = np.split(vector, [m, m + m * (m + 1)])
        return HmmWeights(initial, step.reshape(m, m + 1), emission.reshape(m, -1))

    @property
    def vector(self) -> FloatArray:
        """All weights, (m + m (m + 1) + m s,)."""
        return np.concatenate([self.initial, self.step.ravel(), self.emission.ravel()])

    def hidden(self, phi: sparse.csr_array) -> HiddenMarkov:
        """Compute the probabilities of the model.

        phi: (n, s) the features of all types.

        >>> zero = HmmWeights(np.zeros(2), np.zeros((2, 3)), np.zeros((2, 1)))
        >>> model = zero.hidden(sparse.csr_array(np.ones((4, 1))))
        >>> model.stop, model.transition[0], model.emission[0]
        (array([0.33, 0.33]), array([0.5, 0.5]), array([0.25, 0.25, 0.25, 0.25]))
        """
        step = log_softmax(self.step, axis=1)
        return HiddenMarkov(
            initial=softmax(self.initial),
            transition=softmax(step[:, :-1], axis=1),
            stop=np.exp(step[:, -1]),
            emission=softmax(np.ascontiguousarray((phi @ self.emission.T).T), axis=1),
        )

    def value_and_gradient(
        self, phi: sparse.csr_array, trees: SkeletalTrees, penalty: float
    ) -> tuple[float, HmmWeights]:
        """Compute log p(trees) - κ ‖w‖² and its gradient.

        phi: (n, s) the features of all types.
        """
        model = self.hidden(phi)
        operators = model.operators()
        # Expected counts of steps (m, m + 1), of states, and of emissions: the E-step of Baum-Welch.
        counts = expected_counts(operators, Forest.of_trees(trees, operators.rules))
        table = counts.counts()
        (stop,) = table.unary
        (spine,) = table.binary
        steps = np.column_stack([spine.to_dense().sum(axis=1), np.diagonal(stop)])  # (m, m + 1)
        going_on = (1.0 - model.stop)[:, None] * model.transition
        # The gradient of each logit is its expected count less its probability times the count of its state.
        by_state = table.leaf.sum(axis=0)[:, None]
        gradient = HmmWeights(
            initial=table.root[1] - table.root[1].sum() * model.initial,
            step=steps - steps.sum(axis=1, keepdims=True) * np.column_stack([going_on, model.stop]),
            emission=(phi.T @ (table.leaf.T - by_state * model.emission).T).T,
        )
        w = self.vector
        return counts.log_likelihood - penalty * float(w @ w), HmmWeights(
            *(part - 2.0 * penalty * own for part, own in zip(gradient, self, strict=True))
        )


def train_featurized_hmm(
    types: WordTypes, options: FeaturizedOptions | None = None, *, listener: Listener = silent
) -> HiddenMarkov:
    """Climb by L-BFGS from random weights; the same seed gives the same model.

    Raises EstimationError if there are no types, or the weights become so large that a sequence has probability zero.

    >>> types = WordTypes.of([["the", "cat", "sleeps"], ["a", "dog", "barks"]] * 3)
    >>> train_featurized_hmm(types, FeaturizedOptions(n_states=2, iterations=5)).emission.sum(axis=1)
    array([1., 1.])
    """
    options = options or FeaturizedOptions()
    if not types.names:
        raise EstimationError("no sentences to learn from")
    phi = word_features(types, options.cutoff)
    trees = types.sequences.trees(n_tags=1)
    m = options.n_states
    size = m + m * (m + 1) + m * phi.shape[1]
    start = options.spread * np.random.default_rng(options.seed).standard_normal(size)
    n_tokens = len(types.sequences.terminal)
    done = 0

    def negative(vector: FloatArray) -> tuple[float, FloatArray]:
        """Compute what L-BFGS minimises, and its gradient, for each token."""
        try:
            value, gradient = HmmWeights.of_vector(vector, m).value_and_gradient(phi, trees, options.penalty)
        except ValueError as error:
            raise EstimationError(f"the weights are too large ({error}); lower `spread` or raise `penalty`") from None
        return -value / n_tokens, -gradient.vector / n_tokens

    def tell(intermediate_result: object) -> None:
        """Tell the listener the objective after an iteration."""
        nonlocal done
        done += 1
        value = -float(getattr(intermediate_result, "fun", np.nan)) * n_tokens
        listener(Progress("L-BFGS", done, options.iterations, value))

    with threadpool_limits(1):
        optimum = minimize(
            negative,
            start,
            jac=True,
            method="L-BFGS-B",
            callback=tell,
            options={"maxiter": options.iterations, "ftol": 1e-9, "gtol": 1e-7},
        )
    return HmmWeights.of_vector(optimum.x, m).hidden(phi)
