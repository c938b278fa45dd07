"""Limits of what a sentence may cost, for both kinds of parser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from spectral_latent.constituency import ConstituencyModel
from spectral_latent.corpora.embedded import embedded_treebank
from spectral_latent.dependency import DependencyModel, DependencySentence
from spectral_latent.grammar import Limits

WORDS = [list(tree.words()) for tree in embedded_treebank(60)]
LONG = [word for words in WORDS for word in words][:120]


def _dependencies() -> DependencyModel:
    """Learn that each word depends on the next one."""
    sentences = (DependencySentence.of(words, [word[-1] for word in words]) for words in WORDS)
    return DependencyModel.train(sentence.with_heads((*range(2, len(sentence.forms) + 1), 0)) for sentence in sentences)


@pytest.fixture(scope="module", params=["phrases", "dependencies"])
def parser(request: pytest.FixtureRequest) -> Any:
    """A parser, and the function that makes its sentences."""
    if request.param == "phrases":
        return ConstituencyModel.train(embedded_treebank(60)), list
    return _dependencies(), DependencySentence.of


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (Limits(max_words=119), "a sentence of 120 words is longer than the 119 of its limit"),
        (Limits(seconds=1e-9), "the chart of 120 words under .* takes too long"),
        (Limits(megabytes=1, seconds=None), "the chart of 120 words under .* has more than 32768 items"),
    ],
)
def test_a_sentence_beyond_a_limit_has_a_fallback(
    parser: Any, limits: Limits, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, sentence = parser
    if limits.megabytes == 1:
        monkeypatch.setattr("spectral_latent.grammar.latent_grammar._LONG", 1000)
        monkeypatch.setattr("spectral_latent.grammar.options._ITEM", 1 << 10)
        message = message.replace("32768", "1024")
    limited = model.with_limits(limits)
    with pytest.warns(RuntimeWarning, match=message):
        (parse,) = limited.parse_nbest(sentence(LONG), 1)
    assert parse.is_fallback
    assert not model.parse(sentence(LONG)).is_fallback


def test_sentences_within_the_limits_are_parsed_as_without_limits(parser: Any) -> None:
    model, sentence = parser
    limited = model.with_limits(Limits(max_words=100, seconds=30.0, megabytes=64))
    sentences = [sentence(words) for words in WORDS]
    assert list(limited.parse_all(sentences, 2)) == list(model.parse_all(sentences, 2))


def test_a_model_keeps_its_limits(parser: Any, tmp_path: Path) -> None:
    limited = parser[0].with_limits(Limits(max_words=7, seconds=None))
    limited.save(tmp_path / "model")
    assert type(limited).load(tmp_path / "model").options.limits == Limits(max_words=7, seconds=None)
