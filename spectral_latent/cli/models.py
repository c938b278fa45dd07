"""Models from files, each for the commands that it is made for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from spectral_latent.constituency import ConstituencyModel
    from spectral_latent.dependency import DependencyModel
    from spectral_latent.sequence import AnchorHMM

__all__ = [
    "Tagger",
    "is_dependency_parser",
    "is_parser",
    "load_anchors",
    "load_dependency_parser",
    "load_parser",
    "load_states",
    "load_tagger",
]


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
_KINDS = {
    ("constituency", False): _PARSER,
    ("dependency", False): _DEPENDENCY_PARSER,
    ("sequence", True): _TAGGER,
    ("sequence", False): _UNTAGGED,
    ("anchors", True): _LABELLED,
    ("anchors", False): _ANCHORS,
    ("reranker", False): _RERANKER,
}


def is_parser(file: str) -> bool:
    """Whether a model is a parser, of whatever trees.  Raises ModelFileError for what is no model."""
    return _kind(file) in (_PARSER, _DEPENDENCY_PARSER)


def is_dependency_parser(file: str) -> bool:
    """Whether a model is a parser of dependency trees.  Raises ModelFileError for what is no model."""
    return _kind(file) is _DEPENDENCY_PARSER


def load_parser(file: str) -> ConstituencyModel:
    """A parser.  Raises ModelFileError, which tells what the file is and where it is of use, if it is none."""
    from spectral_latent.constituency import ConstituencyModel

    _require(file, _PARSER)
    return ConstituencyModel.load(file)


def load_dependency_parser(file: str) -> DependencyModel:
    """A dependency parser.  Raises ModelFileError as `load_parser` does."""
    from spectral_latent.dependency import DependencyModel

    _require(file, _DEPENDENCY_PARSER)
    return DependencyModel.load(file)


def load_anchors(file: str) -> AnchorHMM:
    """An anchor model.  Raises ModelFileError as `load_parser` does."""
    from spectral_latent.sequence import AnchorHMM

    _require(file, _ANCHORS, _LABELLED)
    return AnchorHMM.load(file)


def load_tagger(file: str, with_names: bool = False) -> Tagger:
    """A tagger, the tags of which are strings.  Raises ModelFileError as `load_parser` does.

    with_names: whether the names of states will do, if anchors are not labelled.

    >>> import pathlib, tempfile
    >>> from spectral_latent.sequence import LatentHMM
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = str(pathlib.Path(folder, "model"))
    ...     LatentHMM.fit_tagged([[("dogs", "N"), ("bark", "V")]]).save(file)
    ...     load_tagger(file).tags
    ['N', 'V']
    """
    from spectral_latent.operators import ModelFileError
    from spectral_latent.sequence import LatentHMM

    kind = _kind(file)
    if kind is _LABELLED or (kind is _ANCHORS and with_names):
        tagger = _of_anchors(load_anchors(file))
    else:
        _require(file, _TAGGER)
        model = LatentHMM.load(file)
        tags: list[Any] = model.tags
        tagger = Tagger(tags, model.tag, frozenset(model.observations.known).__contains__)
    if wrong := [tag for tag in tagger.tags if not isinstance(tag, str)]:
        raise ModelFileError(f"{file}: the tag {wrong[0]!r} is no string; use the model in Python, with {_class(kind)}")
    return tagger


def load_states(file: str) -> Tagger:
    """A model with states that have no names of their own.  Raises ModelFileError as `load_parser` does.

    States of anchor models go by their numbers, whether they are labelled or not.
    """
    from spectral_latent.operators import ModelFileError
    from spectral_latent.sequence import LatentHMM

    if _kind(file) in (_ANCHORS, _LABELLED):
        anchors = load_anchors(file)
        numbers = [str(state) for state in range(anchors.n_states)]
        return Tagger(numbers, lambda rows: [list(map(str, row)) for row in anchors.states(rows)], _known(anchors))
    _require(file, _UNTAGGED)
    model = LatentHMM.load(file)
    try:
        numbers = [str(state) for state in range(model.hidden.n_states)]
    except ValueError as error:
        raise ModelFileError(f"{file}: {error}") from None
    known = frozenset(model.observations.known)
    return Tagger(numbers, lambda rows: [list(map(str, row)) for row in model.tag(rows)], known.__contains__)


def _of_anchors(model: AnchorHMM) -> Tagger:
    from spectral_latent.sequence.anchor_tables import anchor_names

    names: list[Any] = anchor_names(model) if model.labels is None else list(model.labels)
    return Tagger(names, lambda rows: [[names[h] for h in row] for row in model.states(rows)], _known(model))


def _known(model: AnchorHMM) -> Callable[[str], bool]:
    """Words are known in any capitals."""
    words = frozenset(model.words)
    return lambda word: word.lower() in words


def _class(kind: _Kind | None) -> str:
    return "AnchorHMM.load" if kind is _LABELLED else "LatentHMM.load"


def _kind(file: str) -> _Kind | None:
    """None for what this version does not know."""
    from spectral_latent.operators import load_settings

    settings = load_settings(file)
    kind = settings.get("kind")
    has_tags = settings.get("tagged") is True or (kind == "anchors" and settings.get("labels") is not None)
    return _KINDS.get((kind, has_tags)) if isinstance(kind, str) else None


def _require(file: str, *needed: _Kind) -> None:
    """Raise ModelFileError for a model of another kind than the first, or the others."""
    from spectral_latent.operators import ModelFileError

    kind = _kind(file)
    if kind is not None and kind not in needed:
        raise ModelFileError(f"{file}: {kind.name}, where {needed[0].name} is needed; {kind.use}")
