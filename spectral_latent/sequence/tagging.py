"""Find the tags of sequences of observations, under any model with a decoder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import tee
from typing import Any

import numpy as np

from spectral_latent._options import Count, checked
from spectral_latent.drawing import Html, tags_heat_map
from spectral_latent.sequence.checks import Tag
from spectral_latent.sequence.decoding import Decoder, in_batches
from spectral_latent.tokenisation import Tokenisation
from spectral_latent.trees import FloatArray, IntArray

__all__ = ["SENTENCES", "Tagger", "TaggingModel", "WordTagger"]

SENTENCES = 256
"""The number of sentences that are read before they are tagged together."""


class Tagger(ABC):
    """Base of models that give each observation of a sequence a tag."""

    @abstractmethod
    def tag_all(self, sequences: Iterable[Sequence[Any]], *, jobs: int | None = 1) -> Iterator[list[Any]]:
        """Find the tags of each sequence, in order, as `tag` does.

        Sequences are read and tagged in batches, which takes less time than one by one.

        sequences: the observations of each sequence.

        Raises TypeError for an object that is not a sequence, such as a string in the place of words.
        """

    def tag(self, sequence: Sequence[Any]) -> list[Any]:
        """Find the tag with the largest posterior at every position of a sequence; an empty sequence has no tags.

        sequence: the observations.

        Raises TypeError for an object that is not a sequence, such as a string in the place of words.
        """
        (tags,) = self._tags_of([sequence])
        return tags

    @abstractmethod
    def _tags_of(self, sequences: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """Find the tags of each of several sequences."""


class WordTagger(Tagger):
    """Base of taggers of words, which also tag raw text."""

    @property
    @abstractmethod
    def tokenisation(self) -> Tokenisation:
        """The rules by which raw text is divided into sentences and words."""

    def tag_text(self, text: str, *, jobs: int | None = 1) -> Iterator[list[tuple[str, Any]]]:
        """Find the tags of the words of each sentence of a raw text, in order; words are given with their tags.

        text: the text, which `tokenisation` divides into sentences and words.

        Raises TypeError if the text is not a string.
        """
        sentences, given = tee([token.word for token in tokens] for tokens in self.tokenisation.sentences(text))
        for words, tags in zip(sentences, self.tag_all(given, jobs=jobs), strict=True):
            yield list(zip(words, tags, strict=True))


class TaggingModel(Tagger):
    """Base of taggers with a decoder.

    tags: the K tags.
    """

    tags: Sequence[Tag]

    @abstractmethod
    def _check(self, sequence: Sequence[Any]) -> None:
        """Raise TypeError for an object that is not a sequence of observations."""

    @abstractmethod
    def _decoder(self, sequences: Sequence[Sequence[Any]]) -> tuple[Decoder, IntArray]:
        """Make a decoder for sequences, and look up the decoder's terminals (N,) for all positions."""

    def _posteriors(self, sequences: Sequence[Sequence[Any]]) -> FloatArray:
        """Compute the posteriors (N, K) of the tags of all positions of sequences that are not empty."""
        decoder, terminal = self._decoder(sequences)
        return decoder.posteriors(terminal, np.cumsum([0, *map(len, sequences)]))

    def _names(self, tags: IntArray) -> list[Tag]:
        """List the names of tags (n,)."""
        return [self.tags[t] for t in tags.tolist()]

    def _tags_of(self, sequences: Sequence[Sequence[Any]]) -> list[list[Any]]:
        for sequence in sequences:
            self._check(sequence)
        return in_batches(sequences, lambda batch: self._names(self._posteriors(batch).argmax(axis=1)))

    def posteriors(self, sequence: Sequence[Any]) -> FloatArray:
        """Compute the posterior (n, K) of each tag at each position; columns are in the order of `tags`.

        sequence: the n observations of a sequence.

        Raises TypeError for an object that is not a sequence, such as a string in the place of words.
        """
        self._check(sequence)
        return self._posteriors([sequence]) if len(sequence) else np.zeros((0, len(self.tags)))

    def draw_posteriors(self, sequence: Sequence[Any]) -> Html:
        """Draw the posteriors of tags as a table: a row for each observation, a column for each likely tag.

        sequence: the observations of a sequence.

        Raises TypeError for an object that is not a sequence, such as a string in the place of words.
        """
        posteriors = self.posteriors(sequence).tolist()
        return tags_heat_map([str(each) for each in sequence], [str(tag) for tag in self.tags], posteriors)

    def paths(self, sequence: Sequence[Any], n_best: int = 1) -> list[tuple[list[Any], float]]:
        """Find the likeliest sequences of tags (Viterbi), each with its log-probability given the observations.

        If tags have one state, paths are scored by the model itself.  If tags have several states, paths are scored by
        the Markov chain that has the model's marginals of pairs of tags.  An empty sequence has one empty path.

        sequence: the observations of a sequence.
        n_best: the largest number of paths.

        Raises ValueError if n_best < 1, and TypeError for an object that is not a sequence.
        """
        checked("n_best", n_best, Count)
        self._check(sequence)
        if not len(sequence):
            return [([], 0.0)]
        decoder, terminal = self._decoder([sequence])
        return [(self._names(tags), log) for tags, log in decoder.paths(terminal, n_best)]

    def draw(self, sequence: Sequence[Any], rng: np.random.Generator) -> list[Any]:
        """Draw the tags of a sequence from the Markov chain that scores `paths`.

        sequence: the observations of a sequence.
        rng: the source of random numbers.

        Raises TypeError for an object that is not a sequence, such as a string in the place of words.
        """
        checked("rng", rng, np.random.Generator)
        self._check(sequence)
        if not len(sequence):
            return []
        decoder, terminal = self._decoder([sequence])
        return self._names(decoder.draw(terminal, rng))
