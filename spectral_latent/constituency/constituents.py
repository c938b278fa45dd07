"""Hold the constituents that a sentence may have: spans with chains of labels, and spans with single labels.

| here | meaning |
| --- | --- |
| μ(i, j, X) | posterior that X spans the words i ... j-1, summed over the chains of labels that hold X |
| gain of a chain at (i, j) | Σ_X (μ(i, j, X) - span penalty); the tag of a word has no penalty |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from spectral_latent.constituency.phrase import Phrase
from spectral_latent.trees import BoolArray, FloatArray, IntArray, Rules, Vocabulary, ranges

__all__ = [
    "Chain",
    "ChainLabels",
    "Constituent",
    "Constituents",
    "LabelledConstituents",
    "constituents_of",
]

Chain: TypeAlias = tuple[str, ...]


class Constituent(NamedTuple):
    """A labelled part of a sentence.

    first, end: the constituent is over the words first ... end - 1.
    label: the label of the constituent.
    is_tag: whether it is the tag of a word.
    """

    first: int
    end: int
    label: str
    is_tag: bool


def constituents_of(tree: Phrase) -> list[Constituent]:
    """List the constituents of a cleaned tree, tags included; a constituent comes after those inside it.

    >>> [part.label for part in constituents_of(Phrase("S", (Phrase("NN", ("rain",)), Phrase("VB", ("falls",)))))]
    ['NN', 'VB', 'S']
    """
    parts: list[Constituent] = []
    opened: list[tuple[str, int]] = []
    stack: list[Phrase | None] = [tree]
    at = 0
    while stack:
        node = stack.pop()
        if node is None:
            label, first = opened.pop()
            parts.append(Constituent(first, at, label, False))
        elif isinstance(node.children[0], str):
            parts.append(Constituent(at, at + 1, node.label, True))
            at += 1
        else:
            opened.append((node.label, at))
            stack.append(None)
            stack += reversed([child for child in node.children if isinstance(child, Phrase)])
    return parts


class Constituents(NamedTuple):
    """K constituents with chains of labels.

    first, end: (K,) a constituent is over the words first ... end - 1.
    chain: (K,) the number of the chain of labels.
    posterior: (K,) the posterior of the constituent with its whole chain.
    """

    first: IntArray
    end: IntArray
    chain: IntArray
    posterior: FloatArray

    @property
    def spans(self) -> IntArray:
        """Number the span of each constituent, (K,)."""
        return self.end * (self.end + 1) // 2 + self.first

    def merged(self) -> Constituents:
        """Join constituents with the same span and chain, and add their posteriors; sort by first words.

        >>> Constituents(*np.array([[0, 0], [1, 1], [2, 2]]), np.array([0.25, 0.5])).merged().posterior
        array([0.75])
        """
        rows, which = Rules.distinct(np.stack([self.first, self.end, self.chain], axis=1))
        first, end, chain = np.ascontiguousarray(rows.T)
        return Constituents(first, end, chain, np.bincount(which, self.posterior, minlength=len(rows)).astype(float))

    def find(self, first: IntArray, end: IntArray, chain: IntArray) -> IntArray:
        """Find the row (n,) of each of n constituents; -1 for a constituent that is absent.

        The rows must be different and sorted, as `merged` returns them.

        first: (n,) the first word of each constituent.
        end: (n,) the words after the last ones.
        chain: (n,) the number of each chain; -1 for an unknown chain.

        >>> constituents = Constituents(*np.array([[0, 0], [1, 2], [3, 4]]), np.array([0.5, 0.5]))
        >>> constituents.find(*np.array([[0, 0], [2, 2], [4, -1]]))
        array([ 1, -1])
        """
        return Rules.find(np.stack(self[:3], axis=1), np.stack([first, end, chain], axis=1))

    @staticmethod
    def mean(parts: Sequence[Constituents], n_grammars: IntArray) -> Constituents:
        """Average the posteriors of several grammars; a constituent has posterior zero under a grammar without it.

        The result is sorted by first words.

        n_grammars: (n,) the number of grammars that derive the sentence of each of the n words.

        >>> one, two = (Constituents(*np.array([[0, 0], [1, 2], [0, chain]]), np.ones(2)) for chain in (1, 2))
        >>> Constituents.mean([one, two], np.array([2, 2])).posterior
        array([1. , 0.5, 0.5])
        """
        every = Constituents(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        return every._replace(posterior=every.posterior / n_grammars[every.first]).merged()

    def of_words(self, first: int, end: int) -> Constituents:
        """Take the constituents of one of several sentences, and number its words from 0.

        The constituents must be sorted by first words.
        """
        rows = slice(*np.searchsorted(self.first, (first, end)))
        return Constituents(self.first[rows] - first, self.end[rows] - first, self.chain[rows], self.posterior[rows])


class LabelledConstituents(NamedTuple):
    """L labelled constituents of sentences; the tag of a word is a constituent, too.

    Each of K constituents with chains (`Constituents`) has a labelled constituent for each label of its chain.  The P
    pairs (constituent, label) are the columns `row` and `part`.  Chains that share a label over the same words share
    its labelled constituent.

    first, end: (L,) a labelled constituent is over the words first ... end - 1.
    label: (L,) the number of its label.
    is_tag: (L,) whether it is the tag of a word.
    posterior: (L,) the posterior μ of each constituent, or its probability by a model of spans.
    row: (P,) the constituent of each pair, 0 ... K - 1.
    part: (P,) the labelled constituent of each pair, 0 ... L - 1.
    """

    first: IntArray
    end: IntArray
    label: IntArray
    is_tag: BoolArray
    posterior: FloatArray
    row: IntArray
    part: IntArray

    def gains(self, span_penalty: float) -> FloatArray:
        """Compute the gain of each constituent with a chain, (K,)."""
        return self.by_chain(self.posterior - span_penalty * ~self.is_tag)

    def by_chain(self, values: FloatArray) -> FloatArray:
        """Sum values over the labels of each constituent with a chain, (K,).

        values: (L,) a value for each labelled constituent.
        """
        total: FloatArray = np.bincount(self.row, values[self.part]).astype(float)
        return total

    def by_label(self, values: FloatArray) -> FloatArray:
        """Sum values over the constituents whose chain has the label of each labelled constituent, (L,).

        values: (K,) a value for each constituent with a chain.
        """
        return np.bincount(self.part, values[self.row], minlength=len(self.first)).astype(float)

    def named(self, labels: Sequence[str]) -> list[Constituent]:
        """List the constituents with their names."""
        names = [labels[number] for number in self.label.tolist()]
        return list(map(Constituent, self.first.tolist(), self.end.tolist(), names, self.is_tag.tolist()))


class ChainLabels:
    """The labels of K chains, from which `split` makes labelled constituents.

    chains: the chains in the order of their numbers.

    >>> labels = ChainLabels([("S",), ("S", "VP")])
    >>> constituents = Constituents(np.array([0, 0]), np.array([2, 2]), np.array([0, 1]), np.array([0.5, 0.3]))
    >>> parts = labels.split(constituents)
    >>> parts.named(labels.names)[1], parts.posterior
    (Constituent(first=0, end=2, label='VP', is_tag=False), array([0.8, 0.3]))
    >>> parts.gains(span_penalty=0.4)
    array([0.4, 0.3])
    """

    def __init__(self, chains: Sequence[Chain]) -> None:
        self.names = sorted({label for chain in chains for label in chain})
        self.length = np.array([len(chain) for chain in chains], dtype=np.int64)
        self.end = np.cumsum(self.length)
        self.label = Vocabulary(self.names).numbers(label for chain in chains for label in chain)

    def split(self, constituents: Constituents) -> LabelledConstituents:
        """Split constituents with chains into labelled constituents, and sum the posterior of each."""
        # A pair (constituent, label) for each label of each chain.
        end = self.end[constituents.chain]
        place, row = ranges(end - self.length[constituents.chain], end)
        label = self.label[place]
        is_tag = (place == end[row] - 1) & (constituents.end - constituents.first == 1)[row]
        # Pairs with the same span, label and kind are one labelled constituent.
        key = constituents.spans[row] * (2 * len(self.names)) + label + len(self.names) * is_tag
        _, one, part = np.unique(key, return_index=True, return_inverse=True)
        posterior = np.bincount(part, constituents.posterior[row], minlength=len(one)).astype(float)
        first = constituents.first[row[one]]
        return LabelledConstituents(first, constituents.end[row[one]], label[one], is_tag[one], posterior, row, part)
