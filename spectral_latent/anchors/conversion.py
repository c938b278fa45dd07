"""Convert sentences to sequences of word types, from which anchors and hulls are learnt.

A type is a word in lower case.  Its share of capitalised tokens is kept, as a feature of its spelling.  Only tokens
inside sentences count for this share, because any word may open a sentence with a capital.  A type that never occurs
inside a sentence has the share of all its tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from spectral_latent.model import check_sentences
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.trees import FloatArray, Vocabulary

__all__ = ["WordTypes"]


@dataclass(frozen=True, eq=False)
class WordTypes:
    """The n types of a corpus by falling frequency; equally frequent types are in order of appearance.

    names: the words in lower case.
    sequences: the sentences, in which terminal x is type x.
    tokens: (n,) the number of tokens of each type.
    capital: (n,) the share of its tokens that are capitalised.
    """

    names: list[str]
    sequences: Sequences
    tokens: FloatArray
    capital: FloatArray

    @staticmethod
    def of(sentences: Iterable[Sequence[str]]) -> WordTypes:
        """Number the types of sentences.

        Raises ValueError if a sentence is empty, and TypeError as `check_sentences` does.

        sentences: the words of each sentence.

        >>> types = WordTypes.of([["The", "cat", "saw", "the", "Nile"]])
        >>> types.names, types.tokens, types.capital
        (['the', 'cat', 'saw', 'nile'], array([2., 1., 1., 1.]), array([0., 0., 0., 1.]))
        """
        types: Vocabulary[str] = Vocabulary()
        rows = []
        capital: list[bool] = []
        for words in check_sentences(sentences):
            rows.append([types.add(word.lower()) for word in words])
            capital += [word[:1].isupper() for word in words]
        sequences = Sequences.of(rows)
        x = sequences.terminal
        n = len(types)
        count = np.bincount(x, minlength=n)
        # Number the types anew, by falling frequency.
        order = np.argsort(-count, kind="stable")
        rank = np.argsort(order, kind="stable")
        return WordTypes(
            [types.names[i] for i in order],
            Sequences(rank[x], sequences.tag, sequences.start, sequences.weight),
            count[order].astype(float),
            _capital_shares(sequences, np.array(capital, dtype=bool), n)[order],
        )


def _capital_shares(sequences: Sequences, is_capital: np.ndarray, n_types: int) -> FloatArray:
    """Compute the share of capitalised tokens of each type (n,), from whether each token (N,) is capitalised."""
    x = sequences.terminal
    is_within = np.ones(len(x), dtype=bool)
    is_within[sequences.start[:-1]] = False
    never_within = np.bincount(x, is_within, minlength=n_types) == 0
    counts = is_within | never_within[x]
    tokens = np.bincount(x, counts, minlength=n_types)
    capitalised = np.bincount(x, counts & is_capital, minlength=n_types)
    return np.asarray(capitalised / tokens)
