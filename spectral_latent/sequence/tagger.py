"""Hold what all models that give observations a tag are asked for."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import islice, tee
from typing import Any, cast

import numpy as np

from spectral_latent._options import Count, checked
from spectral_latent.model import check_words
from spectral_latent.model.batches import map_batches
from spectral_latent.sequence.conversion import Tag
from spectral_latent.sequence.decoding import Allowed, TagCharts
from spectral_latent.tokenisation import Tokenisation
from spectral_latent.trees import FloatArray, IntArray

SENTENCES = 256
"""The number of sentences that are read before they are tagged together."""
_POSITIONS = 8192  # the number of positions whose forests are built together


def batches(rows: Iterable[Sequence[Any]]) -> Iterator[list[Sequence[Any]]]:
    """Divide rows into batches of at most a few thousand positions; a longer row is alone."""
    batch: list[Sequence[Any]] = []
    size = 0
    for row in rows:
        if batch and size + len(row) > _POSITIONS:
            yield batch
            batch = []
            size = 0
        batch.append(row)
        size += len(row)
    if batch:
        yield batch


class Tagger(ABC):
    """Base of models that give each observation of a sequence a tag.

    All methods raise TypeError for an object that is not a sequence, such as a string in the place of words.  `known`
    is what is known of the tags: for each observation its tag, a set of tags that it may have, or None; methods raise
    ValueError for a tag that the tagger does not have, and for a different number of observations."""

    tags: Sequence[Tag]

    @property
    @abstractmethod
    def tokenisation(self) -> Tokenisation:
        """The rules by which raw text is divided into sentences and words."""

    @abstractmethod
    def _posteriors(self, sequences: Sequence[Sequence[Any]], known: Sequence[Allowed | None]) -> FloatArray:
        """Compute the posteriors (N, K) of the tags of all positions of sequences that are not empty."""

    @abstractmethod
    def _charts(self, sequence: Sequence[Any], known: Allowed | None) -> TagCharts:
        """Find the likely tags of a sequence that is not empty."""

    def _block_of(self, sequence: Sequence[Any]) -> AbstractContextManager[Any]:
        """Open a block that Python may run by itself."""
        return nullcontext()

    def _best(self, sequences: Sequence[Sequence[Any]], known: Sequence[Allowed | None]) -> IntArray:
        """Find the likeliest tags (N,) of all positions of sequences that are not empty."""
        return np.asarray(self._posteriors(sequences, known).argmax(axis=1))

    def _check(self, sequence: Sequence[Any]) -> None:
        """Raise TypeError for an object that is not a sequence of observations."""
        check_words(sequence)

    def tag_all(self, sequences: Iterable[Sequence[Any]], *, jobs: int | None = 1) -> Iterator[list[Any]]:
        """Find the tags of each sequence, in order, as `tag` does.

        Sequences are read and tagged in batches, which takes less time than one by one."""
        return map_batches(Tagger._tags_of, cast(Any, self), sequences, jobs, size=SENTENCES)

    def _tags_of(self, sequences: Sequence[Sequence[Any]]) -> list[list[Any]]:
        for sequence in sequences:
            self._check(sequence)
        found: list[list[Any]] = []
        for batch in batches(sequences):
            full = [sequence for sequence in batch if len(sequence)]
            tags = iter(self._names(self._best(full, [None] * len(full))) if full else [])
            found += [list(islice(tags, len(sequence))) for sequence in batch]
        return found

    def tag(self, sequence: Sequence[Any], known: Allowed | None = None) -> list[Any]:
        """Find the tag with the largest posterior at every position of a sequence; an empty sequence has no tags.

        A word that was never seen with one of its allowed tags gets the commonest of these."""
        self._check(sequence)
        return self._names(self._best([sequence], [known])) if len(sequence) else []

    def tag_text(self, text: str, *, jobs: int | None = 1) -> Iterator[list[tuple[str, Any]]]:
        """Find the tags of the words of each sentence of a raw text, in order; words are given with their tags.

        text: the text, which `tokenisation` divides into sentences and words.

        Raises TypeError if the text is not a string."""
        sentences, given = tee([token.word for token in tokens] for tokens in self.tokenisation.sentences(text))
        for words, tags in zip(sentences, self.tag_all(given, jobs=jobs), strict=True):
            yield list(zip(words, tags, strict=True))

    def _names(self, tags: IntArray) -> list[Tag]:
        """List the names of tags (n,)."""
        names = self.tags
        return [names[tag] for tag in tags.tolist()]

    def posteriors(self, sequence: Sequence[Any], known: Allowed | None = None) -> FloatArray:
        """Compute the posterior (n, K) of each tag at each position; columns are in the order of `tags`."""
        self._check(sequence)
        return self._posteriors([sequence], [known]) if len(sequence) else np.zeros((0, len(self.tags)))

    def paths(
        self, sequence: Sequence[Any], n_best: int = 1, known: Allowed | None = None
    ) -> list[tuple[list[Any], float]]:
        """Find the likeliest sequences of tags (Viterbi), each with its log-probability given the observations.

        If tags have one state, paths are scored by the model itself.  If tags have several states, paths are scored by
        the Markov chain that has the model's posteriors of pairs of tags.  An empty sequence has one empty path.

        n_best: the largest number of paths.
        known: log-probabilities are given these tags, too.

        Raises ValueError if n_best < 1."""
        checked("n_best", n_best, Count)
        self._check(sequence)
        if not len(sequence):
            return [([], 0.0)]
        with self._block_of(sequence):
            return [(self._names(tags), log) for tags, log in self._charts(sequence, known).paths(n_best)]

    def draw(self, sequence: Sequence[Any], rng: np.random.Generator, known: Allowed | None = None) -> list[Any]:
        """Draw the tags of a sequence from the Markov chain that scores `paths`."""
        checked("rng", rng, np.random.Generator)
        self._check(sequence)
        if not len(sequence):
            return []
        with self._block_of(sequence):
            return self._names(self._charts(sequence, known).draw(rng))
