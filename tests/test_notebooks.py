"""Notebooks show parses with their scores, and tagged sentences."""

import copy
import pickle

import pytest
from nltk.tree import Tree

from spectral_latent import AnchorHMM, ConstituencyModel, DependencyModel, EstimatorOptions, LatentTagger
from spectral_latent.constituency import Phrase
from spectral_latent.dependency import DependencySentence
from spectral_latent.reranking import Candidate, NBest
from spectral_latent.sequence import TaggerOptions
from spectral_latent_nltk import AnchorTagger, LatentHMMTagger, SpectralDependencyParser, SpectralParser
from tests.cli.pages import Page
from tests.toy import toy_treebank

WORDS = ["the", "dog", "saw", "a", "cat", "in", "the", "garden"]
TAGGER = TaggerOptions(estimator=EstimatorOptions("clustering", n_states=2))
HOSTILE = "</td><script>alert(1)</script>"


@pytest.fixture(scope="module")
def trees() -> list[Phrase]:
    return list(toy_treebank(60))


@pytest.fixture(scope="module")
def parser(trees: list[Phrase]) -> ConstituencyModel:
    return ConstituencyModel.train(trees)


@pytest.fixture(scope="module")
def dependency_parser(trees: list[Phrase]) -> DependencyModel:
    """Train a dependency parser on trees in which the head of each word is the word before it."""
    return DependencyModel.train(
        [DependencySentence.of(words := list(tree.words())).with_heads(tuple(range(len(words)))) for tree in trees]
    )


@pytest.fixture(scope="module")
def tagged(trees: list[Phrase]) -> list[list[tuple[str, str]]]:
    return [
        [
            (str(node.children[0]), node.label)
            for node in tree.nodes()
            if isinstance(node, Phrase) and node.is_preterminal()
        ]
        for tree in trees
    ]


@pytest.fixture(scope="module")
def tagger(tagged: list[list[tuple[str, str]]]) -> LatentTagger:
    return LatentTagger.train(tagged, TAGGER)


@pytest.fixture(scope="module")
def anchored(tagged: list[list[tuple[str, str]]]) -> AnchorHMM:
    return AnchorHMM.train([word for word, _ in sentence] for sentence in tagged[:20])


def test_parses_are_drawn_with_their_scores(parser: ConstituencyModel, dependency_parser: DependencyModel) -> None:
    for parses in (parser.parse_nbest(WORDS, 3), dependency_parser.parse_nbest(DependencySentence.of(WORDS), 3)):
        page = Page(parses._repr_html_())
        assert (page.wrong, page.open, len(page.all("svg"))) == ([], [], len(parses))
        captions = [f"Tree {rank}: log |p̂| = {parse.log:.2f}" for rank, parse in enumerate(parses, start=1)]
        assert page.texts["p"] == captions
        assert parses == list(parses)
        assert pickle.loads(pickle.dumps(parses)) == copy.deepcopy(parses) == parses


def test_parses_without_scores_have_captions_and_no_shares(parser: ConstituencyModel) -> None:
    (parses,) = parser.parse_all([WORDS], 3, scored=False)
    assert [caption for caption, _ in parses.drawings] == ["Tree 1", "Tree 2", "Tree 3"]
    with pytest.raises(ValueError, match="parse with scored=True"):
        _ = parses.shares
    (parses,) = parser.parse_all([WORDS], scored=False)
    assert parses.shares == [1.0]


def test_hostile_words_are_text(parser: ConstituencyModel, tagger: LatentTagger) -> None:
    words = ["the", HOSTILE, "saw", "a", "cat"]
    candidates = NBest.of([Candidate(Phrase("X", (Phrase("<b>", (HOSTILE,)),)), -1.0)])
    tagged_sentence = LatentHMMTagger(tagger).tag(words)
    shown = [parser.parse_nbest(words, 2)._repr_html_(), candidates._repr_html_()]
    for html in [*shown, tagged_sentence._repr_html_()]:
        page = Page(html)
        assert (page.wrong, page.open, page.all("script")) == ([], [], [])
        assert any(HOSTILE in text for texts in page.texts.values() for text in texts)


def test_results_in_nltk_draw_themselves(
    parser: ConstituencyModel, dependency_parser: DependencyModel, tagger: LatentTagger, anchored: AnchorHMM
) -> None:
    assert SpectralParser(parser)._repr_html_() == parser._repr_html_()
    tree = SpectralParser(parser).parse_one(WORDS)
    assert tree._repr_svg_() == parser.parse(WORDS)._repr_svg_()
    tree.set_label("any")
    assert "<title>(any" in tree._repr_svg_()
    tree.append(Tree("X", []))
    assert tree._repr_svg_() is None
    graph = SpectralDependencyParser(dependency_parser).parse_one(WORDS)
    assert graph._repr_svg_() == dependency_parser.parse(DependencySentence.of(WORDS))._repr_svg_()
    for of_nltk in (LatentHMMTagger(tagger), AnchorTagger(anchored)):
        (pairs,) = of_nltk.tag_sents([WORDS])
        page = Page(pairs._repr_html_())
        assert list(zip(page.texts["ruby"], page.texts["rt"], strict=True)) == pairs == of_nltk.tag(WORDS)
        assert isinstance(pickle.loads(pickle.dumps(pairs)), list)
