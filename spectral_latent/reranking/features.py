"""Compute the features of candidates that come from the lists: their scores, and their places in the lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from spectral_latent.reranking.candidates import NBest
from spectral_latent.reranking.tables import FeatureTable
from spectral_latent.trees import FloatArray

__all__ = ["BaseFeatures", "finite_scores", "measure_table"]


@dataclass(frozen=True)
class BaseFeatures:
    """Features of the base parser's order and scores.

    | feature | of candidate i = 0, 1, ... of a sentence of n words |
    | --- | --- |
    | `base:rank`, `base:log-rank` | i, log(1 + i) |
    | `base:score` | its score; for an impossible tree the smallest finite score of its list |
    | `base:score-per-word` | `base:score` / n |
    | `base:score-2`, `-3`, ... | its other scores in the same way; each also has a `-per-word` |
    | `base:impossible` | 1 if one of its scores is -inf, else 0 |

    n_scores: the number of scores that every candidate must have.

    >>> from spectral_latent.constituency import Phrase
    >>> from spectral_latent.reranking.candidates import Candidate
    >>> candidates = [Candidate(Phrase(tag, ("run",)), score) for tag, score in (("NN", -1.0), ("VB", -3.0))]
    >>> BaseFeatures(n_scores=1).table([NBest.of(candidates)]).values.toarray()[:, :3]
    array([[ 0.  ,  0.  , -1.  ],
           [ 1.  ,  0.69, -3.  ]])
    """

    n_scores: int

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        names = ["base:rank", "base:log-rank"]
        for number in range(1, self.n_scores + 1):
            name = "base:score" if number == 1 else f"base:score-{number}"
            names += [name, f"{name}-per-word"]
        return (*names, "base:impossible") if self.n_scores else tuple(names)

    def table(self, lists: Sequence[NBest]) -> FeatureTable:
        """Compute the features of lists.

        lists: L lists of n candidates in all.

        Raises ValueError for a list whose candidates have another number of scores.
        """
        return measure_table(self.names, map(self._columns, filter(len, lists)), lists)

    def _columns(self, nbest: NBest) -> FloatArray:
        """Compute the features (n, d) of one list that has candidates."""
        if nbest.n_scores != self.n_scores:
            raise ValueError(
                f"sentence {nbest.id}: {nbest.n_scores} scores for each candidate where {self.n_scores} are needed; "
                f"give all lists the scores of the same parser, or leave the scores out of all"
            )
        rank = np.arange(len(nbest), dtype=float)
        columns = [rank, np.log1p(rank)]
        scores = np.array([candidate.scores for candidate in nbest.candidates]).reshape(len(nbest), -1).T
        for score in scores:
            finite = finite_scores(score)
            columns += [finite, finite / max(len(nbest.words), 1)]
        if len(scores):
            columns.append(np.isinf(scores).any(axis=0).astype(float))
        return np.stack(columns, axis=1)


def measure_table(names: Sequence[str], blocks: Iterable[FloatArray], lists: Sequence[NBest]) -> FeatureTable:
    """Make the table of measures of lists.

    names: (d,) the names of the features.
    blocks: the features (n, d) of each list that has candidates.

    >>> nbest = NBest.of([], id="7")
    >>> measure_table(["a", "b"], [], [nbest]).values.shape
    (0, 2)
    """
    values = np.concatenate([np.zeros((0, len(names))), *blocks])
    columns = dict(zip(names, values.T, strict=True))
    return FeatureTable.measures(columns, [len(nbest) for nbest in lists], [nbest.id for nbest in lists])


def finite_scores(score: FloatArray) -> FloatArray:
    """Replace -inf among the scores (n,) of a list by its smallest finite score, or by 0 if there is none.

    score: (n,) one score of each candidate of a list.
    """
    is_finite = np.isfinite(score)
    return np.where(is_finite, score, score[is_finite].min() if is_finite.any() else 0.0)
