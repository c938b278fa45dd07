"""A reranker as it is saved and applied: what it weighs, and the latent models that give some of it.

A file holds the weights and the names of features, and these say the rest: how many scores candidates have, which
events of trees are counted, and which latent models there are to be, by the first part of the names of what they
give.  The models have files of their own, and are given again by the same names.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from spectral_latent.constituency import ConstituencyModel
from spectral_latent.dependency import DependencyModel, DependencySentence
from spectral_latent.operators import ModelFileError
from spectral_latent.reranking.candidates import NBest
from spectral_latent.reranking.features import BaseFeatures, ListTransformer
from spectral_latent.reranking.latent import LatentFeatures
from spectral_latent.reranking.perceptron import PerceptronOptions, PerceptronReranker
from spectral_latent.reranking.tables import FeatureTable, group_of
from spectral_latent.reranking.templates import TreeTemplates
from spectral_latent.trees import IntArray

__all__ = ["LATENT", "LatentModels", "Reranker", "feature_table", "models_needed"]

LatentModels: TypeAlias = Mapping[str, ConstituencyModel | DependencyModel]

LATENT = "latent"  # the name of a model that has no other
_BASE = "base"
_OF_DEPENDENCIES = ("siblings", "grandparent")
_TEMPLATES = (*_OF_DEPENDENCIES, "rule", "parent-rule", "heads")


@dataclass(frozen=True, eq=False)
class Reranker:
    """Weights of features, and the latent models (by name) that give some of these.

    Raises ValueError if the models are not those by whose names there are features.

    >>> from spectral_latent.constituency import Phrase
    >>> from spectral_latent.reranking.candidates import Candidate
    >>> def tree(first, noun): return Phrase("S", (Phrase(first, (noun,)), Phrase("VB", ("run",))))
    >>> nouns = ("cats", "dogs", "mice", "men")
    >>> lists = [NBest.of([Candidate(tree("VB", noun), -1.0), Candidate(tree("NN", noun), -2.0)]) for noun in nouns]
    >>> model = ConstituencyModel.train(tree("NN", noun) for noun in nouns)
    >>> reranker = Reranker.train(lists, gains=[0, 1] * 4, models={"latent": model}, templates=False)
    >>> reranker.rerank(lists), reranker.ranking(lists[0])
    (array([1, 1, 1, 1]), array([1, 0]))
    """

    perceptron: PerceptronReranker
    models: LatentModels = field(default_factory=dict)

    def __post_init__(self) -> None:
        needed, given = models_needed(self.perceptron), set(self.models)
        if missing := sorted(needed - given):
            raise ValueError(f"the reranker needs latent models named {', '.join(missing)}; give those it learnt with")
        if unknown := sorted(given - needed):
            raise ValueError(
                f"the reranker has no features of latent models named {', '.join(unknown)}; leave them out"
            )

    @staticmethod
    def train(
        lists: Sequence[NBest],
        gains: ArrayLike,
        models: LatentModels,
        *,
        templates: bool = True,
        options: PerceptronOptions | None = None,
    ) -> Reranker:
        """Learn to choose the candidates of large gains (n,).  Raises as `feature_table` and `PerceptronReranker.fit`.

        The models should not have learnt from the sentences of the lists; see `jackknifed` where they have.
        """
        table = feature_table(lists, models, templates=templates)
        return Reranker(PerceptronReranker.train(table, gains, options), dict(models))

    def table(self, lists: Sequence[NBest]) -> FeatureTable:
        """The features of lists.  Raises ValueError for other scores than training had, or another formalism."""
        names = self.perceptron.names
        scores = {name for name in names if name.startswith("base:score") and not name.endswith("-per-word")}
        events = [name for name in names if group_of(name) in _TEMPLATES]
        parts: list[ListTransformer] = [BaseFeatures(len(scores)), *_latent(self.models)]
        if events:
            _require_formalism(lists, has_heads=group_of(events[0]) in _OF_DEPENDENCIES)
            parts.append(TreeTemplates(vocabulary=events))
        return _together(part.table(lists) for part in parts).aligned(names)

    def rerank(self, lists: Sequence[NBest]) -> IntArray:
        """The place of the best candidate in each list (L,); -1 in a list without candidates.  Raises as `table`."""
        return self.perceptron.rerank(self.table(lists))

    def rescored(self, lists: Sequence[NBest]) -> list[NBest]:
        """The lists, every candidate with the reranker's score before its own.  Raises as `table`."""
        table = self.table(lists)
        scores = self.perceptron.scores(table)
        spans = zip(lists, pairwise(table.start.tolist()), strict=True)
        return [each.rescored(scores[begin:end]) for each, (begin, end) in spans]

    def ranking(self, nbest: NBest) -> IntArray:
        """The places (n,) of the candidates by falling score, of equals the first.  Raises as `table`."""
        return np.argsort(-self.perceptron.scores(self.table([nbest])), kind="stable")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the weights to one file, whole or not at all; the models are not in it."""
        self.perceptron.save(path)

    @staticmethod
    def load(path: str | os.PathLike[str], models: LatentModels) -> Reranker:
        """Read a reranker.  Raises ModelFileError if the file is no whole one, or needs other models than these."""
        perceptron = PerceptronReranker.load(path)
        try:
            return Reranker(perceptron, dict(models))
        except ValueError as error:
            raise ModelFileError(f"{path}: {error}") from None


def models_needed(perceptron: PerceptronReranker) -> set[str]:
    """The names of the latent models that gave some of the features."""
    return {group_of(name) for name in perceptron.names} - {_BASE, *_TEMPLATES}


def feature_table(lists: Sequence[NBest], models: LatentModels, *, templates: bool = True) -> FeatureTable:
    """All features of lists: of the base parser, of each model by its name, and of templates as `TreeTemplates` fits.

    Raises ValueError for a model's name that is a group of other features or has a colon, for trees of another
    formalism than a model's, and for lists of which some have other scores than the rest.

    >>> feature_table([], {}).names
    ('base:rank', 'base:log-rank')
    """
    for name in models:
        if name in (_BASE, *_TEMPLATES) or ":" in name or not name:
            raise ValueError(f"a latent model cannot be named {name!r}; give a name without colons such as latent")
    parts: list[ListTransformer] = [BaseFeatures(), *_latent(models), *([TreeTemplates()] if templates else [])]
    return _together(part.fit_table(lists) for part in parts)


def _require_formalism(lists: Sequence[NBest], has_heads: bool) -> None:
    for tree, *_ in chain.from_iterable(each.candidates for each in lists):
        if isinstance(tree, DependencySentence) != has_heads:
            learnt, given = ("dependencies", "phrases") if has_heads else ("phrases", "dependencies")
            raise ValueError(f"{given} for a reranker of {learnt}; give it n-best lists of {learnt}")


def _latent(models: LatentModels) -> list[LatentFeatures]:
    return [LatentFeatures(model, name) for name, model in models.items()]


def _together(tables: Iterator[FeatureTable]) -> FeatureTable:
    first, *others = tables
    return first.joined(*others)
