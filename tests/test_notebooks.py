"""Notebooks show parses with their scores."""

import copy
import pickle

import pytest
from nltk.tree import Tree

from spectral_latent import ConstituencyModel, DependencyModel
from spectral_latent.constituency import Phrase
from spectral_latent.dependency import DependencySentence
from spectral_latent.reranking import Candidate, NBest
from spectral_latent_nltk import SpectralDependencyParser, SpectralParser
from tests.cli.pages import Page
from tests.toy import toy_treebank

WORDS = ["the", "dog", "saw", "a", "cat", "in", "the", "garden"]
HOSTILE = "</td><script>alert(1)</script>"


TREES = toy_treebank(60)
WORD_ROWS = [list(tree.words()) for tree in TREES]


@pytest.fixture(scope="module")
def parser() -> ConstituencyModel:
    return ConstituencyModel.train(TREES)


@pytest.fixture(scope="module")
def dependency_parser() -> DependencyModel:
    """Train a dependency parser on trees in which the head of each word is the word before it."""
    return DependencyModel.train(
        [DependencySentence.of(words).with_heads(tuple(range(len(words)))) for words in WORD_ROWS]
    )


def test_parses_are_drawn_with_their_scores(parser: ConstituencyModel, dependency_parser: DependencyModel) -> None:
    for parses in (parser.parse_nbest(WORDS, 3), dependency_parser.parse_nbest(DependencySentence.of(WORDS), 3)):
        page = Page(parses._repr_html_())
        assert (page.wrong, page.open, len(page.all("svg"))) == ([], [], len(parses))
        for caption, parse in zip(page.texts["p"], parses, strict=True):
            assert f"{parse.log:.2f}" in caption
        assert pickle.loads(pickle.dumps(parses)) == copy.deepcopy(parses) == parses
    (unscored,) = parser.parse_all([WORDS], 3, scored=False)
    assert len(unscored.drawings) == 3
    with pytest.raises(ValueError, match="scored=True"):
        _ = unscored.shares


def test_hostile_words_are_text(parser: ConstituencyModel) -> None:
    words = ["the", HOSTILE, "saw", "a", "cat"]
    candidates = NBest.of([Candidate(Phrase("X", (Phrase("<b>", (HOSTILE,)),)), -1.0)])
    for shown in (parser.parse_nbest(words, 2), candidates):
        page = Page(shown._repr_html_())
        assert (page.wrong, page.open, page.all("script")) == ([], [], [])
        assert any(HOSTILE in text for texts in page.texts.values() for text in texts)


def test_results_in_nltk_draw_themselves(parser: ConstituencyModel, dependency_parser: DependencyModel) -> None:
    assert SpectralParser(parser)._repr_html_() == parser._repr_html_()
    tree = SpectralParser(parser).parse_one(WORDS)
    assert tree._repr_svg_() == parser.parse(WORDS)._repr_svg_()
    tree.append(Tree("X", []))
    assert tree._repr_svg_() is None
    graph = SpectralDependencyParser(dependency_parser).parse_one(WORDS)
    assert graph._repr_svg_() == dependency_parser.parse(DependencySentence.of(WORDS))._repr_svg_()
