"""Offer taggers as a component of spaCy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from spacy.language import Language
from spacy.parts_of_speech import IDS as UNIVERSAL
from spacy.tokens import Doc, Token

from spectral_latent.anchors import AnchorHMM
from spectral_latent.sequence import LatentTagger
from spectral_latent_spacy._component import Component

__all__ = ["SpectralTagger"]


class SpectralTagger(Component):
    """A tagger: it sets `token.pos_` if all its tags are universal parts of speech, else `token.tag_`.

    The model is a `LatentTagger`, or an `AnchorHMM` whose anchors are labelled.

    name: the name of the component in its pipeline.
    path: the file of the model.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import spacy
    >>> nlp = spacy.blank("en")
    >>> with TemporaryDirectory() as folder:
    ...     path = str(Path(folder, "model"))
    ...     LatentTagger.train([[("dogs", "NOUN"), ("bark", "VERB")]] * 9).save(path)
    ...     _ = nlp.add_pipe("sentencizer")
    ...     _ = nlp.add_pipe("spectral_tagger", config={"model": path})
    ...     [token.pos_ for token in nlp("dogs bark")]
    ['NOUN', 'VERB']
    """

    models = (LatentTagger, AnchorHMM)

    @cached_property
    def _attribute(self) -> str:
        """The attribute of tokens that holds the tags of the model.  Raises ValueError for anchors without labels."""
        tags = self.latent.labels if isinstance(self.latent, AnchorHMM) else self.latent.tags
        if tags is None:
            raise ValueError(
                f"the component {self.name!r} needs tags, which the anchors of its model lack; label them by "
                f"`spectral-latent anchors`"
            )
        return "pos_" if all(tag in UNIVERSAL for tag in tags) else "tag_"

    def _annotate(self, docs: Sequence[Doc], sentences: list[list[Token]]) -> None:
        tags_of = self.latent.tag_all([token.text for token in words] for words in sentences)
        for words, tags in zip(sentences, tags_of, strict=True):
            for token, tag in zip(words, tags, strict=True):
                setattr(token, self._attribute, str(tag))
        for token in (token for doc in docs for token in doc if token.is_space):
            token.pos_, token.tag_ = "SPACE", "_SP"


@Language.factory("spectral_tagger", default_config={"model": ""}, assigns=["token.tag", "token.pos"])
def _make_tagger(nlp: Language, name: str, model: str) -> SpectralTagger:
    """Make the component."""
    return SpectralTagger(name, model)
