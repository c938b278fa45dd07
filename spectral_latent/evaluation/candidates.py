"""Score the candidates of n-best lists against gold trees, to train rerankers and to evaluate them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from spectral_latent.constituency import FALLBACK, Phrase
from spectral_latent.constituency.cleaning import tagged_words
from spectral_latent.dependency import DependencySentence
from spectral_latent.evaluation.attachment import AttachmentScore, score_attachments
from spectral_latent.evaluation.brackets import BracketScores, score_brackets
from spectral_latent.evaluation.models import GoldTree
from spectral_latent.evaluation.reranking import RerankingEvaluation, evaluate_reranking
from spectral_latent.reranking import NBest
from spectral_latent.trees import FloatArray

__all__ = ["CandidateScores", "score_dependency_lists", "score_phrase_lists"]


class CandidateScores(NamedTuple):
    """The scores of all candidates.

    measure: the function that makes a percentage of a score.
    gains: (n,) the gain of each candidate, list after list, for `Reranker.train`.
    scores: (L,) the scores of each list's candidates; for a list without candidates, the score of a stand-in tree.
    """

    measure: Callable[[Any], float]
    gains: FloatArray
    scores: list[list[Any]]

    def evaluate(self, chosen: Iterable[int]) -> RerankingEvaluation:
        """Evaluate the choice (L,) of a candidate in each list; see `evaluate_reranking`.

        chosen: (L,) the place of a candidate in each list; -1 for the stand-in tree.
        """
        return evaluate_reranking(self.scores, chosen, self.measure)


def score_dependency_lists(lists: Sequence[NBest], gold: Sequence[DependencySentence]) -> CandidateScores:
    """Score candidates by the heads of words that are not punctuation.

    A gain is a number of right heads.  A list without candidates has the score of a tree without right heads.

    Raises ValueError if there are not as many gold trees as lists, or if a list has other words than its gold tree.

    >>> from spectral_latent.reranking import Candidate
    >>> gold = DependencySentence.of(["Dogs", "bark"]).with_heads((2, 0))
    >>> scores = score_dependency_lists([NBest.of([Candidate(gold.with_heads((0, 1))), Candidate(gold)])], [gold])
    >>> scores.gains, scores.evaluate([1]).difference.other
    (array([0., 2.]), 100.0)
    """
    _require_same_words(lists, [sentence.forms for sentence in gold])
    rows: list[list[AttachmentScore]] = []
    for nbest, sentence in zip(lists, gold, strict=True):
        stand_in = sentence.with_heads((-1,) * len(sentence.forms))
        trees = [tree for tree, *_ in nbest.candidates if isinstance(tree, DependencySentence)] or [stand_in]
        rows.append([score_attachments([sentence], [tree]) for tree in trees])
    gains = _of_candidates(lists, [[float(score.heads_no_punctuation) for score in row] for row in rows])
    return CandidateScores(lambda score: score.uas_no_punctuation, gains, list(rows))


def score_phrase_lists(lists: Sequence[NBest], gold: Sequence[GoldTree]) -> CandidateScores:
    """Score candidates by F1 as in EVALB.

    A gain is F1 (from 0 to 1) times the number of words.  A list without candidates has the score of a flat `FALLBACK`.

    Raises ValueError if there are not as many gold trees as lists, or if a list has other words than its gold tree.

    >>> from spectral_latent.reranking import Candidate
    >>> wrong, gold = (Phrase("S", (Phrase(label, (Phrase("UH", ("Yes",)),)),)) for label in ("NP", "INTJ"))
    >>> scores = score_phrase_lists([NBest.of([Candidate(wrong), Candidate(gold)])], [GoldTree.of(gold)])
    >>> scores.gains, scores.evaluate([1]).difference.base
    (array([0.5, 1. ]), 50.0)
    """
    _require_same_words(lists, [tuple(sentence.words) for sentence in gold])
    rows: list[list[BracketScores]] = []
    for nbest, (gold_tree, _) in zip(lists, gold, strict=True):
        trees = [tree for tree, *_ in nbest.candidates if isinstance(tree, Phrase)] or [_flat(gold_tree)]
        rows.append([score_brackets([(gold_tree, tree)]) for tree in trees])
    gains = [[len(tree.words) * score.f1 / 100 for score in row] for tree, row in zip(gold, rows, strict=True)]
    return CandidateScores(lambda score: score.f1, _of_candidates(lists, gains), list(rows))


def _flat(gold: Phrase) -> Phrase:
    """Put the words under one label, with their gold tags, because EVALB recognises punctuation by its tags."""
    return Phrase(FALLBACK, tuple(Phrase(tag, (word,)) for tag, word in tagged_words(gold)))


def _of_candidates(lists: Sequence[NBest], rows: Iterable[Sequence[float]]) -> FloatArray:
    """Join the rows of those lists that have candidates."""
    return np.array(list(chain.from_iterable(row for nbest, row in zip(lists, rows, strict=True) if len(nbest))), float)


def _require_same_words(lists: Sequence[NBest], gold: Sequence[tuple[str, ...]]) -> None:
    """Raise ValueError unless each list has the words of its gold tree."""
    if len(lists) != len(gold):
        raise ValueError(f"{len(lists)} n-best lists for {len(gold)} gold trees; give the gold trees of the same text")
    for nbest, words in zip(lists, gold, strict=True):
        if len(nbest) and nbest.words != words:
            raise ValueError(
                f"sentence {nbest.id}: the candidates have the words {' '.join(nbest.words)!r:.60}, the gold tree "
                f"{' '.join(words)!r:.60}; give lists and gold trees of the same text in the same order"
            )
