"""A model from a file, for the commands that it is made for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from spectral_latent.anchors import AnchorHMM
    from spectral_latent.constituency import ConstituencyModel
    from spectral_latent.dependency import DependencyModel
    from spectral_latent.sequence import LatentHMM, LatentTagger

__all__ = ["LoadedModel", "Tagger", "load"]


class Tagger(NamedTuple):
    """What commands need of a tagger, be it with tags or with states: all tags, by name, and which words it knows."""

    tags: list[str]
    tag: Callable[[list[list[str]]], list[list[str]]]
    knows: Callable[[str], bool]


class _Kind(NamedTuple):
    """What a model is, and what to do with it."""

    name: str
    use: str


_PARSER = _Kind("a parser", "use it with `spectral-latent parse`, `score` or `evaluate`")
_DEPENDENCY_PARSER = _Kind("a dependency parser", _PARSER.use)
_TAGGER = _Kind("a tagger", "use it with `spectral-latent tag` or `evaluate`")
_LABELLED = _Kind("an anchor model with labels", "use it with `spectral-latent tag`, `anchors` or `evaluate`")
_ANCHORS = _Kind(
    "an anchor model", "use it with `spectral-latent tag` or `evaluate --unsupervised`, or label it with `anchors`"
)
_UNTAGGED = _Kind(
    "a model of sequences without tags", "use it in Python, with LatentHMM.load, or with `evaluate --unsupervised`"
)
_RERANKER = _Kind("a reranker", "use it with `spectral-latent rerank`, or with `parse --rerank`")
_GRAPHS = _Kind("a model of trees given as graphs", "use it in Python, with LatentTreeModel.load")


class LoadedModel(NamedTuple):
    """A model, what it is, and the file that it is from; all else raises ModelFileError where it is of another kind.

    Such an error tells what the model is and where it is of use.
    """

    file: str
    kind: _Kind
    model: Any

    @property
    def is_parser(self) -> bool:
        """Whether the model is a parser, of whatever trees."""
        return self.kind in (_PARSER, _DEPENDENCY_PARSER)

    @property
    def is_dependency_parser(self) -> bool:
        """Whether the model is a parser of dependency trees."""
        return self.kind is _DEPENDENCY_PARSER

    @property
    def column(self) -> str | None:
        """The column that a tagger's tags are from, if it was named for training."""
        column: str | None = getattr(self.model, "tagset", None)
        return column

    def _require(self, *needed: _Kind) -> Any:
        """The model, if it is of one of these kinds."""
        if self.kind in needed:
            return self.model
        from spectral_latent.operators import ModelFileError

        raise ModelFileError(f"{self.file}: {self.kind.name}, where {needed[0].name} is needed; {self.kind.use}")

    def parser(self) -> ConstituencyModel | DependencyModel:
        """Give a parser, of whatever trees."""
        parser: ConstituencyModel | DependencyModel = self._require(_PARSER, _DEPENDENCY_PARSER)
        return parser

    def phrase_parser(self) -> ConstituencyModel:
        """Give a parser of phrases."""
        parser: ConstituencyModel = self._require(_PARSER)
        return parser

    def dependency_parser(self) -> DependencyModel:
        """Give a parser of dependency trees."""
        parser: DependencyModel = self._require(_DEPENDENCY_PARSER)
        return parser

    def anchors(self) -> AnchorHMM:
        """Give an anchor model, with labels or without."""
        model: AnchorHMM = self._require(_ANCHORS, _LABELLED)
        return model

    def tagger(self, with_names: bool = False) -> Tagger:
        """Give a tagger, the tags of which are strings.

        with_names: whether the names of states will do, if anchors are not labelled.

        >>> import pathlib, tempfile
        >>> from spectral_latent.sequence import LatentTagger
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = str(pathlib.Path(folder, "model"))
        ...     LatentTagger.train([[("dogs", "N"), ("bark", "V")]]).save(file)
        ...     load(file).tagger().tags
        ['N', 'V']
        """
        from spectral_latent.operators import ModelFileError

        if self.kind is _LABELLED or (self.kind is _ANCHORS and with_names):
            tagger, python = _of_anchors(self.model), "AnchorHMM.load"
        else:
            model: LatentTagger = self._require(_TAGGER)
            known = frozenset(model.observations.known)
            tagger, python = Tagger(model.tags, model.tag, known.__contains__), "LatentTagger.load"  # type: ignore[arg-type]
        if wrong := [tag for tag in tagger.tags if not isinstance(tag, str)]:
            raise ModelFileError(
                f"{self.file}: the tag {wrong[0]!r} is no string; use the model in Python, with {python}"
            )
        return tagger

    def states(self) -> Tagger:
        """Give a model as a tagger by its states, which go by their numbers, also where anchors are labelled."""
        from spectral_latent.operators import ModelFileError

        if self.kind in (_ANCHORS, _LABELLED):
            anchors = self.anchors()
            numbers = [str(state) for state in range(anchors.n_states)]
            return Tagger(numbers, lambda rows: [list(map(str, row)) for row in anchors.states(rows)], _known(anchors))
        model: LatentHMM = self._require(_UNTAGGED)
        try:
            states = model.tagger
        except ValueError as error:
            raise ModelFileError(f"{self.file}: {error}") from None
        numbers = [str(state) for state in states.tags]
        known = frozenset(model.observations.known)
        return Tagger(numbers, replace(states, tags=numbers).tag, known.__contains__)


def load(file: str) -> LoadedModel:
    """Read a model of any kind, once.  Raises ModelFileError for what is no whole model."""
    from spectral_latent.operators import opened_model

    with opened_model(file) as (arrays, settings):
        match settings.get("kind"):
            case "constituency":
                from spectral_latent.constituency import ConstituencyModel

                return LoadedModel(file, _PARSER, ConstituencyModel.from_arrays(arrays, settings))
            case "dependency":
                from spectral_latent.dependency import DependencyModel

                return LoadedModel(file, _DEPENDENCY_PARSER, DependencyModel.from_arrays(arrays, settings))
            case "tagger":
                from spectral_latent.sequence import LatentTagger

                return LoadedModel(file, _TAGGER, LatentTagger.from_arrays(arrays, settings))
            case "hmm":
                from spectral_latent.sequence import LatentHMM

                return LoadedModel(file, _UNTAGGED, LatentHMM.from_arrays(arrays, settings))
            case "anchors":
                from spectral_latent.anchors import AnchorHMM

                model = AnchorHMM.from_arrays(arrays, settings)
                return LoadedModel(file, _ANCHORS if model.labels is None else _LABELLED, model)
            case "reranker":
                return LoadedModel(file, _RERANKER, None)
            case "tree":
                return LoadedModel(file, _GRAPHS, None)
            case kind:
                return LoadedModel(file, _Kind(f"a {kind} model", "train it again"), None)


def _of_anchors(model: AnchorHMM) -> Tagger:
    from spectral_latent.anchors.tables import anchor_names

    names: list[Any] = anchor_names(model) if model.labels is None else list(model.labels)
    return Tagger(names, lambda rows: [[names[h] for h in row] for row in model.states(rows)], _known(model))


def _known(model: AnchorHMM) -> Callable[[str], bool]:
    """Words are known in any capitals."""
    words = frozenset(model.words)
    return lambda word: word.lower() in words
