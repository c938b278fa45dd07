"""Dependency trees as columns of integers, and embeddings of words from counts of their arcs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from spectral_latent.estimation.svd import truncated_svd
from spectral_latent.trees import FloatArray, IntArray

__all__ = ["Observations", "embed_by_arcs"]

_ROUNDING = 1e-10  # a singular value this small, relative to the first, is zero except for rounding


@dataclass(frozen=True, eq=False)
class Observations:
    """The n words of some sentences with their heads, one sentence after another, projective or not.

    word: (n,) the observation at each position, 0 ... V - 1.
    head: (n,) the position of the head of each word in these columns; -1 at a root.
    weight: (n,) the weight of the sentence at each position.
    n_words: the number of observations, V.
    """

    word: IntArray
    head: IntArray
    weight: FloatArray
    n_words: int

    @staticmethod
    def of(
        sentences: Iterable[tuple[Sequence[int], Sequence[int]]],
        n_words: int,
        weights: Sequence[float] | FloatArray | None = None,
    ) -> Observations:
        """Put sentences one after another into columns.  Heads are not searched for cycles.

        Raises ValueError, with the number of the sentence, where columns differ in length, a word is not
        below V, a head is outside the sentence or the word itself, or a weight is negative or not finite.

        >>> dogs, bark, loudly = range(3)
        >>> trees = Observations.of([((dogs, bark), (2, 0)), ((dogs, bark, loudly), (2, 0, 2))], n_words=3)
        >>> trees.head, trees.left, trees.right
        (array([ 1, -1,  3, -1,  3]), array([0, 2]), array([4]))
        """
        words: list[int] = []
        heads: list[int] = []
        lengths: list[int] = []
        for number, (of_words, of_heads) in enumerate(sentences, start=1):
            _check(number, of_words, of_heads, n_words)
            heads += [len(words) + h - 1 if h else -1 for h in of_heads]
            words += of_words
            lengths.append(len(of_words))
        weight = np.ones(len(lengths)) if weights is None else np.asarray(weights, dtype=float)
        if weight.shape != (len(lengths),):
            raise ValueError(f"{len(lengths)} sentences, but weights of shape {weight.shape}")
        if (wrong := ~((weight >= 0) & np.isfinite(weight))).any():
            sentence = int(np.argmax(wrong))
            raise ValueError(f"sentence {sentence + 1}: weight {weight[sentence]} is negative or not finite")
        word, head = (np.array(column, dtype=np.int64) for column in (words, heads))
        return Observations(word, head, np.repeat(weight, lengths), n_words)

    @cached_property
    def left(self) -> IntArray:
        """The words that stand to the left of their head."""
        return np.flatnonzero(np.arange(len(self.head)) < self.head)

    @cached_property
    def right(self) -> IntArray:
        """The words that stand to the right of their head."""
        return np.flatnonzero((self.head >= 0) & (self.head < np.arange(len(self.head))))

    @property
    def root(self) -> IntArray:
        """The words without a head."""
        return np.flatnonzero(self.head < 0)

    def bigrams(self, children: IntArray) -> sparse.csr_array:
        """Count how often each word heads each other word: B (V, V).

        children: (n,) the positions whose arcs are counted.

        >>> trees = Observations.of([((0, 1), (2, 0)), ((0, 1, 2), (2, 0, 2))], n_words=3)
        >>> trees.bigrams(trees.left).toarray()
        array([[0., 0., 0.],
               [2., 0., 0.],
               [0., 0., 0.]])
        """
        cells = self.word[self.head[children]], self.word[children]
        return sparse.csr_array(sparse.coo_array((self.weight[children], cells), shape=(self.n_words, self.n_words)))

    @cached_property
    def neighbours(self) -> sparse.csr_array:
        """[B_R, B_L, B_Rᵀ, B_Lᵀ] (V, 4V): counts of each word's right children, left children, and heads by side."""
        down = [self.bigrams(children) for children in (self.right, self.left)]
        return sparse.csr_array(sparse.hstack([*down, *(table.T for table in down)], format="csr"))


def embed_by_arcs(observations: Observations, k: int) -> FloatArray:
    """Compute U (V, k), the leading left singular vectors of [B_R, B_L, B_Rᵀ, B_Lᵀ], counts of arcs from either end.

    With enough data its range is that of O.  Counts of heads alone would leave out the words that never head another.
    There are fewer than k columns if the counts have a lower rank.

    >>> the, dog, cat, barks = range(4)
    >>> trees = Observations.of([((the, dog, barks), (2, 3, 0)), ((the, cat, barks), (2, 3, 0))], n_words=4)
    >>> u = embed_by_arcs(trees, k=3)
    >>> u.shape, bool(np.allclose(u[dog], u[cat]))
    ((4, 3), True)
    """
    u, sigma, _ = truncated_svd(observations.neighbours, k)
    return u[:, sigma > _ROUNDING * sigma.max(initial=0.0)]


def _check(number: int, word: Sequence[int], head: Sequence[int], n_words: int) -> None:
    """Raise ValueError if the words and heads are not those of a sentence."""
    if len(word) != len(head):
        raise ValueError(f"sentence {number}: {len(word)} words, but {len(head)} heads")
    for i, (x, h) in enumerate(zip(word, head, strict=True), start=1):
        if not 0 <= x < n_words:
            raise ValueError(f"sentence {number}, word {i}: observation {x} is not one of 0 ... {n_words - 1}")
        if not 0 <= h <= len(head) or h == i:
            raise ValueError(f"sentence {number}, word {i}: head {h} is neither 0 nor another word of the sentence")
