"""Learn hidden Markov models with Gaussian emissions: by moments, and by EM from these and from random starts.

| here | shape | meaning |
| --- | --- | --- |
| x_i | (d,) | the observation at position i |
| c_i | | the cell of x_i: the nearest of k centres of k-means |
| O | (m, k) | p(c \\| h) |
| `others` q_i | (N, m) | p(h_i = h \\| all cells but c_i) |
| μ_h, Σ_h | (d,), (d, d) | E[x \\| h], and the covariance |

The cells have a hidden Markov model of categories, with the states of the Gaussian model.  Three positions in a row are
three views that are independent given the state of the second, and indicators of cells are features of emissions of any
form (Anandkumar, Hsu and Kakade 2012).  The states are recovered from moments of the cells if O and T have rank m,
whatever distribution the emissions have.

Given h_i, the observation x_i is independent of all other positions.  Therefore E[x_i | other cells] = Σ_h q_ih μ_h,
and likewise for x_i x_iᵀ, so that both follow by least squares from estimates of q.  Means and covariances are
consistent where T and O are.

A number that is NaN is missing at random: densities are those of the other numbers, and EM sums over it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from spectral_latent import _scipy as scipy
from spectral_latent._compiled import TINY
from spectral_latent._threads import on_one_thread
from spectral_latent.estimation import EM, Estimator, StateOptions
from spectral_latent.estimation.starts import Learner, climb_together
from spectral_latent.sequence.baum_welch import ChainCounts, expectation
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.sequence.hidden_markov import HiddenMarkov
from spectral_latent.sequence.model import LatentHMM
from spectral_latent.sequence.options import HMMOptions
from spectral_latent.trees import BoolArray, FloatArray, IntArray

CovarianceType: TypeAlias = Literal["diag", "full"]

_CELLS = 8  # the number of cells for each state
_POSITIONS = 20  # the least number of positions for each cell, on average
_DIVISIONS = 3  # ways to divide observations into cells, each of which gives a start
_STOP = 0.5  # the probability of an end after every state, so that ends say nothing about states
_LEAST = 1e-3  # the share of the uniform distribution in the start and the transitions at the start of EM


@dataclass(frozen=True, eq=False)
class GaussianMarkov:
    """A hidden Markov model of m states over observations of d numbers.

    initial: (m,) the probability that a sequence begins in each state.
    transition: (m, m) the probability of each next state.
    means: (m, d) the mean of each state's observations.
    covars: (m, d, d) the covariances of each state's observations."""

    initial: FloatArray
    transition: FloatArray
    means: FloatArray
    covars: FloatArray

    def log_densities(self, x: FloatArray) -> FloatArray:
        """Compute the natural logarithms (N, m) of the densities of observations in each state; x: (N, d)."""
        log = np.empty((len(x), len(self.means)))
        for rows, here in _patterns(x):
            for h, (mean, covar) in enumerate(zip(self.means, self.covars, strict=True)):
                root = np.linalg.cholesky(covar[np.ix_(here, here)])
                distance = np.linalg.solve(root, (x[np.ix_(rows, here)] - mean[here]).T)
                log_volume = np.log(np.diag(root)).sum()
                n = len(here)
                log[rows, h] = -0.5 * (distance**2).sum(axis=0) - log_volume - 0.5 * n * np.log(2.0 * np.pi)
        return log

    def expected(self, x: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Average x and x xᵀ in each state, (m, d) and (m, d, d), over the missing numbers, too.

        x: (N, d) the observations of all sequences.
        weight: (N, m) the share of each position among those of a state."""
        means, squares = np.zeros_like(self.means), np.zeros_like(self.covars)
        for rows, here in _patterns(x):
            gone = np.setdiff1d(np.arange(x.shape[1]), here)
            for h, (mean, covar) in enumerate(zip(self.means, self.covars, strict=True)):
                w = weight[rows, h]
                filled = x[rows]
                if len(gone):
                    # A missing number has its mean and covariances given the others.
                    slope = np.linalg.solve(covar[np.ix_(here, here)], covar[np.ix_(here, gone)])
                    filled[:, gone] = mean[gone] + (filled[:, here] - mean[here]) @ slope
                    rest = covar[np.ix_(gone, gone)] - covar[np.ix_(gone, here)] @ slope
                    squares[h][np.ix_(gone, gone)] += w.sum() * rest
                means[h] += w @ filled
                squares[h] += (w[:, None] * filled).T @ filled
        return means, squares

    def order_states(self, order: IntArray) -> GaussianMarkov:
        """Number the states anew; order: (m,) the present number of each state."""
        transition = self.transition[np.ix_(order, order)]
        return GaussianMarkov(self.initial[order], transition, self.means[order], self.covars[order])

    def over_positions(self, x: FloatArray) -> tuple[HiddenMarkov, FloatArray]:
        """Make a model with a category for each of N positions, and list the logarithms (N,) to add to its densities.

        Its emissions are the densities of a position, divided by the largest density.  All states have the same
        probability of an end.

        x: (N, d) the observations of all sequences."""
        log = self.log_densities(x)
        largest = log.max(axis=1)
        stop = np.full(len(self.initial), _STOP)
        emission = np.exp(log - largest[:, None]).T
        return HiddenMarkov(self.initial, self.transition, stop, emission), largest - np.log(_STOP)


def _patterns(x: FloatArray) -> Iterator[tuple[IntArray, IntArray]]:
    """List the rows of observations (N, d) with numbers in the same columns, and these columns."""
    is_missing = np.isnan(x)
    if not is_missing.any():  # the usual case, without sorting
        yield np.arange(len(x)), np.arange(x.shape[1])
        return
    patterns, which = np.unique(~is_missing, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        yield np.flatnonzero(which.ravel() == number), np.flatnonzero(pattern)


def _positive(covars: FloatArray, kind: CovarianceType, least: float) -> FloatArray:
    """Raise the variances of covariances (m, d, d) in all directions to at least `least`; "diag" keeps a diagonal."""
    if kind == "diag":
        variance = np.maximum(np.einsum("mdd->md", covars), least)
        return np.asarray(variance[:, :, None] * np.eye(covars.shape[-1]))
    values, vectors = np.linalg.eigh(0.5 * (covars + np.swapaxes(covars, 1, 2)))
    return np.asarray(np.einsum("mde,me,mfe->mdf", vectors, np.maximum(values, least), vectors))


def _cells(x: FloatArray, k: int, seed: int) -> IntArray:
    """Find the nearest of k centres (N,) of each observation (N, d), after each column is scaled to variance one."""
    scaled = (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), TINY)
    k = min(k, len(np.unique(x, axis=0)))
    _, cell = scipy.cluster.vq.kmeans2(scaled, k, minit="++", rng=np.random.default_rng(seed), missing="warn")
    return np.unique(cell, return_inverse=True)[1].astype(np.int64)


def _without_gaps(x: FloatArray) -> FloatArray:
    """Replace missing numbers (N, d) by the mean of their column, which is good enough for a start."""
    return np.where(np.isnan(x), np.nanmean(x, axis=0), x)


def gaussian_moments(
    x: FloatArray, lengths: IntArray, options: Estimator, kind: CovarianceType, min_covar: float
) -> GaussianMarkov:
    """Estimate a model by moments: states from cells of observations, then means and covariances by least squares.

    Missing numbers are replaced by the mean of their column, which is a start for EM alone.

    x: (N, d) the observations of sequences, one sequence after the other.
    lengths: (T,) the length of each sequence."""
    x = _without_gaps(x)
    sequences = Sequences.of_lengths(lengths)
    states = options.states
    if not isinstance(states, StateOptions):
        raise ValueError(f"{options!r} has no number of states")
    n_cells = min(max(_CELLS * states.n_states, 2), max(len(x) // _POSITIONS, states.n_states))
    cell = _cells(x, n_cells, states.seed)
    rows = np.split(cell, sequences.start[1:-1])
    one_start = HMMOptions(
        options, choose_states=False, random_starts=0
    )  # others join with the observations themselves
    of_cells = LatentHMM.train((row.tolist() for row in rows), one_start)
    hidden = of_cells.hidden
    known = np.argsort([int(str(name)) for name in of_cells.observations.known])
    emission = np.maximum(hidden.emission[:, known], _LEAST / len(known))[:, cell]
    m = hidden.n_states
    initial = (1.0 - _LEAST) * hidden.initial + _LEAST / m
    transition = (1.0 - _LEAST) * hidden.transition + _LEAST / m
    chain = HiddenMarkov(initial, transition, np.full(m, _STOP), emission)
    # q_i: divide the posterior of each state by the emission of c_i, which leaves the posterior given the other cells.
    others = expectation([sequences], chain).emitted / emission.T
    others /= others.sum(axis=1, keepdims=True)
    # Regress x_i and x_i x_iᵀ on q_i.
    d = x.shape[1]
    squares = (x[:, :, None] * x[:, None, :]).reshape(len(x), d * d)
    moments, *_ = np.linalg.lstsq(others, np.concatenate([x, squares], axis=1), rcond=None)
    means = moments[:, :d]
    covars = moments[:, d:].reshape(m, d, d) - means[:, :, None] * means[:, None, :]
    return GaussianMarkov(initial, transition, means, _positive(covars, kind, min_covar))


@dataclass(frozen=True, eq=False)
class GaussianLearner(Learner[GaussianMarkov, ChainCounts]):
    """The steps of EM on numbers, of length 1 (longer ones may leave the covariances); each end is as probable.

    x: (N, d) the observations of sequences, one sequence after the other.
    lengths: (T,) the length of each sequence.
    min_covar: the smallest variance in any direction.
    allowed: (N, m) whether each position may have each state; None if nothing is known."""

    x: FloatArray
    lengths: IntArray
    kind: CovarianceType
    min_covar: float
    allowed: BoolArray | None = None

    def expect(self, model: GaussianMarkov) -> tuple[ChainCounts, float]:
        """Compute the expected counts of states at all positions, and the log-likelihood."""
        hidden, lacking = model.over_positions(self.x)
        counts = expectation([Sequences.of_lengths(self.lengths)], hidden.among(self.allowed))
        return counts, counts.log_likelihood + float(lacking.sum())

    def maximise(self, counts: ChainCounts, model: GaussianMarkov) -> GaussianMarkov:
        """Make the model under which expected counts are likeliest."""
        visits = counts.emitted.sum(axis=0)
        means, squares = model.expected(self.x, counts.emitted / np.maximum(visits, TINY))
        covars = _positive(squares - means[:, :, None] * means[:, None, :], self.kind, self.min_covar)
        initial, transition = counts.chain(model.initial, model.transition)
        # A state that is never visited keeps its mean and covariances.
        is_visited = visits > TINY
        return GaussianMarkov(
            initial,
            transition,
            np.where(is_visited[:, None], means, model.means),
            np.where(is_visited[:, None, None], covars, model.covars),
        )

    def ordered(self, model: GaussianMarkov) -> GaussianMarkov:
        """Number the states of a start anew, so that those of known positions are near."""
        if self.allowed is None:
            return model
        counts = replace(self, allowed=None).expect(model)[0]
        is_known = ~self.allowed.all(axis=1)
        together = counts.emitted[is_known].T @ self.allowed[is_known]
        return model.order_states(np.argsort(scipy.optimize.linear_sum_assignment(together, maximize=True)[1]))

    def random(self, n_states: int, seed: int) -> GaussianMarkov:
        """Draw a start: its means and covariances are those of cells around random centres."""
        x = _without_gaps(self.x)
        cell = _cells(x, n_states, seed)
        rng = np.random.default_rng(seed)
        n_cells = int(cell.max()) + 1
        of_cell = np.eye(n_cells)[cell] / np.bincount(cell)  # (N, k)
        means = (of_cell.T @ x)[np.arange(n_states) % n_cells]
        rest = x - (of_cell.T @ x)[cell]
        covars = _positive((rest.T @ rest / len(x))[None], self.kind, self.min_covar)
        return GaussianMarkov(
            initial=np.full(n_states, 1.0 / n_states),
            transition=rng.dirichlet(np.ones(n_states), n_states),
            means=means,
            covars=np.repeat(covars, n_states, axis=0),
        )


@on_one_thread()
def train_gaussian(
    learner: GaussianLearner, options: Estimator, random_starts: int
) -> tuple[GaussianMarkov, tuple[float, ...], tuple[float, ...]]:
    """Train a model by moments, on cells of three divisions, or by EM from these three models and from random starts.

    Returns what `estimation.starts.climb_together` returns.

    learner: the observations, and what is known of their states.
    options: moments alone, of which the likeliest model is kept, or EM, which adds the random starts."""
    assert isinstance(options.states, StateOptions)
    first, m = options.states.seed, options.states.n_states
    starts = [
        gaussian_moments(learner.x, learner.lengths, options.with_settings(seed=seed), learner.kind, learner.min_covar)
        for seed in range(first, first + _DIVISIONS)
    ]
    if not isinstance(options, EM):
        objectives = [learner.expect(start)[1] for start in starts]
        best = int(np.argmax(objectives))
        return starts[best], (objectives[best],), ()
    if learner.allowed is not None:  # the states that are known have their numbers
        starts = [start for start in starts if len(start.initial) == m]
    starts += [learner.random(m, seed) for seed in range(first, first + random_starts)]
    least = options.tolerance * len(learner.lengths)
    return climb_together(learner, map(learner.ordered, starts), options.iterations, least)
