"""Score the candidates of n-best lists against gold trees, to train rerankers and to evaluate them.

An evaluation compares the base parser's trees, the chosen trees and the best trees of n-best lists.

| here | formula | source |
| --- | --- | --- |
| `Difference.error_reduction` | 100 (b - a) / (100 - a) for percentages a and b | |
| `paired_bootstrap` | quantiles of b* - a*, for sentences drawn with replacement | Efron and Tibshirani 1993, 13.3 |

Scores are dataclasses of counts that can be added, such as `BracketScores` and `AttachmentScore`.  A measure makes a
percentage of a score, as in `lambda score: score.f1`.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from itertools import chain
from operator import add
from typing import Any, NamedTuple, TypeVar

import numpy as np

from spectral_latent.constituency import FALLBACK, Phrase
from spectral_latent.constituency.cleaning import tagged_words
from spectral_latent.dependency import DependencySentence
from spectral_latent.evaluation.scores import AttachmentScore, BracketScores, score_attachments, score_brackets
from spectral_latent.reranking import NBest, words_of
from spectral_latent.trees import FloatArray

Score = TypeVar("Score", bound=Any)


class Difference(NamedTuple):
    """The percentages of two systems on the same sentences.

    low, high: the bounds of a confidence interval for other - base."""

    base: float
    other: float
    low: float
    high: float

    @property
    def error_reduction(self) -> float:
        """The percentage of the first system's error that the second system removes; 0 if there was no error."""
        return 100 * (self.other - self.base) / (100 - self.base) if self.base != 100 else 0.0


def paired_bootstrap(
    base: Sequence[Score],
    other: Sequence[Score],
    measure: Callable[[Score], float],
    *,
    samples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> Difference:
    """Compare two systems on the same sentences, with a confidence interval."""
    if not base or len(base) != len(other):
        raise ValueError(
            f"scores of {len(base)} and of {len(other)} sentences; give both systems the same sentences, at least one"
        )
    make = type(base[0])
    counts = np.array([[*vars(a).values(), *vars(b).values()] for a, b in zip(base, other, strict=True)])  # (L, 2c)
    rng = np.random.default_rng(seed)

    def both(totals: Any) -> tuple[float, float]:
        """Measure both systems, given the sums (2c,) of their counts."""
        a, b = np.split(totals, 2)
        return measure(make(*a.tolist())), measure(make(*b.tolist()))

    # A sample is the number of times that each of L sentences is drawn; the product adds up their counts.
    shares = np.full(len(base), 1 / len(base))
    drawn = [both(rng.multinomial(len(base), shares) @ counts) for _ in range(samples)]
    low, high = np.quantile([b - a for a, b in drawn], [(1 - level) / 2, (1 + level) / 2])
    return Difference(*both(counts.sum(axis=0)), float(low), float(high))


class CandidateScores(NamedTuple):
    """The scores of all candidates.

    measure: the function that makes a percentage of a score.
    gains: (n,) the gain of each candidate, list after list, for `Reranker.train`.
    scores: (L,) the scores of each list's candidates; for a list without candidates, the score of a stand-in tree."""

    measure: Callable[[Any], float]
    gains: FloatArray
    scores: list[list[Any]]

    def evaluate(self, chosen: Iterable[int], *, samples: int = 2000) -> tuple[Difference, float]:
        """Compare the first candidates with the chosen ones; also measure the best ones, which no reranker can exceed.

        chosen: (L,) the place of a candidate in each list; -1 for the stand-in tree."""
        best = [max(row, key=self.measure) for row in self.scores]
        taken = [row[i] for row, i in zip(self.scores, chosen, strict=True)]
        first = [row[0] for row in self.scores]
        difference = paired_bootstrap(first, taken, self.measure, samples=samples)
        return difference, self.measure(reduce(add, best))


def score_dependency_lists(lists: Sequence[NBest], gold: Sequence[DependencySentence]) -> CandidateScores:
    """Score candidates by the heads of words that are not punctuation.

    A gain is a number of right heads.  A list without candidates has the score of a tree without right heads."""
    _require_same_words(lists, gold)
    rows: list[list[AttachmentScore]] = []
    for nbest, sentence in zip(lists, gold, strict=True):
        stand_in = sentence.with_heads((-1,) * len(sentence.forms))
        trees = [tree for tree, *_ in nbest.candidates if isinstance(tree, DependencySentence)] or [stand_in]
        rows.append([score_attachments([sentence], [tree]) for tree in trees])
    gains = _of_candidates(lists, [[float(score.heads_no_punctuation) for score in row] for row in rows])
    return CandidateScores(lambda score: score.uas_no_punctuation, gains, list(rows))


def score_phrase_lists(lists: Sequence[NBest], gold: Sequence[Phrase]) -> CandidateScores:
    """Score candidates by F1 as in EVALB.

    A gain is F1 (from 0 to 1) times the number of words.  A list without candidates has the score of a flat `FALLBACK`.
    """
    _require_same_words(lists, gold)
    rows: list[list[BracketScores]] = []
    for nbest, right in zip(lists, gold, strict=True):
        trees = [tree for tree, *_ in nbest.candidates if isinstance(tree, Phrase)] or [_flat(right)]
        rows.append([score_brackets([(right, tree)]) for tree in trees])
    gains = [[len(words_of(right)) * score.f1 / 100 for score in row] for right, row in zip(gold, rows, strict=True)]
    return CandidateScores(lambda score: score.f1, _of_candidates(lists, gains), list(rows))


def _flat(gold: Phrase) -> Phrase:
    """Put the words under one label, with their gold tags, because EVALB recognises punctuation by its tags."""
    return Phrase(FALLBACK, tuple(Phrase(tag, (word,)) for tag, word in tagged_words(gold)))


def _of_candidates(lists: Sequence[NBest], rows: Iterable[Sequence[float]]) -> FloatArray:
    """Join the rows of those lists that have candidates."""
    return np.array(list(chain.from_iterable(row for nbest, row in zip(lists, rows, strict=True) if len(nbest))), float)


def _require_same_words(lists: Sequence[NBest], gold: Sequence[Phrase | DependencySentence]) -> None:
    """Raise ValueError unless each list has the words of its gold tree."""
    if len(lists) != len(gold):
        raise ValueError(f"{len(lists)} n-best lists for {len(gold)} gold trees; give the gold trees of the same text")
    for nbest, words in zip(lists, map(words_of, gold), strict=True):
        if len(nbest) and nbest.words != words:
            raise ValueError(
                f"sentence {nbest.id}: the candidates have the words {' '.join(nbest.words)!r:.60}, the gold tree "
                f"{' '.join(words)!r:.60}; give lists and gold trees of the same text in the same order"
            )
