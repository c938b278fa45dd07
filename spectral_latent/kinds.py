"""List the kinds of models, and load a model of any kind from its file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spectral_latent.anchors import AnchorHMM
    from spectral_latent.automata import WeightedAutomaton
    from spectral_latent.constituency import ConstituencyModel
    from spectral_latent.dependency import DependencyModel
    from spectral_latent.graphs import GraphModel
    from spectral_latent.reranking import Reranker
    from spectral_latent.sequence import LatentHMM, LatentTagger

    Model: TypeAlias = (
        AnchorHMM
        | ConstituencyModel
        | DependencyModel
        | LatentHMM
        | LatentTagger
        | GraphModel
        | Reranker
        | WeightedAutomaton
    )

__all__ = ["KINDS", "Kind", "load", "make_model"]


class Kind(NamedTuple):
    """A kind of model: the class of its models, the room that the class is in, and its name in messages."""

    room: str
    model: str
    name: str


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "constituency": Kind("constituency", "ConstituencyModel", "a constituency parser"),
        "dependency": Kind("dependency", "DependencyModel", "a dependency parser"),
        "tagger": Kind("sequence", "LatentTagger", "a tagger"),
        "hmm": Kind("sequence", "LatentHMM", "a hidden Markov model"),
        "anchors": Kind("anchors", "AnchorHMM", "an anchor model"),
        "reranker": Kind("reranking", "Reranker", "a reranker"),
        "automaton": Kind("automata", "WeightedAutomaton", "a weighted automaton"),
        "tree": Kind("graphs", "GraphModel", "a model of trees given as graphs"),
    }
)


def load(path: str | os.PathLike[str], *, max_bytes: int | None = None) -> Model:
    """Read a model of any kind from its file.

    path: a file that a model's `save` or the command `spectral-latent train` has written.
    max_bytes: the largest memory of the model's arrays, in bytes: 4 GB if not given.

    A reranker's file does not hold the latent models that it may need; with these, use `Reranker.load`.

    Raises ModelFileError if the file is not a whole model of this version, or a reranker that needs latent models.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from spectral_latent import LatentTagger, load
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "tagger")
    ...     LatentTagger.train([[("dogs", "N"), ("bark", "V")]]).save(file)
    ...     load(file).tag(["dogs", "bark"])
    ['N', 'V']
    """
    from spectral_latent.files import MAX_BYTES, open_model

    with open_model(path, max_bytes=MAX_BYTES if max_bytes is None else max_bytes) as (arrays, settings):
        model: Model = make_model(arrays, settings)
        return model


def make_model(arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> Any:
    """Make a model from the contents of its file, which `open_model` reads; the kind decides the class."""
    from spectral_latent.files import ModelFileError

    kind = str(settings.get("kind"))
    if kind not in KINDS:
        raise ModelFileError(f"a model of the unknown kind {kind!r}; train it again")
    room = import_module(f"spectral_latent.{KINDS[kind].room}")
    return getattr(room, KINDS[kind].model).from_contents((arrays, settings))
