"""The latent hidden Markov model of Hsu, Kakade and Zhang (2012) as a special case of latent trees.

| here | their paper | meaning |
| --- | --- | --- |
| `P_1` | P_1 | of the first observation |
| `P_21` | P_{2,1} | of an observation (rows) and the one before (columns) |
| `P_3x1` | P_{3,x,1} | of the next one (rows) and the one before (columns), where x stands between |
| `b_1`, `b_x` | b_1, B_x | Uᵀ P_1, and (Uᵀ P_{3,x,1}) (Uᵀ P_{2,1})⁺ |
| `b_end` | - | for x at the end: (P_{end,x,1}) (Uᵀ P_{2,1})⁺, as sequences end here |

p(x_1 ... x_n) = b_end_{x_n} B_{x_{n-1}} ... B_{x_1} b_1.

On trees, the spine of position i has φ = x_i inside and ψ = x_{i-1} outside, with a mark before the first one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from spectral_latent.estimation import (
    EstimatorOptions,
    FeatureColumns,
    Moments,
    Projection,
    Shard,
    Treebank,
    estimate,
    operators_from_moments,
)
from spectral_latent.inference import tree_weights
from spectral_latent.operators import ObservableOperators
from spectral_latent.sequence import HiddenMarkov, Sequences
from spectral_latent.trees import Forest
from tests.sequence.hmms import all_strings, draw_strings, random_hmm

EXACT = EstimatorOptions(n_states=8, scaling=None, smoothing=None, cutoff=1e-7)


class Observable(NamedTuple):
    """The operators of Hsu, Kakade and Zhang; vectors and matrices act on columns."""

    b_1: np.ndarray
    b_x: np.ndarray
    b_end: np.ndarray

    @staticmethod
    def of(u: np.ndarray, p_1: np.ndarray, p_21: np.ndarray, p_3x1: np.ndarray, p_end: np.ndarray) -> Observable:
        """u: (n, m).  p_1: (n,).  p_21: (n, c).  p_3x1: (n, n, c), x first.  p_end: (n, c)."""
        inverse = np.linalg.pinv(u.T @ p_21, rcond=1e-9)
        return Observable(u.T @ p_1, np.array([u.T @ moment @ inverse for moment in p_3x1]), p_end @ inverse)

    def probability(self, x: tuple[int, ...] | list[int]) -> float:
        b = self.b_1
        for symbol in x[:-1]:
            b = self.b_x[symbol] @ b
        return float(self.b_end[x[-1]] @ b)


def features(sequences: Sequences) -> FeatureColumns:
    """One observation inside; one outside of the spine, and one to either side of the emission.

    The spine has its outside feature twice, for there are as many templates: that doubles Ω Ωᵀ, and changes nothing.
    """
    x = sequences.terminal
    before, after = sequences.shift(x, -1), sequences.shift(x, 1)
    inside, outside = np.zeros((2 * len(x), 1), dtype=np.int64), np.zeros((2 * len(x), 2), dtype=np.int64)
    inside[sequences.emission, 0] = inside[sequences.spine, 0] = x
    outside[sequences.emission] = np.stack([before, after], axis=1)
    outside[sequences.spine] = before[:, None]
    return FeatureColumns(inside, outside)


def of_library(operators: ObservableOperators) -> Observable:
    """C(x, ·) transposed, for it maps rows."""
    (tensor,), (last,) = operators.binary, operators.unary
    b_x = np.array([tensor.apply_left(leaf[: tensor.shape[1]]).T for leaf in operators.leaf])
    b_end = np.array([(last @ leaf)[: tensor.shape[0]] for leaf in operators.leaf])
    return Observable(operators.root[1, : tensor.shape[0]], b_x, b_end)


def directions(y: np.ndarray, sequences: Sequences, n: int, m: int) -> np.ndarray:
    """U of the spine, (n, m): y is the row of U that belongs to the observation."""
    u = np.zeros((n, m))
    u[sequences.terminal] = y[sequences.spine, :m]
    return u


def weights_of(operators: ObservableOperators, strings: list[tuple[int, ...]]) -> np.ndarray:
    weight = tree_weights(operators, Forest.of_trees(Sequences.of(strings).trees(1), operators.rules))
    return weight.sign * np.exp(weight.log)


def assert_equal(found: Observable, expected: Observable, tolerance: float) -> None:
    for name in Observable._fields:
        array = getattr(expected, name)
        np.testing.assert_allclose(getattr(found, name), array, atol=tolerance * np.abs(array).max(), err_msg=name)


# ---------------------------------------------------------------------------------------------------------------------
# On a sample


@pytest.mark.parametrize("m", [1, 2, 3, 5])
def test_operators_of_a_sample_are_theirs(m: int) -> None:
    """An identity of sums, so it holds on any sample, of a hidden Markov model or not.

    Their moments here are means over all positions: P_21 over pairs of a position's observation and the one before
    (which may be the mark of the beginning), P_3x1 over the same positions, of those that are not the last.  With a
    projection of full rank of the emission, q_x · y = 1 if the emission has x and 0 otherwise, so that C(q_x, ·) is
    the sum over the positions that have x.
    """
    n = 5
    strings = draw_strings(random_hmm(np.random.default_rng(1), 4, n), 400, np.random.default_rng(2))
    sequences = Sequences.of(strings)
    p_1, p_21, p_3x1, p_end = np.zeros(n), np.zeros((n, n + 1)), np.zeros((n, n, n + 1)), np.zeros((n, n + 1))
    for row in strings:
        p_1[row[0]] += 1 / len(strings)
        for i, x in enumerate(row):
            before = row[i - 1] if i else n
            p_21[x, before] += 1 / len(sequences.terminal)
            if i + 1 < len(row):
                p_3x1[x, row[i + 1], before] += 1 / len(sequences.terminal)
            else:
                p_end[x, before] += 1 / len(sequences.terminal)
    theirs = Observable.of(np.linalg.svd(p_21)[0][:, :m], p_1, p_21, p_3x1, p_end)

    shard = Shard.of(sequences.trees(1), features(sequences))
    projection = Projection.learn([shard], EXACT)
    assert projection.states.tolist() == [n, n]
    trees, y, z = projection.project(shard)
    moments = Moments.of_trees(trees, trees.rules, projection.states, y, z)
    operators = operators_from_moments(moments.truncate(np.array([n, m])), None)
    emitted = operators.leaf @ y[sequences.emission].T  # (n, N)
    np.testing.assert_allclose(emitted, np.arange(n)[:, None] == sequences.terminal, atol=1e-9)

    found = of_library(operators)
    signs = np.sign(np.sum(directions(y, sequences, n, m) * np.linalg.svd(p_21)[0][:, :m], axis=0))
    aligned = Observable(
        theirs.b_1 * signs, theirs.b_x * signs[:, None] * signs[None, :], theirs.b_end * signs
    )  # singular vectors have no sign: the change of basis of Theorem 1
    assert_equal(found, aligned, 1e-9)
    tests = list(all_strings(n, 4))
    np.testing.assert_allclose(weights_of(operators, tests), [theirs.probability(x) for x in tests], atol=1e-11)


# ---------------------------------------------------------------------------------------------------------------------
# On the population


@pytest.fixture(params=[0, 1, 2])
def model(request: pytest.FixtureRequest) -> HiddenMarkov:
    """Three states and six symbols: strings of any length, and condition 1 of their paper."""
    return random_hmm(np.random.default_rng(request.param), 3, 6, concentration=0.7)


# ---------------------------------------------------------------------------------------------------------------------
# One state


def test_features_that_see_nothing_leave_relative_frequencies() -> None:
    """p is the product of the frequencies of observations, and of going on or ending."""
    strings = [[0, 1], [1], [1, 1, 0]]
    sequences = Sequences.of(strings)
    same = np.zeros((2 * len(sequences.terminal), 1), dtype=np.int64)
    treebank = Treebank.of([Shard.of(sequences.trees(1), FeatureColumns(same, same))])
    operators = estimate(treebank, EXACT).operators
    expected = [np.prod([[2 / 6, 4 / 6][x] for x in row]) * 0.5 ** len(row) for row in strings]
    np.testing.assert_allclose(weights_of(operators, [tuple(row) for row in strings]), expected, rtol=1e-12)
