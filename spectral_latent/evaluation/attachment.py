"""Score dependency trees: count the words with the right head, and with the right relation to it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from operator import and_

from spectral_latent.dependency import DependencySentence
from spectral_latent.evaluation._scores import SummedScores, percentage

__all__ = ["AttachmentScore", "score_attachments"]


@dataclass(frozen=True)
class AttachmentScore(SummedScores):
    """SummedScores of words and their percentages (0 to 100); a percentage is 0 if there are no words.

    A word is punctuation if all its characters are in Unicode's categories P, as in CoNLL-X's eval.pl and in NLTK's
    `DependencyEvaluator`.

    >>> half = AttachmentScore(sentences=1, words=4, heads=3, arcs=2)
    >>> (half + half).heads, (half + half).uas, (half + half).las
    (6, 75.0, 50.0)
    """

    sentences: int = 0
    complete_sentences: int = 0
    """Sentences in which every word has its gold head."""
    words: int = 0
    heads: int = 0
    """Words with their gold head."""
    arcs: int = 0
    """Words with their gold head and their gold relation to it."""
    words_no_punctuation: int = 0
    """Words that are not punctuation."""
    heads_no_punctuation: int = 0
    """Words that are not punctuation, with their gold head."""
    arcs_no_punctuation: int = 0
    """Words that are not punctuation, with their gold head and their gold relation to it."""

    @property
    def uas(self) -> float:
        """Unlabelled attachment score: 100 heads / words."""
        return percentage(self.heads, self.words)

    @property
    def las(self) -> float:
        """Labelled attachment score: 100 arcs / words."""
        return percentage(self.arcs, self.words)

    @property
    def uas_no_punctuation(self) -> float:
        """Unlabelled attachment score without punctuation: 100 heads_no_punctuation / words_no_punctuation."""
        return percentage(self.heads_no_punctuation, self.words_no_punctuation)

    @property
    def las_no_punctuation(self) -> float:
        """Labelled attachment score without punctuation: 100 arcs_no_punctuation / words_no_punctuation."""
        return percentage(self.arcs_no_punctuation, self.words_no_punctuation)

    @property
    def complete(self) -> float:
        """Percentage of sentences in which every head is right: 100 complete_sentences / sentences."""
        return percentage(self.complete_sentences, self.sentences)


def score_attachments(gold: Iterable[DependencySentence], predicted: Iterable[DependencySentence]) -> AttachmentScore:
    """Score predicted trees against gold trees; relations are compared with their subtypes.

    gold: the gold trees.
    predicted: trees of the same sentences, in the same order.

    Raises `ValueError` if there are not as many predicted trees as gold trees, if a sentence has other words in both,
    or if it has no heads.

    >>> words = DependencySentence.of(["Dogs", "bark", "."])
    >>> gold = words.with_heads((2, 0, 2), ("nsubj", "root", "punct"))
    >>> score = score_attachments([gold], [gold.with_heads((2, 0, 1), ("obj", "root", "punct"))])
    >>> score.heads, score.arcs, score.uas_no_punctuation, score.las_no_punctuation, score.complete
    (2, 1, 100.0, 50.0, 0.0)
    """
    total = AttachmentScore()
    for number, (sentence, other) in enumerate(zip(gold, predicted, strict=True), start=1):
        if sentence.forms != other.forms:
            raise ValueError(f"the words of sentence {number} differ in gold and prediction; parse the gold words")
        total += _compare(sentence, other, _heads(sentence, number, "gold"), _heads(other, number, "prediction"))
    return total


def _heads(sentence: DependencySentence, number: int, where: str) -> tuple[int, ...]:
    """Return the heads of a sentence; raise ValueError if it has none."""
    if sentence.heads is None:
        raise ValueError(f"sentence {number} of the {where} has no heads; give a sentence that is parsed")
    return sentence.heads


def _compare(
    gold: DependencySentence, predicted: DependencySentence, gold_heads: tuple[int, ...], heads: tuple[int, ...]
) -> AttachmentScore:
    """Score one sentence."""
    has_head = [a == b for a, b in zip(gold_heads, heads, strict=True)]
    has_relation = [a == b for a, b in zip(gold.relations, predicted.relations, strict=True)]
    has_arc = [*map(and_, has_head, has_relation)]
    is_kept = [not _is_punctuation(form) for form in gold.forms]
    return AttachmentScore(
        sentences=1,
        complete_sentences=int(all(has_head)),
        words=len(has_head),
        heads=sum(has_head),
        arcs=sum(has_arc),
        words_no_punctuation=sum(is_kept),
        heads_no_punctuation=sum(map(and_, has_head, is_kept)),
        arcs_no_punctuation=sum(map(and_, has_arc, is_kept)),
    )


def _is_punctuation(form: str) -> bool:
    """Tell whether all characters of a word are punctuation."""
    return all(unicodedata.category(character).startswith("P") for character in form)
