"""The raw text of a treebank, by the comments of its sentences."""

from __future__ import annotations

import pytest

from spectral_latent.corpora import divided_texts
from spectral_latent.corpora.raw_text import has_text
from spectral_latent.dependency import DependencySentence
from spectral_latent.tokenisation import Token


def test_paragraphs_of_a_treebank() -> None:
    def sentence(*comments: str) -> DependencySentence:
        """Make a sentence of a token of two words."""
        words = [Token("ne", "nel", 0, 1), Token("l", "nel", 0, 2), Token("lupo", "lupo", 4), Token(".", ".", 8)]
        return DependencySentence.of_tokens(words)._replace(comments=("text = nel lupo.", *comments))

    trees = [sentence("newdoc id = 1"), sentence(), sentence("newpar"), sentence()]
    first, second = divided_texts(trees)
    assert first == second
    assert first.text == "nel lupo. nel lupo." and first.last == [2, 5]
    assert first.tokens[3:] == [(10, 13, ("ne", "l")), (14, 18, ("lupo",)), (18, 19, (".",))]
    assert [len(text.last) for text in divided_texts([sentence()] * 5, 2)] == [2, 2, 1]


@pytest.mark.parametrize(
    ("text", "is_whole"),
    [
        ("la mare.", True),
        (" la  mare .", True),
        ("lamare.", True),
        ("la mare", False),
        ("la mare. x", False),
        ("", False),
    ],
)
def test_a_text_has_all_tokens_and_nothing_else(text: str, is_whole: bool) -> None:
    sentence = DependencySentence.of(["la", "mare", "."])._replace(comments=(f"text = {text}",))
    assert has_text(sentence) == is_whole
    (divided,) = divided_texts([sentence, sentence])
    assert [divided.text[first:end] for first, end, _ in divided.tokens] == ["la", "mare", "."] * 2
    assert [words for *_, words in divided.tokens] == [("la",), ("mare",), (".",)] * 2
    assert divided.last == [2, 5]
