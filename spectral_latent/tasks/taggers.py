"""Make taggers and finders of states of loaded models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from spectral_latent.anchors import AnchorHMM
    from spectral_latent.sequence import LatentTagger

__all__ = ["LoadedTagger", "states_of"]


class LoadedTagger(NamedTuple):
    """A tagger whose tags are strings.

    model: the tagger itself, or an anchor model with labels.
    tags: all tags that the tagger knows.
    knows: the function that tells whether a word was in the training data.
    column: the column of the tags in the training data; None if it is not known."""

    model: LatentTagger | AnchorHMM
    tags: list[str]
    knows: Callable[[str], bool]
    column: str | None = None

    @staticmethod
    def of(model: Any, file: str) -> LoadedTagger:
        """Make a tagger of a model, which must have labels that are strings."""
        from spectral_latent.files import ModelFileError

        if model.kind != "anchors":
            knows = frozenset(model.observations.known).__contains__
            tagger = LoadedTagger(model, model.tags, knows, model.tagset)
        elif model.labels is None:
            raise ModelFileError(
                f"{file}: an anchor model without labels, where a tagger is needed; use it with `evaluate "
                f"--unsupervised`, or give it labels with `spectral-latent anchors`"
            )
        else:
            words = frozenset(model.words)
            tagger = LoadedTagger(model, list(model.labels), lambda word: word.lower() in words)
        if wrong := [tag for tag in tagger.tags if not isinstance(tag, str)]:
            raise ModelFileError(f"{file}: the tag {wrong[0]!r} is not a string; use the model in Python")
        return tagger


def states_of(model: Any, file: str) -> Callable[[list[list[str]]], list[list[str]]]:
    """Make the function that finds the states of sentences, as texts of numbers."""
    from spectral_latent.files import ModelFileError

    if model.kind == "anchors":
        states = replace(model, labels=None).tag_all
    else:
        try:
            states = model.tagger.tag_all
        except ValueError as error:
            raise ModelFileError(f"{file}: {error}") from None
    return lambda sentences: [[str(state) for state in row] for row in states(sentences)]
