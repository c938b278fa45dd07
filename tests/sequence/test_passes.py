"""Marginals of candidates against those that the engine computes in the trellis of the same candidates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spectral_latent.inference import inside, marginals, outside
from spectral_latent.operators import ObservableOperators, Tensor, Tensors
from spectral_latent.sequence import Sequences
from spectral_latent.sequence.forests import Candidates, TrellisBuilder, candidate_marginals
from spectral_latent.trees import FloatArray
from tests.sequence.hmms import random_tagged

K, N = 3, 4
seeds = st.integers(0, 2**32 - 1)
strings = st.lists(st.lists(st.integers(0, N - 1), min_size=1, max_size=6), min_size=1, max_size=4)


def in_factors(operators: ObservableOperators, rng: np.random.Generator) -> ObservableOperators:
    """With other tensors, half of them of one term."""
    tensors = [Tensor(*(rng.exponential(size=(1, m)) for m in tensor.shape)) for tensor in operators.binary]
    tensors[::2] = [Tensor.of_dense(tensor.to_dense()) for tensor in tensors[::2]]
    return replace(operators, binary=Tensors.of(tensors))


def by_engine(operators: ObservableOperators, builder: TrellisBuilder, start: np.ndarray, of: Candidates) -> FloatArray:
    trellis = builder.build(start, of)
    inner = inside(operators, trellis.forest)
    return marginals(operators, trellis.forest, inner, outside(operators, trellis.forest, inner))[trellis.spine]


def divided(mu: FloatArray, candidates: Candidates) -> FloatArray:
    """By their sum at each position, which is zero where nothing is possible."""
    with np.errstate(invalid="ignore"):
        return mu / np.bincount(candidates.position, mu)[candidates.position]


@settings(max_examples=30)
@given(seeds, strings, st.integers(1, 4), st.booleans(), st.sampled_from([1.0, 1e-160, 1e150]))
def test_marginals_are_those_of_the_engine(
    seed: int, rows: list[list[int]], m: int, factored: bool, size: float
) -> None:
    rng = np.random.default_rng(seed)
    operators = random_tagged(rng, K, m, N, missing=0.3).operators()
    operators = in_factors(operators, rng) if factored else operators
    operators = replace(operators, leaf=operators.leaf * size)
    sequences = Sequences.of(rows)
    builder = TrellisBuilder(operators.rules, K)
    candidates = builder.candidates(sequences.terminal)
    expected = by_engine(operators, builder, sequences.start, candidates)
    found = candidate_marginals(operators, builder, sequences.start, candidates)
    alive = np.bincount(candidates.position, expected)[candidates.position] > 0.0
    np.testing.assert_allclose(divided(found, candidates)[alive], expected[alive], rtol=1e-10)
    assert (found[~alive] == 0.0).all()


def test_operators_over_other_rules_are_refused() -> None:
    one, other = (random_tagged(np.random.default_rng(1), K, 2, n, missing=0.0).operators() for n in (N, N + 1))
    builder = TrellisBuilder(one.rules, K)
    candidates = builder.candidates(np.array([0, 1]))
    with pytest.raises(ValueError, match="the rules of their builder"):
        candidate_marginals(other, builder, np.array([0, 2]), candidates)
