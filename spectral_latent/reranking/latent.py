"""Compute the features of candidates that come from a latent model: probabilities, and posteriors of their parts.

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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from spectral_latent.constituency import ConstituencyModel
from spectral_latent.dependency import DependencyModel, DependencySentence
from spectral_latent.inference import SignedLog
from spectral_latent.model.batches import batches_of
from spectral_latent.reranking.candidates import NBest, check_formalism
from spectral_latent.reranking.features import finite_scores, measure_table
from spectral_latent.reranking.tables import FeatureTable
from spectral_latent.trees import FloatArray

__all__ = ["LatentFeatures"]

_FEATURES = ("log", "log-per-word", "sign", "sum", "mean", "least", "sum-of-logs", "unlikely")
_LEAST = 1e-6  # the least posterior in a sum of logarithms
_UNLIKELY = 1e-2


@dataclass(frozen=True)
class LatentFeatures:
    """Features of one latent model.

    model: a parser for trees of the candidates' kind.
    name: the first part of the name of each feature, which distinguishes several models.

    >>> from spectral_latent.constituency import Phrase
    >>> from spectral_latent.reranking.candidates import Candidate
    >>> trees = [Phrase("S", (Phrase("NN", (noun,)), Phrase("VB", ("run",)))) for noun in ("cats", "dogs")]
    >>> wrong = Phrase("S", (Phrase("VB", ("cats",)), trees[0].children[1]))
    >>> lists = [NBest.of([Candidate(trees[0]), Candidate(wrong)])]
    >>> table = LatentFeatures(ConstituencyModel.train(trees)).table(lists)
    >>> table.names[:3]
    ('latent:log', 'latent:log-per-word', 'latent:sign')
    >>> table.values.toarray()[:, 4].argmax()
    np.int64(0)
    """

    model: ConstituencyModel | DependencyModel
    name: str = "latent"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        return tuple(f"{self.name}:{feature}" for feature in _FEATURES)

    def table(self, lists: Sequence[NBest]) -> FeatureTable:
        """Compute the features of lists.  Raises ValueError for trees of another formalism than the model's.

        lists: L lists of n candidates in all.
        """
        check_formalism(lists, isinstance(self.model, DependencyModel), "model")
        columns = chain.from_iterable(map(self._columns, batches_of(nbest for nbest in lists if len(nbest))))
        return measure_table(self.names, columns, lists)

    def _columns(self, lists: Sequence[NBest]) -> Iterator[FloatArray]:
        """Compute the features (n, d) of each list of a batch; all have candidates."""
        trees: list[list[Any]] = [nbest.cleaned for nbest in lists]
        if isinstance(self.model, ConstituencyModel):
            weight, posteriors = self.model.score_with_parts(trees)
        else:
            sentences = list(chain.from_iterable(trees))
            weight = _score_rooted(self.model, sentences)
            posteriors = self.model.part_posteriors(sentences)
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
            log = finite_scores(weight.log[rows])
            yield np.column_stack([log, log / len(nbest.words), measures[rows]])


def _score_rooted(model: DependencyModel, trees: Sequence[DependencySentence]) -> SignedLog:
    """Score dependency trees; p̂ is zero for a tree with several roots, because a model does not derive it."""
    rooted = [place for place, tree in enumerate(trees) if len(tree.roots) == 1]
    weight = SignedLog(sign=np.zeros(len(trees), dtype=np.int64), log=np.full(len(trees), -np.inf))
    rooted_weight = model.score(trees[place] for place in rooted)
    weight.sign[rooted] = rooted_weight.sign
    weight.log[rooted] = rooted_weight.log
    return weight
