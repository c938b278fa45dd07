"""Score brackets of phrases, heads of words, and tags against gold annotation.

Brackets are scored as EVALB (Sekine and Collins 1997) does with COLLINS.prm.  First, words tagged , : `` '' or . and
empty elements are removed, and then all brackets without words.  The other brackets are counted by first word, last
word and label; a bracket that occurs twice counts twice.  Brackets with the label TOP, ROOT, S1 or VROOT, or with one
of the tags above, do not count.  Labels are cut at the first - or =, and PRT is changed to ADVP.

There are two differences from EVALB.  Function labels may be kept.  An unlabelled outer bracket, which EVALB counts,
is a TOP here.  As for EVALB, an empty element has the tag -NONE-, which the readers of treebanks give to all of them.

Labels of any kind are scored by their agreement with gold tags.  These measures compare the gold and the predicted
labels of all tokens through their contingency table: n_ck tokens have the gold label c and the predicted label k; n_c
and n_k are the sums of rows and columns, n is the total.

| function | formula | source |
| --- | --- | --- |
| `many_to_one` | Σ_k max_c n_ck / n | Johnson 2007, Why doesn't EM find good HMM POS-taggers? |
| `one_to_one` | max over one-to-one σ of Σ_k n_σ(k)k / n | Johnson 2007, with the best σ in place of a greedy one |
| `v_measure` | (1 + β) h c / (β h + c) | Rosenberg and Hirschberg 2007, V-measure, section 2 |

where h = 1 - H(C|K) / H(C) is homogeneity, c = 1 - H(K|C) / H(K) completeness, each 1 if its denominator is 0.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Container, Hashable, Iterable, Sequence
from dataclasses import dataclass
from operator import and_
from typing import NamedTuple, Self

import numpy as np
import scipy

from spectral_latent.constituency.cleaning import EMPTY_TAG, function_label
from spectral_latent.constituency.tree import Phrase
from spectral_latent.dependency import DependencySentence
from spectral_latent.trees import IntArray, Vocabulary

_DELETED = frozenset({"TOP", "ROOT", "S1", "VROOT", ",", ":", "``", "''", "."})
_EQUIVALENT = {"PRT": "ADVP"}
_FUNCTION = re.compile("[-=].*", re.DOTALL)


@dataclass(frozen=True)
class SummedScores:
    """The base of scores that are counts: the score of a corpus is the sum of the scores of its parts."""

    def __add__(self, other: Self) -> Self:
        """Add the counts of two parts of a corpus."""
        return type(self)(**{name: count + vars(other)[name] for name, count in vars(self).items()})


def percentage(part: int, whole: int) -> float:
    """Return 100 part / whole; 0 if the whole is 0."""
    return 100 * part / whole if whole else 0.0


@dataclass(frozen=True)
class BracketScores(SummedScores):
    """Counts over sentences and their percentages (0 to 100); a percentage is 0 if there is nothing to count.

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
            total += _compare_brackets(gold_words, _Sentence.of(predicted, function_labels))
    return total


class _Sentence(NamedTuple):
    """The words and brackets of a tree.

    length: the number of words without traces.
    tagged: the words that are not removed, with their tags.
    brackets: the counts of (first word, word after the last, label)."""

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
                    if tag == EMPTY_TAG:
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


def _compare_brackets(gold: _Sentence, predicted: _Sentence) -> BracketScores:
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


@dataclass(frozen=True)
class AttachmentScore(SummedScores):
    """Counts of words and their percentages (0 to 100); a percentage is 0 if there are no words.

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
    universal_arcs: int = 0
    """Words with their gold head and their gold relation to it, but for its subtype: the part from a colon on."""
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
    def las_universal(self) -> float:
        """Labelled attachment score without subtypes of relations, as in the CoNLL 2018 shared task."""
        return percentage(self.universal_arcs, self.words)

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
    """Score predicted trees against gold trees; relations are compared with their subtypes, and also without.

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
        total += _compare_heads(sentence, other, _heads(sentence, number, "gold"), _heads(other, number, "prediction"))
    return total


def _heads(sentence: DependencySentence, number: int, where: str) -> tuple[int, ...]:
    """Return the heads of a sentence; raise ValueError if it has none."""
    if sentence.heads is None:
        raise ValueError(f"sentence {number} of the {where} has no heads; give a sentence that is parsed")
    return sentence.heads


def _compare_heads(
    gold: DependencySentence, predicted: DependencySentence, gold_heads: tuple[int, ...], heads: tuple[int, ...]
) -> AttachmentScore:
    """Score one sentence."""
    has_head = [a == b for a, b in zip(gold_heads, heads, strict=True)]
    has_relation = [a == b for a, b in zip(gold.relations, predicted.relations, strict=True)]
    has_arc = [*map(and_, has_head, has_relation)]
    is_universal = [
        a.partition(":")[0] == b.partition(":")[0] for a, b in zip(gold.relations, predicted.relations, strict=True)
    ]
    is_kept = [not _is_punctuation(form) for form in gold.forms]
    return AttachmentScore(
        sentences=1,
        complete_sentences=int(all(has_head)),
        words=len(has_head),
        heads=sum(has_head),
        arcs=sum(has_arc),
        universal_arcs=sum(map(and_, has_head, is_universal)),
        words_no_punctuation=sum(is_kept),
        heads_no_punctuation=sum(map(and_, has_head, is_kept)),
        arcs_no_punctuation=sum(map(and_, has_arc, is_kept)),
    )


def _is_punctuation(form: str) -> bool:
    """Tell whether all characters of a word are punctuation."""
    return all(unicodedata.category(character).startswith("P") for character in form)


@dataclass(frozen=True)
class TaggingScore(SummedScores):
    """Counts of tokens and their percentages (0 to 100); a percentage is 0 if there are no tokens.

    >>> half = TaggingScore(tokens=4, correct=3, unknown=1, unknown_correct=0)
    >>> (half + half).correct, (half + half).accuracy
    (6, 75.0)
    """

    tokens: int = 0
    correct: int = 0
    """Tokens whose predicted tag is the gold one."""
    unknown: int = 0
    """Tokens whose word is not known from training."""
    unknown_correct: int = 0
    """Tokens whose word is not known and whose predicted tag is the gold one."""

    @property
    def accuracy(self) -> float:
        """Percentage of tokens with the gold tag: 100 correct / tokens."""
        return percentage(self.correct, self.tokens)

    @property
    def unknown_accuracy(self) -> float:
        """Accuracy on unknown words: 100 unknown_correct / unknown."""
        return percentage(self.unknown_correct, self.unknown)

    @property
    def known_accuracy(self) -> float:
        """Accuracy on known words: 100 (correct - unknown_correct) / (tokens - unknown)."""
        return percentage(self.correct - self.unknown_correct, self.tokens - self.unknown)


def score_tags(
    gold: Iterable[Sequence[tuple[str, str]]],
    predicted: Iterable[Sequence[tuple[str, str]]],
    known: Container[str] | None = None,
) -> TaggingScore:
    """Score predicted tags against gold tags.

    known: the words of training; if not given, every word is known.

    Raises `ValueError` if there are not as many predicted sentences as gold sentences, or if a sentence has other
    words.

    >>> gold = [[("the", "DT"), ("dogs", "NNS"), ("bark", "VBP")]]
    >>> predicted = [[("the", "DT"), ("dogs", "NN"), ("bark", "VBP")]]
    >>> score_tags(gold, predicted, known={"the"})
    TaggingScore(tokens=3, correct=2, unknown=2, unknown_correct=1)
    """
    tokens = correct = unknown = unknown_correct = 0
    for number, (sentence, other) in enumerate(zip(gold, predicted, strict=True), start=1):
        if [word for word, _ in sentence] != [word for word, _ in other]:
            raise ValueError(f"the words of sentence {number} differ in gold and prediction; tag the gold words")
        tokens += len(sentence)
        for (word, tag), (_, predicted_tag) in zip(sentence, other, strict=True):
            is_correct = tag == predicted_tag
            is_unknown = known is not None and word not in known
            correct += is_correct
            unknown += is_unknown
            unknown_correct += is_correct and is_unknown
    return TaggingScore(tokens, correct, unknown, unknown_correct)


def many_to_one(gold: Iterable[Hashable], predicted: Iterable[Hashable]) -> float:
    """Compute the accuracy in percent if each predicted label stands for the most frequent gold label of its tokens.

    The accuracy grows with the number of predicted labels, up to 100.  Compare only predictions with the same number of
    labels.

    Raises `ValueError` if there are not as many predicted labels as gold labels; without tokens the result is 0.

    >>> many_to_one(["N", "N", "N", "V", "D"], [1, 1, 2, 3, 3])
    80.0
    """
    table = _contingency(gold, predicted)
    return percentage(int(table.max(axis=0).sum()), int(table.sum())) if table.nnz else 0.0


def one_to_one(gold: Iterable[Hashable], predicted: Iterable[Hashable]) -> float:
    """Compute the accuracy in percent under the best assignment of different gold labels to predicted labels.

    If one side has more labels than the other, some labels have no partner, and their tokens are wrong.

    Raises `ValueError` if there are not as many predicted labels as gold labels; without tokens the result is 0.

    >>> one_to_one(["N", "N", "N", "V", "D"], [1, 1, 2, 3, 3])
    60.0
    """
    table = _contingency(gold, predicted).toarray()
    matched = int(table[scipy.optimize.linear_sum_assignment(table, maximize=True)].sum())
    return percentage(matched, int(table.sum()))


def v_measure(gold: Iterable[Hashable], predicted: Iterable[Hashable], beta: float = 1.0) -> float:
    """Compute the weighted harmonic mean of homogeneity and completeness, in percent; see the head of this module.

    Homogeneity is large if the tokens of each predicted label have few gold labels.  Completeness is large if the
    tokens of each gold label have few predicted labels.

    beta: the weight of completeness; with 1 the measure is symmetric.

    Raises `ValueError` if there are not as many predicted labels as gold labels; without tokens the result is 0.

    >>> v_measure("aabb", [1, 1, 2, 2]), v_measure("aabb", [1, 1, 1, 1])
    (100.0, 0.0)
    """
    table = _contingency(gold, predicted)
    if not table.nnz:
        return 0.0
    of_gold: IntArray = np.asarray(table.sum(axis=1))
    of_predicted: IntArray = np.asarray(table.sum(axis=0))
    cells = table.tocoo()
    homogeneity = _explained(cells.data, of_predicted[cells.col], of_gold)
    completeness = _explained(cells.data, of_gold[cells.row], of_predicted)
    if not (homogeneity and completeness):
        return 0.0
    return 100 * (1 + beta) * homogeneity * completeness / (beta * homogeneity + completeness)


def _contingency(gold: Iterable[Hashable], predicted: Iterable[Hashable]) -> scipy.sparse.csr_array[np.int64]:
    """Count the tokens n_ck with gold label c and predicted label k; labels are numbered as they first occur."""
    rows: Vocabulary[Hashable] = Vocabulary()
    columns: Vocabulary[Hashable] = Vocabulary()
    cells = [(rows.add(label), columns.add(other)) for label, other in zip(gold, predicted, strict=True)]
    row, column = np.array(cells, dtype=np.int64).reshape(-1, 2).T  # [n], [n]
    return scipy.sparse.coo_array(
        (np.ones(len(cells), np.int64), (row, column)), shape=(len(rows), len(columns))
    ).tocsr()


def _explained(cells: IntArray, margins: IntArray, totals: IntArray) -> float:
    """Compute 1 - H(X|Y) / H(X) from the counts (p,) of pairs, the count (p,) of each pair's y, and those of x (q,)."""
    # Both entropies are multiplied by the number of tokens, which their quotient does not show.
    entropy = -float(totals @ np.log(totals / totals.sum()))
    conditional = -float(cells @ np.log(cells / margins))
    return max(0.0, 1 - conditional / entropy) if len(totals) > 1 else 1.0
