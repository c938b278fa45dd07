"""What a latent model knows of candidates: the probabilities of the trees, and the posteriors of their parts.

| feature | of a candidate |
| --- | --- |
| `log` | log |p̂|; the least one of its list, if p̂ is zero |
| `log-per-word` | the same, divided by the number of words |
| `sign` | 1, -1, or 0 for a tree that the model does not derive |
| `sum`, `mean`, `least` | of the posteriors of its parts; the mean is the expected accuracy |
| `sum-of-logs` | of the same, none taken to be below 10⁻⁶ |
| `unlikely` | how many of its parts have a posterior below 10⁻² |

The parts of a dependency tree are its arcs, those of a phrase its labelled constituents, tags and the root included.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from spectral_latent.constituency import ConstituencyModel, Phrase
from spectral_latent.dependency import DependencyModel, DependencySentence
from spectral_latent.inference import Weight
from spectral_latent.reranking.candidates import NBest
from spectral_latent.reranking.features import ListTransformer, finite_scores
from spectral_latent.reranking.tables import FeatureTable
from spectral_latent.trees import FloatArray

__all__ = ["LatentFeatures"]

_FEATURES = ("log", "log-per-word", "sign", "sum", "mean", "least", "sum-of-logs", "unlikely")
_LEAST, _UNLIKELY = 1e-6, 1e-2
_BATCH = 100  # sentences whose candidates are scored at once


@dataclass
class LatentFeatures(ListTransformer):
    """The features that one model gives; `name` stands before each, so that several models can be told apart.

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

    def table(self, lists: Sequence[NBest]) -> FeatureTable:
        """The features of lists.  Raises ValueError for trees of another formalism than the model's."""
        columns = [np.zeros((0, len(_FEATURES)))]
        for at in range(0, len(lists), _BATCH):
            columns += self._columns(lists[at : at + _BATCH])
        values = dict(zip(self.feature_names(), np.concatenate(columns).T, strict=True))
        return FeatureTable.measures(values, [len(each) for each in lists], [each.id for each in lists])

    def feature_names(self) -> tuple[str, ...]:
        """The names of the features."""
        return tuple(f"{self.name}:{feature}" for feature in _FEATURES)

    def _columns(self, lists: Sequence[NBest]) -> Iterator[FloatArray]:
        """The features (n, d) of each list that has candidates."""
        full = [each for each in lists if len(each)]
        weight = self._weights(full)
        start = 0
        for each in full:
            rows = slice(start, start + len(each))
            start += len(each)
            log = finite_scores(weight.log[rows])
            parts = self._posteriors(each)
            n_parts = np.array([len(part) for part in parts])
            low = [np.maximum(part, _LEAST) for part in parts]
            total = np.array([part.sum() for part in parts])
            yield np.stack(
                [
                    log,
                    log / max(len(each.words), 1),
                    weight.sign[rows].astype(float),
                    total,
                    total / np.maximum(n_parts, 1),
                    np.array([part.min(initial=1.0) for part in parts]),
                    np.array([np.log(part).sum() for part in low]),
                    np.array([np.count_nonzero(part < _UNLIKELY) for part in parts], dtype=float),
                ],
                axis=1,
            )

    def _weights(self, lists: Sequence[NBest]) -> Weight:
        """p̂ of all candidates."""
        trees = [candidate.tree for candidate in chain.from_iterable(each.candidates for each in lists)]
        if isinstance(self.model, ConstituencyModel):
            return self.model.score(_phrases(trees))
        return _of_one_root(self.model, _sentences(trees))

    def _posteriors(self, nbest: NBest) -> list[FloatArray]:
        """Those of each candidate's parts."""
        trees = [candidate.tree for candidate in nbest.candidates]
        if isinstance(self.model, ConstituencyModel):
            return self.model.part_posteriors(_phrases(trees))
        return self.model.part_posteriors(_sentences(trees))


def _of_one_root(model: DependencyModel, trees: Sequence[DependencySentence]) -> Weight:
    """p̂ of dependency trees; zero where several words hang from the root, which a model does not have."""
    at = [k for k, tree in enumerate(trees) if len(tree.roots) == 1]
    sign, log = np.zeros(len(trees), dtype=np.int64), np.full(len(trees), -np.inf)
    sign[at], log[at] = model.score([trees[k] for k in at])
    return Weight(sign, log)


def _phrases(trees: Sequence[object]) -> list[Phrase]:
    found = [tree for tree in trees if isinstance(tree, Phrase)]
    if len(found) < len(trees):
        raise ValueError("dependency trees for a model of phrases; give it n-best lists of phrases")
    return found


def _sentences(trees: Sequence[object]) -> list[DependencySentence]:
    found = [tree for tree in trees if isinstance(tree, DependencySentence)]
    if len(found) < len(trees):
        raise ValueError("phrases for a model of dependencies; give it n-best lists of dependency trees")
    return found
