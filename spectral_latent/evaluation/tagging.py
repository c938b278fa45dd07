"""Score tags by accuracy, or labels of any kind by their agreement with gold tags.

The unsupervised measures compare the gold and the predicted labels of all tokens through their contingency table: n_ck
tokens have the gold label c and the predicted label k; n_c and n_k are the sums of rows and columns, n is the total.

| function | formula | source |
| --- | --- | --- |
| `many_to_one` | Σ_k max_c n_ck / n | Johnson 2007, Why doesn't EM find good HMM POS-taggers? |
| `one_to_one` | max over one-to-one σ of Σ_k n_σ(k)k / n | Johnson 2007, with the best σ in place of a greedy one |
| `v_measure` | (1 + β) h c / (β h + c) | Rosenberg and Hirschberg 2007, V-measure, section 2 |

where h = 1 - H(C|K) / H(C) is homogeneity, c = 1 - H(K|C) / H(K) completeness, each 1 if its denominator is 0.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from spectral_latent.evaluation._scores import SummedScores, percentage
from spectral_latent.trees import IntArray, Vocabulary

__all__ = ["TaggingScore", "many_to_one", "one_to_one", "score_tags", "v_measure"]


@dataclass(frozen=True)
class TaggingScore(SummedScores):
    """SummedScores of tokens and their percentages (0 to 100); a percentage is 0 if there are no tokens.

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

    gold: sentences of words with tags.
    predicted: the same sentences with predicted tags.
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

    gold: the label of each token.
    predicted: the label of each token.

    Raises `ValueError` if there are not as many predicted labels as gold labels; without tokens the result is 0.

    >>> many_to_one(["N", "N", "N", "V", "D"], [1, 1, 2, 3, 3])
    80.0
    """
    table = _contingency(gold, predicted)
    return percentage(int(table.max(axis=0).sum()), int(table.sum())) if table.nnz else 0.0


def one_to_one(gold: Iterable[Hashable], predicted: Iterable[Hashable]) -> float:
    """Compute the accuracy in percent under the best assignment of different gold labels to predicted labels.

    If one side has more labels than the other, some labels have no partner, and their tokens are wrong.

    gold: the label of each token.
    predicted: the label of each token.

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

    gold: the label of each token.
    predicted: the label of each token.
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
    """Compute 1 - H(X|Y) / H(X); 1 if there is only one x.

    cells: (p,) the counts of pairs (x, y).
    margins: (p,) the count of each pair's y.
    totals: (q,) the count of each x.
    """
    entropy = -float(totals @ np.log(totals / totals.sum()))
    conditional = -float(cells @ np.log(cells / margins))
    return max(0.0, 1 - conditional / entropy) if len(totals) > 1 else 1.0
