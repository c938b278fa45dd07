"""Load models of every kind from their files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from numpy.typing import NDArray

from spectral_latent.files import MAX_BYTES, ModelFileError, opened_model

if TYPE_CHECKING:
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

__all__ = ["load", "make_model"]

_CLASSES = MappingProxyType(
    {
        "anchors": ("anchors", "AnchorHMM"),
        "automaton": ("automata", "WeightedAutomaton"),
        "constituency": ("constituency", "ConstituencyModel"),
        "dependency": ("dependency", "DependencyModel"),
        "hmm": ("sequence", "LatentHMM"),
        "reranker": ("reranking", "Reranker"),
        "tagger": ("sequence", "LatentTagger"),
        "tree": ("graphs", "GraphModel"),
    }
)  # the room and the name of the class for each kind of model file


def load(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Model:
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
    with opened_model(path, max_bytes=max_bytes) as (arrays, settings):
        model: Model = make_model(arrays, settings)
        return model


def make_model(arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> Any:
    """Make a model from the contents of its file, which `opened_model` reads; the kind decides the class.

    arrays: the arrays of the file by their names.
    settings: the settings of the file; the entry `kind` names the kind of the model.

    Raises ModelFileError for a kind that this library does not know.
    """
    kind = str(settings.get("kind"))
    if kind not in _CLASSES:
        raise ModelFileError(f"a model of the unknown kind {kind!r}; train it again")
    room, name = _CLASSES[kind]
    return getattr(import_module(f"spectral_latent.{room}"), name).from_contents((arrays, settings))
