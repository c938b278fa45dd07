"""N-best lists by the library's own parsers; nothing is parsed by a parser that was trained on it."""

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.constituency import ConstituencyModel, Phrase
from spectral_latent.dependency import DependencyModel, DependencySentence
from spectral_latent.reranking import Candidate, NBest, jackknife, jackknifed_nbest, parser_nbest

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


# Any parsers


@given(st.integers(2, 30).flatmap(lambda n: st.tuples(st.just(n), st.integers(2, n))))
def test_every_item_is_held_out_once(sizes: tuple[int, int]) -> None:
    n, folds = sizes
    seen: list[tuple[list[int], list[int]]] = []

    def parse_fold(train: list[int], held_out: list[int]) -> Iterable[NBest]:
        seen.append((train, held_out))
        return (NBest(str(item), (), ()) for item in held_out)

    assert [nbest.id for nbest in jackknife(range(n), parse_fold, folds)] == list(map(str, range(n)))
    assert [item for _, held_out in seen for item in held_out] == list(range(n))
    assert all(sorted(train + held_out) == list(range(n)) and held_out for train, held_out in seen)
    assert len(seen) == folds
    assert max(len(held_out) for _, held_out in seen) - min(len(held_out) for _, held_out in seen) <= 1


@pytest.mark.parametrize("folds", [1, 0, 4])
def test_folds_out_of_range(folds: int) -> None:
    with pytest.raises(ValueError, match=f"{folds} folds of 3 trees; give at least two"):
        jackknife([1, 2, 3], lambda train, held_out: [], folds)


def test_missing_lists() -> None:
    with pytest.raises(ValueError, match="0 lists for the 2 trees of a fold; give one for each"):
        jackknife([1, 2, 3], lambda train, held_out: [], folds=2)
