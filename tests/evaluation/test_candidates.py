"""Candidates against gold trees."""

import numpy as np
import pytest

from spectral_latent.constituency import Phrase
from spectral_latent.corpora import parse_brackets
from spectral_latent.dependency import DependencySentence
from spectral_latent.evaluation import GoldTree
from spectral_latent.evaluation.reranking import score_dependency_lists, score_phrase_lists
from spectral_latent.reranking import Candidate, NBest


def trees(*texts: str) -> list[Phrase]:
    return [next(parse_brackets(text)) for text in texts]


def nbest(*candidates: Phrase | DependencySentence, words: tuple[str, ...] | None = None) -> NBest:
    return NBest.of(map(Candidate, candidates), words=words)


def test_phrases() -> None:
    """By hand: brackets S, NP, VP of three words; the first candidate has one of two right, the second all."""
    wrong, right = trees("(S (NP (DT a) (NN b) (VB c)) (. .))", "(S (NP (DT a) (NN b)) (VP (VB c)) (. .))")
    (gold,) = map(GoldTree.of, trees("(S (NP-SBJ (DT a) (NN b)) (VP (VB c) (NP (-NONE- *))) (. .))"))
    assert gold is not None
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
        score_phrase_lists([nbest(tree)], [GoldTree(trees("(NN a)")[0], ["a"])])
