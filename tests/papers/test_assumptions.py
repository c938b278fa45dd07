"""Assumptions of anchor and Brown models on tagged data, counted by hand; likelihoods by enumeration."""

import math

import numpy as np
import pytest

from benchmarks.papers.assumptions import AnchorWord, check_assumptions
from benchmarks.papers.stratos2016 import score_per_word
from spectral_latent.sequence import Sequences
from tests.sequence.hmms import draw_strings, paths, random_hmm

TAGGED = [
    [("The", "D"), ("run", "N"), ("ends", "V")],
    [("the", "D"), ("dogs", "N"), ("run", "V"), (".", ".")],
    [("dogs", "N"), ("end", "V"), (".", ".")],
    [("A", "D"), ("cat", "N"), ("ends", "V"), (".", ".")],
    [("well", "X"), (",", "."), ("well", "A")],
]


def test_anchors_and_shares_by_hand() -> None:
    """14 tokens of 12 types without run (2 tokens, N and V) and well (2, X and A) are 10 types and 13 of 17 tokens."""
    found = check_assumptions(TAGGED)
    assert found.anchors == {
        "D": AnchorWord("the", 2, 2),
        "N": AnchorWord("dogs", 2, 2),
        "V": AnchorWord("ends", 2, 2),
        ".": AnchorWord(".", 3, 1),
        "X": None,
        "A": None,
    }
    assert found.unambiguous_types == pytest.approx(100 * 8 / 10)
    assert found.unambiguous_tokens == pytest.approx(100 * 13 / 17)
    assert found.anchored_tags == pytest.approx(100 * 4 / 6)
    assert found.anchored_within(1) == pytest.approx(100 / 6)
    assert found.anchored_within(2) == pytest.approx(100 * 4 / 6)


@pytest.mark.parametrize("seed", range(3))
def test_likelihood_by_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = random_hmm(rng, 3, 4, stop=(0.4, 0.8))
    strings = [x for x in draw_strings(model, 60, rng) if len(x) <= 7]
    expected = sum(math.log(sum(paths(model, x).values())) for x in strings) / sum(map(len, strings))
    assert score_per_word(model, Sequences.of(strings)) == pytest.approx(expected, rel=1e-12)
