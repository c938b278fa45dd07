"""Offer the anchor hidden Markov model as a tagger of NLTK's."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from spectral_latent.anchors import AnchorHMM, AnchorOptions
from spectral_latent.anchors.tables import anchor_names
from spectral_latent_nltk._adapters import TaggerAdapter
from spectral_latent_nltk._making import maker
from spectral_latent_nltk._tokens import Tag, each, tokens_of

__all__ = ["AnchorTagger"]


class AnchorTagger(TaggerAdapter):
    """A tagger that learns parts of speech from words alone, behind NLTK's `TaggerI`; threads may share it.

    Each tag has an anchor, a word in lower case that has no other tag.  Until anchors are labelled, a tag is its
    anchor in capitals; with a label for each anchor, the labels are the tags.

    >>> sents = [["the", "dog", "barks"], ["the", "cat", "sleeps"], ["a", "dog", "sleeps"], ["a", "cat", "barks"]]
    >>> tagger = AnchorTagger.train(sents, n_states=3)
    >>> sorted(tagger.anchors.items())
    [('barks', 'BARKS'), ('dog', 'DOG'), ('the', 'THE')]
    >>> tagger.tag(["a", "cat", "sleeps"])
    [('a', 'THE'), ('cat', 'DOG'), ('sleeps', 'BARKS')]
    >>> tagger.label({"the": "DET", "dog": "NOUN", "barks": "VERB"}).tag(["a", "cat", "sleeps"])
    [('a', 'DET'), ('cat', 'NOUN'), ('sleeps', 'VERB')]
    """

    models = (AnchorHMM,)

    def __init__(self, model: AnchorHMM) -> None:
        super().__init__(model)
        self._named = replace(model, labels=tuple(anchor_names(model))) if model.labels is None else model

    @maker
    def train(
        cls,
        unlabeled_sequences: Iterable[Iterable[str]],
        n_states: int | None = None,
        *,
        options: AnchorOptions | None = None,
    ) -> AnchorTagger:
        """Learn from sentences without tags.  The same sentences give the same tagger.

        unlabeled_sequences: sentences, each a list of tokens; any iterable, read once.
        n_states: the largest number of states, each of which has a tag; 12 if `options` do not say otherwise.
        options: the other settings.

        Raises TypeError for objects that are not sentences without tags, and EstimationError, a ValueError, if a
        sentence is empty, or if there is no sentence.
        """
        options = options or AnchorOptions()
        if n_states is not None:
            options = replace(options, n_states=n_states)
        return cls(AnchorHMM.train(each(unlabeled_sequences, tokens_of, "sentence"), options))

    @property
    def anchors(self) -> dict[str, Any]:
        """The tag of each anchor."""
        return dict(zip(self.model.anchors, self._named.labels or (), strict=True))

    def label(self, tags: Mapping[str, Tag]) -> AnchorTagger:
        """Make a tagger with other tags.  Several anchors may have the same tag.

        tags: the tag of each anchor; `{**tagger.anchors, "the": "DET"}` changes a single one.

        Raises ValueError if a word is not an anchor, or an anchor has no tag; TypeError if a tag cannot be hashed.
        """
        for word, tag in tags.items():
            if not isinstance(tag, Hashable):
                raise TypeError(f"expected a tag that can be hashed for {word!r}, got {tag!r:.60}")
        return AnchorTagger(self.model.label(tags))

    def top_words(self, n_words: int = 10) -> dict[str, list[tuple[str, float]]]:
        """List the likeliest words of each anchor's tag, with their probabilities.  They help to choose its label.

        n_words: the number of words for each anchor.
        """
        return dict(zip(self.model.anchors, self.model.top_words(n_words), strict=True))

    def _tags_of(self, sentences: list[list[str]]) -> Iterator[list[Any]]:
        return self._named.tag_all(sentences)
