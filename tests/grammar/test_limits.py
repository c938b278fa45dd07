"""Limits of what a sentence may cost, for both kinds of parser."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from spectral_latent.constituency import ConstituencyModel
from spectral_latent.dependency import DependencyModel, DependencySentence
from spectral_latent.grammar import Limits
from spectral_latent.grammar.forests import prune_chart
from tests.toy import toy_treebank

WORDS = [list(tree.words()) for tree in toy_treebank(60)]
LONG = [word for words in WORDS for word in words][:120]


def _dependencies() -> DependencyModel:
    """Learn that each word depends on the next one."""
    sentences = (DependencySentence.of(words, [word[-1] for word in words]) for words in WORDS)
    return DependencyModel.train(sentence.with_heads((*range(2, len(sentence.forms) + 1), 0)) for sentence in sentences)


@pytest.fixture(scope="module", params=["phrases", "dependencies"])
def parser(request: pytest.FixtureRequest) -> Any:
    """A parser, and the function that makes its sentences."""
    if request.param == "phrases":
        return ConstituencyModel.train(toy_treebank(60)), list
    return _dependencies(), DependencySentence.of


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (Limits(max_words=119), "longer than the 119 of its limit"),
        (Limits(seconds=1e-9), "takes too long"),
        (Limits(megabytes=1, seconds=None), "has more than 1024 items"),
    ],
)
def test_a_sentence_beyond_a_limit_has_a_fallback(
    parser: Any, limits: Limits, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, sentence = parser
    monkeypatch.setattr("spectral_latent.grammar.latent_grammar._LONG", 1000)
    monkeypatch.setattr("spectral_latent.grammar.options._ITEM", 1 << 10)
    limited = model.with_limits(limits)
    with pytest.warns(RuntimeWarning, match=reason):
        (parse,) = limited.parse_nbest(sentence(LONG), 1)
    assert (parse.is_fallback, parse.sign, parse.log) == (True, 0, -np.inf)
    assert not model.with_limits(Limits(max_words=120)).parse(sentence(LONG)).is_fallback


def test_a_given_tree_beyond_the_limit_has_no_score(parser: Any) -> None:
    """The trees before and after it have theirs."""
    model, sentence = parser
    trees = [model.parse(sentence(words)).tree for words in (WORDS[0], LONG, WORDS[1])]
    whole = model.score(trees)
    assert np.isfinite(whole.log[[0, 2]]).all() and not np.isnan(whole.log[1])
    with pytest.warns(RuntimeWarning, match="a tree of 120 words is longer than the 119 of its limit"):
        found = model.with_limits(Limits(max_words=119)).score(iter(trees))
    assert found.sign.tolist() == [1, 0, 1] and np.isnan(found.log[1])
    np.testing.assert_array_equal(found.log[[0, 2]], whole.log[[0, 2]])
    assert model.score([]).log.shape == (0,)


@pytest.mark.parametrize(("n", "times"), [(60, 1.0), (100, 1.0), (120, 1.2**5)])
def test_the_beam_narrows_with_the_fifth_power_of_a_length_beyond_a_hundred_words(
    parser: Any, n: int, times: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the first try; a beam that is wide already stays."""
    model, sentence = parser
    beams: list[float] = []

    def prune(*given: Any) -> Any:
        beams.append(given[2])
        return prune_chart(*given)

    monkeypatch.setattr("spectral_latent.grammar.latent_grammar.prune_chart", prune)
    for beam, expected in ((1e-5, 1e-5 * times), (0.08, min(0.08 * times, 0.1)), (0.2, 0.2)):
        member = model.members[0]
        with_beam = replace(model, members=(replace(member, options=replace(member.options, beam=beam)),))
        with_beam.parse(sentence(LONG[:n]))
        assert beams[0] == pytest.approx(expected)
        beams.clear()
