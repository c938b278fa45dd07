"""Constituents that a sentence may have, and what they are worth in a tree.

| here | meaning |
| --- | --- |
| μ(i, j, X) | posterior that X spans the words i ... j-1, whatever else its chain of labels holds |
| gain of a chain at (i, j) | Σ_X (μ(i, j, X) - cost); the tag of a word costs nothing |

The tree of the most gain is that of Goodman's (1996) labelled recall, less a cost that weighs precision against it.
Posteriors of several grammars may be averaged first, whatever their binarisations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spectral_latent.trees import BoolArray, FloatArray, IntArray, Rules, ranges

__all__ = ["Constituent", "Constituents", "Gains"]

_Chain = tuple[str, ...]


class Constituent(NamedTuple):
    """A label over the words first ... end - 1 of a sentence; is_tag: whether it is the tag of a word."""

    first: int
    end: int
    label: str
    is_tag: bool


class Constituents(NamedTuple):
    """K chains of labels, each over words first ... end - 1, with their posteriors; chains are numbered."""

    first: IntArray
    end: IntArray
    chain: IntArray
    posterior: FloatArray

    @property
    def spans(self) -> IntArray:
        """A number for each span (K,)."""
        return self.end * (self.end + 1) // 2 + self.first

    def merged(self) -> Constituents:
        """Each chain over the same words once, with the sum of its posteriors.

        >>> Constituents(*np.array([[0, 0], [1, 1], [2, 2]]), np.array([0.25, 0.5])).merged().posterior
        array([0.75])
        """
        rows, which = Rules.distinct(np.stack([self.first, self.end, self.chain], axis=1))
        first, end, chain = np.ascontiguousarray(rows.T)
        return Constituents(first, end, chain, np.bincount(which, self.posterior, minlength=len(rows)).astype(float))

    @staticmethod
    def mean(parts: Sequence[Constituents]) -> Constituents:
        """Of the posteriors; what one of the parts lacks has posterior zero there.

        >>> one, two = (Constituents(*np.array([[0, 0], [1, 2], [0, chain]]), np.ones(2)) for chain in (1, 2))
        >>> Constituents.mean([one, two]).posterior
        array([1. , 0.5, 0.5])
        """
        every = Constituents(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        return every._replace(posterior=every.posterior / len(parts)).merged()


class Gains:
    """What chains of labels are worth over spans; chains are numbered as given.

    >>> gains = Gains([("S",), ("S", "VP")], cost=0.4)
    >>> gains.of(Constituents(np.array([0, 0]), np.array([2, 2]), np.array([0, 1]), np.array([0.5, 0.3])))
    array([0.4, 0.3])
    """

    def __init__(self, chains: Sequence[_Chain], cost: float) -> None:
        self.cost = cost
        self.labels = sorted({label for chain in chains for label in chain})
        number = {label: at for at, label in enumerate(self.labels)}
        self.length = np.array([len(chain) for chain in chains], dtype=np.int64)
        self.end = np.cumsum(self.length)
        self.label = np.array([number[label] for chain in chains for label in chain], dtype=np.int64)

    def of(self, found: Constituents) -> FloatArray:
        """The gain of each (K,)."""
        row, _, is_tag, posterior = self._by_label(found)
        gain: FloatArray = np.bincount(row, posterior - self.cost * ~is_tag, minlength=len(found.chain)).astype(float)
        return gain

    def _by_label(self, found: Constituents) -> tuple[IntArray, IntArray, BoolArray, FloatArray]:
        """For every label of every chain: which of those found, the label, whether it is a tag, and μ."""
        end = self.end[found.chain]
        at, row = ranges(end - self.length[found.chain], end)
        is_tag: BoolArray = (at == end[row] - 1) & (found.end - found.first == 1)[row]
        key = found.spans[row] * (2 * len(self.labels)) + self.label[at] + len(self.labels) * is_tag
        _, which = np.unique(key, return_inverse=True)
        posterior: FloatArray = np.bincount(which, found.posterior[row])[which].astype(float)
        return row, self.label[at], is_tag, posterior

    def by_label(self, found: Constituents) -> dict[Constituent, float]:
        """Add up μ of every labelled constituent."""
        row, label, is_tag, posterior = self._by_label(found)
        names = [self.labels[number] for number in label.tolist()]
        spans = found.first[row].tolist(), found.end[row].tolist()
        constituents = map(Constituent, *spans, names, is_tag.tolist())
        return dict(zip(constituents, posterior.tolist(), strict=True))
