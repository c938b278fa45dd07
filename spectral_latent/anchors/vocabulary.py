"""Words as types: what anchors and hulls are learnt from.

A type is a word in lower case.  Whether its tokens are capitalised is one of its features; where a type occurs within
sentences, only those occurrences tell, for any word may open a sentence with a capital.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from spectral_latent.sequence.conversion import Sequences
from spectral_latent.trees import FloatArray, Vocabulary

__all__ = ["SpellingFeatures", "Types"]


@dataclass(frozen=True, eq=False)
class Types:
    """n types by falling frequency, ties in order of appearance; terminal x of the sequences is type x.

    tokens: (n,) how many.  capital: (n,) share of capitalised tokens.
    """

    names: list[str]
    sequences: Sequences
    tokens: FloatArray
    capital: FloatArray

    @staticmethod
    def of(sentences: Iterable[Sequence[str]]) -> Types:
        """Raises ValueError if a sentence is empty.

        >>> types = Types.of([["The", "cat", "saw", "the", "Nile"]])
        >>> types.names, types.tokens, types.capital
        (['the', 'cat', 'saw', 'nile'], array([2., 1., 1., 1.]), array([0., 0., 0., 1.]))
        """
        found: Vocabulary[str] = Vocabulary()
        rows, capital = [], []
        for words in sentences:
            rows.append([found.add(word.lower()) for word in words])
            capital += [word[:1].isupper() for word in words]
        sequences = Sequences.of(rows)
        x, is_capital = sequences.terminal, np.array(capital, dtype=bool)
        count = np.bincount(x, minlength=len(found))
        order = np.argsort(-count, kind="stable")
        rank = np.argsort(order, kind="stable")
        within = np.ones(len(x), dtype=bool)
        within[sequences.start[:-1]] = False
        informative = within | (np.bincount(x, within, minlength=len(found)) == 0)[x]
        tokens, capitals = (
            np.bincount(x, kind, minlength=len(found)) for kind in (informative, informative & is_capital)
        )
        return Types(
            [found.names[i] for i in order],
            Sequences(rank[x], sequences.tag, sequences.start),
            count[order].astype(float),
            (capitals / tokens)[order],
        )


class SpellingFeatures:
    """The features of Berg-Kirkpatrick et al. (2010), over characters: capital, hyphen, digit, suffixes of 1 to 3.

    Capital, hyphen and digit have a feature each for yes and for no.

    >>> features = SpellingFeatures.of(["a-1"])
    >>> features.names
    ['capital', 'no capital', 'hyphen', 'digit', '-1', '--1', '-a-1']
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._index = Vocabulary(names)

    @staticmethod
    def of(words: Sequence[str]) -> SpellingFeatures:
        """All features of the words, in lower case."""
        features = SpellingFeatures(["capital", "no capital"])
        for word in words:
            for name in _spelt(word):
                features._index.add(name)
        return features

    @property
    def names(self) -> list[str]:
        """The name of each feature."""
        return self._index.names

    def matrix(self, words: Sequence[str], capital: FloatArray) -> sparse.csr_array:
        """The features (n, s) of words in lower case, of which the given share (n,) is capitalised."""
        found = [[self._index.get(name) for name in _spelt(word)] for word in words]
        row = np.repeat(np.arange(len(words)), [len(columns) for columns in found])
        column = np.array([c for columns in found for c in columns], dtype=np.int64)
        known = column >= 0
        own = np.arange(len(words))
        return sparse.csr_array(
            (
                np.concatenate([capital, 1.0 - capital, np.ones(np.count_nonzero(known))]),
                (
                    np.concatenate([own, own, row[known]]),
                    np.concatenate([np.zeros_like(own), np.ones_like(own), column[known]]),
                ),
            ),
            shape=(len(words), len(self._index)),
        )


def _spelt(word: str) -> list[str]:
    """The names of the features of a word in lower case, without those of capitals."""
    digit = any(character.isdigit() for character in word)
    kinds = ["hyphen" if "-" in word else "no hyphen", "digit" if digit else "no digit"]
    return kinds + ["-" + word[-length:] for length in range(1, min(3, len(word)) + 1)]
