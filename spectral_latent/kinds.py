"""List the kinds of models, and load a model of any kind from its file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from spectral_latent._names import import_when_used

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["KINDS", "Kind", "added_kinds", "find_kind", "import_when_used", "load", "make_model", "usual_kind"]

_GROUP = "spectral_latent.kinds"  # the entry points by which other packages add kinds


class Kind(NamedTuple):
    """A kind of model.

    module: the module that has the class of its models.
    model: the name of the class.
    name: what messages call a model, such as `a tagger`.
    extends: the kind of this package whose class it extends; commands take both, and have one function for both.
    training: the help of `spectral-latent train`, if that differs from the kind that it extends."""

    module: str
    model: str
    name: str
    extends: str | None = None
    training: str | None = None

    @property
    def cls(self) -> Any:
        """The class of its models, which is imported."""
        return getattr(import_module(self.module), self.model)


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "constituency": Kind("spectral_latent.constituency", "ConstituencyModel", "a constituency parser"),
        "dependency": Kind("spectral_latent.dependency", "DependencyModel", "a dependency parser"),
        "tagger": Kind("spectral_latent.sequence", "LatentTagger", "a tagger"),
        "hmm": Kind("spectral_latent.sequence", "LatentHMM", "a hidden Markov model"),
        "anchors": Kind("spectral_latent.anchors", "AnchorHMM", "an anchor model"),
        "reranker": Kind("spectral_latent.reranking", "Reranker", "a reranker"),
        "automaton": Kind("spectral_latent.automata", "WeightedAutomaton", "a weighted automaton"),
        "tree": Kind("spectral_latent.graphs", "GraphModel", "a model of trees given as graphs"),
    }
)


@cache
def added_kinds() -> Mapping[str, Kind]:
    """List the kinds that other installed packages add, by entry points of the group `spectral_latent.kinds`.

    The name of an entry point is the kind, and its object a `Kind`."""
    from importlib.metadata import entry_points

    return {each.name: each.load() for each in entry_points(group=_GROUP)}


def find_kind(kind: str) -> Kind | None:
    """Find a kind of this package, or of another one; None if there is no such kind."""
    return KINDS.get(kind) or added_kinds().get(kind)


def usual_kind(kind: str) -> str:
    """Name the kind of this package that a kind is or extends; any other name stays."""
    found = find_kind(kind)
    return kind if found is None else found.extends or kind


def load(path: str | os.PathLike[str], *, max_bytes: int | None = None) -> Any:
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
    from spectral_latent._threads import made_to_stay

    with made_to_stay():
        from spectral_latent.files import MAX_BYTES, open_model

        with open_model(path, max_bytes=MAX_BYTES if max_bytes is None else max_bytes) as (arrays, settings):
            return make_model(arrays, settings)


def make_model(arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> Any:
    """Make a model from the contents of its file, which `open_model` reads; the kind decides the class."""
    from spectral_latent.files import ModelFileError

    kind = str(settings.get("kind"))
    found = find_kind(kind)
    if found is None:
        raise ModelFileError(
            f"a model of the unknown kind {kind!r:.60}; install the package that adds it, or train the model again"
        )
    return found.cls.from_contents((arrays, settings))
