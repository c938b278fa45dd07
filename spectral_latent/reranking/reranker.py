"""Train, save and apply rerankers, which choose candidates by the weights of their features.

A file has the weights, the settings of the features, and the fingerprints of latent models.  Latent models have their
own files, and must be given again under the names that they had in training.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Annotated, Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from spectral_latent._options import AtLeast, AtMost, Count, ShortRepr, checked, counted
from spectral_latent.constituency import ConstituencyModel
from spectral_latent.dependency import DependencyModel
from spectral_latent.files import MAX_BYTES, Contents, Given, ModelFileError, StoredModel, open_model
from spectral_latent.model import Parses, check_kind
from spectral_latent.reranking.candidates import NBest, Parser, check_formalism, parses_to_nbest
from spectral_latent.reranking.choice import CandidateChoice, RerankerOptions
from spectral_latent.reranking.features import FeatureTable, base_names, base_values, latent_names, latent_values
from spectral_latent.trees import IntArray

LatentModels: TypeAlias = Mapping[str, ConstituencyModel | DependencyModel]

LATENT = "latent"  # the name of a latent model, if no name is given
N_CANDIDATES = 50  # the default of the number of trees from which a reranker chooses
_DIGITS = 12  # the digits of a fingerprint that a message shows


@dataclass(frozen=True, repr=False)
class CandidateFeatures(ShortRepr):
    """The features of a reranker: of the base parser and of latent models.

    has_heads: whether the candidates are dependency trees.

    Raises ValueError for a model's name that is empty, has a colon, or is the name of another group of features."""

    has_heads: bool
    n_scores: Annotated[int, AtLeast(0), AtMost(10_000)]
    models: Annotated[LatentModels, Given("models")] = field(default_factory=dict)

    @property
    def sizes(self) -> str:
        """The sizes of the model."""
        models = f", of the models {', '.join(self.models)}" if self.models else ""
        return f"{counted(len(self.names), 'feature')}{models}"

    def __post_init__(self) -> None:
        for name in self.models:
            if name == "base" or ":" in name or not name:
                raise ValueError(f"a latent model cannot be named {name!r}; give a name without colons such as latent")

    @staticmethod
    def train(lists: Sequence[NBest], models: LatentModels | None = None) -> CandidateFeatures:
        """Choose the features for training lists.

        lists: lists of one formalism.

        >>> CandidateFeatures.train([]).names
        ('base:rank', 'base:log-rank')
        """
        for nbest in lists:
            check_kind(nbest, NBest)
        n_scores = max((nbest.n_scores for nbest in lists), default=0)
        return CandidateFeatures(any(nbest.has_heads for nbest in lists), n_scores, dict(models or {}))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""
        return (*base_names(self.n_scores), *chain.from_iterable(map(latent_names, self.models)))

    def table(self, lists: Sequence[NBest]) -> FeatureTable:
        """Compute the features of lists.

        Raises ValueError for trees of another formalism, and for candidates with another number of scores."""
        check_formalism(lists, self.has_heads, "reranker")
        full = [nbest for nbest in lists if len(nbest)]
        of_base = (base_values(nbest, self.n_scores) for nbest in full)
        parts = zip(of_base, *(latent_values(model, full) for model in self.models.values()), strict=True)
        values = np.concatenate([np.zeros((0, len(self.names))), *map(np.column_stack, parts)])
        start = np.cumsum([0, *map(len, lists)])
        return FeatureTable(self.names, values, start, tuple(nbest.id for nbest in lists))


@dataclass(frozen=True, repr=False)
class Reranker(StoredModel):
    """A reranker, which chooses candidates by the weights of their features.

    Raises ValueError for weights of other features.

    >>> from spectral_latent.constituency import Phrase
    >>> from spectral_latent.reranking.candidates import Candidate
    >>> def tree(first, noun): return Phrase("S", (Phrase(first, (noun,)), Phrase("VB", ("run",))))
    >>> nouns = ("cats", "dogs", "mice", "men")
    >>> lists = [NBest.of([Candidate(tree("VB", noun), -1.0), Candidate(tree("NN", noun), -2.0)]) for noun in nouns]
    >>> model = ConstituencyModel.train(tree("NN", noun) for noun in nouns)
    >>> reranker = Reranker.train(lists, gains=[0, 1] * 4, models={"latent": model})
    >>> reranker.rerank(lists), reranker.rank(lists[0])
    (array([1, 1, 1, 1]), array([1, 0]))
    """

    kind: ClassVar[str] = "reranker"

    features: CandidateFeatures
    choice: CandidateChoice

    @property
    def sizes(self) -> str:
        """The sizes of the model."""
        return self.features.sizes

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.choice.names != self.features.names:
            raise ValueError("the weights are those of other features; train them on the table of these")

    @staticmethod
    def train(
        lists: Sequence[NBest],
        gains: ArrayLike,
        models: LatentModels | None = None,
        *,
        options: RerankerOptions | None = None,
    ) -> Reranker:
        """Learn to choose candidates with large gains.

        lists: lists of sentences that neither the parser nor the models learnt from; see `jackknifed_nbest`.
        gains: (n,) the gain of each candidate, list after list.

        Raises ValueError as `CandidateFeatures` does, and EstimationError as `CandidateChoice.train` does."""
        features = CandidateFeatures.train(lists, models)
        return Reranker(features, CandidateChoice.train(features.table(lists), gains, options))

    def rerank(self, lists: Sequence[NBest]) -> IntArray:
        """Return the place (L,) of the best candidate in each list; -1 in a list without candidates.

        Raises ValueError as `CandidateFeatures.table` does."""
        return self.choice.rerank(self.features.table(lists))

    def rescore(self, lists: Sequence[NBest]) -> list[NBest]:
        """Put the reranker's score before the other scores of every candidate.

        Raises ValueError as `rerank` does."""
        table = self.features.table(lists)
        scores = self.choice.scores(table)
        spans = zip(lists, pairwise(table.start.tolist()), strict=True)
        return [nbest.rescore(scores[begin:end]) for nbest, (begin, end) in spans]

    def rank(self, nbest: NBest) -> IntArray:
        """Return the places (n,) of the candidates by falling score.

        Raises ValueError as `rerank` does."""
        return np.argsort(-self.choice.scores(self.features.table([nbest])), kind="stable")

    def parse_all(
        self,
        parser: Parser,
        sentences: Iterable[Any],
        n_best: int = 1,
        *,
        n_candidates: int = N_CANDIDATES,
        jobs: int | None = 1,
    ) -> Iterator[Parses[Any]]:
        """Parse sentences, and list the best parses of each in the reranker's order.

        sentences: sentences as the parser's `parse_all` takes them.
        n_candidates: the largest number of trees from which the reranker chooses; at least n_best are used.
        jobs: the number of processes that parse; the reranker works in this process.
        Raises ValueError, before a sentence is read, if n_best < 1; later as the parser's `parse_all` and `rerank` do.

        >>> from spectral_latent.constituency import Phrase
        >>> from spectral_latent.reranking.candidates import Candidate
        >>> def tree(tag): return Phrase("S", (Phrase(tag, ("dogs",)),))
        >>> parser = ConstituencyModel.train(map(tree, ("NN", "NN", "VB")))
        >>> lists = [NBest.of([Candidate(tree("NN"), -1.0), Candidate(tree("VB"), -2.0)])] * 8
        >>> last_first = Reranker.train(lists, gains=[0, 1] * 8)
        >>> [[parse.tree.bracketed() for parse in parses] for parses in last_first.parse_all(parser, [["dogs"]], 2)]
        [['(S (VB dogs))', '(S (NN dogs))']]
        """
        checked("n_best", n_best, Count)
        checked("n_candidates", n_candidates, Count)
        check_kind(parser, Parser)
        parses_of_each = parser.parse_all(sentences, max(n_best, n_candidates), jobs=jobs)
        return (
            Parses(parses[place] for place in self.rank(parses_to_nbest(parses))[:n_best]) for parses in parses_of_each
        )

    @property
    def description(self) -> dict[str, Any]:
        """The facts about the reranker, its latent models among them."""
        return super().description | {"models": self._fingerprints()}

    def _fingerprints(self) -> dict[str, str]:
        """Compute the fingerprint of each latent model."""
        return {name: model.fingerprint for name, model in self.features.models.items()}

    def contents(self) -> Contents:
        """Return the weights, the settings of the features, and the fingerprints of latent models."""
        arrays, settings = super().contents()
        return arrays, settings | {"models": self._fingerprints()}

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        models: LatentModels | None = None,
        *,
        parser: Parser | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> Reranker:
        """Read a reranker.

        models: the latent models of training, by the same names.
        parser: the model named `latent`, if training had such a model and it is not among the given ones.
        max_bytes: the largest memory of the reranker's arrays, in bytes.

        Raises ModelFileError if the file is not a whole reranker of this version, or if other models are given."""
        with open_model(path, cls.kind, max_bytes) as (arrays, settings):
            given = dict(models or {})
            if parser is not None and LATENT in settings["models"]:
                given.setdefault(LATENT, parser)
            reranker: Reranker = cls.from_contents((arrays, settings), models=given)
            return reranker

    @classmethod
    def from_contents(cls, contents: Contents, **given: Any) -> Self:
        """Make a reranker of the contents of its file.

        given: the latent models of training, by the same names, as `models`; none if not given."""
        arrays, settings = contents
        models = given.get("models", {})
        needed = checked("the latent models", settings["models"], dict)
        _check_models(needed, models)
        rest = {name: value for name, value in settings.items() if name != "models"}
        return super().from_contents((arrays, rest), models={name: models[name] for name in needed})


def _check_models(needed: Mapping[str, str], given: LatentModels) -> None:
    """Raise ModelFileError if the given latent models are not those of training."""
    if missing := sorted(set(needed) - set(given)):
        raise ModelFileError(f"the reranker needs latent models named {', '.join(missing)}; give those of training")
    if unknown := sorted(set(given) - set(needed)):
        raise ModelFileError(
            f"the reranker has no features of latent models named {', '.join(unknown)}; leave them out"
        )
    for name, model in given.items():
        if model.fingerprint != needed[name]:
            raise ModelFileError(
                f"the model given as {name} is not the one of training: its fingerprint is "
                f"{model.fingerprint[:_DIGITS]}, not {str(needed[name])[:_DIGITS]}; give the model of training"
            )
