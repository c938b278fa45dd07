"""Features of the lists themselves, and scikit-learn's protocol."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.constituency import Phrase
from spectral_latent.reranking import BaseFeatures, Candidate, ListTransformer, NBest, TreeTemplates
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


@given(st.integers(0, 2).flatmap(lambda n: st.lists(phrase_lists(n) | dependency_lists(n), max_size=3)))
def test_base_features(lists: list[NBest]) -> None:
    table = BaseFeatures().fit_table(lists)
    expected = [naive(nbest, i) for nbest in lists for i in range(len(nbest))]
    assert np.diff(table.start).tolist() == [len(nbest) for nbest in lists]
    assert table.measured.all()
    for row, features in zip(table.values.toarray(), expected, strict=True):
        assert dict(zip(table.names, row.tolist(), strict=True)) == pytest.approx(features)


def scored(*scores: float) -> NBest:
    return NBest.of([Candidate.of(Phrase("N", ("dog",)), [score]) for score in scores], "s")


def test_positive_scores_of_impossible_trees() -> None:
    table = BaseFeatures().fit_table([scored(73.5, float("-inf"), 70.0)]).select("base:score", "base:impossible")
    assert table.values.toarray().tolist() == [[73.5, 0.0], [70.0, 1.0], [70.0, 0.0]]


def test_lists_must_have_the_scores_of_training() -> None:
    without = NBest.of([Candidate(Phrase("N", ("dog",)))], "t")
    with pytest.raises(ValueError, match=r"sentence t: 0 scores for each candidate where 1 are needed; give"):
        BaseFeatures().fit([scored(1.0)]).transform([scored(2.0), without])
    with pytest.raises(ValueError, match=r"sentence s: 1 scores for each candidate where 0 are needed"):
        BaseFeatures().fit([without]).transform([scored(2.0)])
    assert BaseFeatures(n_scores=0).transform([without]).shape == (1, 2)
    assert BaseFeatures().fit([scored(1.0)]).transform([NBest.of([])]).shape == (0, 5)


TRANSFORMERS = (BaseFeatures, TreeTemplates)


@pytest.mark.parametrize("make", TRANSFORMERS)
def test_protocol(make: Callable[..., Any]) -> None:
    lists = [scored(1.0, 0.5), scored(2.0)]
    transformer = make()
    clone = type(transformer)(**transformer.get_params())  # as sklearn.base.clone does
    with pytest.raises(ValueError, match="not been fitted; call fit"):
        clone.get_feature_names_out()
    assert transformer.fit(lists, y=None) is transformer
    values = transformer.transform(lists)
    names = transformer.get_feature_names_out()
    assert values.shape == (3, len(names)) and names.dtype == object
    assert (clone.fit_transform(lists, [0.0] * 3) != values).nnz == 0
    assert (make().fit_table(lists).values != values).nnz == 0
    with pytest.raises(ValueError, match="no parameter 'missing'"):
        transformer.set_params(missing=1)


def test_parameters_are_the_arguments() -> None:
    templates = TreeTemplates(cutoff=3)
    assert templates.get_params() == {"cutoff": 3, "vocabulary": None}
    assert templates.set_params(cutoff=1, vocabulary=["rule:S NP"]) is templates
    assert templates.get_params(deep=False) == {"cutoff": 1, "vocabulary": ["rule:S NP"]}
    assert isinstance(templates, ListTransformer)
