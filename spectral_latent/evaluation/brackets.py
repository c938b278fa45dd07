"""Score the brackets of phrases, as EVALB (Sekine and Collins 1997) does with COLLINS.prm.

First, words tagged , : `` '' or . and empty elements are removed, and then all brackets without words.  The other
brackets are counted by first word, last word and label; a bracket that occurs twice counts twice.  Brackets with the
label TOP, ROOT, S1 or VROOT, or with one of the tags above, do not count.  Labels are cut at the first - or =, and PRT
is changed to ADVP.

There are three differences from EVALB.  Function labels may be kept.  An unlabelled outer bracket, which EVALB counts,
is a TOP here.  EVALB knows only empty elements with the tag -NONE-, and `is_empty` knows others, too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from spectral_latent.constituency.cleaning import function_label, is_empty
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.evaluation._scores import SummedScores, percentage

__all__ = ["BracketScores", "score_brackets"]

_DELETED = frozenset({"TOP", "ROOT", "S1", "VROOT", ",", ":", "``", "''", "."})
_EQUIVALENT = {"PRT": "ADVP"}
_FUNCTION = re.compile("[-=].*", re.DOTALL)


@dataclass(frozen=True)
class BracketScores(SummedScores):
    """SummedScores over sentences and their percentages (0 to 100); a percentage is 0 if there is nothing to count.

    >>> half = BracketScores(sentences=1, gold=4, predicted=2, matched=2)
    >>> both = half + half
    >>> both.matched, both.recall, both.precision
    (4, 50.0, 100.0)
    """

    sentences: int = 0
    """Sentences within the length limit; errors and skipped sentences are included here, but in no other count."""
    errors: int = 0
    """Sentences whose gold and predicted words differ after words are removed; wrong tags of punctuation cause this."""
    skipped: int = 0
    """Sentences whose prediction has no words after words are removed."""
    gold: int = 0
    """Brackets in gold trees."""
    predicted: int = 0
    """Brackets in predicted trees."""
    matched: int = 0
    """Brackets that a predicted tree and its gold tree share."""
    complete: int = 0
    """Sentences in which matched = gold = predicted."""
    uncrossed: int = 0
    """Sentences in which, of any predicted bracket and gold bracket that overlap, one contains the other."""
    words: int = 0
    """Words that are not removed."""
    correct_tags: int = 0
    """Words that are not removed and have the gold tag."""

    @property
    def valid(self) -> int:
        """The number of sentences that count: sentences - errors - skipped."""
        return self.sentences - self.errors - self.skipped

    @property
    def recall(self) -> float:
        """Percentage of gold brackets that are predicted: 100 matched / gold."""
        return percentage(self.matched, self.gold)

    @property
    def precision(self) -> float:
        """Percentage of predicted brackets that are gold brackets: 100 matched / predicted."""
        return percentage(self.matched, self.predicted)

    @property
    def f1(self) -> float:
        """The harmonic mean of recall and precision: 200 matched / (gold + predicted)."""
        return percentage(2 * self.matched, self.gold + self.predicted)

    @property
    def exact(self) -> float:
        """Complete match: 100 complete / valid."""
        return percentage(self.complete, self.valid)

    @property
    def no_crossing(self) -> float:
        """Percentage of sentences without crossing brackets: 100 uncrossed / valid."""
        return percentage(self.uncrossed, self.valid)

    @property
    def tagging_accuracy(self) -> float:
        """Percentage of words with the gold tag: 100 correct_tags / words."""
        return percentage(self.correct_tags, self.words)


def score_brackets(
    pairs: Iterable[tuple[Phrase, Phrase]], max_length: int | None = None, *, function_labels: bool = False
) -> BracketScores:
    """Score predicted trees against gold trees.

    pairs: a gold tree and a predicted tree of each sentence.
    max_length: the largest number of words of a sentence that counts, with punctuation and without traces; None for
        any number.
    function_labels: whether labels are compared with their function labels, such as NP-SBJ; indices never count.

    Raises `ValueError` for a tree in which a word is not the only child of its tag.

    >>> from spectral_latent.corpora import parse_brackets
    >>> gold = "(S (NP (PRP We)) (VP (VBD saw) (NP (NNS dogs)) (PP (IN with) (NP (NNS spots)))) (. .))"
    >>> parse = "(S (NP (PRP We)) (VP (VBD saw) (NP (NP (NNS dogs)) (PP (IN with) (NP (NNS spots))))) (. .))"
    >>> scores = score_brackets(zip(parse_brackets(gold), parse_brackets(parse), strict=True))
    >>> scores.recall, round(scores.precision, 2), scores.exact, scores.tagging_accuracy
    (100.0, 85.71, 0.0, 100.0)
    >>> gold, parse = (list(parse_brackets(f"(S ({label} (PRP We)) (VBD saw))")) for label in ("NP-SBJ-1", "NP"))
    >>> [score_brackets(zip(gold, parse, strict=True), function_labels=functions).f1 for functions in (False, True)]
    [100.0, 50.0]
    """
    total = BracketScores()
    for gold, predicted in pairs:
        gold_words = _Sentence.of(gold, function_labels)
        if max_length is None or gold_words.length <= max_length:
            total += _compare(gold_words, _Sentence.of(predicted, function_labels))
    return total


class _Sentence(NamedTuple):
    """The words and brackets of a tree.

    length: the number of words without traces.
    tagged: the words that are not removed, with their tags.
    brackets: the counts of (first word, word after the last, label).
    """

    length: int
    tagged: list[tuple[str, str]]
    brackets: Counter[tuple[int, int, str]]

    @classmethod
    def of(cls, tree: Phrase, function_labels: bool) -> _Sentence:
        """Collect the words that count and the brackets of a tree, with function labels or without."""
        length = 0
        tagged: list[tuple[str, str]] = []
        brackets: Counter[tuple[int, int, str]] = Counter()
        stack: list[Phrase | str | tuple[int, str]] = [tree]  # a pair: the first word and the label of a bracket
        while stack:
            match stack.pop():
                case Phrase(tag, (str() as word,)):
                    if is_empty(tag, word):
                        continue
                    length += 1
                    if tag not in _DELETED:
                        tagged.append((word, _EQUIVALENT.get(tag, tag)))
                case Phrase(label, children):
                    # The bracket is counted after its children, when the word after the last is known.
                    category = _FUNCTION.sub("", label or "TOP")
                    functions = function_label(label).removeprefix(category) if function_labels else ""
                    stack.append((len(tagged), _EQUIVALENT.get(category, category) + functions))
                    stack.extend(reversed(children))
                case (int() as first, str() as label):
                    if first < len(tagged) and label not in _DELETED:
                        brackets[first, len(tagged), label] += 1
                case word:
                    raise ValueError(f"the word {word!r} is not the only child of a tag; give it a tag of its own")
        return cls(length, tagged, brackets)


def _compare(gold: _Sentence, predicted: _Sentence) -> BracketScores:
    """Score one sentence."""
    if not predicted.tagged:
        return BracketScores(sentences=1, skipped=1)
    if [word for word, _ in gold.tagged] != [word for word, _ in predicted.tagged]:
        return BracketScores(sentences=1, errors=1)
    matched = (gold.brackets & predicted.brackets).total()
    return BracketScores(
        sentences=1,
        gold=gold.brackets.total(),
        predicted=predicted.brackets.total(),
        matched=matched,
        complete=int(gold.brackets == predicted.brackets),
        uncrossed=int(_is_nested({bracket[:2] for bracket in (*gold.brackets, *predicted.brackets)})),
        words=len(gold.tagged),
        correct_tags=sum(a == b for a, b in zip(gold.tagged, predicted.tagged, strict=True)),
    )


def _is_nested(spans: Iterable[tuple[int, int]]) -> bool:
    """Tell whether one of any two overlapping spans (first, after the last) contains the other."""
    around: list[int] = []  # the ends of the spans around the current one, the outermost first
    for first, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        while around and around[-1] <= first:
            around.pop()
        if around and around[-1] < end:
            return False
        around.append(end)
    return True
