"""Candidates of n-best lists against gold trees: what a reranker learns from, and what it is measured by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from spectral_latent.constituency import FALLBACK, Phrase
from spectral_latent.constituency.cleaning import is_empty
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

    measure: a score's percentage.  gains: (n,) what each candidate is worth to a reranker.
    scores: (L,) rows, list by list; for a list without candidates, the score of the tree in its place.
    """

    measure: Callable[[Any], float]
    gains: FloatArray
    scores: list[list[Any]]

    def evaluate(self, chosen: Iterable[int]) -> RerankingEvaluation:
        """How good a choice in each list (L,) is; see `evaluate_reranking`."""
        return evaluate_reranking(self.scores, chosen, self.measure)


def score_dependency_lists(lists: Sequence[NBest], gold: Sequence[DependencySentence]) -> CandidateScores:
    """By heads of words that are not punctuation; in a list without candidates none is right.

    Raises ValueError if there are not as many gold trees as lists, or for other words.

    >>> from spectral_latent.reranking import Candidate
    >>> gold = DependencySentence.of(["Dogs", "bark"])._replace(heads=(2, 0))
    >>> found = score_dependency_lists([NBest.of([Candidate(gold._replace(heads=(0, 1))), Candidate(gold)])], [gold])
    >>> found.gains, found.evaluate([1]).found.other
    (array([0., 2.]), 100.0)
    """
    _require_same_words(lists, [sentence.forms for sentence in gold])
    rows: list[list[AttachmentScore]] = []
    for each, sentence in zip(lists, gold, strict=True):
        nothing = sentence._replace(heads=(-1,) * len(sentence.forms))
        trees = [tree for tree, *_ in each.candidates if isinstance(tree, DependencySentence)] or [nothing]
        rows.append([score_attachments([sentence], [tree]) for tree in trees])
    gains = _of_candidates(lists, [[float(score.heads_no_punctuation) for score in row] for row in rows])
    return CandidateScores(lambda score: score.uas_no_punctuation, gains, list(rows))


def score_phrase_lists(lists: Sequence[NBest], gold: Sequence[GoldTree]) -> CandidateScores:
    """By F1 as of EVALB; gains are weighed by sentences' lengths.  In place of no candidates is a flat `FALLBACK`.

    Raises ValueError if there are not as many gold trees as lists, or for other words.

    >>> from spectral_latent.reranking import Candidate
    >>> wrong, gold = (Phrase("S", (Phrase(label, (Phrase("UH", ("Yes",)),)),)) for label in ("NP", "INTJ"))
    >>> found = score_phrase_lists([NBest.of([Candidate(wrong), Candidate(gold)])], [GoldTree.of(gold)])
    >>> found.gains, found.evaluate([1]).found.base
    (array([0.5, 1. ]), 50.0)
    """
    _require_same_words(lists, [tuple(sentence.words) for sentence in gold])
    rows: list[list[BracketScores]] = []
    for each, (tree, _) in zip(lists, gold, strict=True):
        trees = [found for found, *_ in each.candidates if isinstance(found, Phrase)] or [_flat(tree)]
        rows.append([score_brackets([(tree, found)]) for found in trees])
    worth = [[len(tree.words) * score.f1 / 100 for score in row] for tree, row in zip(gold, rows, strict=True)]
    return CandidateScores(lambda score: score.f1, _of_candidates(lists, worth), list(rows))


def _flat(gold: Phrase) -> Phrase:
    """The words under one label with their gold tags, by which EVALB knows what is punctuation."""
    nodes = (node for node in gold.nodes() if isinstance(node, Phrase))
    return Phrase(
        FALLBACK,
        tuple(node for node in nodes if isinstance(word := node.children[0], str) and not is_empty(node.label, word)),
    )


def _of_candidates(lists: Sequence[NBest], rows: Iterable[Sequence[float]]) -> FloatArray:
    """The rows of lists that have candidates, one after the other."""
    return np.array(list(chain.from_iterable(row for each, row in zip(lists, rows, strict=True) if len(each))), float)


def _require_same_words(lists: Sequence[NBest], gold: Sequence[tuple[str, ...]]) -> None:
    if len(lists) != len(gold):
        raise ValueError(f"{len(lists)} n-best lists for {len(gold)} gold trees; give the gold trees of the same text")
    for each, words in zip(lists, gold, strict=True):
        if len(each) and each.words != words:
            raise ValueError(
                f"sentence {each.id}: the candidates have the words {' '.join(each.words)!r:.60}, the gold tree "
                f"{' '.join(words)!r:.60}; give lists and gold trees of the same text in the same order"
            )
