"""N-best lists by the library's own parsers; nothing is parsed by a parser that was trained on it."""

import numpy as np
import pytest

from spectral_latent.constituency import ConstituencyModel, Phrase
from spectral_latent.dependency import DependencyModel, DependencySentence
from spectral_latent.reranking import Candidate, jackknifed_nbest, parser_nbest

NOUNS = ("cats", "dogs", "mice", "men", "oxen", "sheep")


def tree(tag: str, noun: str) -> Phrase:
    return Phrase("S", (Phrase(tag, (noun,)), Phrase("VB", ("run",))))


GOLD = [tree("NN", noun) for noun in NOUNS]
HEADS = [DependencySentence.of([noun, "run"], ["NN", "VB"]).with_heads((2, 0)) for noun in NOUNS]


@pytest.fixture(scope="module")
def model() -> ConstituencyModel:
    return ConstituencyModel.train([*GOLD, tree("VB", "cats")])


def test_candidates_are_the_parses_of_the_words(model: ConstituencyModel) -> None:
    for gold, nbest in zip(GOLD, parser_nbest(model, GOLD, 3), strict=True):
        parses = model.parse_nbest(list(gold.words()), 3)
        assert list(nbest.candidates) == [Candidate(parse.tree, parse.log) for parse in parses]


def test_dependency_trees_are_parsed_without_their_heads() -> None:
    model = DependencyModel.train(HEADS)
    gold = [sentence.with_heads((0, 1)) for sentence in HEADS]
    for sentence, nbest in zip(gold, parser_nbest(model, gold, 2), strict=True):
        parses = model.parse_nbest(sentence.without_tree(), 2)
        assert list(nbest.candidates) == [Candidate(parse.tree, parse.log) for parse in parses]


def test_a_sentence_that_cannot_be_derived(model: ConstituencyModel) -> None:
    (nbest,) = parser_nbest(model, [Phrase("S", (Phrase("NN", ("dogs",)),) * 5)], 3)
    assert [(tree.label, score) for tree, score, _ in nbest.candidates if isinstance(tree, Phrase)] == [
        ("FALLBACK", -np.inf)
    ]


def test_trees_that_the_parser_cannot_take(model: ConstituencyModel) -> None:
    with pytest.raises(ValueError, match="give it trees of its own kind"):
        list(parser_nbest(model, HEADS, 3))
    with pytest.raises(ValueError, match="a tree without words has no parse"):
        list(parser_nbest(model, [Phrase("S", (Phrase("-NONE-", ("*",)),))], 3))
    with pytest.raises(ValueError, match="at least 1"):
        list(parser_nbest(model, GOLD, 0))


def test_jackknifed_lists_come_from_the_other_folds(model: ConstituencyModel) -> None:
    options = [member.options for member in model.members]
    lists = jackknifed_nbest(model, GOLD, 3, folds=2)
    for begin, others in ((0, GOLD[3:]), (3, GOLD[:3])):
        expected = parser_nbest(ConstituencyModel.train(others, options), GOLD[begin : begin + 3], 3)
        assert [nbest.candidates for nbest in lists[begin : begin + 3]] == [nbest.candidates for nbest in expected]
    assert [nbest.id for nbest in lists] == list("123456")


def test_jackknifed_lists_of_dependencies() -> None:
    model = DependencyModel.train(HEADS)
    lists = jackknifed_nbest(model, HEADS, 2, folds=3)
    expected = parser_nbest(DependencyModel.train(HEADS[2:], model.options), HEADS[:2], 2)
    assert [nbest.candidates for nbest in lists[:2]] == [nbest.candidates for nbest in expected]


@pytest.mark.parametrize(("n", "folds"), [(6, 2), (6, 4), (5, 5)])
def test_every_sentence_is_parsed_once(model: ConstituencyModel, n: int, folds: int) -> None:
    lists = jackknifed_nbest(model, GOLD[:n], 1, folds)
    assert [nbest.words for nbest in lists] == [tuple(tree.words()) for tree in GOLD[:n]]


@pytest.mark.parametrize("folds", [1, 0, 7])
def test_folds_out_of_range(model: ConstituencyModel, folds: int) -> None:
    with pytest.raises(ValueError, match=f"{folds} folds of 6 trees; give at least two"):
        jackknifed_nbest(model, GOLD, 1, folds)
