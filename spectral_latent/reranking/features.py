"""Features of candidates by scikit-learn's protocol (fit, transform, get_feature_names_out, get_params, set_params).

Scikit-learn itself is not needed.  What it calls samples are n-best lists; a transformed sample is a matrix with one
row for each candidate, list after list.  `table` gives the same rows with their names and lists.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spectral_latent.reranking.candidates import NBest
from spectral_latent.reranking.tables import FeatureTable
from spectral_latent.trees import FloatArray

__all__ = ["BaseFeatures", "ListTransformer", "finite_scores"]


class ListTransformer(ABC):
    """What makes features of n-best lists.  A subclass is a dataclass whose arguments are its parameters."""

    def fit(self, lists: Sequence[NBest], y: object = None) -> Self:
        """Settle which features there are."""
        self.fit_table(lists)
        return self

    def fit_table(self, lists: Sequence[NBest]) -> FeatureTable:
        """`fit`, then `table`, in one."""
        return self.table(lists)

    @abstractmethod
    def table(self, lists: Sequence[NBest]) -> FeatureTable:
        """The features of lists."""

    @abstractmethod
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features; ValueError before `fit`."""

    def transform(self, lists: Sequence[NBest]) -> sparse.csr_array:
        """The features (n, d) of all candidates of the lists."""
        return self.table(lists).values

    def fit_transform(self, lists: Sequence[NBest], y: object = None) -> sparse.csr_array:
        """`fit`, then `transform`."""
        return self.fit_table(lists).values

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """The names of the columns (d,)."""
        return np.array(self.feature_names(), dtype=object)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, by name."""
        return {name: getattr(self, name) for name in self._parameters()}

    def set_params(self, **params: Any) -> Self:
        """Change parameters; call `fit` after it.  Raises ValueError for one that there is not."""
        for name, value in params.items():
            if name not in self._parameters():
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; it has {self._parameters()}")
            setattr(self, name, value)
        return self

    def _parameters(self) -> list[str]:
        return [each.name for each in fields(self) if each.init]  # type: ignore[arg-type]


@dataclass
class BaseFeatures(ListTransformer):
    """What the lists themselves say: scores, and the place of a candidate among the others.

    | feature | of candidate i = 0, 1, ... of a sentence of n words |
    | --- | --- |
    | `base:rank`, `base:log-rank` | i, log(1 + i) |
    | `base:score` | its score; that of an impossible tree is the least finite one of its list |
    | `base:score-per-word` | the same, divided by n |
    | `base:impossible` | 1 for a score of -inf |
    | `base:score-2`, `-3`, ... | further scores; there is a `-per-word` of each |

    n_scores: how many scores candidates have; those of the lists given to `fit`, if not said.

    >>> from spectral_latent.constituency import Phrase
    >>> from spectral_latent.reranking.candidates import Candidate
    >>> candidates = [Candidate(Phrase(tag, ("run",)), score) for tag, score in (("NN", -1.0), ("VB", -3.0))]
    >>> base = BaseFeatures().fit([NBest.of(candidates)])
    >>> base.transform([NBest.of(candidates)]).toarray()[:, :3]
    array([[ 0.  ,  0.  , -1.  ],
           [ 1.  ,  0.69, -3.  ]])
    """

    n_scores: int | None = None
    _n_scores: int | None = field(default=None, init=False, repr=False)

    def fit_table(self, lists: Sequence[NBest]) -> FeatureTable:
        """`fit`, then `table`, in one."""
        found = max((len(each) and each.n_scores for each in lists), default=0)
        self._n_scores = found if self.n_scores is None else self.n_scores
        return self.table(lists)

    def table(self, lists: Sequence[NBest]) -> FeatureTable:
        """The features of lists.  Raises ValueError for one with other scores, or none, where training had them."""
        names = self.feature_names()
        columns = [np.zeros((0, len(names)))]
        columns += [self._columns(each) for each in lists if len(each)]
        values = dict(zip(names, np.concatenate(columns).T, strict=True))
        return FeatureTable.measures(values, [len(each) for each in lists], [each.id for each in lists])

    def feature_names(self) -> tuple[str, ...]:
        """The names of the features; ValueError before `fit`."""
        names = ["base:rank", "base:log-rank"]
        for k in range(self._fitted()):
            name = f"base:score-{k + 1}" if k else "base:score"
            names += [name, f"{name}-per-word"]
        return (*names, "base:impossible") if self._fitted() else tuple(names)

    def _fitted(self) -> int:
        n_scores = self._n_scores if self.n_scores is None else self.n_scores
        if n_scores is None:
            raise ValueError("the features have not been fitted; call fit with the lists of training")
        return n_scores

    def _columns(self, nbest: NBest) -> FloatArray:
        """The features (n, d) of one list."""
        if nbest.n_scores != self._fitted():
            raise ValueError(
                f"sentence {nbest.id}: {nbest.n_scores} scores for each candidate where {self._fitted()} are needed; "
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


def finite_scores(score: FloatArray) -> FloatArray:
    """The scores (n,) with the least finite one, or 0 if there is none, in place of -inf."""
    is_finite = np.isfinite(score)
    return np.where(is_finite, score, score[is_finite].min() if is_finite.any() else 0.0)
