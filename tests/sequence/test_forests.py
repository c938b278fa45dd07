"""Trellises against the enumeration of the tags that they leave."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spectral_latent.inference import inside, marginals, outside
from spectral_latent.operators import Tensor, Tensors
from spectral_latent.sequence import Sequences
from spectral_latent.sequence.forests import TrellisBuilder
from tests.sequence.hmms import random_tagged

K, N = 3, 4
seeds = st.integers(0, 2**32 - 1)
strings = st.lists(st.lists(st.integers(0, N - 1), min_size=1, max_size=4), min_size=1, max_size=4)


@pytest.mark.parametrize("ends", [[0, 0, 2], [0, 1, 1, 2], [0, 2, 2]])
def test_empty_sequences_are_refused(ends: list[int]) -> None:
    """A sequence begins with its first position; after the last of all there is none."""
    operators = random_tagged(np.random.default_rng(1), K, 1, N, missing=0.0).operators()
    builder = TrellisBuilder(operators.rules, K)
    candidates = builder.candidates(np.array([0, 1]))
    number = 1 + int(np.argmin(np.diff(ends)))
    with pytest.raises(ValueError, match=f"sequence {number} is empty"):
        builder.build(np.array(ends), candidates)


@settings(max_examples=30)
@given(seeds, strings, st.integers(1, 4), st.booleans(), st.sampled_from([1.0, 1e-160, 1e150]))
def test_posteriors_are_the_marginals_of_spines(
    seed: int, rows: list[list[int]], m: int, factored: bool, size: float
) -> None:
    """Without the vectors of emissions, and with tensors in both forms."""
    rng = np.random.default_rng(seed)
    operators = random_tagged(rng, K, m, N, missing=0.3).operators()
    if factored:
        tensors = [Tensor(*(rng.exponential(size=(1, m)) for m in tensor.shape)) for tensor in operators.binary]
        operators = replace(operators, binary=Tensors.of(tensors))
    operators = replace(operators, leaf=operators.leaf * size)
    sequences = Sequences.of(rows)
    builder = TrellisBuilder(operators.rules, K)
    candidates = builder.candidates(sequences.terminal)
    forest, spine = builder.build(sequences.start, candidates)
    inner = inside(operators, forest)
    expected = marginals(operators, forest, inner, outside(operators, forest, inner))[spine]
    found = builder.posteriors(operators, sequences.start, candidates)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
