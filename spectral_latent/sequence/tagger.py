"""Hold what all models that give observations a tag are asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import tee
from typing import Any, cast

import numpy as np

from spectral_latent._options import Count, checked
from spectral_latent.model import check_words
from spectral_latent.model.batches import map_batches
from spectral_latent.sequence.conversion import Tag
from spectral_latent.sequence.decoding import Allowed, Decoder, in_batches
from spectral_latent.tokenisation import Tokenisation
from spectral_latent.trees import FloatArray, IntArray

__all__ = ["SENTENCES", "PathTagger", "Tagger"]

SENTENCES = 256
"""The number of sentences that are read before they are tagged together."""


class Tagger(ABC):
    """Base of models that give each observation of a sequence a tag.

    All methods raise TypeError for an object that is not a sequence, such as a string in the place of words."""

    tags: Sequence[Tag]

    @property
    @abstractmethod
    def tokenisation(self) -> Tokenisation:
        """The rules by which raw text is divided into sentences and words."""

    @abstractmethod
    def _posteriors(self, sequences: Sequence[Sequence[Any]]) -> FloatArray:
        """Compute the posteriors (N, K) of the tags of all positions of sequences that are not empty."""

    def _check(self, sequence: Sequence[Any]) -> None:
        """Raise TypeError for an object that is not a sequence of observations."""
        check_words(sequence)

    def tag_all(self, sequences: Iterable[Sequence[Any]], *, jobs: int | None = 1) -> Iterator[list[Any]]:
        """Find the tags of each sequence, in order, as `tag` does.

        Sequences are read and tagged in batches, which takes less time than one by one."""
        return map_batches(Tagger._tags_of, cast(Any, self), sequences, jobs, size=SENTENCES)

    def tag(self, sequence: Sequence[Any]) -> list[Any]:
        """Find the tag with the largest posterior at every position of a sequence; an empty sequence has no tags."""
        (tags,) = self._tags_of([sequence])
        return tags

    def tag_text(self, text: str, *, jobs: int | None = 1) -> Iterator[list[tuple[str, Any]]]:
        """Find the tags of the words of each sentence of a raw text, in order; words are given with their tags.

        text: the text, which `tokenisation` divides into sentences and words.

        Raises TypeError if the text is not a string."""
        sentences, given = tee([token.word for token in tokens] for tokens in self.tokenisation.sentences(text))
        for words, tags in zip(sentences, self.tag_all(given, jobs=jobs), strict=True):
            yield list(zip(words, tags, strict=True))

    def _tags_of(self, sequences: Sequence[Sequence[Any]]) -> list[list[Any]]:
        for sequence in sequences:
            self._check(sequence)
        return in_batches(sequences, lambda batch: self._names(self._posteriors(batch).argmax(axis=1)))

    def _names(self, tags: IntArray) -> list[Tag]:
        """List the names of tags (n,)."""
        return [self.tags[t] for t in tags.tolist()]

    def posteriors(self, sequence: Sequence[Any]) -> FloatArray:
        """Compute the posterior (n, K) of each tag at each position; columns are in the order of `tags`."""
        self._check(sequence)
        return self._posteriors([sequence]) if len(sequence) else np.zeros((0, len(self.tags)))


class PathTagger(Tagger):
    """Base of taggers with a decoder, which also find the other tags of sequences whose tags are partly known."""

    @abstractmethod
    def _decoder(self, sequences: Sequence[Sequence[Any]], known: Sequence[Allowed | None]) -> tuple[Decoder, IntArray]:
        """Make a decoder for sequences whose tags are partly known, and look up its terminals (N,)."""

    @abstractmethod
    def _posteriors_given(self, sequences: Sequence[Sequence[Any]], known: Sequence[Allowed | None]) -> FloatArray:
        """Compute the posteriors (N, K) of the tags of all positions of sequences, given what is known of each."""

    def _posteriors(self, sequences: Sequence[Sequence[Any]]) -> FloatArray:
        return self._posteriors_given(sequences, [None] * len(sequences))

    def tag(self, sequence: Sequence[Any], known: Allowed | None = None) -> list[Any]:
        """Find the tag with the largest posterior at every position of a sequence; an empty sequence has no tags.

        known: the tags that are known: for each observation its tag, a set of tags that it may have, or None.

        A word that was never seen with one of its allowed tags gets the commonest of these.

        Raises ValueError for a tag that the tagger does not have, and for a different number of observations."""
        return super().tag(sequence) if known is None else self._names(self.posteriors(sequence, known).argmax(axis=1))

    def posteriors(self, sequence: Sequence[Any], known: Allowed | None = None) -> FloatArray:
        """Compute the posterior (n, K) of each tag at each position; columns are in the order of `tags`.

        known: the tags that are known; see `tag`."""
        if known is None or not len(sequence):
            return super().posteriors(sequence)
        self._check(sequence)
        return self._posteriors_given([sequence], [known])

    def paths(
        self, sequence: Sequence[Any], n_best: int = 1, known: Allowed | None = None
    ) -> list[tuple[list[Any], float]]:
        """Find the likeliest sequences of tags (Viterbi), each with its log-probability given the observations.

        If tags have one state, paths are scored by the model itself.  If tags have several states, paths are scored by
        the Markov chain that has the model's marginals of pairs of tags.  An empty sequence has one empty path.

        n_best: the largest number of paths.
        known: the tags that are known; see `tag`.  Log-probabilities are given these, too.

        Raises ValueError if n_best < 1."""
        checked("n_best", n_best, Count)
        self._check(sequence)
        if not len(sequence):
            return [([], 0.0)]
        decoder, terminal = self._decoder([sequence], [known])
        return [(self._names(tags), log) for tags, log in decoder.paths(terminal, n_best)]

    def draw(self, sequence: Sequence[Any], rng: np.random.Generator, known: Allowed | None = None) -> list[Any]:
        """Draw the tags of a sequence from the Markov chain that scores `paths`.

        known: the tags that are known; see `tag`."""
        checked("rng", rng, np.random.Generator)
        self._check(sequence)
        if not len(sequence):
            return []
        decoder, terminal = self._decoder([sequence], [known])
        return self._names(decoder.draw(terminal, rng))
