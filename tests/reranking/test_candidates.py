"""Candidates and n-best lists: what they keep, and what they refuse."""

import re

import pytest
from hypothesis import given

from spectral_latent.constituency import Phrase, clean
from spectral_latent.dependency import DependencySentence
from spectral_latent.reranking import Candidate, CandidateError, NBest, words_of
from tests.reranking.nbest_lists import dependency_lists, phrase_lists

DOG = Phrase("N", ("dog",))
WORDS = DependencySentence.of(["dogs", "bark"])


@given(phrase_lists(min_size=1) | dependency_lists(min_size=1))
def test_lists_keep_words_and_order(nbest: NBest) -> None:
    assert all(words_of(candidate.tree) == nbest.words for candidate in nbest.candidates)
    again = nbest.rescore(range(len(nbest)))
    assert [candidate.score for candidate in again.candidates] == list(range(len(nbest)))
    assert [candidate.tree for candidate in again.candidates] == [candidate.tree for candidate in nbest.candidates]
    assert again.n_scores == nbest.n_scores + 1


@given(phrase_lists(min_size=1))
def test_equal_phrases_of_a_list_are_one_object(nbest: NBest) -> None:
    trees = [candidate.tree for candidate in nbest.candidates]
    phrases = [node for tree in trees if isinstance(tree, Phrase) for node in tree.nodes() if isinstance(node, Phrase)]
    assert len({id(phrase) for phrase in phrases}) == len(set(phrases))
    assert nbest.cleaned == [clean(tree) for tree in trees if isinstance(tree, Phrase)]


def test_candidates_are_drawn_with_ranks_and_scores() -> None:
    html = NBest.of([Candidate(DOG, -1.5), Candidate(DOG, -2.0)])._repr_html_()
    assert list(dict.fromkeys(re.findall(r"Tree (\d): ([-.\d]+)", html))) == [("1", "-1.50"), ("2", "-2.00")]


def heads(*numbers: int | None) -> Candidate:
    return Candidate(WORDS.with_heads(numbers if numbers else None))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("candidates", "words", "number"),
    [
        ([Candidate(DOG), Candidate(Phrase("N", ("cat",)))], None, 2),  # other words
        ([Candidate(DOG)], ["dogs"], 1),
        ([Candidate(DOG), Candidate(Phrase("NP", (DOG, DOG)))], None, 2),
        ([Candidate(DOG)], ["dog", "barks"], 1),
        ([Candidate(DOG, 1.0), Candidate(DOG)], None, 2),  # other numbers of scores
        ([Candidate(DOG), Candidate(DOG, 1.0)], None, 2),
        ([Candidate(DOG, 1.0, (2.0,)), Candidate(DOG, 1.0)], None, 2),
        ([Candidate(DOG, float("nan"))], None, 1),  # no numbers
        ([Candidate(DOG, float("inf"))], None, 1),
        ([Candidate(DOG, 0.0, (float("nan"),))], None, 1),
        ([heads(2, 0), Candidate(DOG)], None, 2),  # trees of two kinds
        ([Candidate(DOG), heads(2, 0)], None, 2),
        ([heads(2, 0), heads()], None, 2),  # no trees
        ([heads(2, 1)], None, 1),
        ([heads(3, 0)], None, 1),
        ([Candidate(DOG), Candidate(Phrase("N", ("",)))], None, 2),  # what no file can hold
        ([Candidate(Phrase("N", ("New\nYork",)))], None, 1),
        ([Candidate(Phrase("N N", ("dog",)))], None, 1),
        ([Candidate(Phrase("V(P", (DOG,)))], None, 1),
        ([Candidate(WORDS.with_heads((2, 0), ("no un", "root")))], None, 1),
    ],
)
def test_what_is_no_list_is_refused(candidates: list[Candidate], words: list[str] | None, number: int) -> None:
    with pytest.raises(CandidateError, match=f"sentence wsj.1, candidate {number}: .*; ") as caught:
        NBest.of(candidates, "wsj.1", words)
    assert caught.value.number == number
