"""Candidates and n-best lists: what they keep, and what they refuse."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.constituency import Phrase, clean
from spectral_latent.dependency import DependencySentence
from spectral_latent.reranking import Candidate, CandidateError, NBest, words_of
from tests.reranking.nbest_lists import SCORE, dependency_lists, phrase_lists

DOG = Phrase("N", ("dog",))
WORDS = DependencySentence.of(["dogs", "bark"])


@given(st.lists(SCORE, max_size=3), SCORE)
def test_scores_are_kept_in_order(scores: list[float], new: float) -> None:
    candidate = Candidate.of(DOG, scores)
    assert candidate.scores == tuple(scores)
    assert (candidate.score is None) == (not scores)
    assert candidate.rescore(new).scores == (new, *scores)
    assert candidate.rescore(new).score == new


@given(phrase_lists(min_size=1) | dependency_lists(min_size=1))
def test_lists_keep_words_and_order(nbest: NBest) -> None:
    assert all(words_of(candidate.tree) == nbest.words for candidate in nbest.candidates)
    again = nbest.rescore(range(len(nbest)))
    assert [candidate.score for candidate in again.candidates] == list(range(len(nbest)))
    assert [candidate.tree for candidate in again.candidates] == [candidate.tree for candidate in nbest.candidates]
    assert again.n_scores == nbest.n_scores + 1


@given(phrase_lists(min_size=1))
def test_words_are_those_of_the_cleaned_tree(nbest: NBest) -> None:
    for tree, _, _ in nbest.candidates:
        assert isinstance(tree, Phrase)
        with_trace = Phrase("S", (Phrase("NP", (Phrase("-NONE-", ("*",)),)), tree))
        cleaned = clean(with_trace)
        assert cleaned is not None
        assert words_of(with_trace) == tuple(cleaned.words())


@given(phrase_lists(min_size=1))
def test_equal_phrases_of_a_list_are_one_object(nbest: NBest) -> None:
    trees = [candidate.tree for candidate in nbest.candidates]
    phrases = [node for tree in trees if isinstance(tree, Phrase) for node in tree.nodes() if isinstance(node, Phrase)]
    assert len({id(phrase) for phrase in phrases}) == len(set(phrases))
    assert nbest.cleaned == [clean(tree) for tree in trees if isinstance(tree, Phrase)]


def test_lists_with_one_candidate_or_none() -> None:
    assert len(NBest.of([Candidate(DOG)])) == 1
    empty = NBest.of([], "7", ["dog"])
    assert (len(empty), empty.n_scores, empty.words) == (0, 0, ("dog",))
    assert empty.rescore([]) == empty


def heads(*numbers: int | None) -> Candidate:
    return Candidate(WORDS.with_heads(numbers if numbers else None))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("candidates", "words", "number", "problem"),
    [
        ([Candidate(DOG), Candidate(Phrase("N", ("cat",)))], None, 2, "word 1 is 'cat' where the sentence has 'dog'"),
        ([Candidate(DOG)], ["dogs"], 1, "word 1 is 'dog' where the sentence has 'dogs'"),
        ([Candidate(DOG), Candidate(Phrase("NP", (DOG, DOG)))], None, 2, "2 words where the sentence has 1;"),
        ([Candidate(DOG)], ["dog", "barks"], 1, "1 word where the sentence has 2"),
        ([Candidate(DOG, 1.0), Candidate(DOG)], None, 2, "has 0 scores, the first one has 1 score;"),
        ([Candidate(DOG), Candidate(DOG, 1.0)], None, 2, "has 1 score, the first one has 0 scores;"),
        ([Candidate(DOG, 1.0, (2.0,)), Candidate(DOG, 1.0)], None, 2, "has 1 score, the first one has 2 scores;"),
        ([Candidate(DOG, float("nan"))], None, 1, "not a number"),
        ([Candidate(DOG, float("inf"))], None, 1, "infinitely large"),
        ([Candidate(DOG, 0.0, (float("nan"),))], None, 1, "not a number"),
        ([heads(2, 0), Candidate(DOG)], None, 2, "phrases and dependencies in one list"),
        ([Candidate(DOG), heads(2, 0)], None, 2, "phrases and dependencies in one list"),
        ([heads(2, 0), heads()], None, 2, "the heads are no tree"),
        ([heads(2, 1)], None, 1, "the heads are no tree"),
        ([heads(3, 0)], None, 1, "the heads are no tree"),
        ([Candidate(DOG), Candidate(Phrase("N", ("",)))], None, 2, "is empty;"),
        ([Candidate(Phrase("N", ("New\nYork",)))], None, 1, "has '\\n';"),
        ([Candidate(Phrase("N N", ("dog",)))], None, 1, "the label 'N N' has ' ';"),
        ([Candidate(Phrase("V(P", (DOG,)))], None, 1, "the label 'V(P' has '(';"),
        ([Candidate(WORDS.with_heads((2, 0), ("no un", "root")))], None, 1, "the label 'no un' has ' ';"),
    ],
)
def test_refused(candidates: list[Candidate], words: list[str] | None, number: int, problem: str) -> None:
    with pytest.raises(CandidateError, match=f"sentence wsj.1, candidate {number}: .*{re.escape(problem)}") as caught:
        NBest.of(candidates, "wsj.1", words)
    assert caught.value.number == number
    assert ";" in str(caught.value)
