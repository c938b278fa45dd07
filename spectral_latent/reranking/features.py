"""Compute features of candidates: their scores and places in the lists, and what latent models say of them.

The features are one matrix: a row for each candidate, list after list.

| here | meaning |
| --- | --- |
| n, L, d | candidates, lists, features |
| `values` (n, d) | the features |
| `start` (L + 1,) | list i has the rows start[i] ... start[i+1] - 1 |

The base parser gives an order and scores to the candidates i = 0, 1, ... of a sentence of n words.

| feature | of a candidate |
| --- | --- |
| `base:rank`, `base:log-rank` | i, log(1 + i) |
| `base:score` | its score; for an impossible tree the smallest finite score of its list |
| `base:score-per-word` | `base:score` / n |
| `base:score-2`, `-3`, ... | its other scores in the same way; each also has a `-per-word` |
| `base:impossible` | 1 if one of its scores is -inf, else 0 |

A latent model gives probabilities, and posteriors of the parts of a candidate.

| feature | of a candidate |
| --- | --- |
| `log` | log |p̂|; if p̂ is zero, the least finite log |p̂| of its list |
| `log-per-word` | `log` divided by the number of words |
| `sign` | the sign of p̂: 1, -1, or 0 for a tree that the model does not derive |
| `sum`, `mean`, `least` | the sum, mean and minimum of the posteriors of its parts; the mean is the expected accuracy |
| `sum-of-logs` | the sum of the logarithms of these posteriors, each raised to at least 10⁻⁶ |
| `unlikely` | the number of its parts with a posterior below 10⁻² |

The parts of a dependency tree are its arcs.  The parts of a phrase are its labelled constituents, among them tags and
the root.  Phrases are cleaned first (`NBest.cleaned`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spectral_latent.constituency import ConstituencyModel
from spectral_latent.dependency import DependencyModel, DependencySentence
from spectral_latent.inference import SignedLog
from spectral_latent.model.batches import batches_of
from spectral_latent.reranking.candidates import NBest, Parser, check_formalism
from spectral_latent.trees import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """The features of the candidates of lists, in the notation of this module.

    names: (d,) the names of the features.
    values: (n, d) the value of each feature of each candidate.
    start: (L + 1,) the first row of each list, and n.
    ids: (L,) the names of the sentences.

    Raises ValueError if the parts do not fit together, if two features have one name, or if a value is not finite.

    >>> table = FeatureTable.of({"base:score": [-1.0, -2.0, -5.0]}, sizes=[2, 1], ids=["a", "b"])
    >>> table.n_lists, table.values.ravel()
    (2, array([-1., -2., -5.]))
    """

    names: tuple[str, ...]
    values: FloatArray
    start: IntArray
    ids: tuple[str, ...]

    def __post_init__(self) -> None:
        n, d = self.values.shape
        sizes = np.diff(self.start)
        if (len(self.names), len(self.start)) != (d, len(self.ids) + 1):
            raise ValueError("the names, columns, lists and sentences of a table of features do not fit together")
        if len(set(self.names)) < d:
            raise ValueError("two features have one name; give each its own")
        if self.start[0] != 0 or self.start[-1] != n or (sizes < 0).any():
            raise ValueError(f"the lists of a table of features have {self.start[-1]} candidates, its matrix {n} rows")
        if not np.isfinite(self.values).all():
            raise ValueError("a feature is not a finite number; give one for every candidate")

    @staticmethod
    def of(columns: dict[str, ArrayLike], sizes: Iterable[int], ids: Sequence[str]) -> FeatureTable:
        """Make a table of columns.

        columns: (n,) the values of each feature, by its name.
        sizes: (L,) the number of candidates of each list.
        ids: (L,) the names of the sentences."""
        start = np.concatenate([[0], np.cumsum(list(sizes), dtype=np.int64)])
        values = np.array([np.asarray(column, dtype=float) for column in columns.values()])
        return FeatureTable(tuple(columns), values.reshape(len(columns), start[-1]).T, start, tuple(ids))

    @property
    def n_lists(self) -> int:
        """The number of lists, L."""
        return len(self.ids)

    def join(self, *others: FeatureTable) -> FeatureTable:
        """Join the features of several tables of the same candidates.

        Raises ValueError for tables of other lists, and for a feature that is in two tables."""
        tables = (self, *others)
        if any(table.ids != self.ids or not np.array_equal(table.start, self.start) for table in others):
            raise ValueError("tables of different lists cannot be joined; make both from one file")
        names = tuple(name for table in tables for name in table.names)
        return replace(self, names=names, values=np.concatenate([table.values for table in tables], axis=1))

    def align(self, names: Sequence[str]) -> FeatureTable:
        """Return the features of these names, in this order.

        Raises ValueError if the table lacks a feature.

        >>> table = FeatureTable.of({"base:rank": [1], "latent:log": [-2]}, [1], ["a"])
        >>> table.align(["latent:log"]).values
        array([[-2.]])
        """
        place = {name: column for column, name in enumerate(self.names)}
        if missing := [name for name in names if name not in place]:
            raise ValueError(f"no features {', '.join(missing)}; compute them as for training")
        return replace(self, names=tuple(names), values=self.values[:, [place[name] for name in names]])

    def of_lists(self, lists: ArrayLike) -> FeatureTable:
        """Return the table of some lists.

        lists: the places of the lists, in the order of the new table.

        >>> table = FeatureTable.of({"base:rank": [0, 1, 0]}, [2, 1], ["a", "b"])
        >>> table.of_lists([1, 0]).values.ravel(), table.of_lists([1]).ids
        (array([0., 0., 1.]), ('b',))
        """
        chosen = np.asarray(lists, dtype=np.int64)
        return replace(
            self,
            values=self.values[self.rows_of(chosen)],
            start=np.concatenate([[0], np.cumsum(np.diff(self.start)[chosen])]),
            ids=tuple(self.ids[i] for i in chosen.tolist()),
        )

    def rows_of(self, lists: IntArray) -> IntArray:
        """Return the places of the rows of some lists (n,), one list after the other."""
        return np.concatenate([np.zeros(0, np.int64), *(np.arange(self.start[i], self.start[i + 1]) for i in lists)])


# Of the lists


def base_names(n_scores: int) -> tuple[str, ...]:
    """Name the features of the base parser's order and scores."""
    names = ["base:rank", "base:log-rank"]
    for number in range(1, n_scores + 1):
        name = "base:score" if number == 1 else f"base:score-{number}"
        names += [name, f"{name}-per-word"]
    return (*names, "base:impossible") if n_scores else tuple(names)


def base_values(nbest: NBest, n_scores: int) -> FloatArray:
    """Compute the features (n, d) of the base parser of one list that has candidates."""
    if nbest.n_scores != n_scores:
        raise ValueError(
            f"sentence {nbest.id}: {nbest.n_scores} scores for each candidate where {n_scores} are needed; "
            f"give all lists the scores of the same parser, or leave the scores out of all"
        )
    rank = np.arange(len(nbest), dtype=float)
    columns = [rank, np.log1p(rank)]
    scores = np.array([candidate.scores for candidate in nbest.candidates]).reshape(len(nbest), -1).T
    for score in scores:
        finite = _finite(score)
        columns += [finite, finite / max(len(nbest.words), 1)]
    if len(scores):
        columns.append(np.isinf(scores).any(axis=0).astype(float))
    return np.stack(columns, axis=1)


def _finite(score: FloatArray) -> FloatArray:
    """Replace -inf among the scores (n,) of a list by its smallest finite score, or by 0 if there is none."""
    is_finite = np.isfinite(score)
    return np.where(is_finite, score, score[is_finite].min() if is_finite.any() else 0.0)


# Of latent models


_FEATURES = ("log", "log-per-word", "sign", "sum", "mean", "least", "sum-of-logs", "unlikely")
_LEAST = 1e-6  # the least posterior in a sum of logarithms
_UNLIKELY = 1e-2


def latent_names(model: str) -> tuple[str, ...]:
    """Name the features of a latent model."""
    return tuple(f"{model}:{feature}" for feature in _FEATURES)


def latent_values(model: Parser, lists: Sequence[NBest]) -> Iterator[FloatArray]:
    """Compute the features (n, d) of a latent model, of each list; all have candidates."""
    check_formalism(lists, isinstance(model, DependencyModel), "model")
    return chain.from_iterable(_of_batch(model, batch) for batch in batches_of(iter(lists)))


def _of_batch(model: Parser, lists: Sequence[NBest]) -> Iterator[FloatArray]:
    """Compute the features (n, d) of each list of a batch."""
    trees: list[Any] = list(chain.from_iterable(nbest.cleaned for nbest in lists))
    weight = model.score(trees) if isinstance(model, ConstituencyModel) else _score_rooted(model, trees)
    posteriors = model.part_posteriors(trees)
    n_parts = np.array([len(part) for part in posteriors])
    flat = np.concatenate(posteriors)
    starts = np.cumsum(n_parts) - n_parts
    logs = np.split(np.log(np.maximum(flat, _LEAST)), starts[1:])
    total = np.array([part.sum() for part in posteriors])
    measures = np.stack(
        [
            weight.sign.astype(float),
            total,
            total / n_parts,
            np.minimum.reduceat(flat, starts),
            np.array([part.sum() for part in logs]),
            np.add.reduceat(flat < _UNLIKELY, starts, dtype=float),
        ],
        axis=1,
    )
    start = 0
    for nbest in lists:
        rows = slice(start, start + len(nbest))
        start += len(nbest)
        log = _finite(weight.log[rows])
        yield np.column_stack([log, log / len(nbest.words), measures[rows]])


def _score_rooted(model: DependencyModel, trees: Sequence[DependencySentence]) -> SignedLog:
    """Score dependency trees; p̂ is zero for a tree with several roots, because a model does not derive it."""
    rooted = [place for place, tree in enumerate(trees) if len(tree.roots) == 1]
    weight = SignedLog(sign=np.zeros(len(trees), dtype=np.int64), log=np.full(len(trees), -np.inf))
    rooted_weight = model.score(trees[place] for place in rooted)
    weight.sign[rooted] = rooted_weight.sign
    weight.log[rooted] = rooted_weight.log
    return weight
