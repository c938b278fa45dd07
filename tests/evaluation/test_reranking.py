"""Gains of candidates by hand and against enumeration; their interval against exact distributions and a bootstrap."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.constituency import Phrase
from spectral_latent.corpora import parse_brackets
from spectral_latent.dependency import DependencySentence
from spectral_latent.evaluation.reranking import (
    CandidateScores,
    Difference,
    paired_bootstrap,
    score_dependency_lists,
    score_phrase_lists,
)
from spectral_latent.evaluation.scores import TaggingScore
from spectral_latent.reranking import Candidate, NBest


def accuracy(score: TaggingScore) -> float:
    return score.accuracy


def sentences(*correct: int) -> list[TaggingScore]:
    return [TaggingScore(tokens=10, correct=n) for n in correct]


LISTS = st.lists(st.lists(st.integers(0, 10), min_size=1, max_size=3), min_size=1, max_size=4)


@given(LISTS, st.data())
def test_choices(correct: list[list[int]], data: st.DataObject) -> None:
    chosen = [data.draw(st.integers(-1, len(row) - 1)) for row in correct]
    scores = CandidateScores(accuracy, np.zeros(0), [sentences(*row) for row in correct])
    difference, oracle = scores.evaluate(chosen, samples=10)
    tokens = 10 * len(correct)
    assert difference.base == pytest.approx(100 * sum(row[0] for row in correct) / tokens)
    assert difference.other == pytest.approx(100 * sum(row[i] for row, i in zip(correct, chosen, strict=True)) / tokens)
    assert oracle == pytest.approx(max(100 * sum(choice) / tokens for choice in itertools.product(*correct)))
    assert difference.low <= difference.high


@pytest.mark.parametrize(("level", "low", "high"), [(0.95, 10.0, 30.0), (0.4, 20.0, 20.0), (0.6, 10.0, 30.0)])
def test_interval_of_two_sentences(level: float, low: float, high: float) -> None:
    """Drawn twice, they give 10, 20 and 30 points with the probabilities 1/4, 1/2 and 1/4."""
    found = paired_bootstrap(sentences(0, 0), sentences(1, 3), accuracy, level=level)
    assert (found.base, found.other) == (0.0, 20.0)
    assert (found.low, found.high) == pytest.approx((low, high))
    assert found == paired_bootstrap(sentences(0, 0), sentences(1, 3), accuracy, level=level)
    few = [
        paired_bootstrap(sentences(*range(9)), sentences(*range(1, 10)), accuracy, samples=3, seed=seed)
        for seed in (0, 1)
    ]
    assert few[0][:2] == few[1][:2] and few[0][2:] != few[1][2:]


def test_error_reduction() -> None:
    for base, other, expected in ((80.0, 90.0, 50.0), (90.0, 80.0, -100.0), (100.0, 100.0, 0.0)):
        assert Difference(base, other, 0.0, 0.0).error_reduction == expected
    found = paired_bootstrap(sentences(8), sentences(9), accuracy, samples=1)
    assert found.error_reduction == pytest.approx(50.0)


def test_numbers_of_sentences_must_agree() -> None:
    with pytest.raises(ValueError, match="shorter"):
        CandidateScores(accuracy, np.zeros(0), [sentences(1), sentences(2)]).evaluate([0])
    for one, other in ((sentences(1), sentences(1, 2)), ([], [])):
        with pytest.raises(ValueError):
            paired_bootstrap(one, other, accuracy)


def trees(*texts: str) -> list[Phrase]:
    return [next(parse_brackets(text)) for text in texts]


def nbest(*candidates: Phrase | DependencySentence, words: tuple[str, ...] | None = None) -> NBest:
    return NBest.of(map(Candidate, candidates), words=words)


def test_phrases() -> None:
    """By hand: brackets S, NP, VP of three words; the first candidate has one of two right, the second all."""
    wrong, right = trees("(S (NP (DT a) (NN b) (VB c)) (. .))", "(S (NP (DT a) (NN b)) (VP (VB c)) (. .))")
    (gold,) = trees("(S (NP-SBJ (DT a) (NN b)) (VP (VB c) (NP (-NONE- *))) (. .))")
    scores = score_phrase_lists([nbest(wrong, right), nbest()], [gold, gold])
    np.testing.assert_allclose(scores.gains, [4 * 2 * 1 / 5, 4])
    found, oracle = scores.evaluate([1, -1])
    assert found.base == pytest.approx(
        100 * 2 * 1 / (2 + 1 + 6)
    )  # the empty list's flat tree has one bracket, FALLBACK
    assert found.other == oracle == pytest.approx(100 * 2 * 3 / (3 + 1 + 6))


def test_dependencies_without_punctuation() -> None:
    gold = DependencySentence.of(["a", "b", "."]).with_heads((2, 0, 2))
    others = [gold.with_heads(heads) for heads in ((0, 1, 2), (2, 0, 1))]
    scores = score_dependency_lists([nbest(*others), nbest()], [gold, gold])
    assert scores.gains.tolist() == [0.0, 2.0]
    found, oracle = scores.evaluate([1, -1])
    assert (found.base, found.other, oracle) == (0.0, 50.0, 50.0)


def test_lists_without_gold_and_with_other_words() -> None:
    gold = DependencySentence.of(["a", "b"]).with_heads((2, 0))
    with pytest.raises(ValueError, match="1 n-best lists for 2 gold trees"):
        score_dependency_lists([nbest(gold)], [gold, gold])
    with pytest.raises(ValueError, match=r"sentence 1: .*'a b'.*'a c'"):
        score_dependency_lists([nbest(gold)], [gold._replace(forms=("a", "c"))])
    (tree,) = trees("(S (NN a) (NN b))")
    with pytest.raises(ValueError, match=r"sentence 1: .*'a b'.*'a'"):
        score_phrase_lists([nbest(tree)], trees("(NN a)"))
