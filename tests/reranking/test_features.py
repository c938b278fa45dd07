"""Features of the base parser's order and scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.constituency import Phrase
from spectral_latent.reranking import BaseFeatures, Candidate, NBest
from tests.reranking.nbest_lists import dependency_lists, phrase_lists


def naive(nbest: NBest, place: int) -> dict[str, float]:
    """The table in the class's docstring, for one candidate."""
    found = {"base:rank": float(place), "base:log-rank": float(np.log(1 + place))}
    scores = nbest.candidates[place].scores
    for k, score in enumerate(scores):
        finite = [candidate.scores[k] for candidate in nbest.candidates if candidate.scores[k] != -np.inf]
        value = score if score != -np.inf else min(finite, default=0.0)
        name = "base:score" if k == 0 else f"base:score-{k + 1}"
        found |= {name: value, f"{name}-per-word": value / len(nbest.words)}
    return found | ({"base:impossible": float(-np.inf in scores)} if scores else {})


NUMBERED_LISTS = st.integers(0, 2).flatmap(
    lambda n: st.tuples(st.just(n), st.lists(phrase_lists(n) | dependency_lists(n), max_size=3))
)


@given(NUMBERED_LISTS)
def test_base_features(drawn: tuple[int, list[NBest]]) -> None:
    n_scores, lists = drawn
    table = BaseFeatures(n_scores).table(lists)
    expected = [naive(nbest, i) for nbest in lists for i in range(len(nbest))]
    assert np.diff(table.start).tolist() == [len(nbest) for nbest in lists]
    for row, features in zip(table.values, expected, strict=True):
        assert dict(zip(table.names, row.tolist(), strict=True)) == pytest.approx(features)


def scored(*scores: float) -> NBest:
    return NBest.of([Candidate.of(Phrase("N", ("dog",)), [score]) for score in scores], "s")


def test_lists_must_have_the_scores_of_training() -> None:
    without = NBest.of([Candidate(Phrase("N", ("dog",)))], "t")
    with pytest.raises(ValueError, match=r"sentence t: 0 scores for each candidate where 1 are needed; give"):
        BaseFeatures(1).table([scored(2.0), without])
    with pytest.raises(ValueError, match=r"sentence s: 1 scores for each candidate where 0 are needed"):
        BaseFeatures(0).table([scored(2.0)])
    assert BaseFeatures(0).table([without]).values.shape == (1, 2)
    assert BaseFeatures(1).table([NBest.of([])]).values.shape == (0, 5)
